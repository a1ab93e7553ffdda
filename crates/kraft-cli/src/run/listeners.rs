//! What a node listens on, and what it gives to whoever connects.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::time::Duration;

use kraft_transport::node::ListenerConfig;
use kraft_transport::properties::{Listener, ServerConfig};
use kraft_transport::tcp::{AddressLimits, ListenerLimits};

use super::open_files;

/// The listeners in the order of `controller.listener.names`.
///
/// # Errors
/// A host with a limit of its own has no address.
pub(crate) fn listeners(config: &ServerConfig) -> Result<Vec<ListenerConfig>, String> {
    let defaults = ListenerLimits::default();
    let connections = config.connections.max.map_or(defaults.connections_max, count);
    let limits = ListenerLimits {
        request_bytes_max: usize::try_from(config.socket_request_max_bytes)
            .expect("the key is checked to be positive"),
        connections_max: connections.min(open_files::connections_max(
            config.controller_listener_names.len(),
        )),
        per_address: AddressLimits {
            max: config.connections.max_per_ip.map_or(usize::MAX, count),
            overrides: overrides(&config.connections.overrides)?,
        },
        idle: config.connections_max_idle.unwrap_or(Duration::MAX),
        ..defaults
    };
    let of_name = |name: &String| config.listeners.iter().find(|listener| listener.name == *name);
    let bound = |listener: &Listener| ListenerConfig {
        name: listener.name.clone(),
        host: listener.host.clone().unwrap_or_default(),
        port: listener.port,
        limits: limits.clone(),
    };
    Ok(config
        .controller_listener_names
        .iter()
        .filter_map(of_name)
        .map(bound)
        .collect())
}

/// Looked up once, as in Kafka.
fn overrides(limits: &[(String, i32)]) -> Result<HashMap<IpAddr, usize>, String> {
    let address_of = |host: &str| {
        let mut addresses = (host, 0).to_socket_addrs()?;
        let first = addresses.next().ok_or(io::ErrorKind::NotFound)?;
        Ok(first.ip().to_canonical())
    };
    limits
        .iter()
        .map(|(host, max)| match address_of(host) {
            Ok(address) => Ok((address, count(*max))),
            Err(error) => {
                let error: io::Error = error;
                Err(format!(
                    "max.connections.per.ip.overrides={host}:{max}: {host} has no address: {error}"
                ))
            }
        })
        .collect()
}

fn count(limit: i32) -> usize {
    usize::try_from(limit).expect("the key is checked not to be negative")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_gets_the_limit_of_its_address_and_one_without_an_address_is_named() {
        let limits = [("127.0.0.2", 3), ("::ffff:127.0.0.3", 4), ("::1", 0)];
        let limits = limits.map(|(host, max)| (host.to_owned(), max));
        let expected = [("127.0.0.2", 3), ("127.0.0.3", 4), ("::1", 0)];
        let expected = expected.map(|(host, max)| (host.parse().unwrap(), max));
        assert_eq!(overrides(&limits), Ok(HashMap::from(expected)));
        let nowhere = [("nowhere.invalid".to_owned(), 1)];
        let error = overrides(&nowhere).unwrap_err();
        let begin = "max.connections.per.ip.overrides=nowhere.invalid:1: nowhere.invalid has no address: ";
        assert!(error.starts_with(begin), "{error}");
    }
}
