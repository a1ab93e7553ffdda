//! What always holds.

use super::{MAX_EPOCH, MAX_OFFSET, Replica};
use crate::{ids::Epoch, offsets::LogEnd, role::Role};

impl Replica {
    /// Asserts what always holds, where `end` is the end of the log after the last step.
    pub(super) fn check(&self, end: LogEnd) {
        let local = &self.config.local;
        assert!(self.epoch >= Epoch(0), "epochs are not negative");
        assert!(self.epoch <= MAX_EPOCH, "epochs stay in their range");
        assert!(
            self.tickets.election() <= self.tickets.newest(),
            "the election is stored by a disk operation"
        );
        assert!(
            self.tickets.durable() <= self.tickets.newest(),
            "only what was ordered becomes durable"
        );
        assert!(
            self.truncation <= self.tickets.newest(),
            "a truncation is a disk operation"
        );
        if !self.ended && self.installing.is_none() {
            assert!(
                end.last_epoch <= self.epoch,
                "the log has no epoch that the replica does not know"
            );
            assert!(end.last_offset <= MAX_OFFSET, "a log ends where a start opens it");
            if let Some(high_watermark) = self.high_watermark {
                assert!(
                    high_watermark <= end.last_offset,
                    "what is committed is in the log"
                );
            }
        }
        if let Some(high_watermark) = self.high_watermark {
            assert!(
                high_watermark <= self.committed,
                "what is committed stays committed"
            );
        }
        match &self.role {
            Role::Unattached(unattached) => {
                assert!(
                    unattached.leader != Some(local.id),
                    "nobody forgets that it leads"
                );
            }
            Role::Prospective(prospective) => {
                assert!(
                    prospective.leader != Some(local.id),
                    "a leader resigns before it campaigns"
                );
                assert!(
                    prospective.tally.answer(local.id) == Some(true),
                    "a nominee is for itself"
                );
                assert!(
                    self.installing.is_none(),
                    "no campaign while the log is being replaced"
                );
            }
            Role::Candidate(candidate) => {
                assert!(
                    candidate.tally.answer(local.id) == Some(true),
                    "a candidate votes for itself"
                );
                assert!(
                    self.installing.is_none(),
                    "no campaign while the log is being replaced"
                );
            }
            Role::Leader(leader) => {
                assert!(end.last_epoch == self.epoch, "a leader's log ends in its epoch");
                assert!(
                    leader.epoch_start < end.last_offset,
                    "a leader has written its first batch"
                );
                if let Some(high_watermark) = self.high_watermark {
                    assert!(
                        high_watermark > leader.epoch_start,
                        "a leader commits by its own epoch"
                    );
                }
                assert!(self.installing.is_none(), "a leader loads no snapshot");
                if let Some(offset) = leader.pending_change.as_ref().and_then(|change| change.offset()) {
                    assert!(
                        self.control.voters_offset() == Some(offset),
                        "one voter set is under way at a time"
                    );
                    assert!(
                        self.high_watermark.is_some_and(|known| known <= offset),
                        "a change that is committed is done"
                    );
                }
            }
            Role::Follower(follower) => {
                assert!(follower.leader != local.id, "nobody follows itself");
                assert!(
                    follower.key == self.voter_key(follower.leader),
                    "requests are addressed as the voter set says"
                );
                assert!(
                    !follower.endpoints.is_empty(),
                    "a follower knows where its leader listens"
                );
                if self.installing.is_some() {
                    assert!(follower.download.is_none(), "one snapshot at a time");
                }
            }
            Role::Resigned(resigned) => {
                assert!(
                    !resigned.unacknowledged.contains(&local.id),
                    "nobody tells itself"
                );
                assert!(
                    self.high_watermark.is_none(),
                    "a resigned leader knows no high watermark"
                );
            }
        }
        let leads = matches!(self.role, Role::Leader(_));
        let bounded = self.proposals.patience().deadline().is_some();
        assert!(
            bounded == (!leads && !self.proposals.is_empty()),
            "without a leadership patience ends"
        );
        for proposal in self.proposals.in_log() {
            assert!(
                proposal.epoch <= self.epoch,
                "proposals belong to an epoch that was led"
            );
            assert!(proposal.last < end.last_offset, "what was accepted is in the log");
        }
    }
}
