//! Whole steps against a small log.

mod abstention;
mod cluster;
mod harness;
mod hostile;
mod limits;
mod parked_fetches;
mod snapshots;
mod update_voter;
mod voter_changes;

use crate::{
    action::{Action, AppendPayload, DiskOp, ProposalOutcome, Refusal},
    answer::{Answer, FetchPlan},
    control::{BatchInfo, ControlRecord},
    election_state::ElectionState,
    error_code::ErrorCode,
    event::{Event, FetchedRecords, RequestFault, SuccessorRank},
    handles::{PayloadId, ReplyId, Ticket},
    ids::{Epoch, NodeId},
    offsets::{LogEnd, LogOffsetMetadata, SnapshotId},
    peer_request::PeerRequest,
    role::RoleName,
};
use alloc::vec;
use core::time::Duration;
use harness::{Node, elected, endpoints, follower_of, key};

#[test]
fn a_lone_voter_leads_at_once_and_commits_only_what_is_durable() {
    let mut node = Node::open(&[1]);
    assert_eq!(node.replica.role(), RoleName::Leader);
    assert_eq!(node.replica.epoch(), Epoch(1));
    let stored = ElectionState {
        epoch: Epoch(1),
        leader: Some(NodeId(1)),
        voted: None,
        voters: vec![NodeId(1)],
        kraft_version: 0,
    };
    assert_eq!(node.log.election, Some(stored));
    assert_eq!(
        node.log.end,
        LogEnd {
            last_epoch: Epoch(1),
            last_offset: 1
        }
    );
    assert_eq!(node.replica.high_watermark(), None);
    assert!(node.flush().contains(&Action::Commit { high_watermark: 1 }));
    assert_eq!(node.replica.high_watermark(), Some(1));
}

#[test]
fn an_election_goes_through_pre_votes_and_votes() {
    let mut node = Node::open(&[1, 2, 3]);
    assert_eq!(node.replica.role(), RoleName::Unattached);
    node.sent();
    node.pass(Duration::from_millis(2000));
    assert_eq!(node.replica.role(), RoleName::Prospective);
    let asked = node.sent();
    assert_eq!(asked.len(), 2);
    for (_, to, body) in &asked {
        let PeerRequest::Vote {
            voter,
            epoch,
            pre_vote,
            ..
        } = body
        else {
            panic!("{body:?}")
        };
        assert_eq!((voter, *epoch, *pre_vote), (to, Epoch(0), true));
    }
    node.answer_vote(asked[0].0, 0, true);
    assert_eq!(node.replica.role(), RoleName::Candidate);
    assert_eq!(node.replica.election_state().voted, Some(key(1)));
    let asked = node.sent();
    assert_eq!(asked.len(), 2);
    node.answer_vote(asked[1].0, 1, true);
    assert_eq!(node.replica.role(), RoleName::Leader);
    let announced = node.sent();
    assert!(
        announced
            .iter()
            .all(|(_, _, body)| matches!(body, PeerRequest::BeginQuorumEpoch { epoch: Epoch(1), .. }))
    );
    assert_eq!(announced.len(), 2);
    let records = node.log.control.last().expect("the first batch");
    assert_eq!(
        records[..],
        [ControlRecord::LeaderChange {
            leader: NodeId(1),
            voters: vec![NodeId(1), NodeId(2), NodeId(3)],
            granting: vec![NodeId(1), NodeId(3)],
        }]
    );
}

#[test]
fn a_vote_request_waits_for_everything_and_a_grant_for_the_stored_vote() {
    let mut node = Node::open(&[1, 2, 3]);
    let out = node.vote(2, 5, (0, 0), false);
    let Some(Action::Disk {
        ticket,
        op: DiskOp::StoreElection(state),
    }) = out.iter().rfind(|action| matches!(action, Action::Disk { .. }))
    else {
        panic!("{out:?}")
    };
    assert_eq!((state.epoch, state.voted), (Epoch(5), Some(key(2))));
    let Some(Action::Reply {
        answer: Answer::Vote { partition, granted },
        after,
        ..
    }) = out.iter().find(|action| matches!(action, Action::Reply { .. }))
    else {
        panic!("{out:?}")
    };
    assert!(granted);
    assert_eq!(
        (partition.epoch, partition.error, after),
        (Epoch(5), ErrorCode::None, ticket)
    );
}

#[test]
fn a_vote_is_given_once_per_epoch() {
    let mut node = Node::open(&[1, 2, 3]);
    assert!(granted(&node.vote(2, 5, (0, 0), false)));
    assert!(!granted(&node.vote(3, 5, (4, 9), false)));
    assert!(granted(&node.vote(2, 5, (0, 0), false)));
    assert!(granted(&node.vote(3, 5, (4, 9), true)));
}

