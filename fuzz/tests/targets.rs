//! One target for each kind of bytes that comes from outside.

use bolero::check;

#[test]
fn request() {
    check!().for_each(kraft_fuzz::request);
}

#[test]
fn response() {
    check!().for_each(kraft_fuzz::response);
}

#[test]
fn batches() {
    check!().for_each(kraft_fuzz::batches);
}

#[test]
fn small_files() {
    check!().for_each(kraft_fuzz::small_files);
}
