//! Searches every state that the real consensus core can reach within bounds: three replicas that elect leaders over a
//! network that loses and reorders, with disks that take their time.
//!
//! Loss needs no step of its own: a message that never arrives is lost. Each replica has its own clock, which goes on
//! only when one of its deadlines passes, so every order of time-outs between replicas is seen.

mod fold;
mod log;
mod message;
mod models;
#[cfg(kraft_mutations)]
mod mutations;
mod node;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(kraft_mutations)]
    if std::env::args().any(|argument| argument == "--mutations") {
        return if mutations::all_are_found() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    let large = std::env::args().any(|argument| argument == "--large");
    let mut passed = true;
    for model in models::all(large) {
        passed &= models::search(model);
    }
    if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
