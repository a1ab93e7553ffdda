use super::*;

/// A minimal controller's file, with lines replaced or added.
fn properties(lines: &[&str]) -> Properties {
    let mut properties = Properties::default();
    for line in [
        "process.roles=controller",
        "node.id=1",
        "controller.quorum.bootstrap.servers=localhost:9093",
        "controller.listener.names=CONTROLLER",
        "listeners=CONTROLLER://:9093",
        "log.dirs=/data/a,/data/b",
    ]
    .iter()
    .chain(lines)
    {
        properties.apply_override(line).unwrap();
    }
    properties
}

fn config(lines: &[&str]) -> ServerConfig {
    ServerConfig::from_properties(&properties(lines)).unwrap()
}

fn error(lines: &[&str]) -> String {
    match ServerConfig::from_properties(&properties(lines)) {
        Ok(_) => panic!("{lines:?} is taken"),
        Err(error) => error.to_string(),
    }
}

fn listener(name: &str, host: Option<&str>, port: u16) -> Listener {
    Listener {
        name: name.to_owned(),
        host: host.map(str::to_owned),
        port,
    }
}

fn endpoint(host: &str, port: u16) -> Endpoint {
    Endpoint {
        host: host.into(),
        port,
    }
}

#[test]
fn a_minimal_file_has_kafkas_defaults() {
    let expected = ServerConfig {
        node_id: NodeId(1),
        log_dirs: vec!["/data/a".into(), "/data/b".into()],
        metadata_log_dir: "/data/a".into(),
        controller_listener_names: vec!["CONTROLLER".to_owned()],
        listeners: vec![listener("CONTROLLER", None, 9093)],
        advertised_listeners: vec![listener("CONTROLLER", None, 9093)],
        quorum: QuorumSettings {
            voters: [].into(),
            bootstrap_servers: vec![endpoint("localhost", 9093)],
            election_timeout: Duration::from_millis(1000),
            fetch_timeout: Duration::from_millis(2000),
            election_backoff_max: Duration::from_millis(1000),
            append_linger: Duration::ZERO,
            request_timeout: Duration::from_millis(2000),
            retry_backoff: Duration::from_millis(20),
            fetch_max_bytes: 1_048_576,
            fetch_snapshot_max_bytes: 1_048_576,
            auto_join: false,
        },
        metadata_log: MetadataLogSettings {
            segment_bytes: 1_073_741_824,
            segment_age: Duration::from_secs(604_800),
            snapshot_max_new_bytes: 20_971_520,
            snapshot_max_interval: Some(Duration::from_secs(3600)),
            retention_bytes: Some(104_857_600),
            retention_age: Some(Duration::from_secs(604_800)),
            max_idle_interval: Some(Duration::from_millis(500)),
            delete_delay: Duration::from_secs(60),
        },
        socket_request_max_bytes: 104_857_600,
        connections_max_idle: Some(Duration::from_secs(600)),
        connections: ConnectionSettings {
            max: None,
            max_per_ip: None,
            overrides: vec![],
        },
        min_insync_replicas: 1,
        without_effect: vec![],
        unknown: vec![],
    };
    assert_eq!(config(&[]), expected);
}

