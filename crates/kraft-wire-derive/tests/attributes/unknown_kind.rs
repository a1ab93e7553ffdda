use kraft_wire_derive::Message;

#[derive(Message)]
#[kafka(kind = shelf, api_key = 500, versions = 0)]
struct Shelf {
    shelf_id: i32,
}

fn main() {}