#[test]
fn absurd_epochs_are_refused_and_not_stored() {
    let mut node = Node::open(&[1, 2, 3]);
    let out = node.vote(2, 2_000_000_001, (0, 0), false);
    assert!(!granted(&out));
    assert_eq!(node.replica.epoch(), Epoch(0));
    node.step(Event::ReceiveLeaderlessEpoch {
        epoch: Epoch(i32::MAX),
    });
    assert_eq!(node.replica.epoch(), Epoch(0));
}

#[test]
fn a_vote_for_ourselves_by_somebody_else_is_refused() {
    let mut node = Node::open(&[1, 2, 3]);
    assert!(!granted(&node.vote(1, 5, (0, 0), false)));
    assert_eq!(node.replica.election_state().voted, None);
}

fn granted(out: &[Action]) -> bool {
    out.iter().any(|action| {
        matches!(
            action,
            Action::Reply {
                answer: Answer::Vote { granted: true, .. },
                ..
            }
        )
    })
}

#[test]
fn a_follower_appends_flushes_and_fetches_on() {
    let mut node = follower_of(2, 5);
    let (request, to, body) = node.sent().pop().expect("a fetch");
    assert_eq!(to, key(2));
    let PeerRequest::Fetch {
        log_end,
        high_watermark,
        ..
    } = body
    else {
        panic!("{body:?}")
    };
    assert_eq!((log_end.last_offset, high_watermark), (0, -1));
    let out = node.fetch_response(request, 5, 1, batches(&[(0, 2, 5), (3, 3, 5)], 7));
    let Some(Action::Disk {
        ticket,
        op:
            DiskOp::Append {
                base: 0,
                payload: AppendPayload::Fetched(PayloadId(7)),
                ..
            },
    }) = out.first()
    else {
        panic!("{out:?}")
    };
    let Some(Action::Send {
        body: PeerRequest::Fetch {
            log_end,
            high_watermark,
            ..
        },
        after,
        ..
    }) = out.last()
    else {
        panic!("{out:?}")
    };
    assert_eq!(
        *log_end,
        LogEnd {
            last_epoch: Epoch(5),
            last_offset: 4
        }
    );
    assert_eq!((*high_watermark, after), (1, ticket));
    assert!(out.contains(&Action::Commit { high_watermark: 1 }));
}

fn batches(list: &[(i64, i64, i32)], payload: u64) -> FetchedRecords {
    FetchedRecords::Batches {
        batches: list
            .iter()
            .map(|(base, last, epoch)| BatchInfo {
                base: *base,
                last: *last,
                epoch: Epoch(*epoch),
                bytes: 100,
                control: None,
            })
            .collect(),
        payload: PayloadId(payload),
    }
}

#[test]
fn batches_of_an_unknown_epoch_are_cut_off() {
    let mut node = follower_of(2, 5);
    let request = node.sent().pop().expect("a fetch").0;
    node.fetch_response(request, 5, -1, batches(&[(0, 9, 5), (10, 19, 6)], 1));
    assert_eq!(node.log.end.last_offset, 10);
    let request = node.sent().pop().expect("a fetch").0;
    let out = node.fetch_response(request, 5, -1, batches(&[(10, 19, 6)], 2));
    assert!(out.contains(&Action::Discard {
        payload: PayloadId(2)
    }));
    assert_eq!(node.log.end.last_offset, 10);
}

#[test]
fn a_gap_in_what_the_leader_sends_ends_the_replica_and_nothing_is_written() {
    let mut node = follower_of(2, 5);
    let request = node.sent().pop().expect("a fetch").0;
    let out = node.fetch_response(request, 5, -1, batches(&[(1, 2, 5)], 1));
    assert!(matches!(out.last(), Some(Action::Fatal { .. })));
    assert!(!out.iter().any(|action| matches!(action, Action::Disk { .. })));
    assert!(node.step(Event::Tick).is_empty());
    assert_eq!(node.replica.next_deadline(), None);
}

#[test]
fn a_follower_truncates_and_fetches_once_that_is_durable() {
    let mut node = follower_of(2, 5);
    let request = node.sent().pop().expect("a fetch").0;
    node.fetch_response(request, 5, -1, batches(&[(0, 1, 3), (2, 2, 4)], 1));
    let request = node.sent().pop().expect("a fetch").0;
    let diverging = LogOffsetMetadata {
        epoch: Epoch(3),
        offset: 2,
    };
    let out = node.diverging(request, 5, diverging);
    assert!(
        matches!(
            out[..],
            [Action::Disk {
                op: DiskOp::Truncate { to: 2 },
                ..
            }]
        ),
        "{out:?}"
    );
    let out = node.flush();
    let [
        Action::Send {
            body: PeerRequest::Fetch { log_end, .. },
            ..
        },
    ] = &out[..]
    else {
        panic!("{out:?}")
    };
    assert_eq!(
        *log_end,
        LogEnd {
            last_epoch: Epoch(3),
            last_offset: 2
        }
    );
}

