//! The example of an embedder runs.

#[path = "../examples/own_machine.rs"]
mod own_machine;

#[test]
fn a_state_machine_of_ones_own_is_simulated() {
    own_machine::main().unwrap_or_else(|failure| panic!("{failure}"));
}
