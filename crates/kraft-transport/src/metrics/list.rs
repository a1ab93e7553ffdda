//! Kafka's names for what there is to be measured.

use super::{ChannelView, EngineMetrics, EventTime, LeaderMetrics, NodeMetrics, Traffic};
use kraft_core::NodeId;
use kraft_wire::uuid_text;

/// A number with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// The name. Metrics of one name stand one behind the other.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// Whether it only rises.
    pub kind: MetricKind,
    /// What tells it from others of the name.
    pub labels: Vec<(&'static str, String)>,
    /// The number; NaN where there is nothing to tell.
    pub value: f64,
}

/// Whether a metric only rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// It goes up and down.
    Gauge,
    /// It counts since the start.
    Counter,
}

/// Metrics that come together.
#[derive(Default)]
struct List(Vec<Metric>);

impl List {
    fn add(
        &mut self,
        kind: MetricKind,
        name: &'static str,
        help: &'static str,
        labels: Vec<(&'static str, String)>,
        value: f64,
    ) {
        self.0.push(Metric {
            name,
            help,
            kind,
            labels,
            value,
        });
    }

    fn gauge(&mut self, name: &'static str, help: &'static str, value: impl IntoValue) {
        self.add(MetricKind::Gauge, name, help, Vec::new(), value.into_value());
    }

    fn counter(&mut self, name: &'static str, help: &'static str, value: u64) {
        self.add(MetricKind::Counter, name, help, Vec::new(), value.into_value());
    }

    /// A text is a label beside a 1.
    fn text(&mut self, name: &'static str, help: &'static str, label: &'static str, text: String) {
        self.add(MetricKind::Gauge, name, help, vec![(label, text)], 1.0);
    }
}

/// Numbers that a metric can have. Beyond 2^53 the nearest that a double has.
trait IntoValue {
    fn into_value(self) -> f64;
}

impl IntoValue for f64 {
    fn into_value(self) -> f64 {
        self
    }
}

impl IntoValue for i64 {
    fn into_value(self) -> f64 {
        self as f64
    }
}

impl IntoValue for u64 {
    fn into_value(self) -> f64 {
        self as f64
    }
}

impl IntoValue for usize {
    fn into_value(self) -> f64 {
        self as f64
    }
}

impl IntoValue for i32 {
    fn into_value(self) -> f64 {
        self.into()
    }
}

impl IntoValue for bool {
    fn into_value(self) -> f64 {
        f64::from(u8::from(self))
    }
}

impl NodeMetrics {
    /// All of it with its names. What only a leader has is missing elsewhere.
    #[must_use]
    pub fn list(&self) -> Vec<Metric> {
        let mut list = List::default();
        let engine = &self.engine;
        raft(&mut list, engine, self.idle_ratio);
        if let Some(channel) = &self.channel {
            raft_channel(&mut list, channel);
        }
        controller(&mut list, self);
        loader(&mut list, engine);
        snapshot_emitter(&mut list, engine);
        node(&mut list, engine);
        list.text(
            "kafka_server_controllerserver_clusterid",
            "The cluster, in the label.",
            "clusterid",
            self.cluster_id.to_string(),
        );
        own(&mut list, engine);
        list.0
    }
}

fn id(node: Option<NodeId>) -> i32 {
    node.unwrap_or(NodeId::NONE).0
}

/// `kafka.server:type=raft-metrics`.
fn raft(list: &mut List, engine: &EngineMetrics, idle_ratio: f64) {
    list.text(
        "kafka_server_raftmetrics_current_state",
        "The role, in the label.",
        "current_state",
        engine.current_state.to_owned(),
    );
    list.gauge(
        "kafka_server_raftmetrics_current_leader",
        "The leader, -1 while unknown.",
        id(engine.leader),
    );
    list.gauge(
        "kafka_server_raftmetrics_current_vote",
        "Whom this node voted for in the epoch, -1 for nobody.",
        id(engine.vote),
    );
    list.text(
        "kafka_server_raftmetrics_current_vote_directory_id",
        "The directory of the replica that got the vote, in the label.",
        "current_vote_directory_id",
        uuid_text::format(&engine.vote_directory_id),
    );
    list.gauge(
        "kafka_server_raftmetrics_current_epoch",
        "The epoch.",
        engine.epoch.0,
    );
    list.gauge(
        "kafka_server_raftmetrics_high_watermark",
        "Everything below is committed, -1 while unknown.",
        engine.high_watermark,
    );
    list.gauge(
        "kafka_server_raftmetrics_log_end_offset",
        "The end of the log after the last append of this process, 0 before it.",
        engine.log_end_offset,
    );
    list.gauge(
        "kafka_server_raftmetrics_log_end_epoch",
        "The epoch of the last append.",
        engine.log_end_epoch.0,
    );
    list.gauge(
        "kafka_server_raftmetrics_number_of_voters",
        "Voters in force, committed or not.",
        engine.voters,
    );
    list.gauge(
        "kafka_server_raftmetrics_number_unknown_voter_connections",
        "Always 0, as in Kafka.",
        0,
    );
    if let Some(LeaderMetrics {
        observers,
        changes_voters,
        ..
    }) = &engine.leading
    {
        list.gauge(
            "kafka_server_raftmetrics_number_of_observers",
            "Replicas that fetch and do not vote. Leader only.",
            *observers,
        );
        list.gauge(
            "kafka_server_raftmetrics_uncommitted_voter_change",
            "1 while a voter change is under way. Leader only.",
            *changes_voters,
        );
    }
    list.gauge(
        "kafka_server_raftmetrics_commit_latency_avg",
        "Milliseconds from append to commit, for each record of a batch.",
        engine.commit_latency_average,
    );
    list.gauge(
        "kafka_server_raftmetrics_commit_latency_max",
        "The longest of the commit latencies.",
        engine.commit_latency_max,
    );
    list.gauge(
        "kafka_server_raftmetrics_election_latency_avg",
        "Milliseconds from a campaign to a known leader.",
        engine.election_latency_average,
    );
    list.gauge(
        "kafka_server_raftmetrics_election_latency_max",
        "The longest of the election latencies.",
        engine.election_latency_max,
    );
    list.gauge(
        "kafka_server_raftmetrics_fetch_records_rate",
        "Records appended as a follower, in a second.",
        engine.fetch_records_rate,
    );
    list.gauge(
        "kafka_server_raftmetrics_append_records_rate",
        "Records appended as the leader, in a second.",
        engine.append_records_rate,
    );
    list.gauge(
        "kafka_server_raftmetrics_poll_idle_ratio_avg",
        "The share of time that the engine waits, since the last reading.",
        idle_ratio,
    );
}

/// `kafka.server:type=raft-channel-metrics`.
fn raft_channel(list: &mut List, channel: &ChannelView) {
    let mut both = |total: &'static str, rate: &'static str, help: &'static str, traffic: Traffic| {
        list.counter(total, help, traffic.total);
        list.gauge(rate, help, traffic.rate);
    };
    both(
        "kafka_server_raftchannelmetrics_connection_creation_total",
        "kafka_server_raftchannelmetrics_connection_creation_rate",
        "Connections to peers that were opened.",
        channel.created,
    );
    both(
        "kafka_server_raftchannelmetrics_connection_close_total",
        "kafka_server_raftchannelmetrics_connection_close_rate",
        "Connections to peers that were closed.",
        channel.closed,
    );
    both(
        "kafka_server_raftchannelmetrics_request_total",
        "kafka_server_raftchannelmetrics_request_rate",
        "Requests to peers.",
        channel.requests,
    );
    both(
        "kafka_server_raftchannelmetrics_response_total",
        "kafka_server_raftchannelmetrics_response_rate",
        "Answers of peers.",
        channel.responses,
    );
    both(
        "kafka_server_raftchannelmetrics_network_io_total",
        "kafka_server_raftchannelmetrics_network_io_rate",
        "Requests and answers.",
        Traffic {
            total: channel.requests.total + channel.responses.total,
            rate: channel.requests.rate + channel.responses.rate,
        },
    );
    both(
        "kafka_server_raftchannelmetrics_outgoing_byte_total",
        "kafka_server_raftchannelmetrics_outgoing_byte_rate",
        "Bytes to peers.",
        channel.outgoing,
    );
    both(
        "kafka_server_raftchannelmetrics_incoming_byte_total",
        "kafka_server_raftchannelmetrics_incoming_byte_rate",
        "Bytes from peers.",
        channel.incoming,
    );
    list.gauge(
        "kafka_server_raftchannelmetrics_connection_count",
        "Connections to peers that are open.",
        channel.created.total - channel.closed.total,
    );
    list.gauge(
        "kafka_server_raftchannelmetrics_request_size_avg",
        "Bytes of a request on average.",
        channel.request_size_average,
    );
    list.gauge(
        "kafka_server_raftchannelmetrics_request_size_max",
        "Bytes of the largest request.",
        channel.request_size_max,
    );
}

