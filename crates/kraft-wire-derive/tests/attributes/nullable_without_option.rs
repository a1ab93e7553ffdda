use kraft_wire_derive::Message;

#[derive(Message)]
struct Shelf {
    #[kafka(nullable_since = 1)]
    note: String,
}

fn main() {}
