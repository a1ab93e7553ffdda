//! A connection of one replica to the leader.

use bytes::Bytes;
use kraft_wire::{ApiKey, ErrorCode, Message, batch::BatchHeader, frame, message as m};
use std::{
    error::Error,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
};
use uuid::Uuid;

/// What all replicas know beforehand.
pub(crate) struct Cluster {
    pub(crate) id: String,
    pub(crate) topic_id: Uuid,
}

/// How far a replica is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) epoch: i32,
    /// The end of its log.
    pub(crate) offset: i64,
    pub(crate) last_epoch: i32,
    pub(crate) high_watermark: i64,
}

/// A batch that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// Behind its last record.
    pub(crate) end: i64,
    /// When the leader made it, in milliseconds since 1970.
    pub(crate) appended_ms: i64,
}

pub(crate) struct Observer {
    stream: TcpStream,
    /// The next Fetch, up to what changes from one to the next.
    request: m::FetchRequest,
    version: i16,
    correlation_id: i32,
    /// Bytes of an answer of which more is to come.
    partial: Vec<u8>,
}

type Failure = Box<dyn Error>;

impl Position {
    /// What is known to be committed of what is there.
    pub(crate) fn committed(&self) -> i64 {
        self.offset.min(self.high_watermark)
    }

    /// Takes what an answer brings.
    pub(crate) fn advance(&mut self, answer: &m::FetchResponsePartition) -> Result<Vec<Arrived>, Failure> {
        if answer.error_code != 0 || answer.diverging_epoch.epoch >= 0 || answer.snapshot_id.epoch >= 0 {
            return Err(format!("not an answer to this Fetch: {answer:?}").into());
        }
        let mut batches = Vec::new();
        let mut rest = answer.records.as_deref().unwrap_or_default();
        while let Some(header) = BatchHeader::parse(rest) {
            let size = header.size();
            rest = rest.get(size..).ok_or("half a batch")?;
            self.offset = header.last_offset() + 1;
            self.last_epoch = header.leader_epoch;
            batches.push(Arrived {
                end: self.offset,
                appended_ms: header.max_timestamp,
            });
        }
        self.high_watermark = self.high_watermark.max(answer.high_watermark);
        Ok(batches)
    }
}

impl Observer {
    /// Connects, and asks for versions first as everybody does.
    pub(crate) fn connect(leader: SocketAddr, cluster: &Cluster, id: i32) -> Result<Self, Failure> {
        let stream = TcpStream::connect(leader)?;
        stream.set_nodelay(true)?;
        let mut partition = m::FetchRequestPartition {
            replica_directory_id: Uuid::from_u128(0x0b5e_0000_0000 + u128::from(id.unsigned_abs())),
            ..Default::default()
        };
        partition.partition_max_bytes = 0;
        let mut request = m::FetchRequest {
            cluster_id: Some(cluster.id.clone()),
            max_wait_ms: MAX_WAIT_MS,
            max_bytes: MAX_BYTES,
            topics: vec![m::FetchRequestTopic {
                topic_id: cluster.topic_id,
                partitions: vec![partition],
                ..Default::default()
            }],
            ..Default::default()
        };
        request.replica_state.replica_id = id;
        let mut observer = Self {
            stream,
            request,
            version: 0,
            correlation_id: 0,
            partial: Vec::new(),
        };
        observer.version = observer.ask_for_versions()?;
        Ok(observer)
    }

    /// Reads the whole log, from its start on.
    pub(crate) fn catch_up(
        leader: SocketAddr,
        cluster: &Cluster,
        id: i32,
    ) -> Result<(Self, Position), Failure> {
        let mut observer = Self::connect(leader, cluster, id)?;
        let mut buffer = vec![0; 2 * MAX_BYTES.unsigned_abs() as usize];
        let mut position = Position {
            epoch: 0,
            offset: 0,
            last_epoch: 0,
            high_watermark: -1,
        };
        while position.high_watermark < 0 || position.offset < position.high_watermark {
            observer.fetch(&position)?;
            let answer = loop {
                if let Some(answer) = observer.receive(&mut buffer)? {
                    break answer;
                }
            };
            if answer.error_code == ErrorCode::FencedLeaderEpoch.code() {
                position.epoch = answer.current_leader.leader_epoch;
            } else {
                position.advance(&answer)?;
            }
        }
        Ok((observer, position))
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends a Fetch from here on.
    pub(crate) fn fetch(&mut self, position: &Position) -> Result<(), Failure> {
        let partition = &mut self.request.topics[0].partitions[0];
        partition.current_leader_epoch = position.epoch;
        partition.fetch_offset = position.offset;
        partition.last_fetched_epoch = position.last_epoch;
        partition.high_watermark = position.high_watermark;
        self.correlation_id = self.correlation_id.wrapping_add(1);
        let request =
            frame::encode_request(&self.request, self.version, self.correlation_id, Some(CLIENT_ID));
        self.send(&request?)
    }

    fn send(&mut self, request: &[u8]) -> Result<(), Failure> {
        let mut frame = Vec::with_capacity(4 + request.len());
        frame.extend_from_slice(&i32::try_from(request.len())?.to_be_bytes());
        frame.extend_from_slice(request);
        // The one request that is under way always fits into the socket's buffer.
        Ok(self.stream.write_all(&frame)?)
    }

    /// Reads once. Gives the answer when all of it is there.
    pub(crate) fn receive(
        &mut self,
        buffer: &mut [u8],
    ) -> Result<Option<m::FetchResponsePartition>, Failure> {
        let read = match self.stream.read(buffer) {
            Ok(0) => return Err("the leader has closed a connection".into()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        self.partial.extend_from_slice(&buffer[..read]);
        let Some((length, rest)) = self.partial.split_first_chunk() else {
            return Ok(None);
        };
        if rest.len() < usize::try_from(i32::from_be_bytes(*length))? {
            return Ok(None);
        }
        let bytes = Bytes::copy_from_slice(rest);
        self.partial.clear();
        let answer = frame::decode_response::<m::FetchRequest>(bytes, self.version, self.correlation_id)?;
        if answer.error_code != 0 {
            return Err(format!("error {} in answer to a Fetch", answer.error_code).into());
        }
        let mut topics = answer.responses.into_iter();
        let partition = topics.next().and_then(|mut topic| topic.partitions.pop());
        Ok(Some(partition.ok_or("no partition in answer to a Fetch")?))
    }

    /// The version of Fetch that both sides know.
    fn ask_for_versions(&mut self) -> Result<i16, Failure> {
        let request = m::ApiVersionsRequest {
            client_software_name: CLIENT_ID.to_owned(),
            client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Default::default()
        };
        let version = m::ApiVersionsRequest::VERSION_MAX.min(API_VERSIONS_MAX);
        self.send(&frame::encode_request(
            &request,
            version,
            self.correlation_id,
            Some(CLIENT_ID),
        )?)?;
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let mut answer = vec![0; usize::try_from(i32::from_be_bytes(length))?];
        self.stream.read_exact(&mut answer)?;
        let answer = frame::decode_api_versions_response(answer.into(), version, self.correlation_id)?;
        let fetch = answer
            .api_keys
            .iter()
            .find(|api| api.api_key == ApiKey::Fetch.key());
        let theirs = fetch.ok_or("Fetch is not served")?.max_version;
        Ok(theirs.min(m::FetchRequest::VERSION_MAX))
    }
}

const MAX_WAIT_MS: i32 = 500;
const MAX_BYTES: i32 = 1024 * 1024;
const CLIENT_ID: &str = "observer";
const API_VERSIONS_MAX: i16 = 3;
