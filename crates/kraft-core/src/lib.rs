//! KRaft's consensus state machine: events in, actions out; no IO, no clock, no threads.
//!
//! A [`Replica`] is one member of Apache Kafka's metadata quorum, after the behaviour of Kafka 4.4: pre-vote and election,
//! BeginQuorumEpoch and EndQuorumEpoch, replication with divergence and snapshots, high watermark, check quorum, discovery
//! of the leader, voter sets that change one voter at a time, kraft.version and its upgrade, auto-join. Every decision of
//! the protocol is made here, down to the error code of an answer; the engine around it carries things to and fro.
//!
//! # Contract, in call order
//!
//! 1. [`Replica::open`] with the [`Config`] and what storage [`Recovered`]. Its actions are performed like those of a step.
//! 2. [`Replica::step`] for every [`Event`], one at a time, with a [`Time`] that never goes back and a [`LogView`] that shows
//!    everything which earlier steps have ordered, durable or not.
//! 3. The [`Action`]s are performed in order. A [`DiskOp`] goes to the log thread under its [`Ticket`]; tickets rise by one,
//!    complete in order and come back as [`Event::Durable`] or [`Event::StorageFailed`]. A message is sent when everything
//!    up to its `after` is durable, and not before: *epochs and votes are on disk before anybody hears of them.* All other
//!    actions wait for nothing.
//! 4. Every [`Action::Send`] ends in exactly one event: its answer or [`Event::RequestFailed`]. Late ones are recognised by
//!    their [`RequestId`] and ignored. Payloads belong to the core from the event that brings them until an operation uses
//!    them, [`Action::Refuse`] returns them or [`Action::Discard`] gives them up.
//! 5. After each step [`Replica::next_deadline`] says when to come back with [`Event::Tick`] if nothing else happens. A tick
//!    that is not due changes nothing.
//! 6. After [`Action::ShutdownComplete`], [`Action::Fatal`] or [`Event::StorageFailed`] the replica is over: it answers
//!    nothing more, and only refuses proposals.
//!
//! Equal state and equal input give equal output: the state is `Clone + Eq + Hash`, random numbers come from
//! [`Config::seed`](config::Config::seed), and [`Replica::check_invariants`] states what always holds.
//!
//! # What it does not do
//!
//! It reads no clock, opens no file, encodes no byte and never waits. It does not know what records mean: that is a
//! [`StateMachine`], which the engine calls with what is committed.
//!
//! # Example
//!
//! A lone voter leads as soon as it is opened. What it has written is committed once the disk says so.
//!
//! ```
//! use kraft_core::{
//!     Action, Config, DiskOp, Endpoint, Endpoints, Epoch, Event, Instant, LogEnd, LogOffsetMetadata, LogView, NodeId,
//!     Recovered, Replica, ReplicaKey, RoleName, SnapshotId, SupportedVersions, Ticket, Time, VoterNode,
//! };
//! use uuid::Uuid;
//!
//! /// A log of which only the ends are kept.
//! struct Log {
//!     end: LogEnd,
//!     flushed: i64,
//! }
//!
//! impl LogView for Log {
//!     fn start(&self) -> i64 { 0 }
//!     fn end(&self) -> LogEnd { self.end }
//!     fn flushed_end(&self) -> i64 { self.flushed }
//!     fn end_for_epoch(&self, _: Epoch) -> LogOffsetMetadata {
//!         LogOffsetMetadata { epoch: self.end.last_epoch, offset: self.end.last_offset }
//!     }
//!     fn earliest_snapshot(&self) -> Option<SnapshotId> { None }
//!     fn latest_snapshot(&self) -> Option<SnapshotId> { None }
//!     fn snapshot_size(&self, _: SnapshotId) -> Option<u64> { None }
//!     fn batch_end_at_or_before(&self, offset: i64) -> i64 { offset }
//!     fn oldest_unfinished(&self) -> Option<Instant> { None }
//! }
//!
//! let listeners = Endpoints::single("CONTROLLER", Endpoint { host: "localhost".into(), port: 9093 });
//! let voter = VoterNode {
//!     key: ReplicaKey::without_directory(NodeId(1)),
//!     endpoints: listeners.clone(),
//!     kraft_versions: SupportedVersions { min: 0, max: 0 },
//! };
//! let config = Config {
//!     listeners,
//!     static_voters: [voter].into_iter().collect(),
//!     ..Config::new(ReplicaKey::new(NodeId(1), Uuid::from_u128(7)), "a-cluster", 1)
//! };
//!
//! let mut log = Log { end: LogEnd { last_epoch: Epoch(0), last_offset: 0 }, flushed: 0 };
//! let now = Time { mono: Instant::from_millis(1), wall_ms: 1_700_000_000_000 };
//! let mut actions = vec![];
//! let mut replica = Replica::open(config, Recovered::default(), &log, now, &mut actions)?;
//! assert_eq!(replica.role(), RoleName::Leader);
//!
//! // The engine hands the operations to the log, and tells the core when they are durable.
//! let mut newest = Ticket::NONE;
//! for action in actions.drain(..) {
//!     if let Action::Disk { ticket, op } = action {
//!         newest = ticket;
//!         if let DiskOp::Append { batches, .. } = op {
//!             log.end = LogEnd { last_epoch: batches[0].epoch, last_offset: batches[0].last + 1 };
//!         }
//!     }
//! }
//! log.flushed = log.end.last_offset;
//! replica.step(Event::Durable { up_to: newest }, &log, now, &mut actions);
//! assert_eq!(actions, [Action::Commit { high_watermark: 1 }]);
//! # Ok::<(), kraft_core::OpenError>(())
//! ```
#![no_std]

