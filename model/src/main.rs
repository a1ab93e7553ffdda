//! Searches every state that the real consensus core can reach within bounds: three replicas over a network that loses,
//! duplicates and reorders, with disks that take their time and forget in a crash what they had not done.
//!
//! Loss needs no step of its own: a message that never arrives is lost. Each replica has its own clock, which goes on
//! only when one of its deadlines passes, so every order of time-outs between replicas is seen.
//!
//! Each model is small and has a subject: what does not belong to it (a clock, a slow disk) stands still in it.

mod fold;
mod history;
mod log;
mod message;
mod models;
#[cfg(kraft_mutations)]
mod mutations;
mod node;
mod properties;
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
    let words: Vec<String> = std::env::args().skip(1).collect();
    let large = words.iter().any(|word| word == "--large");
    let named: Vec<_> = words.iter().filter(|word| !word.starts_with("--")).collect();
    let mut passed = true;
    for model in models::all(large) {
        if !named.is_empty() && !named.iter().any(|word| *word == model.name()) {
            continue;
        }
        passed &= models::search(model);
    }
    if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
