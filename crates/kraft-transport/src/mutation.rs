//! Mistakes made on purpose, one at a time, which show that the checks find mistakes.
//!
//! They exist only where the compiler is given `--cfg kraft_mutations`, and only `cargo xtask mutations` does that. One
//! build holds all of them: `choose` says which one is made.

/// Whether the named mistake is to be made. Without the cfg that is `false`, and nothing of it is left in the program.
#[cfg(not(kraft_mutations))]
macro_rules! mutated {
    ($name:ident) => {
        false
    };
}

#[cfg(kraft_mutations)]
macro_rules! mutated {
    ($name:ident) => {
        crate::mutation::Mutation::$name.is_chosen()
    };
}

#[cfg(kraft_mutations)]
kraft_core::mutations! {
    AppliesBeforeCommit: "what is in the log is applied, committed or not",
    AnswersBeforeApplying: "a change is answered when it is committed, applied or not",
    AnswersBeforeSync: "an answer to a peer does not wait for the disk",
    SendsBeforeSync: "a request to a peer does not wait for the disk",
    ForgetsWaiters: "of the changes that are joined in a batch only the first is answered",
    ForgetsTheDeposed: "nobody is told that the leadership is lost",
    CallsUnknownLost: "a change whose fate is not known is called lost",
    AnswersTwice: "two changes that are committed together get the same place",
    DropsCommits: "every second commit is overlooked",
    AnswersAfterCut: "a read that the log was cut behind is an answer all the same",
    ServesUncommitted: "observers are served what is not committed",
    ReadsBeforeApplying: "a reader is not made to wait until everything is applied",
    ReordersRecords: "records that are joined in a batch stand in another order than was told",
    ReordersBatches: "fetched batches are appended the last one first",
    SnapshotsPastApplied: "a snapshot is named after more than is applied",
    CallsAppendedCommitted: "a voter change that is written is told to be committed",
    LeadsBeforeApplying: "the state machine leads before it has applied what it has to know",
}
