//! What an embedder holds of a running node.

use crate::{
    command::{Command, CommandSender},
    dispatch::{Dispatcher, RequestRefused},
    error::{NodeError, RaftError, SubmitChangeResult},
    event_times::EventTimes,
    metrics::{ChannelMetrics, EventTime, IdleTime, NodeMetrics, Publisher},
    tcp::{CallError, Client},
    views::{Health, NodeState, NotReady, QuorumStateSnapshot},
};
use bytes::Bytes;
use kraft_core::{
    Epoch, NodeId, ReconfigOutcome, StateMachine, Text, VoterChange, state_machine::Provenance,
};
use kraft_wire::ApiKey;
use std::{net::SocketAddr, sync::Arc, time::Duration};
use thiserror::Error;
use tokio::sync::{oneshot, watch};

/// A running node. Clones are handles of the same node, which goes on when all of them are dropped: it ends by
/// [`shutdown`](Self::shutdown), by [`halt`](Self::halt), or by an error.
pub struct Handle<S: StateMachine> {
    pub(super) node_id: NodeId,
    pub(super) commands: CommandSender<S>,
    pub(super) requests: Arc<Dispatcher<S>>,
    pub(super) state: watch::Receiver<NodeState>,
    pub(super) image: watch::Receiver<S::Image>,
    pub(super) event_times: Arc<EventTimes>,
    pub(super) idle: Arc<IdleTime>,
    pub(super) channel: Option<Arc<ChannelMetrics>>,
    pub(super) cluster_id: Text,
    pub(super) ended: watch::Receiver<Option<Result<(), NodeError>>>,
    pub(super) addresses: Vec<(String, SocketAddr)>,
}

/// Why a request to the leader has no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LeaderCallError {
    /// No leader is known, or not where it listens.
    #[error("no leader is known")]
    NoLeader,
    /// The leader was asked and did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl<S: StateMachine> Clone for Handle<S> {
    fn clone(&self) -> Self {
        Self {
            node_id: self.node_id,
            commands: self.commands.clone(),
            requests: Arc::clone(&self.requests),
            state: self.state.clone(),
            image: self.image.clone(),
            event_times: Arc::clone(&self.event_times),
            idle: Arc::clone(&self.idle),
            channel: self.channel.clone(),
            cluster_id: self.cluster_id.clone(),
            ended: self.ended.clone(),
            addresses: self.addresses.clone(),
        }
    }
}

impl<S: StateMachine> Handle<S> {
    /// Appends records as one unit and waits until they are committed and applied here. Works on the leader only.
    /// `expected` is the image that the records were built on; `None` takes whatever there is.
    ///
    /// # Errors
    /// [`RaftError::Unknown`] and [`RaftError::Stopped`] leave open whether the change becomes committed; after every
    /// other one it is not, and will not be.
    pub async fn submit(
        &self,
        records: Vec<S::Record>,
        expected: Option<Provenance>,
    ) -> Result<SubmitChangeResult, RaftError> {
        let (reply, answer) = oneshot::channel();
        let command = Command::SubmitChange {
            records,
            expected_image: expected,
            reply,
        };
        self.ask(command, answer).await?
    }

    /// As [`submit`](Self::submit), for mutations that the state machine compares and makes in one turn.
    ///
    /// # Errors
    /// As for [`submit`](Self::submit).
    pub async fn mutate(&self, mutations: Vec<S::Mutation>) -> Result<SubmitChangeResult, RaftError> {
        let (reply, answer) = oneshot::channel();
        let command = Command::SubmitDelegationTokenMutations { mutations, reply };
        self.ask(command, answer).await?
    }

