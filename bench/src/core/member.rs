//! One replica with its log, and how its messages become the events of another.

use super::log::Log;
use kraft_core::{
    Action, Answer, AnswerContext, BatchInfo, Batches, ClusterMatch, Config, ControlRecord, Endpoint,
    Endpoints, ErrorCode, Event, FetchPlan, FetchedRecords, Instant, Listener, NodeId, PartitionAnswer,
    PartitionMatch, PayloadId, PeerRequest, Recovered, Replica, ReplicaKey, ReplyId, RequestContext,
    RequestId, SnapshotId, SupportedVersions, Time, VoterNode, VoterSet, exchange,
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

    #[inline(always)]
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

fn context(reply: ReplyId) -> RequestContext {
    RequestContext {
        reply,
        listener: Listener::Advertised(0),
        partition: PartitionMatch::Metadata,
    }
}

/// A Fetch as the leader sees it. All are of one cluster, and have one listener.
#[inline(always)]
pub(super) fn fetch_event(reply: ReplyId, body: &PeerRequest) -> Event {
    let PeerRequest::Fetch {
        cluster_id: _,
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
        context: context(reply),
        from: *replica,
        cluster: ClusterMatch::Ours,
        fetch_epoch: *epoch,
        fetch_offset: log_end.last_offset,
        last_fetched_epoch: log_end.last_epoch,
        high_watermark: *high_watermark,
        max_wait_ms: *max_wait_ms,
        max_bytes: *max_bytes,
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
        } => fetch_response_event(request, from, partition, *high_watermark, plan, newest),
        other => exchange::answer_event(request, from, other.clone(), Batches::new(), PayloadId(1))
            .expect("nobody asked for anything else"),
    }
}

/// The answer to a Fetch as the replica sees it that asked.
#[inline(always)]
pub(super) fn fetch_response_event(
    request: RequestId,
    from: ReplicaKey,
    partition: &PartitionAnswer,
    high_watermark: i64,
    plan: &FetchPlan,
    newest: &BatchInfo,
) -> Event {
    Event::ReceiveFetchResponse {
        from,
        leader_id: partition.leader.unwrap_or(NodeId::NONE),
        leader_epoch: partition.epoch,
        answer: answered(request, partition),
        high_watermark,
        diverging: None,
        snapshot: None,
        records: match plan {
            FetchPlan::Empty => FetchedRecords::Empty,
            FetchPlan::Read { .. } => FetchedRecords::Batches {
                batches: Batches::one(newest.clone()),
                payload: PayloadId(1),
            },
            FetchPlan::Diverging(_) | FetchPlan::Snapshot(_) => panic!("nobody falls behind here"),
        },
    }
}

#[inline(always)]
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
        listeners: endpoints(place),
        bootstrap_servers: vec![Endpoint {
            host: "bootstrap.local".into(),
            port: 9093,
        }],
        fetch_timeout: Duration::from_secs(3600),
        ..Config::new(key(place), "MkU3OEVBNTcwNTJENDM2Qg", place as u64)
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
