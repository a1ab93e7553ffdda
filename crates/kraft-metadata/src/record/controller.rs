//! RegisterControllerRecord (type 27) and UnregisterControllerRecord (type 29).

use kraft_wire::{Message, UnknownTags};
use uuid::Uuid;

/// A process of a controller has registered (KIP-919).
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 27, versions = 0, flexible = 0)]
pub struct RegisterControllerRecord {
    /// Its node id.
    pub controller_id: i32,
    /// Random per process.
    pub incarnation_id: Uuid,
    /// Left over from the migration away from ZooKeeper.
    pub zk_migration_ready: bool,
    /// Its controller listeners.
    pub end_points: Vec<ControllerEndpoint>,
    /// The feature levels that it can run at.
    pub features: Vec<ControllerFeature>,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// One of `end_points` of [`RegisterControllerRecord`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct ControllerEndpoint {
    /// The name of the listener.
    pub name: String,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    pub security_protocol: i16,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// One of `features` of [`RegisterControllerRecord`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct ControllerFeature {
    /// The name of the feature.
    pub name: String,
    /// The lowest level.
    pub min_supported_version: i16,
    /// The highest level.
    pub max_supported_version: i16,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

impl RegisterControllerRecord {
    /// The address of a listener. Of a repeated name the last entry counts.
    #[must_use]
    pub fn listener(&self, name: &str) -> Option<&ControllerEndpoint> {
        self.end_points
            .iter()
            .rev()
            .find(|endpoint| endpoint.name == name)
    }

    /// The levels of a feature that the controller can run at: only 0 where it does not name the feature.
    #[must_use]
    pub fn supports(&self, feature: &str, level: i16) -> bool {
        let range = self.features.iter().rev().find(|range| range.name == feature);
        range.map_or(level == 0, |range| {
            (range.min_supported_version..=range.max_supported_version).contains(&level)
        })
    }
}

/// A controller's registration is forgotten (KIP-1312).
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 29, versions = 0, flexible = 0)]
pub struct UnregisterControllerRecord {
    /// Its node id.
    pub controller_id: i32,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}
