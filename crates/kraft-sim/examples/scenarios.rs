//! Prints `docs/scenarios.md`: which scenarios there are and which entries still wait.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    print!("{}", kraft_sim::scenario::report(&root)?);
    Ok(())
}