#[test]
fn every_number_is_read_from_its_own_key() {
    let config = config(&[
        "controller.quorum.election.timeout.ms=1",
        "controller.quorum.fetch.timeout.ms=2",
        "controller.quorum.election.backoff.max.ms=3",
        "controller.quorum.append.linger.ms=4",
        "controller.quorum.request.timeout.ms=5",
        "controller.quorum.retry.backoff.ms= 6 ",
        "controller.quorum.fetch.max.bytes=7",
        "controller.quorum.fetch.snapshot.max.bytes=8",
        "controller.quorum.auto.join.enable=TRUE",
        "metadata.log.segment.bytes=8388608",
        "internal.metadata.log.segment.bytes=9",
        "metadata.log.segment.ms=10",
        "metadata.log.max.record.bytes.between.snapshots=11",
        "metadata.log.max.snapshot.interval.ms=0",
        "metadata.max.retention.bytes=-1",
        "metadata.max.retention.ms=-2",
        "metadata.max.idle.interval.ms=0",
        "internal.metadata.delete.delay.millis=12",
        "metadata.log.dir=/meta",
        "socket.request.max.bytes=13",
        "connections.max.idle.ms=-1",
        "max.connections=14",
        "max.connections.per.ip=15",
        "max.connections.per.ip.overrides= c1.example:16 , fe80::1%eth0:17,127.0.0.1: 0",
        "min.insync.replicas=2",
    ]);
    let ms = Duration::from_millis;
    assert_eq!(
        config.quorum,
        QuorumSettings {
            voters: [].into(),
            bootstrap_servers: vec![endpoint("localhost", 9093)],
            election_timeout: ms(1),
            fetch_timeout: ms(2),
            election_backoff_max: ms(3),
            append_linger: ms(4),
            request_timeout: ms(5),
            retry_backoff: ms(6),
            fetch_max_bytes: 7,
            fetch_snapshot_max_bytes: 8,
            auto_join: true,
        }
    );
    assert_eq!(
        config.metadata_log,
        MetadataLogSettings {
            segment_bytes: 9,
            segment_age: ms(10),
            snapshot_max_new_bytes: 11,
            snapshot_max_interval: None,
            retention_bytes: None,
            retention_age: None,
            max_idle_interval: None,
            delete_delay: ms(12),
        }
    );
    assert_eq!(config.metadata_log_dir, PathBuf::from("/meta"));
    assert_eq!(config.socket_request_max_bytes, 13);
    assert_eq!(config.connections_max_idle, None);
    let overrides = [("c1.example", 16), ("fe80::1%eth0", 17), ("127.0.0.1", 0)];
    assert_eq!(
        config.connections,
        ConnectionSettings {
            max: Some(14),
            max_per_ip: Some(15),
            overrides: overrides.map(|(host, max)| (host.to_owned(), max)).to_vec(),
        }
    );
    assert_eq!(config.min_insync_replicas, 2);
}

