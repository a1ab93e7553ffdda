//! KRaft's consensus state machine: events in, actions out; no IO, no clock, no threads.
#![no_std]

extern crate alloc;

mod check_quorum;
mod connections;
mod control_state;
mod epoch_election;
mod fetch_validation;
mod high_watermark;
mod log_history;
mod parked_fetches;
mod proposals;
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
pub mod handles;
pub mod ids;
pub mod log_view;
pub mod offsets;
pub mod open_error;
pub mod peer_request;
pub mod replica;
pub mod role;
pub mod state_machine;
pub mod time;
pub mod voter_set;

pub use action::{Action, AppendPayload, DiskOp, ProposalOutcome, Refusal};
pub use answer::{
    Answer, DescribeRefusal, FetchPlan, PartitionAnswer, QuorumDescription, ReplicaProgress, SnapshotWindow,
};
pub use config::{Config, Recovered};
pub use control::{BatchInfo, ControlRecord};
pub use election_state::ElectionState;
pub use endpoints::{Endpoint, Endpoints};
pub use error_code::ErrorCode;
pub use event::{
    AnswerContext, Event, FetchedRecords, PartitionMatch, RequestContext, RequestFault, SuccessorRank,
};
pub use handles::{PayloadId, ReplyId, RequestId, Ticket};
pub use ids::{Epoch, NodeId, ReplicaKey};
pub use log_view::LogView;
pub use offsets::{LogEnd, LogOffsetMetadata, SnapshotId};
pub use open_error::OpenError;
pub use peer_request::PeerRequest;
pub use replica::Replica;
pub use role::RoleName;
pub use state_machine::StateMachine;
pub use time::{Instant, Time};
pub use voter_set::{SupportedVersions, VoterNode, VoterSet};
