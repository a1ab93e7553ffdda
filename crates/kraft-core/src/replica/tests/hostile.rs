//! Anything may arrive, in any order, with any numbers: the replica answers or ignores it, and never panics.

use super::harness::{TestLog, config, key};
use crate::{
    action::Action,
    config::Recovered,
    control::BatchInfo,
    election_state::ElectionState,
    endpoints::{Endpoint, Endpoints},
    error_code::ErrorCode,
    event::{
        AnswerContext, ClusterMatch, Event, FetchedRecords, PartitionMatch, RequestContext, RequestFault,
        SuccessorRank,
    },
    handles::{PayloadId, ReplyId, RequestId, Ticket},
    ids::{Epoch, NodeId, ReplicaKey},
    offsets::{LogEnd, LogOffsetMetadata, SnapshotId},
    replica::Replica,
    rng::Rng,
    time::{Instant, Time},
    voter_set::SupportedVersions,
};
use alloc::vec::Vec;
use core::time::Duration;
use uuid::Uuid;

struct Fuzz {
    rng: Rng,
    epoch: Epoch,
    end: LogEnd,
    newest_request: u64,
    newest_ticket: Ticket,
}

impl Fuzz {
    fn one_in(&mut self, count: u64) -> bool {
        self.rng.below(count) == 0
    }

    fn small(&mut self, around: i64) -> i64 {
        match self.rng.below(12) {
            0 => i64::MAX,
            1 => i64::MIN,
            2 => -1,
            3 => 0,
            4 => around.saturating_add(1),
            5 => around.saturating_sub(1),
            6 => around.saturating_add(7),
            _ => around,
        }
    }

    fn offset(&mut self) -> i64 {
        let end = self.end.last_offset;
        self.small(end)
    }

    fn int(&mut self, around: i32) -> i32 {
        let wild = self.small(i64::from(around));
        i32::try_from(wild).unwrap_or(if wild < 0 { i32::MIN } else { i32::MAX })
    }

    fn epoch(&mut self) -> Epoch {
        let around = self.epoch.0;
        Epoch(if self.one_in(3) { self.int(around) } else { around })
    }

    fn node(&mut self) -> NodeId {
        NodeId(match self.rng.below(8) {
            0 => -1,
            1 => -2,
            2 => 9,
            3 => 1,
            _ => 2 + i32::try_from(self.rng.below(2)).expect("small"),
        })
    }

    fn key(&mut self) -> ReplicaKey {
        let id = self.node();
        if self.one_in(3) {
            ReplicaKey::without_directory(id)
        } else {
            key(id.0)
        }
    }

    fn endpoints(&mut self) -> Endpoints {
        let endpoint = Endpoint {
            host: "h".into(),
            port: 1,
        };
        match self.rng.below(3) {
            0 => Endpoints::empty(),
            1 => Endpoints::single("OTHER", endpoint),
            _ => Endpoints::single("CONTROLLER", endpoint),
        }
    }

    fn error(&mut self) -> ErrorCode {
        let codes = [-1, 3, 6, 7, 8, 13, 35, 42, 74, 75, 98, 99, 104, 125, 127, 999];
        if self.one_in(2) {
            ErrorCode::None
        } else {
            ErrorCode::from_code(codes[usize::try_from(self.rng.below(codes.len() as u64)).expect("small")])
        }
    }

    fn partition(&mut self) -> PartitionMatch {
        match self.rng.below(8) {
            0 => PartitionMatch::Other,
            1 => PartitionMatch::Malformed,
            _ => PartitionMatch::Metadata,
        }
    }

    fn context(&mut self) -> RequestContext {
        RequestContext {
            reply: ReplyId(self.rng.below(100)),
            listener: "CONTROLLER".into(),
            partition: self.partition(),
        }
    }

    fn answer(&mut self) -> AnswerContext {
        AnswerContext {
            request: RequestId(self.newest_request.saturating_sub(self.rng.below(3))),
            top_level: if self.one_in(6) {
                self.error()
            } else {
                ErrorCode::None
            },
            partition: self.partition(),
            error: self.error(),
            leader: (!self.one_in(3)).then(|| self.node()),
            leader_endpoint: (!self.one_in(3)).then(|| Endpoint {
                host: "h".into(),
                port: 1,
            }),
        }
    }

