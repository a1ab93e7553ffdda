//! The messages of the controller listener, one file per API.
//!
//! A message is declared once, with the fields of all its versions; see [`Message`](macro@crate::Message).
//!
//! ```
//! use kraft_wire::Message;
//! use kraft_wire::message::VoteRequest;
//!
//! let request = VoteRequest { voter_id: 2, ..VoteRequest::default() };
//! // Version 0 has no such field and may drop it.
//! assert_eq!(VoteRequest::from_bytes(&request.to_bytes(0)?, 0)?.voter_id, -1);
//! assert_eq!(request.to_json_value(1).to_string(), r#"{"clusterId":null,"voterId":2,"topics":[]}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod add_raft_voter;
mod api_versions;
mod begin_quorum_epoch;
mod controller_registration;
mod describe_cluster;
mod describe_quorum;
mod end_quorum_epoch;
mod fetch;
mod fetch_snapshot;
mod header;
mod metadata;
mod metadata_fetch;
mod remove_raft_voter;
mod sasl_authenticate;
mod sasl_handshake;
mod unregister_controller;
mod update_features;
mod update_raft_voter;
mod vote;

pub use add_raft_voter::{AddRaftVoterRequest, AddRaftVoterRequestListener, AddRaftVoterResponse};
pub use api_versions::{
    ApiVersionsRequest, ApiVersionsResponse, ApiVersionsResponseApiVersion,
    ApiVersionsResponseFinalizedFeature, ApiVersionsResponseSupportedFeature,
};
pub use begin_quorum_epoch::{
    BeginQuorumEpochRequest, BeginQuorumEpochRequestLeaderEndpoint, BeginQuorumEpochRequestPartition,
    BeginQuorumEpochRequestTopic, BeginQuorumEpochResponse, BeginQuorumEpochResponseNodeEndpoint,
    BeginQuorumEpochResponsePartition, BeginQuorumEpochResponseTopic,
};
pub use controller_registration::{
    ControllerRegistrationRequest, ControllerRegistrationRequestFeature,
    ControllerRegistrationRequestListener, ControllerRegistrationResponse,
};
pub use describe_cluster::{DescribeClusterRequest, DescribeClusterResponse, DescribeClusterResponseBroker};
pub use describe_quorum::{
    DescribeQuorumRequest, DescribeQuorumRequestPartition, DescribeQuorumRequestTopic,
    DescribeQuorumResponse, DescribeQuorumResponseListener, DescribeQuorumResponseNode,
    DescribeQuorumResponsePartition, DescribeQuorumResponseReplicaState, DescribeQuorumResponseTopic,
};
pub use end_quorum_epoch::{
    EndQuorumEpochRequest, EndQuorumEpochRequestCandidate, EndQuorumEpochRequestLeaderEndpoint,
    EndQuorumEpochRequestPartition, EndQuorumEpochRequestTopic, EndQuorumEpochResponse,
    EndQuorumEpochResponseNodeEndpoint, EndQuorumEpochResponsePartition, EndQuorumEpochResponseTopic,
};
pub use fetch::{
    FetchRequest, FetchRequestForgottenTopic, FetchRequestPartition, FetchRequestReplicaState,
    FetchRequestTopic, FetchResponse, FetchResponseAbortedTransaction, FetchResponseCurrentLeader,
    FetchResponseDivergingEpoch, FetchResponseNodeEndpoint, FetchResponsePartition, FetchResponseSnapshotId,
    FetchResponseTopic,
};
pub use fetch_snapshot::{
    FetchSnapshotRequest, FetchSnapshotRequestPartition, FetchSnapshotRequestSnapshotId,
    FetchSnapshotRequestTopic, FetchSnapshotResponse, FetchSnapshotResponseCurrentLeader,
    FetchSnapshotResponseNodeEndpoint, FetchSnapshotResponsePartition, FetchSnapshotResponseSnapshotId,
    FetchSnapshotResponseTopic,
};
pub use header::{RequestHeader, ResponseHeader};
pub use metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker,
    MetadataResponsePartition, MetadataResponseTopic,
};
pub use metadata_fetch::{MetadataFetchRequest, MetadataFetchResponse, MetadataFetchResponseSnapshotId};
pub use remove_raft_voter::{RemoveRaftVoterRequest, RemoveRaftVoterResponse};
pub use sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
pub use sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
pub use unregister_controller::{UnregisterControllerRequest, UnregisterControllerResponse};
pub use update_features::{
    UpdateFeaturesRequest, UpdateFeaturesRequestFeatureUpdate, UpdateFeaturesResponse,
    UpdateFeaturesResponseResult,
};
pub use update_raft_voter::{
    UpdateRaftVoterRequest, UpdateRaftVoterRequestKRaftVersionFeature, UpdateRaftVoterRequestListener,
    UpdateRaftVoterResponse, UpdateRaftVoterResponseCurrentLeader,
};
pub use vote::{
    VoteRequest, VoteRequestPartition, VoteRequestTopic, VoteResponse, VoteResponseNodeEndpoint,
    VoteResponsePartition, VoteResponseTopic,
};
