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
    KeepsWhatIsCut: "what is cut off the log is still served from memory",
    ForgetsTheFlush: "what was durable before a cut counts as durable behind it",
}
