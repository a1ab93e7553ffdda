//! One replica with its log, and how its messages become the events of another.

use super::log::Log;
use kraft_core::{
    Action, Answer, AnswerContext, BatchInfo, Batches, Config, ControlRecord, Endpoint, Endpoints, ErrorCode,
    Event, FetchPlan, FetchedRecords, Instant, NodeId, PartitionAnswer, PartitionMatch, PayloadId,
    PeerRequest, Recovered, Replica, ReplicaKey, ReplyId, RequestContext, RequestId, SnapshotId,
    SupportedVersions, Text, Time, VoterNode, VoterSet,
};
use std::time::Duration;
use uuid::Uuid;

/// A replica of which nobody waits for anything but its own answers.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) replica: Replica,
    pub(super) log: Log,
    /// What the last step wants done.
    pub(super) out: Vec<Action>,
}

impl Member {
    pub(super) fn open(place: usize, voters: usize, now: Time) -> Self {
        let log = Log::new();
        let mut out = Vec::new();
        let records = vec![
            ControlRecord::KRaftVersion(1),
            ControlRecord::Voters(voter_set(voters)),
        ];
        let recovered = Recovered {
            snapshot: Some((SnapshotId::BOOTSTRAP, records)),
            ..Recovered::default()
        };
        let replica = Replica::open(config(place), recovered, &log, now, &mut out).expect("a fresh start");
        Self { replica, log, out }
    }

    #[inline]
    pub(super) fn step(&mut self, event: Event, now: Time) {
        self.replica.step(event, &self.log, now, &mut self.out);
    }
}

pub(super) fn key(place: usize) -> ReplicaKey {
    let id = i32::try_from(place + 1).expect("few replicas");
    ReplicaKey::new(NodeId(id), Uuid::from_u128(0x1000 + place as u128))
}

/// The place of a voter.
pub(super) fn place(id: NodeId) -> usize {
    usize::try_from(id.0 - 1).expect("a voter's id")
}

fn context(reply: ReplyId, listener: &Text) -> RequestContext {
    RequestContext {
        reply,
        listener: listener.clone(),
        partition: PartitionMatch::Metadata,
    }
}

/// A Fetch as the leader sees it.
#[inline]
pub(super) fn fetch_event(reply: ReplyId, listener: &Text, body: &PeerRequest) -> Event {
    let PeerRequest::Fetch {
        cluster_id,
        replica,
        epoch,
        log_end,
        high_watermark,
        max_wait_ms,
        max_bytes,
    } = body
    else {
        panic!("a Fetch was expected: {body:?}");
    };
    Event::ReceiveFetch {
        context: context(reply, listener),
        from: *replica,
        cluster_id: Some(cluster_id.clone()),
        fetch_epoch: *epoch,
        fetch_offset: log_end.last_offset,
        last_fetched_epoch: log_end.last_epoch,
        high_watermark: *high_watermark,
        max_wait_ms: *max_wait_ms,
        max_bytes: *max_bytes,
    }
}

/// Any other request as its receiver sees it.
pub(super) fn request_event(reply: ReplyId, body: &PeerRequest) -> Event {
    let listener = LISTENER.into();
    match body {
        PeerRequest::Vote {
            cluster_id,
            voter,
            candidate,
            epoch,
            log_end,
            pre_vote,
        } => Event::ReceiveVoteRequest {
            context: context(reply, &listener),
            from: *candidate,
            cluster_id: Some(cluster_id.clone()),
            voter_id: voter.id,
            voter_directory_id: voter.directory_or_nil(),
            candidate_epoch: *epoch,
            candidate: candidate.id,
            candidate_directory_id: candidate.directory_or_nil(),
            candidate_log_end: *log_end,
            pre_vote: *pre_vote,
        },
        PeerRequest::BeginQuorumEpoch {
            cluster_id,
            voter,
            leader,
            epoch,
            endpoints,
        } => Event::ReceiveBeginQuorumEpoch {
            context: context(reply, &listener),
            cluster_id: Some(cluster_id.clone()),
            voter_id: voter.id,
            voter_directory_id: voter.directory_or_nil(),
            leader_id: *leader,
            leader_epoch: *epoch,
            leader_endpoints: endpoints.clone(),
        },
        fetch => fetch_event(reply, &listener, fetch),
    }
}

