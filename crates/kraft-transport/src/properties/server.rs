//! The configuration of a controller as a whole.

use super::{
    connections::ConnectionSettings,
    error::{ConfigError, ReadError},
    java::Properties,
    keys,
    listener::{self, Listener, WILDCARD},
    quorum::QuorumSettings,
    storage::MetadataLogSettings,
    values::{Values, wrong},
};
use kraft_core::{Config, Endpoint, Endpoints, NodeId, ReplicaKey, SupportedVersions};
use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    time::Duration,
};
use uuid::Uuid;

/// What a controller takes from `server.properties`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// `node.id`, or `broker.id`.
    pub node_id: NodeId,
    /// `log.dirs`, or `log.dir`.
    pub log_dirs: Vec<PathBuf>,
    /// `metadata.log.dir`, or the first of `log.dirs`.
    pub metadata_log_dir: PathBuf,
    /// `controller.listener.names`, in upper case; the first is the one that controllers talk to each other on.
    pub controller_listener_names: Vec<String>,
    /// `listeners`: what to bind to. All of them are controller listeners and speak plaintext.
    pub listeners: Vec<Listener>,
    /// What the controller listeners are announced as, in the order of their names. A missing host stands for the
    /// name of the local host, and port 0 for the port that was bound.
    pub advertised_listeners: Vec<Listener>,
    /// The keys of `controller.quorum.*`.
    pub quorum: QuorumSettings,
    /// The keys of `metadata.*`.
    pub metadata_log: MetadataLogSettings,
    /// `socket.request.max.bytes`.
    pub socket_request_max_bytes: i32,
    /// `connections.max.idle.ms`; absent where it is negative.
    pub connections_max_idle: Option<Duration>,
    /// The keys `max.connections*`.
    pub connections: ConnectionSettings,
    /// `min.insync.replicas`: what a new cluster starts with.
    pub min_insync_replicas: i32,
    /// Keys of Kafka that have no effect here, in order.
    pub without_effect: Vec<String>,
    /// Keys that are not known at all, in order.
    pub unknown: Vec<String>,
}