    fn log_end(&mut self) -> LogEnd {
        LogEnd {
            last_epoch: self.epoch(),
            last_offset: self.offset(),
        }
    }

    fn snapshot(&mut self) -> SnapshotId {
        SnapshotId {
            end_offset: self.offset(),
            epoch: self.epoch(),
        }
    }

    fn records(&mut self) -> FetchedRecords {
        match self.rng.below(5) {
            0 => FetchedRecords::Empty,
            1 => FetchedRecords::Corrupt,
            _ => {
                let base = self.end.last_offset;
                let last = base + i64::try_from(self.rng.below(3)).expect("small");
                let epoch = self.epoch();
                FetchedRecords::Batches {
                    batches: [BatchInfo {
                        base,
                        last,
                        epoch,
                        bytes: 1,
                        control: None,
                    }]
                    .into_iter()
                    .collect(),
                    payload: PayloadId(1),
                }
            }
        }
    }

    fn event(&mut self) -> Event {
        match self.rng.below(20) {
            0 | 1 => Event::ReceiveVoteRequest {
                context: self.context(),
                from: self.key(),
                cluster_id: None,
                voter_id: self.node(),
                voter_directory_id: Uuid::nil(),
                candidate_epoch: self.epoch(),
                candidate: self.node(),
                candidate_directory_id: Uuid::nil(),
                candidate_log_end: self.log_end(),
                pre_vote: self.one_in(2),
            },
            2 | 3 => Event::ReceiveVoteResponse {
                answer: self.answer(),
                from: self.key(),
                epoch: self.epoch(),
                vote_granted: self.one_in(2),
            },
            4 => Event::ReceiveBeginQuorumEpoch {
                context: self.context(),
                cluster_id: None,
                voter_id: self.node(),
                voter_directory_id: Uuid::nil(),
                leader_id: self.node(),
                leader_epoch: self.epoch(),
                leader_endpoints: self.endpoints(),
            },
            5 => Event::ReceiveBeginQuorumEpochResponse {
                answer: self.answer(),
                from: self.key(),
                epoch: self.epoch(),
            },
            6 => Event::ReceiveEndQuorumEpoch {
                context: self.context(),
                cluster_id: None,
                leader_id: self.node(),
                leader_epoch: self.epoch(),
                leader_endpoints: self.endpoints(),
                successor_rank: SuccessorRank {
                    position: 1,
                    successors: 2,
                },
            },
            7 => Event::ReceiveEndQuorumEpochResponse {
                answer: self.answer(),
                from: self.key(),
                epoch: self.epoch(),
            },
            8 | 9 => Event::ReceiveFetch {
                context: self.context(),
                from: self.key(),
                cluster: ClusterMatch::Ours,
                fetch_epoch: self.epoch(),
                fetch_offset: self.offset(),
                last_fetched_epoch: self.epoch(),
                high_watermark: self.offset(),
                max_wait_ms: self.int(500),
                max_bytes: self.int(100),
            },
            10 => Event::ReceiveFetchSnapshot {
                context: self.context(),
                from: self.key(),
                cluster_id: None,
                fetch_epoch: self.epoch(),
                snapshot: self.snapshot(),
                position: self.offset(),
                max_bytes: self.int(100),
            },
            11 | 12 => Event::ReceiveFetchResponse {
                answer: self.answer(),
                from: self.key(),
                leader_id: self.node(),
                leader_epoch: self.epoch(),
                high_watermark: self.offset(),
                diverging: self.one_in(20).then(|| LogOffsetMetadata {
                    epoch: self.epoch(),
                    offset: self.offset(),
                }),
                snapshot: self.one_in(8).then(|| self.snapshot()),
                records: self.records(),
            },
            13 => Event::ReceiveFetchSnapshotResponse {
                answer: self.answer(),
                from: self.key(),
                leader_epoch: self.epoch(),
                snapshot: self.snapshot(),
                size: self.offset(),
                position: self.small(0),
                bytes: 10,
                payload: PayloadId(1),
            },
            14 => Event::ReceiveUpdateRaftVoter {
                context: self.context(),
                cluster_id: None,
                leader_epoch: self.epoch(),
                voter: self.key(),
                endpoints: self.endpoints(),
                kraft_versions: SupportedVersions { min: 0, max: 1 },
            },
            15 => Event::ReceiveUpdateRaftVoterResponse {
                answer: self.answer(),
                from: self.key(),
                leader_epoch: self.epoch(),
            },
            16 => Event::ReceiveDescribeQuorum {
                context: self.context(),
            },
            17 => Event::RequestFailed {
                request: RequestId(self.newest_request),
                fault: if self.one_in(3) {
                    RequestFault::UnsupportedVersion
                } else {
                    RequestFault::Disconnected
                },
            },
            18 => Event::Propose {
                reply: ReplyId(self.rng.below(100)),
                epoch: self.one_in(3).then(|| self.epoch()),
                records: u32::try_from(self.rng.below(3)).expect("small"),
                bytes: 10,
                payload: PayloadId(2),
            },
            _ => Event::CallerGone {
                reply: ReplyId(self.rng.below(100)),
            },
        }
    }
}

