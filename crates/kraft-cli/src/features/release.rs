//! Releases of Kafka on the command line, and the levels that belong to them.

use kraft_metadata::feature::{Feature, METADATA_VERSION, MetadataVersion};
use thiserror::Error;

/// There is no such release.
#[derive(Debug, PartialEq, Eq, Error)]
#[error(
    "{option} {given}: no such release of Kafka up to 4.4; give one such as 4.4, or a level such as 4.4-IV2"
)]
pub(super) struct UnknownRelease {
    option: &'static str,
    given: String,
}

/// The metadata version that the value of an option names.
pub(super) fn release(option: &'static str, given: &str) -> Result<MetadataVersion, UnknownRelease> {
    MetadataVersion::from_name(given).ok_or_else(|| UnknownRelease {
        option,
        given: given.to_owned(),
    })
}

/// The levels that a new cluster of a release starts with, `metadata.version` first; 0 is off.
pub(super) fn levels(version: MetadataVersion) -> impl Iterator<Item = (&'static str, i16)> {
    let others = Feature::ALL
        .iter()
        .map(move |feature| (feature.name, feature.default_level(version)));
    std::iter::once((METADATA_VERSION, version.level())).chain(others)
}
