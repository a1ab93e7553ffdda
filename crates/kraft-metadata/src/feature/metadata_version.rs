//! The levels of `metadata.version` and their names.

use std::fmt;

/// A level of `metadata.version` that Kafka 4.4 knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MetadataVersion(i16);

impl MetadataVersion {
    /// The lowest level that is supported.
    pub const MINIMUM: Self = Self(7);
    /// The highest level for production: 4.4-IV2.
    pub const LATEST_PRODUCTION: Self = Self(33);
    /// The lowest level with metadata transactions.
    pub const TRANSACTIONS: Self = Self(13);
    /// The lowest level with SCRAM credentials.
    pub const SCRAM: Self = Self(11);
    /// The lowest level with registrations of controllers.
    pub const CONTROLLER_REGISTRATION: Self = Self(15);
    /// The lowest level at which a controller's registration may be removed.
    pub const UNREGISTER_CONTROLLER: Self = Self(33);

    /// The level of this number; `None` where Kafka 4.4 does not know it.
    #[must_use]
    pub fn from_level(level: i16) -> Option<Self> {
        LEVELS
            .iter()
            .any(|known| known.level == level)
            .then_some(Self(level))
    }

    /// The level of a name (`4.1-IV1`) or of a release, where the release's newest level for production counts and what
    /// follows its second number does not (`4.1`, `4.1.2`).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let mut segments = name.splitn(3, '.');
        let release = match (segments.next(), segments.next(), segments.next()) {
            (Some(major), Some(minor), Some(_)) => &name[..major.len() + 1 + minor.len()],
            _ => name,
        };
        let named = |known: &&Level| {
            known.name == release || (known.release() == release && Self(known.level).is_production())
        };
        LEVELS.iter().rev().find(named).map(|known| Self(known.level))
    }

    /// The number.
    #[must_use]
    pub fn level(self) -> i16 {
        self.0
    }

    /// Whether Kafka 4.4 lets a cluster run at this level without being told that it is a test.
    #[must_use]
    pub fn is_production(self) -> bool {
        self <= Self::LATEST_PRODUCTION
    }

    /// Whether the records of this level differ from those of the level below.
    #[must_use]
    pub fn changes_metadata(self) -> bool {
        self.entry().changes_metadata
    }

    /// The name, such as `4.1-IV1`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// All levels, in rising order.
    pub fn all() -> impl Iterator<Item = Self> {
        LEVELS.iter().map(|known| Self(known.level))
    }

    fn entry(self) -> &'static Level {
        let known = LEVELS.iter().find(|known| known.level == self.0);
        known.expect("a metadata version is only made from the table")
    }
}

impl fmt::Display for MetadataVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

struct Level {
    level: i16,
    name: &'static str,
    changes_metadata: bool,
}

impl Level {
    fn release(&self) -> &'static str {
        self.name
            .split_once('-')
            .map_or(self.name, |(release, _)| release)
    }
}

const fn level(level: i16, name: &'static str, changes_metadata: bool) -> Level {
    Level {
        level,
        name,
        changes_metadata,
    }
}

/// Level 34 is known and not for production.
const LEVELS: &[Level] = &[
    level(7, "3.3-IV3", true),
    level(8, "3.4-IV0", true),
    level(9, "3.5-IV0", false),
    level(10, "3.5-IV1", false),
    level(11, "3.5-IV2", true),
    level(12, "3.6-IV0", false),
    level(13, "3.6-IV1", true),
    level(14, "3.6-IV2", true),
    level(15, "3.7-IV0", true),
    level(16, "3.7-IV1", false),
    level(17, "3.7-IV2", true),
    level(18, "3.7-IV3", false),
    level(19, "3.7-IV4", false),
    level(20, "3.8-IV0", false),
    level(21, "3.9-IV0", false),
    level(22, "4.0-IV0", false),
    level(23, "4.0-IV1", true),
    level(24, "4.0-IV2", false),
    level(25, "4.0-IV3", false),
    level(26, "4.1-IV0", false),
    level(27, "4.1-IV1", false),
    level(28, "4.2-IV0", false),
    level(29, "4.2-IV1", false),
    level(30, "4.3-IV0", true),
    level(31, "4.4-IV0", false),
    level(32, "4.4-IV1", true),
    level(33, "4.4-IV2", true),
    level(34, "4.5-IV0", false),
];
