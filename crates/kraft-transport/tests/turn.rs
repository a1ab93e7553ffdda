//! The engine's turn without a runtime: time is a number, the disk is memory, the log thread runs when it is told to.

mod common;

use bytes::Bytes;
use common::{BEGIN, END, Words, config};
use kraft_core::{
    Endpoint, Endpoints, Epoch, Event, Instant, LogView, NodeId, PeerRequest, ReplicaKey, RequestFault,
    RequestId, RoleName, SnapshotId, StateMachine, Ticket, Time,
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
use std::{collections::VecDeque, path::Path, time::Duration};
use tokio::sync::oneshot::{self, error::TryRecvError};

/// A disk whose log thread runs when the test says so, and whose reads are done on the spot.
struct Disk {
    writer: LogWriter<MemFs>,
    reader: LogReader<MemFs>,
    ops: VecDeque<(Ticket, StorageOp)>,
    done: VecDeque<Command<Words>>,
    /// Whether the snapshot thread is slow: what it is given waits.
    slow: bool,
    waiting: Vec<SnapshotJob>,
}

impl Storage for Disk {
    fn submit(&mut self, ticket: Ticket, op: StorageOp) {
        self.ops.push_back((ticket, op));
    }

    fn read(&mut self, read: ReadId, request: ReadRequest) {
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
struct Nobody {
    asked: Vec<OutboundRequest>,
    takes: bool,
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

struct Node {
    engine: Engine<Words, Disk, Nobody>,
    now_ms: u64,
}

impl Node {
    fn open(fs: &MemFs, voters: &[(i32, u16)]) -> Self {
        Self::open_with(fs, voters, |_| ())
    }

    fn open_with(fs: &MemFs, voters: &[(i32, u16)], adjust: impl Fn(&mut EngineConfig)) -> Self {
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

    fn turn(&mut self, commands: impl IntoIterator<Item = Command<Words>>) {
        assert_eq!(self.turn_to_end(commands), None);
    }

    /// As `turn`, where the engine may end.
    fn turn_to_end(
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

    /// The log thread does all it has.
    fn flush(&mut self) {
        let done = self.written();
        self.turn(done);
    }

    /// As `flush`, without telling the engine.
    fn written(&mut self) -> Vec<Command<Words>> {
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

    fn run_until(&mut self, what: &str, reached: impl Fn(&Self) -> bool) {
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

    fn lead(&mut self) {
        self.run_until("leading", |node| node.engine.watch().borrow().leading);
        self.flush();
    }
}

fn time(ms: u64) -> Time {
    Time {
        mono: Instant::from_millis(ms),
        wall_ms: 1_700_000_000_000 + ms as i64,
    }
}

fn submit(
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

#[test]
fn a_single_voter_leads_and_answers_what_is_durable_and_applied() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (first, mut first_answer) = submit("one");
    let (second, mut second_answer) = submit("two");
    node.turn([first, second]);
    assert_eq!(
        first_answer.try_recv(),
        Err(TryRecvError::Empty),
        "not durable yet"
    );
    let queued = node.engine.storage_mut().ops.len();
    assert_eq!(queued, 1, "proposals of one turn become one batch");
    node.flush();
    let first = first_answer.try_recv().expect("answered").expect("committed");
    let second = second_answer.try_recv().expect("answered").expect("committed");
    assert_eq!(second.base_offset, first.last_offset + 1);
    let image = node.engine.watch_image().borrow().clone();
    assert_eq!(*image, ["epoch 1", "one", "two"]);
}

#[test]
fn what_was_committed_is_there_after_a_restart() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    let (command, mut answer) = submit("kept");
    node.turn([command]);
    node.flush();
    answer.try_recv().expect("answered").expect("committed");
    drop(node);

    let after = fs.crash_image(kraft_fs::Unsynced::Lost);
    let mut node = Node::open(&after, &[(1, 9001)]);
    node.lead();
    let image = node.engine.watch_image().borrow().clone();
    assert_eq!(*image, ["epoch 1", "kept", "epoch 2"]);
}

#[test]
fn listener_010_a_snapshot_is_loaded_before_the_records_behind_it() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    let (command, _answer) = submit("in the snapshot");
    node.turn([command]);
    node.flush();
    let (reply, mut written) = oneshot::channel();
    node.turn([Command::TriggerSnapshot { reply }]);
    assert_eq!(written.try_recv(), Ok(Ok(())));
    drop(node);

    let mut node = Node::open(&fs.crash_image(kraft_fs::Unsynced::Lost), &[(1, 9001)]);
    node.turn([]);
    let image = node.engine.watch_image().borrow().clone();
    assert_eq!(*image, ["epoch 1", "in the snapshot"], "before anybody leads");
    node.lead();
    let image = node.engine.watch_image().borrow().clone();
    assert_eq!(*image, ["epoch 1", "in the snapshot", "epoch 2"]);
}

#[test]
fn a_snapshot_that_is_gone_ends_the_node() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    let (reply, mut written) = oneshot::channel();
    node.turn([Command::TriggerSnapshot { reply }]);
    assert_eq!(written.try_recv(), Ok(Ok(())));
    let snapshot = node.engine.log().latest_snapshot().expect("it is written");
    drop(node);

    let mut node = Node::open(&fs, &[(1, 9001)]);
    let file = Path::new("/data/__cluster_metadata-0").join(frozen_name(snapshot));
    fs.remove(&file).expect("it is there");
    let ended = node.turn_to_end([]);
    assert!(
        matches!(&ended, Some(Err(NodeError::Storage { reason })) if reason.contains(".checkpoint is gone")),
        "{ended:?}"
    );
}

#[test]
fn nothing_gathers_on_a_disk_that_hangs() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001), (2, 9002), (3, 9003)]);
    for epoch in 1..100 {
        let (command, answer) = inbound(PeerApi::Vote, vote(&node, epoch));
        node.turn([command]);
        drop(answer);
        node.now_ms += 1;
    }
    node.now_ms += 1000;
    node.turn([]);
    // The callers have gone; each of the two peers is owed one request.
    let held = node.engine.held_back();
    assert!(held <= 2, "{held} are held back");
}

#[test]
fn an_expected_image_that_has_moved_on_is_a_conflict() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let expected = kraft_core::StateMachine::provenance(node.engine.machine());
    let ask = |word: &str| {
        let (reply, answer) = oneshot::channel();
        let command = Command::SubmitChange {
            records: vec![word.to_owned()],
            expected_image: Some(expected),
            reply,
        };
        (command, answer)
    };
    let (first, mut first_answer) = ask("mine");
    let (second, mut second_answer) = ask("yours");
    node.turn([first, second]);
    node.flush();
    assert!(first_answer.try_recv().expect("answered").is_ok());
    assert!(matches!(
        second_answer.try_recv().expect("answered"),
        Err(RaftError::Conflict { .. })
    ));
}

