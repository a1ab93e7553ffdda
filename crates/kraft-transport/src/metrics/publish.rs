//! The way of metrics to the `metrics` facade.

use super::{Metric, MetricKind, NodeMetrics};
use metrics::{Label, counter, describe_counter, describe_gauge, gauge};
use std::collections::BTreeSet;

/// Tells the recorder of the `metrics` facade what a node measures.
///
/// The facade cannot take a metric back. One that is there no more, because the leadership is gone or the state is another
/// one, is told as NaN.
#[derive(Debug, Default)]
pub struct Publisher {
    /// The gauges that were told last time.
    told: BTreeSet<Key>,
    described: BTreeSet<&'static str>,
}

type Key = (&'static str, Vec<(&'static str, String)>);

impl Publisher {
    /// Tells what is measured now.
    pub fn publish(&mut self, metrics: &NodeMetrics) {
        let mut gone = std::mem::take(&mut self.told);
        for metric in metrics.list() {
            self.describe(&metric);
            match metric.kind {
                MetricKind::Counter => {
                    counter!(metric.name, labels(&metric.labels)).absolute(metric.value as u64);
                }
                MetricKind::Gauge => {
                    gauge!(metric.name, labels(&metric.labels)).set(metric.value);
                    let key = (metric.name, metric.labels);
                    gone.remove(&key);
                    self.told.insert(key);
                }
            }
        }
        for (name, of) in gone {
            gauge!(name, labels(&of)).set(f64::NAN);
        }
    }

    fn describe(&mut self, metric: &Metric) {
        if self.described.insert(metric.name) {
            match metric.kind {
                MetricKind::Counter => describe_counter!(metric.name, metric.help),
                MetricKind::Gauge => describe_gauge!(metric.name, metric.help),
            }
        }
    }
}

fn labels(labels: &[(&'static str, String)]) -> Vec<Label> {
    let label = |(name, value): &(&'static str, String)| Label::new(*name, value.clone());
    labels.iter().map(label).collect()
}
