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

/// The mistakes of a crate, and the one of them that is made.
#[cfg(kraft_mutations)]
#[macro_export]
macro_rules! mutations {
    ($($name:ident: $what:literal,)*) => {
        /// The place in [`Mutation::ALL`] of the one that is made.
        static CHOSEN: ::core::sync::atomic::AtomicUsize = ::core::sync::atomic::AtomicUsize::new(usize::MAX);

        /// From now on the whole process makes this mistake, and no other.
        pub fn choose(mutation: Option<Mutation>) {
            let place = mutation.map_or(usize::MAX, |mutation| mutation as usize);
            CHOSEN.store(place, ::core::sync::atomic::Ordering::SeqCst);
        }

        /// A mistake that can be made on purpose.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Mutation {
            $(#[doc = $what] $name,)*
        }

        impl Mutation {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// What goes wrong.
            #[must_use]
            pub fn what(self) -> &'static str {
                match self {
                    $(Self::$name => $what,)*
                }
            }

            /// Whether this one is made.
            pub(crate) fn is_chosen(self) -> bool {
                CHOSEN.load(::core::sync::atomic::Ordering::Relaxed) == self as usize
            }
        }
    };
}

#[cfg(kraft_mutations)]
mutations! {
    AnswersBeforeDurable: "an answer does not wait for the epoch and vote that it reveals",
    AsksBeforeDurable: "a request for votes does not wait for the log and vote that it names",
    TwoVotes: "a second vote is given in one epoch",
    MinorityElects: "one vote less than a majority elects",
    CandidateNotStored: "a candidate does not store its epoch and vote",
    VoteIgnoresLog: "a vote is given to a shorter log",
    RestartForgetsLeadership: "a leader that starts again votes in its epoch",
    RestartForgetsVote: "a replica that starts again has not voted",
    FetchNotFlushed: "a Fetch does not wait for what it names",
    LeaderNotFlushed: "a leader counts what it has not flushed",
    CommitsOlderEpoch: "a leader commits by count what earlier leaders wrote",
    HighWatermarkFalls: "a high watermark falls when a majority is behind it",
    DivergenceUnseen: "a leader lets a log go on that is not a part of its own",
    CutLeavesVoters: "a cut does not rewind the voter set",
    SecondChange: "a second voter change begins while one is open",
    ChangeBeforeCommit: "a new leader changes voters before it has committed",
    ServesUnflushedRemoval: "a leader serves a removal that its own disk does not have",
    ServesOpenRemoval: "who is removed is served its removal before that is committed",
    RemovedLeaderCounts: "a leader that is removed counts itself",
    SnapshotUnverified: "a snapshot is installed before it is verified",
}
