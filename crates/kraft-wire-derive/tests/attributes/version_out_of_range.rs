use kraft_wire_derive::Message;

#[derive(Message)]
#[kafka(kind = data, api_key = 500, versions = 0..=1, flexible = 0)]
struct Shelf {
    #[kafka(since = 2)]
    shelf_id: i32,
}

fn main() {}
