//! One replica at the edge of what can happen to it.

use crate::{
    disk::{Directory, Disk, Snapshot},
    settings::{config, endpoint, endpoints, key},
};
use kraft_core::{
    Action, Answer, AnswerContext, BatchInfo, ClusterMatch, Config, DiskOp, ElectionState, Endpoint,
    Endpoints, Epoch, ErrorCode, Event, FetchedRecords, Instant, LogEnd, LogOffsetMetadata, LogView, NodeId,
    PartitionMatch, PayloadId, PeerRequest, Recovered, Replica, ReplicaKey, ReplyId, RequestContext,
    RequestId, RoleName, SnapshotId, SuccessorRank, Ticket, Time,
};
use std::time::Duration;
use uuid::Uuid;

/// Replica 1, its disk and its clock.
struct Node {
    replica: Replica,
    disk: Disk,
    now: Time,
    newest: Ticket,
    sent: Vec<(RequestId, ReplicaKey, PeerRequest)>,
}

fn stored(epoch: i32, leader: Option<i32>, voted: Option<i32>) -> Directory {
    let mut directory = Directory::default();
    directory.election = Some(ElectionState {
        epoch: Epoch(epoch),
        leader: leader.map(NodeId),
        voted: voted.map(key),
        voters: Vec::new(),
        kraft_version: 0,
    });
    directory
}

impl Node {
    fn open(config: Config, directory: Directory) -> (Self, Vec<Action>) {
        let now = Time {
            mono: Instant::from_millis(1000),
            wall_ms: 0,
        };
        let recovered: Recovered = directory.recovered();
        let disk = Disk::open(directory);
        let mut out = Vec::new();
        let replica = Replica::open(config, recovered, &disk, now, &mut out).expect("opens");
        let mut node = Self {
            replica,
            disk,
            now,
            newest: Ticket::NONE,
            sent: Vec::new(),
        };
        node.perform(&out);
        (node, out)
    }

    fn perform(&mut self, out: &[Action]) {
        for action in out {
            match action {
                Action::Disk { ticket, op } => {
                    self.newest = *ticket;
                    let mut fetched = |_| Snapshot::default();
                    self.disk.submit(*ticket, op.clone(), self.now.mono, &mut fetched);
                }
                Action::Send {
                    request, to, body, ..
                } => self.sent.push((*request, *to, body.clone())),
                _ => {}
            }
        }
    }

    fn step(&mut self, event: Event) -> Vec<Action> {
        let mut out = Vec::new();
        self.replica.step(event, &self.disk, self.now, &mut out);
        self.perform(&out);
        self.replica.check_invariants(&self.disk);
        out
    }

    fn flush(&mut self) -> Vec<Action> {
        let count = self.disk.pending();
        match self.disk.complete(count, &mut |_| Snapshot::default()) {
            Some(up_to) => self.step(Event::Durable { up_to }),
            None => Vec::new(),
        }
    }

    fn wait(&mut self, ms: u64) -> Vec<Action> {
        self.now.mono = self.now.mono.after(Duration::from_millis(ms));
        self.step(Event::Tick)
    }

    fn newest_request(&mut self) -> RequestId {
        self.sent.last().expect("a request").0
    }

    fn begin(&mut self, leader: i32, epoch: i32) -> Vec<Action> {
        self.step(Event::ReceiveBeginQuorumEpoch {
            context: context(1),
            cluster_id: None,
            voter_id: NodeId::NONE,
            voter_directory_id: Uuid::nil(),
            leader_id: NodeId(leader),
            leader_epoch: Epoch(epoch),
            leader_endpoints: endpoints(leader),
        })
    }

    fn fetch(&mut self, reply: u64, from: i32, offset: i64, epoch: i32, wait: i32) -> Vec<Action> {
        self.step(Event::ReceiveFetch {
            context: context(reply),
            from: key(from),
            cluster: ClusterMatch::Ours,
            fetch_epoch: Epoch(epoch),
            fetch_offset: offset,
            last_fetched_epoch: Epoch(epoch),
            high_watermark: i64::MAX,
            max_wait_ms: wait,
            max_bytes: 100,
        })
    }

    fn answer_fetch(
        &mut self,
        leader: i32,
        at: Option<Endpoint>,
        epoch: i32,
        fetched: Fetched,
    ) -> Vec<Action> {
        let request = self.newest_request();
        self.step(Event::ReceiveFetchResponse {
            answer: AnswerContext {
                request,
                top_level: ErrorCode::None,
                partition: PartitionMatch::Metadata,
                error: fetched.error,
                leader: Some(NodeId(leader)),
                leader_endpoint: at,
            },
            from: key(leader),
            leader_id: NodeId(leader),
            leader_epoch: Epoch(epoch),
            high_watermark: fetched.high_watermark,
            diverging: fetched.diverging,
            snapshot: fetched.snapshot,
            records: fetched.records,
        })
    }
}

