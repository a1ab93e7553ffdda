//! The inputs that everything begins with: one file for each target, one input in hex on each line.

use std::fs;
use std::path::Path;

/// The corpus of a target. An input that once broke something is a line more.
pub fn corpus(target: &str) -> Vec<Vec<u8>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(format!("{target}.hex"));
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines().map(bytes_of).collect()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digit = |character: u8| char::from(character).to_digit(16).expect("a hex digit") as u8;
    hex.as_bytes()
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}
