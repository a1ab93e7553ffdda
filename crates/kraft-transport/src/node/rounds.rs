//! Rounds of operations on the log, and what is told of them: on the log thread, or, where no call waits, by the engine's
//! own turn.

use super::threads::Ending;
use crate::command::Command;
use kraft_core::{Event, StateMachine, Ticket};
use kraft_fs::FileSystem;
use kraft_log::{LogWriter, RejectedSnapshot, Round, StorageError, StorageOp};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};
use tracing::{error, info, warn};

/// Tells what a round has done. Says whether there can be another one.
pub(super) fn report<S: StateMachine>(
    round: Result<Round, StorageError>,
    mut tell: impl FnMut(Command<S>),
) -> bool {
    let round = match round {
        Ok(round) => round,
        Err(error) => {
            error!(%error, "storage failed");
            let reason = error.to_string();
            tell(Command::StorageFailed { reason });
            return false;
        }
    };
    if let Some(RejectedSnapshot { snapshot, reason }) = round.rejected {
        warn!(
            end_offset = snapshot.end_offset,
            epoch = snapshot.epoch.0,
            %reason,
            "a fetched snapshot failed its checks and is deleted"
        );
        tell(Command::Event(Event::SnapshotRejected { snapshot }));
    }
    if let Some(cleaned) = round.cleaned {
        info!(
            start = cleaned.oldest.end_offset,
            "removed old snapshots and segments"
        );
        tell(Command::LogCleaned(cleaned));
    }
    tell(Command::Event(Event::Durable { up_to: round.up_to }));
    true
}

/// Closes a log that nothing is left to be done with.
pub(super) fn close<F: FileSystem>(writer: LogWriter<F>) {
    if let Err(error) = writer.close() {
        error!(%error, "the log could not be closed");
    }
}

/// A log without a thread, as the storage and whoever ends the node share it.
#[derive(Clone)]
pub(super) struct OwnLog(Arc<Mutex<dyn Rounds>>);

/// One log, over whatever file system.
trait Rounds: Send {
    fn submit(&mut self, ticket: Ticket, op: StorageOp);

    /// `None` if nothing is queued.
    fn next(&mut self) -> Option<Result<Round, StorageError>>;

    fn close(&mut self);
}

struct Queued<F: FileSystem> {
    /// `None` once it is closed or has failed.
    writer: Option<LogWriter<F>>,
    ops: VecDeque<(Ticket, StorageOp)>,
}

impl<F: FileSystem> Rounds for Queued<F> {
    fn submit(&mut self, ticket: Ticket, op: StorageOp) {
        self.ops.push_back((ticket, op));
    }

    fn next(&mut self) -> Option<Result<Round, StorageError>> {
        if self.ops.is_empty() {
            return None;
        }
        let round = self.writer.as_mut()?.run_round(&mut self.ops);
        if round.is_err() {
            self.writer = None;
        }
        Some(round)
    }

    fn close(&mut self) {
        if let Some(writer) = self.writer.take() {
            close(writer);
        }
    }
}

impl OwnLog {
    pub(super) fn new<F: FileSystem>(writer: LogWriter<F>) -> Self {
        Self(Arc::new(Mutex::new(Queued {
            writer: Some(writer),
            ops: VecDeque::new(),
        })))
    }

    pub(super) fn submit(&self, ticket: Ticket, op: StorageOp) {
        self.lock().submit(ticket, op);
    }

    /// Does what is queued.
    pub(super) fn work<S: StateMachine>(&self, mut tell: impl FnMut(Command<S>)) {
        let mut log = self.lock();
        while let Some(round) = log.next() {
            if !report(round, &mut tell) {
                return;
            }
        }
    }

    /// As the log thread ends.
    pub(super) fn end(&self, ending: Ending) {
        // A panic in a round has ended the engine and left the log as it is.
        let Ok(mut log) = self.0.lock() else {
            return;
        };
        if ending == Ending::Close {
            while let Some(round) = log.next() {
                if let Err(error) = round {
                    error!(%error, "storage failed");
                }
            }
            log.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, dyn Rounds + 'static> {
        self.0
            .lock()
            .expect("the engine has ended where a round has panicked")
    }
}
