//! The single steps of a recovery, each durable when it is done.

use super::sole_voter::append_voters;
use crate::{
    epoch_checkpoint::{self, EpochStart},
    meta_properties::MetaProperties,
    names::{NO_VOTE_FILE, SYNCED_FILE},
    quorum_state,
    segment_files::remove_if_there,
    storage_error::{StorageError, failed},
};
use kraft_core::{ElectionState, Epoch, VoterSet};
use kraft_fs::{File, FileSystem, Open};
use kraft_wire::uuid_text;
use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// One step. The display form says what it does to which file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// A file, from a position on, is copied.
    KeepCopy {
        /// Which file.
        from: PathBuf,
        /// From where on.
        position: u64,
        /// The copy.
        to: PathBuf,
    },
    /// A file takes another name, which nobody reads.
    SetAside {
        /// Which file.
        from: PathBuf,
        /// The other name.
        to: PathBuf,
    },
    /// A segment is cut.
    Cut {
        /// The segment.
        path: PathBuf,
        /// Where.
        position: u64,
        /// How many bytes go.
        bytes: u64,
    },
    /// The leader-epoch cache is replaced.
    StoreEpochs {
        /// Its entries.
        entries: Vec<EpochStart>,
    },
    /// The note on how far the log was durable goes.
    ForgetSynced,
    /// The directory gets another id.
    StoreProperties {
        /// The metadata directory.
        dir: PathBuf,
        /// What `meta.properties` says then.
        properties: MetaProperties,
        /// The time, in milliseconds since 1970.
        now_ms: i64,
    },
    /// The election state is replaced.
    StoreElection {
        /// The new one.
        election: ElectionState,
    },
    /// The node gives no vote and does not campaign until it has everything again.
    AbstainFromVotes,
    /// A batch that names the voters is appended, the first of an epoch.
    AppendVoters {
        /// The voters.
        voters: VoterSet,
        /// The epoch.
        epoch: Epoch,
        /// The time, in milliseconds since 1970.
        now_ms: i64,
    },
}

impl Step {
    pub(super) fn perform<F: FileSystem>(&self, fs: &F, partition: &Path) -> Result<(), StorageError> {
        match self {
            Self::KeepCopy { from, position, to } => keep_copy(fs, from, *position, to),
            Self::SetAside { from, to } => {
                fs.rename(from, to).map_err(failed("setting aside", from))?;
                sync_dir(fs, partition)
            }
            Self::Cut { path, position, .. } => {
                let file = fs.open(path, Open::ReadWrite).map_err(failed("opening", path))?;
                file.set_len(*position).map_err(failed("cutting", path))?;
                file.sync_all().map_err(failed("syncing", path))
            }
            Self::StoreEpochs { entries } => epoch_checkpoint::store(fs, partition, entries)
                .map_err(failed("replacing", &partition.join(epoch_checkpoint::FILE_NAME))),
            Self::ForgetSynced => {
                remove_if_there(fs, &partition.join(SYNCED_FILE))?;
                sync_dir(fs, partition)
            }
            Self::StoreProperties {
                dir,
                properties,
                now_ms,
            } => properties
                .store(fs, dir, *now_ms)
                .map_err(failed("replacing", &dir.join(crate::meta_properties::FILE_NAME))),
            Self::StoreElection { election } => quorum_state::store(fs, partition, election)
                .map_err(failed("replacing", &partition.join(quorum_state::FILE_NAME))),
            Self::AbstainFromVotes => kraft_fs::replace_file(fs, partition, NO_VOTE_FILE, NO_VOTE_TEXT)
                .map_err(failed("creating", &partition.join(NO_VOTE_FILE))),
            Self::AppendVoters {
                voters,
                epoch,
                now_ms,
            } => append_voters(fs, partition, voters, *epoch, *now_ms),
        }
    }
}

fn sync_dir<F: FileSystem>(fs: &F, dir: &Path) -> Result<(), StorageError> {
    fs.sync_dir(dir).map_err(failed("syncing", dir))
}

/// Nothing of a copy that did not succeed is left, as far as the disk lets us.
fn keep_copy<F: FileSystem>(fs: &F, from: &Path, position: u64, to: &Path) -> Result<(), StorageError> {
    let source = fs.open(from, Open::Read).map_err(failed("opening", from))?;
    let copy = fs.open(to, Open::CreateNew).map_err(failed("creating", to))?;
    let copied = copy_bytes(&source, position, &copy).and_then(|()| copy.sync_all());
    if let Err(error) = copied {
        remove_if_there(fs, to).ok();
        return Err(failed("copying to", to)(error));
    }
    let dir = to.parent().unwrap_or(to);
    sync_dir(fs, dir)
}

fn copy_bytes(source: &impl File, position: u64, copy: &impl File) -> io::Result<()> {
    let len = source.len()?;
    let mut buffer = vec![0; 1 << 20];
    let mut at = position;
    while at < len {
        let piece = (len - at).min(buffer.len() as u64) as usize;
        source.read_exact_at(&mut buffer[..piece], at)?;
        copy.write_all_at(&buffer[..piece], at - position)?;
        at += piece as u64;
    }
    Ok(())
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |path: &Path| {
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        match self {
            Self::KeepCopy {
                from,
                position: 0,
                to,
            } => write!(f, "copy {} to {}", from.display(), name(to)),
            Self::KeepCopy { from, position, to } => {
                write!(
                    f,
                    "copy {} from byte {position} on to {}",
                    from.display(),
                    name(to)
                )
            }
            Self::SetAside { from, to } => write!(f, "rename {} to {}", from.display(), name(to)),
            Self::Cut {
                path,
                position,
                bytes,
            } => write!(f, "cut {} at byte {position}, {bytes} bytes go", path.display()),
            Self::StoreEpochs { entries } => {
                write!(f, "write {} anew: ", epoch_checkpoint::FILE_NAME)?;
                match entries.last() {
                    Some(last) => write!(f, "up to epoch {} from offset {}", last.epoch, last.start_offset),
                    None => f.write_str("empty"),
                }
            }
            Self::ForgetSynced => write!(f, "remove {SYNCED_FILE}, which says how far the log was durable"),
            Self::StoreProperties { dir, properties, .. } => {
                let id = properties.directory_id.unwrap_or_default();
                let file = dir.join(crate::meta_properties::FILE_NAME);
                write!(
                    f,
                    "give {} the new directory.id={}",
                    file.display(),
                    uuid_text::format(&id)
                )
            }
            Self::StoreElection { election } => write!(
                f,
                "write {}: epoch {}, no vote, no leader",
                quorum_state::FILE_NAME,
                election.epoch
            ),
            Self::AbstainFromVotes => write!(
                f,
                "create {NO_VOTE_FILE}: the node neither votes nor campaigns until it has all that is committed"
            ),
            Self::AppendVoters { voters, epoch, .. } => {
                let ids: Vec<String> = voters.ids().map(|id| id.to_string()).collect();
                write!(f, "append the voter set {{{}}} in epoch {epoch}", ids.join(", "))
            }
        }
    }
}

/// For whoever opens the file: nobody reads what it says.
const NO_VOTE_TEXT: &[u8] =
    b"This node fetches its log again and neither votes nor campaigns until it has it.\n";
