//! The vocabulary of commands: broker projects speak it, so each name and field of it is there. Here, because one of them
//! exists in tests alone.

#[path = "../examples/kv/machine.rs"]
mod machine;

use crate::{
    Command, CommandSender, DelegationTokenMutation, Inbound, MetadataFetchSlice, NodeConfig, PeerApi,
    PeerResponse, QueuedCommand, QuorumStateSnapshot, RaftError, SubmitChangeResult, TimerTick, VoterChange,
    node, oneshot,
};
use bytes::Bytes;
use kraft_core::{
    Config, Event, Instant, NodeId, ReconfigOutcome, ReplicaKey, SupportedVersions, VoterNode,
    state_machine::Provenance,
};
use kraft_fs::MemFs;
use machine::{KeyValues, put};
use std::convert::Infallible;

type Reply<T> = oneshot::Sender<Result<T, RaftError>>;

/// The name of a command of the common vocabulary, with its fields under their names and of their types.
fn name(command: &Command<KeyValues>) -> Option<&'static str> {
    Some(match command {
        Command::Inbound(inbound) => {
            let _: &Inbound = inbound;
            "Inbound"
        }
        Command::Event(event) => {
            let _: &Event = event;
            "Event"
        }
        Command::FetchResponse(response)
        | Command::VoteResponse(response)
        | Command::FetchSnapshotResponse(response) => {
            let PeerResponse { from, body, .. } = response;
            let _: (&ReplicaKey, &Bytes) = (from, body);
            "a response"
        }
        Command::Timer(
            TimerTick::Election | TimerTick::Fetch | TimerTick::Heartbeat | TimerTick::CheckQuorum,
        ) => "Timer",
        Command::SubmitChange {
            records,
            expected_image,
            reply,
        } => {
            let _: (&Vec<String>, &Option<Provenance>, &Reply<SubmitChangeResult>) =
                (records, expected_image, reply);
            "SubmitChange"
        }
        Command::SubmitDelegationTokenMutations { mutations, reply } => {
            let _: &Vec<DelegationTokenMutation<KeyValues>> = mutations;
            let _: (&Vec<Infallible>, &Reply<SubmitChangeResult>) = (mutations, reply);
            "SubmitDelegationTokenMutations"
        }
        Command::Reconfigure { change, reply } => {
            let _: (&VoterChange, &Reply<ReconfigOutcome>) = (change, reply);
            "Reconfigure"
        }
        Command::TriggerSnapshot { reply } => {
            let _: &Reply<()> = reply;
            "TriggerSnapshot"
        }
        Command::QuorumStateSnapshot { reply } => {
            let _: &oneshot::Sender<QuorumStateSnapshot> = reply;
            "QuorumStateSnapshot"
        }
        Command::MetadataFetch {
            fetch_offset,
            max_size,
            replica,
            reply,
        } => {
            let _: (&i64, &u64, &Option<ReplicaKey>) = (fetch_offset, max_size, replica);
            let _: &oneshot::Sender<MetadataFetchSlice> = reply;
            "MetadataFetch"
        }
        Command::TestAppendAndCommit { records, reply } => {
            let _: (&Vec<String>, &oneshot::Sender<i64>) = (records, reply);
            "TestAppendAndCommit"
        }
        Command::Shutdown => "Shutdown",
        Command::Halt => "Halt",
        _ => return None,
    })
}

/// A command with a caller, and how to let the caller go.
type Asked = (Command<KeyValues>, Box<dyn FnOnce()>);

fn asked<T: 'static>(command: impl FnOnce(oneshot::Sender<T>) -> Command<KeyValues>) -> Asked {
    let (reply, answer) = oneshot::channel();
    (command(reply), Box::new(move || drop(answer)))
}

#[test]
fn every_command_with_a_caller_knows_when_it_is_gone() {
    let commands: Vec<(Asked, &str)> = vec![
        (
            asked(|reply| Command::SubmitChange {
                records: Vec::new(),
                expected_image: None,
                reply,
            }),
            "SubmitChange",
        ),
        (
            asked(|reply| Command::SubmitDelegationTokenMutations {
                mutations: Vec::new(),
                reply,
            }),
            "SubmitDelegationTokenMutations",
        ),
        (
            asked(|reply| Command::Reconfigure {
                change: VoterChange::Remove {
                    voter: ReplicaKey::without_directory(NodeId(1)),
                },
                reply,
            }),
            "Reconfigure",
        ),
        (
            asked(|reply| Command::TriggerSnapshot { reply }),
            "TriggerSnapshot",
        ),
        (
            asked(|reply| Command::QuorumStateSnapshot { reply }),
            "QuorumStateSnapshot",
        ),
        (
            asked(|reply| Command::MetadataFetch {
                fetch_offset: 0,
                max_size: 0,
                replica: None,
                reply,
            }),
            "MetadataFetch",
        ),
        (
            asked(|reply| Command::TestAppendAndCommit {
                records: Vec::new(),
                reply,
            }),
            "TestAppendAndCommit",
        ),
        (
            asked(|reply| {
                let listener = "CONTROLLER".into();
                Command::Inbound(Inbound::new(PeerApi::Fetch, Bytes::new(), 17, listener, reply))
            }),
            "Inbound",
        ),
    ];
    for ((command, let_go), expected) in commands {
        assert_eq!(name(&command), Some(expected));
        assert!(!command.caller_gone(), "{expected}");
        let_go();
        assert!(command.caller_gone(), "{expected}");
    }
}

