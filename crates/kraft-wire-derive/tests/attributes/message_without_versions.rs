use kraft_wire_derive::Message;

#[derive(Message)]
#[kafka(kind = data, api_key = 500)]
struct Shelf {
    shelf_id: i32,
}

fn main() {}