extern crate alloc;

#[macro_use]
#[cfg(not(kraft_mutations))]
mod mutation;
#[macro_use]
#[cfg(kraft_mutations)]
pub mod mutation;

mod check_quorum;
mod connections;
mod control_state;
mod epoch_election;
mod fetch_validation;
mod high_watermark;
mod kafka_text;
mod log_history;
mod parked_fetches;
mod pending_change;
mod proposals;
mod read_barriers;
mod replica_progress;
mod rng;
mod successor_backoff;
mod timer;

pub mod action;
pub mod answer;
pub mod config;
pub mod control;
pub mod election_state;
pub mod endpoints;
pub mod error_code;
pub mod event;
pub mod exchange;
pub mod handles;
pub mod ids;
pub mod log_view;
pub mod offsets;
pub mod open_error;
pub mod peer_request;
pub mod reconfig;
pub mod relative;
pub mod replica;
pub mod role;
pub mod state_machine;
pub mod text;
pub mod time;
pub mod voter_set;

pub use action::{Action, AppendPayload, DiskOp, ProposalOutcome, Refusal};
pub use answer::{
    Answer, DescribeRefusal, FetchPlan, PartitionAnswer, QuorumDescription, ReplicaProgress, SnapshotWindow,
};
pub use config::{Config, Recovered};
pub use control::{BatchInfo, Batches, ControlRecord};
pub use election_state::ElectionState;
pub use endpoints::{Endpoint, Endpoints};
pub use error_code::ErrorCode;
pub use event::{
    AnswerContext, ClusterMatch, Event, FetchedRecords, Listener, PartitionMatch, RequestContext,
    RequestFault, SuccessorRank,
};
pub use handles::{PayloadId, ReplyId, RequestId, Ticket};
pub use ids::{Epoch, NodeId, ReplicaKey};
pub use log_view::LogView;
pub use offsets::{LogEnd, LogOffsetMetadata, SnapshotId};
pub use open_error::OpenError;
pub use peer_request::PeerRequest;
pub use reconfig::{ChangeRefusal, ReconfigOutcome, UpgradeOutcome, VoterChange};
pub use replica::{MAX_EPOCH, MAX_OFFSET, Replica};
pub use role::RoleName;
pub use state_machine::StateMachine;
pub use text::Text;
pub use time::{Instant, Time};
pub use voter_set::{SupportedVersions, VoterNode, VoterSet};