#[test]
fn a_command_without_a_caller_has_none_to_lose() {
    let response = || PeerResponse {
        request: kraft_core::RequestId(1),
        from: ReplicaKey::without_directory(NodeId(2)),
        version: 17,
        body: Bytes::new(),
    };
    let commands: [(Command<KeyValues>, &str); 10] = [
        (Command::Event(Event::Tick), "Event"),
        (Command::FetchResponse(response()), "a response"),
        (Command::VoteResponse(response()), "a response"),
        (Command::FetchSnapshotResponse(response()), "a response"),
        (Command::Timer(TimerTick::Election), "Timer"),
        (Command::Timer(TimerTick::Fetch), "Timer"),
        (Command::Timer(TimerTick::Heartbeat), "Timer"),
        (Command::Timer(TimerTick::CheckQuorum), "Timer"),
        (Command::Shutdown, "Shutdown"),
        (Command::Halt, "Halt"),
    ];
    for (command, expected) in commands {
        assert_eq!(name(&command), Some(expected));
        assert!(!command.caller_gone(), "{expected}");
    }
}

#[test]
fn requests_of_peers_come_apart_as_they_were_put_together() {
    for (api, version) in [
        (PeerApi::Vote, 2),
        (PeerApi::BeginQuorumEpoch, 1),
        (PeerApi::EndQuorumEpoch, 0),
        (PeerApi::Fetch, 17),
        (PeerApi::FetchSnapshot, 1),
    ] {
        let (reply, answer) = oneshot::channel();
        let inbound = Inbound::new(
            api,
            Bytes::from_static(b"body"),
            version,
            "CONTROLLER".into(),
            reply,
        );
        let (Inbound::Vote { req, version: at, .. }
        | Inbound::BeginQuorumEpoch { req, version: at, .. }
        | Inbound::EndQuorumEpoch { req, version: at, .. }
        | Inbound::Fetch { req, version: at, .. }
        | Inbound::FetchSnapshot { req, version: at, .. }) = &inbound
        else {
            panic!("one of them");
        };
        assert_eq!((&req[..], *at), (&b"body"[..], version));
        assert!(!inbound.caller_gone());
        drop(answer);
        assert!(inbound.caller_gone());
        let (parted, body, at, listener, _reply) = inbound.into_parts();
        assert_eq!(
            (parted, &body[..], at, &*listener),
            (api, &b"body"[..], version, "CONTROLLER")
        );
    }
}

#[test]
fn the_queue_stamps_what_is_sent_and_says_how_much_it_holds() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let (sender, mut queue) = CommandSender::<KeyValues>::channel(3);
        let before = crate::clock::monotonic();
        sender
            .send(Command::Shutdown)
            .await
            .map_err(drop)
            .expect("there is room");
        assert_eq!(sender.capacity(), 2);
        let QueuedCommand { command, enqueued_at } = queue.recv().await.expect("it was sent");
        let _: Instant = enqueued_at;
        assert!((before..=crate::clock::monotonic()).contains(&enqueued_at));
        assert_eq!(name(&command), Some("Shutdown"));
        drop(queue);
        let back = sender.send(Command::Halt).await.expect_err("nobody takes it").0;
        assert_eq!(name(&back), Some("Halt"));
    });
}

#[test]
fn test_append_and_commit_answers_the_base_offset_once_the_records_are_applied() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let own = ReplicaKey::new(NodeId(1), uuid::Uuid::from_u128(1));
        let mut core = Config::new(own, "a-cluster", 1);
        core.static_voters = std::iter::once(VoterNode {
            key: ReplicaKey::without_directory(own.id),
            endpoints: core.listeners.clone(),
            kraft_versions: SupportedVersions { min: 0, max: 0 },
        })
        .collect();
        let config = NodeConfig::new(core, MemFs::new(), "/data/__cluster_metadata-0");
        let node = node::start(config, KeyValues::default()).await.expect("started");
        let leading = node.watch().wait_for(|state| state.leading).await.map(drop);
        leading.expect("it runs");
        let (reply, base) = oneshot::channel();
        let records = vec![put("a", "1"), put("b", "2")];
        let command = Command::TestAppendAndCommit { records, reply };
        node.commands()
            .send(command)
            .await
            .map_err(drop)
            .expect("it runs");
        let base = base.await.expect("committed");
        assert_eq!(node.image()["b"], "2");
        let status = node.status().await.expect("it runs");
        assert_eq!(status.high_watermark, base + 2);
        assert!(node.event_times().queue.count() > 0);
        assert!(node.event_times().processing.total() >= node.event_times().processing.max());
        node.shutdown().await.expect("a graceful end");
    });
}