struct Fetched {
    error: ErrorCode,
    high_watermark: i64,
    diverging: Option<LogOffsetMetadata>,
    snapshot: Option<SnapshotId>,
    records: FetchedRecords,
}

impl Default for Fetched {
    fn default() -> Self {
        Self {
            error: ErrorCode::None,
            high_watermark: -1,
            diverging: None,
            snapshot: None,
            records: FetchedRecords::Empty,
        }
    }
}

fn context(reply: u64) -> RequestContext {
    RequestContext {
        reply: ReplyId(reply),
        listener: crate::settings::LISTENER.into(),
        partition: PartitionMatch::Metadata,
    }
}

fn batch(base: i64, last: i64, epoch: i32) -> FetchedRecords {
    FetchedRecords::Batches {
        batches: [BatchInfo {
            base,
            last,
            epoch: Epoch(epoch),
            bytes: 1,
            control: None,
        }]
        .into_iter()
        .collect(),
        payload: PayloadId(1),
    }
}

fn sends(out: &[Action]) -> usize {
    let send = |action: &&Action| matches!(action, Action::Send { .. });
    out.iter().filter(send).count()
}

fn reply_to(out: &[Action], wanted: u64) -> Option<&Answer> {
    out.iter().find_map(|action| match action {
        Action::Reply { reply, answer, .. } if *reply == ReplyId(wanted) => Some(answer),
        _ => None,
    })
}

/// A leader of `epoch` among 1, 2 and 3, everything flushed.
fn leader(epoch: i32) -> Node {
    let (mut node, _) = Node::open(config(1, &[1, 2, 3]), stored(epoch, None, Some(1)));
    node.flush();
    let (request, to, _) = node.sent[0];
    node.step(Event::ReceiveVoteResponse {
        answer: AnswerContext {
            request,
            top_level: ErrorCode::None,
            partition: PartitionMatch::Metadata,
            error: ErrorCode::None,
            leader: None,
            leader_endpoint: None,
        },
        from: to,
        epoch: Epoch(epoch),
        vote_granted: true,
    });
    node.flush();
    assert_eq!(node.replica.role(), RoleName::Leader);
    node
}

#[test]
fn a_leader_whose_address_nobody_knows_is_not_asked_for_without_a_rest() {
    for error in [
        ErrorCode::None,
        ErrorCode::NotLeaderOrFollower,
        ErrorCode::UnknownServerError,
    ] {
        let (mut node, _) = Node::open(config(1, &[2, 3]), stored(5, None, None));
        let fetched = || Fetched {
            error,
            records: if error == ErrorCode::None {
                batch(0, 0, 5)
            } else {
                FetchedRecords::Empty
            },
            ..Fetched::default()
        };
        // The other bootstrap server may be asked at once, then both rest.
        let first = sends(&node.answer_fetch(9, None, 5, fetched()));
        let second = sends(&node.answer_fetch(9, None, 5, fetched()));
        assert!(first <= 1 && second == 0, "{error:?}: {first}, {second}");
        assert_eq!(sends(&node.wait(20)), 1, "{error:?}");
    }
}

#[test]
fn a_campaign_behind_a_truncation_does_not_name_what_was_cut() {
    let mut hasty = config(1, &[1, 2, 3]);
    hasty.fetch_timeout = Duration::ZERO;
    let mut directory = stored(5, None, None);
    directory.append_records(0, 9, 2);
    directory.append_records(10, 19, 4);
    let (mut node, _) = Node::open(hasty, directory);
    node.flush();
    let at = |offset, epoch| LogOffsetMetadata {
        offset,
        epoch: Epoch(epoch),
    };
    let out = node.answer_fetch(
        2,
        Some(endpoint(2)),
        5,
        Fetched {
            diverging: Some(at(10, 2)),
            ..Fetched::default()
        },
    );
    assert!(
        out.iter().any(|action| matches!(
            action,
            Action::Disk {
                op: DiskOp::Truncate { to: 10 },
                ..
            }
        )),
        "{out:?}"
    );
    node.flush();
    node.wait(2);
    let ends: Vec<_> = node
        .sent
        .iter()
        .filter_map(|(_, _, body)| match body {
            PeerRequest::Vote { log_end, .. } => Some(*log_end),
            _ => None,
        })
        .collect();
    let end = LogEnd {
        last_epoch: Epoch(2),
        last_offset: 10,
    };
    assert!(!ends.is_empty());
    assert!(ends.iter().all(|named| *named == end), "{ends:?}");
}

