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
    let id = id
        .parse()
        .ok()
        .filter(|id| *id >= 0)
        .ok_or_else(|| wrong("the id is not a number from 0 on"))?;
    let (host, rest) = match rest.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest
                .split_once(']')
                .ok_or_else(|| wrong("there is no ] behind the host"))?;
            (
                host,
                rest.strip_prefix(':').ok_or_else(|| wrong("there is no port"))?,
            )
        }
        None => rest.split_once(':').ok_or_else(|| wrong("there is no port"))?,
    };
    let (port, directory_id) = rest
        .split_once(':')
        .ok_or_else(|| wrong("there is no directory id"))?;
    let port = port
        .parse()
        .map_err(|_| wrong("the port is not a number from 0 to 65535"))?;
    let directory_id = uuid_text::parse(directory_id).map_err(|source| VoterListError::DirectoryId {
        entry: entry.to_owned(),
        source,
    })?;
    Ok(Voter {
        id,
        endpoint: Endpoint {
            host: host.to_owned(),
            port,
        },
        directory_id,
    })
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
        assert_eq!(
            shown,
            [(1, "localhost".to_owned(), 9093), (2, "::1".to_owned(), 9094)]
        );
    }

    #[test]
    fn what_is_refused() {
        let twice = format!("1@a:1:{ID},1@b:2:{ID}");
        assert_eq!(parse(&twice, "C").unwrap_err(), VoterListError::Twice { id: 1 });
        assert_eq!(parse(" , ", "C").unwrap_err(), VoterListError::Empty);
        for (entry, part) in [
            ("localhost:9093:ID", "no @"),
            ("@localhost:9093:ID", "the id"),
            ("-1@localhost:9093:ID", "the id"),
            ("x@localhost:9093:ID", "the id"),
            ("1@", "no port"),
            ("1@localhost", "no port"),
            ("1@[::1:9093:ID", "no ]"),
            ("1@[::1]9093:ID", "no port"),
            ("1@localhost:9093", "no directory id"),
            ("1@localhost:65536:ID", "the port"),
            ("1@localhost:9093:short", "22 characters"),
        ] {
            let error = parse(&entry.replace("ID", ID), "C").unwrap_err().to_string();
            assert!(error.contains(part), "{entry}: {error}");
        }
    }
}