#[test]
fn a_voter_without_the_others_takes_nothing() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002), (3, 9003)]);
    node.run_until("asking for pre-votes", |node| {
        node.engine.replica().role() == RoleName::Prospective
    });
    node.flush();
    let (command, mut answer) = submit("lost");
    node.turn([command]);
    assert!(matches!(
        answer.try_recv().expect("answered"),
        Err(RaftError::NotLeader { leader: None, .. })
    ));
    let asked = &node.engine.network_mut().asked;
    assert!(
        asked
            .iter()
            .any(|request| PeerApi::of(&request.body) == PeerApi::Vote)
    );
}

#[test]
fn a_request_that_cannot_be_decoded_is_dropped() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    for api in PeerApi::ALL {
        let (reply, mut answer) = oneshot::channel();
        let body = bytes::Bytes::from_static(&[0xff; 7]);
        let version = *api.versions().end();
        let inbound = Inbound::new(api, body, version, "CONTROLLER".into(), reply);
        node.turn([Command::Inbound(inbound)]);
        assert_eq!(answer.try_recv(), Err(TryRecvError::Closed), "{api:?}");
    }
}

#[test]
fn a_proposal_whose_caller_has_gone_is_not_appended() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (command, answer) = submit("nobody waits");
    drop(answer);
    node.turn([command]);
    node.flush();
    let image = node.engine.watch_image().borrow().clone();
    assert_eq!(*image, ["epoch 1"]);
}