#[test]
fn offsets_at_the_end_of_their_range_are_refused_before_anything_is_written() {
    for last in [i64::MAX, i64::MAX - 1, i64::MAX / 2 + 1] {
        let (mut node, _) = Node::open(config(1, &[1, 2, 3]), stored(5, Some(2), None));
        node.flush();
        let out = node.answer_fetch(
            2,
            None,
            5,
            Fetched {
                records: batch(0, last, 5),
                ..Fetched::default()
            },
        );
        assert!(
            out.contains(&Action::Discard {
                payload: PayloadId(1)
            }),
            "{last}"
        );
        assert_eq!(node.disk.end().last_offset, 0, "{last}");
    }
    for end_offset in [i64::MAX, i64::MAX / 2 + 1] {
        let (mut node, _) = Node::open(config(1, &[1, 2, 3]), stored(5, Some(2), None));
        node.flush();
        let snapshot = SnapshotId {
            end_offset,
            epoch: Epoch(4),
        };
        node.answer_fetch(
            2,
            None,
            5,
            Fetched {
                snapshot: Some(snapshot),
                ..Fetched::default()
            },
        );
        node.wait(20);
        let asked = node
            .sent
            .iter()
            .any(|(_, _, body)| matches!(body, PeerRequest::FetchSnapshot { .. }));
        assert!(!asked, "{end_offset}");
    }
}

#[test]
fn a_replica_that_has_ended_answers_nothing_more() {
    let mut node = leader(5);
    node.fetch(7, 9, 1, 5, 100);
    node.now.mono = node.now.mono.after(Duration::from_millis(100));
    let out = node.step(Event::StorageFailed);
    assert_eq!(reply_to(&out, 7), None, "{out:?}");
    assert_eq!(node.replica.next_deadline(), None);
}

#[test]
fn field_h04_a_deposed_leader_answers_waiting_fetches_at_once() {
    let mut node = leader(5);
    node.fetch(7, 2, 1, 5, 500);
    // The first fetch has moved the high watermark; the next one has nothing to learn and waits.
    node.fetch(8, 3, 1, 5, 500);
    let out = node.step(Event::ReceiveLeaderlessEpoch { epoch: Epoch(6) });
    assert_eq!(node.replica.role(), RoleName::Unattached);
    let Some(Answer::Fetch { partition, .. }) = reply_to(&out, 8) else {
        panic!("{out:?}");
    };
    assert_eq!(partition.error, ErrorCode::NotLeaderOrFollower);
    assert_eq!((partition.epoch, partition.leader), (Epoch(6), None));
}

#[test]
fn a_snapshot_that_ends_where_our_log_ends_is_fetched_when_the_epochs_differ() {
    let mut directory = stored(5, Some(2), None);
    directory.append_records(0, 9, 4);
    let (mut node, _) = Node::open(config(1, &[1, 2, 3]), directory);
    node.flush();
    let snapshot = SnapshotId {
        end_offset: 10,
        epoch: Epoch(3),
    };
    node.answer_fetch(
        2,
        None,
        5,
        Fetched {
            snapshot: Some(snapshot),
            ..Fetched::default()
        },
    );
    let Some((_, _, PeerRequest::FetchSnapshot { snapshot: asked, .. })) = node.sent.last() else {
        panic!("{:?}", node.sent);
    };
    assert_eq!(*asked, snapshot);
}

#[test]
fn what_contradicts_a_snapshot_is_not_cut_down_to_it() {
    let mut directory = stored(5, Some(2), None);
    directory.append_records(0, 9, 2);
    directory.append_records(10, 19, 4);
    let mut disk = Disk::open(directory);
    let id = SnapshotId {
        end_offset: 10,
        epoch: Epoch(2),
    };
    disk.store_snapshot(id, Snapshot::default(), 10);
    let (mut node, _) = Node::open(config(1, &[1, 2, 3]), disk.durable);
    node.flush();
    let out = node.answer_fetch(
        2,
        None,
        5,
        Fetched {
            diverging: Some(LogOffsetMetadata {
                epoch: Epoch(1),
                offset: 3,
            }),
            ..Fetched::default()
        },
    );
    assert!(
        out.iter().any(|action| matches!(action, Action::Fatal { .. })),
        "{out:?}"
    );
}

#[test]
fn a_node_without_an_id_is_no_voter_whatever_records_say() {
    let mut anonymous = config(1, &[2, 3]);
    anonymous.local = ReplicaKey::new(NodeId::NONE, Uuid::from_u128(7));
    anonymous.can_become_voter = false;
    let mut directory = stored(5, Some(2), None);
    directory.append_voters(0, 5, &[-1, 2]);
    let (mut node, _) = Node::open(anonymous, directory);
    node.flush();
    assert!(!node.replica.is_voter());
    node.wait(60_000);
    assert_eq!(node.replica.role(), RoleName::Follower);
}