    /// Adds, removes or updates a voter. Works on the leader only, and where the voters stand in the log (kraft.version 1), as
    /// those of a [`founder`](super::NodeConfig::founder) do: others are fixed, and a change of them is
    /// [`RaftError::Invalid`], as Kafka refuses it.
    ///
    /// A node to be added runs already, and has what there is.
    /// [`NodeConfig::as_voter`](super::NodeConfig::as_voter) says what to add; the keys of all voters stand in
    /// [`status`](Self::status).
    ///
    /// # Errors
    /// [`RaftError::Open`] and [`RaftError::Stopped`] leave open whether the change happens; after every other one
    /// nothing is written.
    pub async fn reconfigure(&self, change: VoterChange) -> Result<ReconfigOutcome, RaftError> {
        let (reply, answer) = oneshot::channel();
        self.ask(Command::Reconfigure { change, reply }, answer).await?
    }

    /// Writes a snapshot of what is applied and waits until it is on disk.
    ///
    /// # Errors
    /// There is nothing to write, or it cannot be written.
    pub async fn snapshot(&self) -> Result<(), RaftError> {
        let (reply, answer) = oneshot::channel();
        self.ask(Command::TriggerSnapshot { reply }, answer).await?
    }

    /// The state of the quorum as this node knows it.
    ///
    /// # Errors
    /// The node has ended.
    pub async fn status(&self) -> Result<QuorumStateSnapshot, RaftError> {
        let (reply, answer) = oneshot::channel();
        self.ask(Command::QuorumStateSnapshot { reply }, answer).await
    }

    /// How the node is, and why it is not ready where it is not. Also after its end.
    #[must_use]
    pub fn health(&self) -> Health {
        let mut state = self.state();
        // A panic of the engine leaves the state as it was.
        let fault = match &*self.ended.borrow() {
            Some(Err(fault)) => {
                state.not_ready = Some(NotReady::Failed);
                Some(fault.clone())
            }
            Some(Ok(())) => {
                state.not_ready = Some(NotReady::Ended);
                None
            }
            None => None,
        };
        Health { state, fault }
    }

    /// What there is to be measured, now.
    ///
    /// # Errors
    /// The node has ended.
    pub async fn metrics(&self) -> Result<NodeMetrics, RaftError> {
        let (reply, answer) = oneshot::channel();
        let engine = self.ask(Command::Metrics { reply }, answer).await?;
        Ok(NodeMetrics {
            node_id: self.node_id,
            cluster_id: self.cluster_id.clone(),
            engine,
            queue_time: EventTime::of(&self.event_times.queue),
            processing_time: EventTime::of(&self.event_times.processing),
            idle_ratio: self.idle.read(),
            channel: self.channel.as_ref().map(|channel| channel.read()),
        })
    }

