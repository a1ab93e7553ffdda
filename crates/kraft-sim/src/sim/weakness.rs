//! Which voters may lose their disk or their address, so that no quorum is asked for more than it can do.

use super::{node::Node, quorum::Simulation};
use kraft_core::{Instant, ReplicaKey, StateMachine, VoterNode};
use std::time::Duration;

/// What happened a moment ago and may still have its effect on the voters.
#[derive(Debug, Default)]
pub(super) struct Weakness {
    /// Replicas that lost disk or address: somebody may just be adding what they were.
    struck: Vec<(Instant, ReplicaKey)>,
    /// Replicas that somebody asked to make voters.
    wished: Vec<(Instant, ReplicaKey)>,
}

impl Weakness {
    /// A replica loses its disk or its address.
    pub(super) fn strikes(&mut self, key: ReplicaKey, now: Instant) {
        self.struck.push((now, key));
    }

    /// Somebody asks to make a replica a voter.
    pub(super) fn may_be_added(&mut self, key: ReplicaKey, now: Instant) {
        self.forget(now);
        self.wished.push((now, key));
    }

    fn forget(&mut self, now: Instant) {
        for list in [&mut self.struck, &mut self.wished] {
            list.retain(|(at, _)| now.since(*at) < RECENT);
        }
    }

    fn is_wished(&self, key: &ReplicaKey) -> bool {
        self.wished.iter().any(|(_, wished)| wished == key)
    }
}

impl<S: StateMachine> Simulation<S> {
    /// Whether a node may lose its disk or its address without leaving a quorum without its majority, or without what it has
    /// committed: of the voters that anybody goes by no other has, and there are three or more.
    ///
    /// Whoever did so a moment ago counts in every voter set, since somebody may just be adding what it was. For the same reason
    /// a node that somebody has just asked to make a voter counts as one.
    pub(super) fn may_weaken(&mut self, node: usize) -> bool {
        self.weakness.forget(self.now);
        let weakness = &self.weakness;
        let key = self.nodes[node].key();
        let joins = weakness.is_wished(&key);
        self.world.kraft_version > 0
            && self.nodes.iter().map(Node::voters).all(|voters| {
                // What the node was before is no voter beside it: it is removed first.
                let others: Vec<_> = voters.iter().filter(|voter| voter.key.id != key.id).collect();
                let sound = others.iter().all(|voter| self.is_sound(voter));
                let mut struck = weakness.struck.iter().map(|(_, key)| key);
                let lately = struck.any(|other| other.id != key.id && !voters.is_voter(other));
                let concerned = voters.is_voter(&key) || joins;
                !concerned || (others.len() >= 2 && sound && !lately)
            })
    }

    /// Whether a voter has the disk that its key stands for, is found where everybody looks for it, and knows that it is a voter.
    pub(super) fn is_sound(&self, voter: &VoterNode) -> bool {
        let node = self.index_of(voter.key.id).map(|node| &self.nodes[node]);
        node.is_some_and(|node| {
            let same_disk = voter.key.directory_id.is_none() || node.key() == voter.key;
            let knows = node.voters().is_empty() || node.voters().is_voter(&voter.key);
            // A crash may bring back the record that has removed it, and was cut off: then it votes for nobody who lacks it.
            let for_good = node.voter_again.is_none_or(|at| self.now.since(at) >= RECENT);
            same_disk && *node.endpoints() == voter.endpoints && knows && for_good
        })
    }
}

/// How long somebody may still act on what he knew before.
const RECENT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::super::{Count, Counts, Journal};
    use super::*;

    /// A quorum on a good network, to which this is done.
    fn run(voters: u32, steps: &str) -> Counts {
        let plan = format!(
            "world seed=1 kraft-version=1 voters={voters} observers=1 duration=6000 settle=20000 delay-us=1000-1000 \
             lost=0 doubled=0 disk-us=1000 propose-every=25 refuses\n{steps}"
        );
        let plan = plan.parse().expect("the steps are some of a plan");
        let run = Simulation::<Journal>::of_planned_journals(plan).run();
        run.unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// How many disks are lost, and how many voter changes are made.
    fn lost_and_changed(voters: u32, steps: &str) -> (u64, u64) {
        let counts = run(voters, steps);
        (counts.of(Count::LostDisks), counts.of(Count::VoterChanges))
    }

    #[test]
    fn an_observer_may_lose_its_disk_unless_it_is_about_to_be_one_of_two_voters() {
        assert_eq!(lost_and_changed(1, "at 3500 lose-disk C down=500"), (1, 0));
        assert_eq!(
            lost_and_changed(1, "at 3500 add-voter C\nat 3501 lose-disk C down=500"),
            (0, 1)
        );
        assert_eq!(
            lost_and_changed(2, "at 3500 add-voter D\nat 3501 lose-disk D down=500"),
            (1, 0)
        );
    }

    #[test]
    fn one_voter_of_three_may_lose_its_disk_and_none_of_two() {
        assert_eq!(lost_and_changed(2, "at 3500 lose-disk C down=500"), (0, 0));
        assert_eq!(
            lost_and_changed(3, "at 3500 lose-disk C down=500\nat 3600 lose-disk D down=500"),
            (1, 0)
        );
    }

    #[test]
    fn a_leader_that_stands_still_is_not_asked_to_remove_a_voter() {
        let removal = "at 3501 remove-voter C\nat 3600 propose records=1";
        assert_eq!(lost_and_changed(3, removal), (0, 1));
        let pauses: String = ["B", "C", "D"]
            .map(|node| format!("at 3500 pause {node} for=300\n"))
            .concat();
        assert_eq!(lost_and_changed(3, &format!("{pauses}{removal}")), (0, 0));
    }
}
