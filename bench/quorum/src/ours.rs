//! Our voters: those that an embedder starts in a unit test.

use std::convert::Infallible;

use kraft_core::state_machine::{ApplyFault, CommittedBatch, ProposeError, Provenance, RecordValues};
use kraft_core::{SnapshotId, StateMachine};
use kraft_transport::Handle;
use kraft_transport::memory::MemoryQuorum;

use crate::Error;
use crate::quorum::{Client, Quorum};

/// What is measured, for whoever reads the figures.
pub const HOW: &str =
    "MemoryQuorum, files in memory, requests between voters as Kafka's bytes with checksums";

/// Counts what is committed.
#[derive(Default)]
pub struct Count {
    records: u64,
    bytes: u64,
    at: Provenance,
}

impl Count {
    fn add(&mut self, value: &[u8]) {
        self.records += 1;
        self.bytes += value.len() as u64;
    }
}

impl StateMachine for Count {
    type Record = Vec<u8>;
    type Image = u64;
    type Mutation = Infallible;
    type Snapshot = std::array::IntoIter<Vec<u8>, 2>;

    fn apply(&mut self, batch: CommittedBatch<'_>) -> Result<(), ApplyFault> {
        batch.values.iter().for_each(|value| self.add(value));
        self.at = batch.provenance();
        Ok(())
    }

    fn load(
        &mut self,
        id: SnapshotId,
        _timestamp_ms: i64,
        values: &mut dyn Iterator<Item = &[u8]>,
    ) -> Result<(), ApplyFault> {
        let mut number = || values.next()?.try_into().ok().map(u64::from_be_bytes);
        let fault = || ApplyFault {
            offset: id.end_offset,
            reason: "not two numbers".to_owned(),
        };
        self.records = number().ok_or_else(fault)?;
        self.bytes = number().ok_or_else(fault)?;
        self.at = id.into();
        Ok(())
    }

    fn propose(
        &mut self,
        records: Vec<Vec<u8>>,
        _: Option<Provenance>,
    ) -> Result<RecordValues, ProposeError> {
        Ok(records)
    }

    fn image(&self) -> u64 {
        self.records
    }

    fn provenance(&self) -> Provenance {
        self.at
    }

    fn snapshot(&self) -> Option<Self::Snapshot> {
        Some(
            [self.records, self.bytes]
                .map(|number| number.to_be_bytes().to_vec())
                .into_iter(),
        )
    }
}

/// Three of them.
pub struct Voters {
    quorum: MemoryQuorum<Count>,
    leader: Handle<Count>,
}

impl Quorum for Voters {
    type Client = Handle<Count>;

    async fn start() -> Result<Self, Error> {
        let quorum = MemoryQuorum::start(3, Count::default).await?;
        let leader = quorum.leader().await;
        Ok(Self { quorum, leader })
    }

    fn client(&self) -> Handle<Count> {
        self.leader.clone()
    }

    async fn stop(mut self, acknowledged: u64) -> Result<(), Error> {
        for node in self.quorum.nodes() {
            let mut image = node.watch_image();
            image.wait_for(|records| *records >= acknowledged).await?;
        }
        let nodes: Vec<_> = self.quorum.nodes().map(Handle::node_id).collect();
        for node in nodes {
            self.quorum.halt(node).await?;
        }
        Ok(())
    }
}

impl Client for Handle<Count> {
    async fn write(&self, record: Vec<u8>) -> Result<(), Error> {
        self.submit(vec![record], None).await?;
        Ok(())
    }
}
