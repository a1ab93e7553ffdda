//! The start of a voter on 100 MiB of log in one segment and a snapshot of 10 MB: until it listens, and until it has sent
//! the first Vote or Fetch.

mod directory;
mod node;
mod other_voter;

use std::{path::Path, time::Instant};

use kraft_bench_report::{Figure, Goal, Report};
use serde_json::json;

use self::{
    directory::{Directory, LOG_BYTES, SNAPSHOT_BYTES},
    node::{End, Node},
};
use crate::{Error, measure::goes_on};

pub fn run(root: &Path, kraft: &Path, secs: u64, report: &mut Report) -> Result<(), Error> {
    let voter = Directory::create(root, kraft, "voter", 3)?;
    let single = Directory::create(root, kraft, "single", 1)?;
    let [mut stopped, mut killed] = [(); 2].map(|()| Times::default());
    let mut led = Vec::new();
    let started = Instant::now();
    while goes_on(led.len(), started, secs) {
        voter.as_after_a_stop()?;
        stopped.add(&Node::start(kraft, &voter)?.until_first_request(End::Stop)?);
        voter.as_after_a_kill()?;
        killed.add(&Node::start(kraft, &voter)?.until_first_request(End::Kill)?);
        led.push(Node::start(kraft, &single)?.until_leader()?);
    }
    let parameters = json!({ "log_bytes": LOG_BYTES, "snapshot_bytes": SNAPSHOT_BYTES, "caches": "warm" });
    let figure = |name, ours: &[f64], most: Option<f64>| {
        report.figure(&Figure {
            name,
            parameters: parameters.clone(),
            unit: "ms",
            ours,
            peer: None,
            goal: most.map(Goal::Max),
        });
    };
    figure("start after a stop, listening", &stopped.listening, None);
    figure("start after a stop, first request", &stopped.request, Some(20.0));
    figure("start after SIGKILL, listening", &killed.listening, None);
    figure("start after SIGKILL, first request", &killed.request, Some(60.0));
    figure("start of a single voter, leader", &led, Some(50.0));
    Ok(())
}

/// Milliseconds.
#[derive(Default)]
struct Times {
    listening: Vec<f64>,
    request: Vec<f64>,
}

impl Times {
    fn add(&mut self, started: &node::Started) {
        self.listening.push(started.listening.as_secs_f64() * 1e3);
        self.request.push(started.request.as_secs_f64() * 1e3);
    }
}
