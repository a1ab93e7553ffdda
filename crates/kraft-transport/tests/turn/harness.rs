//! An engine whose clock, disk and network the tests hold in their hands.

use crate::common::{Words, config};
use bytes::Bytes;
use kraft_core::{
    Endpoint, Endpoints, Epoch, Event, Instant, LogView, NodeId, PeerRequest, ReplicaKey, RequestFault,
    RequestId, RoleName, SnapshotId, Ticket, Time,
};
use kraft_fs::{FileSystem, MemFs};
use kraft_log::{LogOptions, LogReader, LogWriter, Retention, StorageOp};
use kraft_snapshot::{SnapshotHeader, SnapshotWriter, frozen_name};
use kraft_transport::{
    Command, Engine, EngineConfig, Inbound, Network, NodeError, OutboundRequest, PeerApi, PeerResponse,
    QueuedCommand, RaftError, ReadId, ReadOutcome, ReadRequest, SnapshotJob, SnapshotOutcome, Storage,
    SubmitChangeResult,
    codec::{Topic, encode_request},
    storage::{perform_read, perform_snapshot},
};
use kraft_wire::{Message, batch::BatchBuilder, message as m};
use std::{collections::VecDeque, path::Path};
use tokio::sync::oneshot;

/// A disk whose log thread runs when the test says so, and whose reads are done on the spot.
pub(super) struct Disk {
    pub(super) writer: LogWriter<MemFs>,
    pub(super) reader: LogReader<MemFs>,
    pub(super) ops: VecDeque<(Ticket, StorageOp)>,
    pub(super) done: VecDeque<Command<Words>>,
    /// Whether the snapshot thread is slow: what it is given waits.
    pub(super) slow: bool,
    pub(super) waiting: Vec<SnapshotJob>,
    /// Whether the reader thread is slow: what it is asked waits.
    pub(super) slow_reads: bool,
    pub(super) to_read: VecDeque<(ReadId, ReadRequest)>,
}

impl Storage for Disk {
    fn submit(&mut self, ticket: Ticket, op: StorageOp) {
        self.ops.push_back((ticket, op));
    }

    fn read(&mut self, read: ReadId, request: ReadRequest) {
        if self.slow_reads {
            return self.to_read.push_back((read, request));
        }
        let outcome: ReadOutcome = perform_read(&self.reader, request);
        self.done.push_back(Command::ReadDone { read, outcome });
    }

    fn write_snapshot(&mut self, job: SnapshotJob) {
        if self.slow {
            return self.waiting.push(job);
        }
        let snapshot = job.snapshot;
        let outcome: SnapshotOutcome = perform_snapshot(&self.reader, job);
        self.done
            .push_back(Command::SnapshotWritten { snapshot, outcome });
    }
}

/// A network on which nobody is, unless the test takes the parts of the others.
#[derive(Default)]
pub(super) struct Nobody {
    pub(super) asked: Vec<OutboundRequest>,
    pub(super) takes: bool,
}

impl Network for Nobody {
    fn send(&mut self, request: OutboundRequest) -> Result<(), RequestFault> {
        self.asked.push(request);
        if self.takes {
            Ok(())
        } else {
            Err(RequestFault::Disconnected)
        }
    }
}

pub(super) struct Node {
    pub(super) engine: Engine<Words, Disk, Nobody>,
    pub(super) now_ms: u64,
}

impl Node {
    pub(super) fn open(fs: &MemFs, voters: &[(i32, u16)]) -> Self {
        Self::open_with(fs, voters, |_| ())
    }

    pub(super) fn open_with(fs: &MemFs, voters: &[(i32, u16)], adjust: impl Fn(&mut EngineConfig)) -> Self {
        Self::open_remembering(fs, voters, LogOptions::default().recent_bytes, adjust)
    }

