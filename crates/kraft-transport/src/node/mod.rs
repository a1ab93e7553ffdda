//! A running node: the engine as a task, its threads, its listeners and peers, and the handle.

mod handle;
mod threads;

pub use handle::{Handle, LeaderCallError};

use crate::{
    clock,
    command::{Command, CommandSender, QueuedCommand},
    engine::{Engine, EngineConfig, Turn},
    error::NodeError,
    network::Network,
    storage::Storage,
    tcp::{Listener, ListenerLimits, PeerSettings, Peers},
};
use kraft_core::{Endpoint, StateMachine};
use kraft_fs::{DirLock, FileSystem};
use kraft_log::{LogOptions, Opened};
use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    time::Duration,
};
use threads::{Ending, LogThread, ThreadedStorage};
use tokio::{
    runtime::Runtime,
    sync::{mpsc, oneshot, watch},
    time::sleep_until,
};
use tracing::{error, info};

/// Where a listener is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerConfig {
    /// Its name; upper case, as everywhere.
    pub name: String,
    /// The host to bind; empty for all addresses.
    pub host: String,
    /// The port to bind; 0 for a free one, which then stands in the advertised endpoint of the same name.
    pub port: u16,
    /// What its connections may take.
    pub limits: ListenerLimits,
}

/// What a node needs to start.
#[derive(Debug)]
pub struct NodeConfig<F> {
    /// Engine and core.
    pub engine: EngineConfig,
    /// The file system of the log.
    pub fs: F,
    /// The directory of the log's partition, `__cluster_metadata-0` in the metadata directory.
    pub log_dir: PathBuf,
    /// The settings of the log.
    pub log: LogOptions,
    /// Locks that are held until the node has ended. Without any, the node locks the directory that holds `log_dir`.
    pub locks: Vec<DirLock>,
    /// The listeners; none where an embedder brings requests itself through [`Handle::commands`].
    pub listeners: Vec<ListenerConfig>,
}

/// A small runtime that is enough for a node: two threads.
///
/// # Errors
/// Those of the operating system.
pub fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(4)
        .thread_name("kraft")
        .thread_stack_size(1024 * 1024)
        .enable_all()
        .build()
}

/// Starts a node on the runtime that this is called in: opens the log, then the listeners, then begins.
///
/// # Errors
/// The log cannot be opened, contradicts the configuration, or a listener cannot be bound. Nothing of the node is left
/// running then.
pub async fn start<S, F>(config: NodeConfig<F>, machine: S) -> Result<Handle<S>, NodeError>
where
    S: StateMachine + Send + 'static,
    F: FileSystem,
{
    let NodeConfig {
        mut engine,
        fs,
        log_dir,
        log,
        locks,
        listeners,
    } = config;
    let opening = tokio::task::spawn_blocking(move || open_log(fs, &log_dir, log, locks));
    let (opened, locks) = opening
        .await
        .map_err(|_| NodeError::Thread { thread: "recovery" })??;

    let mut bound = Vec::new();
    let mut addresses = Vec::new();
    for listener in listeners {
        let failed = |error: io::Error| NodeError::Listener {
            listener: format!("{}://{}:{}", listener.name, listener.host, listener.port),
            reason: error.to_string(),
        };
        let address = (listener.host.as_str(), listener.port);
        let socket = Listener::bind(&listener.name, address, listener.limits.clone());
        let socket = socket.await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        advertise_bound_port(&mut engine, &listener.name, address.port());
        addresses.push((listener.name, address));
        bound.push(socket);
    }

    let (commands, queue) = CommandSender::channel(QUEUE_CAPACITY);
    let (storage, log_thread) = ThreadedStorage::start(opened.writer, opened.reader, commands.clone())
        .map_err(|_| NodeError::Thread { thread: "log" })?;
    let node_id = engine.core.local.id;
    let settings = PeerSettings {
        client_id: format!("raft-client-{node_id}"),
        request_timeout: engine.core.request_timeout,
        topic: engine.topic.clone(),
    };
    let peers = Peers::new(settings, commands.clone(), tokio::runtime::Handle::current());
    let apis = machine.apis();
    let opened = Engine::open(
        engine,
        opened.index,
        opened.recovered,
        machine,
        storage,
        peers,
        clock::now(),
    );
    let engine = match opened {
        Ok(engine) => engine,
        Err(error) => {
            end_log((log_thread, locks), Ending::Close).await;
            return Err(error);
        }
    };

    let (stop, stopped) = watch::channel(false);
    for listener in bound {
        tokio::spawn(listener.run(commands.clone(), apis.clone(), stopped.clone()));
    }
    let (end, ended) = watch::channel(None);
    let handle = Handle::new(
        node_id,
        commands,
        engine.watch(),
        engine.watch_image(),
        ended,
        addresses,
    );
    tokio::spawn(async move {
        let how = run(engine, queue, (log_thread, locks), stop).await;
        end.send_replace(Some(how));
    });
    Ok(handle)
}

