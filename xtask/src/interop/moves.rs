//! What rounds do with a whole quorum: start it, wait until all are close, have another member lead.

use std::path::Path;

use crate::eventually::eventually;
use crate::interop::Failure;
use crate::interop::describe::Status;
use crate::interop::jars::Jars;
use crate::interop::quorum::{Kind, LIMIT, Mode, Quorum};

impl<'a> Quorum<'a> {
    /// Three members, formatted each by its own tool, and started.
    pub(crate) fn started(
        jars: &'a Jars,
        folder: &Path,
        mode: Mode,
        kinds: &[Kind; 3],
    ) -> Result<Quorum<'a>, Failure> {
        let mut quorum = Quorum::new(jars, folder, mode, 3)?;
        for (id, kind) in (1..).zip(kinds) {
            quorum.format(id, *kind)?;
        }
        for (id, kind) in (1..).zip(kinds) {
            quorum.start(id, *kind)?;
        }
        Ok(quorum)
    }

    /// Waits until all three are voters that are within a few records of the leader.
    pub(crate) fn wait_for_all(&mut self) -> Result<Status, Failure> {
        const CLOSE: i64 = 3;
        eventually("every voter close to the leader", LIMIT, || {
            let Some(now) = self.glance()? else {
                return Ok(None);
            };
            let rows = self.kraft_replication(now.leader)?.rows;
            let voters: Vec<_> = rows.iter().filter(|row| row.status != "Observer").collect();
            let close = voters.iter().all(|row| row.log_end >= 0 && row.lag <= CLOSE);
            Ok((voters.len() == 3 && close && now.high_watermark > 0).then_some(now))
        })
    }

    /// Waits until every voter has all that the leader's log has now: nothing else says of a follower that is stopped
    /// next that it has what a majority without it has acknowledged. What is committed then is at least that, and every voter
    /// has it.
    pub(crate) fn wait_for_followers(&mut self) -> Result<Status, Failure> {
        let now = self.wait_for_all()?;
        let rows = self.kraft_replication(now.leader)?.rows;
        let end = rows.iter().map(|row| row.log_end).max().ok_or("no voters")?;
        eventually("every voter at the leader's end", LIMIT, || {
            let Some(now) = self.glance()? else {
                return Ok(None);
            };
            let rows = self.kraft_replication(now.leader)?.rows;
            let all_have = |offset| rows.iter().all(|row| row.log_end >= offset);
            let committed = now.high_watermark;
            Ok((committed >= end && all_have(committed)).then_some(now))
        })
    }

    /// Waits for these voters and no others.
    pub(crate) fn wait_voters(&mut self, wanted: &[i32]) -> Result<Status, Failure> {
        let what = format!("voters {wanted:?}");
        eventually(&what, LIMIT, || {
            let status = self.glance()?;
            Ok(status.filter(|status| status.voters == wanted && status.high_watermark > 0))
        })
    }

    /// Stops the leader and starts it again once another member leads; waits for all.
    pub(crate) fn replace_leader(&mut self) -> Result<Status, Failure> {
        let leader = self.wait_leader(None)?.leader;
        let kind = self.stop(leader)?;
        self.wait_leader(Some(leader))?;
        self.start(leader, kind)?;
        self.wait_for_all()
    }

    /// Moves leadership until a member of this kind has it.
    pub(crate) fn lead_with(&mut self, kind: Kind) -> Result<Status, Failure> {
        let mut status = self.wait_for_all()?;
        for _ in 0..MOVES {
            if self.kinds()[&status.leader] == kind {
                return Ok(status);
            }
            status = self.replace_leader()?;
        }
        Err(format!("after {MOVES} moves no {kind} leads").into())
    }
}

/// With two of three voters left the preferred successor does not always win: moving leadership to a given
/// kind takes several tries.
pub(crate) const MOVES: usize = 12;
