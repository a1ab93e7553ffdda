//! The records that a formatted directory starts a cluster with.

use crate::{
    feature::{Feature, KRAFT_VERSION, METADATA_VERSION, MetadataVersion},
    record::{FeatureLevelRecord, MetadataRecord, UserScramCredentialRecord},
};
use bytes::Bytes;
use kraft_wire::{EncodeError, UnknownTags};
use std::collections::BTreeMap;

/// A SCRAM mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScramMechanism {
    /// SCRAM-SHA-256.
    Sha256,
    /// SCRAM-SHA-512.
    Sha512,
}

impl ScramMechanism {
    /// The number in records.
    #[must_use]
    pub fn code(self) -> i8 {
        match self {
            Self::Sha256 => 1,
            Self::Sha512 => 2,
        }
    }
}

/// A SCRAM credential, derived from a password by whoever makes it.
#[derive(Clone, PartialEq, Eq)]
pub struct ScramCredential {
    /// The user.
    pub name: String,
    /// The mechanism.
    pub mechanism: ScramMechanism,
    /// The salt.
    pub salt: Vec<u8>,
    /// What the server compares the client's proof with.
    pub stored_key: Vec<u8>,
    /// What the server proves itself by.
    pub server_key: Vec<u8>,
    /// How often the password was hashed.
    pub iterations: i32,
}

/// Keys stay out of logs.
impl std::fmt::Debug for ScramCredential {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ScramCredential")
            .field("name", &self.name)
            .field("mechanism", &self.mechanism)
            .field("iterations", &self.iterations)
            .finish_non_exhaustive()
    }
}

/// Why a cluster cannot start like this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BootstrapError {
    /// There is no such feature.
    #[error("there is no feature {name}")]
    UnknownFeature {
        /// The name given.
        name: String,
    },
    /// The feature does not have the level.
    #[error("{name} has no level {level}, only 0 to {level_max}")]
    UnknownLevel {
        /// The feature.
        name: &'static str,
        /// The level given.
        level: i16,
        /// The highest level.
        level_max: i16,
    },
    /// The level needs a newer metadata version.
    #[error("{name}={level} needs {METADATA_VERSION}={} ({needs})", needs.level())]
    Dependency {
        /// The feature.
        name: &'static str,
        /// The level given.
        level: i16,
        /// What it needs.
        needs: MetadataVersion,
    },
    /// SCRAM credentials need a newer metadata version.
    #[error("SCRAM credentials need {METADATA_VERSION}={} ({})", MetadataVersion::SCRAM.level(), MetadataVersion::SCRAM)]
    Scram,
    /// A record cannot be written.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// The levels of a new cluster, `kraft.version` included: the defaults of its metadata version, with the given ones in
/// their place.
///
/// # Errors
/// A given feature is not known, does not have the level, or needs a newer metadata version.
pub fn feature_levels(
    version: MetadataVersion,
    given: &BTreeMap<String, i16>,
) -> Result<BTreeMap<&'static str, i16>, BootstrapError> {
    if let Some(name) = given.keys().find(|name| Feature::named(name).is_none()) {
        return Err(BootstrapError::UnknownFeature { name: name.clone() });
    }
    let mut levels = BTreeMap::new();
    for feature in Feature::ALL {
        let default = || feature.default_level(version);
        let level = given.get(feature.name).copied().unwrap_or_else(default);
        if !feature.has_level(level) {
            return Err(BootstrapError::UnknownLevel {
                name: feature.name,
                level,
                level_max: feature.level_max,
            });
        }
        if let Some(needs) = feature.needs(level).filter(|needs| *needs > version) {
            return Err(BootstrapError::Dependency {
                name: feature.name,
                level,
                needs,
            });
        }
        levels.insert(feature.name, level);
    }
    Ok(levels)
}

/// The values of the records of a new cluster's bootstrap checkpoint, in Kafka's order: the metadata version, the other
/// features that are on by name, the SCRAM credentials as given.
///
/// `given` overrides the default levels of single features. `kraft.version` may be among them and is checked, but no
/// record comes of it: it belongs into the checkpoint's control records.
///
/// # Errors
/// As [`feature_levels`]; also where the metadata version is too old for SCRAM credentials.
pub fn bootstrap_records(
    version: MetadataVersion,
    given: &BTreeMap<String, i16>,
    scram: &[ScramCredential],
) -> Result<Vec<Vec<u8>>, BootstrapError> {
    let levels = feature_levels(version, given)?;
    if !scram.is_empty() && version < MetadataVersion::SCRAM {
        return Err(BootstrapError::Scram);
    }
    let others = levels
        .into_iter()
        .filter(|&(name, level)| level > 0 && name != KRAFT_VERSION);
    let features = std::iter::once((METADATA_VERSION, version.level())).chain(others);
    let records = features
        .map(|(name, level)| feature_level(name, level).into())
        .chain(scram.iter().map(|credential| scram_record(credential).into()));
    records
        .map(|record: MetadataRecord| record.encode().map_err(BootstrapError::from))
        .collect()
}

pub(crate) fn feature_level(name: &str, level: i16) -> FeatureLevelRecord {
    FeatureLevelRecord {
        name: name.to_owned(),
        feature_level: level,
        unknown_tags: UnknownTags::default(),
    }
}

fn scram_record(credential: &ScramCredential) -> UserScramCredentialRecord {
    UserScramCredentialRecord {
        name: credential.name.clone(),
        mechanism: credential.mechanism.code(),
        salt: Bytes::copy_from_slice(&credential.salt),
        stored_key: Bytes::copy_from_slice(&credential.stored_key),
        server_key: Bytes::copy_from_slice(&credential.server_key),
        iterations: credential.iterations,
        unknown_tags: UnknownTags::default(),
    }
}
