//! What a voter starts on.

use std::{
    collections::VecDeque,
    fs::{self, OpenOptions},
    io::{self, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc,
    time::Instant,
};

use kraft_core::{ElectionState, Epoch, LogView, NodeId, SnapshotId, Ticket};
use kraft_fs::RealFs;
use kraft_log::{LogOptions, METADATA_PARTITION_DIR, StorageOp, batch_info, open};
use kraft_snapshot::{SnapshotHeader, SnapshotWriter};
use kraft_wire::batch::{BatchBuilder, BatchView};

use super::other_voter;
use crate::Error;

pub const LOG_BYTES: u64 = 100 << 20;
pub const SNAPSHOT_BYTES: u64 = 10_000_000;

/// A directory of data with its configuration, and what arrives at the other voters.
pub struct Directory {
    pub config: PathBuf,
    /// When the other voters have got a Vote or a Fetch.
    pub requests: mpsc::Receiver<Instant>,
    log: PathBuf,
}

impl Directory {
    /// Formats a directory of a quorum of so many voters, and fills it.
    pub fn create(root: &Path, kraft: &Path, name: &str, voters: usize) -> Result<Self, Error> {
        let folder = root.join(name);
        fs::create_dir(&folder)?;
        let mut sockets = Vec::new();
        let mut list = Vec::new();
        for id in 1..=voters {
            let socket = TcpListener::bind("127.0.0.1:0")?;
            list.push(format!("{id}@127.0.0.1:{}", socket.local_addr()?.port()));
            sockets.push(socket);
        }
        let own = sockets.remove(0).local_addr()?;
        let data = folder.join("data");
        let config = folder.join("server.properties");
        let text = format!(
            "process.roles=controller\nnode.id=1\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
             listeners=CONTROLLER://{own}\ncontroller.quorum.voters={}\n",
            data.display(),
            list.join(",")
        );
        fs::write(&config, text)?;
        let formatted = Command::new(kraft)
            .arg("format")
            .arg("-c")
            .arg(&config)
            .args(["-t", "6PMpHYL9QkeyXRj9Nrp4KA"])
            .output()?;
        if !formatted.status.success() {
            return Err(String::from_utf8_lossy(&formatted.stderr).into());
        }
        let log = data.join(METADATA_PARTITION_DIR);
        fill(&log, voters)?;
        let (arrived, requests) = mpsc::channel();
        for socket in sockets {
            other_voter::listen(socket, arrived.clone());
        }
        Ok(Self {
            config,
            requests,
            log,
        })
    }

    fn segment(&self) -> PathBuf {
        self.log.join("00000000000000000000.log")
    }

    /// There are no zeros behind the log.
    pub fn as_after_a_stop(&self) -> io::Result<()> {
        let size = fs::metadata(self.segment())?.len();
        assert!(
            (LOG_BYTES..LOG_BYTES + (1 << 20)).contains(&size),
            "{size} bytes of log"
        );
        Ok(())
    }

    /// There are the zeros behind the log that had been made ready, and no indexes.
    pub fn as_after_a_kill(&self) -> io::Result<()> {
        let zeros = vec![0; LogOptions::default().prepare_bytes as usize];
        OpenOptions::new()
            .append(true)
            .open(self.segment())?
            .write_all(&zeros)?;
        for index in ["index", "timeindex"] {
            let path = self.segment().with_extension(index);
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// A log in which leaders have written batches of ten settings of 1 KiB, and a snapshot of topics.
fn fill(dir: &Path, voters: usize) -> Result<(), Error> {
    let mut opened = open(RealFs, dir, LogOptions::default())?;
    let mut tickets = 0;
    let mut run = |op: StorageOp| -> Result<(), Error> {
        tickets += 1;
        let mut queue = VecDeque::from([(Ticket(tickets), op)]);
        opened.writer.run_round(&mut queue)?;
        Ok(())
    };
    run(StorageOp::StoreElection(ElectionState {
        epoch: EPOCH,
        leader: None,
        voted: None,
        voters: (1..=voters as i32).map(NodeId).collect(),
        kraft_version: 0,
    }))?;
    let base = opened.index.end().last_offset;
    let mut next = base;
    let mut written = 0;
    while written < LOG_BYTES {
        // As much as a round may write.
        let (mut batches, mut infos) = (Vec::new(), Vec::new());
        while batches.len() < 3 << 20 && written + (batches.len() as u64) < LOG_BYTES {
            let mut builder = BatchBuilder::data(TIMESTAMP);
            for record in 0..10 {
                builder.push(&setting(next + record))?;
            }
            let batch = BatchView::parse(builder.build(next, EPOCH.0))?;
            next += 10;
            infos.push(batch_info(&batch)?);
            batches.extend_from_slice(batch.bytes());
        }
        written += batches.len() as u64;
        let batches = batches.into();
        run(StorageOp::Append { batches, infos })?;
    }
    opened.writer.close()?;

    let header = SnapshotHeader {
        last_contained_log_timestamp: TIMESTAMP,
        kraft_version: 0,
        voters: None,
    };
    let id = SnapshotId {
        end_offset: base + 1000,
        epoch: EPOCH,
    };
    let mut writer = SnapshotWriter::create(&RealFs, dir, id, &header, || TIMESTAMP)?;
    let mut bytes = 0;
    let mut number = 0_u128;
    // The release that the topics are of.
    writer.append(b"\x01\x0c\x00\x11metadata.version\x00\x1d\x00")?;
    while bytes < SNAPSHOT_BYTES {
        let topic = topic(number);
        writer.append(&topic)?;
        bytes += topic.len() as u64 + 8;
        number += 1;
    }
    writer.freeze()?;
    Ok(())
}

/// A ConfigRecord of a topic, in its frame.
fn setting(number: i64) -> Vec<u8> {
    let mut record = vec![1, 4, 0, 2];
    put_string(&mut record, "a-topic");
    put_string(&mut record, &format!("setting-{}", number % 100));
    put_string(&mut record, &"x".repeat(1000));
    record.push(0);
    record
}

/// A TopicRecord in its frame.
fn topic(number: u128) -> Vec<u8> {
    let mut record = vec![1, 2, 0];
    put_string(&mut record, &format!("topic-{number:066}"));
    record.extend_from_slice(&(number + 1000).to_be_bytes());
    record.push(0);
    record
}

/// A compact string.
fn put_string(record: &mut Vec<u8>, text: &str) {
    let length = text.len() + 1;
    if length < 0x80 {
        record.push(length as u8);
    } else {
        record.extend_from_slice(&[length as u8 | 0x80, (length >> 7) as u8]);
    }
    record.extend_from_slice(text.as_bytes());
}

const EPOCH: Epoch = Epoch(1);
const TIMESTAMP: i64 = 1_760_000_000_000;