impl ServerConfig {
    /// Reads a file and puts the command line's `KEY=VALUE` overrides over it.
    ///
    /// # Errors
    /// The file cannot be read, or says something that a node must not start with.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self, ReadError> {
        let bytes = read_file(path)?;
        let mut properties = Properties::parse(&bytes).map_err(|source| ReadError::Syntax {
            path: path.to_owned(),
            source,
        })?;
        overrides
            .iter()
            .try_for_each(|argument| properties.apply_override(argument))
            .and_then(|()| Self::from_properties(&properties))
            .map_err(|source| ReadError::of_config(path, &bytes, overrides, source))
    }

    /// Gives the properties their types and checks them, key by key first and then against each other.
    ///
    /// # Errors
    /// The first setting that is wrong or not supported.
    pub fn from_properties(properties: &Properties) -> Result<Self, ConfigError> {
        let values = Values(properties);
        check_roles(values)?;
        let node_id = node_id(values)?;
        let quorum = QuorumSettings::from_values(values)?;
        let controller_listener_names = listener::controller_names(values)?;
        let listeners = listener::listeners(values)?;
        let advertised = listener::advertised(values)?;
        let advertised_listeners = listener::effective_advertised(
            &controller_listener_names,
            &listeners,
            &advertised,
            node_id,
            &quorum,
        );
        let log_dirs = log_dirs(values)?;
        let metadata_log_dir = values
            .non_empty("metadata.log.dir")
            .map_or_else(|| log_dirs[0].clone(), PathBuf::from);
        let idle_ms = values.integer("connections.max.idle.ms", 600_000, i64::MIN..=i64::MAX)?;
        let unused = keys::unused(properties)?;
        let config = Self {
            node_id,
            log_dirs,
            metadata_log_dir,
            controller_listener_names,
            listeners,
            advertised_listeners,
            quorum,
            metadata_log: MetadataLogSettings::from_values(values)?,
            socket_request_max_bytes: values.int("socket.request.max.bytes", 100 << 20, 1)?,
            connections_max_idle: u64::try_from(idle_ms).ok().map(Duration::from_millis),
            connections: ConnectionSettings::from_values(values)?,
            min_insync_replicas: values.int("min.insync.replicas", 1, 1)?,
            without_effect: unused.without_effect,
            unknown: unused.unknown,
        };
        config.check(values)?;
        Ok(config)
    }

    /// The listener that controllers talk to each other on.
    #[must_use]
    pub fn default_listener(&self) -> &str {
        &self.controller_listener_names[0]
    }

    /// What this node announces, once its listeners are bound.
    ///
    /// `bound_port` gives the port that a listener was bound to, and `local_host` is announced where no host is named.
    #[must_use]
    pub fn advertised_endpoints(
        &self,
        local_host: &str,
        bound_port: impl Fn(&str) -> Option<u16>,
    ) -> Endpoints {
        let mut endpoints = Endpoints::empty();
        for listener in &self.advertised_listeners {
            let port = match listener.port {
                0 => bound_port(&listener.name).unwrap_or(0),
                port => port,
            };
            let host = listener.host.as_deref().unwrap_or(local_host).to_owned();
            endpoints.insert(
                &listener.name,
                Endpoint {
                    host: host.into(),
                    port,
                },
            );
        }
        endpoints
    }

    /// The core's configuration. What is not in the file comes in as arguments.
    #[must_use]
    pub fn core_config(
        &self,
        cluster_id: String,
        directory_id: Uuid,
        listeners: Endpoints,
        seed: u64,
    ) -> Config {
        Config {
            local: ReplicaKey::new(self.node_id, directory_id),
            cluster_id: cluster_id.into(),
            listeners,
            default_listener: self.default_listener().into(),
            static_voters: self.quorum.static_voters(self.default_listener()),
            bootstrap_servers: self.quorum.bootstrap_servers.clone(),
            can_become_voter: true,
            kraft_versions: SupportedVersions { min: 0, max: 1 },
            election_timeout: self.quorum.election_timeout,
            fetch_timeout: self.quorum.fetch_timeout,
            election_backoff_max: self.quorum.election_backoff_max,
            request_timeout: self.quorum.request_timeout,
            retry_backoff: self.quorum.retry_backoff,
            fetch_max_wait: Duration::from_millis(500),
            fetch_max_bytes: self.quorum.fetch_max_bytes,
            fetch_snapshot_max_bytes: self.quorum.fetch_snapshot_max_bytes,
            auto_join: self.quorum.auto_join,
            shutdown_timeout: Duration::from_secs(5),
            seed,
        }
    }

    /// Kafka's checks between keys, for a node that is only a controller.
    fn check(&self, values: Values<'_>) -> Result<(), ConfigError> {
        if let Some(class) = values.non_empty("authorizer.class.name") {
            return Err(ConfigError::Unsupported {
                key: "authorizer.class.name",
                value: class.to_owned(),
                reason: "there is no authorizer, and access would be open to everyone",
            });
        }
        listener::check_protocols(values, &self.controller_listener_names, &self.listeners)?;
        self.check_quorum()?;
        self.check_listeners(values)
    }

    fn check_quorum(&self) -> Result<(), ConfigError> {
        if self.quorum.voters.is_empty() && self.quorum.bootstrap_servers.is_empty() {
            return Err(ConfigError::Missing {
                key: "controller.quorum.bootstrap.servers",
                allowed: "HOST:PORT,… (or a static quorum in controller.quorum.voters)".to_owned(),
            });
        }
        if !self.quorum.voters.is_empty() && self.quorum.voter(self.node_id).is_none() {
            return Err(ConfigError::Conflict {
                key: "node.id",
                value: self.node_id.to_string(),
                reason: "controller.quorum.voters has no entry for it".to_owned(),
            });
        }
        Ok(())
    }

    fn check_listeners(&self, values: Values<'_>) -> Result<(), ConfigError> {
        let names = &self.controller_listener_names;
        if let Some(other) = self.listeners.iter().find(|entry| !names.contains(&entry.name)) {
            return Err(ConfigError::Conflict {
                key: "listeners",
                value: other.name.clone(),
                reason: "a controller has only the listeners of controller.listener.names".to_owned(),
            });
        }
        let bound = |name: &&String| self.listeners.iter().any(|entry| entry.name == **name);
        if let Some(name) = names.iter().find(|name| !bound(name)) {
            return Err(ConfigError::Conflict {
                key: "controller.listener.names",
                value: name.clone(),
                reason: "listeners has no entry for it".to_owned(),
            });
        }
        let inter_broker = values.non_empty("inter.broker.listener.name");
        if let Some(name) = inter_broker.filter(|name| names.contains(&name.to_ascii_uppercase())) {
            return Err(ConfigError::Conflict {
                key: "inter.broker.listener.name",
                value: name.to_owned(),
                reason: "it is one of controller.listener.names".to_owned(),
            });
        }
        let unroutable = |entry: &&Listener| entry.host.as_deref() == Some(WILDCARD);
        if let Some(entry) = self.advertised_listeners.iter().find(unroutable) {
            let value = format!("{}://{WILDCARD}:{}", entry.name, entry.port);
            return Err(wrong(
                "advertised.listeners",
                &value,
                "a host that the other nodes can reach",
            ));
        }
        Ok(())
    }
}