/// Whoever writes the log, and the locks that let nobody else do so.
type LockedLog = (LogThread, Vec<DirLock>);

/// Reads the whole log, so it may take a while.
fn open_log<F: FileSystem>(
    fs: F,
    dir: &Path,
    options: LogOptions,
    mut locks: Vec<DirLock>,
) -> Result<(Opened<F>, Vec<DirLock>), NodeError> {
    let storage = |reason: String| NodeError::Storage { reason };
    if locks.is_empty() {
        let locked = dir.parent().unwrap_or(dir);
        let created = fs.create_dir_all(locked);
        created.map_err(|error| storage(format!("{}: {error}", locked.display())))?;
        locks.push(fs.lock_dir(locked).map_err(|error| storage(error.to_string()))?);
    }
    let opened = kraft_log::open(fs, dir, options).map_err(|error| storage(error.to_string()))?;
    Ok((opened, locks))
}

/// Runs the engine to its end, then ends what serves it.
async fn run<S>(
    mut engine: Engine<S, ThreadedStorage, Peers<S>>,
    mut queue: mpsc::Receiver<QueuedCommand<S>>,
    log: LockedLog,
    stop: watch::Sender<bool>,
) -> Result<(), NodeError>
where
    S: StateMachine + Send + 'static,
{
    let (how, halted) = drive(&mut engine, &mut queue).await;
    stop.send_replace(true);
    if !halted {
        // A resignation that is on its way is worth a moment.
        let sent = engine.network_mut().finish();
        let _ = tokio::time::timeout(FINISH, sent).await;
    }
    // Nobody waits for a place in the queue any more: the log thread could be among them.
    drop(queue);
    drop(engine);
    end_log(log, if halted { Ending::Abandon } else { Ending::Close }).await;
    match &how {
        Ok(()) => info!("the node has ended"),
        Err(error) => error!(%error, "the node has ended"),
    }
    how
}

/// Turns the engine until it ends. Says how it ended, and whether it was halted.
async fn drive<S, L, N>(
    engine: &mut Engine<S, L, N>,
    queue: &mut mpsc::Receiver<QueuedCommand<S>>,
) -> (Result<(), NodeError>, bool)
where
    S: StateMachine,
    L: Storage,
    N: Network,
{
    let mut arrived = Vec::with_capacity(DRAINED_MAX);
    let mut commands = VecDeque::with_capacity(DRAINED_MAX);
    let mut halted = false;
    loop {
        let Turn { next, ended } = engine.turn(&mut commands, clock::now());
        if let Some(how) = ended {
            return (how, halted);
        }
        match next {
            Some(due) if due <= clock::monotonic() => {
                while arrived.len() < DRAINED_MAX
                    && let Ok(command) = queue.try_recv()
                {
                    arrived.push(command);
                }
                // Long work in slices: others get their turn between two of them.
                tokio::task::yield_now().await;
            }
            next => {
                let timer = async {
                    match next {
                        Some(due) => sleep_until(clock::to_std(due).into()).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    received = queue.recv_many(&mut arrived, DRAINED_MAX) => {
                        if received == 0 {
                            return (Ok(()), true);
                        }
                    }
                    () = timer => {}
                }
            }
        }
        halted |= arrived
            .iter()
            .any(|queued| matches!(queued.command, Command::Halt));
        commands.extend(arrived.drain(..));
    }
}

/// Waits for the log thread, but not for ever: a disk that hangs must not keep the process from ending.
async fn end_log((thread, locks): LockedLog, ending: Ending) {
    let (done, ended) = oneshot::channel();
    // A thread of its own, because a runtime waits for its blocking tasks when it ends.
    std::thread::spawn(move || {
        thread.end(ending);
        // The directory is free before anybody hears that the node has ended, and not before the last write.
        drop(locks);
        // Whoever waited may have given up.
        let _ = done.send(());
    });
    match tokio::time::timeout(CLOSE, ended).await {
        Ok(_) => {}
        Err(_) => error!("the log is not closed after {CLOSE:?}: the disk hangs"),
    }
}

fn advertise_bound_port(engine: &mut EngineConfig, listener: &str, port: u16) {
    let listeners = &mut engine.core.listeners;
    if let Some(endpoint) = listeners.of(listener).filter(|endpoint| endpoint.port == 0) {
        let host = endpoint.host.clone();
        listeners.insert(listener, Endpoint { host, port });
    }
}

/// Commands that may wait for the engine.
const QUEUE_CAPACITY: usize = 1024;

/// Commands that one turn takes.
const DRAINED_MAX: usize = 256;

/// How long the last requests to peers may take when the node ends.
const FINISH: Duration = Duration::from_millis(500);

/// How long the log may take to be closed.
const CLOSE: Duration = Duration::from_millis(1500);
