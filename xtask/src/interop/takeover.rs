//! One directory, run by both programs in turn: each goes on from what the other left, stopped or killed,
//! and never changes a byte that was there.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::interop::jars::Jars;
use crate::interop::quorum::{Kind, LIMIT, Mode, Quorum};
use crate::interop::{Failure, jvm_log, say};

pub(crate) fn round(jars: &Jars, folder: &Path, mode: Mode) -> Result<(), Failure> {
    for formatted_by in [Kind::Kafka, Kind::Kraft] {
        one_directory(jars, &folder.join(formatted_by.to_string()), mode, formatted_by)?;
    }
    Ok(())
}

#[derive(Clone, Copy, Debug)]
enum End {
    Stopped,
    Killed,
}

/// Many small records.
const BUSY: &str = "metadata.max.idle.interval.ms=20\n";

/// Waits until the log is long enough for entries in its indexes.
fn wait_for_index_entries(quorum: &Quorum) -> Result<(), Failure> {
    let deadline = Instant::now() + LIMIT;
    while quorum.member(1).log_bytes()?.len() < 10_000 {
        if Instant::now() > deadline {
            return Err("the log does not grow".into());
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn one_directory(jars: &Jars, folder: &Path, mode: Mode, formatted_by: Kind) -> Result<(), Failure> {
    let mut quorum = Quorum::new(jars, folder, mode, 1)?;
    quorum.format(1, formatted_by)?;
    OpenOptions::new()
        .append(true)
        .open(quorum.member(1).config())?
        .write_all(BUSY.as_bytes())?;
    let other = match formatted_by {
        Kind::Kafka => Kind::Kraft,
        Kind::Kraft => Kind::Kafka,
    };
    let turns = [
        (other, End::Killed),
        (formatted_by, End::Killed),
        (other, End::Stopped),
        (formatted_by, End::Stopped),
        (other, End::Stopped),
    ];
    let mut before = Vec::new();
    let mut epoch = 0;
    for (turn, (kind, end)) in turns.into_iter().enumerate() {
        quorum.start(1, kind)?;
        let status = quorum.wait_leader(None)?;
        if status.epoch <= epoch {
            return Err(format!("{kind} leads epoch {} after {epoch}", status.epoch).into());
        }
        epoch = status.epoch;
        if turn + 1 == turns.len() {
            wait_for_index_entries(&quorum)?;
        }
        match end {
            End::Stopped => quorum.stop(1)?,
            End::Killed => quorum.kill(1)?,
        };
        let after = quorum.member(1).log_bytes()?;
        if !after.starts_with(&before) || after.len() == before.len() {
            return Err(format!("{kind} ({end:?}) did not go on from the log that it found").into());
        }
        before = after;
    }
    jvm_log::check(&quorum.member(1).output(Kind::Kafka))?;
    quorum.kafka_dump(1)?;
    quorum.kafka_trees(1)?;
    if other == Kind::Kraft {
        // It wrote them last.
        let filled = quorum.kafka_checks_indexes(1)?;
        say(&format!(
            "Kafka's tool finds nothing wrong with our indexes, {filled} of them with entries"
        ));
    }
    say(&format!(
        "formatted by {formatted_by}: five turns, {} bytes of log, none changed",
        before.len()
    ));
    Ok(())
}
