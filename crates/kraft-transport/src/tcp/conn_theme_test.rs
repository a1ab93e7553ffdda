//! What becomes of a request of ours on its connection: theme CONN. Each is shown with every API that a peer is asked.

use super::peers::{PeerSettings, Peers};
use crate::{
    codec::{Topic, tests::requests},
    command::{Command, CommandSender, QueuedCommand},
    network::{Network, OutboundRequest},
    nothing::Nothing,
    peer_api::PeerApi,
};
use bytes::Bytes;
use kraft_core::{Endpoint, Event, NodeId, ReplicaKey, RequestFault, RequestId};
use kraft_wire::{ApiKey, ErrorCode, Message, message as m};
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};
use tokio::{net::TcpSocket, runtime::Handle, sync::mpsc};
use uuid::Uuid;

/// What the peer does with a request that is not ApiVersions.
#[derive(Clone, Copy)]
enum Peer {
    /// Closes the connection.
    HangsUp,
    /// Answers so.
    Answers(&'static [u8]),
    /// Says before that it knows ApiVersions only.
    KnowsNothing,
}

impl Peer {
    /// Serves connections, one after the other, until the test is over.
    fn start(self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                // An error ends the connection, as the closing does.
                stream.and_then(|stream| self.serve(stream)).ok();
            }
        });
        port
    }

    fn serve(self, mut stream: TcpStream) -> std::io::Result<()> {
        loop {
            let mut length = [0; 4];
            stream.read_exact(&mut length)?;
            let mut frame = vec![0; u32::from_be_bytes(length) as usize];
            stream.read_exact(&mut frame)?;
            let number = |at: usize| i16::from_be_bytes([frame[at], frame[at + 1]]);
            let (key, version) = (number(0), number(2));
            let mut answer = frame[4..8].to_vec();
            let api = ApiKey::from_key(key).expect("a known API");
            match self {
                _ if api == ApiKey::ApiVersions => answer.extend(self.versions(version)),
                Self::Answers(body) => {
                    if api.response_header_version(version) == 1 {
                        answer.push(0);
                    }
                    answer.extend(body);
                }
                Self::HangsUp | Self::KnowsNothing => return Ok(()),
            }
            let length = u32::try_from(answer.len()).expect("a short answer");
            stream.write_all(&[&length.to_be_bytes()[..], &answer].concat())?;
        }
    }

    fn versions(self, version: i16) -> Vec<u8> {
        let apis = PeerApi::ALL
            .into_iter()
            .filter(|api| !matches!(self, Self::KnowsNothing) || *api == PeerApi::ApiVersions);
        let api_keys = apis.map(|api| m::ApiVersionsResponseApiVersion {
            api_key: api.key(),
            min_version: *api.versions().start(),
            max_version: *api.versions().end(),
            ..Default::default()
        });
        let answer = m::ApiVersionsResponse {
            api_keys: api_keys.collect(),
            ..Default::default()
        };
        answer.to_bytes(version).expect("it fits").to_vec()
    }
}

/// Sends every request to a peer under an id, one after the other, and gives what becomes of each.
async fn outcomes(id: NodeId, port: u16) -> Vec<(PeerApi, Outcome)> {
    let settings = PeerSettings {
        client_id: "test".to_owned(),
        request_timeout: Duration::from_secs(30),
        topic: Topic::default(),
    };
    let (commands, mut queue) = CommandSender::<Nothing>::channel(4);
    let mut peers = Peers::new(settings, commands, Handle::current());
    let mut outcomes = Vec::new();
    for (number, body) in (1..).zip(requests()) {
        let (request, api) = (RequestId(number), PeerApi::of(&body));
        let to = ReplicaKey::new(id, Uuid::from_u128(1));
        let host = "127.0.0.1".into();
        let outbound = OutboundRequest {
            request,
            to,
            endpoint: Endpoint { host, port },
            body,
        };
        peers.send(outbound).expect("room in the queue");
        outcomes.push((api, outcome(&mut queue, api, request, to).await));
    }
    outcomes
}

#[derive(Debug, Clone, PartialEq)]
enum Outcome {
    Answered(Bytes),
    Failed(RequestFault),
}

async fn outcome(
    queue: &mut mpsc::Receiver<QueuedCommand<Nothing>>,
    api: PeerApi,
    request: RequestId,
    to: ReplicaKey,
) -> Outcome {
    let command = queue.recv().await.expect("an outcome").command;
    let (answers, response) = match command {
        Command::Event(Event::RequestFailed {
            request: failed,
            fault,
        }) => {
            assert_eq!(failed, request);
            return Outcome::Failed(fault);
        }
        Command::VoteResponse(response) => (PeerApi::Vote, response),
        Command::BeginQuorumEpochResponse(response) => (PeerApi::BeginQuorumEpoch, response),
        Command::EndQuorumEpochResponse(response) => (PeerApi::EndQuorumEpoch, response),
        Command::FetchResponse(response) => (PeerApi::Fetch, response),
        Command::FetchSnapshotResponse(response) => (PeerApi::FetchSnapshot, response),
        Command::AddRaftVoterResponse(response) => (PeerApi::AddRaftVoter, response),
        Command::RemoveRaftVoterResponse(response) => (PeerApi::RemoveRaftVoter, response),
        Command::UpdateRaftVoterResponse(response) => (PeerApi::UpdateRaftVoter, response),
        _ => unreachable!("a peer brings nothing else"),
    };
    assert_eq!((answers, response.request, response.from), (api, request, to));
    Outcome::Answered(response.body)
}

/// A voter, and a bootstrap server.
const IDS: [NodeId; 2] = [NodeId(2), NodeId(-2)];

/// All requests have come out alike, and none of the eight APIs is missing.
fn assert_all(found: &[(PeerApi, Outcome)], expected: &Outcome) {
    let apis: BTreeMap<i16, PeerApi> = found.iter().map(|(api, _)| (api.key(), *api)).collect();
    assert_eq!(apis.len(), 8);
    for (api, outcome) in found {
        assert_eq!(outcome, expected, "{api:?}");
    }
}

#[tokio::test]
async fn conn_005_while_a_peer_is_backed_off_from_requests_fail_at_once() {
    for id in IDS {
        // Nobody listens there, this socket least of all: the first request makes the back-off, the others meet it.
        let socket = TcpSocket::new_v4().expect("a socket");
        let any = "127.0.0.1:0".parse().expect("an address");
        socket.bind(any).expect("a free port");
        let port = socket.local_addr().expect("bound").port();
        let failed = Outcome::Failed(RequestFault::Disconnected);
        assert_all(&outcomes(id, port).await, &failed);
    }
}

#[tokio::test]
async fn conn_007_a_connection_that_is_lost_fails_the_request_on_it() {
    let port = Peer::HangsUp.start();
    let failed = Outcome::Failed(RequestFault::Disconnected);
    assert_all(&outcomes(IDS[0], port).await, &failed);
}

#[tokio::test]
async fn conn_008_the_error_of_a_peer_passes_through() {
    let error: &'static [u8] = &[0, 42];
    assert_eq!(i16::from_be_bytes([0, 42]), ErrorCode::InvalidRequest.code());
    let port = Peer::Answers(error).start();
    for id in IDS {
        let answered = Outcome::Answered(Bytes::from_static(error));
        assert_all(&outcomes(id, port).await, &answered);
    }
}

#[tokio::test]
async fn conn_009_without_a_common_version_a_request_fails_as_unsupported() {
    let port = Peer::KnowsNothing.start();
    let failed = Outcome::Failed(RequestFault::UnsupportedVersion);
    assert_all(&outcomes(IDS[0], port).await, &failed);
}
