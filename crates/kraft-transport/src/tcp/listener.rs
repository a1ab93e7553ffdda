//! The controller listener: connections in, commands to the engine, answers in order.

use super::{
    bind::listen,
    connection::{CloseReason, serve},
    frame::Budget,
    idle::{Activity, Rounds},
    log_limit::{Line, LogLimit},
    per_address::{AddressLimits, Addresses},
};
use crate::{
    command::Command,
    dispatch::{Dispatcher, RequestRefused},
};
use kraft_core::StateMachine;
use std::{collections::HashMap, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::{self, AbortHandle, JoinSet},
    time::{Instant, sleep},
};
use tracing::{debug, warn};

/// What a listener gives its connections at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerLimits {
    /// The largest frame: Kafka's `socket.request.max.bytes`.
    pub request_bytes_max: usize,
    /// What the large frames of all connections together may take; at least one frame of the largest size.
    pub request_bytes_total: usize,
    /// Connections at the same time.
    pub connections_max: usize,
    /// Connections of one address at the same time.
    pub per_address: AddressLimits,
    /// A connection without a byte for so long is closed: Kafka's `connections.max.idle.ms`.
    pub idle: Duration,
}

impl Default for ListenerLimits {
    fn default() -> Self {
        Self {
            request_bytes_max: 100 * 1024 * 1024,
            request_bytes_total: 128 * 1024 * 1024,
            connections_max: 4096,
            per_address: AddressLimits::default(),
            idle: Duration::from_secs(600),
        }
    }
}

/// A bound listener.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    name: Arc<str>,
    limits: ListenerLimits,
}

impl Listener {
    /// Binds `address`; port 0 takes a free one. No host, `0.0.0.0` and `::` all mean every interface, by IPv4 and IPv6.
    ///
    /// # Errors
    /// Those of the operating system.
    pub async fn bind(name: &str, address: (&str, u16), limits: ListenerLimits) -> io::Result<Self> {
        Ok(Self {
            socket: listen(address.0, address.1).await?,
            name: name.into(),
            limits,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Accepts connections until `stop` says so or its sender is gone. `addresses` has those of all listeners.
    pub(crate) async fn run<S>(
        self,
        requests: Arc<Dispatcher<S>>,
        addresses: Arc<Addresses>,
        mut stop: watch::Receiver<bool>,
    ) where
        S: StateMachine + 'static,
        Command<S>: Send,
    {
        let permits = Arc::new(Semaphore::new(
            self.limits.connections_max.min(Semaphore::MAX_PERMITS),
        ));
        // One frame has to find room, or its connection would wait for ever.
        let frames = self.limits.request_bytes_total.max(self.limits.request_bytes_max);
        let shared = Arc::new(Shared {
            name: self.name,
            requests,
            budget: Budget::new(frames),
            rounds: Rounds::default(),
            limits: self.limits,
            log_limit: LogLimit::new(Instant::now()),
        });
        let mut connections = Connections::default();
        let round = Rounds::interval(shared.limits.idle);
        let mut next_round = pin!(sleep(round));
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                () = connections.ended() => continue,
                () = &mut next_round => {
                    connections.close_idle(&shared.rounds);
                    next_round.set(sleep(round));
                    continue;
                }
                // The connections end with the set that they are in.
                _ = stop.wait_for(|stop| *stop) => return,
            };
            let (stream, peer) = match accepted {
                Ok((stream, peer)) => (stream, SocketAddr::new(peer.ip().to_canonical(), peer.port())),
                Err(error) => {
                    // Out of file descriptors, most likely: others have to close first.
                    if shared.may_warn() {
                        warn!(%error, "a connection could not be accepted");
                    }
                    sleep(ACCEPT_BACKOFF).await;
                    continue;
                }
            };
            let counted = match addresses.enter(peer.ip(), &shared.limits.per_address) {
                Ok(counted) => counted,
                Err(max) => {
                    if shared.may_warn() {
                        warn!(%peer, max, "connection refused: its address has as many as it may have");
                    }
                    continue;
                }
            };
            let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
                if shared.may_warn() {
                    warn!(%peer, "connection refused: as many as there may be are open");
                }
                continue;
            };
            let shared = Arc::clone(&shared);
            connections.open(peer, |activity| async move {
                shared.serve(&activity, stream, peer).await;
                drop((permit, counted));
            });
        }
    }
}

/// The open connections. They are closed when this is dropped.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    open: HashMap<task::Id, Open>,
}

struct Open {
    peer: SocketAddr,
    activity: Arc<Activity>,
    task: AbortHandle,
}

impl Connections {
    fn open<F>(&mut self, peer: SocketAddr, serve: impl FnOnce(Arc<Activity>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let activity = Arc::<Activity>::default();
        let task = self.tasks.spawn(serve(Arc::clone(&activity)));
        let open = Open { peer, activity, task };
        self.open.insert(open.task.id(), open);
    }

    /// Returns when one has ended, never while there is none.
    async fn ended(&mut self) {
        let id = match self.tasks.join_next_with_id().await {
            Some(Ok((id, ()))) => id,
            Some(Err(error)) => error.id(),
            None => return std::future::pending().await,
        };
        self.open.remove(&id);
    }

    fn close_idle(&self, rounds: &Rounds) {
        rounds.begin();
        for open in self.open.values() {
            if open.activity.is_idle(rounds) {
                debug!(peer = %open.peer, "connection ended: nothing was sent for too long");
                open.task.abort();
            }
        }
    }
}

/// What the connections of a listener have in common.
pub(super) struct Shared<S: StateMachine> {
    pub(super) name: Arc<str>,
    pub(super) requests: Arc<Dispatcher<S>>,
    pub(super) budget: Budget,
    pub(super) limits: ListenerLimits,
    pub(super) rounds: Rounds,
    log_limit: LogLimit,
}

impl<S: StateMachine> Shared<S> {
    async fn serve(&self, activity: &Activity, stream: TcpStream, peer: SocketAddr) {
        match serve(self, activity, stream).await {
            Ok(()) => debug!(%peer, "connection ended"),
            Err(error @ CloseReason::Io(_)) => debug!(%peer, %error, "connection ended"),
            Err(CloseReason::Refused(RequestRefused::Stopped)) => {}
            Err(error) if self.may_warn() => warn!(%peer, %error, "connection closed"),
            Err(error) => debug!(%peer, %error, "connection closed"),
        }
    }

    /// Whether a line that a peer has caused goes into the log.
    fn may_warn(&self) -> bool {
        match self.log_limit.line(Instant::now()) {
            Line::Write { left_out } => {
                if left_out > 0 {
                    warn!(
                        left_out,
                        "more connections were refused or closed than are listed here"
                    );
                }
                true
            }
            Line::LeaveOut => false,
        }
    }
}

/// Waits so long when no connection can be accepted.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);
