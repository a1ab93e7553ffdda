//! Text for people, JSON lines for programs.

use std::path::Path;

use serde_json::{Value, json};

use crate::host;
use crate::statistics::{median, median_ratio};

/// Where figures go.
pub struct Report {
    bench: &'static str,
    json: bool,
    host: Value,
}

/// What was measured, in turns where there is a peer.
pub struct Figure<'a> {
    /// What was measured.
    pub name: &'a str,
    /// How it was measured.
    pub parameters: Value,
    /// The unit of the values.
    pub unit: &'a str,
    /// Ours, one value for each turn.
    pub ours: &'a [f64],
    /// What it is compared with, and what that gave.
    pub peer: Option<(&'a str, &'a [f64])>,
    /// Whether that is enough, where something is asked for.
    pub goal: Option<Goal>,
}

/// What the figure is to be.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    /// Ours by the peer's, at least.
    RatioMin(f64),
    /// Ours by the peer's, at most.
    RatioMax(f64),
    /// Ours, at least.
    Min(f64),
    /// Ours, at most.
    Max(f64),
}

impl Report {
    /// `bench` is the name of the command; the files of what is measured lie in `folder`.
    #[must_use]
    pub fn new(bench: &'static str, json: bool, folder: &Path) -> Self {
        let host = host::facts(folder);
        if !json {
            println!("host: {host}");
        }
        Self { bench, json, host }
    }

    /// Prints a figure.
    pub fn figure(&self, figure: &Figure) {
        let value = median(figure.ours);
        let ratio = figure.peer.map(|(_, theirs)| median_ratio(figure.ours, theirs));
        let met = figure.goal.map(|goal| goal.is_met(value, ratio));
        if self.json {
            let line = json!({
                "bench": self.bench,
                "name": figure.name,
                "version": env!("CARGO_PKG_VERSION"),
                "parameters": figure.parameters,
                "value": value,
                "unit": figure.unit,
                "peer": figure.peer.map(|(name, _)| name),
                "peer_value": figure.peer.map(|(_, theirs)| median(theirs)),
                "ratio": ratio,
                "goal": figure.goal.map(|goal| goal.text()),
                "met": met,
                "values": figure.ours,
                "peer_values": figure.peer.map(|(_, theirs)| theirs),
                "load": host::load(),
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
        println!(
            "{} {}: {value:.2} {}{peer}{goal}",
            figure.name, figure.parameters, figure.unit
        );
    }
}

impl Goal {
    fn is_met(self, value: f64, ratio: Option<f64>) -> bool {
        match self {
            Self::RatioMin(least) => ratio.is_some_and(|ratio| ratio >= least),
            Self::RatioMax(most) => ratio.is_some_and(|ratio| ratio <= most),
            Self::Min(least) => value >= least,
            Self::Max(most) => value <= most,
        }
    }

    fn text(self) -> String {
        match self {
            Self::RatioMin(least) => format!("ratio >= {least}"),
            Self::RatioMax(most) => format!("ratio <= {most}"),
            Self::Min(least) => format!(">= {least}"),
            Self::Max(most) => format!("<= {most}"),
        }
    }
}
