//! The engine's network over TCP: one task and one connection per peer, one request in flight on it.

use super::{
    client::{CallError, Client},
    reach::Lookup,
    recent::Recent,
};
use crate::{
    clock,
    codec::{Topic, encode_request},
    command::{Command, CommandSender, PeerResponse},
    metrics::ChannelMetrics,
    network::{Network, OutboundRequest},
    peer_api::PeerApi,
};
use kraft_core::{Endpoint, Event, NodeId, RequestFault, StateMachine};
use kraft_wire::ApiKey;
use std::{pin::Pin, sync::Arc, time::Duration};
use tokio::{
    runtime::Handle,
    sync::mpsc::{self, error::TrySendError},
    task::JoinSet,
    time::Instant,
};
use tracing::{debug, info};

/// How peers are spoken to.
#[derive(Debug, Clone)]
pub(crate) struct PeerSettings {
    /// The name that this node gives itself on connections.
    pub(crate) client_id: String,
    /// How long a request may take, from the hand-over to the answer.
    pub(crate) request_timeout: Duration,
    /// The topic that the requests name.
    pub(crate) topic: Topic,
}

/// The connections to all peers.
pub(crate) struct Peers<S: StateMachine> {
    settings: Arc<PeerSettings>,
    commands: CommandSender<S>,
    runtime: Handle,
    /// A node and an address of it: a bootstrap server and a voter on the same address are two peers, as in Kafka.
    /// Whoever reaches the port can name endpoints, so the one that was not spoken to for longest makes room: that is
    /// neither the leader nor a voter that is asked for its vote.
    peers: Recent<(NodeId, Endpoint), mpsc::Sender<Queued>>,
    tasks: JoinSet<()>,
    channel: Arc<ChannelMetrics>,
}

/// A request with the moment by which it has an outcome.
struct Queued {
    request: OutboundRequest,
    due: Instant,
}

impl<S> Peers<S>
where
    S: StateMachine + Send + 'static,
{
    /// No peer yet. The tasks run on `runtime`.
    pub(crate) fn new(settings: PeerSettings, commands: CommandSender<S>, runtime: Handle) -> Self {
        Self {
            settings: Arc::new(settings),
            commands,
            runtime,
            peers: Recent::new(PEERS_MAX),
            tasks: JoinSet::new(),
            channel: Arc::default(),
        }
    }

    fn start(&mut self, node: NodeId, endpoint: Endpoint) -> mpsc::Sender<Queued> {
        // Endpoints change with leaders and voter sets; tasks that ended leave their entries behind.
        self.peers.retain(|queue| !queue.is_closed());
        while self.tasks.try_join_next().is_some() {}
        let (sender, queue) = mpsc::channel(QUEUE_CAPACITY);
        let peer = Peer {
            node,
            endpoint: endpoint.clone(),
            settings: Arc::clone(&self.settings),
            commands: self.commands.clone(),
            channel: Arc::clone(&self.channel),
            client: None,
            lookup: Lookup::default(),
            backoff: Backoff::new(),
            told_up: false,
            quiet_until: Instant::now(),
        };
        self.tasks.spawn_on(peer.run(queue), &self.runtime);
        self.peers.insert((node, endpoint), sender.clone());
        sender
    }
}

impl<S> Network for Peers<S>
where
    S: StateMachine + Send + 'static,
{
    fn send(&mut self, request: OutboundRequest) -> Result<(), RequestFault> {
        let key = (request.to.id, request.endpoint.clone());
        let queued = Queued {
            request,
            due: later(self.settings.request_timeout),
        };
        let known = self.peers.get(&key).filter(|queue| !queue.is_closed());
        let queue = match known {
            Some(queue) => queue.clone(),
            None => self.start(key.0, key.1),
        };
        queue.try_send(queued).map_err(|error| match error {
            TrySendError::Full(_) | TrySendError::Closed(_) => RequestFault::Disconnected,
        })
    }

    fn channel_metrics(&self) -> Option<Arc<ChannelMetrics>> {
        Some(Arc::clone(&self.channel))
    }

    /// Sends what is queued, and ends the tasks.
    fn finish(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.peers.clear();
        Box::pin(async { while self.tasks.join_next().await.is_some() {} })
    }
}

/// One peer.
struct Peer<S: StateMachine> {
    node: NodeId,
    endpoint: Endpoint,
    settings: Arc<PeerSettings>,
    commands: CommandSender<S>,
    channel: Arc<ChannelMetrics>,
    client: Option<Client>,
    lookup: Lookup,
    backoff: Backoff,
    /// Whether the log says that it is connected.
    told_up: bool,
    /// A peer that takes every connection and closes it at once is not to fill the log.
    quiet_until: Instant,
}

