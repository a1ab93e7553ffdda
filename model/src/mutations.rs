//! Makes each mistake of the core in turn and looks which model finds it.

use crate::models::{self, Finding};
use kraft_core::mutation::{Mutation, choose};
use std::{panic, time::Instant};

/// Whether every mistake is found, and nothing without one.
pub(crate) fn all_are_found() -> bool {
    // A mistake may make the core panic. That is what is looked for, and nothing to be told each time.
    panic::set_hook(Box::new(|_| {}));
    let mut largest = 0;
    let mut missed = 0;
    for mutation in Mutation::ALL {
        let subject = models::all(false)
            .into_iter()
            .find(|model| model.name() == subject(*mutation))
            .expect("the models have these names");
        // The start of a model comes about without mistakes.
        choose(Some(*mutation));
        let started = Instant::now();
        let found = models::find(subject, usize::MAX);
        choose(None);
        let seconds = started.elapsed().as_secs_f64();
        match found {
            Some(Finding {
                model,
                property,
                states,
            }) => {
                largest = largest.max(states);
                println!(
                    "summary: {mutation:?} ({}): {property}, by {model} after {states} states, {seconds:.1} s",
                    mutation.what()
                );
            }
            None => {
                missed += 1;
                println!("error: {mutation:?} ({}) is not found", mutation.what());
            }
        }
    }
    let unprovoked = models::all(false)
        .into_iter()
        .find_map(|model| models::find(model, largest));
    if let Some(Finding { model, property, .. }) = &unprovoked {
        println!("error: without a mistake {model} finds that {property} does not hold");
    }
    println!("summary: {} mistakes, {missed} not found", Mutation::ALL.len());
    missed == 0 && unprovoked.is_none()
}

/// The model whose subject a mistake is.
fn subject(mutation: Mutation) -> &'static str {
    match mutation {
        Mutation::AnswersBeforeDurable
        | Mutation::AsksBeforeDurable
        | Mutation::TwoVotes
        | Mutation::MinorityElects
        | Mutation::CandidateNotStored
        | Mutation::RestartForgetsLeadership
        | Mutation::RestartForgetsVote => "election",
        Mutation::VoteIgnoresLog | Mutation::CommitsOlderEpoch | Mutation::DivergenceUnseen => "replication",
        Mutation::FetchNotFlushed | Mutation::LeaderNotFlushed => "crashes",
        Mutation::HighWatermarkFalls
        | Mutation::CutLeavesVoters
        | Mutation::SecondChange
        | Mutation::ChangeBeforeCommit
        | Mutation::ServesUnflushedRemoval
        | Mutation::ServesOpenRemoval
        | Mutation::RemovedLeaderCounts => "reconfiguration",
        Mutation::SnapshotUnverified => "snapshot",
    }
}
