//! What is in a node's log, read from its files, whether the node runs or not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use bytes::Bytes;
use kraft_metadata::record::RegisterControllerRecord;
use kraft_wire::Message;
use kraft_wire::batch::{BatchView, Batches, Record};
use kraft_wire::metadata_frame::MetadataFrame;

use super::load;

/// One record as it stands in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedRecord {
    /// The epoch of its batch.
    pub epoch: i32,
    /// Key and value.
    pub bytes: (Option<Bytes>, Option<Bytes>),
}

/// A log, record by record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The records by offset.
    pub records: BTreeMap<i64, LoggedRecord>,
    /// The numbers of the records that a [`Load`](super::Load) wrote.
    pub loaded: BTreeSet<u64>,
}

impl Contents {
    /// The first offset below `end` at which two logs hold different records.
    ///
    /// Where both logs are of one quorum and it has committed everything below `end`, there is none. Behind that a node
    /// that was stopped may have what its leader wrote last, and another one what the next leader wrote in its place.
    pub fn first_difference(&self, other: &Contents, end: i64) -> Option<i64> {
        let both = self
            .records
            .range(..end)
            .filter_map(|(offset, record)| Some((offset, record, other.records.get(offset)?)));
        both.into_iter()
            .find(|(_, record, theirs)| record != theirs)
            .map(|(offset, ..)| *offset)
    }

    /// The epoch of the last record and its offset. Of the logs of a quorum the one where this is largest has everything that
    /// was ever committed.
    pub fn last(&self) -> Option<(i32, i64)> {
        let (offset, record) = self.records.last_key_value()?;
        Some((record.epoch, *offset))
    }
}

/// Reads the log below a data directory up to the end of its last whole and right batch.
///
/// # Errors
/// A file cannot be read. A directory that is not there is an empty log.
pub fn contents_of(data: &Path) -> io::Result<Contents> {
    let mut contents = Contents::default();
    let folder = data.join("__cluster_metadata-0");
    if !folder.exists() {
        return Ok(contents);
    }
    let mut segments: Vec<_> = fs::read_dir(&folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    segments.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    segments.sort();
    for segment in segments {
        let batches = Batches::new(Bytes::from(fs::read(segment)?));
        for batch in batches
            .map_while(Result::ok)
            .take_while(|batch| batch.validate().is_ok())
        {
            contents.add(&batch);
        }
    }
    Ok(contents)
}

impl Contents {
    fn add(&mut self, batch: &BatchView) {
        for record in batch.records().map_while(Result::ok) {
            if !batch.is_control()
                && let Some(number) = number_of(&record)
            {
                self.loaded.insert(number);
            }
            let logged = LoggedRecord {
                epoch: batch.leader_epoch(),
                bytes: (record.key, record.value),
            };
            self.records.insert(record.offset, logged);
        }
    }
}

fn number_of(record: &Record) -> Option<u64> {
    let frame = MetadataFrame::parse(record.value.as_ref()?).ok()?;
    if frame.api_key != RegisterControllerRecord::API_KEY {
        return None;
    }
    let registration: RegisterControllerRecord = frame.decode().ok()?;
    load::number_of(&registration.incarnation_id)
}
