use kraft_wire_derive::Message;

#[derive(Message)]
struct Shelf {
    #[kafka(sins = 1)]
    shelf_id: i32,
}

fn main() {}
