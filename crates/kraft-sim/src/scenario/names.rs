//! The names of replicas, directories and endpoints in scenarios.
//!
//! `L` is the replica under test and has the node id 0; `B`, `C`, … have the ids 1, 2, …. A replica `B` whose directory
//! is `b` is written `B@b`; `B` alone is B without a directory id; `B@d9` is B in a directory of another name. Numbers
//! stand for themselves.

use super::command::CommandError;
use kraft_core::{Endpoint, Endpoints, NodeId, ReplicaKey, SupportedVersions, VoterNode, VoterSet};
use uuid::Uuid;

/// The listener that replicas of scenarios talk over.
pub const LISTENER: &str = "CONTROLLER";
const PORT: u16 = 9093;
/// Directories named by a letter.
const LETTER_DIRECTORY: u128 = 0x4b52_4146_5400_0000_0000_0000_0000_0000;
/// Directories named by a number.
const NUMBER_DIRECTORY: u128 = 0x4b52_4146_5400_0001_0000_0000_0000_0000;

/// The letter of a node id, if it has one.
fn letter(id: NodeId) -> Option<char> {
    match id.0 {
        0 => Some('L'),
        1..=10 => char::from_u32(u32::from('A') + id.0.unsigned_abs()),
        _ => None,
    }
}

/// A node id, by letter or number.
pub fn node(text: &str) -> Result<NodeId, CommandError> {
    if text == "none" {
        return Ok(NodeId::NONE);
    }
    if let Ok(id) = text.parse() {
        return Ok(NodeId(id));
    }
    (0..=10)
        .map(NodeId)
        .find(|id| letter(*id).is_some_and(|letter| text.len() == 1 && text.starts_with(letter)))
        .ok_or_else(|| CommandError::new(format!("`{text}` names no replica")))
}

/// A directory id: a lower-case letter, `d` and a number, or `nil` for the id that means none.
pub fn directory(text: &str) -> Result<Uuid, CommandError> {
    let bytes = text.as_bytes();
    match bytes {
        b"nil" => Ok(Uuid::nil()),
        [letter @ b'a'..=b'z'] => Ok(Uuid::from_u128(LETTER_DIRECTORY + u128::from(*letter))),
        [b'd', number @ ..] if !number.is_empty() => text[1..]
            .parse::<u32>()
            .map(numbered_directory)
            .map_err(|_| CommandError::new(format!("`{text}` names no directory"))),
        _ => Err(CommandError::new(format!("`{text}` names no directory"))),
    }
}

/// The directory that is called `d` and a number.
#[must_use]
pub fn numbered_directory(number: u32) -> Uuid {
    Uuid::from_u128(NUMBER_DIRECTORY + u128::from(number))
}

/// A replica key: `B@b`, or `B` without directory.
pub fn key(text: &str) -> Result<ReplicaKey, CommandError> {
    match text.split_once('@') {
        None => Ok(ReplicaKey::without_directory(node(text)?)),
        Some((id, dir)) => Ok(ReplicaKey {
            id: node(id)?,
            directory_id: Some(directory(dir)?),
        }),
    }
}

/// The key of a replica in its own directory: `B@b`, and `12@d12` where letters have ended.
#[must_use]
pub fn own_key(id: NodeId) -> ReplicaKey {
    let own = letter(id).map_or_else(
        || NUMBER_DIRECTORY + u128::from(id.0.unsigned_abs()),
        |letter| LETTER_DIRECTORY + u128::from(u32::from(letter.to_ascii_lowercase())),
    );
    ReplicaKey {
        id,
        directory_id: Some(Uuid::from_u128(own)),
    }
}

/// The text of a node id.
#[must_use]
pub fn show_node(id: NodeId) -> String {
    match letter(id) {
        Some(letter) => letter.to_string(),
        None if id == NodeId::NONE => "none".to_owned(),
        None => id.to_string(),
    }
}

/// The text of a leader that may be unknown.
#[must_use]
pub fn show_leader(leader: Option<NodeId>) -> String {
    leader.map_or_else(
        || "no leader".to_owned(),
        |id| format!("leader {}", show_node(id)),
    )
}

/// The text of a directory id.
#[must_use]
pub fn show_directory(id: Uuid) -> String {
    let number = id.as_u128();
    if let Some(low) = number.checked_sub(NUMBER_DIRECTORY).filter(|low| *low < 1 << 32) {
        return format!("d{low}");
    }
    number
        .checked_sub(LETTER_DIRECTORY)
        .and_then(|low| u8::try_from(low).ok())
        .filter(u8::is_ascii_lowercase)
        .map_or_else(|| id.to_string(), |letter| char::from(letter).to_string())
}

/// The text of a replica key.
#[must_use]
pub fn show_key(key: &ReplicaKey) -> String {
    match key.directory_id {
        None => show_node(key.id),
        Some(dir) => format!("{}@{}", show_node(key.id), show_directory(dir)),
    }
}

/// The texts of several ids.
#[must_use]
pub fn show_nodes(ids: &[NodeId]) -> String {
    if ids.is_empty() {
        return "nobody".to_owned();
    }
    ids.iter().map(|id| show_node(*id)).collect::<Vec<_>>().join(",")
}

/// The endpoint of a replica: host `b` for B.
#[must_use]
pub fn endpoint(id: NodeId) -> Endpoint {
    Endpoint {
        host: show_node(id).to_ascii_lowercase().into(),
        port: PORT,
    }
}

/// The endpoints of a replica.
#[must_use]
pub fn endpoints(id: NodeId) -> Endpoints {
    Endpoints::single(LISTENER, endpoint(id))
}

/// The endpoint of a bootstrap server, by its place in the list.
#[must_use]
pub fn bootstrap_endpoint(number: usize) -> Endpoint {
    Endpoint {
        host: format!("boot{number}").into(),
        port: PORT,
    }
}

/// A voter set: each voter at its usual endpoint, levels 0 to 1 with a directory and 0 to 0 without.
pub fn voter_set(keys: &[ReplicaKey]) -> VoterSet {
    keys.iter()
        .map(|key| VoterNode {
            key: *key,
            endpoints: endpoints(key.id),
            kraft_versions: SupportedVersions {
                min: 0,
                max: i16::from(key.directory_id.is_some()),
            },
        })
        .collect()
}

/// The text of endpoints.
#[must_use]
pub fn show_endpoints(endpoints: &Endpoints) -> String {
    if endpoints.is_empty() {
        return "unknown endpoints".to_owned();
    }
    endpoints
        .iter()
        .map(|(name, endpoint)| {
            if name == LISTENER {
                endpoint.to_string()
            } else {
                format!("{name}://{endpoint}")
            }
        })
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for text in ["L", "B", "K", "B@b", "C@d9", "42@x", "none", "-2"] {
            assert_eq!(show_key(&key(text).expect("a name")), text);
        }
        assert_eq!(key("B@b"), Ok(own_key(NodeId(1))));
        assert_eq!(key("12@d12"), Ok(own_key(NodeId(12))));
        for text in ["", "BB", "@b", "B@", "B@B", "B@dx", "Z"] {
            assert!(key(text).is_err(), "{text} is no name");
        }
    }
}
