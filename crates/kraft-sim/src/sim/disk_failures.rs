//! A disk that fails at every call of a running node.

use super::{Journal, Node, Settings, Sight, Simulation};
use crate::checker::Violation;
use kraft_core::{NodeId, PeerRequest};
use kraft_fs::Fault;
use std::{cell::RefCell, rc::Rc, time::Duration};

/// What was seen of the node whose disk fails.
#[derive(Debug, Default)]
struct Seen {
    victim: Option<NodeId>,
    /// Whether it has said that it resigns, before it ended.
    resigned: bool,
    ended: Option<String>,
}

/// What became of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It ended, and came back.
    Ended,
    /// It lives with the failure.
    Handled,
    /// It never made the call that was to fail.
    NotMade,
}

impl Seen {
    fn see(&mut self, sight: Sight<'_>) {
        let Some(victim) = self.victim else {
            return;
        };
        match sight {
            Sight::Request { from, body, .. } if from == victim && self.ended.is_none() => {
                self.resigned |= matches!(body, PeerRequest::EndQuorumEpoch { .. });
            }
            Sight::Ended { node, how } if node == victim => {
                self.ended = Some(super::node::end_text(how));
            }
            Sight::Request { .. } | Sight::Fact(_) | Sight::Ended { .. } | Sight::Step(_) => {}
        }
    }
}

/// Runs a quorum whose leader, or a follower, has a disk that fails behind so many calls, and starts the node again.
/// What became of it.
fn fail(leader: bool, calls: u64, fault: Fault) -> Outcome {
    let seen = Rc::new(RefCell::new(Seen::default()));
    let witness = Rc::clone(&seen);
    let settings = Settings {
        voters: 3,
        observers: 0,
        dynamic_voters: Some(true),
        snapshot_new_bytes: Some(600),
        ..Settings::quiet()
    };
    let mut quorum = Simulation::<Journal>::of_journals(11, settings)
        .with_witness(move |_, sight| witness.borrow_mut().see(sight));
    let context = format!("leader {leader}, call {calls}, {fault:?}");
    let mut run = || -> Result<Outcome, Violation> {
        quorum.start_all()?;
        let leading = |quorum: &Simulation<Journal>| quorum.nodes().iter().position(Node::leads);
        quorum.pass(Duration::from_secs(20), |quorum| {
            leading(quorum).is_some() && quorum.all_agree()
        })?;
        let first = leading(&quorum).expect("somebody leads");
        let victim = if leader { first } else { (first + 1) % 3 };
        seen.borrow_mut().victim = Some(quorum.nodes()[victim].id);
        quorum.break_disk(victim, calls, fault);
        for _ in 0..12 {
            if let Some(leader) = leading(&quorum) {
                quorum.propose_at(leader, 1)?;
            }
            quorum.pass(Duration::from_millis(40), |_| false)?;
        }
        quorum.pass(Duration::from_secs(5), |quorum| !quorum.nodes()[victim].is_up())?;
        let made = !quorum.nodes()[victim].disk_will_fail();
        if quorum.nodes()[victim].is_up() {
            // A snapshot that could not be written is no end: the log has all that is in it.
            quorum.pass(Duration::from_secs(20), Simulation::all_agree)?;
            return Ok(if made { Outcome::Handled } else { Outcome::NotMade });
        }
        // The others go on, and with the node again as before its end; the checkers watch what was acknowledged.
        quorum.pass(Duration::from_secs(20), |quorum| leading(quorum).is_some())?;
        quorum.start(victim)?;
        for _ in 0..5 {
            if let Some(leader) = leading(&quorum) {
                quorum.propose_at(leader, 1)?;
            }
            quorum.pass(Duration::from_millis(100), |_| false)?;
        }
        quorum.pass(Duration::from_secs(20), Simulation::all_agree)?;
        assert!(quorum.all_agree(), "{context}: the node does not come back");
        quorum.finish_checks()?;
        Ok(Outcome::Ended)
    };
    let outcome = run().unwrap_or_else(|violation| panic!("{context}: {violation:?}"));
    let seen = seen.borrow();
    if outcome == Outcome::Ended {
        let how = seen.ended.as_deref().expect("it ended");
        assert!(
            how.contains("__cluster_metadata-0"),
            "{context}: no file in {how:?}"
        );
        assert!(!leader || seen.resigned, "{context}: {seen:?}");
    }
    outcome
}

/// The kinds of failure take turns; the tests of kraft-log have all of them at every call.
#[test]
fn a_disk_that_fails_at_any_call_ends_the_node_and_nothing_acknowledged_is_lost() {
    for (first, leader) in [(0, true), (2, false)] {
        let (mut calls, mut ended) = (0, 0);
        for fault in Fault::ALL.iter().cycle().skip(first) {
            match fail(leader, calls, *fault) {
                Outcome::Ended => ended += 1,
                Outcome::Handled => {}
                Outcome::NotMade => break,
            }
            calls += 1;
        }
        assert!(ended > 20, "leader {leader}: {ended} of {calls}");
    }
}