/// `kafka.controller:type=KafkaController` and `type=ControllerEventManager`.
fn controller(list: &mut List, metrics: &NodeMetrics) {
    let engine = &metrics.engine;
    list.gauge(
        "kafka_controller_kafkacontroller_activecontrollercount",
        "1 where the state machine leads, 0 elsewhere.",
        engine.active,
    );
    list.gauge(
        "kafka_controller_kafkacontroller_lastappliedrecordoffset",
        "The last offset that the state machine has taken, -1 for none.",
        engine.last_applied_offset,
    );
    list.gauge(
        "kafka_controller_kafkacontroller_lastcommittedrecordoffset",
        "The last offset that is committed and applied, -1 for none.",
        engine.last_committed_offset,
    );
    list.gauge(
        "kafka_controller_kafkacontroller_lastappliedrecordtimestamp",
        "When the last record was written, in milliseconds since 1970, -1 for none.",
        engine.last_applied_timestamp_ms,
    );
    list.gauge(
        "kafka_controller_kafkacontroller_lastappliedrecordlagms",
        "Milliseconds since the last record was written, -1 for none.",
        engine.last_applied_lag_ms,
    );
    list.counter(
        "kafka_controller_kafkacontroller_newactivecontrollerscount",
        "How often this node has learnt of a leader.",
        engine.new_leaders,
    );
    list.counter(
        "kafka_controller_kafkacontroller_eventqueueoperationsstartedcount",
        "Commands that the engine has taken.",
        engine.operations,
    );
    list.counter(
        "kafka_controller_kafkacontroller_eventqueueoperationstimedoutcount",
        "Commands that were dropped because nobody waited for them any more.",
        engine.operations_abandoned,
    );
    list.gauge(
        "kafka_controller_kafkacontroller_metadataerrorcount",
        "Records that could not be applied, and states that could not lead.",
        engine.metadata_errors,
    );
    list.gauge(
        "kafka_controller_kafkacontroller_ignoredstaticvoters",
        "1 where controller.quorum.voters is set and records go before it.",
        engine.ignores_static_voters,
    );
    let mut event_time = |names: [&'static str; 3], help: [&'static str; 3], time: EventTime| {
        list.counter(names[0], help[0], time.count);
        list.gauge(names[1], help[1], time.mean_ms);
        list.gauge(names[2], help[2], time.max_ms);
    };
    event_time(
        [
            "kafka_controller_controllereventmanager_eventqueuetimems_count",
            "kafka_controller_controllereventmanager_eventqueuetimems_mean",
            "kafka_controller_controllereventmanager_eventqueuetimems_max",
        ],
        [
            "Commands that have waited for the engine.",
            "Milliseconds that they waited on average.",
            "Milliseconds that one waited at most.",
        ],
        metrics.queue_time,
    );
    event_time(
        [
            "kafka_controller_controllereventmanager_eventqueueprocessingtimems_count",
            "kafka_controller_controllereventmanager_eventqueueprocessingtimems_mean",
            "kafka_controller_controllereventmanager_eventqueueprocessingtimems_max",
        ],
        [
            "Commands that the engine was busy with.",
            "Milliseconds that they took on average.",
            "Milliseconds that one took at most.",
        ],
        metrics.processing_time,
    );
    list.gauge(
        "kafka_controller_controllereventmanager_avgidleratio",
        "As poll_idle_ratio_avg: one task does the work of both.",
        metrics.idle_ratio,
    );
}

