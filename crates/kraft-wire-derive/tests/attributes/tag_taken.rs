use kraft_wire_derive::Message;

#[derive(Message)]
struct Shelf {
    #[kafka(tag = 0)]
    shelf_id: i32,
    #[kafka(tag = 0)]
    owner: i64,
}

fn main() {}
