//! `kraft verify`: whether a node would start on a metadata directory, and what it would change.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kraft_fs::{DirLock, FileSystem, LockError, RealFs};
use kraft_log::{
    ConfiguredDirectories, DirectoryCheckError, METADATA_PARTITION_DIR, MetaProperties,
    Refusal as LogRefusal, Repair, Verified, check_directories, verify,
};
use serde_json::{Value, json};
use thiserror::Error;

use crate::Outcome;
use crate::out::Out;
use crate::progress::Watched;

/// Check a whole metadata directory and change nothing: exit 0 exactly when a node would start on it
#[derive(clap::Args)]
#[command(after_help = "No node may be running on the directory.\n\n\
    Examples:\n  \
    kraft verify /var/lib/kafka\n  \
    kraft verify --json /var/lib/kafka")]
pub(crate) struct Arguments {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// The metadata directory, the one with meta.properties
    dir: PathBuf,
}

/// Why a node would not start.
#[derive(Debug, Error)]
enum Refusal {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Directory(#[from] DirectoryCheckError),
    #[error(transparent)]
    Log(#[from] LogRefusal),
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let found = verify_directory(&arguments.dir);
    let mut out = Out::report();
    if arguments.json {
        writeln!(out, "{}", as_json(&found))?;
    } else if let Ok(verified) = &found {
        print_verified(&mut out, verified)?;
    }
    match found {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(refusal) => Err(refusal.into()),
    }
}

/// What `kraft run` checks before it opens its listener, without a configuration to compare with.
fn verify_directory(dir: &Path) -> Result<Verified, Refusal> {
    let _lock = lock_if_there(dir)?;
    let partition = dir.join(METADATA_PARTITION_DIR);
    // What is wrong with the file is said by the check below.
    let properties = MetaProperties::load(&RealFs, dir).ok().flatten();
    let node_id = properties.and_then(|properties| properties.node_id);
    check_directories(
        &RealFs,
        ConfiguredDirectories {
            node_id: node_id.unwrap_or_default(),
            metadata_dir: dir,
            log_dirs: &[],
        },
    )?;
    Ok(verify(&Watched::new(RealFs), &partition)?)
}

/// Takes the lock where its file exists, as it does while a node runs. To create the file would be a change, and where it
/// cannot be opened, which another user may be able to, nothing can be said. What no user can open is refused.
fn lock_if_there(dir: &Path) -> Result<Option<DirLock>, LockError> {
    let path = dir.join(".lock");
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let source = match path.metadata() {
        Ok(found) if found.is_dir() => io::ErrorKind::IsADirectory.into(),
        Ok(_) => {
            return match RealFs.lock_dir(dir) {
                Err(LockError::Io { .. }) => Ok(None),
                locked => locked.map(Some),
            };
        }
        Err(error) => error,
    };
    Err(LockError::Io { path, source })
}

/// What a start would change, and what it would find.
pub(crate) fn print_verified(out: &mut impl Write, verified: &Verified) -> io::Result<()> {
    for repair in &verified.repairs {
        writeln!(out, "{repair}")?;
    }
    for damage in &verified.unneeded {
        writeln!(out, "{damage}; no start needs this snapshot")?;
    }
    let Verified {
        start,
        end,
        last_epoch,
        ..
    } = verified;
    write!(
        out,
        "a node would start: log {start} to {end}, epoch {last_epoch}"
    )?;
    match verified.snapshot {
        Some(id) => writeln!(out, ", latest snapshot {}-{}", id.end_offset, id.epoch),
        None => writeln!(out, ", no snapshot"),
    }
}

fn as_json(found: &Result<Verified, Refusal>) -> Value {
    match found {
        Ok(verified) => json!({
            "starts": true,
            "logStart": verified.start,
            "logEnd": verified.end,
            "lastEpoch": verified.last_epoch.0,
            "snapshot": verified.snapshot.map(|id| json!({"endOffset": id.end_offset, "epoch": id.epoch.0})),
            "repairs": verified.repairs.iter().map(repair_json).collect::<Vec<_>>(),
            "unneeded": verified.unneeded.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }),
        Err(refusal) => {
            let (file, position) = match refusal {
                Refusal::Lock(_) | Refusal::Directory(_) => (None, None),
                Refusal::Log(error) => error.place(),
            };
            let (loss, ways_out) = match refusal {
                Refusal::Lock(_) | Refusal::Directory(_) => (None, &[][..]),
                Refusal::Log(error) => (error.loss, &*error.ways_out),
            };
            json!({
                "starts": false,
                "file": file.map(|file| file.display().to_string()),
                "position": position,
                "reason": refusal.to_string(),
                "lostFrom": loss.map(|loss| loss.from),
                "lostKnownEnd": loss.and_then(|loss| loss.known_end),
                "waysOut": ways_out.iter().map(|way| way.name()).collect::<Vec<_>>(),
            })
        }
    }
}

fn repair_json(repair: &Repair) -> Value {
    let file = repair.path().display().to_string();
    match repair {
        Repair::Remove { reason, .. } => {
            json!({"action": "remove", "file": file, "reason": reason.to_string()})
        }
        Repair::Cut {
            position,
            bytes,
            zeros,
            ..
        } => json!({"action": "cut", "file": file, "position": position, "bytes": bytes, "zeros": zeros}),
        Repair::SetAside { .. } => json!({"action": "rename", "file": file}),
        Repair::Rebuild { .. } => json!({"action": "rebuild", "file": file}),
        other => json!({"action": "other", "file": file, "reason": other.to_string()}),
    }
}
