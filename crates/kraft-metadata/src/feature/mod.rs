//! The features of a cluster: which there are, which levels they have, what a new cluster starts with (KIP-584, KIP-1022).

mod metadata_version;

pub use metadata_version::MetadataVersion;

/// The feature that decides which records may be written.
pub const METADATA_VERSION: &str = "metadata.version";
/// The feature of the quorum itself. It lives in control records, never in a FeatureLevelRecord.
pub const KRAFT_VERSION: &str = "kraft.version";
/// The feature that makes a new cluster start with a `min.insync.replicas` of its own.
pub const ELIGIBLE_LEADER_REPLICAS_VERSION: &str = "eligible.leader.replicas.version";

/// A feature beside `metadata.version`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// The name.
    pub name: &'static str,
    /// The highest level; the lowest is 0, which means that the feature is off.
    pub level_max: i16,
    /// The level of a new cluster, from which metadata version on, highest first.
    defaults: &'static [(i16, i16)],
    /// The metadata version that level 1 and above needs.
    needs: i16,
}

impl Feature {
    /// The features in the order in which Kafka's tools print them.
    pub const ALL: &'static [Self] = &[
        feature(KRAFT_VERSION, 1, &[(21, 1)], 7),
        feature("transaction.version", 2, &[(24, 2)], 7),
        feature("group.version", 1, &[(22, 1)], 7),
        feature(ELIGIBLE_LEADER_REPLICAS_VERSION, 1, &[(26, 1)], 23),
        feature("share.version", 2, &[(31, 2), (28, 1)], 7),
        feature("streams.version", 1, &[(29, 1)], 7),
    ];

    /// The feature of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|feature| feature.name == name)
    }

    /// Whether the feature has this level.
    #[must_use]
    pub fn has_level(&self, level: i16) -> bool {
        (0..=self.level_max).contains(&level)
    }

    /// The level of a new cluster at a metadata version.
    #[must_use]
    pub fn default_level(&self, version: MetadataVersion) -> i16 {
        let since = self.defaults.iter().find(|(since, _)| version.level() >= *since);
        since.map_or(0, |(_, level)| *level)
    }

    /// The metadata version that a level needs, absent where it needs none.
    #[must_use]
    pub fn needs(&self, level: i16) -> Option<MetadataVersion> {
        (level > 0)
            .then(|| MetadataVersion::from_level(self.needs))
            .flatten()
    }
}

/// The levels of a feature that this software can run at, as registrations and ApiVersions name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SupportedFeature {
    /// The name.
    pub name: &'static str,
    /// The lowest level.
    pub min: i16,
    /// The highest level.
    pub max: i16,
}

/// What this software supports: the same as Kafka 4.4.
#[must_use]
pub fn supported_features() -> Vec<SupportedFeature> {
    let metadata_version = SupportedFeature {
        name: METADATA_VERSION,
        min: MetadataVersion::MINIMUM.level(),
        max: MetadataVersion::LATEST_PRODUCTION.level(),
    };
    let others = Feature::ALL.iter().map(|feature| SupportedFeature {
        name: feature.name,
        min: 0,
        max: feature.level_max,
    });
    std::iter::once(metadata_version).chain(others).collect()
}

const fn feature(name: &'static str, level_max: i16, defaults: &'static [(i16, i16)], needs: i16) -> Feature {
    Feature {
        name,
        level_max,
        defaults,
        needs,
    }
}