/// `kafka.server:type=MetadataLoader`.
fn loader(list: &mut List, engine: &EngineMetrics) {
    let features = &engine.features.features;
    if let Some(version) = features.iter().find(|feature| feature.name == METADATA_VERSION) {
        list.gauge(
            "kafka_server_metadataloader_currentmetadataversion",
            "The level of metadata.version.",
            i32::from(version.finalized),
        );
    }
    list.gauge(
        "kafka_server_metadataloader_currentcontrollerid",
        "The leader, -1 while unknown.",
        id(engine.leader),
    );
    list.counter(
        "kafka_server_metadataloader_handleloadsnapshotcount",
        "Snapshots that were loaded, the bootstrap checkpoint apart.",
        engine.snapshots_loaded,
    );
    let levels = features
        .iter()
        .map(|feature| (camel_case(&feature.name), feature.finalized));
    let kraft_version = (camel_case(KRAFT_VERSION), engine.kraft_version.0);
    for (name, level) in std::iter::once(kraft_version).chain(levels) {
        list.add(
            MetricKind::Gauge,
            "kafka_server_metadataloader_finalizedlevel",
            "The level of a feature that is in force.",
            vec![("featureName", name)],
            f64::from(level),
        );
    }
}

/// `kafka.server:type=SnapshotEmitter`.
fn snapshot_emitter(list: &mut List, engine: &EngineMetrics) {
    list.gauge(
        "kafka_server_snapshotemitter_latestsnapshotgeneratedbytes",
        "Bytes of the last snapshot that this process wrote, 0 before.",
        engine.snapshot_bytes,
    );
    list.gauge(
        "kafka_server_snapshotemitter_latestsnapshotgeneratedagems",
        "Milliseconds since it was written, or since the start.",
        engine.snapshot_age_ms,
    );
}

