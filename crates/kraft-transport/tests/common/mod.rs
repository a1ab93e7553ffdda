//! What the tests share: a state machine that counts words, and voters.

use kraft_core::{
    Config, Endpoint, Endpoints, Epoch, Instant, NodeId, ReplicaKey, SnapshotId, StateMachine,
    SupportedVersions, Time, VoterNode, VoterSet,
    state_machine::{ApplyFault, CommittedBatch, Handled, NodeView, ProposeError, Provenance, RecordValues},
};
use std::{convert::Infallible, sync::Arc, time::Duration};
use uuid::Uuid;

/// What the state machine cannot apply.
pub(crate) const POISON: &str = "poison";

/// What the state machine panics at: when it is applied, and when it is written to a snapshot.
pub(crate) const PANIC: &str = "panic";
pub(crate) const LATE_PANIC: &str = "panic in the snapshot";

/// What begins a transaction, and what ends it.
pub(crate) const BEGIN: &str = "begin";
pub(crate) const END: &str = "end";

/// Keeps every value that was committed, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    words: Arc<Vec<String>>,
    provenance: Provenance,
    /// Where the newest appended record stands, while leading.
    speculative: Option<Provenance>,
}

impl StateMachine for Words {
    type Record = String;
    type Image = Arc<Vec<String>>;
    type Mutation = Infallible;
    type Snapshot = Box<dyn Iterator<Item = Vec<u8>> + Send>;

    fn apply(&mut self, batch: CommittedBatch<'_>) -> Result<(), ApplyFault> {
        if batch.values.contains(&POISON.as_bytes()) {
            return Err(ApplyFault {
                offset: batch.base,
                reason: "this word means nothing".to_owned(),
            });
        }
        assert!(!batch.values.contains(&PANIC.as_bytes()), "as asked for");
        let words = Arc::make_mut(&mut self.words);
        words.extend(
            batch
                .values
                .iter()
                .map(|value| String::from_utf8_lossy(value).into_owned()),
        );
        self.provenance = batch.provenance();
        Ok(())
    }

    fn load(
        &mut self,
        id: SnapshotId,
        _timestamp_ms: i64,
        values: &mut dyn Iterator<Item = &[u8]>,
    ) -> Result<(), ApplyFault> {
        let words = values.map(|value| String::from_utf8_lossy(value).into_owned());
        self.words = Arc::new(words.collect());
        self.provenance = id.into();
        Ok(())
    }

    fn lead(&mut self, epoch: Epoch, _now: Time) -> Result<Vec<RecordValues>, ApplyFault> {
        self.speculative = Some(self.provenance);
        Ok(vec![vec![format!("epoch {epoch}").into_bytes()]])
    }

    fn unlead(&mut self) {
        self.speculative = None;
    }

    fn propose(
        &mut self,
        records: Vec<String>,
        expected: Option<Provenance>,
    ) -> Result<RecordValues, ProposeError> {
        let current = self.speculative.unwrap_or(self.provenance);
        if expected.is_some_and(|expected| expected != current) {
            return Err(ProposeError::Conflict { current });
        }
        Ok(records.into_iter().map(String::into_bytes).collect())
    }

    fn mutate(&mut self, mutations: Vec<Infallible>, _now: Time) -> Result<RecordValues, ProposeError> {
        Ok(mutations.into_iter().map(|never| match never {}).collect())
    }

    fn appended(&mut self, base: i64, epoch: Epoch, values: &[Vec<u8>]) {
        self.speculative = Some(Provenance {
            last_offset: base + values.len() as i64 - 1,
            last_epoch: epoch,
        });
    }

    fn poll(&mut self, _now: Time) -> Option<RecordValues> {
        None
    }

    fn next_poll(&self) -> Option<Instant> {
        None
    }

    fn handle(&mut self, _api: i16, _version: i16, _body: &[u8], _view: NodeView<'_>) -> Handled {
        Handled::Unsupported
    }

    fn image(&self) -> Arc<Vec<String>> {
        Arc::clone(&self.words)
    }

    fn provenance(&self) -> Provenance {
        self.provenance
    }

    fn snapshot(&self) -> Option<Self::Snapshot> {
        let mark = |word: &&String| *word == BEGIN || *word == END;
        if self.words.iter().rfind(mark).is_some_and(|word| word == BEGIN) {
            return None;
        }
        let words = self.words.to_vec();
        Some(Box::new(words.into_iter().map(|word| {
            assert_ne!(word, LATE_PANIC, "as asked for");
            word.into_bytes()
        })))
    }
}

/// Node ids with the ports that they listen on, as a static quorum of this machine.
pub(crate) fn config(node: i32, ports: &[(i32, u16)]) -> Config {
    let endpoint = |port: u16| Endpoint {
        host: "127.0.0.1".into(),
        port,
    };
    let own = ports
        .iter()
        .find(|(id, _)| *id == node)
        .map_or(0, |(_, port)| *port);
    let local = ReplicaKey::new(NodeId(node), Uuid::from_u128(1000 + node as u128));
    Config {
        listeners: Endpoints::single("CONTROLLER", endpoint(own)),
        static_voters: ports
            .iter()
            .map(|(id, port)| VoterNode {
                key: ReplicaKey::without_directory(NodeId(*id)),
                endpoints: Endpoints::single("CONTROLLER", endpoint(*port)),
                kraft_versions: SupportedVersions { min: 0, max: 0 },
            })
            .collect::<VoterSet>(),
        election_timeout: Duration::from_millis(300),
        fetch_timeout: Duration::from_millis(600),
        election_backoff_max: Duration::from_millis(300),
        request_timeout: Duration::from_millis(1000),
        ..Config::new(local, "AAAAAAAAAAAAAAAAAAAAAA", 7 + node as u64)
    }
}