    /// Keeps no more than so many bytes of the newest batches in memory.
    pub(super) fn open_remembering(
        fs: &MemFs,
        voters: &[(i32, u16)],
        recent_bytes: usize,
        adjust: impl Fn(&mut EngineConfig),
    ) -> Self {
        fs.create_dir_all(Path::new("/data"))
            .expect("memory does not fail");
        fs.sync_dir(Path::new("/")).expect("memory does not fail");
        let opened = kraft_log::open(
            fs.clone(),
            Path::new("/data/__cluster_metadata-0"),
            LogOptions {
                retention: Retention {
                    bytes: Some(0),
                    age_ms: None,
                },
                recent_bytes,
                ..LogOptions::default()
            },
        )
        .expect("the log opens");
        let storage = Disk {
            writer: opened.writer,
            reader: opened.reader,
            ops: VecDeque::new(),
            done: VecDeque::new(),
            slow: false,
            waiting: Vec::new(),
            slow_reads: false,
            to_read: VecDeque::new(),
        };
        let mut settings = EngineConfig::new(config(1, voters));
        settings.stopwatch = || Instant(0);
        adjust(&mut settings);
        let engine = Engine::open(
            settings,
            opened.index,
            opened.recovered,
            Words::default(),
            storage,
            Nobody::default(),
            time(0),
        )
        .expect("the engine opens");
        Self { engine, now_ms: 0 }
    }

    pub(super) fn turn(&mut self, commands: impl IntoIterator<Item = Command<Words>>) {
        assert_eq!(self.turn_to_end(commands), None);
    }

    /// As `turn`, where the engine may end.
    pub(super) fn turn_to_end(
        &mut self,
        commands: impl IntoIterator<Item = Command<Words>>,
    ) -> Option<Result<(), NodeError>> {
        let now = time(self.now_ms);
        let mut queue: VecDeque<_> = commands
            .into_iter()
            .map(|command| QueuedCommand {
                command,
                enqueued_at: now.mono,
            })
            .collect();
        let turn = self.engine.turn(&mut queue, now);
        // What was read on the spot comes back in a turn of its own.
        let done: Vec<_> = self.engine.storage_mut().done.drain(..).collect();
        if turn.ended.is_none() && !done.is_empty() {
            return self.turn_to_end(done);
        }
        turn.ended
    }

    /// When the engine wants its next turn, should nothing arrive.
    pub(super) fn next_turn(&mut self) -> Option<Instant> {
        self.engine.turn(&mut VecDeque::new(), time(self.now_ms)).next
    }

    /// The log thread does all it has.
    pub(super) fn flush(&mut self) {
        let done = self.written();
        self.turn(done);
    }

    /// The reader thread does all it has.
    pub(super) fn read(&mut self) {
        let disk = self.engine.storage_mut();
        let reads = std::mem::take(&mut disk.to_read);
        let done = reads.into_iter().map(|(read, request)| {
            let outcome = perform_read(&disk.reader, request);
            Command::ReadDone { read, outcome }
        });
        let done: Vec<_> = done.collect();
        self.turn(done);
    }

    /// As `flush`, without telling the engine.
    pub(super) fn written(&mut self) -> Vec<Command<Words>> {
        let disk = self.engine.storage_mut();
        while !disk.ops.is_empty() {
            let round = disk
                .writer
                .run_round(&mut disk.ops)
                .expect("memory does not fail");
            if let Some(rejected) = round.rejected {
                let snapshot = rejected.snapshot;
                disk.done
                    .push_back(Command::Event(Event::SnapshotRejected { snapshot }));
            }
            if let Some(cleaned) = round.cleaned {
                disk.done.push_back(Command::LogCleaned(cleaned));
            }
            let up_to = round.up_to;
            disk.done.push_back(Command::Event(Event::Durable { up_to }));
        }
        disk.done.drain(..).collect()
    }

    pub(super) fn run_until(&mut self, what: &str, reached: impl Fn(&Self) -> bool) {
        for _ in 0..1000 {
            if reached(self) {
                return;
            }
            self.flush();
            self.now_ms += 10;
            self.turn([]);
        }
        panic!("not reached: {what}");
    }

    pub(super) fn lead(&mut self) {
        self.run_until("leading", |node| node.engine.watch().borrow().leading);
        self.flush();
    }
}

pub(super) fn time(ms: u64) -> Time {
    Time {
        mono: Instant::from_millis(ms),
        wall_ms: 1_700_000_000_000 + ms as i64,
    }
}

pub(super) fn submit(
    word: &str,
) -> (
    Command<Words>,
    oneshot::Receiver<Result<SubmitChangeResult, RaftError>>,
) {
    let (reply, answer) = oneshot::channel();
    let command = Command::SubmitChange {
        records: vec![word.to_owned()],
        expected_image: None,
        reply,
    };
    (command, answer)
}