#[test]
fn nothing_committed_is_truncated() {
    let mut node = follower_of(2, 5);
    let request = node.sent().pop().expect("a fetch").0;
    node.fetch_response(request, 5, 3, batches(&[(0, 2, 3)], 1));
    let request = node.sent().pop().expect("a fetch").0;
    let out = node.diverging(
        request,
        5,
        LogOffsetMetadata {
            epoch: Epoch(3),
            offset: 2,
        },
    );
    assert!(matches!(out[..], [Action::Fatal { .. }]), "{out:?}");
}

#[test]
fn a_leader_counts_only_what_it_has_flushed() {
    let mut node = elected(&[1, 2, 3], 1);
    let base = node.log.end.last_offset;
    node.fetch(2, base, 1, 0);
    assert_eq!(node.replica.high_watermark(), None);
    node.flush();
    assert_eq!(node.replica.high_watermark(), Some(base));
}

#[test]
fn a_proposal_is_appended_then_committed() {
    let mut node = elected(&[1, 2, 3], 1);
    node.flush();
    let base = node.log.end.last_offset;
    let out = node.propose(9, 3);
    assert!(matches!(
        out[0],
        Action::Disk {
            op: DiskOp::Append { .. },
            ..
        }
    ));
    assert_eq!(
        out[1],
        Action::Accept {
            reply: ReplyId(9),
            base,
            epoch: Epoch(1)
        }
    );
    node.flush();
    let out = node.fetch(2, base + 3, 1, 0);
    assert!(out.contains(&Action::Commit {
        high_watermark: base + 3
    }));
    assert!(out.contains(&Action::Outcome {
        reply: ReplyId(9),
        outcome: ProposalOutcome::Committed
    }));
}

#[test]
fn a_deposed_leader_refuses_proposals_and_waits_a_while_for_those_it_took() {
    let mut node = elected(&[1, 2, 3], 1);
    node.propose(9, 1);
    node.flush();
    let out = node.vote(2, 7, (6, 100), false);
    assert!(out.contains(&Action::Unlead));
    let out = node.propose(10, 1);
    let reason = Refusal::NotLeader {
        leader: None,
        epoch: Epoch(7),
    };
    assert_eq!(
        out,
        [Action::Refuse {
            reply: ReplyId(10),
            reason
        }]
    );
    let unknown = Action::Outcome {
        reply: ReplyId(9),
        outcome: ProposalOutcome::Unknown,
    };
    assert!(!node.pass(Duration::from_millis(3999)).contains(&unknown));
    assert!(node.pass(Duration::from_millis(1)).contains(&unknown));
}

#[test]
fn the_next_leader_decides_what_becomes_of_a_proposal() {
    let deposed = || {
        let mut node = elected(&[1, 2, 3], 1);
        node.propose(9, 1);
        node.flush();
        node.begin_quorum_epoch(2, 2);
        node.flush();
        let fetch = node.sent().pop().expect("a fetch").0;
        (node, fetch)
    };
    let outcome = |outcome| Action::Outcome {
        reply: ReplyId(9),
        outcome,
    };

    let (mut node, fetch) = deposed();
    let out = node.fetch_response(fetch, 2, 3, batches(&[(2, 2, 2)], 1));
    assert!(out.contains(&outcome(ProposalOutcome::Committed)), "{out:?}");

    let (mut node, fetch) = deposed();
    let diverging = LogOffsetMetadata {
        epoch: Epoch(1),
        offset: 1,
    };
    assert!(
        !node
            .diverging(fetch, 2, diverging)
            .contains(&outcome(ProposalOutcome::KnownLost))
    );
    node.flush();
    let fetch = node.sent().pop().expect("a fetch").0;
    let out = node.fetch_response(fetch, 2, 1, batches(&[(1, 1, 2)], 1));
    assert!(
        !out.contains(&outcome(ProposalOutcome::KnownLost)),
        "somebody else may still have it"
    );
    let fetch = node.sent().pop().expect("a fetch").0;
    let out = node.fetch_response(fetch, 2, 2, FetchedRecords::Empty);
    assert!(out.contains(&outcome(ProposalOutcome::KnownLost)), "{out:?}");
}

