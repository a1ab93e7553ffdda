//! A leader whose voters change while it leads. Replica 1 leads; what the reference's tests call 0 is 1 here.

use super::harness::{Node, elected};
use crate::{
    action::Action,
    rng::Rng,
    role::{Role, RoleName},
};
use alloc::vec;
use core::time::Duration;

/// A leader of the voters 1, 2 and 3 with 15 records, of which 2 has all and 3 has ten: all 15 are committed.
fn leader_at_15() -> Node {
    let mut node = elected(&[1, 2, 3], 1);
    node.propose(1, 9);
    node.propose(2, 5);
    node.flush();
    node.fetch(2, 15, 1, 0);
    node.fetch(3, 10, 1, 0);
    assert_eq!(node.replica.high_watermark(), Some(15));
    node
}

fn append_one(node: &mut Node) {
    node.propose(3, 1);
    node.flush();
}

#[test]
fn hwm_012_a_new_lagging_voter_does_not_lower_the_high_watermark() {
    let mut node = leader_at_15();
    node.fetch(4, 10, 1, 0);
    node.change_voters(&[1, 2, 3, 4]);
    node.flush();
    assert_eq!(node.log.end.last_offset, 16);
    for (voter, offset) in [(3, 13), (4, 13), (2, 16)] {
        node.fetch(voter, offset, 1, 0);
        assert_eq!(
            node.replica.high_watermark(),
            Some(15),
            "{voter} fetches at {offset}"
        );
    }
    node.fetch(4, 16, 1, 0);
    assert_eq!(node.replica.high_watermark(), Some(16));
}

#[test]
fn hwm_013_removing_an_up_to_date_follower_does_not_lower_the_high_watermark() {
    let mut node = leader_at_15();
    node.change_voters(&[1, 3]);
    append_one(&mut node);
    assert_eq!(node.log.end.last_offset, 17);
    node.fetch(3, 14, 1, 0);
    assert_eq!(node.replica.high_watermark(), Some(15));
    append_one(&mut node);
    for (replica, offset) in [(2, 18), (3, 15)] {
        node.fetch(replica, offset, 1, 0);
        assert_eq!(
            node.replica.high_watermark(),
            Some(15),
            "{replica} fetches at {offset}"
        );
    }
    node.fetch(3, 16, 1, 0);
    assert_eq!(node.replica.high_watermark(), Some(16));
}

#[test]
fn hwm_014_a_leader_that_is_removed_does_not_count_itself() {
    let mut node = leader_at_15();
    node.change_voters(&[2, 3]);
    append_one(&mut node);
    node.fetch(2, 16, 1, 0);
    append_one(&mut node);
    assert_eq!(node.log.end.last_offset, 18);
    for offset in [14, 15] {
        node.fetch(3, offset, 1, 0);
        assert_eq!(node.replica.high_watermark(), Some(15), "3 fetches at {offset}");
    }
    let out = node.fetch(3, 16, 1, 0);
    assert!(
        out.contains(&Action::Commit { high_watermark: 16 }),
        "both of its voters have 16, but {out:?}"
    );
}

#[test]
fn checkquorum_005_the_majority_that_has_to_fetch_follows_the_voter_set() {
    let window = Duration::from_millis(3000);
    let half = window / 2;
    let mut node = elected(&[1, 2, 3], 1);
    node.flush();
    let fetch = |node: &mut Node, voter: i32| {
        node.fetch(voter, 0, 1, 0);
        let Role::Leader(leader) = &node.replica.role else {
            panic!("{:?}", node.replica)
        };
        leader.check_quorum.deadline().since(node.now.mono)
    };

    node.pass(half);
    assert_eq!(fetch(&mut node, 2), window, "one of two followers and the leader");

    node.change_voters(&[1, 2, 3, 4]);
    node.flush();
    node.pass(half);
    assert_eq!(fetch(&mut node, 2), half, "of four voters two are no majority");
    assert_eq!(fetch(&mut node, 3), window);

    node.change_voters(&[2, 3, 4]);
    node.flush();
    node.pass(half);
    assert_eq!(fetch(&mut node, 3), half, "the leader does not count any more");
    assert_eq!(fetch(&mut node, 2), window);
}

/// Voters come and go one at a time, with long rests between, and everybody fetches all the time, voter or not.
#[test]
fn a_leader_that_everybody_fetches_from_leads_on_whoever_comes_and_goes() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let mut node = Node::open(&[1]);
        let mut voters = vec![1];
        node.flush();
        for _ in 0..300 {
            node.pass(Duration::from_millis(500));
            let end = node.log.end.last_offset;
            for other in 2..=5 {
                node.fetch(other, end, 1, 0);
            }
            assert_eq!(
                node.replica.role(),
                RoleName::Leader,
                "seed {seed}, voters {voters:?}"
            );
            assert_eq!(
                node.replica.high_watermark(),
                Some(end),
                "seed {seed}, voters {voters:?}"
            );
            if rng.below(10) == 0 {
                let other = i32::try_from(2 + rng.below(4)).expect("small");
                match voters.iter().position(|voter| *voter == other) {
                    Some(place) => _ = voters.remove(place),
                    None => voters.push(other),
                }
                node.change_voters(&voters);
                node.flush();
            }
        }
    }
}
