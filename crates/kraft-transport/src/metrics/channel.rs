//! What goes over the connections to peers: Kafka's `raft-channel-metrics`.

use super::sampled::Sampled;
use crate::clock;
use kraft_core::Instant;
use std::sync::{Arc, Mutex, MutexGuard};

/// Counts for all connections to peers together. A [`Network`](crate::Network) that wants its traffic among the metrics
/// keeps one and records in it.
#[derive(Debug, Default)]
pub struct ChannelMetrics(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    created: Counted,
    closed: Counted,
    requests: Counted,
    responses: Counted,
    outgoing: Counted,
    incoming: Counted,
    request_bytes: Sampled,
}

/// A total with its rate.
#[derive(Debug, Default)]
struct Counted {
    total: u64,
    recent: Sampled,
}

impl Counted {
    fn add(&mut self, amount: u64, now: Instant) {
        self.total += amount;
        self.recent.record(amount as f64, now);
    }

    fn read(&self, now: Instant) -> Traffic {
        Traffic {
            total: self.total,
            rate: self.recent.rate(now),
        }
    }
}

/// How much there was since the start, and how much in a second lately.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Traffic {
    /// Since the start.
    pub total: u64,
    /// In a second, over the last half minute to a minute.
    pub rate: f64,
}

/// The connections to peers at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChannelView {
    /// Connections that were opened.
    pub created: Traffic,
    /// Connections that were closed.
    pub closed: Traffic,
    /// Requests that were sent.
    pub requests: Traffic,
    /// Answers that were read.
    pub responses: Traffic,
    /// Bytes that were sent.
    pub outgoing: Traffic,
    /// Bytes that were read.
    pub incoming: Traffic,
    /// Bytes of a request on average; NaN without requests.
    pub request_size_average: f64,
    /// Bytes of the largest request; NaN without requests.
    pub request_size_max: f64,
}

/// A connection that is open, until this is dropped.
#[derive(Debug)]
pub struct OpenConnection(Arc<ChannelMetrics>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.lock().closed.add(1, clock::monotonic());
    }
}

impl OpenConnection {
    /// A request of so many bytes is on its way.
    pub fn sent(&self, bytes: usize) {
        let (bytes, now) = (bytes as u64, clock::monotonic());
        let mut counts = self.0.lock();
        counts.requests.add(1, now);
        counts.outgoing.add(bytes, now);
        counts.request_bytes.record(bytes as f64, now);
    }

    /// An answer of so many bytes is here.
    pub fn received(&self, bytes: usize) {
        let (bytes, now) = (bytes as u64, clock::monotonic());
        let mut counts = self.0.lock();
        counts.responses.add(1, now);
        counts.incoming.add(bytes, now);
    }
}

impl ChannelMetrics {
    /// A connection is open.
    #[must_use]
    pub fn opened(this: &Arc<Self>) -> OpenConnection {
        this.lock().created.add(1, clock::monotonic());
        OpenConnection(Arc::clone(this))
    }

    /// What there was until now.
    #[must_use]
    pub fn read(&self) -> ChannelView {
        let now = clock::monotonic();
        let counts = self.lock();
        ChannelView {
            created: counts.created.read(now),
            closed: counts.closed.read(now),
            requests: counts.requests.read(now),
            responses: counts.responses.read(now),
            outgoing: counts.outgoing.read(now),
            incoming: counts.incoming.read(now),
            request_size_average: counts.request_bytes.average(now),
            request_size_max: counts.request_bytes.max(now),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().expect("nobody panics while counting")
    }
}