impl<S: StateMachine> Peer<S> {
    async fn run(mut self, mut queue: mpsc::Receiver<Queued>) {
        loop {
            let queued = tokio::select! {
                queued = queue.recv() => queued,
                () = closed(self.client.as_ref()) => {
                    self.client = None;
                    continue;
                }
                () = tokio::time::sleep(IDLE) => {
                    // What has come in the meantime still gets its outcome.
                    queue.close();
                    continue;
                }
            };
            let Some(queued) = queued else {
                return;
            };
            let outcome = self.ask(&queued).await;
            let request = queued.request.request;
            let api = PeerApi::of(&queued.request.body);
            let command = match outcome {
                Ok((version, body)) => Command::response(
                    api,
                    PeerResponse {
                        request,
                        from: queued.request.to,
                        version,
                        body,
                    },
                )
                .expect("the core asks peers only for what has an answer"),
                Err(fault) => Command::Event(Event::RequestFailed { request, fault }),
            };
            if self.commands.send(command).await.is_err() {
                return;
            }
        }
    }

    async fn ask(&mut self, queued: &Queued) -> Result<(i16, bytes::Bytes), RequestFault> {
        let outcome = self.try_ask(queued).await;
        outcome.map_err(|error| {
            let fault = match &error {
                CallError::Connection { .. } | CallError::TimedOut { .. } => RequestFault::Disconnected,
                CallError::UnsupportedVersion { .. } | CallError::Encode(_) => {
                    RequestFault::UnsupportedVersion
                }
                CallError::Malformed { .. } => RequestFault::Malformed,
            };
            if fault != RequestFault::UnsupportedVersion {
                // An answer that comes late must not be taken for that of the next request.
                let lost = self.client.take().is_some();
                if std::mem::take(&mut self.told_up) {
                    info!(peer = self.node.0, %error, "connection to peer lost");
                } else if lost {
                    debug!(peer = self.node.0, %error, "connection to peer lost again");
                } else {
                    debug!(peer = self.node.0, %error, "peer not reached");
                }
            }
            fault
        })
    }

    async fn try_ask(&mut self, queued: &Queued) -> Result<(i16, bytes::Bytes), CallError> {
        let api = PeerApi::of(&queued.request.body);
        let key = ApiKey::from_key(api.key()).expect("every peer API is one of the controller listener");
        let mut client = match self.client.take() {
            Some(client) => client,
            None => self.connect(queued.due).await?,
        };
        let prepared = client.version(key, &api.versions()).and_then(|version| {
            let body = encode_request(&self.settings.topic, &queued.request.body, version)?;
            Ok((version, body))
        });
        let (version, body) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                self.client = Some(client);
                return Err(error);
            }
        };
        let within = queued.due.saturating_duration_since(Instant::now());
        let answer = client.call(key, version, body, within).await;
        self.client = Some(client);
        Ok((version, answer?))
    }

    /// While the peer is backed off from, requests to it fail at once.
    async fn connect(&mut self, due: Instant) -> Result<Client, CallError> {
        let now = Instant::now();
        if now < self.backoff.until {
            return Err(CallError::Connection {
                endpoint: self.endpoint.clone(),
                source: std::io::ErrorKind::NotConnected.into(),
            });
        }
        let within = due.saturating_duration_since(now);
        let client = Client::connect_counted(
            &mut self.lookup,
            &self.endpoint,
            &self.settings.client_id,
            within,
            Some(&self.channel),
        );
        let client = client.await;
        match &client {
            Ok(_) => {
                if now >= self.quiet_until {
                    self.quiet_until = now + QUIET;
                    self.told_up = true;
                    info!(peer = self.node.0, endpoint = %self.endpoint, "connected to peer");
                } else {
                    debug!(peer = self.node.0, endpoint = %self.endpoint, "connected to peer again");
                }
                self.backoff = Backoff::new();
            }
            Err(_) => self.backoff.failed(),
        }
        client
    }
}

/// The moment so much later; a far one where the clock has none.
fn later(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + clock::FAR)
}

async fn closed(client: Option<&Client>) {
    match client {
        Some(client) => client.closed().await,
        None => std::future::pending().await,
    }
}

/// Waits between attempts to connect: 50 ms, doubled up to 500 ms, a fifth more or less.
struct Backoff {
    until: Instant,
    failures: u32,
}

impl Backoff {
    fn new() -> Self {
        Self {
            until: Instant::now(),
            failures: 0,
        }
    }

    fn failed(&mut self) {
        let base = (50_u64 << self.failures.min(4)).min(500);
        // The low digits of the clock are random enough to keep nodes from knocking in step.
        let percent = 80 + clock::monotonic().0 % 41;
        self.until = Instant::now() + Duration::from_micros(base * 10 * percent);
        self.failures += 1;
    }
}

/// How long a connection that comes again soon is not told of.
const QUIET: Duration = Duration::from_secs(10);

/// Requests that may wait for their turn at one peer. The core has one in flight; the others have timed out there.
const QUEUE_CAPACITY: usize = 4;

/// Peers to which connections are kept.
const PEERS_MAX: usize = 256;

/// After this long without a request a peer's connection is closed.
const IDLE: Duration = Duration::from_secs(600);
