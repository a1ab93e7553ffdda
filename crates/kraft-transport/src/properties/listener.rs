//! Listeners: their addresses, their security protocols, and what is advertised.

use super::{
    address::split_port,
    error::ConfigError,
    quorum::QuorumSettings,
    values::{Values, wrong},
};
use kraft_core::NodeId;
use std::{collections::BTreeMap, net::IpAddr};

/// One entry of `listeners` or `advertised.listeners`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// The name, in upper case.
    pub name: String,
    /// The host; absent where the entry names none, which means every interface.
    pub host: Option<String>,
    /// The port; 0 takes a free one.
    pub port: u16,
}

/// The IPv4 wildcard: fine to bind to, of no use to a peer.
pub(super) const WILDCARD: &str = "0.0.0.0";

/// Reads `listeners`.
pub(super) fn listeners(values: Values<'_>) -> Result<Vec<Listener>, ConfigError> {
    const KEY: &str = "listeners";
    let entries = values
        .list_if_set(KEY)?
        .unwrap_or_else(|| vec!["PLAINTEXT://:9092"]);
    let listeners = parse_all(KEY, &entries)?;
    let sharing = |listener: &Listener| {
        let others = listeners.iter().filter(|other| other.port == listener.port);
        others.collect::<Vec<_>>()
    };
    for listener in listeners.iter().filter(|listener| listener.port != 0) {
        let sharing = sharing(listener);
        if sharing.len() > 1 && !is_dual_stack(&sharing) {
            let allowed = "one listener per port, or two of which one has an IPv4 and one an IPv6 address";
            return Err(wrong(KEY, &entries.join(","), allowed));
        }
    }
    Ok(listeners)
}

/// Reads `advertised.listeners`; empty where it is not set.
pub(super) fn advertised(values: Values<'_>) -> Result<Vec<Listener>, ConfigError> {
    const KEY: &str = "advertised.listeners";
    parse_all(KEY, &values.list_if_set(KEY)?.unwrap_or_default())
}

/// Reads `controller.listener.names`, in upper case.
pub(super) fn controller_names(values: Values<'_>) -> Result<Vec<String>, ConfigError> {
    const KEY: &str = "controller.listener.names";
    let names = values.list_if_set(KEY)?.ok_or_else(|| ConfigError::Missing {
        key: KEY,
        allowed: "a list of names out of listeners".to_owned(),
    })?;
    Ok(names.into_iter().map(str::to_ascii_uppercase).collect())
}

/// What each controller listener is announced as: its entry in `advertised.listeners`, else the one in `listeners`,
/// with the wildcard as no host. The first one may take its address from `controller.quorum.voters`.
pub(super) fn effective_advertised(
    names: &[String],
    listeners: &[Listener],
    advertised: &[Listener],
    node_id: NodeId,
    quorum: &QuorumSettings,
) -> Vec<Listener> {
    let named = |list: &[Listener], name: &String| list.iter().find(|entry| entry.name == *name).cloned();
    let effective = names.iter().enumerate().filter_map(|(position, name)| {
        if let Some(listener) = named(advertised, name) {
            return Some(listener);
        }
        let mut listener = named(listeners, name)?;
        if listener.host.as_deref() == Some(WILDCARD) {
            listener.host = None;
        }
        if let (0, None, Some(voter)) = (position, &listener.host, quorum.voter(node_id)) {
            listener.host = Some(voter.host.to_string());
            listener.port = voter.port;
        }
        Some(listener)
    });
    effective.collect()
}

/// Refuses what is not plaintext: this program speaks neither TLS nor SASL.
pub(super) fn check_protocols(
    values: Values<'_>,
    controller_names: &[String],
    listeners: &[Listener],
) -> Result<(), ConfigError> {
    const KEY: &str = "listener.security.protocol.map";
    let protocols = protocol_map(values, KEY, controller_names, listeners)?;
    for listener in listeners {
        match protocols.get(&listener.name).map(String::as_str) {
            Some("PLAINTEXT") => {}
            Some(protocol) => {
                return Err(ConfigError::Unsupported {
                    key: KEY,
                    value: format!("{}:{protocol}", listener.name),
                    reason: "only PLAINTEXT listeners are",
                });
            }
            None => {
                return Err(ConfigError::Conflict {
                    key: "listeners",
                    value: listener.name.clone(),
                    reason: format!("{KEY} has no security protocol for it"),
                });
            }
        }
    }
    Ok(())
}

fn protocol_map(
    values: Values<'_>,
    key: &str,
    controller_names: &[String],
    listeners: &[Listener],
) -> Result<BTreeMap<String, String>, ConfigError> {
    const PROTOCOLS: [&str; 4] = ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"];
    let Some(text) = values.text(key) else {
        let mut map: BTreeMap<_, _> = PROTOCOLS
            .iter()
            .map(|&protocol| (protocol.to_owned(), protocol.to_owned()))
            .collect();
        // A listener named after a protocol means that protocol; only where none is, the others are plaintext.
        let names = controller_names
            .iter()
            .chain(listeners.iter().map(|listener| &listener.name));
        let secured = names
            .into_iter()
            .any(|name| PROTOCOLS[1..].contains(&name.as_str()));
        if !secured {
            for name in controller_names {
                map.insert(name.clone(), PROTOCOLS[0].to_owned());
            }
        }
        return Ok(map);
    };
    let mut map = BTreeMap::new();
    for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let pair = entry
            .rsplit_once(':')
            .map(|(name, protocol)| {
                (
                    name.trim().to_ascii_uppercase(),
                    protocol.trim().to_ascii_uppercase(),
                )
            })
            .filter(|(_, protocol)| PROTOCOLS.contains(&protocol.as_str()));
        let Some((name, protocol)) = pair else {
            let allowed = format!("NAME:PROTOCOL,… with a protocol of {}", PROTOCOLS.join(", "));
            return Err(wrong(key, entry, allowed));
        };
        map.insert(name, protocol);
    }
    Ok(map)
}

fn parse_all(key: &str, entries: &[&str]) -> Result<Vec<Listener>, ConfigError> {
    let mut listeners: Vec<Listener> = Vec::with_capacity(entries.len());
    for entry in entries {
        let listener = parse(entry).ok_or_else(|| wrong(key, entry, "NAME://HOST:PORT"))?;
        if listeners.iter().any(|other| other.name == listener.name) {
            return Err(wrong(key, &entries.join(","), "each listener name once"));
        }
        listeners.push(listener);
    }
    Ok(listeners)
}

fn parse(entry: &str) -> Option<Listener> {
    let (name, address) = entry.split_once("://")?;
    let (host, port) = split_port(address)?;
    (!name.is_empty()).then(|| Listener {
        name: name.to_ascii_uppercase(),
        host: (!host.is_empty()).then(|| host.to_owned()),
        port,
    })
}

fn is_dual_stack(listeners: &[&Listener]) -> bool {
    let literal = |listener: &&Listener| {
        listener
            .host
            .as_deref()
            .and_then(|host| host.parse::<IpAddr>().ok())
    };
    match listeners {
        [a, b] => match (literal(a), literal(b)) {
            (Some(a), Some(b)) => a.is_ipv4() != b.is_ipv4(),
            _ => false,
        },
        _ => false,
    }
}