#[test]
fn wrong_values_name_key_value_and_what_is_allowed() {
    let cases: &[(&[&str], &str)] = &[
        (
            &["node.id=one"],
            "node.id=one is not allowed; allowed is a whole number from 0 to 2147483647",
        ),
        (
            &["node.id=-1"],
            "node.id=-1 is not allowed; allowed is a whole number from 0 to 2147483647",
        ),
        (&["broker.id=2"], "broker.id=2 is not allowed: node.id is 1"),
        (
            &["metadata.log.segment.bytes=1024"],
            "metadata.log.segment.bytes=1024 is not allowed; \
             allowed is a whole number from 8388608 to 2147483647",
        ),
        (
            &["internal.metadata.log.segment.bytes="],
            "internal.metadata.log.segment.bytes= is not allowed; \
             allowed is a whole number from 1 to 2147483647",
        ),
        (
            &["controller.quorum.election.timeout.ms=2147483648"],
            "controller.quorum.election.timeout.ms=2147483648 is not allowed; \
             allowed is a whole number from 0 to 2147483647",
        ),
        (
            &["controller.quorum.fetch.max.bytes=0"],
            "controller.quorum.fetch.max.bytes=0 is not allowed; \
             allowed is a whole number from 1 to 2147483647",
        ),
        (
            &["controller.quorum.auto.join.enable=yes"],
            "controller.quorum.auto.join.enable=yes is not allowed; allowed is true or false",
        ),
        (
            &["controller.quorum.voters=1@c1:9093,2-c2:9093"],
            "controller.quorum.voters=2-c2:9093 is not allowed; allowed is ID@HOST:PORT",
        ),
        (
            &["controller.quorum.voters=1@0.0.0.0:9093"],
            "controller.quorum.voters=1@0.0.0.0:9093 is not allowed; \
             allowed is a host that the other voters can reach",
        ),
        (
            &["controller.quorum.bootstrap.servers=c1"],
            "controller.quorum.bootstrap.servers=c1 is not allowed; allowed is HOST:PORT",
        ),
        (
            &["controller.quorum.bootstrap.servers=c1:1,,c2:1"],
            "controller.quorum.bootstrap.servers=c1:1,,c2:1 is not allowed; \
             allowed is a list without empty and without repeated entries",
        ),
        (
            &["controller.quorum.bootstrap.servers="],
            "controller.quorum.bootstrap.servers is missing; \
             allowed is HOST:PORT,… (or a static quorum in controller.quorum.voters)",
        ),
        (
            &["controller.quorum.voters=2@c2:9093"],
            "node.id=1 is not allowed: controller.quorum.voters has no entry for it",
        ),
        (
            &["process.roles=zookeeper"],
            "process.roles=zookeeper is not allowed; allowed is controller",
        ),
        (
            &["process.roles="],
            "process.roles= is not allowed; allowed is a list with at least one entry",
        ),
        (
            &["process.roles=broker,controller"],
            "process.roles=broker,controller is not supported: \
             this program is a controller and no broker; set process.roles=controller",
        ),
        (
            &["listeners=CONTROLLER"],
            "listeners=CONTROLLER is not allowed; allowed is NAME://HOST:PORT",
        ),
        (
            &["listeners=CONTROLLER://:99999"],
            "listeners=CONTROLLER://:99999 is not allowed; allowed is NAME://HOST:PORT",
        ),
        (
            &["listeners=CONTROLLER://:1,controller://:2"],
            "listeners=CONTROLLER://:1,controller://:2 is not allowed; allowed is each listener name once",
        ),
        (
            &["listeners=CONTROLLER://:1,B://:1"],
            "listeners=CONTROLLER://:1,B://:1 is not allowed; \
             allowed is one listener per port, or two of which one has an IPv4 and one an IPv6 address",
        ),
        (
            &["listeners=CONTROLLER://:1,PLAINTEXT://:2"],
            "listeners=PLAINTEXT is not allowed: \
             a controller has only the listeners of controller.listener.names",
        ),
        (
            &["controller.listener.names=CONTROLLER,OTHER"],
            "controller.listener.names=OTHER is not allowed: listeners has no entry for it",
        ),
        (
            &["inter.broker.listener.name=controller"],
            "inter.broker.listener.name=controller is not allowed: it is one of controller.listener.names",
        ),
        (
            &["advertised.listeners=CONTROLLER://0.0.0.0:9093"],
            "advertised.listeners=CONTROLLER://0.0.0.0:9093 is not allowed; \
             allowed is a host that the other nodes can reach",
        ),
        (
            &["listener.security.protocol.map=CONTROLLER:TLS"],
            "listener.security.protocol.map=CONTROLLER:TLS is not allowed; \
             allowed is NAME:PROTOCOL,… with a protocol of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
        ),
        (
            &["listener.security.protocol.map=OTHER:PLAINTEXT"],
            "listeners=CONTROLLER is not allowed: \
             listener.security.protocol.map has no security protocol for it",
        ),
        (
            &["log.dirs="],
            "log.dirs= is not allowed; allowed is a list with at least one entry",
        ),
        (
            &["max.connections.per.ip=0"],
            "max.connections.per.ip=0 is not allowed: \
             nobody could connect; max.connections.per.ip.overrides has to say who can",
        ),
        (
            &["max.connections.per.ip.overrides=c1:1,c2"],
            "max.connections.per.ip.overrides=c2 is not allowed; allowed is HOST:COUNT,…",
        ),
        (
            &["max.connections.per.ip.overrides=c 1:1"],
            "max.connections.per.ip.overrides=c 1:1 is not allowed; allowed is HOST:COUNT,…",
        ),
        (
            &["max.connections.per.ip.overrides=c1:many"],
            "max.connections.per.ip.overrides=many is not allowed; \
             allowed is a whole number from 0 to 2147483647",
        ),
        (
            &["num.io.threads=x"],
            "num.io.threads=x is not allowed; allowed is a whole number from 1 to 2147483647",
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(error(lines), *expected, "{lines:?}");
    }
}

#[test]
fn bootstrap_008_negative_quorum_settings_are_refused() {
    for setting in [
        "election.timeout.ms",
        "fetch.timeout.ms",
        "election.backoff.max.ms",
        "append.linger.ms",
        "request.timeout.ms",
        "retry.backoff.ms",
        "fetch.snapshot.max.bytes",
        "fetch.max.bytes",
        "auto.join.enable",
    ] {
        let line = format!("controller.quorum.{setting}=-1");
        let error = error(&[&line]);
        assert!(error.starts_with(&format!("{line} is not allowed; ")), "{error}");
    }
}

#[test]
fn required_keys_are_named() {
    for key in ["process.roles", "node.id", "controller.listener.names"] {
        let mut without = Properties::default();
        for (other, value) in properties(&[]).iter().filter(|(other, _)| *other != key) {
            without.insert(other, value);
        }
        let error = ServerConfig::from_properties(&without).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{key} is missing")), "{error}");
    }
}

#[test]
fn security_is_never_ignored() {
    let cases: &[&[&str]] = &[
        &["listener.security.protocol.map=CONTROLLER:SSL"],
        &["listener.security.protocol.map=controller:sasl_plaintext"],
        &["controller.listener.names=SSL", "listeners=SSL://:9093"],
        &["controller.listener.names=SASL_SSL", "listeners=SASL_SSL://:9093"],
        &["authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"],
    ];
    for lines in cases {
        let error = error(lines);
        assert!(error.contains(" is not supported: "), "{error}");
    }
    config(&["authorizer.class.name="]);
    config(&["listener.security.protocol.map=CONTROLLER:plaintext,SSL:SSL"]);
    config(&[
        "controller.listener.names=PLAINTEXT",
        "listeners=PLAINTEXT://:9093",
    ]);
}

#[test]
fn the_controller_listeners_are_announced_as_kafka_announces_them() {
    let cases: &[(&str, &[&str], Listener)] = &[
        (
            "the advertised entry",
            &["advertised.listeners=CONTROLLER://c1:19093"],
            listener("CONTROLLER", Some("c1"), 19093),
        ),
        (
            "the listener itself",
            &["listeners=controller://10.0.0.1:9093"],
            listener("CONTROLLER", Some("10.0.0.1"), 9093),
        ),
        (
            "the wildcard is no host",
            &["listeners=CONTROLLER://0.0.0.0:9093"],
            listener("CONTROLLER", None, 9093),
        ),
        (
            "a wildcard listener takes the static voter's address",
            &[
                "listeners=CONTROLLER://0.0.0.0:9093",
                "controller.quorum.voters=1@c1:19093,2@c2:9093",
            ],
            listener("CONTROLLER", Some("c1"), 19093),
        ),
        (
            "a listener with a host does not",
            &[
                "listeners=CONTROLLER://h:9093",
                "controller.quorum.voters=1@c1:19093",
            ],
            listener("CONTROLLER", Some("h"), 9093),
        ),
        (
            "brackets are dropped",
            &["listeners=CONTROLLER://[::1]:9093"],
            listener("CONTROLLER", Some("::1"), 9093),
        ),
    ];
    for (name, lines, expected) in cases {
        assert_eq!(
            config(lines).advertised_listeners,
            std::slice::from_ref(expected),
            "{name}"
        );
    }
}

#[test]
fn missing_host_and_port_are_filled_in_when_bound() {
    let config = config(&["listeners=CONTROLLER://:0"]);
    let endpoints =
        config.advertised_endpoints("host.example", |name| (name == "CONTROLLER").then_some(4711));
    assert_eq!(
        endpoints,
        Endpoints::single("CONTROLLER", endpoint("host.example", 4711))
    );
}

#[test]
fn two_listeners_share_a_port_across_address_families() {
    config(&[
        "controller.listener.names=A,B",
        "listeners=A://127.0.0.1:9093,B://[::1]:9093",
    ]);
    config(&["controller.listener.names=A,B", "listeners=A://:0,B://:0"]);
}

#[test]
fn the_core_gets_static_voters_and_bootstrap_servers() {
    let config = config(&[
        "controller.quorum.voters=1@c1:9093,2@c2:9093,2@c3:9093",
        "controller.quorum.bootstrap.servers=b1:1,[::1]:2",
    ]);
    let directory = Uuid::from_u128(7 << 64 | 7);
    let listeners = Endpoints::single("CONTROLLER", endpoint("c1", 9093));
    let core = config.core_config("cluster".to_owned(), directory, listeners.clone(), 42);
    let voter = |id| core.static_voters.get(NodeId(id)).unwrap();
    assert_eq!(core.static_voters.len(), 2);
    assert_eq!(voter(1).key, ReplicaKey::without_directory(NodeId(1)));
    assert_eq!(voter(1).endpoints.of("CONTROLLER"), Some(&endpoint("c1", 9093)));
    assert_eq!(voter(2).endpoints.of("CONTROLLER"), Some(&endpoint("c3", 9093)));
    assert_eq!(core.bootstrap_servers, [endpoint("b1", 1), endpoint("::1", 2)]);
    assert_eq!(core.local, ReplicaKey::new(NodeId(1), directory));
    assert_eq!(
        (core.listeners, core.default_listener.as_str()),
        (listeners, "CONTROLLER")
    );
}

#[test]
fn unused_keys_are_named_and_not_fatal() {
    let config = config(&["num.io.threads=8", "log.retention.hours=168", "no.such.key=1"]);
    assert_eq!(config.without_effect, ["log.retention.hours", "num.io.threads"]);
    assert_eq!(config.unknown, ["no.such.key"]);
}

#[test]
fn a_file_is_read_with_overrides_and_named_in_errors() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("server.properties");
    let absent = ServerConfig::read(&path, &[]).unwrap_err().to_string();
    assert!(absent.starts_with(path.to_str().unwrap()), "{absent}");

    let text: String = properties(&[])
        .iter()
        .map(|(key, value)| format!("{key}={value}\n"))
        .collect();
    std::fs::write(&path, text).unwrap();
    let config = ServerConfig::read(&path, &["node.id=5".to_owned()]).unwrap();
    assert_eq!(config.node_id, NodeId(5));
    let wrong = |overrides: &[&str]| {
        let overrides: Vec<_> = overrides.iter().map(|&argument| argument.to_owned()).collect();
        ServerConfig::read(&path, &overrides).unwrap_err().to_string()
    };
    // The file is not at fault for what the command line says.
    let message = wrong(&["node.id=x"]);
    assert!(
        message.starts_with("override node.id=x is not allowed"),
        "{message}"
    );
    let message = wrong(&["=x"]);
    assert_eq!(message, "override \"=x\" is not of the form KEY=VALUE");
    std::fs::write(&path, "process.roles=controller\nnode.id=y\n").unwrap();
    let message = wrong(&["log.dirs=x"]);
    let begin = format!("{}: node.id=y is not allowed", path.display());
    assert!(message.starts_with(&begin), "{message}");
}

#[test]
fn a_byte_order_mark_is_named_where_it_hides_a_key() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("server.properties");
    let text: String = properties(&[])
        .iter()
        .map(|(key, value)| format!("{key}={value}\n"))
        .collect();
    let path_text = path.display().to_string();
    std::fs::write(&path, format!("\u{feff}{text}")).unwrap();
    let message = ServerConfig::read(&path, &[]).unwrap_err().to_string();
    assert!(
        message.starts_with(&path_text) && message.contains("byte order mark"),
        "{message}"
    );
    // In front of a comment it does no harm but to make it a key that is not known.
    std::fs::write(&path, format!("\u{feff}# a comment\n{text}")).unwrap();
    let config = ServerConfig::read(&path, &[]).unwrap();
    assert_eq!(config.unknown, ["\u{ef}\u{bb}\u{bf}#"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_without_end_is_no_configuration() {
    let message = ServerConfig::read(Path::new("/dev/zero"), &[])
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "/dev/zero: more than 16777216 bytes, which is no configuration"
    );
}
