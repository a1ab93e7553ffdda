use kraft_wire_derive::Message;

#[derive(Message)]
struct Shelf {
    #[kafka(since = 40000)]
    shelf_id: i32,
}

fn main() {}