#[test]
fn a_voter_change_that_cannot_be_is_refused_with_kafkas_code() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (reply, mut answer) = oneshot::channel();
    let voter = kraft_core::ReplicaKey::without_directory(kraft_core::NodeId(2));
    let change = kraft_transport::VoterChange::Remove { voter };
    node.turn([Command::Reconfigure { change, reply }]);
    assert!(matches!(
        answer.try_recv().expect("answered"),
        Err(RaftError::Invalid { code: 42, .. })
    ));
}

/// What a lone voter at kraft.version 0 says to UpdateFeatures.
fn update_kraft_version(node: &mut Node, level: i16, upgrade_type: i8) -> m::UpdateFeaturesResponse {
    let request = m::UpdateFeaturesRequest {
        feature_updates: vec![m::UpdateFeaturesRequestFeatureUpdate {
            feature: "kraft.version".to_owned(),
            max_version_level: level,
            upgrade_type,
            ..Default::default()
        }],
        ..Default::default()
    };
    let (reply, mut answer) = oneshot::channel();
    node.turn([Command::Request {
        api: 57,
        version: 2,
        body: request.to_bytes(2).expect("version 2 carries it"),
        listener: "CONTROLLER".into(),
        reply,
    }]);
    node.flush();
    let body = answer.try_recv().expect("answered once it is committed");
    m::UpdateFeaturesResponse::from_bytes(&body, 2).expect("an answer")
}

#[test]
fn kraft_version_is_raised_by_consensus_and_not_by_the_state_machine() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    assert_eq!(node.engine.replica().kraft_version(), 0);
    let refused = update_kraft_version(&mut node, 2, 1);
    assert_eq!(refused.error_code, 95);
    assert_eq!(
        refused.error_message.as_deref(),
        Some(
            "The update failed for all features since the following feature had an error: Invalid update version 2 \
             for feature kraft.version. Local controller 1 only supports versions 0-1"
        )
    );
    let done = update_kraft_version(&mut node, 1, 1);
    assert_eq!((done.error_code, done.error_message), (0, None));
    assert_eq!(node.engine.replica().kraft_version(), 1);
    let voters = node.engine.replica().voters();
    assert!(voters.iter().all(|voter| voter.key.directory_id.is_some()));
    assert_eq!(update_kraft_version(&mut node, 1, 2).error_code, 0);
    assert_eq!(update_kraft_version(&mut node, 0, 2).error_code, 95);
}

#[test]
fn an_observer_reads_what_is_committed() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (command, _answer) = submit("seen");
    node.turn([command]);
    node.flush();
    let (reply, mut answer) = oneshot::channel();
    node.turn([Command::MetadataFetch {
        fetch_offset: 0,
        max_size: 1 << 20,
        replica: None,
        reply,
    }]);
    let slice = answer.try_recv().expect("answered");
    let batches = kraft_wire::batch::Batches::collect_all(slice.records).expect("whole batches");
    let last = batches.last().expect("there are batches").last_offset();
    assert_eq!(last + 1, slice.high_watermark);
    assert_eq!(slice.quorum_high_watermark, slice.high_watermark);
}

fn inbound(api: PeerApi, body: bytes::Bytes) -> (Command<Words>, oneshot::Receiver<bytes::Bytes>) {
    let (reply, answer) = oneshot::channel();
    let version = *api.versions().end();
    let inbound = Inbound::new(api, body, version, "CONTROLLER".into(), reply);
    (Command::Inbound(inbound), answer)
}

/// A Vote request of node 2 for itself.
fn vote(node: &Node, epoch: i32) -> bytes::Bytes {
    let vote = PeerRequest::Vote {
        cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".to_owned(),
        voter: ReplicaKey::new(NodeId(1), uuid::Uuid::nil()),
        candidate: ReplicaKey::new(NodeId(2), uuid::Uuid::nil()),
        epoch: Epoch(epoch),
        log_end: node.engine.log().end(),
        pre_vote: false,
    };
    encode_request(&Topic::default(), &vote, 2).expect("version 2 carries it")
}

