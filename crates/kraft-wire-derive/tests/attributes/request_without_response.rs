use kraft_wire_derive::Message;

#[derive(Message)]
#[kafka(kind = request, api_key = 500, versions = 0)]
struct ShelfRequest {
    shelf_id: i32,
}

fn main() {}
