//! `--initial-controllers`: `id@host:port:directoryId`, several separated by commas (Kafka's `DynamicVoters`).

use kraft_core::{Endpoint, Endpoints, NodeId, ReplicaKey, SupportedVersions, VoterNode, VoterSet};
use kraft_wire::uuid_text::{self, UuidTextError};
use thiserror::Error;
use uuid::Uuid;

/// Why a list names no voters.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum VoterListError {
    #[error("the list of initial controllers is empty")]
    Empty,
    #[error("initial controller {entry:?}: {what}; expected ID@HOST:PORT:DIRECTORY_ID")]
    Entry { entry: String, what: &'static str },
    #[error("initial controller {entry:?}: the directory id: {source}")]
    DirectoryId { entry: String, source: UuidTextError },
    #[error("initial controller {id} is given twice")]
    Twice { id: i32 },
}

/// One entry of the list.
struct Voter {
    id: i32,
    endpoint: Endpoint,
    directory_id: Uuid,
}

/// The voters of a list, reachable at the listener of that name.
pub(super) fn parse(list: &str, listener: &str) -> Result<VoterSet, VoterListError> {
    let mut voters: Vec<Voter> = Vec::new();
    for entry in list
        .trim()
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
    {
        let voter = parse_voter(entry)?;
        if voters.iter().any(|known| known.id == voter.id) {
            return Err(VoterListError::Twice { id: voter.id });
        }
        voters.push(voter);
    }
    if voters.is_empty() {
        return Err(VoterListError::Empty);
    }
    let node = |voter: Voter| founder(voter.id, voter.directory_id, listener, voter.endpoint);
    Ok(voters.into_iter().map(node).collect())
}

/// A voter as a format tool writes it: one endpoint, and the levels of kraft.version that this software runs.
pub(super) fn founder(id: i32, directory_id: Uuid, listener: &str, endpoint: Endpoint) -> VoterNode {
    let key = if directory_id.is_nil() {
        ReplicaKey::without_directory(NodeId(id))
    } else {
        ReplicaKey::new(NodeId(id), directory_id)
    };
    VoterNode {
        key,
        endpoints: Endpoints::single(listener, endpoint),
        kraft_versions: SupportedVersions { min: 0, max: 1 },
    }
}

fn parse_voter(entry: &str) -> Result<Voter, VoterListError> {
    let wrong = |what| VoterListError::Entry {
        entry: entry.to_owned(),
        what,
    };
    let (id, rest) = entry.split_once('@').ok_or_else(|| wrong("there is no @"))?;
    let id = node_id(id).map_err(wrong)?;
    let (host, rest) = host(rest).map_err(wrong)?;
    let (port, directory_id) = rest
        .split_once(':')
        .ok_or_else(|| wrong("there is no directory id"))?;
    let port = port_number(port).map_err(wrong)?;
    let directory_id = uuid_text::parse(directory_id).map_err(|source| VoterListError::DirectoryId {
        entry: entry.to_owned(),
        source,
    })?;
    Ok(Voter {
        id,
        endpoint: Endpoint {
            host: host.into(),
            port,
        },
        directory_id,
    })
}

fn node_id(text: &str) -> Result<i32, &'static str> {
    if text.is_empty() {
        return Err("there is no id before the @");
    }
    match text.parse() {
        Ok(id) if id < 0 => Err("the id is negative"),
        Ok(id) => Ok(id),
        Err(_) => Err("the id is not a number"),
    }
}

/// The host at the start of `text`, an IPv6 address in brackets, and what follows the colon behind it.
fn host(text: &str) -> Result<(&str, &str), &'static str> {
    if text.is_empty() {
        return Err("there is no host behind the @");
    }
    let Some(address) = text.strip_prefix('[') else {
        return text.split_once(':').ok_or("there is no port behind the host");
    };
    let (host, rest) = address.split_once(']').ok_or("there is no ] behind the host")?;
    let rest = rest
        .strip_prefix(':')
        .ok_or("the ] is not followed by a colon and the port")?;
    Ok((host, rest))
}

