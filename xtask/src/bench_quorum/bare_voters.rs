//! The bound of three voters: three bare threads that make the calls which no leader and two followers with a disk each
//! can do without, and nothing else.
//!
//! A round is one message of records to each follower, one write and sync on every voter, and one acknowledgement from
//! each follower. There is no election, no log format, no thread that a slow disk does not stop, and nobody is told.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use super::raw::wait_for_turn;
use super::usage::Usage;
use crate::interop::Failure;

/// What the rounds came to.
pub(super) struct Bare {
    /// From when a round is due until all three have it.
    pub(super) rounds: Vec<Duration>,
    /// Of all three together.
    pub(super) processor: Duration,
}

/// Does a round of so many bytes as often as `pace` says, or one behind the other, for as long as `duration` says. The
/// files are gone afterwards.
///
/// The processor time is that of this process, so nothing else may run in it.
pub(super) fn run(
    folder: &Path,
    round_bytes: usize,
    pace: Option<Duration>,
    duration: Duration,
) -> Result<Bare, Failure> {
    let mut connections = Vec::new();
    let mut followers = Vec::new();
    for follower in 1..=2 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let connection = TcpStream::connect(listener.local_addr()?)?;
        connection.set_nodelay(true)?;
        let (accepted, _) = listener.accept()?;
        accepted.set_nodelay(true)?;
        let disk = Disk::new(folder.join(format!("bare-{follower}")), round_bytes)?;
        connections.push(connection);
        followers.push(thread::spawn(move || follow(accepted, disk)));
    }
    let disk = Disk::new(folder.join("bare-0"), round_bytes)?;
    let led = lead(connections, disk, pace, duration);
    for follower in followers {
        follower.join().map_err(|_| "a bare follower has panicked")??;
    }
    led
}

/// Ends the followers by closing their connections.
fn lead(
    mut followers: Vec<TcpStream>,
    mut disk: Disk,
    pace: Option<Duration>,
    duration: Duration,
) -> Result<Bare, Failure> {
    let records = disk.bytes.clone();
    let mut acknowledgement = [0; ACKNOWLEDGEMENT_BYTES];
    let mut rounds = Vec::new();
    let before = Usage::of(process::id())?.processor;
    let started = Instant::now();
    while started.elapsed() < duration {
        let due = wait_for_turn(started, pace, rounds.len())?;
        for follower in &mut followers {
            follower.write_all(&records)?;
        }
        disk.append()?;
        for follower in &mut followers {
            follower.read_exact(&mut acknowledgement)?;
        }
        rounds.push(due.elapsed());
    }
    let processor = Usage::of(process::id())?.processor - before;
    disk.remove()?;
    Ok(Bare { rounds, processor })
}

fn follow(mut leader: TcpStream, mut disk: Disk) -> Result<(), Failure> {
    let mut records = vec![0; disk.bytes.len()];
    while leader.read_exact(&mut records).is_ok() {
        disk.append()?;
        leader.write_all(&[0; ACKNOWLEDGEMENT_BYTES])?;
    }
    disk.remove()
}

/// A file of blocks that were written before.
struct Disk {
    path: PathBuf,
    file: File,
    bytes: Vec<u8>,
    position: u64,
}

impl Disk {
    fn new(path: PathBuf, round_bytes: usize) -> Result<Self, Failure> {
        let file = File::create(&path)?;
        let block = vec![0; 1 << 20];
        for position in (0..WRITTEN_BYTES).step_by(block.len()) {
            file.write_all_at(&block, position)?;
        }
        file.sync_all()?;
        let bytes = vec![7; round_bytes];
        Ok(Self {
            path,
            file,
            bytes,
            position: 0,
        })
    }

    fn append(&mut self) -> Result<(), Failure> {
        self.file.write_all_at(&self.bytes, self.position)?;
        self.file.sync_data()?;
        self.position += self.bytes.len() as u64;
        if self.position + self.bytes.len() as u64 > WRITTEN_BYTES {
            self.position = 0;
        }
        Ok(())
    }

    fn remove(self) -> Result<(), Failure> {
        Ok(fs::remove_file(&self.path)?)
    }
}

/// About what a Fetch has.
const ACKNOWLEDGEMENT_BYTES: usize = 100;
const WRITTEN_BYTES: u64 = 32 << 20;
