//! Whole quorums in the memory of one process, for the unit tests of an embedder.
//!
//! The nodes are real ones, with their threads and timers; disks are [`MemFs`] and the network hands requests over as bytes.
//! They run in real time. What has to be found by seed, in virtual time and under faults, is the business of `kraft-sim`.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/kv/machine.rs"));
//! use kraft_transport::{memory::MemoryQuorum, node};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! node::runtime()?.block_on(async {
//!     let mut quorum = MemoryQuorum::start(3, KeyValues::default).await?;
//!     let first = quorum.leader().await;
//!     first.submit(vec![put("color", "blue")], None).await?;
//!     quorum.halt(first.node_id()).await?;
//!     let next = quorum.leader().await;
//!     assert_eq!(next.image()["color"], "blue");
//!     Ok(())
//! })
//! # }
//! ```

use crate::{
    codec::{Topic, encode_request},
    command::{Command, CommandSender, PeerResponse},
    error::NodeError,
    inbound::Inbound,
    network::{Network, OutboundRequest},
    node::{self, Handle, NodeConfig},
    peer_api::PeerApi,
};
use bytes::Bytes;
use kraft_core::{Endpoint, Event, NodeId, RequestFault, StateMachine};
use kraft_fs::{MemFs, Unsynced};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use tokio::{sync::oneshot, task::JoinSet, time::timeout};

/// Voters in one process, on a runtime that this is used in.
pub struct MemoryQuorum<S: StateMachine> {
    network: MemoryNetwork<S>,
    machine: Box<dyn Fn() -> S + Send + Sync>,
    voters: Vec<(i32, String)>,
    disks: BTreeMap<NodeId, MemFs>,
    running: BTreeMap<NodeId, Handle<S>>,
}

impl<S: StateMachine + Send + 'static> MemoryQuorum<S> {
    /// Starts as many voters, with the ids from 1 on, each with a state machine of its own.
    ///
    /// # Errors
    /// A node does not start.
    pub async fn start(
        voters: i32,
        machine: impl Fn() -> S + Send + Sync + 'static,
    ) -> Result<Self, NodeError> {
        let mut quorum = Self {
            network: MemoryNetwork::default(),
            machine: Box::new(machine),
            voters: (1..=voters).map(|id| (id, format!("node-{id}:9093"))).collect(),
            disks: (1..=voters).map(|id| (NodeId(id), MemFs::new())).collect(),
            running: BTreeMap::new(),
        };
        for id in 1..=voters {
            quorum.restart(NodeId(id)).await?;
        }
        Ok(quorum)
    }

    /// A running node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Handle<S>> {
        self.running.get(&id)
    }

    /// The running nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &Handle<S>> {
        self.running.values()
    }

    /// The node that leads and takes changes, as soon as there is one.
    pub async fn leader(&self) -> Handle<S> {
        let mut waiting = JoinSet::new();
        for node in self.nodes() {
            let node = node.clone();
            waiting.spawn(async move {
                let found = node.watch().wait_for(|state| state.leading).await.is_ok();
                found.then_some(node)
            });
        }
        while let Some(first) = waiting.join_next().await {
            if let Ok(Some(leader)) = first {
                return leader;
            }
        }
        // Without a node nobody will ever lead.
        std::future::pending().await
    }

    /// Ends a node as a killed process ends: what it has not synced is lost.
    ///
    /// # Errors
    /// The node had ended with an error before.
    pub async fn halt(&mut self, id: NodeId) -> Result<(), NodeError> {
        let Some(node) = self.running.remove(&id) else {
            return Ok(());
        };
        let how = node.halt().await;
        if let Some(disk) = self.disks.get_mut(&id) {
            *disk = disk.crash_image(Unsynced::Lost);
        }
        how
    }

    /// Starts a node again that was halted, on its old disk. A node that runs is left alone.
    ///
    /// # Errors
    /// It does not start, or there is no voter of this id.
    pub async fn restart(&mut self, id: NodeId) -> Result<(), NodeError> {
        if self.running.contains_key(&id) {
            return Ok(());
        }
        let voters: Vec<_> = self
            .voters
            .iter()
            .map(|(id, address)| (*id, address.as_str()))
            .collect();
        let disk = self.disks.get(&id).cloned().unwrap_or_default();
        let mut config = NodeConfig::voter_on(disk, "in-memory", id.0, &voters, "/data")?;
        // Nobody listens on a socket.
        config.listeners.clear();
        let core = &mut config.engine.core;
        core.election_timeout = Duration::from_millis(200);
        core.election_backoff_max = Duration::from_millis(200);
        core.fetch_timeout = Duration::from_millis(400);
        let own = core.listeners.of(&core.default_listener).cloned();
        let network = self.network.clone();
        let node = node::start_with_network(config, (self.machine)(), |commands| network.port(own, commands))
            .await?;
        self.running.insert(id, node);
        Ok(())
    }
}