#[test]
fn a_resignation_during_an_installation_is_followed_by_a_campaign_after_it() {
    let (mut node, _) = Node::open(config(1, &[1, 2, 3]), stored(5, Some(2), None));
    node.flush();
    let id = SnapshotId {
        end_offset: 10,
        epoch: Epoch(3),
    };
    node.answer_fetch(
        2,
        None,
        5,
        Fetched {
            snapshot: Some(id),
            ..Fetched::default()
        },
    );
    let request = node.newest_request();
    node.step(Event::ReceiveFetchSnapshotResponse {
        answer: AnswerContext {
            request,
            top_level: ErrorCode::None,
            partition: PartitionMatch::Metadata,
            error: ErrorCode::None,
            leader: Some(NodeId(2)),
            leader_endpoint: None,
        },
        from: key(2),
        leader_epoch: Epoch(5),
        snapshot: id,
        size: 8,
        position: 0,
        bytes: 8,
        payload: PayloadId(1),
    });
    node.step(Event::ReceiveEndQuorumEpoch {
        context: context(1),
        cluster_id: None,
        leader_id: NodeId(2),
        leader_epoch: Epoch(5),
        leader_endpoints: Endpoints::empty(),
        successor_rank: SuccessorRank::default(),
    });
    assert_eq!(node.replica.role(), RoleName::Follower);
    node.flush();
    node.step(Event::SnapshotInstalled {
        snapshot: id,
        control: Vec::new(),
    });
    assert_eq!(node.replica.role(), RoleName::Prospective);
    assert_eq!(node.replica.high_watermark(), Some(10));
    node.begin(3, 6);
    assert_eq!(node.replica.role(), RoleName::Follower);
}

#[test]
fn a_download_that_the_log_has_overtaken_is_given_up() {
    let mut hasty = config(1, &[1, 2, 3]);
    hasty.request_timeout = Duration::from_millis(1000);
    let (mut node, _) = Node::open(hasty, stored(5, Some(2), None));
    node.flush();
    let id = SnapshotId {
        end_offset: 5,
        epoch: Epoch(5),
    };
    node.answer_fetch(
        2,
        None,
        5,
        Fetched {
            snapshot: Some(id),
            ..Fetched::default()
        },
    );
    let first = node.newest_request();
    // The leader does not answer in time, a bootstrap server is asked, and it is the leader that answers there.
    node.wait(1000);
    assert_ne!(node.newest_request(), first);
    node.answer_fetch(
        2,
        None,
        5,
        Fetched {
            records: batch(0, 9, 5),
            high_watermark: 10,
            ..Fetched::default()
        },
    );
    assert_eq!(node.replica.high_watermark(), Some(10));
    let (request, _, body) = node.sent.last().expect("a request").clone();
    assert!(matches!(body, PeerRequest::FetchSnapshot { .. }), "{body:?}");
    let out = node.step(Event::ReceiveFetchSnapshotResponse {
        answer: AnswerContext {
            request,
            top_level: ErrorCode::None,
            partition: PartitionMatch::Metadata,
            error: ErrorCode::None,
            leader: Some(NodeId(2)),
            leader_endpoint: None,
        },
        from: key(2),
        leader_epoch: Epoch(5),
        snapshot: id,
        size: 8,
        position: 0,
        bytes: 8,
        payload: PayloadId(1),
    });
    assert!(out.contains(&Action::AbandonSnapshot { snapshot: id }), "{out:?}");
    assert!(
        out.contains(&Action::Discard {
            payload: PayloadId(1)
        }),
        "{out:?}"
    );
    assert_eq!(node.disk.end().last_offset, 10);
}

#[test]
fn timers_of_zero_do_not_make_time_stand_still() {
    for voters in [&[1][..], &[1, 2, 3], &[2, 3]] {
        let mut hasty = config(1, voters);
        for timer in [
            &mut hasty.election_timeout,
            &mut hasty.fetch_timeout,
            &mut hasty.election_backoff_max,
            &mut hasty.request_timeout,
            &mut hasty.retry_backoff,
        ] {
            *timer = Duration::ZERO;
        }
        hasty.bootstrap_servers = vec![endpoint(2)];
        let (mut node, _) = Node::open(hasty, Directory::default());
        for round in 0..200 {
            let deadline = node.replica.next_deadline();
            let late = deadline.is_none_or(|deadline| deadline > node.now.mono);
            assert!(late, "{voters:?}: {deadline:?} in {:?}", node.replica.role());
            let Some(deadline) = deadline else {
                break;
            };
            node.now.mono = deadline;
            node.step(Event::Tick);
            node.flush();
            if round == 100 && voters.len() > 1 {
                let epoch = node.replica.epoch().0 + 1;
                node.begin(2, epoch);
            }
        }
    }
}
