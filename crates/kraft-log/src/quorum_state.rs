//! The file `quorum-state`: epoch, leader and vote, in the two versions that Kafka's `FileQuorumStateStore` writes.

use std::{io, path::Path};

use kraft_core::{ElectionState, Epoch, NodeId, ReplicaKey};
use kraft_fs::FileSystem;
use kraft_wire::uuid_text;
use serde_json::{Map, Value};
use thiserror::Error;
use uuid::Uuid;

use crate::small_file::{self, SmallFileError};

/// Name of the file in the partition directory.
pub const FILE_NAME: &str = "quorum-state";

/// Why the content of a `quorum-state` cannot be used. It is never taken for a missing file: that would allow a
/// second vote in the epoch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QuorumStateError {
    /// No byte in it.
    #[error("the file is empty")]
    Empty,
    /// The first line is not one whole JSON value.
    #[error("the first line is not whole JSON (column {column})")]
    NotJson {
        /// Where the parser gave up, counted from 1.
        column: usize,
    },
    /// The first line is JSON, but no object.
    #[error("the first line is no JSON object")]
    NotAnObject,
    /// A mandatory field is missing.
    #[error("the field {field} is missing")]
    MissingField {
        /// Its name.
        field: &'static str,
    },
    /// A field holds something that it cannot hold.
    #[error("the field {field} does not hold {expected}")]
    WrongField {
        /// Its name.
        field: &'static str,
        /// What belongs there.
        expected: &'static str,
    },
    /// Written in a version of the format that this build does not know.
    #[error("data_version {version} is not known, 0 and 1 are")]
    UnknownVersion {
        /// The version.
        version: i64,
    },
}

/// The content of the file: version 1 from kraft.version 1 on, version 0 below.
#[must_use]
pub fn format(state: &ElectionState) -> Vec<u8> {
    let leader = state.leader.unwrap_or(NodeId::NONE);
    let voted = state.voted.map_or(NodeId::NONE, |vote| vote.id);
    let epoch = state.epoch;
    if state.kraft_version < 1 {
        let voters: Vec<String> = state
            .voters
            .iter()
            .map(|id| format!("{{\"voterId\":{id}}}"))
            .collect();
        let voters = voters.join(",");
        format!(
            "{{\"clusterId\":\"\",\"leaderId\":{leader},\"leaderEpoch\":{epoch},\"votedId\":{voted},\
             \"appliedOffset\":0,\"currentVoters\":[{voters}],\"data_version\":0}}"
        )
    } else {
        let directory = state.voted.map_or(Uuid::nil(), |vote| vote.directory_or_nil());
        let directory = uuid_text::format(&directory);
        format!(
            "{{\"leaderId\":{leader},\"leaderEpoch\":{epoch},\"votedId\":{voted},\
             \"votedDirectoryId\":\"{directory}\",\"data_version\":1}}"
        )
    }
    .into_bytes()
}

/// Reads the content of the file. As Kafka does, only the first line counts and unknown fields are passed over.
///
/// # Errors
/// Anything that is not a state of version 0 or 1.
pub fn parse(bytes: &[u8]) -> Result<ElectionState, QuorumStateError> {
    if bytes.is_empty() {
        return Err(QuorumStateError::Empty);
    }
    let line = bytes
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .next()
        .unwrap_or_default();
    let value: Value = serde_json::from_slice(line).map_err(|error| QuorumStateError::NotJson {
        column: error.column(),
    })?;
    let Value::Object(fields) = value else {
        return Err(QuorumStateError::NotAnObject);
    };
    let version = Fields(&fields).integer("data_version")?;
    match version {
        0 => parse_v0(Fields(&fields)),
        1 => parse_v1(Fields(&fields)),
        _ => Err(QuorumStateError::UnknownVersion { version }),
    }
}

/// Reads the file in `dir`; `None` if it does not exist, and only then.
///
/// # Errors
/// The file cannot be read, or [`parse`] refuses it.
pub fn load<F: FileSystem>(
    fs: &F,
    dir: &Path,
) -> Result<Option<ElectionState>, SmallFileError<QuorumStateError>> {
    small_file::read(fs, dir, FILE_NAME, parse)
}

/// Replaces the file in `dir`, durably and all at once.
///
/// # Errors
/// Those of the operating system.
pub fn store<F: FileSystem>(fs: &F, dir: &Path, state: &ElectionState) -> io::Result<()> {
    kraft_fs::replace_file(fs, dir, FILE_NAME, &format(state))
}

fn parse_v0(fields: Fields<'_>) -> Result<ElectionState, QuorumStateError> {
    fields.text("clusterId")?;
    fields.integer("appliedOffset")?;
    let wrong_voters = QuorumStateError::WrongField {
        field: "currentVoters",
        expected: "a list of voters",
    };
    let Value::Array(elements) = fields.value("currentVoters")? else {
        return Err(wrong_voters);
    };
    let mut voters = Vec::new();
    for element in elements {
        let Value::Object(voter) = element else {
            return Err(wrong_voters);
        };
        voters.push(NodeId(Fields(voter).int32("voterId")?));
    }
    Ok(ElectionState {
        epoch: Epoch(fields.int32("leaderEpoch")?),
        leader: fields.node("leaderId")?,
        voted: fields.node("votedId")?.map(ReplicaKey::without_directory),
        voters,
        kraft_version: 0,
    })
}

fn parse_v1(fields: Fields<'_>) -> Result<ElectionState, QuorumStateError> {
    let directory =
        uuid_text::parse(fields.text("votedDirectoryId")?).map_err(|_| QuorumStateError::WrongField {
            field: "votedDirectoryId",
            expected: "an id of 22 base64 characters",
        })?;
    Ok(ElectionState {
        epoch: Epoch(fields.int32("leaderEpoch")?),
        leader: fields.node("leaderId")?,
        voted: fields.node("votedId")?.map(|id| ReplicaKey::new(id, directory)),
        voters: Vec::new(),
        kraft_version: 1,
    })
}

#[derive(Clone, Copy)]
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn value(self, field: &'static str) -> Result<&'a Value, QuorumStateError> {
        self.0.get(field).ok_or(QuorumStateError::MissingField { field })
    }

    fn text(self, field: &'static str) -> Result<&'a str, QuorumStateError> {
        self.value(field)?.as_str().ok_or(QuorumStateError::WrongField {
            field,
            expected: "a text",
        })
    }

    fn integer(self, field: &'static str) -> Result<i64, QuorumStateError> {
        self.value(field)?.as_i64().ok_or(QuorumStateError::WrongField {
            field,
            expected: "an integer",
        })
    }

    fn int32(self, field: &'static str) -> Result<i32, QuorumStateError> {
        i32::try_from(self.integer(field)?).map_err(|_| QuorumStateError::WrongField {
            field,
            expected: "an integer of 32 bits",
        })
    }

    /// A node id, where -1 says that there is none. Kafka writes no other negative id.
    fn node(self, field: &'static str) -> Result<Option<NodeId>, QuorumStateError> {
        match NodeId(self.int32(field)?) {
            NodeId::NONE => Ok(None),
            NodeId(id) if id < 0 => Err(QuorumStateError::WrongField {
                field,
                expected: "a node id or -1",
            }),
            id => Ok(Some(id)),
        }
    }
}
