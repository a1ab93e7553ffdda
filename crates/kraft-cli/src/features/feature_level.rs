//! `NAME=LEVEL` on the command line.

use std::str::FromStr;

use thiserror::Error;

/// A feature and a level that it is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FeatureLevel {
    pub(super) name: String,
    pub(super) level: i16,
}

/// Not of that form.
#[derive(Debug, Error)]
#[error("expected NAME=LEVEL with a level from 0 to 32767, such as kraft.version=1")]
pub(super) struct FeatureLevelError;

impl FromStr for FeatureLevel {
    type Err = FeatureLevelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, level) = text.split_once('=').ok_or(FeatureLevelError)?;
        let level = level.trim().parse().ok().filter(|level| *level >= 0);
        let level = level.ok_or(FeatureLevelError)?;
        let name = feature_name(name).map_err(|_| FeatureLevelError)?;
        Ok(FeatureLevel { name, level })
    }
}

/// The name of a feature without the blanks around it, where anything is left.
pub(super) fn feature_name(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("expected the name of a feature, such as group.version"),
        name => Ok(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_with_levels() {
        for (text, expected) in [
            ("kraft.version=1", Some(("kraft.version", 1))),
            (" a = 2 ", Some(("a", 2))),
            ("a=0", Some(("a", 0))),
            ("a=+1", Some(("a", 1))),
            ("a=-1", None),
            ("a=32767", Some(("a", i16::MAX))),
            ("a=32768", None),
            ("a=1=2", None),
            ("a=", None),
            ("a", None),
            ("", None),
            ("=1", None),
            (" =1", None),
        ] {
            let parsed = text.parse::<FeatureLevel>().ok();
            let parsed = parsed.as_ref().map(|parsed| (parsed.name.as_str(), parsed.level));
            assert_eq!(parsed, expected, "{text:?}");
        }
    }
}
