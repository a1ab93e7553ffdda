//! A mixed quorum of three: it elects, both kinds lead and follow, the high watermark moves, Kafka's tool
//! tells the truth wherever it is asked, and in the end all logs hold the same bytes.

use std::collections::BTreeSet;
use std::path::Path;

use crate::eventually::eventually;
use crate::interop::describe::{Replication, Status};
use crate::interop::jars::Jars;
use crate::interop::moves::MOVES;
use crate::interop::quorum::{Kind, LIMIT, Mode, Quorum};
use crate::interop::{Failure, say};

pub(crate) fn round(jars: &Jars, folder: &Path, mode: Mode, kinds: &[Kind; 3]) -> Result<(), Failure> {
    let mut quorum = Quorum::started(jars, folder, mode, kinds)?;
    let status = quorum.wait_leader(None)?;
    say(&format!(
        "node {} ({}) leads epoch {}",
        status.leader,
        quorum.kinds()[&status.leader],
        status.epoch
    ));
    let led = lead_with_both_kinds(&mut quorum, status)?;
    say(&format!(
        "have led: {}",
        led.iter().map(Kind::to_string).collect::<Vec<_>>().join(", ")
    ));
    survive_a_killed_leader(&mut quorum)?;
    quorum.stop_and_compare()
}

/// Stops leaders until each kind has led, asking every node for the truth under each kind of leader.
fn lead_with_both_kinds(quorum: &mut Quorum<'_>, first: Status) -> Result<BTreeSet<Kind>, Failure> {
    let wanted: BTreeSet<_> = quorum.kinds().into_values().collect();
    let mut led = BTreeSet::new();
    let mut status = first;
    for _ in 0..MOVES {
        let kind = quorum.kinds()[&status.leader];
        if led.insert(kind) {
            let moved = wait_for_progress(quorum, &status)?;
            ask_everyone(quorum, kind)?;
            say(&format!(
                "{kind} leads: high watermark {} -> {moved}, the truth at every node",
                status.high_watermark
            ));
        }
        if led == wanted {
            return Ok(led);
        }
        status = quorum.replace_leader()?;
    }
    Err(format!("after {MOVES} moves only {led:?} have led").into())
}

/// Kills the leader; the others go on from everything that was committed, and it comes back.
fn survive_a_killed_leader(quorum: &mut Quorum<'_>) -> Result<(), Failure> {
    let before = quorum.wait_leader(None)?;
    let kind = quorum.kill(before.leader)?;
    let after = quorum.wait_leader(Some(before.leader))?;
    if after.epoch <= before.epoch || after.high_watermark < before.high_watermark {
        return Err(format!(
            "after the kill of node {}: {before:?} became {after:?}",
            before.leader
        )
        .into());
    }
    quorum.start(before.leader, kind)?;
    quorum.wait_for_all()?;
    say(&format!(
        "killed leader {} ({kind}); node {} leads epoch {}, all caught up",
        before.leader, after.leader, after.epoch
    ));
    Ok(())
}

/// Waits until the high watermark has moved on under the same leader.
fn wait_for_progress(quorum: &mut Quorum<'_>, from: &Status) -> Result<i64, Failure> {
    eventually("a rising high watermark", LIMIT, || {
        let status = quorum.glance()?;
        Ok(status
            .map(|status| status.high_watermark)
            .filter(|moved| *moved > from.high_watermark + 1))
    })
}

/// Kafka's tool, pointed at each node in turn, finds the leader and prints what is so.
fn ask_everyone(quorum: &mut Quorum<'_>, kind: Kind) -> Result<(), Failure> {
    for id in 1..=3 {
        // What the tools say is compared with what is so, which may change while they are asked.
        eventually("the truth under one leader", LIMIT, || {
            let before = quorum.wait_leader(None)?;
            let compared = compare_with_truth(quorum, id, kind, &before);
            let after = quorum.wait_leader(None)?;
            match compared {
                Ok(()) => Ok(Some(())),
                Err(_) if after.epoch != before.epoch => Ok(None),
                Err(failure) => Err(failure),
            }
        })?;
    }
    Ok(())
}

/// What Kafka's tool and ours print of one node.
fn compare_with_truth(quorum: &Quorum<'_>, id: i32, kind: Kind, before: &Status) -> Result<(), Failure> {
    let status = quorum.kafka_status(id)?;
    let wrong = status.cluster_id != quorum.cluster_id()
        || status.leader != before.leader
        || status.epoch != before.epoch
        || status.high_watermark < before.high_watermark
        || status.voters != [1, 2, 3]
        || !status.observers.is_empty();
    if wrong {
        return Err(format!("under {kind} node {id} says {status:?}, true was {before:?}").into());
    }
    let replication = quorum.kafka_replication(id)?;
    let leaders: Vec<_> = replication
        .rows
        .iter()
        .filter(|row| row.status == "Leader")
        .collect();
    let followers = replication
        .rows
        .iter()
        .filter(|row| row.status == "Follower")
        .count();
    let [leader] = leaders.as_slice() else {
        return Err(format!("under {kind} node {id} says {replication:?}").into());
    };
    let lags_true = replication
        .rows
        .iter()
        .all(|row| row.lag == leader.log_end - row.log_end);
    if leader.id != before.leader || followers != 2 || !lags_true {
        return Err(format!("under {kind} node {id} says {replication:?}").into());
    }
    compare_tools(quorum, id, &status, &replication)
}

/// Our tool, asked at the same node, prints the same.
fn compare_tools(
    quorum: &Quorum<'_>,
    id: i32,
    status: &Status,
    replication: &Replication,
) -> Result<(), Failure> {
    let ours = quorum.kraft_status(id)?;
    if ours.steady_lines != status.steady_lines {
        return Err(format!("at node {id} the tools print {status:?} and {ours:?}").into());
    }
    let members = |replication: &Replication| -> Vec<_> {
        let rows = replication.rows.iter();
        rows.map(|row| (row.id, row.directory_id.clone(), row.status.clone()))
            .collect()
    };
    let ours = quorum.kraft_replication(id)?;
    if members(&ours) != members(replication) {
        return Err(format!("at node {id} the tools print {replication:?} and {ours:?}").into());
    }
    Ok(())
}