    /// Tells the recorder of the `metrics` facade everything that [`metrics`](Self::metrics) gives, again and again, until
    /// the node has ended. A task of the embedder's own runs it; without a recorder nothing is told.
    pub async fn publish_metrics(&self, every: Duration) {
        let mut publisher = Publisher::default();
        while let Ok(metrics) = self.metrics().await {
            publisher.publish(&metrics);
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                _ = self.ended() => return,
            }
        }
    }

    /// Role, epoch, leader, high watermark and progress, now.
    #[must_use]
    pub fn state(&self) -> NodeState {
        self.state.borrow().clone()
    }

    /// Role, epoch, leader, high watermark and progress, whenever they change.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<NodeState> {
        self.state.clone()
    }

    /// The published image, now.
    #[must_use]
    pub fn image(&self) -> S::Image {
        self.image.borrow().clone()
    }

    /// The published image, whenever it changes.
    #[must_use]
    pub fn watch_image(&self) -> watch::Receiver<S::Image> {
        self.image.clone()
    }

    /// This node.
    #[must_use]
    pub fn node_id(&self) -> NodeId {
        self.node_id
    }

    /// Where the first listener is bound.
    #[must_use]
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.addresses.first().map(|(_, address)| *address)
    }

    /// All listeners and where they are bound.
    #[must_use]
    pub fn local_addrs(&self) -> &[(String, SocketAddr)] {
        &self.addresses
    }

    /// Waits until the image has everything that anybody was told of before this was called, on whatever node: an
    /// [`image`](Self::image) that is taken afterwards makes a linearizable read. Works on the leader only, and costs a
    /// question to a majority of the voters, which all readers of the same moment share; nothing is written.
    ///
    /// # Errors
    /// This node does not lead, or did not when the voters were asked.
    pub async fn read_barrier(&self) -> Result<(), RaftError> {
        let (reply, answer) = oneshot::channel();
        self.ask(Command::ReadBarrier { reply }, answer).await?
    }

    /// Brings in a request that an embedder's own listener has read, and gives the body of the answer. `listener` names
    /// the listener, whose endpoint answers then name. The listeners of the node do the same.
    ///
    /// To drop the future is to have gone: a Fetch that waits is then forgotten.
    ///
    /// # Errors
    /// There is no answer. Kafka closes the connection then.
    pub async fn inbound(
        &self,
        listener: &str,
        api: i16,
        version: i16,
        body: Bytes,
    ) -> Result<Bytes, RequestRefused> {
        self.requests.ask(&listener.into(), api, version, body).await
    }

    /// Gives up the leadership, and returns the epoch that ends. The voters are told which of them has most of the log,
    /// and the first of those campaigns at once; [`watch`](Self::watch) tells who leads next. That may be this node again,
    /// if nobody else can.
    ///
    /// # Errors
    /// This node does not lead.
    pub async fn resign(&self) -> Result<Epoch, RaftError> {
        let (reply, answer) = oneshot::channel();
        self.ask(Command::Resign { reply }, answer).await?
    }

    /// How long commands have waited for the engine, and how long it took over them.
    #[must_use]
    pub fn event_times(&self) -> &EventTimes {
        &self.event_times
    }

    /// The engine's queue.
    #[must_use]
    pub fn commands(&self) -> &CommandSender<S> {
        &self.commands
    }

    /// Sends a request to the current leader, over a connection of its own, and returns the body of the answer.
    /// `body` is encoded at `version`.
    ///
    /// # Errors
    /// No leader is known, or it did not answer in time.
    pub async fn send_to_leader(
        &self,
        api: ApiKey,
        version: i16,
        body: Bytes,
        within: Duration,
    ) -> Result<Bytes, LeaderCallError> {
        let endpoint = self.state.borrow().leader_endpoint.clone();
        let endpoint = endpoint.ok_or(LeaderCallError::NoLeader)?;
        let client_id = self.node_id.to_string();
        let mut client = Client::connect(&endpoint, &client_id, within).await?;
        let version = client.version(api, &(version..=version))?;
        Ok(client.call(api, version, body, within).await?)
    }

    /// Hands leadership over, closes the log and ends the node, within the bound of the configuration.
    ///
    /// # Errors
    /// The node ended with an error.
    pub async fn shutdown(&self) -> Result<(), NodeError> {
        // A node that has ended already needs no command.
        let _ = self.commands.send(Command::Shutdown).await;
        self.ended().await
    }

    /// Ends the node at once, as if its process was killed: nothing is handed over, nothing is tidied up.
    ///
    /// # Errors
    /// The node ended with an error before.
    pub async fn halt(&self) -> Result<(), NodeError> {
        let _ = self.commands.send(Command::Halt).await;
        self.ended().await
    }

    /// Resolves when the node has ended: log closed, directory free for another start.
    ///
    /// # Errors
    /// What the node ended with.
    pub async fn ended(&self) -> Result<(), NodeError> {
        let mut ended = self.ended.clone();
        let how = match ended.wait_for(Option::is_some).await {
            Ok(how) => how.clone(),
            // The task is gone without a word: it has panicked, or its runtime has ended.
            Err(_) => None,
        };
        how.unwrap_or(Err(NodeError::Thread { thread: "engine" }))
    }

    async fn ask<T>(&self, command: Command<S>, answer: oneshot::Receiver<T>) -> Result<T, RaftError> {
        self.commands
            .send(command)
            .await
            .map_err(|_| RaftError::Stopped)?;
        answer.await.map_err(|_| RaftError::Stopped)
    }
}
