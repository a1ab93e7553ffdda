//! The engine around kraft-core: one synchronous turn, its tokio driver, listener, peers and handle.

pub mod clock;
pub mod codec;
pub mod command;
pub mod engine;
pub mod error;
pub mod inbound;
pub mod network;
pub mod node;
pub mod peer_api;
pub mod properties;
pub mod reconfig;
pub mod storage;
pub mod tcp;
pub mod views;

pub use command::{Command, CommandSender, PeerResponse, QueuedCommand, TimerTick};
pub use engine::{Engine, EngineConfig, Turn};
pub use error::{NodeError, RaftError, SubmitChangeResult};
pub use inbound::Inbound;
pub use network::{Network, OutboundRequest};
pub use node::{Handle, LeaderCallError, ListenerConfig, NodeConfig};
pub use peer_api::PeerApi;
pub use reconfig::{ReconfigOutcome, VoterChange};
pub use storage::{
    ReadId, ReadOutcome, ReadRequest, SnapshotContents, SnapshotJob, SnapshotOutcome, Storage,
};
pub use views::{MetadataFetchSlice, NodeState, ObserverReplica, QuorumStateSnapshot};

/// The channel that brings an answer back; whoever drives an engine without its driver needs it.
pub use tokio::sync::oneshot;
