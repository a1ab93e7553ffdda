//! Whatever comes over the wire, the node goes on and pays for no more than what has come.

mod common;

use common::{Words, config};
use kraft_fs::RealFs;
use kraft_log::LogOptions;
use kraft_transport::{EngineConfig, Handle, ListenerConfig, NodeConfig, node, tcp::ListenerLimits};
use kraft_wire::{ApiKey, Message, message as m};
use proptest::test_runner::{Config, TestRunner};
use std::{
    io,
    net::SocketAddr,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Runtime,
    time::timeout,
};

/// How long anything may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// Whoever measures what the process holds is alone in it.
static MEASURES: RwLock<()> = RwLock::new(());

/// What is a test's own until it ends.
struct Place {
    dir: TempDir,
    _in_process: InProcess,
}

#[expect(dead_code, reason = "they are held, and nobody looks at them")]
enum InProcess {
    WithOthers(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

impl Place {
    fn among_others() -> Self {
        Self::new(InProcess::WithOthers(
            MEASURES.read().unwrap_or_else(PoisonError::into_inner),
        ))
    }

    fn alone() -> Self {
        Self::new(InProcess::Alone(
            MEASURES.write().unwrap_or_else(PoisonError::into_inner),
        ))
    }

    fn new(in_process: InProcess) -> Self {
        Self {
            dir: tempfile::tempdir().expect("a directory"),
            _in_process: in_process,
        }
    }
}

fn started(runtime: &Runtime) -> (Handle<Words>, Place, SocketAddr) {
    started_with(runtime, Place::among_others(), ListenerLimits::default())
}

fn started_with(
    runtime: &Runtime,
    place: Place,
    limits: ListenerLimits,
) -> (Handle<Words>, Place, SocketAddr) {
    let config = NodeConfig {
        engine: EngineConfig::new(config(1, &[(1, 0)])),
        fs: RealFs,
        log_dir: place.dir.path().join("__cluster_metadata-0"),
        log: LogOptions::default(),
        locks: Vec::new(),
        on_fault: None,
        listeners: vec![ListenerConfig {
            name: "CONTROLLER".to_owned(),
            host: "127.0.0.1".into(),
            port: 0,
            limits,
        }],
    };
    let handle = runtime
        .block_on(node::start(config, Words::default()))
        .expect("the node starts");
    let address = handle.local_addr().expect("it listens");
    (handle, place, address)
}

/// Commits a change, and asks over the wire for the versions.
async fn goes_on(handle: &Handle<Words>, address: SocketAddr) {
    commits(handle).await;
    let answered = timeout(PATIENCE, asks(address)).await.expect("in time");
    answered.expect("answered");
}

async fn commits(handle: &Handle<Words>) {
    let mut state = handle.watch();
    timeout(PATIENCE, state.wait_for(|state| state.leading))
        .await
        .expect("in time")
        .expect("it runs");
    let committed = handle.submit(vec!["on".to_owned()], None);
    timeout(PATIENCE, committed)
        .await
        .expect("in time")
        .expect("committed");
}

/// Asks for the versions on a connection of its own.
async fn asks(address: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(&api_versions_frame(7)).await?;
    let body = read_answer(&mut stream).await?;
    let answer = m::ApiVersionsResponse::from_bytes(&body.slice(4..), 0);
    assert_eq!(answer.expect("decoded").error_code, 0);
    Ok(())
}

fn api_versions_frame(correlation_id: i32) -> Vec<u8> {
    let mut frame = vec![0; 4];
    m::RequestHeader {
        request_api_key: ApiKey::ApiVersions.key(),
        request_api_version: 0,
        correlation_id,
        ..Default::default()
    }
    .encode(1, &mut frame)
    .expect("encoded");
    let length = frame.len() as i32 - 4;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame
}

async fn read_answer(stream: &mut TcpStream) -> io::Result<bytes::Bytes> {
    let length = stream.read_i32().await?;
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).await?;
    Ok(body.into())
}

/// Sends, says that there is no more, and waits until the node has closed the connection too.
async fn send_and_leave(address: SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    // The node may have closed before everything was sent.
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut sink = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut sink))
        .await
        .expect("the node closes");
}

#[test]
fn random_bytes_and_half_frames_cost_their_connection_and_nothing_else() {
    let runtime = node::runtime().expect("a runtime");
    let (handle, _dir, address) = started(&runtime);
    let mut runner = TestRunner::new(Config {
        cases: 200,
        failure_persistence: None,
        ..Config::default()
    });
    let keys = ApiKey::ALL.iter().map(|api| api.key()).collect::<Vec<_>>();
    let strategy = (
        proptest::sample::select(keys),
        -1_i16..20,
        proptest::collection::vec(proptest::num::u8::ANY, 0..300),
        proptest::bool::ANY,
    );
    runner
        .run(&strategy, |(key, version, noise, framed)| {
            let mut bytes = Vec::new();
            if framed {
                // A header that is right, and a body that is not.
                let length = noise.len() as i32 + 11;
                bytes.extend_from_slice(&length.to_be_bytes());
                bytes.extend_from_slice(&key.to_be_bytes());
                bytes.extend_from_slice(&version.to_be_bytes());
                bytes.extend_from_slice(&[0, 0, 0, 1, 0xff, 0xff, 0]);
            }
            bytes.extend_from_slice(&noise);
            runtime.block_on(send_and_leave(address, &bytes));
            Ok(())
        })
        .expect("the node closes every one of them");
    for cut in 0..api_versions_frame(1).len() {
        runtime.block_on(send_and_leave(address, &api_versions_frame(1)[..cut]));
    }
    runtime.block_on(goes_on(&handle, address));
}

