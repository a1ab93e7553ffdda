//! Which keys there are: obeyed ones, known ones without effect here, and unknown ones.

use super::{
    error::ConfigError,
    java::Properties,
    values::{parse_boolean, parse_integer},
};

/// Keys that nothing here obeys, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Unused {
    /// Kafka knows them.
    pub(super) without_effect: Vec<String>,
    /// Kafka does not know them either, as far as we know.
    pub(super) unknown: Vec<String>,
}

/// Sorts the keys and checks the values of those whose type is known.
pub(super) fn unused(properties: &Properties) -> Result<Unused, ConfigError> {
    let mut unused = Unused::default();
    for (key, value) in properties.iter() {
        if OBEYED.contains(&key) {
            continue;
        }
        if let Some((_, kind)) = WITHOUT_EFFECT.iter().find(|(known, _)| *known == key) {
            kind.check(key, value.trim())?;
            unused.without_effect.push(key.to_owned());
        } else if FAMILIES.iter().any(|family| key.starts_with(family)) {
            unused.without_effect.push(key.to_owned());
        } else {
            unused.unknown.push(key.to_owned());
        }
    }
    Ok(unused)
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Int(i32),
    Long(i64),
    Boolean,
    Text,
}

impl Kind {
    fn check(self, key: &str, value: &str) -> Result<(), ConfigError> {
        match self {
            Self::Int(min) => {
                parse_integer(key, value, i64::from(min)..=i64::from(i32::MAX))?;
            }
            Self::Long(min) => {
                parse_integer(key, value, min..=i64::MAX)?;
            }
            Self::Boolean => {
                parse_boolean(key, value)?;
            }
            Self::Text => {}
        }
        Ok(())
    }
}

const OBEYED: &[&str] = &[
    "advertised.listeners",
    "authorizer.class.name",
    "broker.id",
    "connections.max.idle.ms",
    "controller.listener.names",
    "controller.quorum.append.linger.ms",
    "controller.quorum.auto.join.enable",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.election.backoff.max.ms",
    "controller.quorum.election.timeout.ms",
    "controller.quorum.fetch.max.bytes",
    "controller.quorum.fetch.snapshot.max.bytes",
    "controller.quorum.fetch.timeout.ms",
    "controller.quorum.request.timeout.ms",
    "controller.quorum.retry.backoff.ms",
    "controller.quorum.voters",
    "inter.broker.listener.name",
    "internal.metadata.log.segment.bytes",
    "listener.security.protocol.map",
    "listeners",
    "log.dir",
    "log.dirs",
    "max.connections",
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
    "metadata.log.dir",
    "metadata.log.max.record.bytes.between.snapshots",
    "metadata.log.max.snapshot.interval.ms",
    "metadata.log.segment.bytes",
    "metadata.log.segment.ms",
    "metadata.max.idle.interval.ms",
    "metadata.max.retention.bytes",
    "metadata.max.retention.ms",
    "min.insync.replicas",
    "node.id",
    "process.roles",
    "socket.request.max.bytes",
];

const WITHOUT_EFFECT: &[(&str, Kind)] = &[
    // Typed and checked with the settings that it belongs to; nothing asks for it.
    ("internal.metadata.delete.delay.millis", Kind::Text),
    ("broker.heartbeat.interval.ms", Kind::Int(i32::MIN)),
    ("broker.session.timeout.ms", Kind::Int(i32::MIN)),
    ("connection.failed.authentication.delay.ms", Kind::Int(0)),
    ("connections.max.reauth.ms", Kind::Long(i64::MIN)),
    ("controller.performance.always.log.threshold.ms", Kind::Long(0)),
    ("controller.performance.sample.period.ms", Kind::Long(100)),
    ("early.start.listeners", Kind::Text),
    ("initial.broker.registration.timeout.ms", Kind::Int(i32::MIN)),
    ("internal.metadata.max.batch.size.in.bytes", Kind::Int(i32::MIN)),
    ("max.connection.creation.rate", Kind::Int(0)),
    ("num.io.threads", Kind::Int(1)),
    ("num.network.threads", Kind::Int(1)),
    ("queued.max.request.bytes", Kind::Long(i64::MIN)),
    ("queued.max.requests", Kind::Int(1)),
    ("request.timeout.ms", Kind::Int(i32::MIN)),
    ("security.inter.broker.protocol", Kind::Text),
    ("server.max.startup.time.ms", Kind::Long(0)),
    ("socket.connection.setup.timeout.max.ms", Kind::Long(i64::MIN)),
    ("socket.connection.setup.timeout.ms", Kind::Long(i64::MIN)),
    ("socket.listen.backlog.size", Kind::Int(1)),
    ("socket.receive.buffer.bytes", Kind::Int(i32::MIN)),
    ("socket.send.buffer.bytes", Kind::Int(i32::MIN)),
    ("unstable.api.versions.enable", Kind::Boolean),
    ("unstable.feature.versions.enable", Kind::Boolean),
];

/// What broker settings and the settings of plug-ins begin with.
const FAMILIES: &[&str] = &[
    "allow.everyone.if.no.acl.found",
    "alter.",
    "auto.",
    "background.threads",
    "broker.",
    "client.quota.",
    "compression.",
    "config.providers",
    "controlled.shutdown.",
    "create.topic.",
    "default.replication.factor",
    "delegation.token.",
    "delete.",
    "eligible.leader.replicas.",
    "fetch.",
    "group.",
    "leader.imbalance.",
    "listener.name.",
    "log.",
    "message.max.bytes",
    "metric.reporters",
    "metrics.",
    "num.",
    "offset",
    "password.encoder.",
    "principal.",
    "producer.",
    "quota.",
    "remote.log.",
    "replica.",
    "replication.",
    "sasl.",
    "security.",
    "share.",
    "ssl.",
    "streams.",
    "super.users",
    "telemetry.",
    "transaction.",
    "transactional.",
    "unclean.leader.election.",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_by_what_they_do() {
        let properties = Properties::parse(
            b"node.id=1\nnum.io.threads=8\nlog.retention.hours=168\ncontroller.quorum.voterz=\nlog.dirs=/x",
        )
        .unwrap();
        let expected = Unused {
            without_effect: vec!["log.retention.hours".to_owned(), "num.io.threads".to_owned()],
            unknown: vec!["controller.quorum.voterz".to_owned()],
        };
        assert_eq!(unused(&properties), Ok(expected));
    }

    /// What log and engine are told is not announced as a key without effect.
    #[test]
    fn linger_ends_of_segments_and_retention_are_obeyed() {
        let properties = Properties::parse(
            b"metadata.log.segment.ms=1\nmetadata.max.retention.bytes=1\nmetadata.max.retention.ms=1\n\
              controller.quorum.append.linger.ms=1",
        )
        .unwrap();
        assert_eq!(unused(&properties), Ok(Unused::default()));
    }

    #[test]
    fn a_wrong_value_is_wrong_without_effect_too() {
        for text in [
            "num.io.threads=0",
            "queued.max.requests=many",
            "server.max.startup.time.ms=-1",
            "unstable.api.versions.enable=yes",
        ] {
            let properties = Properties::parse(text.as_bytes()).unwrap();
            assert!(unused(&properties).is_err(), "{text}");
        }
    }
}
