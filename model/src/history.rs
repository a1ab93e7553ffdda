//! What was promised or seen once and binds from then on.

use kraft_core::{BatchInfo, ControlRecord, Epoch, NodeId};
use std::collections::BTreeMap;

use crate::node::REPLICAS;

/// A batch below somebody's high watermark.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Committed {
    pub(crate) base: i64,
    pub(crate) last: i64,
    /// The epoch that it was written in.
    pub(crate) epoch: Epoch,
    /// The epoch of the replica that first knew it committed.
    pub(crate) known_in: Epoch,
    /// The voters that it names.
    pub(crate) voters: Option<Vec<NodeId>>,
}

/// What must never be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Broken {
    /// Two leaders in one epoch.
    ElectionSafety,
    /// Two votes in one epoch.
    OneVote,
    /// A message reveals what a crash would take away.
    DurableFirst,
    /// Two batches are committed in one place.
    StateMachineSafety,
    /// Something is committed that is not on the disks of a majority.
    CommittedByFew,
    /// What was known to be committed is not any more.
    HighWatermark,
    /// The log is replaced by a snapshot that was not found sound.
    UnverifiedSnapshot,
    /// A replica gives up, or asserts in vain.
    Assertion,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct History {
    leaders: BTreeMap<Epoch, usize>,
    /// The votes of each replica that others have heard of.
    votes: [BTreeMap<Epoch, usize>; REPLICAS],
    /// By offset.
    pub(crate) committed: Vec<Committed>,
}

impl History {
    pub(crate) fn leaders(&self) -> usize {
        self.leaders.len()
    }

    /// Who led `epoch`, if nobody led a later one.
    pub(crate) fn last_led(&self, epoch: Epoch) -> Option<usize> {
        let (newest, place) = self.leaders.last_key_value()?;
        (*newest == epoch).then_some(*place)
    }

    /// `candidate` has the vote of `place`.
    pub(crate) fn vote(&mut self, place: usize, epoch: Epoch, candidate: usize) -> Result<(), Broken> {
        if *self.votes[place].entry(epoch).or_insert(candidate) == candidate {
            Ok(())
        } else {
            Err(Broken::OneVote)
        }
    }

    pub(crate) fn lead(&mut self, place: usize, epoch: Epoch) -> Result<(), Broken> {
        if *self.leaders.entry(epoch).or_insert(place) == place {
            Ok(())
        } else {
            Err(Broken::ElectionSafety)
        }
    }

    /// A replica in epoch `known_in` has learnt that `batch` is committed.
    pub(crate) fn commit(&mut self, batch: &BatchInfo, known_in: Epoch) -> Result<(), Broken> {
        let same_place = |known: &&Committed| known.base <= batch.last && batch.base <= known.last;
        if let Some(known) = self.committed.iter().find(same_place) {
            let same = (known.base, known.last, known.epoch) == (batch.base, batch.last, batch.epoch);
            return if same {
                Ok(())
            } else {
                Err(Broken::StateMachineSafety)
            };
        }
        if batch.base != self.end() {
            return Err(Broken::StateMachineSafety);
        }
        let voters = batch.control.iter().flatten().find_map(|record| match record {
            ControlRecord::Voters(voters) => Some(voters.ids().collect()),
            ControlRecord::LeaderChange { .. } | ControlRecord::KRaftVersion(_) => None,
        });
        self.committed.push(Committed {
            base: batch.base,
            last: batch.last,
            epoch: batch.epoch,
            known_in,
            voters,
        });
        Ok(())
    }

    /// The offset behind everything that is committed.
    pub(crate) fn end(&self) -> i64 {
        self.committed.last().map_or(0, |batch| batch.last + 1)
    }
}
