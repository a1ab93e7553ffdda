//! The threads that touch the disk: one writes the log, one makes blocks ready for it, one reads, one writes snapshots. Where
//! no call waits, the log is written without them.

use super::rounds::{OwnLog, close, report};
use crate::{
    command::{Command, CommandSender},
    storage::{ReadId, ReadRequest, SnapshotJob, Storage, perform_read, perform_snapshot},
};
use kraft_core::{StateMachine, Ticket};
use kraft_fs::FileSystem;
use kraft_log::{LogReader, LogWriter, Preparer, StorageOp};
use std::{
    collections::VecDeque,
    io,
    panic::AssertUnwindSafe,
    sync::{Arc, Condvar, Mutex, MutexGuard, mpsc},
    thread::{self, JoinHandle},
};
use tracing::{error, warn};

/// The storage of a running node: queues, with a thread at the end of each.
pub(crate) struct ThreadedStorage {
    log: Log,
    reads: mpsc::Sender<(ReadId, ReadRequest)>,
    snapshots: mpsc::Sender<SnapshotJob>,
}

/// Where operations of the log go.
enum Log {
    /// To a thread.
    Thread(Arc<LogQueue>),
    /// Nowhere: the engine's turn does them.
    Own(OwnLog),
}

/// The log, for whoever ends the node.
pub(crate) enum LogThread {
    /// A thread, and its queue.
    Thread {
        queue: Arc<LogQueue>,
        thread: JoinHandle<()>,
    },
    /// None.
    Own(OwnLog),
}

/// Operations for the log thread. The core bounds them: one Fetch answer at a time, proposals up to a sum of bytes.
#[derive(Default)]
pub(crate) struct LogQueue {
    state: Mutex<LogState>,
    changed: Condvar,
}

#[derive(Default)]
struct LogState {
    ops: VecDeque<(Ticket, StorageOp)>,
    ending: Option<Ending>,
}

/// How the log thread ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It does what is queued and closes the log.
    Close,
    /// It leaves everything as it is, as a killed process does.
    Abandon,
}

impl ThreadedStorage {
    /// Starts the threads.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub(crate) fn start<S, F>(
        writer: LogWriter<F>,
        preparer: Preparer<F>,
        reader: LogReader<F>,
        commands: CommandSender<S>,
    ) -> io::Result<(Self, LogThread)>
    where
        S: StateMachine + 'static,
        F: FileSystem,
        Command<S>: Send,
    {
        let (log, log_thread) = if reader.fs().waits() {
            let queue = Arc::new(LogQueue::default());
            let thread = start_log(writer, preparer, &queue, &commands)?;
            let log = Log::Thread(Arc::clone(&queue));
            (log, LogThread::Thread { queue, thread })
        } else {
            let log = OwnLog::new(writer);
            (Log::Own(log.clone()), LogThread::Own(log))
        };
        let (reads, requests) = mpsc::channel::<(ReadId, ReadRequest)>();
        {
            let (reader, commands) = (reader.clone(), commands.clone());
            spawn("read", commands.clone(), move || {
                for (read, request) in requests {
                    let outcome = perform_read(&reader, request);
                    if commands
                        .blocking_send(Command::ReadDone { read, outcome })
                        .is_err()
                    {
                        return;
                    }
                }
            })?;
        }
        // Started with the others: a thread that is missing when a snapshot is due would be noticed by nobody.
        let (snapshots, jobs) = mpsc::channel::<SnapshotJob>();
        spawn("snapshot", commands.clone(), move || {
            for job in jobs {
                let snapshot = job.snapshot;
                let outcome = perform_snapshot(&reader, job);
                let written = Command::SnapshotWritten { snapshot, outcome };
                if commands.blocking_send(written).is_err() {
                    return;
                }
            }
        })?;
        let storage = Self {
            log,
            reads,
            snapshots,
        };
        Ok((storage, log_thread))
    }
}

impl Storage for ThreadedStorage {
    fn submit(&mut self, ticket: Ticket, op: StorageOp) {
        match &self.log {
            Log::Thread(queue) => {
                queue.lock().ops.push_back((ticket, op));
                queue.changed.notify_one();
            }
            Log::Own(log) => log.submit(ticket, op),
        }
    }

