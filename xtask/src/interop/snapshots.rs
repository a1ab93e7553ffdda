//! A voter with nothing gets the snapshot of the other side, whose log before it is gone.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::eventually::eventually;
use crate::interop::jars::Jars;
use crate::interop::load::Load;
use crate::interop::moves::MOVES;
use crate::interop::quorum::{Kind, Mode, Quorum};
use crate::interop::{Failure, say};

/// Nodes 1 and 2 write and delete; node 3 begins with an empty directory, once under each of them.
pub(crate) fn round(jars: &Jars, folder: &Path) -> Result<(), Failure> {
    let mut quorum = Quorum::new(jars, folder, Mode::Static, 3)?;
    for id in 1..=3 {
        quorum.set(id, SMALL)?;
    }
    for (id, kind) in [(1, Kind::Kraft), (2, Kind::Kafka)] {
        quorum.format(id, kind)?;
        quorum.start(id, kind)?;
    }
    quorum.wait_leader(None)?;
    let load = Load::start(&quorum);
    for id in [1, 2] {
        let start = wait_for_deletion(&quorum, id)?;
        say(&format!(
            "the log of node {id} ({}) begins at offset {start}",
            quorum.kinds()[&id]
        ));
    }
    let leader = quorum.wait_leader(None)?.leader;
    begin_with_nothing(&mut quorum, leader)?;
    let other = 3 - leader;
    lead_with_member(&mut quorum, other)?;
    quorum.stop(3)?;
    fs::remove_dir_all(quorum.member(3).data())?;
    begin_with_nothing(&mut quorum, other)?;
    drop(load);
    quorum.stop_and_compare()
}

/// Node 3, of the other kind than the leader, starts empty and catches up by a snapshot.
fn begin_with_nothing(quorum: &mut Quorum<'_>, leader: i32) -> Result<(), Failure> {
    let theirs = quorum.kinds()[&leader];
    let kind = match theirs {
        Kind::Kafka => Kind::Kraft,
        Kind::Kraft => Kind::Kafka,
    };
    quorum.format(3, kind)?;
    quorum.start(3, kind)?;
    let status = quorum.wait_for_all()?;
    if status.leader != leader {
        return Err(format!("node {} leads in place of node {leader}", status.leader).into());
    }
    let start = log_start(quorum, 3)?;
    if start == 0 {
        return Err(format!("node 3 ({kind}) has the log from offset 0 on").into());
    }
    say(&format!(
        "node 3 ({kind}) began with a snapshot of node {leader} ({theirs}), its log at offset {start}"
    ));
    Ok(())
}

fn lead_with_member(quorum: &mut Quorum<'_>, id: i32) -> Result<(), Failure> {
    let mut status = quorum.wait_for_all()?;
    for _ in 0..MOVES {
        if status.leader == id {
            return Ok(());
        }
        status = quorum.replace_leader()?;
    }
    Err(format!("after {MOVES} moves node {id} does not lead").into())
}

fn wait_for_deletion(quorum: &Quorum<'_>, id: i32) -> Result<i64, Failure> {
    let what = format!("a log of node {id} that does not begin at 0");
    eventually(&what, Duration::from_secs(150), || {
        let start = log_start(quorum, id)?;
        Ok((start > 0).then_some(start))
    })
}

/// The first offset of the first segment.
fn log_start(quorum: &Quorum<'_>, id: i32) -> Result<i64, Failure> {
    let mut first = i64::MAX;
    for entry in fs::read_dir(quorum.member(id).partition())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "log")
            && let Some(stem) = path.file_stem()
        {
            first = first.min(stem.to_string_lossy().parse()?);
        }
    }
    Ok(first)
}

/// Many snapshots, small segments, and nothing kept that need not be.
const SMALL: &str = "metadata.log.max.record.bytes.between.snapshots=8000\n\
    internal.metadata.log.segment.bytes=20000\n\
    internal.metadata.delete.delay.millis=0\n\
    metadata.max.retention.bytes=1\n";
