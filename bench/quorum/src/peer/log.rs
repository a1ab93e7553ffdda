//! A log in memory.

use std::collections::VecDeque;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, Mutex, MutexGuard};

use openraft::entry::RaftEntry;
use openraft::storage::{IOFlushed, LogState, RaftLogStorage};
use openraft::type_config::alias::{EntryOf, LogIdOf, VoteOf};
use openraft::{OptionalSend, RaftLogReader};

use super::Types;

/// Entries without a gap, from `first` on. Clones share them.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    entries: VecDeque<EntryOf<Types>>,
    /// The index of the first entry.
    first: u64,
    purged: Option<LogIdOf<Types>>,
    vote: Option<VoteOf<Types>>,
}

impl Log {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().expect("nobody panics while holding the log")
    }
}

impl Kept {
    /// Where the entry of this index is, or would be.
    fn position(&self, index: u64) -> usize {
        (index.saturating_sub(self.first) as usize).min(self.entries.len())
    }
}

impl RaftLogReader<Types> for Log {
    async fn try_get_log_entries<R: RangeBounds<u64> + OptionalSend>(
        &mut self,
        range: R,
    ) -> io::Result<Vec<EntryOf<Types>>> {
        let kept = self.kept();
        let begin = match range.start_bound() {
            Bound::Included(index) => kept.position(*index),
            Bound::Excluded(index) => kept.position(index + 1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(index) => kept.position(index + 1),
            Bound::Excluded(index) => kept.position(*index),
            Bound::Unbounded => kept.entries.len(),
        };
        Ok(kept.entries.range(begin..end.max(begin)).cloned().collect())
    }

    async fn read_vote(&mut self) -> io::Result<Option<VoteOf<Types>>> {
        Ok(self.kept().vote.clone())
    }
}

impl RaftLogStorage<Types> for Log {
    type LogReader = Log;

    async fn get_log_state(&mut self) -> io::Result<LogState<Types>> {
        let kept = self.kept();
        let last = kept.entries.back().map(RaftEntry::log_id);
        Ok(LogState {
            last_purged_log_id: kept.purged.clone(),
            last_log_id: last.or_else(|| kept.purged.clone()),
        })
    }

    async fn get_log_reader(&mut self) -> Log {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &VoteOf<Types>) -> io::Result<()> {
        self.kept().vote = Some(vote.clone());
        Ok(())
    }

    async fn append<I>(&mut self, entries: I, flushed: IOFlushed<Types>) -> io::Result<()>
    where
        I: IntoIterator<Item = EntryOf<Types>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        self.kept().entries.extend(entries);
        flushed.io_completed(Ok(()));
        Ok(())
    }

    async fn truncate_after(&mut self, last: Option<LogIdOf<Types>>) -> io::Result<()> {
        let mut kept = self.kept();
        let end = last.map_or(0, |last| kept.position(last.index() + 1));
        kept.entries.truncate(end);
        Ok(())
    }

    async fn purge(&mut self, last: LogIdOf<Types>) -> io::Result<()> {
        let mut kept = self.kept();
        let begin = kept.position(last.index() + 1);
        kept.entries.drain(..begin);
        kept.first = last.index() + 1;
        kept.purged = Some(last);
        Ok(())
    }
}
