//! Text for people, JSON lines for programs.

use std::fs;
use std::path::Path;
use std::thread;

use serde_json::{Value, json};

pub(super) struct Report {
    bench: &'static str,
    json: bool,
    host: Value,
}

/// What was measured, in turns where there is a peer.
pub(super) struct Figure<'a> {
    pub(super) name: &'a str,
    pub(super) parameters: Value,
    pub(super) unit: &'a str,
    pub(super) ours: &'a [f64],
    /// What it is compared with, and what that gave.
    pub(super) peer: Option<(&'a str, &'a [f64])>,
    pub(super) goal: Option<Goal>,
}

/// What the figure is to be.
#[derive(Clone, Copy)]
pub(super) enum Goal {
    /// Ours, at most.
    Max(f64),
    /// Ours, at least.
    Min(f64),
    /// Ours by the peer's, at most.
    RatioMax(f64),
    /// Ours by the peer's, at least.
    RatioMin(f64),
}

impl Report {
    pub(super) fn new(bench: &'static str, json: bool, folder: &Path) -> Report {
        let host = host(folder);
        if !json {
            println!("host: {host}");
        }
        Report { bench, json, host }
    }

    pub(super) fn figure(&self, figure: &Figure) {
        let value = median(figure.ours);
        let ratio = figure.peer.map(|(_, theirs)| {
            let pairs = figure.ours.iter().zip(theirs);
            median(&pairs.map(|(ours, theirs)| ours / theirs).collect::<Vec<_>>())
        });
        let met = figure.goal.map(|goal| goal.is_met(value, ratio));
        if self.json {
            let line = json!({
                "bench": self.bench,
                "name": figure.name,
                "version": env!("CARGO_PKG_VERSION"),
                "sync": "each batch, on every voter",
                "parameters": figure.parameters,
                "value": value,
                "unit": figure.unit,
                "peer": figure.peer.map(|(name, _)| name),
                "peer_value": figure.peer.map(|(_, theirs)| median(theirs)),
                "ratio": ratio,
                "goal": figure.goal.map(Goal::text),
                "met": met,
                "values": figure.ours,
                "peer_values": figure.peer.map(|(_, theirs)| theirs),
                "load": read("/proc/loadavg").split(' ').next(),
                "host": self.host,
            });
            println!("{line}");
            return;
        }
        let peer = figure.peer.map_or(String::new(), |(name, theirs)| {
            let ratio = ratio.unwrap_or(f64::NAN);
            format!("; {name}: {:.2}, ratio {ratio:.3}", median(theirs))
        });
        let goal = match (figure.goal, met) {
            (Some(goal), Some(true)) => format!("  [goal {} met]", goal.text()),
            (Some(goal), _) => format!("  [goal {} MISSED]", goal.text()),
            (None, _) => String::new(),
        };
        let (name, unit) = (figure.name, figure.unit);
        println!("{name} {}: {value:.2} {unit}{peer}{goal}", figure.parameters);
    }
}

impl Goal {
    fn is_met(self, value: f64, ratio: Option<f64>) -> bool {
        match self {
            Goal::Max(most) => value <= most,
            Goal::Min(least) => value >= least,
            Goal::RatioMax(most) => ratio.is_some_and(|ratio| ratio <= most),
            Goal::RatioMin(least) => ratio.is_some_and(|ratio| ratio >= least),
        }
    }

    fn text(self) -> String {
        match self {
            Goal::Max(most) => format!("<= {most}"),
            Goal::Min(least) => format!(">= {least}"),
            Goal::RatioMax(most) => format!("ratio <= {most}"),
            Goal::RatioMin(least) => format!("ratio >= {least}"),
        }
    }
}

/// The value below which this part of the values lies.
pub(super) fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        len => sorted[((len as f64 * part).ceil() as usize).clamp(1, len) - 1],
    }
}

pub(super) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

fn host(folder: &Path) -> Value {
    let info = read("/proc/cpuinfo");
    let model = info.lines().find(|line| line.starts_with("model name"));
    let mounts = read("/proc/mounts");
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let above = mounts.filter(|(place, _)| folder.starts_with(place));
    json!({
        "cpu": model.and_then(|line| line.split_once(": ")).map(|(_, name)| name),
        "cores": thread::available_parallelism().map_or(0, |cores| cores.get()),
        "fs": above.max_by_key(|(place, _)| place.len()).map(|(_, name)| name),
        "kernel": read("/proc/sys/kernel/osrelease"),
    })
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}
