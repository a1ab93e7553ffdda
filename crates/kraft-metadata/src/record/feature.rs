//! FeatureLevelRecord (type 12).

use kraft_wire::{Message, UnknownTags};

/// Finalizes a feature at a level. It always has version 0, so that every reader learns the level before anything else.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 12, versions = 0, flexible = 0)]
pub struct FeatureLevelRecord {
    /// The feature.
    pub name: String,
    /// The level; 0 takes the feature back, which `metadata.version` does not allow.
    pub feature_level: i16,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}