/// A Fetch at the end of the log of the node.
fn fetch_at_end(node: &Node, max_wait_ms: i32) -> bytes::Bytes {
    let fetch = PeerRequest::Fetch {
        cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".to_owned(),
        replica: ReplicaKey::new(NodeId(9), uuid::Uuid::from_u128(9)),
        epoch: node.engine.replica().epoch(),
        log_end: node.engine.log().end(),
        high_watermark: node.engine.replica().high_watermark().unwrap_or(-1),
        max_wait_ms,
        max_bytes: 1 << 20,
    };
    encode_request(&Topic::default(), &fetch, 18).expect("version 18 carries it")
}

#[test]
fn a_parked_fetch_gets_what_is_appended_before_it_is_written() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (command, mut fetched) = inbound(PeerApi::Fetch, fetch_at_end(&node, 500));
    node.turn([command]);
    assert_eq!(
        fetched.try_recv(),
        Err(TryRecvError::Empty),
        "there is nothing yet"
    );
    let (command, mut answer) = submit("fresh");
    node.turn([command]);
    let body = fetched.try_recv().expect("the append completes it");
    let body = m::FetchResponse::from_bytes(&body, 18).expect("decoded");
    let records = body.responses[0].partitions[0].records.clone();
    let batches = kraft_wire::batch::Batches::collect_all(records.expect("records")).expect("a batch");
    let value = batches[0]
        .records()
        .next()
        .expect("a record")
        .expect("whole")
        .value;
    assert_eq!(value.as_deref(), Some(&b"fresh"[..]));
    assert_eq!(
        answer.try_recv(),
        Err(TryRecvError::Empty),
        "nothing is durable yet"
    );
}

#[test]
fn a_parked_fetch_whose_time_is_over_is_answered_with_nothing() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (command, mut fetched) = inbound(PeerApi::Fetch, fetch_at_end(&node, 500));
    node.turn([command]);
    node.now_ms += 499;
    node.turn([]);
    assert_eq!(fetched.try_recv(), Err(TryRecvError::Empty));
    node.now_ms += 1;
    node.turn([]);
    let body = fetched.try_recv().expect("its time is over");
    let body = m::FetchResponse::from_bytes(&body, 18).expect("decoded");
    assert_eq!(body.responses[0].partitions[0].error_code, 0);
    let records = body.responses[0].partitions[0].records.clone();
    assert_eq!(records.as_deref(), Some(&b""[..]));
}

#[test]
fn a_record_that_cannot_be_applied_ends_the_node() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (command, _answer) = submit("poison");
    node.turn([command]);
    let written = node.written();
    let ended = node.turn_to_end(written);
    assert!(matches!(ended, Some(Err(NodeError::Apply(_)))), "{ended:?}");
}

#[test]
fn append_002_more_than_may_wait_is_refused_at_once() {
    let mut node = Node::open_with(&MemFs::new(), &[(1, 9001)], |config| {
        config.proposal_bytes_max = 200
    });
    node.lead();
    let (command, mut first) = submit(&"long enough to fill the bound".repeat(10));
    node.turn([command]);
    let (command, mut second) = submit("one too many");
    node.turn([command]);
    assert!(matches!(
        second.try_recv().expect("answered at once"),
        Err(RaftError::Busy { .. })
    ));
    node.flush();
    first.try_recv().expect("answered").expect("committed");
    let (command, mut third) = submit("there is room again");
    node.turn([command]);
    node.flush();
    third.try_recv().expect("answered").expect("committed");
}

const FETCHED: SnapshotId = SnapshotId {
    end_offset: 40,
    epoch: Epoch(1),
};

/// The bytes of a whole snapshot with one word.
fn snapshot_file() -> Bytes {
    let fs = MemFs::new();
    let dir = Path::new("/");
    let header = SnapshotHeader {
        last_contained_log_timestamp: 0,
        kraft_version: 0,
        voters: None,
    };
    let mut writer = SnapshotWriter::create(&fs, dir, FETCHED, &header, || 0).expect("created");
    writer.append(b"from the snapshot").expect("appended");
    writer.freeze().expect("frozen");
    let read = fs.read_bounded(&dir.join(frozen_name(FETCHED)), 1 << 20);
    read.expect("readable").expect("it is there").into()
}

