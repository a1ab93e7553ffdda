//! The leader of a mixed quorum under load is killed, stopped or held, whoever it is, again and again: each time
//! another one leads soon, and nothing that was acknowledged is lost.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::interop::describe::Status;
use crate::interop::jars::Jars;
use crate::interop::load::Load;
use crate::interop::quorum::{Kind, Mode, Quorum};
use crate::interop::{Failure, say};

pub(crate) fn round(jars: &Jars, folder: &Path, mode: Mode, kinds: &[Kind; 3]) -> Result<(), Failure> {
    let mut quorum = Quorum::started(jars, folder, mode, kinds)?;
    let first = quorum.wait_leader(None)?;
    let load = Load::start(&quorum);
    let mut gaps = Vec::new();
    for fault in FAULTS {
        let before = quorum.wait_for_all()?;
        // Kafka's tool works, too, while clients write.
        quorum.kafka_status(before.leader % 3 + 1)?;
        gaps.push(lose_the_leader(&mut quorum, &load, fault, &before)?);
    }
    let last = quorum.wait_for_all()?;
    let marks = load.stop();
    gaps.sort();
    say(&format!(
        "{} leaders lost in {} epochs; nobody served for {:.2?} to {:.2?}, middle {:.2?}",
        gaps.len(),
        last.epoch - first.epoch,
        gaps[0],
        gaps[gaps.len() - 1],
        gaps[gaps.len() / 2]
    ));
    quorum.stop_and_compare()?;
    quorum.find_acknowledged(&marks)
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Killed,
    Stopped,
    Held,
}

/// Twice each, so that both kinds of leader have a chance to meet each.
const FAULTS: [Fault; 6] = [
    Fault::Killed,
    Fault::Held,
    Fault::Stopped,
    Fault::Killed,
    Fault::Held,
    Fault::Stopped,
];

/// Takes the leader away until another one serves; how long that took.
fn lose_the_leader(
    quorum: &mut Quorum<'_>,
    load: &Load,
    fault: Fault,
    before: &Status,
) -> Result<Duration, Failure> {
    let id = before.leader;
    let kind = quorum.kinds()[&id];
    let since = Instant::now();
    match fault {
        Fault::Killed => drop(quorum.kill(id)?),
        Fault::Held => quorum.pause(id)?,
        Fault::Stopped => drop(quorum.stop(id)?),
    }
    let gap = load.served_again(since, id, LIMIT).map_err(|failure| {
        format!(
            "leader {id} ({kind}) of epoch {} was {fault:?}: {failure}",
            before.epoch
        )
    })?;
    let after = quorum.wait_leader(Some(id))?;
    if after.epoch <= before.epoch || after.high_watermark < before.high_watermark {
        return Err(format!("leader {id} was {fault:?}: {before:?} became {after:?}").into());
    }
    say(&format!(
        "leader {id} ({kind}) {fault:?}: node {} ({}) serves after {:.2} s, epoch {} -> {}",
        after.leader,
        quorum.kinds()[&after.leader],
        gap.as_secs_f64(),
        before.epoch,
        after.epoch
    ));
    match fault {
        Fault::Killed | Fault::Stopped => quorum.start(id, kind)?,
        Fault::Held => quorum.resume(id)?,
    }
    Ok(gap)
}

/// A fetch timeout of 2 s, an election timeout of at most 2 s and its vote, five times over: votes may be split
/// between JVMs, but not for ever.
const LIMIT: Duration = Duration::from_secs(25);
