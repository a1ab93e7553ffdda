//! Ways out of damage that a start refuses: each is planned first, reading only, and then carried out step by step.
//!
//! What goes is kept under another name, and every step is durable before the next begins. A crash in between leaves
//! a directory that a start refuses, or one on which it does no harm; planning anew then finishes the work.

mod behind;
mod cut;
mod error;
mod new_identity;
mod only_voter;
mod refetch;
mod sole_voter;
mod step;
mod survey;
mod ways_out;

pub use error::RecoverError;
pub use step::Step;
pub use ways_out::{Loss, WayOut};

pub(crate) use ways_out::{WaysOut, ways_out};

use crate::storage_error::StorageError;
use kraft_fs::FileSystem;
use std::path::{Path, PathBuf};
use survey::Directory;
use uuid::Uuid;

/// The ways out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoverForm {
    /// The log ends behind its last good batch.
    Cut,
    /// The log is fetched again from the other voters.
    Refetch,
    /// The election state, with the vote in it, is gone for good.
    NewIdentity,
    /// The majority of the voters is gone for good.
    SoleVoter,
}

/// What a plan needs from outside.
#[derive(Debug, Clone, Copy)]
pub struct RecoverInputs {
    /// Becomes the id of the directory, where it gets a new one.
    pub new_directory_id: Uuid,
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
}

/// What recovering would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoverPlan {
    partition: PathBuf,
    steps: Vec<Step>,
    /// What is gone afterwards, as far as the node itself is concerned.
    pub loss: Option<Loss>,
    /// What the operator has to know or to do, in whole sentences.
    pub notes: Vec<String>,
}

impl RecoverPlan {
    /// The steps, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Does it. The caller still holds the lock under which the plan was made.
    ///
    /// # Errors
    /// [`StorageError`]. What has been done is then durable, and a new plan goes on from there.
    pub fn carry_out<F: FileSystem>(&self, fs: &F) -> Result<(), StorageError> {
        self.steps
            .iter()
            .try_for_each(|step| step.perform(fs, &self.partition))
    }
}

/// Plans one way out of whatever is wrong with the metadata directory `dir`; writes nothing. The caller holds the lock
/// of the directory.
///
/// # Errors
/// [`RecoverError`]: this way out is not one.
pub fn plan_recovery<F: FileSystem>(
    fs: &F,
    dir: &Path,
    form: RecoverForm,
    inputs: &RecoverInputs,
) -> Result<RecoverPlan, RecoverError> {
    let directory = Directory::look(fs, dir)?;
    match form {
        RecoverForm::Cut => cut::plan(fs, &directory),
        RecoverForm::Refetch => refetch::plan(fs, &directory, inputs),
        RecoverForm::NewIdentity => new_identity::plan(fs, &directory, inputs),
        RecoverForm::SoleVoter => sole_voter::plan(fs, &directory, inputs),
    }
}

impl RecoverForm {
    /// The option of `kraft recover` that stands for it.
    #[must_use]
    pub fn option(self) -> &'static str {
        match self {
            Self::Cut => "--cut",
            Self::Refetch => "--refetch",
            Self::NewIdentity => "--new-identity",
            Self::SoleVoter => "--sole-voter",
        }
    }
}
