//! The 1,086 questions that were put to controllers of Apache Kafka 4.4.0, put to running nodes in the same state: the
//! outcome is the same, and so is the answer, but for what `docs/differences.md` lists by the id of the question.
//!
//! The questions are those of `kraft-wire`, the directories of the quorums those of `vectors`; both say how they were made.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

mod compare;
mod dynamic;
mod fatal;
mod fixed;
mod lone;
mod node;
mod ports;
mod quorum;
mod report;
mod row;

use std::collections::BTreeSet;
use std::io::Write;
use std::thread;
use std::time::Duration;

use compare::Context;
use node::{LIMIT, Node};
use report::{Report, listed};
use row::Row;

/// All files, with how many questions they hold.
const FILES: &[(&str, usize)] = &[
    ("add-raft-voter", 37),
    ("api-versions", 60),
    ("begin-quorum-epoch", 57),
    ("controller-apis", 40),
    ("describe-cluster", 25),
    ("describe-quorum", 56),
    ("end-quorum-epoch", 45),
    ("fatal", 39),
    ("fetch", 171),
    ("fetch-snapshot", 48),
    ("framing", 126),
    ("lone-dynamic", 67),
    ("lone-static-b", 24),
    ("reconfiguration", 22),
    ("remove-raft-voter", 8),
    ("static", 114),
    ("update-raft-voter", 21),
    ("vote", 126),
];

/// Puts a question and compares what comes of it.
fn ask(context: &Context, node: &Node, row: &Row) -> Result<(), String> {
    // Only what stays unanswered is waited for in vain.
    let patience = match row.text("outcome") {
        "timeout" => Duration::from_millis(300),
        _ => LIMIT,
    };
    let mut bytes = row.sent();
    context.ports.here(&mut bytes);
    let frames = row.wanted_answers().len().max(1);
    context.compare(row, &node.ask(&bytes, frames, patience))
}

#[test]
fn every_question_is_answered_as_kafka_answers_it_or_as_listed() {
    let groups: [fn() -> Report; 5] = [
        dynamic::interrogate,
        fixed::interrogate,
        lone::dynamic,
        lone::fixed,
        fatal::interrogate,
    ];
    let mut all = Report::default();
    thread::scope(|scope| {
        let groups = groups.map(|group| scope.spawn(group));
        for group in groups {
            all.join(group.join().unwrap());
        }
    });

    let listed = listed();
    let (mut failures, mut table) = (Vec::new(), String::new());
    let mut totals = [0; 3];
    for (file, expected) in FILES {
        let mut counts = [0; 3];
        let mut asked = BTreeSet::new();
        for (id, result) in &all.results {
            if id.rsplit_once('-').unwrap().0 != *file {
                continue;
            }
            assert!(asked.insert(id), "{id} was asked twice");
            counts[0] += 1;
            match (result, listed.contains(id)) {
                (Ok(()), false) => counts[1] += 1,
                (Err(_), true) => counts[2] += 1,
                (Ok(()), true) => failures.push(format!("{id} is listed as different, but is equal")),
                (Err(difference), false) => failures.push(format!("{id}: {difference}")),
            }
        }
        if asked.len() != *expected {
            failures.push(format!(
                "{} of {expected} questions of {file} were asked",
                asked.len()
            ));
        }
        table += &line(file, counts);
        for (total, count) in totals.iter_mut().zip(counts) {
            *total += count;
        }
    }
    table += &line("all", totals);
    let asked: BTreeSet<_> = all.results.iter().map(|(id, _)| id).collect();
    let strangers = listed.iter().filter(|id| !asked.contains(id));
    failures.extend(strangers.map(|id| format!("{id} is listed, but no question")));
    // Not captured: these are the figures of the suite.
    writeln!(std::io::stderr(), "{table}").unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn line(file: &str, [asked, equal, different]: [usize; 3]) -> String {
    format!("{file:20} asked {asked:4}  equal {equal:4}  listed as different {different:2}\n")
}