/// An answer as the replica sees it that asked. `newest` is the batch that a Fetch is answered with.
#[inline]
pub(super) fn answer_event(
    request: RequestId,
    from: ReplicaKey,
    answer: &Answer,
    newest: &BatchInfo,
) -> Event {
    match answer {
        Answer::Fetch {
            partition,
            high_watermark,
            log_start: _,
            plan,
        } => Event::ReceiveFetchResponse {
            from,
            leader_id: partition.leader.unwrap_or(NodeId::NONE),
            leader_epoch: partition.epoch,
            answer: answered(request, partition),
            high_watermark: *high_watermark,
            diverging: None,
            snapshot: None,
            records: match plan {
                FetchPlan::Empty => FetchedRecords::Empty,
                FetchPlan::Read { .. } => FetchedRecords::Batches {
                    batches: Batches::from_buf([newest.clone()]),
                    payload: PayloadId(1),
                },
                FetchPlan::Diverging(_) | FetchPlan::Snapshot(_) => panic!("nobody falls behind here"),
            },
        },
        Answer::Vote { partition, granted } => Event::ReceiveVoteResponse {
            epoch: partition.epoch,
            answer: answered(request, partition),
            from,
            vote_granted: *granted,
        },
        Answer::BeginQuorumEpoch(partition) => Event::ReceiveBeginQuorumEpochResponse {
            epoch: partition.epoch,
            answer: answered(request, partition),
            from,
        },
        other => panic!("nobody asked for {other:?}"),
    }
}

#[inline]
fn answered(request: RequestId, partition: &PartitionAnswer) -> AnswerContext {
    AnswerContext {
        request,
        top_level: ErrorCode::None,
        partition: PartitionMatch::Metadata,
        error: partition.error,
        leader: partition.leader,
        leader_endpoint: partition.endpoint.clone(),
    }
}

fn endpoints(place: usize) -> Endpoints {
    let endpoint = Endpoint {
        host: format!("controller-{place}.local").into(),
        port: 9093,
    };
    Endpoints::single(LISTENER, endpoint)
}

fn voter_set(voters: usize) -> VoterSet {
    (0..voters)
        .map(|place| VoterNode {
            key: key(place),
            endpoints: endpoints(place),
            kraft_versions: KRAFT_VERSIONS,
        })
        .collect()
}

/// Kafka's defaults, but for the fetch timeout: nobody is to be missed while a measurement stops the clock.
fn config(place: usize) -> Config {
    Config {
        local: key(place),
        cluster_id: "MkU3OEVBNTcwNTJENDM2Qg".into(),
        listeners: endpoints(place),
        default_listener: LISTENER.into(),
        static_voters: VoterSet::default(),
        bootstrap_servers: vec![Endpoint {
            host: "bootstrap.local".into(),
            port: 9093,
        }],
        can_become_voter: true,
        kraft_versions: KRAFT_VERSIONS,
        election_timeout: Duration::from_millis(1000),
        fetch_timeout: Duration::from_secs(3600),
        election_backoff_max: Duration::from_millis(1000),
        request_timeout: Duration::from_millis(2000),
        retry_backoff: Duration::from_millis(20),
        fetch_max_wait: Duration::from_millis(500),
        fetch_max_bytes: 1 << 20,
        fetch_snapshot_max_bytes: 1 << 20,
        auto_join: false,
        shutdown_timeout: Duration::from_secs(5),
        seed: place as u64,
    }
}

/// The clocks after so many microseconds.
pub(super) fn time(us: u64) -> Time {
    Time {
        mono: Instant(us),
        wall_ms: 1_700_000_000_000 + i64::try_from(us / 1000).expect("a short run"),
    }
}

pub(super) const LISTENER: &str = "CONTROLLER";
const KRAFT_VERSIONS: SupportedVersions = SupportedVersions { min: 0, max: 1 };