fn run(voters: &[i32], seed: u64) {
    let mut log = TestLog::new();
    let mut now = Time {
        mono: Instant::from_millis(1000),
        wall_ms: 0,
    };
    let mut out = Vec::new();
    let mut replica =
        Replica::open(config(voters), Recovered::default(), &log, now, &mut out).expect("opens");
    let mut fuzz = Fuzz {
        rng: Rng::new(seed),
        epoch: Epoch(0),
        end: LogEnd {
            last_epoch: Epoch(0),
            last_offset: 0,
        },
        newest_request: 0,
        newest_ticket: Ticket::NONE,
    };
    for _ in 0..400 {
        for action in out.drain(..) {
            match action {
                Action::Disk { ticket, op } => {
                    log.submit(ticket, &op, now.mono);
                    fuzz.newest_ticket = ticket;
                }
                Action::Send { request, .. } => fuzz.newest_request = request.0,
                Action::Fatal { .. } => return,
                _ => {}
            }
        }
        replica.check_invariants(&log);
        fuzz.epoch = replica.epoch();
        fuzz.end = log.end;
        let event = if fuzz.one_in(4) {
            log.flushed = log.end.last_offset;
            log.unfinished = None;
            Event::Durable {
                up_to: fuzz.newest_ticket,
            }
        } else if fuzz.one_in(4) {
            now.mono = now.mono.after(Duration::from_millis(fuzz.rng.below(1500)));
            Event::Tick
        } else {
            fuzz.event()
        };
        replica.step(event, &log, now, &mut out);
        let deadline = replica.next_deadline();
        assert!(
            deadline.is_none_or(|deadline| deadline > now.mono),
            "nothing due is left undone"
        );
    }
}

#[test]
fn no_event_makes_a_replica_panic() {
    for seed in 0..300 {
        run(&[1, 2, 3], seed);
        run(&[2, 3], seed);
        run(&[1], seed);
    }
}

/// As Kafka's: the log's epoch wins over an older one in the file, and a negative one is older than all.
#[test]
fn a_stored_epoch_below_all_is_older_than_that_of_the_log() {
    for log_epoch in [0, 3] {
        let mut log = TestLog::new();
        log.end.last_epoch = Epoch(log_epoch);
        let recovered = Recovered {
            election: Some(ElectionState {
                epoch: Epoch(-5),
                leader: Some(NodeId(1)),
                voted: None,
                voters: Vec::new(),
                kraft_version: 1,
            }),
            ..Recovered::default()
        };
        let now = Time {
            mono: Instant::from_millis(1000),
            wall_ms: 1_000_000,
        };
        let replica = Replica::open(config(&[1, 2, 3]), recovered, &log, now, &mut Vec::new());
        let replica = replica.expect("it starts");
        assert_eq!((replica.epoch(), replica.leader()), (Epoch(log_epoch), None));
    }
}
