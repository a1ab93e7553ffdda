//! A voter that has lost its log and fetches it again.

use super::{batches, granted, harness::Node};
use crate::{
    election_state::ElectionState,
    event::SuccessorRank,
    ids::{Epoch, NodeId},
    peer_request::PeerRequest,
    role::RoleName,
};
use alloc::vec;
use core::time::Duration;

/// Replica 1 of three, which had led nobody and voted for nobody in epoch 5.
fn without_its_log() -> Node {
    Node::abstaining(
        &[1, 2, 3],
        ElectionState {
            epoch: Epoch(5),
            leader: None,
            voted: None,
            voters: vec![NodeId(1), NodeId(2), NodeId(3)],
            kraft_version: 0,
        },
    )
}

#[test]
fn a_voter_without_its_log_neither_votes_nor_campaigns() {
    let mut node = without_its_log();
    node.sent();
    node.pass(Duration::from_secs(60));
    let campaigns = |body: &PeerRequest| matches!(body, PeerRequest::Vote { .. });
    assert!(!node.sent().iter().any(|(_, _, body)| campaigns(body)));
    assert_eq!(node.replica.role(), RoleName::Unattached);
    assert_eq!(node.replica.epoch(), Epoch(5));
    for pre_vote in [true, false] {
        assert!(!granted(&node.vote(2, 7, (6, 900), pre_vote)));
    }
    assert_eq!(node.replica.election_state().voted, None);
    // A leader that goes and names it as its successor does not make it campaign, nor does one that is silent.
    node.begin_quorum_epoch(2, 8);
    node.end_quorum_epoch(
        2,
        8,
        SuccessorRank {
            position: 0,
            successors: 1,
        },
    );
    node.pass(Duration::from_secs(60));
    assert_eq!(node.replica.role(), RoleName::Follower);
    assert_eq!(node.replica.epoch(), Epoch(8));
}

#[test]
fn it_votes_again_once_it_has_flushed_what_the_first_leader_knew_to_be_committed() {
    let mut node = without_its_log();
    node.begin_quorum_epoch(2, 8);
    node.flush();
    let fetch = |node: &mut Node| node.sent().pop().expect("a fetch").0;
    let request = fetch(&mut node);
    // This leader does not know yet.
    node.fetch_response(request, 8, -1, batches(&[(0, 2, 5)], 1));
    node.flush();
    assert!(node.replica.abstains());
    let request = fetch(&mut node);
    node.fetch_response(request, 8, 6, batches(&[(3, 3, 5)], 2));
    node.flush();
    assert!(node.replica.abstains(), "4 of 6");
    // What is committed meanwhile rests on nothing that was lost.
    let request = fetch(&mut node);
    node.fetch_response(request, 8, 9, batches(&[(4, 5, 5)], 3));
    assert!(node.replica.abstains(), "not flushed");
    node.flush();
    assert!(!node.replica.abstains());
    node.sent();
    node.pass(Duration::from_secs(10));
    let campaigns = |body: &PeerRequest| matches!(body, PeerRequest::Vote { .. });
    assert!(node.sent().iter().any(|(_, _, body)| campaigns(body)));
    assert!(granted(&node.vote(3, 9, (8, 100), false)));
}