/// The name that the operating system gives this host, `localhost` where it tells none.
#[must_use]
pub fn local_host_name() -> String {
    let name = ["/proc/sys/kernel/hostname", "/etc/hostname"]
        .iter()
        .filter_map(|file| std::fs::read_to_string(file).ok())
        .map(|text| text.trim().to_owned())
        .find(|name| !name.is_empty());
    name.unwrap_or_else(|| "localhost".to_owned())
}

/// Reads the file, which may be a pipe or a device as well.
fn read_file(path: &Path) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(|source| ReadError::Io {
        path: path.to_owned(),
        source,
    })?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(ReadError::TooLarge {
            path: path.to_owned(),
            max: FILE_BYTES_MAX,
        });
    }
    Ok(bytes)
}

fn check_roles(values: Values<'_>) -> Result<(), ConfigError> {
    const KEY: &str = "process.roles";
    let allowed = "controller";
    let roles = values.list_if_set(KEY)?.ok_or_else(|| ConfigError::Missing {
        key: KEY,
        allowed: allowed.to_owned(),
    })?;
    let text = roles.join(",");
    if roles.iter().any(|role| !matches!(*role, "broker" | "controller")) {
        return Err(wrong(KEY, &text, allowed));
    }
    if roles.contains(&"broker") {
        return Err(ConfigError::Unsupported {
            key: KEY,
            value: text,
            reason: "this program is a controller and no broker; set process.roles=controller",
        });
    }
    Ok(())
}

fn node_id(values: Values<'_>) -> Result<NodeId, ConfigError> {
    let given = |key| match values.text(key) {
        None => Ok(None),
        Some(_) => values.int(key, -1, 0).map(Some),
    };
    match (given("node.id")?, given("broker.id")?) {
        (Some(node_id), Some(broker_id)) if node_id != broker_id => Err(ConfigError::Conflict {
            key: "broker.id",
            value: broker_id.to_string(),
            reason: format!("node.id is {node_id}"),
        }),
        (Some(id), _) | (None, Some(id)) => Ok(NodeId(id)),
        (None, None) => Err(ConfigError::Missing {
            key: "node.id",
            allowed: format!("a whole number from 0 to {}", i32::MAX),
        }),
    }
}

fn log_dirs(values: Values<'_>) -> Result<Vec<PathBuf>, ConfigError> {
    let dirs = match values.list_if_set("log.dirs")? {
        Some(dirs) => dirs,
        None => values
            .list_if_set("log.dir")?
            .unwrap_or_else(|| vec!["/tmp/kafka-logs"]),
    };
    Ok(dirs.into_iter().map(PathBuf::from).collect())
}

/// Far above any configuration.
const FILE_BYTES_MAX: u64 = 16 << 20;

#[cfg(test)]
#[path = "server_test.rs"]
mod tests;
