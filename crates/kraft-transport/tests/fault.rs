//! Faults end a node, once and audibly; ends that were asked for are none.

mod common;
#[path = "common/port.rs"]
mod port;

use common::{LATE_PANIC, PANIC, POISON, Words, config};
use kraft_fs::{Fault, FaultyFs, MemFs};
use kraft_transport::{FaultHandler, Handle, ListenerConfig, NodeConfig, NodeError, RaftError, node};
use port::HeldPort;
use std::{
    net::TcpStream,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(120);

/// What the fault handler was told.
type Told = Arc<Mutex<Vec<NodeError>>>;

async fn start(fs: &FaultyFs<MemFs>, port: u16) -> (Handle<Words>, Told) {
    let told = Told::default();
    let tell = Arc::clone(&told);
    let mut config = NodeConfig::new(config(1, &[(1, port)]), fs.clone(), "/data/__cluster_metadata-0");
    config.listeners.push(ListenerConfig {
        name: "CONTROLLER".to_owned(),
        host: "127.0.0.1".to_owned(),
        port,
        limits: Default::default(),
    });
    // The log thread alone calls the disk: the fault is meant for it.
    config.log.prepare_bytes = 0;
    config.on_fault = Some(FaultHandler::new(move |fault| {
        tell.lock().expect("not poisoned").push(fault.clone());
    }));
    let handle = node::start(config, Words::default())
        .await
        .expect("the node starts");
    let mut state = handle.watch();
    timeout(PATIENCE, state.wait_for(|state| state.leading))
        .await
        .expect("in time")
        .expect("it runs");
    (handle, told)
}

/// Breaks a node, and gives what it ended with once the handler was told the same, and nothing else.
fn fault(breaks: impl AsyncFn(&Handle<Words>, &FaultyFs<MemFs>)) -> NodeError {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let fs = FaultyFs::new(MemFs::new());
        // Nobody else listens there when the node has ended.
        let port = HeldPort::find();
        let (handle, told) = start(&fs, port.number()).await;
        let address = handle.local_addr().expect("it listens");
        breaks(&handle, &fs).await;
        let ended = timeout(PATIENCE, handle.ended()).await.expect("it ends");
        let fault = ended.expect_err("it ends by a fault");
        // It serves nobody any more, and says so to whoever asks again.
        assert!(TcpStream::connect(address).is_err());
        assert_eq!(handle.status().await.err(), Some(RaftError::Stopped));
        assert_eq!(handle.shutdown().await.err().as_ref(), Some(&fault));
        assert_eq!(*told.lock().expect("not poisoned"), std::slice::from_ref(&fault));
        fault
    })
}

async fn submit(handle: &Handle<Words>, word: &str) -> Result<(), RaftError> {
    let outcome = timeout(PATIENCE, handle.submit(vec![word.to_owned()], None)).await;
    outcome.expect("answered, one way or the other").map(drop)
}

#[test]
fn field_h12_a_panic_of_the_engine_ends_the_node_and_is_told_once() {
    let fault = fault(async |handle, _| {
        assert_eq!(submit(handle, PANIC).await, Err(RaftError::Stopped));
    });
    assert_eq!(fault, NodeError::Thread { thread: "engine" });
}

#[test]
fn field_h12_a_panic_of_another_thread_ends_the_node_and_is_told_once() {
    let fault = fault(async |handle, _| {
        submit(handle, LATE_PANIC).await.expect("committed");
        assert_eq!(handle.snapshot().await, Err(RaftError::Stopped));
    });
    assert_eq!(fault, NodeError::Thread { thread: "snapshot" });
}

#[test]
fn field_h12_a_disk_that_fails_ends_the_node_and_is_told_once() {
    let fault = fault(async |handle, fs| {
        fs.arm(0, Fault::Io);
        submit(handle, "lost").await.expect_err("not committed");
    });
    assert!(matches!(fault, NodeError::Storage { .. }), "{fault:?}");
}

#[test]
fn field_h13_a_record_that_cannot_be_applied_ends_the_node_and_is_told_once() {
    let fault = fault(async |handle, _| {
        submit(handle, POISON)
            .await
            .expect_err("committed, and never applied");
    });
    assert!(matches!(fault, NodeError::Apply(_)), "{fault:?}");
}

#[test]
fn an_end_that_was_asked_for_is_no_fault() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        for halt in [false, true] {
            let (handle, told) = start(&FaultyFs::new(MemFs::new()), 0).await;
            let ended = if halt {
                handle.halt().await
            } else {
                handle.shutdown().await
            };
            ended.expect("an end that was asked for");
            assert_eq!(*told.lock().expect("not poisoned"), []);
        }
    });
}