/// A voter that follows node 2 and has sent it a first Fetch.
fn follower(fs: &MemFs) -> Node {
    let mut node = Node::open(fs, &[(1, 9001), (2, 9002)]);
    node.engine.network_mut().takes = true;
    node.told_of_leader(1);
    node
}

impl Node {
    /// Node 2 says that it leads.
    fn told_of_leader(&mut self, epoch: i32) {
        let begin = PeerRequest::BeginQuorumEpoch {
            cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".to_owned(),
            voter: ReplicaKey::without_directory(NodeId(1)),
            leader: NodeId(2),
            epoch: Epoch(epoch),
            endpoints: Endpoints::single(
                "CONTROLLER",
                Endpoint {
                    host: "127.0.0.1".to_owned(),
                    port: 9002,
                },
            ),
        };
        let body = encode_request(&Topic::default(), &begin, 1).expect("version 1 carries it");
        let (command, _answer) = inbound(PeerApi::BeginQuorumEpoch, body);
        self.turn([command]);
        self.flush();
    }

    /// What somebody who begins to watch now sees of leader and epoch.
    fn watched(&self) -> (Option<NodeId>, Epoch) {
        let state = self.engine.watch();
        let state = state.borrow();
        (state.leader, state.epoch)
    }

    /// The request to node 2 that is waiting for an answer, after as much time as it takes.
    fn asked(&mut self, what: impl Fn(&PeerRequest) -> bool) -> RequestId {
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

    fn offered(&mut self) {
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

    fn served(&mut self, size: usize, position: usize, bytes: Bytes) {
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

fn from_leader(request: RequestId, version: i16, body: Bytes) -> PeerResponse {
    PeerResponse {
        request,
        from: ReplicaKey::without_directory(NodeId(2)),
        version,
        body,
    }
}

/// Names of snapshot files, whole and in part.
fn snapshot_files(fs: &MemFs) -> Vec<String> {
    let entries = fs.list(Path::new("/data/__cluster_metadata-0")).expect("listed");
    let names = entries.into_iter().map(|entry| entry.name);
    names
        .filter(|name| name.contains("checkpoint") && name.contains('-') && name.starts_with('0'))
        .collect()
}

#[test]
fn a_fetched_snapshot_that_fails_its_checks_is_deleted_and_fetched_again() {
    let fs = MemFs::new();
    let mut node = follower(&fs);
    let good = snapshot_file();
    let mut bad = good.to_vec();
    bad[100] ^= 1;
    node.offered();
    node.served(bad.len(), 0, bad.into());
    node.flush();
    node.flush();
    assert_eq!(node.engine.log().start(), 0, "the log is as it was");
    assert_eq!(node.engine.log().latest_snapshot(), None);
    assert_eq!(snapshot_files(&fs), [""; 0]);

    node.offered();
    node.served(good.len(), 0, good.slice(..50));
    node.flush();
    node.served(good.len(), 50, good.slice(50..));
    node.flush();
    node.flush();
    assert_eq!(node.engine.log().start(), 40);
    assert_eq!(node.engine.log().latest_snapshot(), Some(FETCHED));
    assert_eq!(snapshot_files(&fs), [frozen_name(FETCHED)]);
    assert_eq!(**node.engine.machine().image(), ["from the snapshot"]);
}

#[test]
fn a_download_that_is_given_up_leaves_no_file() {
    let fs = MemFs::new();
    let mut node = follower(&fs);
    let good = snapshot_file();
    node.offered();
    node.served(good.len(), 0, good.slice(..50));
    node.flush();
    assert_eq!(snapshot_files(&fs).len(), 1);
    // The leader stays silent until the follower looks for another one.
    node.run_until("a campaign", |node| {
        node.engine.replica().role() == RoleName::Prospective
    });
    node.flush();
    assert_eq!(snapshot_files(&fs), [""; 0]);
}

#[test]
fn once_a_minute_old_snapshots_and_the_log_before_them_go() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    for word in ["one", "two"] {
        let (command, _answer) = submit(word);
        node.turn([command]);
        node.flush();
        let (reply, mut written) = oneshot::channel();
        node.turn([Command::TriggerSnapshot { reply }]);
        node.flush();
        assert_eq!(written.try_recv().expect("answered"), Ok(()));
    }
    let newest = node.engine.log().latest_snapshot().expect("there are two");
    assert_eq!((node.engine.log().start(), snapshot_files(&fs).len()), (0, 2));
    node.now_ms = 59_000;
    node.turn([]);
    node.flush();
    assert_eq!(node.engine.log().start(), 0);
    node.now_ms = 61_000;
    node.turn([]);
    node.flush();
    assert_eq!(node.engine.log().start(), newest.end_offset);
    assert_eq!(snapshot_files(&fs), [frozen_name(newest)]);
}

#[test]
fn append_012_what_waits_for_one_turn_is_one_batch() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let base = node.engine.log().end().last_offset;
    let (commands, answers): (Vec<_>, Vec<_>) = [1, 2, 3, 2, 1]
        .map(|records| {
            let (reply, answer) = oneshot::channel();
            let command = Command::SubmitChange {
                records: vec!["word".to_owned(); records],
                expected_image: None,
                reply,
            };
            (command, answer)
        })
        .into_iter()
        .unzip();
    node.turn(commands);
    assert_eq!(node.engine.storage_mut().ops.len(), 1);
    node.flush();
    let last = answers.into_iter().map(|mut answer| {
        let result = answer.try_recv().expect("answered").expect("committed");
        result.last_offset - base
    });
    assert_eq!(last.collect::<Vec<_>>(), [0, 2, 5, 7, 8]);
    let bytes = node.engine.log().recent_until(base, 1 << 20, base + 9);
    let batches =
        kraft_wire::batch::Batches::collect_all(bytes.expect("it is recent")).expect("whole batches");
    assert_eq!(batches.len(), 1);
    assert_eq!(
        (batches[0].base_offset(), batches[0].last_offset()),
        (base, base + 8)
    );
    assert_eq!(batches[0].header().max_timestamp, time(node.now_ms).wall_ms);
}

#[test]
fn listener_007_who_watches_an_unattached_node_sees_the_epoch_and_then_the_leader() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002)]);
    let (command, _answer) = inbound(PeerApi::Vote, vote(&node, 7));
    node.turn([command]);
    node.flush();
    assert_eq!(node.watched(), (None, Epoch(7)));
    node.told_of_leader(7);
    assert_eq!(node.watched(), (Some(NodeId(2)), Epoch(7)));
}