#[test]
fn connections_that_say_nothing_make_room_for_others() {
    let runtime = node::runtime().expect("a runtime");
    let limits = ListenerLimits {
        connections_max: 2,
        idle: Duration::from_millis(200),
        ..ListenerLimits::default()
    };
    let (handle, _dir, address) = started_with(&runtime, Place::among_others(), limits);
    runtime.block_on(async {
        let mut silent = Vec::new();
        for sent in [&[][..], &api_versions_frame(1)[..5]] {
            let mut stream = TcpStream::connect(address).await.expect("it listens");
            stream.write_all(sent).await.expect("sent");
            silent.push(stream);
        }
        for mut stream in silent {
            let read = timeout(PATIENCE, stream.read_u8()).await.expect("in time");
            assert!(read.is_err(), "closed, and nothing was sent");
        }
        commits(&handle).await;
        // One that a busy machine lets wait for as long is closed like them.
        let answered = async { while asks(address).await.is_err() {} };
        timeout(PATIENCE, answered).await.expect("there is room");
    });
}

#[test]
fn the_largest_frame_and_limits_that_are_none_do_no_harm() {
    let runtime = node::runtime().expect("a runtime");
    let limits = ListenerLimits {
        request_bytes_max: 4 << 20,
        request_bytes_total: 1 << 20,
        connections_max: usize::MAX,
        idle: Duration::MAX,
        ..ListenerLimits::default()
    };
    let (handle, _dir, address) = started_with(&runtime, Place::among_others(), limits);
    runtime.block_on(async {
        goes_on(&handle, address).await;
        // An ApiVersions of version 3 from "x" "1", with an unknown field of 3 MiB.
        let mut frame = vec![0, 0, 0, 0, 0, 18, 0, 3, 0, 0, 0, 9, 0xff, 0xff, 0];
        frame.extend_from_slice(&[2, b'x', 2, b'1', 1, 100, 0x80, 0x80, 0xc0, 0x01]);
        frame.resize(frame.len() + (3 << 20), 0);
        let length = i32::try_from(frame.len() - 4).expect("small");
        frame[..4].copy_from_slice(&length.to_be_bytes());
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let answered = async {
            stream.write_all(&frame).await?;
            read_answer(&mut stream).await
        };
        let answered = timeout(PATIENCE, answered).await.expect("it is read whole");
        assert_eq!(answered.expect("answered")[..4], 9_i32.to_be_bytes());
        goes_on(&handle, address).await;
    });
}

/// Both ends of each are files of this process, which may have no more than 1024 of them.
const CONNECTIONS: usize = 400;

#[test]
fn promised_bytes_and_idle_connections_cost_nothing() {
    let runtime = node::runtime().expect("a runtime");
    let (handle, _dir, address) = started_with(&runtime, Place::alone(), ListenerLimits::default());
    runtime.block_on(async {
        goes_on(&handle, address).await;
        let before = resident_bytes();
        let mut connections = Vec::new();
        for n in 0..CONNECTIONS {
            let mut stream = TcpStream::connect(address).await.expect("it listens");
            match n % 3 {
                // As much as a frame may have, and nothing of it.
                0 => stream
                    .write_all(&(100_i32 << 20).to_be_bytes())
                    .await
                    .expect("sent"),
                // A frame that begins.
                1 => stream.write_all(&[6, 64, 0, 0, 0, 18, 0, 3]).await.expect("sent"),
                _ => {}
            }
            connections.push(stream);
        }
        // Longer than a frame may be: closed at once.
        for length in [i32::MAX, -1, (100 << 20) + 1] {
            send_and_leave(address, &length.to_be_bytes()).await;
        }
        goes_on(&handle, address).await;
        let grown = resident_bytes().saturating_sub(before);
        assert!(
            grown < CONNECTIONS * 32 * 1024,
            "{CONNECTIONS} connections cost {grown} bytes"
        );
        drop(connections);
    });
}

#[test]
fn requests_of_one_connection_are_answered_in_order() {
    let runtime = node::runtime().expect("a runtime");
    let (_handle, _dir, address) = started(&runtime);
    runtime.block_on(async {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let all: Vec<u8> = (0..50).flat_map(api_versions_frame).collect();
        stream.write_all(&all).await.expect("sent");
        for expected in 0..50_i32 {
            let body = timeout(PATIENCE, read_answer(&mut stream))
                .await
                .expect("in time");
            let body = body.expect("answered");
            assert_eq!(body[..4], expected.to_be_bytes());
        }
    });
}

#[test]
fn an_unknown_version_of_api_versions_is_answered_and_of_others_closes() {
    let runtime = node::runtime().expect("a runtime");
    let (_handle, _dir, address) = started(&runtime);
    runtime.block_on(async {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let mut frame = api_versions_frame(3);
        // Version 9 has the newer header, with its section of tagged fields.
        frame[6..8].copy_from_slice(&9_i16.to_be_bytes());
        frame.push(0);
        frame[3] += 1;
        stream.write_all(&frame).await.expect("sent");
        let body = timeout(PATIENCE, read_answer(&mut stream))
            .await
            .expect("in time");
        let answer = m::ApiVersionsResponse::from_bytes(&body.expect("answered").slice(4..), 0);
        assert_eq!(answer.expect("decoded").error_code, 35);

        // Metadata is no API of a controller, and there is no Vote of version 7.
        for (key, version) in [(3_i16, 1_i16), (52, 7)] {
            let mut frame = api_versions_frame(4);
            frame[4..6].copy_from_slice(&key.to_be_bytes());
            frame[6..8].copy_from_slice(&version.to_be_bytes());
            send_and_leave(address, &frame).await;
        }
    });
}

/// What the process holds in memory.
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .expect("a number of pages");
    pages * 4096
}