/// `kafka.server:type=node-metrics`.
fn node(list: &mut List, engine: &EngineMetrics) {
    let features = engine.features.features.iter();
    let known = features.map(|feature| (feature.name.as_str(), feature.supported));
    let known: Vec<_> = std::iter::once((KRAFT_VERSION, engine.kraft_version.1))
        .chain(known)
        .collect();
    for (name, help, is_max) in [
        (
            "kafka_server_nodemetrics_maximum_supported_level",
            "The highest level of a feature that this node knows.",
            true,
        ),
        (
            "kafka_server_nodemetrics_minimum_supported_level",
            "The lowest level of a feature that this node knows.",
            false,
        ),
    ] {
        for (feature, levels) in &known {
            let level = if is_max { levels.max } else { levels.min };
            let labels = vec![("feature_name", feature.replace('.', "-"))];
            list.add(MetricKind::Gauge, name, help, labels, f64::from(level));
        }
    }
}

/// What Kafka does not tell.
fn own(list: &mut List, engine: &EngineMetrics) {
    let disk = engine.disk;
    for (quantile, value) in [("0.5", disk.median), ("0.99", disk.p99), ("1", disk.max)] {
        list.add(
            MetricKind::Gauge,
            "kraft_log_durable_ms",
            "Milliseconds until the log thread has made something durable, in the last half minute to a minute.",
            vec![("quantile", quantile.to_owned())],
            value,
        );
    }
    for (voter, age_ms) in engine
        .leading
        .iter()
        .flat_map(|leader| &leader.voter_fetch_age_ms)
    {
        list.add(
            MetricKind::Gauge,
            "kraft_voter_last_fetch_age_ms",
            "Milliseconds since a voter has fetched, -1 for never. Leader only.",
            vec![("voter", voter.to_string())],
            *age_ms as f64,
        );
    }
    for ((role, reason), count) in &engine.transitions {
        let role = format!("{role:?}").to_lowercase();
        list.add(
            MetricKind::Counter,
            "kraft_transitions_total",
            "How often the role has changed to this one, and why.",
            vec![("role", role), ("reason", (*reason).to_owned())],
            *count as f64,
        );
    }
}

/// `kraft.version` as Kafka writes it in names: `kraftVersion`.
fn camel_case(feature: &str) -> String {
    let mut words = feature.split(['.', '-', '_']);
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

const METADATA_VERSION: &str = "metadata.version";

const KRAFT_VERSION: &str = "kraft.version";