#[test]
fn a_leader_without_a_majority_resigns_and_says_so() {
    let mut node = elected(&[1, 2, 3], 1);
    node.flush();
    node.sent();
    node.pass(Duration::from_millis(3000));
    assert_eq!(node.replica.role(), RoleName::Resigned);
    let told = node.sent();
    assert!(
        told.iter()
            .any(|(_, _, body)| matches!(body, PeerRequest::EndQuorumEpoch { epoch: Epoch(1), .. }))
    );
    node.pass(Duration::from_millis(2000));
    assert_eq!(node.replica.epoch(), Epoch(2));
    assert_eq!(node.replica.role(), RoleName::Prospective);
}

#[test]
fn a_leader_whose_disk_is_silent_resigns() {
    let mut node = elected(&[1, 2, 3], 1);
    for _ in 0..4 {
        node.pass(Duration::from_millis(1000));
        let end = node.log.end.last_offset;
        node.fetch(2, end, 1, 0);
    }
    assert_eq!(node.replica.role(), RoleName::Resigned);
}

#[test]
fn a_failed_disk_ends_a_leadership_that_nobody_may_know_of_without_a_word() {
    let mut node = elected(&[1, 2, 3], 1);
    assert_eq!(node.replica.role(), RoleName::Leader);
    assert!(node.step(Event::StorageFailed).is_empty());
}

#[test]
fn a_failed_disk_ends_the_leadership_with_one_word() {
    let mut node = elected(&[1, 2, 3], 1);
    node.flush();
    let out = node.step(Event::StorageFailed);
    assert_eq!(out.len(), 2);
    for action in &out {
        let Action::Send {
            body: PeerRequest::EndQuorumEpoch { .. },
            after,
            ..
        } = action
        else {
            panic!("{action:?}")
        };
        assert_eq!(*after, Ticket::NONE);
    }
    assert!(node.vote(2, 9, (8, 100), false).is_empty());
}

#[test]
fn a_restarted_leader_neither_votes_nor_leads_in_its_epoch() {
    let mut node = Node::reopen(&[1, 2, 3], |state| {
        state.epoch = Epoch(2);
        state.leader = Some(NodeId(1));
    });
    assert_eq!(node.replica.role(), RoleName::Resigned);
    assert!(!granted(&node.vote(2, 2, (1, 5), false)));
    assert!(granted(&node.vote(2, 3, (2, 5), false)));
}

#[test]
fn a_restarted_candidate_goes_on_in_its_epoch() {
    let mut node = Node::reopen(&[1, 2, 3], |state| {
        state.epoch = Epoch(2);
        state.voted = Some(key(1));
    });
    assert_eq!(node.replica.role(), RoleName::Candidate);
    let asked = node.sent();
    assert!(matches!(
        asked[0].2,
        PeerRequest::Vote {
            epoch: Epoch(2),
            pre_vote: false,
            ..
        }
    ));
    node.answer_vote(asked[0].0, 2, true);
    assert_eq!(node.replica.role(), RoleName::Leader);
}

#[test]
fn successors_wait_their_turn() {
    let mut node = follower_of(2, 5);
    let rank = SuccessorRank {
        position: 1,
        successors: 2,
    };
    node.end_quorum_epoch(2, 5, rank);
    node.pass(Duration::from_millis(499));
    assert_eq!(node.replica.role(), RoleName::Follower);
    node.pass(Duration::from_millis(1));
    assert_eq!(node.replica.role(), RoleName::Prospective);
}

#[test]
fn begin_quorum_epoch_makes_a_follower_and_its_repetition_changes_nothing() {
    let mut node = Node::open(&[1, 2, 3]);
    node.begin_quorum_epoch(3, 4);
    assert_eq!(
        (node.replica.role(), node.replica.leader()),
        (RoleName::Follower, Some(NodeId(3)))
    );
    assert_eq!(node.replica.leader_endpoints(), endpoints(3));
    let before = node.replica.clone();
    let out = node.begin_quorum_epoch(3, 4);
    assert_eq!(out.len(), 1);
    assert_eq!(node.replica, before);
    node.begin_quorum_epoch(2, 4);
    assert_eq!(node.replica, before);
}

#[test]
fn ticks_that_are_not_due_change_nothing() {
    for mut node in [Node::open(&[1, 2, 3]), follower_of(2, 5), elected(&[1, 2, 3], 1)] {
        node.flush();
        let before = node.replica.clone();
        assert!(node.step(Event::Tick).is_empty());
        assert_eq!(node.replica, before);
        let deadline = node
            .replica
            .next_deadline()
            .expect("something is always due some time");
        assert!(deadline > node.now.mono);
    }
}

#[test]
fn a_follower_shuts_down_at_once() {
    let mut node = follower_of(2, 5);
    let out = node.step(Event::Shutdown {
        timeout: Duration::from_secs(5),
    });
    assert_eq!(out, [Action::ShutdownComplete { timed_out: false }]);
}
