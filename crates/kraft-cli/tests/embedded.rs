//! The tools and a quorum of other metadata than Kafka's, which a program has inside itself.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use std::convert::Infallible;
use std::iter::Empty;
use std::process::Command;

use kraft_core::state_machine::{ApplyFault, CommittedBatch, ProposeError, Provenance, RecordValues};
use kraft_core::{SnapshotId, StateMachine};
use kraft_transport::node::{self, NodeConfig};

/// Metadata of which only the age is known.
struct Nothing(Provenance);

impl StateMachine for Nothing {
    type Record = Infallible;
    type Image = ();
    type Mutation = Infallible;
    type Snapshot = Empty<Vec<u8>>;

    fn apply(&mut self, batch: CommittedBatch<'_>) -> Result<(), ApplyFault> {
        self.0 = batch.provenance();
        Ok(())
    }

    fn load(&mut self, id: SnapshotId, _: i64, _: &mut dyn Iterator<Item = &[u8]>) -> Result<(), ApplyFault> {
        self.0 = id.into();
        Ok(())
    }

    fn propose(&mut self, _: Vec<Infallible>, _: Option<Provenance>) -> Result<RecordValues, ProposeError> {
        Ok(RecordValues::new())
    }

    fn image(&self) {}

    fn provenance(&self) -> Provenance {
        self.0
    }

    fn snapshot(&self) -> Option<Self::Snapshot> {
        None
    }
}

#[test]
fn the_leader_is_found_though_nobody_registers() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = node::runtime().unwrap();
    let voters = [(1, "127.0.0.1:0")];
    let config = NodeConfig::voter("cluster", 1, &voters, folder.path()).unwrap();
    let node = runtime
        .block_on(node::start(config, Nothing(Provenance::NONE)))
        .unwrap();
    let address = node.local_addr().unwrap().to_string();
    let asked = |arguments: &[&str]| {
        let place = ["--bootstrap-controller", &address];
        let mut kraft = Command::new(env!("CARGO_BIN_EXE_kraft"));
        let output = kraft.args(arguments).args(place).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let kraft = |arguments: &[&str]| {
        let (code, stdout) = asked(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {stdout}");
        stdout
    };

    let status = kraft(&["quorum", "describe", "--status"]);
    assert!(
        status.starts_with("ClusterId:              unknown\nLeaderId:               1\n"),
        "{status}"
    );
    let upgrade = ["features", "upgrade", "--feature", "kraft.version=1"];
    assert_eq!(kraft(&upgrade), "kraft.version was upgraded to 1.\n");
    let described = kraft(&["features", "describe"]);
    let words: Vec<_> = described.split_whitespace().take(8).collect();
    assert_eq!(
        words.join(" "),
        "Feature: kraft.version SupportedMinVersion: 0 SupportedMaxVersion: 1 FinalizedVersionLevel: 1"
    );
    assert_eq!(described.lines().count(), 1, "{described}");
    // It has no other feature.
    assert_eq!(
        asked(&["features", "disable", "--feature", "metadata.version"]),
        (
            Some(1),
            "Could not disable metadata.version. The update failed for all features since the following feature had an \
             error: Invalid update version 0 for feature metadata.version. Local controller 1 does not support this \
             feature.\n"
                .to_owned()
        )
    );
    runtime.block_on(node.shutdown()).unwrap();
}