#[test]
fn listener_008_who_begins_to_watch_a_follower_sees_leader_and_epoch() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002)]);
    node.told_of_leader(7);
    assert_eq!(node.watched(), (Some(NodeId(2)), Epoch(7)));
    assert!(!node.engine.watch().borrow().leading);
}

#[test]
fn listener_009_a_resigned_node_does_not_lead() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    drop(node);

    let mut node = Node::open(&fs, &[(1, 9001), (2, 9002)]);
    node.turn([]);
    node.flush();
    let state = node.engine.watch();
    assert_eq!(state.borrow().role, RoleName::Resigned);
    assert!(!state.borrow().leading, "the state machine is not told to lead");
    assert_eq!(state.borrow().high_watermark, None);
}

#[test]
fn snapshot_001_the_latest_snapshot_is_known_if_there_is_one() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    assert_eq!(node.engine.log().latest_snapshot(), None);
    let end = node.engine.log().end();
    let (reply, mut written) = oneshot::channel();
    node.turn([Command::TriggerSnapshot { reply }]);
    assert_eq!(written.try_recv(), Ok(Ok(())));
    let latest = SnapshotId {
        end_offset: end.last_offset,
        epoch: end.last_epoch,
    };
    assert_eq!(node.engine.log().latest_snapshot(), Some(latest));
}

