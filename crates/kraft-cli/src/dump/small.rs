//! The small files beside the log.

use std::io::{self, Write};
use std::path::Path;

use kraft_log::meta_properties::MetaProperties;
use kraft_log::{epoch_checkpoint, partition_metadata, quorum_state};
use kraft_wire::uuid_text;
use serde_json::{Map, Value, json};

use super::files::Small;
use super::{Dump, DumpError};

impl<W: Write> Dump<W> {
    /// Shows one of the small files; what cannot be read as what its name says counts as damage.
    pub(super) fn small(&mut self, path: &Path, small: Small) -> Result<(), Box<dyn std::error::Error>> {
        let reading = |source| DumpError::Read {
            path: path.to_owned(),
            source,
        };
        let bytes = read_small(path).map_err(reading)?;
        let content = content(small, &bytes);
        if content.is_err() {
            self.damaged += 1;
        }
        let (lines, value) = content.unwrap_or_else(|problem| {
            (
                vec![format!("! {}: {problem}", path.display())],
                json!({ "note": problem }),
            )
        });
        if self.json {
            let object = json!({ "file": path.display().to_string(), "content": value });
            writeln!(self.out, "{object}")?;
        } else {
            writeln!(self.out, "Dumping {}", path.display())?;
            for line in lines {
                writeln!(self.out, "{line}")?;
            }
        }
        Ok(())
    }
}

/// Lines for people and the same as a value, or what is wrong.
fn content(small: Small, bytes: &[u8]) -> Result<(Vec<String>, Value), String> {
    match small {
        Small::QuorumState => {
            quorum_state::parse(bytes).map_err(|error| error.to_string())?;
            let text = String::from_utf8_lossy(bytes);
            let line = text.lines().next().unwrap_or_default().to_owned();
            let value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
            Ok((vec![line], value))
        }
        Small::EpochCheckpoint => {
            let entries = epoch_checkpoint::parse(bytes).map_err(|error| error.to_string())?;
            let line = |entry: &epoch_checkpoint::EpochStart| {
                format!("epoch: {} startOffset: {}", entry.epoch, entry.start_offset)
            };
            let value = |entry: &epoch_checkpoint::EpochStart| json!({ "epoch": entry.epoch.0, "startOffset": entry.start_offset });
            Ok((
                entries.iter().map(line).collect(),
                entries.iter().map(value).collect(),
            ))
        }
        Small::MetaProperties => {
            let properties = MetaProperties::parse(bytes).map_err(|error| error.to_string())?;
            let entries = properties.sorted_entries();
            let lines = entries
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            let object: Map<_, _> = entries
                .into_iter()
                .map(|(key, value)| (key.to_owned(), Value::from(value)))
                .collect();
            Ok((lines, Value::Object(object)))
        }
        Small::PartitionMetadata => {
            let topic_id = partition_metadata::parse(bytes).map_err(|error| error.to_string())?;
            let text = uuid_text::format(&topic_id);
            Ok((vec![format!("topicId: {text}")], json!({ "topicId": text })))
        }
    }
}

/// Small files are small; one that is not is not read whole.
fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(SIZE_MAX)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// An epoch cache with a million entries.
const SIZE_MAX: u64 = 32 << 20;
