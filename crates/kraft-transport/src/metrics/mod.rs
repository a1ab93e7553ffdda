//! What there is to be measured of a node, under Kafka's names.
//!
//! [`Handle::metrics`](crate::Handle::metrics) gives [`NodeMetrics`], plain values of one moment;
//! [`list`](NodeMetrics::list) gives them their names. [`Publisher`] tells them to the recorder of the `metrics` facade, and
//! [`Handle::publish_metrics`](crate::Handle::publish_metrics) does so again and again.
//!
//! The name of a metric is made of Kafka's MBean by one rule: domain, type, and name or attribute, joined by `_`; in the
//! domain a dot becomes `_`, in the type hyphens go, in the rest hyphens and dots become `_`, and all is in lower case. So
//! `kafka.server:type=raft-metrics` with its attribute `high-watermark` is `kafka_server_raftmetrics_high_watermark`, as
//! the usual configurations of the JMX exporter name it. Other keys of the MBean are labels. A value that is a text stands
//! in a label with the attribute's name, and the number beside it is 1. What Kafka does not have begins with `kraft_`.
//! `docs/metrics.md` lists all of them.

mod channel;
mod engine;
pub(crate) mod latency;
mod list;
mod publish;
pub(crate) mod sampled;
mod time_ratio;

pub use channel::{ChannelMetrics, ChannelView, OpenConnection, Traffic};
pub use engine::{EngineMetrics, LeaderMetrics};
pub use latency::LatencyMs;
pub use list::{Metric, MetricKind};
pub use publish::Publisher;

use crate::event_times::Times;
use kraft_core::{Instant, NodeId, Text};
use std::sync::Mutex;
use time_ratio::TimeRatio;

/// Everything that there is to be measured of a node, at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeMetrics {
    /// The node.
    pub node_id: NodeId,
    /// Its cluster.
    pub cluster_id: Text,
    /// What the engine tells.
    pub engine: EngineMetrics,
    /// How long commands waited for the engine.
    pub queue_time: EventTime,
    /// How long the engine took over a command.
    pub processing_time: EventTime,
    /// The share of time that the engine had nothing to do, since it was last asked for this.
    pub idle_ratio: f64,
    /// What went over connections to peers, where the network counts it.
    pub channel: Option<ChannelView>,
}

/// Times of one kind since the start, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EventTime {
    /// How many there were.
    pub count: u64,
    /// Their average; NaN without any.
    pub mean_ms: f64,
    /// The longest; NaN without any.
    pub max_ms: f64,
}

impl EventTime {
    pub(crate) fn of(times: &Times) -> Self {
        let count = times.count();
        let ms = |duration: std::time::Duration| duration.as_secs_f64() * 1e3;
        Self {
            count,
            mean_ms: ms(times.total()) / count as f64,
            max_ms: if count == 0 { f64::NAN } else { ms(times.max()) },
        }
    }
}

/// How long the engine waits for something to do.
#[derive(Debug, Default)]
pub(crate) struct IdleTime(Mutex<TimeRatio>);

impl IdleTime {
    pub(crate) fn waited(&self, began: Instant, ended: Instant) {
        let mut ratio = self.0.lock().expect("nobody panics while adding");
        ratio.record(began, ended);
    }

    pub(crate) fn read(&self) -> f64 {
        self.0.lock().expect("nobody panics while adding").read()
    }
}
