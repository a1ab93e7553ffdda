//! Load on a quorum: records that real Kafka clients of a controller write, each with a number of its own.
//!
//! Each record is the registration of a controller that does not exist, and its number is the incarnation id. A
//! ControllerRegistration is answered without an error once its record is committed, so an answer is an acknowledgement.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use kraft_metadata::feature::supported_features;
use kraft_wire::ErrorCode;
use kraft_wire::message::{
    ControllerRegistrationRequest, ControllerRegistrationRequestFeature,
    ControllerRegistrationRequestListener,
};
use uuid::Uuid;

use crate::client::{Address, Connection};

/// Clients that commit records until they are told to stop.
#[derive(Debug)]
pub struct Load {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

/// The numbers of the records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Those whose record the quorum said is committed.
    pub acknowledged: BTreeSet<u64>,
}

#[derive(Debug)]
struct Shared {
    ports: Vec<u16>,
    pause: Duration,
    stop: AtomicBool,
    next: AtomicU64,
    loaded: Mutex<Loaded>,
}

impl Load {
    /// Starts clients that send `rate` records a second in all to whichever of the nodes at these ports leads.
    pub fn start(ports: Vec<u16>, rate: u32) -> Load {
        let pause = Duration::from_secs(1) * CLIENTS / rate.max(1);
        let shared = Arc::new(Shared {
            ports,
            pause,
            stop: AtomicBool::new(false),
            next: AtomicU64::new(1),
            loaded: Mutex::new(Loaded::default()),
        });
        let worker = |_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.work())
        };
        Load {
            workers: (0..CLIENTS).map(worker).collect(),
            shared,
        }
    }

    /// How many records have been acknowledged so far.
    pub fn acknowledged(&self) -> usize {
        self.shared.loaded().acknowledged.len()
    }

    /// What has been acknowledged so far.
    pub fn so_far(&self) -> Loaded {
        self.shared.loaded().clone()
    }

    /// Ends the clients.
    pub fn stop(mut self) -> Loaded {
        self.end();
        self.so_far()
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for worker in self.workers.drain(..) {
            // A worker does not panic; if it did, its records are simply not acknowledged.
            worker.join().ok();
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn work(&self) {
        let mut leader = Leader::default();
        while !self.stop.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            self.commit(&mut leader, number);
            thread::sleep(self.pause.saturating_sub(begun.elapsed()));
        }
    }

    /// Tries until the record is acknowledged. It may get into the log more than once, as any retried request may.
    fn commit(&self, leader: &mut Leader, number: u64) {
        let request = registration(number);
        while !self.stop.load(Ordering::Relaxed) {
            if leader.answers(&self.ports, &request) {
                self.loaded().acknowledged.insert(number);
                return;
            }
            thread::sleep(RETRY);
        }
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection to the node that answered as leader last.
#[derive(Default)]
struct Leader {
    at: usize,
    connection: Option<Connection>,
}

impl Leader {
    /// Whether the request came back without an error; otherwise the next node is asked next time.
    fn answers(&mut self, ports: &[u16], request: &ControllerRegistrationRequest) -> bool {
        let deadline = Instant::now() + ANSWER_LIMIT;
        if self.connection.is_none() {
            let address = Address {
                host: "127.0.0.1".to_owned(),
                port: ports[self.at % ports.len()],
            };
            self.connection = Connection::open(&address, deadline).ok();
        }
        let response = self
            .connection
            .as_mut()
            .map(|connection| connection.ask(request, deadline));
        if let Some(Ok(response)) = response
            && !ErrorCode::from_code(response.error_code).is_error()
        {
            return true;
        }
        self.connection = None;
        self.at += 1;
        false
    }
}

/// The id under which the record with this number is found in a log again.
pub(super) fn incarnation(number: u64) -> Uuid {
    Uuid::from_u64_pair(MARK, number)
}

/// The number of a record, if it is one of ours.
pub(super) fn number_of(incarnation: &Uuid) -> Option<u64> {
    let (mark, number) = incarnation.as_u64_pair();
    (mark == MARK).then_some(number)
}

fn registration(number: u64) -> ControllerRegistrationRequest {
    let feature = |feature: kraft_metadata::feature::SupportedFeature| ControllerRegistrationRequestFeature {
        name: feature.name.to_owned(),
        min_supported_version: feature.min,
        max_supported_version: feature.max,
        ..ControllerRegistrationRequestFeature::default()
    };
    ControllerRegistrationRequest {
        controller_id: CONTROLLER_ID,
        incarnation_id: incarnation(number),
        listeners: vec![ControllerRegistrationRequestListener {
            name: "CONTROLLER".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: 1,
            ..ControllerRegistrationRequestListener::default()
        }],
        features: supported_features().into_iter().map(feature).collect(),
        ..ControllerRegistrationRequest::default()
    }
}

/// The first half of the incarnation ids of the load.
const MARK: u64 = 0x6b72_6166_742d_6c64;

/// Far from the ids that people give to nodes.
const CONTROLLER_ID: i32 = 1_000_000;

const CLIENTS: u32 = 8;
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_millis(20);
