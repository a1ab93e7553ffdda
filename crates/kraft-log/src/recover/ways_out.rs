//! Which ways out there are of what a start refuses, and what is lost.

use super::{RecoverForm, RecoverInputs, plan_recovery};
use crate::{directory::look_beside_election, open_error::OpenError};
use kraft_core::SnapshotId;
use kraft_fs::FileSystem;
use kraft_snapshot::{SnapshotReadError, frozen_name};
use kraft_wire::uuid_text::METADATA_TOPIC_ID;
use std::{fmt, path::Path};
use uuid::Uuid;

/// What is gone of the log, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The first offset that is not there whole.
    pub from: i64,
    /// Up to where records are known to have been, if anything says so.
    pub known_end: Option<i64>,
}

/// What an operator can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WayOut {
    /// `kraft recover` in this form.
    Recover(RecoverForm),
    /// Put back the file, or the directory, from a copy.
    RestoreCopy,
    /// Format the directory anew: it has never been used.
    FormatAnew,
}

/// The ways out of one refusal.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaysOut {
    pub(crate) loss: Option<Loss>,
    pub(crate) ways: Vec<WayOut>,
}

/// Tries every form on a directory that is refused; the fitting ones first.
pub(crate) fn ways_out<F: FileSystem>(fs: &F, partition: &Path, cause: &OpenError) -> WaysOut {
    let mut found = WaysOut::default();
    if cause.is_io() {
        return found;
    }
    let dir = match (cause, partition.parent()) {
        // These say themselves what to do, or are no damage.
        (
            OpenError::Repair(_)
            | OpenError::StrangeName { .. }
            | OpenError::NotAFile { .. }
            | OpenError::UnknownKRaftVersion { .. }
            | OpenError::SegmentTooLarge { .. }
            | OpenError::EpochCheckpoint(_)
            | OpenError::PartitionMetadata(_)
            | OpenError::WrongTopic { .. },
            _,
        )
        | (_, None) => return found,
        (_, Some(dir)) => dir,
    };
    let inputs = RecoverInputs {
        new_directory_id: Uuid::nil(),
        now_ms: 0,
    };
    for form in [RecoverForm::NewIdentity, RecoverForm::Refetch, RecoverForm::Cut] {
        if let Ok(plan) = plan_recovery(fs, dir, form, &inputs) {
            found.ways.push(WayOut::Recover(form));
            if form == RecoverForm::Cut {
                found.loss = plan.loss;
            }
        }
    }
    if found.ways.is_empty() {
        let never_used = is_zero_checkpoint(cause) && has_no_records(fs, partition);
        found.ways.push(if never_used {
            WayOut::FormatAnew
        } else {
            WayOut::RestoreCopy
        });
    }
    found
}

fn is_zero_checkpoint(cause: &OpenError) -> bool {
    let OpenError::Snapshot(SnapshotReadError::Damaged { path, .. }) = cause else {
        return false;
    };
    path.file_name()
        .is_some_and(|name| name == &*frozen_name(SnapshotId::BOOTSTRAP))
}

fn has_no_records<F: FileSystem>(fs: &F, partition: &Path) -> bool {
    let contents = look_beside_election(fs, partition, &METADATA_TOPIC_ID);
    contents.is_ok_and(|contents| contents.segments.values().all(|len| *len == 0))
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known_end {
            Some(end) => write!(
                f,
                "the records from offset {} to {end}, and what came behind",
                self.from
            ),
            None => write!(f, "the records from offset {} on, if there were any", self.from),
        }
    }
}

impl WayOut {
    /// A name for programs: the option of `kraft recover`, or a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Recover(form) => form.option(),
            Self::RestoreCopy => "restore-copy",
            Self::FormatAnew => "format-anew",
        }
    }

    /// The sentence for an operator of the metadata directory `dir`.
    pub(crate) fn sentence(self, dir: &Path) -> String {
        let dir = dir.display();
        match self {
            Self::Recover(RecoverForm::Cut) => {
                format!("kraft recover {dir} --cut lets the log end behind its last good batch")
            }
            Self::Recover(RecoverForm::Refetch) => {
                format!(
                    "while a majority of the voters is healthy, kraft recover {dir} --refetch fetches the log again"
                )
            }
            Self::Recover(RecoverForm::NewIdentity) => {
                format!(
                    "kraft recover {dir} --new-identity writes a quorum-state that votes under no old name"
                )
            }
            Self::Recover(RecoverForm::SoleVoter) => {
                format!("kraft recover {dir} --sole-voter goes on with this node alone")
            }
            Self::RestoreCopy => format!("restore {dir} from a copy, or format it anew"),
            Self::FormatAnew => format!("the node has never been used: empty {dir} and format it anew"),
        }
    }
}