    fn read(&mut self, read: ReadId, request: ReadRequest) {
        // The thread ends only when the engine is gone.
        let _ = self.reads.send((read, request));
    }

    fn write_snapshot(&mut self, job: SnapshotJob) {
        // The thread ends only when the engine is gone.
        let _ = self.snapshots.send(job);
    }

    fn work<S: StateMachine>(&mut self, tell: impl FnMut(Command<S>)) {
        if let Log::Own(log) = &self.log {
            log.work(tell);
        }
    }
}

impl LogThread {
    /// Ends the thread and waits for it. Blocks.
    pub(crate) fn end(self, ending: Ending) {
        match self {
            Self::Thread { queue, thread } => {
                queue.lock().ending = Some(ending);
                queue.changed.notify_one();
                if thread.join().is_err() {
                    error!("the log thread has panicked");
                }
            }
            Self::Own(log) => log.end(ending),
        }
    }
}

impl LogQueue {
    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state
            .lock()
            .expect("nobody panics while holding the queue of the log thread")
    }

    /// Moves what is queued to `ops`, waiting for it if there is nothing yet. Says how to end once there is no more.
    fn take(&self, ops: &mut VecDeque<(Ticket, StorageOp)>) -> Option<Ending> {
        let mut state = self.lock();
        loop {
            if state.ending == Some(Ending::Abandon) {
                return state.ending;
            }
            ops.append(&mut state.ops);
            if !ops.is_empty() {
                return None;
            }
            if state.ending.is_some() {
                return state.ending;
            }
            state = self
                .changed
                .wait(state)
                .expect("nobody panics while holding the queue of the log thread");
        }
    }
}

/// Starts the thread that writes the log, and the one that makes blocks ready for it and ends with it.
fn start_log<S, F>(
    writer: LogWriter<F>,
    preparer: Preparer<F>,
    queue: &Arc<LogQueue>,
    commands: &CommandSender<S>,
) -> io::Result<JoinHandle<()>>
where
    S: StateMachine + 'static,
    F: FileSystem,
    Command<S>: Send,
{
    let thread = {
        let (queue, commands) = (Arc::clone(queue), commands.clone());
        spawn("log", commands.clone(), move || {
            write_log(writer, &queue, &commands)
        })?
    };
    spawn("prepare", commands.clone(), move || {
        if let Err(error) = preparer.run() {
            warn!(%error, "no blocks are made ready ahead of the log any more");
        }
    })?;
    Ok(thread)
}

/// What is queued while a round is being synced goes into the next one: that is the group commit.
fn write_log<S: StateMachine, F: FileSystem>(
    mut writer: LogWriter<F>,
    queue: &LogQueue,
    commands: &CommandSender<S>,
) {
    let mut ops = VecDeque::new();
    let ending = loop {
        if let Some(ending) = queue.take(&mut ops) {
            break ending;
        }
        let mut heard = true;
        // An engine that is gone needs no word, and no further round, unless it has said how to end.
        let tell = |command| heard = commands.blocking_send(command).is_ok();
        let goes_on = report(writer.run_round(&mut ops), tell);
        if !goes_on || (!heard && queue.lock().ending.is_none()) {
            return;
        }
    };
    match ending {
        Ending::Close => close(writer),
        Ending::Abandon => {}
    }
}

/// Starts a thread. Its end by a panic is the end of the node: the engine would wait for it for ever.
fn spawn<S: StateMachine + 'static>(
    name: &'static str,
    commands: CommandSender<S>,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>>
where
    Command<S>: Send,
{
    thread::Builder::new()
        .name(format!("kraft-{name}"))
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // Nothing that the panic may have left half done is looked at afterwards.
            if std::panic::catch_unwind(AssertUnwindSafe(run)).is_err() {
                error!(thread = name, "a thread has panicked");
                // An engine that is gone needs no word.
                let _ = commands.blocking_send(Command::ThreadEnded { thread: name });
            }
        })
}

const STACK_BYTES: usize = 1024 * 1024;
