use kraft_wire_derive::Message;

#[derive(Message)]
struct Shelf {
    #[kafka(since = 1, since = 2)]
    shelf_id: i32,
}

fn main() {}