pub(super) fn inbound(api: PeerApi, body: bytes::Bytes) -> (Command<Words>, oneshot::Receiver<bytes::Bytes>) {
    let version = *api.versions().end();
    inbound_at(api, body, version)
}

pub(super) fn inbound_at(
    api: PeerApi,
    body: bytes::Bytes,
    version: i16,
) -> (Command<Words>, oneshot::Receiver<bytes::Bytes>) {
    let (reply, answer) = oneshot::channel();
    let inbound = Inbound::new(api, body, version, "CONTROLLER".into(), reply);
    (Command::Inbound(inbound), answer)
}

/// A Vote request of node 2 for itself.
pub(super) fn vote(node: &Node, epoch: i32) -> bytes::Bytes {
    let vote = PeerRequest::Vote {
        cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".into(),
        voter: ReplicaKey::new(NodeId(1), uuid::Uuid::nil()),
        candidate: ReplicaKey::new(NodeId(2), uuid::Uuid::nil()),
        epoch: Epoch(epoch),
        log_end: node.engine.log().end(),
        pre_vote: false,
    };
    encode_request(&Topic::default(), &vote, 2).expect("version 2 carries it")
}

/// A Fetch at the end of the log of the node.
pub(super) fn fetch_at_end(node: &Node, max_wait_ms: i32) -> bytes::Bytes {
    let fetch = PeerRequest::Fetch {
        cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".into(),
        replica: ReplicaKey::new(NodeId(9), uuid::Uuid::from_u128(9)),
        epoch: node.engine.replica().epoch(),
        log_end: node.engine.log().end(),
        high_watermark: node.engine.replica().high_watermark().unwrap_or(-1),
        max_wait_ms,
        max_bytes: 1 << 20,
    };
    encode_request(&Topic::default(), &fetch, 18).expect("version 18 carries it")
}

pub(super) const FETCHED: SnapshotId = SnapshotId {
    end_offset: 40,
    epoch: Epoch(1),
};

/// The bytes of a whole snapshot with one word.
pub(super) fn snapshot_file() -> Bytes {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new(LOG_DIR)).expect("created");
    store_snapshot(&fs, FETCHED);
    let read = fs.read_bounded(&Path::new(LOG_DIR).join(frozen_name(FETCHED)), 1 << 20);
    read.expect("readable").expect("it is there").into()
}

pub(super) const LOG_DIR: &str = "/data/__cluster_metadata-0";

/// Writes a snapshot with one word beside the log.
pub(super) fn store_snapshot(fs: &MemFs, id: SnapshotId) {
    let header = SnapshotHeader {
        last_contained_log_timestamp: 0,
        kraft_version: 0,
        voters: None,
    };
    let mut writer = SnapshotWriter::create(fs, Path::new(LOG_DIR), id, &header, || 0).expect("created");
    writer.append(b"from the snapshot").expect("appended");
    writer.freeze().expect("frozen");
}

/// A voter that follows node 2 and has sent it a first Fetch.
pub(super) fn follower(fs: &MemFs) -> Node {
    let mut node = Node::open(fs, &[(1, 9001), (2, 9002)]);
    node.engine.network_mut().takes = true;
    node.told_of_leader(1);
    node
}

impl Node {
    /// Node 2 says that it leads.
    pub(super) fn told_of_leader(&mut self, epoch: i32) {
        let begin = PeerRequest::BeginQuorumEpoch {
            cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".into(),
            voter: ReplicaKey::without_directory(NodeId(1)),
            leader: NodeId(2),
            epoch: Epoch(epoch),
            endpoints: Endpoints::single(
                "CONTROLLER",
                Endpoint {
                    host: "127.0.0.1".into(),
                    port: 9002,
                },
            ),
        };
        let body = encode_request(&Topic::default(), &begin, 1).expect("version 1 carries it");
        let (command, _answer) = inbound(PeerApi::BeginQuorumEpoch, body);
        self.turn([command]);
        self.flush();
    }