/// A network within the process: whoever has a port on it reaches everybody else's.
pub struct MemoryNetwork<S: StateMachine>(Arc<Mutex<BTreeMap<Endpoint, CommandSender<S>>>>);

impl<S: StateMachine> Clone for MemoryNetwork<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: StateMachine> Default for MemoryNetwork<S> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<S: StateMachine> MemoryNetwork<S> {
    /// The [`Network`] of a node that is reached at `own`; without an endpoint it only asks. A node that is started at the
    /// endpoint of an earlier one takes its place.
    #[must_use]
    pub fn port(&self, own: Option<Endpoint>, commands: CommandSender<S>) -> MemoryPort<S> {
        if let Some(own) = own {
            self.ports().insert(own, commands.clone());
        }
        MemoryPort {
            network: self.clone(),
            commands,
            topic: Topic::default(),
            listener: "CONTROLLER".into(),
        }
    }

    fn ports(&self) -> MutexGuard<'_, BTreeMap<Endpoint, CommandSender<S>>> {
        self.0
            .lock()
            .expect("nobody panics while holding the list of ports")
    }
}

/// What a node sends its requests by.
pub struct MemoryPort<S: StateMachine> {
    network: MemoryNetwork<S>,
    commands: CommandSender<S>,
    topic: Topic,
    listener: Arc<str>,
}

impl<S: StateMachine + Send + 'static> Network for MemoryPort<S> {
    fn send(&mut self, request: OutboundRequest) -> Result<(), RequestFault> {
        let OutboundRequest {
            request,
            to,
            endpoint,
            body,
        } = request;
        let peer = self.network.ports().get(&endpoint).cloned();
        let peer = peer.ok_or(RequestFault::Disconnected)?;
        let api = PeerApi::of(&body);
        let version = *api.versions().end();
        let body = encode_request(&self.topic, &body, version);
        let body = body.map_err(|_| RequestFault::UnsupportedVersion)?;
        let (reply, answer) = oneshot::channel();
        let inbound = Inbound::new(api, body, version, Arc::clone(&self.listener), reply);
        // Mostly there is room, and the peer has it before this node's turn ends.
        let unsent = peer.try_send(Command::Inbound(inbound));
        let unsent = unsent.map_err(|_| RequestFault::Disconnected)?;
        let waits = unsent.map(|command| (peer, command));
        let commands = self.commands.clone();
        tokio::spawn(async move {
            let outcome = match answered(waits, answer).await {
                Some(body) => Command::response(
                    api,
                    PeerResponse {
                        request,
                        from: to,
                        version,
                        body,
                    },
                )
                .expect("the core asks peers only for what has an answer"),
                None => Command::Event(Event::RequestFailed {
                    request,
                    fault: RequestFault::Disconnected,
                }),
            };
            // A node that has ended waits for nothing.
            let _ = commands.send(outcome).await;
        });
        Ok(())
    }
}

/// `None` if the peer is gone, drops the request or is silent for too long.
async fn answered<S: StateMachine>(
    waits: Option<(CommandSender<S>, Command<S>)>,
    answer: oneshot::Receiver<Bytes>,
) -> Option<Bytes> {
    if let Some((peer, command)) = waits {
        peer.send(command).await.ok()?;
    }
    timeout(PATIENCE, answer).await.ok()?.ok()
}

/// As long as requests may take in Kafka.
const PATIENCE: Duration = Duration::from_secs(2);
