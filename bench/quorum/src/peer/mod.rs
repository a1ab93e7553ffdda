//! Voters of openraft, over a log and a network in memory that are as small as they can be.

mod links;
mod log;
mod machine;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use openraft::{Config, EmptyNode, Raft, SnapshotPolicy};

use crate::Error;
use crate::quorum::{Client, Quorum};
use links::Links;
use log::Log;
use machine::Count;

/// The crate, as the figures name it.
pub const NAME: &str = "openraft 0.10.0-alpha.37";

/// What is measured, for whoever reads the figures.
pub const HOW: &str = "log in a deque, entries between voters as they are, stream_append handed through";

openraft::declare_raft_types!(
    /// The types of the voters.
    pub Types:
        D = Record,
        R = (),
        Node = EmptyNode,
);

/// A record.
#[derive(Debug, Clone)]
pub struct Record(Bytes);

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// One voter.
type Voter = Raft<Types, Count>;

/// Three of them.
pub struct Voters {
    voters: Vec<Voter>,
    leader: Voter,
}

impl Quorum for Voters {
    type Client = Voter;

    async fn start() -> Result<Self, Error> {
        let config = Config {
            // As ours has it: nothing of so short a run is ever removed.
            snapshot_policy: SnapshotPolicy::Never,
            ..Config::default()
        };
        let config = Arc::new(config.validate()?);
        let links = Links::default();
        let mut voters = Vec::new();
        for id in IDS {
            let voter = Raft::new(
                id,
                Arc::clone(&config),
                links.clone(),
                Log::default(),
                Count::default(),
            )
            .await?;
            links.insert(id, voter.clone());
            voters.push(voter);
        }
        voters[0].initialize(BTreeSet::from(IDS)).await?;
        let led = voters[0].wait(Some(PATIENCE));
        let led = led
            .metrics(|metrics| metrics.current_leader.is_some(), "a leader")
            .await?;
        let leader = led.current_leader.ok_or("nobody leads")?;
        let leader = IDS
            .iter()
            .position(|id| *id == leader)
            .ok_or("nobody knows the leader")?;
        let leader = voters[leader].clone();
        Ok(Self { voters, leader })
    }

    fn client(&self) -> Voter {
        self.leader.clone()
    }

    async fn stop(self, acknowledged: u64) -> Result<(), Error> {
        for voter in &self.voters {
            // Three entries of openraft's own may be among them.
            let waiting = voter.wait(Some(PATIENCE));
            let all = "all of it";
            waiting.applied_index_at_least(Some(acknowledged), all).await?;
            let records = voter.with_state_machine(|machine| {
                let records = machine.records();
                Box::pin(async move { records })
            });
            let records = records.await?;
            if records < acknowledged {
                return Err(format!("{acknowledged} records are acknowledged, {records} applied").into());
            }
        }
        for voter in self.voters {
            voter.shutdown().await?;
        }
        Ok(())
    }
}

impl Client for Voter {
    async fn write(&self, record: Vec<u8>) -> Result<(), Error> {
        self.client_write(Record(record.into())).await?;
        Ok(())
    }
}

const IDS: [u64; 3] = [1, 2, 3];
const PATIENCE: Duration = Duration::from_secs(20);
