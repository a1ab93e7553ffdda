//! What a start makes of a directory.

use crate::{
    common::{files, unpack},
    edits::apply,
};
use kraft_core::LogView;
use kraft_fs::{MemFs, Unsynced};
use kraft_log::{ConfiguredDirectories, LogOptions, check_directories, open, verify};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What a start makes of a directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It opens: where the log starts and ends, and the epoch of its last record.
    Starts { start: i64, end: i64, epoch: i32 },
    /// It is refused, and nothing was written.
    Refused {
        file: String,
        byte: Option<u64>,
        message: String,
    },
}

/// What becomes of node `node` on a directory with these edits. A start and `verify` have to agree.
pub(crate) fn outcome(id: &str, (good, dir): &(MemFs, PathBuf), node: i32, edits: &Value) -> Outcome {
    let fs = good.crash_image(Unsynced::Kept);
    for edit in edits.as_array().into_iter().flatten() {
        apply(&fs, edit);
    }
    outcome_of(id, &fs, dir, node)
}

pub(crate) fn outcome_of(id: &str, fs: &MemFs, dir: &Path, node: i32) -> Outcome {
    let before = files(fs, dir);
    let checked = check_directories(
        fs,
        ConfiguredDirectories {
            node_id: node,
            metadata_dir: Path::new("/data"),
            log_dirs: &[],
        },
    );
    if let Err(error) = checked {
        let message = error.to_string();
        let file = message.split(": ").next().expect("a first part");
        return Outcome::Refused {
            file: file.replace("/data/", ""),
            byte: None,
            message,
        };
    }
    let verified = verify(fs, dir);
    assert_eq!(files(fs, dir), before, "{id}: verifying writes nothing");
    match open(fs.clone(), dir, LogOptions::default()) {
        Ok(opened) => {
            let (start, end) = (opened.index.start(), opened.index.end());
            let verified = verified.unwrap_or_else(|error| panic!("{id}: a node starts, but {error}"));
            assert_eq!(
                (verified.start, verified.end, verified.last_epoch),
                (start, end.last_offset, end.last_epoch),
                "{id}"
            );
            let again = verify(fs, dir).expect("a node has started on it");
            assert_eq!(again.repairs, [], "{id}");
            Outcome::Starts {
                start,
                end: end.last_offset,
                epoch: end.last_epoch.0,
            }
        }
        Err(error) => {
            assert_eq!(files(fs, dir), before, "{id}: a refusal writes nothing");
            let message = error.to_string();
            let verified = verified.map(|_| ()).expect_err("a node refuses it").to_string();
            assert_eq!(verified, message, "{id}");
            assert!(!message.contains('\n'), "{id}: one line: {message}");
            let (file, byte) = error.place();
            let file = file.unwrap_or_else(|| panic!("{id}: no file: {message}"));
            let name = file.file_name().expect("a name").to_string_lossy();
            Outcome::Refused {
                file: name.into_owned(),
                byte,
                message,
            }
        }
    }
}

/// Unpacks a directory once.
#[derive(Default)]
pub(crate) struct Bases(std::collections::BTreeMap<String, (MemFs, PathBuf)>);

impl Bases {
    pub(crate) fn get(&mut self, name: &str) -> &(MemFs, PathBuf) {
        self.0.entry(name.to_owned()).or_insert_with(|| unpack(name))
    }
}