    /// Node 2 votes for this node whenever it is asked, until that leads.
    pub(super) fn elected(&mut self) {
        self.engine.network_mut().takes = true;
        for _ in 0..1000 {
            if self.engine.replica().role() == RoleName::Leader {
                return self.flush();
            }
            for OutboundRequest {
                request, to, body, ..
            } in std::mem::take(&mut self.engine.network_mut().asked)
            {
                if let PeerRequest::Vote { epoch, .. } = body
                    && to.id == NodeId(2)
                {
                    self.granted(request, epoch);
                }
            }
            self.flush();
            self.now_ms += 10;
            self.turn([]);
        }
        panic!("not elected");
    }

    pub(super) fn granted(&mut self, request: RequestId, epoch: Epoch) {
        let partition = m::VoteResponsePartition {
            leader_id: -1,
            leader_epoch: epoch.0,
            vote_granted: true,
            ..Default::default()
        };
        let body = m::VoteResponse {
            topics: vec![m::VoteResponseTopic {
                topic_name: Topic::default().name.to_string(),
                partitions: vec![partition],
                ..Default::default()
            }],
            ..Default::default()
        };
        let body = body.to_bytes(2).expect("encoded");
        self.turn([Command::VoteResponse(from_leader(request, 2, body))]);
    }

    /// Node 2 answers that it follows.
    pub(super) fn follows(&mut self, request: RequestId) {
        let partition = m::BeginQuorumEpochResponsePartition {
            leader_id: 1,
            leader_epoch: self.engine.replica().epoch().0,
            ..Default::default()
        };
        let body = m::BeginQuorumEpochResponse {
            topics: vec![m::BeginQuorumEpochResponseTopic {
                topic_name: Topic::default().name.to_string(),
                partitions: vec![partition],
                ..Default::default()
            }],
            ..Default::default()
        };
        let body = body.to_bytes(1).expect("encoded");
        self.turn([Command::BeginQuorumEpochResponse(from_leader(request, 1, body))]);
    }

    /// A replica fetches at the end of this node's log, as one that has everything.
    pub(super) fn fetched_by(&mut self, id: i32) -> oneshot::Receiver<Bytes> {
        let fetch = PeerRequest::Fetch {
            cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".into(),
            replica: ReplicaKey::new(NodeId(id), uuid::Uuid::from_u128(id as u128)),
            epoch: self.engine.replica().epoch(),
            log_end: self.engine.log().end(),
            high_watermark: -1,
            max_wait_ms: 0,
            max_bytes: 1 << 20,
        };
        let body = encode_request(&Topic::default(), &fetch, 18).expect("version 18 carries it");
        let (command, answer) = inbound(PeerApi::Fetch, body);
        self.turn([command]);
        answer
    }

    /// What somebody who begins to watch now sees of leader and epoch.
    pub(super) fn watched(&self) -> (Option<NodeId>, Epoch) {
        let state = self.engine.watch();
        let state = state.borrow();
        (state.leader, state.epoch)
    }

    /// The request to node 2 that is waiting for an answer, after as much time as it takes.
    pub(super) fn asked(&mut self, what: impl Fn(&PeerRequest) -> bool) -> RequestId {
        for _ in 0..1000 {
            let asked = std::mem::take(&mut self.engine.network_mut().asked);
            let found = asked.into_iter().rfind(|request| what(&request.body));
            if let Some(request) = found {
                return request.request;
            }
            self.now_ms += 1;
            self.turn([]);
        }
        panic!("node 2 is not asked");
    }

    pub(super) fn offered(&mut self) {
        let request = self.asked(|body| matches!(body, PeerRequest::Fetch { .. }));
        let mut partition = m::FetchResponsePartition {
            high_watermark: FETCHED.end_offset,
            ..Default::default()
        };
        partition.current_leader.leader_id = 2;
        partition.current_leader.leader_epoch = 1;
        partition.snapshot_id.end_offset = FETCHED.end_offset;
        partition.snapshot_id.epoch = FETCHED.epoch.0;
        let topic = Topic::default();
        let body = m::FetchResponse {
            responses: vec![m::FetchResponseTopic {
                topic_id: topic.id,
                partitions: vec![partition],
                ..Default::default()
            }],
            ..Default::default()
        };
        let body = body.to_bytes(17).expect("encoded");
        self.turn([Command::FetchResponse(from_leader(request, 17, body))]);
    }

