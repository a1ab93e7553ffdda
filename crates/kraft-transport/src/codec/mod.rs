//! Between the bytes of the controller listener and the values of the core. No decision is taken here.

mod answer;
pub(crate) mod api_versions;
mod inbound;
mod outbound;
mod response;
pub(crate) mod sasl;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod update_features;
#[cfg(test)]
mod wire_theme_test;

pub(crate) use answer::encode_answer;
pub(crate) use inbound::{Echo, Origin, decode_request};
pub use outbound::encode_request;
pub(crate) use response::{Bodies, decode_response};

use kraft_core::PartitionMatch;
use std::sync::Arc;
use uuid::Uuid;

/// The name of the feature that consensus keeps itself.
pub(crate) const KRAFT_VERSION: &str = "kraft.version";

/// The topic whose only partition is the metadata log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: Arc<str>,
    /// Its id.
    pub id: Uuid,
}

impl Default for Topic {
    /// `__cluster_metadata`.
    fn default() -> Self {
        Self {
            name: "__cluster_metadata".into(),
            id: Uuid::from_u128(1),
        }
    }
}

/// The one partition of a message with exactly one topic and one partition, and the name of that topic.
fn single<'a, T, P>(topics: &'a [T], partitions: impl Fn(&'a T) -> &'a [P]) -> Option<(&'a T, &'a P)> {
    match topics {
        [topic] => match partitions(topic) {
            [partition] => Some((topic, partition)),
            _ => None,
        },
        _ => None,
    }
}

fn partition_match(found: Option<bool>) -> PartitionMatch {
    match found {
        None => PartitionMatch::Malformed,
        Some(true) => PartitionMatch::Metadata,
        Some(false) => PartitionMatch::Other,
    }
}
