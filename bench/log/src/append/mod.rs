//! One encoded batch appended and durable, again and again.

mod ours;
mod peer;
mod raw;

pub use raw::settle;

use std::{path::Path, time::Instant};

use bytes::Bytes;
use kraft_bench_report::{Figure, Goal, Report};
use kraft_wire::batch::BatchBuilder;
use serde_json::json;

use crate::{
    Error,
    measure::{Times, goes_on},
};

/// What is appended, and how often.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub records: usize,
    pub record_bytes: usize,
    pub operations: usize,
}

const LOADS: [Load; 4] = [
    Load {
        records: 1,
        record_bytes: 256,
        operations: 3000,
    },
    Load {
        records: 10,
        record_bytes: 1024,
        operations: 3000,
    },
    Load {
        records: 1,
        record_bytes: 64 << 10,
        operations: 2000,
    },
    Load {
        records: 1,
        record_bytes: 1 << 20,
        operations: 300,
    },
];

/// A segment, or whatever the peer has in its place, is followed by another one at this size.
pub const SEGMENT_BYTES: u64 = 64 << 20;

impl Load {
    /// A batch whose bytes are not all the same.
    pub fn batch(&self, base: i64) -> Bytes {
        let mut builder = BatchBuilder::data(1_760_000_000_000);
        let value: Vec<u8> = (0..self.record_bytes)
            .map(|at| (at as i64 * 31 + base) as u8)
            .collect();
        for _ in 0..self.records {
            builder.push(&value).expect("a record fits into a batch");
        }
        builder.build(base, 1)
    }

    /// The batch of one operation.
    pub fn batch_of(&self, operation: usize) -> Bytes {
        self.batch((operation * self.records) as i64)
    }

    fn is_large(&self) -> bool {
        self.records * self.record_bytes >= 1 << 20
    }

    /// How much faster than raft-engine we want to be.
    fn peer_ratio(&self) -> Option<f64> {
        match (self.records, self.record_bytes) {
            (1, 256) => Some(1.0),
            (10, _) => Some(1.3),
            (1, bytes) if bytes >= 1 << 20 => Some(3.0),
            _ => None,
        }
    }
}

pub fn run(root: &Path, secs: u64, report: &mut Report) -> Result<(), Error> {
    for load in LOADS {
        compare(root, &load, secs, report)?;
    }
    Ok(())
}

/// Operations by the second, and the time that 99 % of them took at most.
#[derive(Default)]
struct Series {
    rate: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
}

impl Series {
    fn add(&mut self, times: &Times) {
        self.rate.push(times.per_second());
        self.p50.push(times.micros(0.5));
        self.p99.push(times.micros(0.99));
    }
}

fn compare(root: &Path, load: &Load, secs: u64, report: &mut Report) -> Result<(), Error> {
    let [mut ours, mut overwrite, mut extend, mut peer] = [(); 4].map(|()| Series::default());
    let mut prepared = Vec::new();
    let started = Instant::now();
    let mut round = 0;
    while goes_on(round, started, secs) {
        // Who comes first changes, so that nobody always follows the same one.
        let order = [0, 1, 2, 3].map(|turn: usize| if round % 2 == 0 { turn } else { 3 - turn });
        for who in order {
            let dir = root.join("append");
            std::fs::create_dir(&dir)?;
            match who {
                0 => overwrite.add(&raw::overwrite(&dir, load)?),
                1 => {
                    let (times, work) = ours::append(&dir, load)?;
                    ours.add(&times);
                    prepared.push(work);
                }
                2 => extend.add(&raw::extend(&dir, load)?),
                _ => peer.add(&peer::append(&dir, load)?),
            }
            std::fs::remove_dir_all(&dir)?;
            raw::settle(root)?;
        }
        round += 1;
    }
    let small = !load.is_large();
    let figure = |name, unit, ours: &[f64], peer: (&str, &[f64]), goal| {
        report.figure(&Figure {
            name,
            parameters: json!({
                "records": load.records,
                "record_bytes": load.record_bytes,
                "operations": load.operations,
                "segment_bytes": SEGMENT_BYTES,
                "sync": "every append",
            }),
            unit,
            ours,
            peer: Some(peer),
            goal,
        });
    };
    let goal = |wanted: bool, goal| wanted.then_some(goal);
    let (raw_goal, p99_goal) = (Goal::RatioMin(0.95), Goal::RatioMax(1.2));
    figure(
        "append",
        "op/s",
        &ours.rate,
        ("raw-overwrite", &overwrite.rate),
        goal(small, raw_goal),
    );
    figure(
        "append",
        "op/s",
        &ours.rate,
        ("raw-extend", &extend.rate),
        goal(!small, raw_goal),
    );
    figure(
        "append",
        "op/s",
        &ours.rate,
        ("raft-engine 0.4.2", &peer.rate),
        load.peer_ratio().map(Goal::RatioMin),
    );
    figure(
        "append p50",
        "us",
        &ours.p50,
        ("raw-overwrite", &overwrite.p50),
        None,
    );
    figure(
        "append p99",
        "us",
        &ours.p99,
        ("raw-overwrite", &overwrite.p99),
        goal(small, p99_goal),
    );
    let bytes: Vec<f64> = prepared
        .iter()
        .map(|work| work.bytes as f64 / (1 << 20) as f64)
        .collect();
    let syncs: Vec<f64> = prepared.iter().map(|work| work.syncs as f64).collect();
    for (name, unit, values) in [
        ("prepared", "MiB", &bytes),
        ("syncs of the preparation", "syncs", &syncs),
    ] {
        report.figure(&Figure {
            name,
            parameters: json!({ "records": load.records, "record_bytes": load.record_bytes }),
            unit,
            ours: values,
            peer: None,
            goal: None,
        });
    }
    Ok(())
}
