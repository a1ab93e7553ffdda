//! A network in memory: each request is a call of the voter that it is for.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use futures_util::{Stream, StreamExt, future::BoxFuture, stream::BoxStream};
use openraft::errors::{RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::RPCOption;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, StreamAppendResult, VoteRequest,
    VoteResponse,
};
use openraft::type_config::alias::{SnapshotOf, VoteOf};
use openraft::{EmptyNode, OptionalSend, RaftNetworkFactory, RaftNetworkV2};

use super::machine::Count;
use super::{Types, Voter};

/// All voters by their ids.
#[derive(Clone, Default)]
pub struct Links(Arc<Mutex<BTreeMap<u64, Voter>>>);

impl Links {
    /// Lets the others reach this voter.
    pub fn insert(&self, id: u64, voter: Voter) {
        self.0
            .lock()
            .expect("nobody panics while holding the links")
            .insert(id, voter);
    }
}

/// What a voter reaches another one by.
pub struct Link {
    links: Links,
    to: u64,
    voter: Option<Voter>,
}

impl Link {
    fn voter(&mut self) -> Result<Voter, Unreachable<Types>> {
        if self.voter.is_none() {
            let links = self
                .links
                .0
                .lock()
                .expect("nobody panics while holding the links");
            self.voter = links.get(&self.to).cloned();
        }
        let absent = || Unreachable::new(&io::Error::from(io::ErrorKind::NotFound));
        self.voter.clone().ok_or_else(absent)
    }
}

impl RaftNetworkFactory<Types> for Links {
    type Network = Link;

    async fn new_client(&mut self, to: u64, _: &EmptyNode) -> Link {
        Link {
            links: self.clone(),
            to,
            voter: None,
        }
    }
}

impl RaftNetworkV2<Types> for Link {
    type SnapshotData = Count;

    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<Types>, RPCError<Types>> {
        let answer = self.voter()?.append_entries(request).await;
        answer.map_err(|error| Unreachable::new(&error).into())
    }

    fn stream_append<'s, S>(
        &'s mut self,
        requests: S,
        _: RPCOption,
    ) -> BoxFuture<
        's,
        Result<BoxStream<'s, Result<StreamAppendResult<Types>, RPCError<Types>>>, RPCError<Types>>,
    >
    where
        S: Stream<Item = AppendEntriesRequest<Types>> + OptionalSend + Unpin + 'static,
    {
        Box::pin(async move {
            let answers = self.voter()?.stream_append(requests);
            let answers = answers.map(|answer| answer.map_err(|error| Unreachable::new(&error).into()));
            Ok(answers.boxed())
        })
    }

    async fn vote(
        &mut self,
        request: VoteRequest<Types>,
        _: RPCOption,
    ) -> Result<VoteResponse<Types>, RPCError<Types>> {
        let answer = self.voter()?.vote(request).await;
        answer.map_err(|error| Unreachable::new(&error).into())
    }

    async fn full_snapshot(
        &mut self,
        vote: VoteOf<Types>,
        snapshot: SnapshotOf<Types, Count>,
        _: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _: RPCOption,
    ) -> Result<SnapshotResponse<Types>, StreamingError<Types>> {
        let answer = self.voter()?.install_full_snapshot(vote, snapshot).await;
        answer.map_err(|error| Unreachable::new(&error).into())
    }
}
