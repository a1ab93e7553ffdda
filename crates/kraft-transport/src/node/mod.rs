//! A running node: the engine as a task, its threads, its listeners and peers, and the handle.

mod config;
mod drive;
mod founding;
mod handle;
mod rounds;
mod threads;
mod voter;

pub use config::{FaultHandler, ListenerConfig, NodeConfig};
pub use handle::{Handle, LeaderCallError};

use crate::{
    clock,
    command::{CommandSender, QueuedCommand},
    dispatch::Dispatcher,
    engine::{Engine, EngineConfig},
    error::NodeError,
    metrics::IdleTime,
    network::Network,
    tcp::{Addresses, Listener, PeerSettings, Peers},
};
use drive::drive;
use kraft_core::{Endpoint, StateMachine};
use kraft_fs::{DirLock, FileSystem};
use kraft_log::{LogOptions, Opened};
use std::{io, path::Path, sync::Arc, time::Duration};
use threads::{Ending, LogThread, ThreadedStorage};
use tokio::{
    runtime::Runtime,
    sync::{mpsc, oneshot, watch},
};
use tracing::{error, info};

/// A small runtime that is enough for a node.
///
/// One thread turns the engine and serves all connections: they wait for one another anyway, and to hand over within a
/// thread costs nothing, where to wake another one costs more than the work that it is woken for.
///
/// # Errors
/// Those of the operating system.
pub fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .event_interval(TASKS_BEFORE_EVENTS)
        .max_blocking_threads(LOOKUPS_MAX)
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
    let settings = PeerSettings {
        client_id: format!("raft-client-{}", config.engine.core.local.id),
        request_timeout: config.engine.core.request_timeout,
        topic: config.engine.topic.clone(),
    };
    let runtime = tokio::runtime::Handle::current();
    start_with_network(config, machine, |commands| {
        Peers::new(settings, commands, runtime)
    })
    .await
}

/// As [`start`], over a network of the embedder's own. `network` is given the engine's queue, which takes the outcome of
/// each request.
///
/// # Errors
/// As for [`start`].
pub async fn start_with_network<S, F, N>(
    config: NodeConfig<F>,
    machine: S,
    network: impl FnOnce(CommandSender<S>) -> N,
) -> Result<Handle<S>, NodeError>
where
    S: StateMachine + Send + 'static,
    F: FileSystem,
    N: Network + Send + 'static,
{
    let NodeConfig {
        mut engine,
        fs,
        log_dir,
        log,
        locks,
        listeners,
        on_fault,
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
    let (storage, log_thread) =
        ThreadedStorage::start(opened.writer, opened.preparer, opened.reader, commands.clone())
            .map_err(|_| NodeError::Thread { thread: "log" })?;
    let node_id = engine.core.local.id;
    let requests = Arc::new(Dispatcher::new(commands.clone(), machine.apis()));
    let network = network(commands.clone());
    let channel = network.channel_metrics();
    let cluster_id = engine.core.cluster_id.clone();
    let opened = Engine::open(
        engine,
        opened.index,
        opened.recovered,
        machine,
        storage,
        network,
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
    let addresses_served = Arc::<Addresses>::default();
    let serving: Vec<_> = bound
        .into_iter()
        .map(|listener| {
            let serving = listener.run(
                Arc::clone(&requests),
                Arc::clone(&addresses_served),
                stopped.clone(),
            );
            tokio::spawn(serving)
        })
        .collect();
    let (end, ended) = watch::channel(None);
    let idle = Arc::<IdleTime>::default();
    let handle = Handle {
        node_id,
        commands,
        requests,
        state: engine.watch(),
        image: engine.watch_image(),
        event_times: engine.event_times(),
        idle: Arc::clone(&idle),
        channel,
        cluster_id,
        ended,
        addresses,
    };
    tokio::spawn(async move {
        let how = run(engine, queue, idle, (log_thread, locks), stop).await;
        for listener in serving {
            // It has been told to stop; once it has, its port is free.
            let _ = listener.await;
        }
        match &how {
            Ok(()) => info!("the node has ended"),
            Err(fault) => {
                error!(%fault, "the node has ended");
                if let Some(handler) = on_fault {
                    handler.call(fault);
                }
            }
        }
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
async fn run<S, N>(
    engine: Engine<S, ThreadedStorage, N>,
    mut queue: mpsc::Receiver<QueuedCommand<S>>,
    idle: Arc<IdleTime>,
    log: LockedLog,
    stop: watch::Sender<bool>,
) -> Result<(), NodeError>
where
    S: StateMachine + Send + 'static,
    N: Network + Send + 'static,
{
    // A task of its own, so that a panic in it, most likely of the state machine, ends the node as any other fault does.
    // Boxed, because what a task will give is moved with each of its polls.
    let mut engine = Box::new(engine);
    let driven = tokio::spawn(async move {
        let (how, halted) = drive(&mut engine, &mut queue, &idle).await;
        (engine, queue, how, halted)
    });
    let driven = driven.await;
    stop.send_replace(true);
    let (how, ending) = match driven {
        Ok((mut engine, queue, how, halted)) => {
            if !halted {
                // A resignation that is on its way is worth a moment.
                let sent = engine.network_mut().finish();
                let _ = tokio::time::timeout(FINISH, sent).await;
            }
            // Nobody waits for a place in the queue any more: the log thread could be among them.
            drop(queue);
            (how, if halted { Ending::Abandon } else { Ending::Close })
        }
        Err(_) => (Err(NodeError::Thread { thread: "engine" }), Ending::Abandon),
    };
    end_log(log, ending).await;
    how
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

/// So many tasks run before the system is asked for what has come, if there are that many. The answers that a commit lets go to
/// a thousand observers are all sent before the first of their next requests is read.
const TASKS_BEFORE_EVENTS: u32 = 1024;

/// Host names that may be looked up at a time: more than a quorum has, so that those that a name server is silent about leave
/// the others their turn.
const LOOKUPS_MAX: usize = 32;

/// Commands that may wait for the engine.
const QUEUE_CAPACITY: usize = 1024;

/// How long the last requests to peers may take when the node ends.
const FINISH: Duration = Duration::from_millis(500);

/// How long the log may take to be closed.
const CLOSE: Duration = Duration::from_millis(1500);