#[test]
fn snapshot_030_only_a_snapshot_that_is_whole_becomes_the_latest() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let end = node.engine.log().end();
    let snapshot = SnapshotId {
        end_offset: end.last_offset,
        epoch: end.last_epoch,
    };
    let (reply, mut written) = oneshot::channel();
    let outcome = SnapshotOutcome::Failed {
        reason: "the disk is full".to_owned(),
    };
    let now = time(node.now_ms);
    let mut queue: VecDeque<_> = [
        Command::TriggerSnapshot { reply },
        Command::SnapshotWritten { snapshot, outcome },
    ]
    .map(|command| QueuedCommand {
        command,
        enqueued_at: now.mono,
    })
    .into();
    node.engine.turn(&mut queue, now);
    assert!(matches!(
        written.try_recv().expect("answered"),
        Err(RaftError::NoSnapshot { .. })
    ));
    assert_eq!(node.engine.log().latest_snapshot(), None);
    // The disk of the test has written it all the same, and says so now.
    let done: Vec<_> = node.engine.storage_mut().done.drain(..).collect();
    node.turn(done);
    assert_eq!(node.engine.log().latest_snapshot(), Some(snapshot));
}

/// A node that leads alone and writes snapshots by itself after so many bytes, and after so much time.
fn snapshotter(fs: &MemFs, new_bytes: u64, interval_ms: Option<u64>) -> Node {
    let mut node = Node::open_with(fs, &[(1, 9001)], |config| {
        config.snapshot_max_new_bytes = new_bytes;
        config.snapshot_max_interval = interval_ms.map(Duration::from_millis);
    });
    node.lead();
    assert_eq!(node.engine.log().latest_snapshot(), None);
    node
}

impl Node {
    fn commit(&mut self, word: &str) {
        let (command, mut answer) = submit(word);
        self.turn([command]);
        self.flush();
        answer.try_recv().expect("answered").expect("committed");
    }

    /// Where the latest snapshot ends.
    fn snapshot_end(&self) -> Option<i64> {
        let snapshot = self.engine.log().latest_snapshot();
        snapshot.map(|snapshot| snapshot.end_offset)
    }

    fn end(&self) -> i64 {
        self.engine.log().end().last_offset
    }
}

#[test]
fn enough_bytes_make_a_snapshot_and_are_counted_anew() {
    let mut node = snapshotter(&MemFs::new(), 1000, None);
    let word = "x".repeat(600);
    node.commit(&word);
    assert_eq!(node.snapshot_end(), None);
    node.commit(&word);
    assert_eq!(
        node.snapshot_end(),
        Some(node.end()),
        "behind the batch that was too much"
    );
    let first = node.snapshot_end();
    node.commit(&word);
    assert_eq!(node.snapshot_end(), first);
    node.commit(&word);
    assert_eq!(node.snapshot_end(), Some(node.end()));
}

#[test]
fn with_age_the_next_batch_makes_a_snapshot() {
    let mut node = snapshotter(&MemFs::new(), u64::MAX, Some(5000));
    let from = node.now_ms;
    node.now_ms = from + 4000;
    node.commit("young");
    assert_eq!(node.snapshot_end(), None);
    node.now_ms = from + 5000;
    node.turn([]);
    assert_eq!(node.snapshot_end(), None, "there is no timer");
    node.commit("old");
    let first = node.snapshot_end();
    assert_eq!(first, Some(node.end()));
    node.now_ms += 4999;
    node.commit("young again");
    assert_eq!(node.snapshot_end(), first);
    node.now_ms += 1;
    node.commit("old again");
    assert_eq!(node.snapshot_end(), Some(node.end()));
}

#[test]
fn without_an_interval_age_makes_no_snapshot() {
    let mut node = snapshotter(&MemFs::new(), u64::MAX, None);
    node.now_ms += 10 * 365 * 24 * 60 * 60 * 1000;
    node.commit("late");
    assert_eq!(node.snapshot_end(), None);
}

#[test]
fn a_snapshot_that_is_due_waits_for_the_end_of_the_transaction() {
    let mut node = snapshotter(&MemFs::new(), 1000, None);
    node.commit(BEGIN);
    for _ in 0..5 {
        node.commit(&"x".repeat(600));
        assert_eq!(node.snapshot_end(), None);
    }
    node.commit(END);
    assert_eq!(
        node.snapshot_end(),
        Some(node.end()),
        "the bytes were not forgotten"
    );
}

