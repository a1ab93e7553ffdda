//! The engine around kraft-core: one synchronous turn, its tokio driver, listener, peers and handle.

pub mod clock;
pub mod command;
pub mod error;
pub mod inbound;
pub mod network;
pub mod peer_api;
pub mod properties;
pub mod reconfig;
pub mod storage;
pub mod views;

pub use command::{Command, CommandSender, PeerResponse, QueuedCommand, TimerTick};
pub use error::{RaftError, SubmitChangeResult};
pub use inbound::Inbound;
pub use network::{Network, OutboundRequest};
pub use peer_api::PeerApi;
pub use reconfig::{ReconfigOutcome, VoterChange};
pub use storage::{ReadId, ReadOutcome, ReadRequest, SnapshotJob, SnapshotOutcome};
pub use views::{MetadataFetchSlice, ObserverReplica, QuorumStateSnapshot};
