use kraft_wire_derive::Message;

#[derive(Message)]
#[kafka(kind = data, api_key = 500, versions = 0..=1)]
struct Shelf {
    #[kafka(tag = 0)]
    shelf_id: i32,
}

fn main() {}