    pub(super) fn served(&mut self, size: usize, position: usize, bytes: Bytes) {
        let request = self.asked(|body| matches!(body, PeerRequest::FetchSnapshot { .. }));
        let mut partition = m::FetchSnapshotResponsePartition {
            size: size as i64,
            position: position as i64,
            unaligned_records: bytes,
            ..Default::default()
        };
        partition.current_leader.leader_id = 2;
        partition.current_leader.leader_epoch = 1;
        partition.snapshot_id.end_offset = FETCHED.end_offset;
        partition.snapshot_id.epoch = FETCHED.epoch.0;
        let body = m::FetchSnapshotResponse {
            topics: vec![m::FetchSnapshotResponseTopic {
                name: Topic::default().name.to_string(),
                partitions: vec![partition],
                ..Default::default()
            }],
            ..Default::default()
        };
        let body = body.to_bytes(1).expect("encoded");
        self.turn([Command::FetchSnapshotResponse(from_leader(request, 1, body))]);
    }
}

/// Where a leader listens, as an answer says.
pub(super) fn listening(node_id: i32, port: i32) -> m::FetchResponseNodeEndpoint {
    m::FetchResponseNodeEndpoint {
        node_id,
        host: "127.0.0.1".to_owned(),
        port,
        ..Default::default()
    }
}

pub(super) fn from_leader(request: RequestId, version: i16, body: Bytes) -> PeerResponse {
    PeerResponse {
        request,
        from: ReplicaKey::without_directory(NodeId(2)),
        version,
        body,
    }
}

/// Names of snapshot files, whole and in part, but not of deleted ones.
pub(super) fn snapshot_files(fs: &MemFs) -> Vec<String> {
    let entries = fs.list(Path::new("/data/__cluster_metadata-0")).expect("listed");
    let names = entries.into_iter().map(|entry| entry.name);
    names
        .filter(|name| name.contains("checkpoint") && name.starts_with('0') && !name.ends_with(".deleted"))
        .collect()
}

impl Node {
    pub(super) fn commit(&mut self, word: &str) {
        let (command, mut answer) = submit(word);
        self.turn([command]);
        self.flush();
        answer.try_recv().expect("answered").expect("committed");
    }

    /// Where the latest snapshot ends.
    pub(super) fn snapshot_end(&self) -> Option<i64> {
        let snapshot = self.engine.log().latest_snapshot();
        snapshot.map(|snapshot| snapshot.end_offset)
    }

    pub(super) fn end(&self) -> i64 {
        self.engine.log().end().last_offset
    }
}

impl Node {
    /// Node 2 answers the next Fetch with words, a batch each, and a high watermark.
    pub(super) fn replicated(&mut self, words: &[&str], high_watermark: i64) {
        let mut records = Vec::new();
        for (base, word) in (self.end()..).zip(words) {
            let mut batch = BatchBuilder::data(1_700_000_000_000);
            batch.push(word.as_bytes()).expect("it fits");
            records.extend_from_slice(&batch.build(base, 1));
        }
        self.fetched(records, high_watermark);
    }

    /// Node 2 answers the next Fetch with these batches.
    pub(super) fn fetched(&mut self, records: Vec<u8>, high_watermark: i64) {
        self.answered_without_flush(records, high_watermark);
        self.flush();
        self.flush();
    }

    /// As `fetched`; the log thread has done nothing yet.
    pub(super) fn answered_without_flush(&mut self, records: Vec<u8>, high_watermark: i64) {
        let partition = m::FetchResponsePartition {
            high_watermark,
            records: Some(records.into()),
            ..Default::default()
        };
        self.answered_by_leader(1, partition);
    }

    /// Node 2, which leads `epoch`, answers the Fetch that this node has sent it; the log thread has done nothing yet.
    pub(super) fn answered_by_leader(&mut self, epoch: i32, mut partition: m::FetchResponsePartition) {
        let request = self.asked(|body| matches!(body, PeerRequest::Fetch { .. }));
        partition.current_leader.leader_id = 2;
        partition.current_leader.leader_epoch = epoch;
        let body = m::FetchResponse {
            responses: vec![m::FetchResponseTopic {
                topic_id: Topic::default().id,
                partitions: vec![partition],
                ..Default::default()
            }],
            node_endpoints: vec![listening(2, 9002)],
            ..Default::default()
        };
        let body = body.to_bytes(17).expect("encoded");
        self.turn([Command::FetchResponse(from_leader(request, 17, body))]);
    }
}