fn port_number(text: &str) -> Result<u16, &'static str> {
    let number: i64 = text.parse().map_err(|_| "the port is not a number")?;
    u16::try_from(number).map_err(|_| "the port is not one from 0 to 65535")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "J8aAPcfLQt2bqs1JT_rMgQ";

    #[test]
    fn lists() {
        let list = format!(" 2@[::1]:9094:{ID}, ,1@localhost:9093:{ID} ");
        let voters = parse(&list, "CONTROLLER").unwrap();
        let shown: Vec<_> = voters
            .iter()
            .map(|voter| {
                let endpoint = voter.endpoints.of("CONTROLLER").unwrap();
                (voter.key.id.0, endpoint.host.clone(), endpoint.port)
            })
            .collect();
        assert_eq!(shown, [(1, "localhost".into(), 9093), (2, "::1".into(), 9094)]);
    }

    /// The list as it would be typed, in the order of the ids.
    fn printed(voters: &VoterSet) -> String {
        let print = |voter: &VoterNode| {
            let endpoint = voter.endpoints.of("C").expect("the listener that was asked for");
            let directory = uuid_text::format(&voter.key.directory_or_nil());
            format!("{}@{}:{}:{directory}", voter.key.id, endpoint.host, endpoint.port)
        };
        voters.iter().map(print).collect::<Vec<_>>().join(",")
    }

    fn assert_refused(cases: &[(&str, &'static str)]) {
        for (entry, what) in cases {
            let entry = entry.replace("ID", ID);
            assert_eq!(
                parse(&entry, "C"),
                Err(VoterListError::Entry {
                    entry: entry.clone(),
                    what
                })
            );
        }
    }

    #[test]
    fn bootstrap_009_malformed_node_ids_are_told_apart() {
        assert_refused(&[
            ("localhost:8020:ID", "there is no @"),
            ("@localhost:8020:ID", "there is no id before the @"),
            ("-1@localhost:8020:ID", "the id is negative"),
            ("blah@localhost:8020:ID", "the id is not a number"),
        ]);
    }

    #[test]
    fn bootstrap_010_malformed_hosts_are_told_apart() {
        assert_refused(&[
            ("2@", "there is no host behind the @"),
            ("2@[1234:5678:9abc:8020:ID", "there is no ] behind the host"),
            ("2@localhost8020", "there is no port behind the host"),
        ]);
    }

    #[test]
    fn bootstrap_011_malformed_ports_are_told_apart() {
        assert_refused(&[
            ("2@[::1]x8020:ID", "the ] is not followed by a colon and the port"),
            ("2@localhost:8020ID", "there is no directory id"),
            ("2@localhost:8020m:ID", "the port is not a number"),
            ("2@localhost:-8020:ID", "the port is not one from 0 to 65535"),
            ("2@localhost:666666:ID", "the port is not one from 0 to 65535"),
        ]);
    }

    #[test]
    fn bootstrap_012_an_entry_becomes_a_voter_with_one_endpoint_and_two_levels() {
        let list = format!("1@localhost:9093:{ID},2@localhost:8020:{ID},3@localhost:8021:{ID}");
        let (first, _) = list.split_once(',').unwrap();
        for (list, listener) in [(first, "CONTROLLER"), (&list, "CONTROLLER2")] {
            let voters = parse(list, listener).unwrap();
            for (voter, (id, port)) in voters.iter().zip([(1, 9093), (2, 8020), (3, 8021)]) {
                let host = "localhost".to_owned();
                let expected = VoterNode {
                    key: ReplicaKey::new(NodeId(id), uuid_text::parse(ID).unwrap()),
                    endpoints: Endpoints::single(
                        listener,
                        Endpoint {
                            host: host.into(),
                            port,
                        },
                    ),
                    kraft_versions: SupportedVersions { min: 0, max: 1 },
                };
                assert_eq!(*voter, expected);
            }
            assert_eq!(voters.len(), list.split(',').count());
        }
    }

    #[test]
    fn bootstrap_013_a_list_is_read_in_order_and_nothing_of_it_is_lost() {
        let one = format!("2@localhost:8020:{ID}");
        let three = format!("0@node0:8020:{ID},1@node1:8020:{ID},2@node2:8020:{ID}");
        for list in [one, three] {
            assert_eq!(printed(&parse(&list, "C").unwrap()), list);
        }
    }

    #[test]
    fn bootstrap_014_a_list_without_voters_or_with_an_id_twice_is_refused() {
        assert_eq!(parse("", "C").unwrap_err(), VoterListError::Empty);
        assert_eq!(parse(" , ", "C").unwrap_err(), VoterListError::Empty);
        let twice = format!("0@node0:8020:{ID},1@node1:8020:{ID},1@node1:8021:{ID}");
        assert_eq!(parse(&twice, "C").unwrap_err(), VoterListError::Twice { id: 1 });
    }

    #[test]
    fn a_directory_id_that_is_none_is_refused() {
        let error = parse("1@localhost:9093:short", "C").unwrap_err().to_string();
        assert!(error.contains("22 characters"), "{error}");
    }
}
