//! The bytes that the core speaks of by number.

use super::batches;
use crate::codec::Bodies;
use bytes::Bytes;
use kraft_core::{FetchedRecords, PayloadId};
use std::collections::BTreeMap;

/// Bytes that the core has not decided about yet.
#[derive(Debug)]
pub(super) enum Payload {
    /// The values of the records of one batch, and what they are stamped with.
    Values { values: Vec<Vec<u8>>, timestamp_ms: i64 },
    /// The batches of a Fetch answer, one behind the other.
    Batches(Bytes),
    /// A piece of a snapshot.
    Chunk(Bytes),
}

/// All of them. The core keeps few: one answer at a time, and a proposal only until it is stepped.
#[derive(Debug, Default)]
pub(super) struct Payloads {
    next: u64,
    kept: BTreeMap<PayloadId, Payload>,
}

impl Payloads {
    pub(super) fn keep(&mut self, payload: Payload) -> PayloadId {
        let id = PayloadId(self.next);
        self.next += 1;
        self.kept.insert(id, payload);
        id
    }

    /// # Panics
    /// If the core names bytes that it was never given, or names them twice.
    pub(super) fn take(&mut self, id: PayloadId) -> Payload {
        self.kept
            .remove(&id)
            .expect("the core names a payload once, and only one that it was given")
    }

    pub(super) fn discard(&mut self, id: PayloadId) {
        self.kept.remove(&id);
    }
}

impl Bodies for Payloads {
    fn records(&mut self, records: Bytes) -> FetchedRecords {
        match batches::checked(records) {
            Ok((batches, bytes)) => FetchedRecords::Batches {
                batches: batches.into(),
                payload: self.keep(Payload::Batches(bytes)),
            },
            Err(_) => FetchedRecords::Corrupt,
        }
    }

    fn chunk(&mut self, bytes: Bytes) -> PayloadId {
        self.keep(Payload::Chunk(bytes))
    }
}
