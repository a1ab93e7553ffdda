//! Load on a mixed quorum: one client for each member, which asks it for a record as long as it answers, and is
//! refused wherever the member does not lead.
//!
//! Each record is the registration of a controller that does not exist, with an incarnation id of its own, so it is
//! found in the logs again. Either kind of leader answers without an error once the record is committed.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::eventually::eventually_every;
use crate::interop::Failure;
use crate::interop::quorum::Quorum;

/// Clients that write until it is dropped or stopped.
pub(crate) struct Load {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

struct Shared {
    stop: AtomicBool,
    next: AtomicU64,
    acknowledged: Mutex<Vec<Acknowledged>>,
}

/// A record that a member said is committed.
#[derive(Clone, Copy)]
pub(crate) struct Acknowledged {
    number: u64,
    member: i32,
    asked: Instant,
    answered: Instant,
}

impl Load {
    /// Starts a client for each member of the quorum, whether it runs or not.
    pub(crate) fn start(quorum: &Quorum<'_>) -> Load {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            next: AtomicU64::new(1),
            acknowledged: Mutex::new(Vec::new()),
        });
        let clients = quorum.members().map(|member| {
            let (id, address) = (member.id, SocketAddr::from(([127, 0, 0, 1], member.port)));
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.write(id, address))
        });
        Load {
            clients: clients.collect(),
            shared,
        }
    }

    /// How long after `since` a record was acknowledged that was asked for only then, by another member than `except`.
    pub(crate) fn served_again(
        &self,
        since: Instant,
        except: i32,
        limit: Duration,
    ) -> Result<Duration, Failure> {
        let what = format!("a record that another member than node {except} acknowledges");
        eventually_every(Duration::from_millis(10), &what, limit, || {
            let acknowledged = self.shared.acknowledged();
            let newest_first = acknowledged.iter().rev().take_while(|one| one.answered >= since);
            let first = newest_first
                .filter(|one| one.asked >= since && one.member != except)
                .last();
            Ok(first.map(|one| one.answered - since))
        })
    }

    /// Ends the clients; gives the marks by which the acknowledged records are found in a log.
    pub(crate) fn stop(mut self) -> Vec<[u8; 16]> {
        self.end();
        self.shared
            .acknowledged()
            .iter()
            .map(|one| mark(one.number))
            .collect()
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            // A client that has panicked has acknowledged nothing more.
            client.join().ok();
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn write(&self, member: i32, address: SocketAddr) {
        let mut connection = None;
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let asked = Instant::now();
            match register(&mut connection, address, number) {
                Ok(0) => self.acknowledged().push(Acknowledged {
                    number,
                    member,
                    asked,
                    answered: Instant::now(),
                }),
                Ok(_refused) => {}
                // What was asked may still be carried out; nobody was told that it is.
                Err(_) => connection = None,
            }
            thread::sleep(PAUSE);
        }
    }

    fn acknowledged(&self) -> MutexGuard<'_, Vec<Acknowledged>> {
        self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks for one record and gives the error code of the answer.
fn register(connection: &mut Option<TcpStream>, address: SocketAddr, number: u64) -> Result<i16, Failure> {
    let stream = match connection {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect_timeout(&address, ANSWER_LIMIT)?;
            stream.set_read_timeout(Some(ANSWER_LIMIT))?;
            stream.set_write_timeout(Some(ANSWER_LIMIT))?;
            stream.set_nodelay(true)?;
            connection.insert(stream)
        }
    };
    stream.write_all(&request(number))?;
    // Length, correlation id, tags, throttle time, error code.
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = usize::try_from(i32::from_be_bytes(length))?;
    if !(ERROR_CODE_END..=ANSWER_BYTES_MAX).contains(&length) {
        return Err(format!("an answer of {length} bytes").into());
    }
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer)?;
    if answer[..4] != correlation(number) {
        return Err("the answer to another question".into());
    }
    Ok(i16::from_be_bytes([
        answer[ERROR_CODE_END - 2],
        answer[ERROR_CODE_END - 1],
    ]))
}

/// ControllerRegistration version 0 without listeners and features, which no controller asks for.
fn request(number: u64) -> Vec<u8> {
    const CONTROLLER_REGISTRATION: i16 = 70;
    let mut body = Vec::new();
    body.extend(CONTROLLER_REGISTRATION.to_be_bytes());
    body.extend(0_i16.to_be_bytes());
    body.extend(correlation(number));
    body.extend((-1_i16).to_be_bytes()); // no client id
    body.push(0); // no tags in the header
    body.extend(CONTROLLER_ID.to_be_bytes());
    body.extend(mark(number));
    body.extend([0, 1, 1, 0]); // no migration, no listeners, no features, no tags
    let length = u32::try_from(body.len()).expect("a few dozen bytes");
    [&length.to_be_bytes()[..], &body].concat()
}

fn correlation(number: u64) -> [u8; 4] {
    number.to_be_bytes()[4..].try_into().expect("four bytes")
}

/// The incarnation id of the record with that number.
fn mark(number: u64) -> [u8; 16] {
    let mut mark = *b"interop.........";
    mark[8..].copy_from_slice(&number.to_be_bytes());
    mark
}

/// Far from the ids that people give to nodes.
const CONTROLLER_ID: i32 = 1_000_000;

const PAUSE: Duration = Duration::from_millis(40);
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
const ERROR_CODE_END: usize = 4 + 1 + 4 + 2;
const ANSWER_BYTES_MAX: usize = 10_000;