#[test]
fn one_snapshot_is_written_at_a_time_and_none_after_one_that_fails_before_it_is_due_again() {
    let mut node = snapshotter(&MemFs::new(), 1000, None);
    node.engine.storage_mut().slow = true;
    let word = "x".repeat(1000);
    node.commit(&word);
    let job = node.engine.storage_mut().waiting.pop().expect("it is due");
    assert_eq!(job.snapshot.end_offset, node.end());
    node.commit(&word);
    assert!(node.engine.storage_mut().waiting.is_empty(), "one at a time");
    let outcome = SnapshotOutcome::Failed {
        reason: "the disk is full".to_owned(),
    };
    let snapshot = job.snapshot;
    node.turn([Command::SnapshotWritten { snapshot, outcome }]);
    assert!(node.engine.storage_mut().waiting.is_empty(), "not before a batch");
    node.commit("small");
    let job = node
        .engine
        .storage_mut()
        .waiting
        .pop()
        .expect("bytes were counted meanwhile");
    assert_eq!(job.snapshot.end_offset, node.end());
    let outcome = SnapshotOutcome::Failed {
        reason: "the disk is full".to_owned(),
    };
    let snapshot = job.snapshot;
    node.turn([Command::SnapshotWritten { snapshot, outcome }]);
    node.commit("small");
    assert!(node.engine.storage_mut().waiting.is_empty(), "not due again yet");
    node.commit(&word);
    assert_eq!(node.engine.storage_mut().waiting.len(), 1);
}

#[test]
fn what_is_applied_again_after_a_start_makes_no_snapshot() {
    let fs = MemFs::new();
    let mut node = snapshotter(&fs, u64::MAX, None);
    for _ in 0..5 {
        node.commit(&"x".repeat(600));
    }
    drop(node);
    let mut node = snapshotter(&fs.crash_image(kraft_fs::Unsynced::Lost), 1000, None);
    assert_eq!(node.snapshot_end(), None, "it has only caught up");
    node.commit(&"x".repeat(1000));
    assert_eq!(node.snapshot_end(), Some(node.end()));
}

#[test]
fn a_follower_writes_snapshots_as_a_leader_does() {
    let fs = MemFs::new();
    let mut node = Node::open_with(&fs, &[(1, 9001), (2, 9002)], |config| {
        config.snapshot_max_new_bytes = 1000;
    });
    node.engine.network_mut().takes = true;
    node.told_of_leader(1);
    node.replicated(&["small"], 1);
    assert_eq!(node.snapshot_end(), None, "it has caught up");
    let long = "x".repeat(600);
    node.replicated(&[&long], 2);
    assert_eq!(node.snapshot_end(), None);
    // Of two batches that come at once the high watermark covers one.
    node.replicated(&[&long, &long], 3);
    assert_eq!(node.snapshot_end(), Some(3), "only what is committed");
    assert_eq!(node.end(), 4);
    assert_eq!(node.engine.replica().role(), RoleName::Follower);
}

impl Node {
    /// Node 2 answers the next Fetch with words, a batch each, and a high watermark.
    fn replicated(&mut self, words: &[&str], high_watermark: i64) {
        let request = self.asked(|body| matches!(body, PeerRequest::Fetch { .. }));
        let mut records = Vec::new();
        for (base, word) in (self.end()..).zip(words) {
            let mut batch = BatchBuilder::data(1_700_000_000_000);
            batch.push(word.as_bytes()).expect("it fits");
            records.extend_from_slice(&batch.build(base, 1));
        }
        let mut partition = m::FetchResponsePartition {
            high_watermark,
            records: Some(records.into()),
            ..Default::default()
        };
        partition.current_leader.leader_id = 2;
        partition.current_leader.leader_epoch = 1;
        let body = m::FetchResponse {
            responses: vec![m::FetchResponseTopic {
                topic_id: Topic::default().id,
                partitions: vec![partition],
                ..Default::default()
            }],
            ..Default::default()
        };
        let body = body.to_bytes(17).expect("encoded");
        self.turn([Command::FetchResponse(from_leader(request, 17, body))]);
        self.flush();
        self.flush();
    }
}
