//! What an embedder holds of a running node.

use crate::{
    command::{Command, CommandSender},
    error::{NodeError, RaftError, SubmitChangeResult},
    tcp::{CallError, Client},
    views::{NodeState, QuorumStateSnapshot},
};
use bytes::Bytes;
use kraft_core::{NodeId, ReconfigOutcome, StateMachine, VoterChange, state_machine::Provenance};
use kraft_wire::ApiKey;
use std::{net::SocketAddr, time::Duration};
use thiserror::Error;
use tokio::sync::{oneshot, watch};

/// A running node. Clones are handles of the same node, which goes on when all of them are dropped: it ends by
/// [`shutdown`](Self::shutdown), by [`halt`](Self::halt), or by an error.
pub struct Handle<S: StateMachine> {
    node_id: NodeId,
    commands: CommandSender<S>,
    state: watch::Receiver<NodeState>,
    image: watch::Receiver<S::Image>,
    ended: watch::Receiver<Option<Result<(), NodeError>>>,
    addresses: Vec<(String, SocketAddr)>,
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
            state: self.state.clone(),
            image: self.image.clone(),
            ended: self.ended.clone(),
            addresses: self.addresses.clone(),
        }
    }
}

impl<S: StateMachine> Handle<S> {
    pub(super) fn new(
        node_id: NodeId,
        commands: CommandSender<S>,
        state: watch::Receiver<NodeState>,
        image: watch::Receiver<S::Image>,
        ended: watch::Receiver<Option<Result<(), NodeError>>>,
        addresses: Vec<(String, SocketAddr)>,
    ) -> Self {
        Self {
            node_id,
            commands,
            state,
            image,
            ended,
            addresses,
        }
    }

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

    /// Adds, removes or updates a voter. Works on the leader only.
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

    /// The engine's queue, for an embedder with a listener of its own.
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
