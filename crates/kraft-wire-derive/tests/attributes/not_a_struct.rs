use kraft_wire_derive::Message;

#[derive(Message)]
enum Shelf {
    Empty,
}

fn main() {}
