//! The engine around kraft-core: one synchronous turn, its tokio driver, listener, peers and handle.
//!
//! A broker project brings a [`StateMachine`](kraft_core::StateMachine), which says what the replicated log means, and
//! gets a [`Handle`]: it proposes changes, waits until they are committed *and applied*, watches leader and high
//! watermark, reads the published image, and ends the node.
//!
//! # Contract, in call order
//!
//! 1. [`node::start`] opens the log, binds the listeners and begins. It needs a runtime with IO and time;
//!    [`node::runtime`] makes a small one. [`NodeConfig::voter`] configures a node of a fixed set of voters;
//!    [`NodeConfig::founder`] and [`NodeConfig::newcomer`] those of a quorum whose voters change while it runs;
//!    [`NodeConfig::new`] any other; and [`NodeConfig::on_fault`] is told when it ends by a fault.
//! 2. [`Handle::watch`] tells when a leader is known, to who watches late, too. The state machine takes changes on the
//!    node whose [`NodeState::leading`] is true.
//! 3. [`Handle::submit`] there. An answer is final: `Ok` is committed by a majority and applied here; of the errors
//!    only [`RaftError::Unknown`] and [`RaftError::Stopped`] leave open what becomes of the change.
//!    [`Handle::reconfigure`] changes the voters, unless they are fixed; there [`RaftError::Open`] leaves it open, too.
//! 4. [`Handle::image`] reads what is applied here. Behind [`Handle::read_barrier`], on the leader, the read is
//!    linearizable.
//! 5. [`Handle::resign`] gives the leadership to another node.
//! 6. [`Handle::shutdown`] hands leadership over and closes the log; [`Handle::halt`] ends as a killed process does.
//!    [`Handle::ended`] tells the end, whatever caused it.
//!
//! An embedder with connections of its own brings requests in by [`Handle::inbound`] and configures no listener; one
//! whose nodes reach each other in another way implements [`Network`] and calls [`node::start_with_network`].
//! [`memory`] has whole quorums in one process for unit tests.
//!
//! Below the driver stands [`Engine`]: commands in, one [`turn`](Engine::turn), effects through the traits [`Storage`]
//! and [`Network`]. It has no clock, no thread and no socket. A simulator drives the same turn over implementations of
//! its own, with [`storage::perform_read`], [`storage::perform_snapshot`] and [`codec::encode_request`] to do the work.
//!
//! # What it does not do
//!
//! It takes no decision of the protocol: those stand in kraft-core. It does not know what a record means.
//!
//! # Example
//!
//! A register that holds the last value written to it, as a quorum of one. Larger ones are in `examples/`: `in_memory`,
//! and `key_values` with a process for each voter.
//!
//! ```
//! use kraft_core::state_machine::{ApplyFault, CommittedBatch, ProposeError, Provenance, RecordValues};
//! use kraft_core::{SnapshotId, StateMachine};
//! use kraft_transport::{NodeConfig, node};
//! use std::convert::Infallible;
//!
//! #[derive(Default)]
//! struct Register {
//!     value: String,
//!     at: Provenance,
//! }
//!
//! impl StateMachine for Register {
//!     type Record = String;
//!     type Image = String;
//!     type Mutation = Infallible;
//!     type Snapshot = std::option::IntoIter<Vec<u8>>;
//!
//!     fn apply(&mut self, batch: CommittedBatch<'_>) -> Result<(), ApplyFault> {
//!         if let Some(newest) = batch.values.last() {
//!             self.value = String::from_utf8_lossy(newest).into_owned();
//!         }
//!         self.at = batch.provenance();
//!         Ok(())
//!     }
//!     fn load(
//!         &mut self,
//!         id: SnapshotId,
//!         _timestamp_ms: i64,
//!         values: &mut dyn Iterator<Item = &[u8]>,
//!     ) -> Result<(), ApplyFault> {
//!         self.value = values.last().map(|v| String::from_utf8_lossy(v).into_owned()).unwrap_or_default();
//!         self.at = id.into();
//!         Ok(())
//!     }
//!     fn propose(
//!         &mut self,
//!         records: Vec<String>,
//!         _expected: Option<Provenance>,
//!     ) -> Result<RecordValues, ProposeError> {
//!         Ok(records.into_iter().map(String::into_bytes).collect())
//!     }
//!     fn image(&self) -> String {
//!         self.value.clone()
//!     }
//!     fn provenance(&self) -> Provenance {
//!         self.at
//!     }
//!     fn snapshot(&self) -> Option<Self::Snapshot> {
//!         Some(Some(self.value.clone().into_bytes()).into_iter())
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dir = tempfile::tempdir()?;
//! let config = NodeConfig::voter("my-cluster", 1, &[(1, "127.0.0.1:0")], dir.path())?;
//!
//! node::runtime()?.block_on(async {
//!     let node = node::start(config, Register::default()).await?;
//!     node.watch().wait_for(|state| state.leading).await?;
//!     node.submit(vec!["written once, on a majority".to_owned()], None).await?;
//!     assert_eq!(node.image(), "written once, on a majority");
//!     node.shutdown().await?;
//!     Ok(())
//! })
//! # }
//! ```

#[macro_use]
#[cfg(not(kraft_mutations))]
mod mutation;
#[macro_use]
#[cfg(kraft_mutations)]
pub mod mutation;

pub mod clock;
pub mod codec;
pub mod command;
#[cfg(test)]
mod command_test;
mod dispatch;
pub mod engine;
pub mod error;
pub mod event_times;
pub mod inbound;
pub mod memory;
pub mod metrics;
pub mod network;
pub mod node;
#[cfg(test)]
mod nothing;
pub mod peer_api;
pub mod properties;
pub mod storage;
pub mod tcp;
pub mod views;

pub use command::{Command, CommandSender, DelegationTokenMutation, PeerResponse, QueuedCommand, TimerTick};
pub use dispatch::RequestRefused;
pub use engine::{Engine, EngineConfig, Turn};
pub use error::{NodeError, RaftError, SubmitChangeResult};
pub use event_times::{EventTimes, Times};
pub use inbound::Inbound;
pub use network::{Network, OutboundRequest};
pub use node::{FaultHandler, Handle, LeaderCallError, ListenerConfig, NodeConfig};
pub use peer_api::PeerApi;
pub use storage::{
    ReadId, ReadOutcome, ReadRequest, SnapshotContents, SnapshotJob, SnapshotOutcome, Storage,
};
pub use views::{Health, MetadataFetchSlice, NodeState, NotReady, ObserverReplica, QuorumStateSnapshot};

/// Changes of the voter set, for [`Handle::reconfigure`].
pub use kraft_core::{ReconfigOutcome, VoterChange};
/// The channel that brings an answer back; whoever drives an engine without its driver needs it.
pub use tokio::sync::oneshot;
