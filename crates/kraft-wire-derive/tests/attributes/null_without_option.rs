use kraft_wire_derive::Message;

#[derive(Message)]
struct Shelf {
    #[kafka(default = null)]
    label: String,
}

fn main() {}
