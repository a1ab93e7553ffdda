//! The features of a cluster: which there are, and changes of their levels.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kraft_wire::ErrorCode;
use kraft_wire::message::{
    ApiVersionsResponse, UpdateFeaturesRequest, UpdateFeaturesRequestFeatureUpdate, UpdateFeaturesResponse,
};

use super::{Address, Admin, AdminError, Attempt, Connection, EndpointKind, check_code, nonsense, text};
use crate::client::connection::api_versions_request;

/// What a node says of features.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Features {
    /// Lowest and highest level that the node can run at.
    pub(crate) supported: BTreeMap<String, (i16, i16)>,
    /// The levels in force. A feature that is off is not among them.
    pub(crate) finalized: BTreeMap<String, i16>,
    /// Where in the log a level last changed, where that is known.
    pub(crate) epoch: Option<i64>,
}

/// How levels are to be changed; the numbers are those of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeatureChange {
    Upgrade = 1,
    SafeDowngrade = 2,
    UnsafeDowngrade = 3,
}

/// What became of one feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FeatureOutcome {
    pub(crate) feature: String,
    pub(crate) level: i16,
    pub(crate) code: ErrorCode,
    pub(crate) message: Option<String>,
}

impl Admin {
    /// Asks the active controller, or the broker at a bootstrap address, or the node of an id.
    pub(crate) fn describe_features(&self, node_id: Option<i32>) -> Result<Features, AdminError> {
        let described =
            self.until_answered(|address, deadline| self.features_through(node_id, address, deadline));
        match (described, node_id) {
            (
                Err(AdminError::NotFound {
                    waited,
                    address,
                    problem,
                }),
                Some(node_id),
            ) => Err(AdminError::NodeNotFound {
                node_id,
                waited,
                address,
                problem,
            }),
            (described, _) => described,
        }
    }

    fn features_through(
        &self,
        node_id: Option<i32>,
        address: &Address,
        deadline: Instant,
    ) -> Result<Features, Attempt> {
        let Some(node_id) = node_id else {
            return self.features_of_leader(address, deadline);
        };
        let (target, mut connection) = self.connect_to_node(node_id, address, deadline)?;
        of_node(&target, &mut connection, deadline)
    }

    fn features_of_leader(&self, address: &Address, deadline: Instant) -> Result<Features, Attempt> {
        let mut leader = self.connect_to_leader(address, deadline)?;
        // ApiVersions is answered by anybody. Where nobody is named as the active controller, the one that was asked has to
        // show that it is.
        if self.kind == EndpointKind::Controllers && leader.address == *address {
            leader.describe_quorum(deadline)?;
        }
        if leader.cluster_id.is_none() {
            leader.check_begun(deadline)?;
        }
        of_node(&leader.address, &mut leader.connection, deadline)
    }

    /// Asks the active controller for all these levels, or whether it would grant them. The outcomes are ordered by name.
    pub(crate) fn update_features(
        &self,
        levels: &BTreeMap<String, i16>,
        change: FeatureChange,
        validate_only: bool,
    ) -> Result<Vec<FeatureOutcome>, AdminError> {
        let update = |(name, level): (&String, &i16)| UpdateFeaturesRequestFeatureUpdate {
            feature: name.clone(),
            max_version_level: *level,
            upgrade_type: change as i8,
            ..UpdateFeaturesRequestFeatureUpdate::default()
        };
        let request = UpdateFeaturesRequest {
            timeout_ms: milliseconds(self.patience),
            feature_updates: levels.iter().map(update).collect(),
            validate_only,
            ..UpdateFeaturesRequest::default()
        };
        self.until_answered(|address, deadline| {
            let (_, response) = self.send_to_leader(UPDATE_FEATURES, address, deadline, &request)?;
            outcomes(levels, response)
        })
    }
}

impl Features {
    /// Whether a feature that is supported has no level in force.
    pub(super) fn lack_level(&self, feature: &str) -> bool {
        self.supported.contains_key(feature) && !self.finalized.contains_key(feature)
    }

    fn of(response: ApiVersionsResponse) -> Result<Features, &'static str> {
        let supported: BTreeMap<_, _> = response
            .supported_features
            .into_iter()
            .map(|feature| (feature.name, (feature.min_version, feature.max_version)))
            .collect();
        let finalized: BTreeMap<_, _> = response
            .finalized_features
            .into_iter()
            .map(|feature| (feature.name, feature.max_version_level))
            .collect();
        if supported.values().any(|(min, max)| *min < 0 || min > max) {
            return Err("a range of levels that is none");
        }
        if finalized.values().any(|level| *level < 0) {
            return Err("a level below 0");
        }
        Ok(Features {
            supported,
            finalized,
            epoch: Some(response.finalized_features_epoch).filter(|epoch| *epoch >= 0),
        })
    }
}

/// An error of the whole answer is that of every feature; below version 2 each has an outcome of its own.
fn outcomes(
    levels: &BTreeMap<String, i16>,
    response: UpdateFeaturesResponse,
) -> Result<Vec<FeatureOutcome>, Attempt> {
    let code = ErrorCode::from_code(response.error_code);
    // The leader has changed since it was looked up.
    if code == ErrorCode::NotController {
        return Err(Attempt::Again(format!(
            "{UPDATE_FEATURES} is answered with {}{}",
            code.name(),
            text(&response.error_message)
        )));
    }
    let outcome = |(name, level): (&String, &i16)| {
        let (code, message) = if code.is_error() || response.results.is_empty() {
            (code, response.error_message.clone())
        } else {
            let mut results = response.results.iter();
            match results.find(|result| result.feature == *name) {
                Some(result) => (
                    ErrorCode::from_code(result.error_code),
                    result.error_message.clone(),
                ),
                None => (
                    ErrorCode::UnknownServerError,
                    Some("The answer says nothing about this feature.".to_owned()),
                ),
            }
        };
        FeatureOutcome {
            feature: name.clone(),
            level: *level,
            code,
            message: message.filter(|text| code.is_error() && !text.is_empty()),
        }
    };
    Ok(levels.iter().map(outcome).collect())
}

/// What a node says of features, on a connection to it.
pub(super) fn of_node(
    address: &Address,
    connection: &mut Connection,
    deadline: Instant,
) -> Result<Features, Attempt> {
    let response = connection.ask(&api_versions_request(), deadline)?;
    check_code(address, API_VERSIONS, response.error_code, &None)?;
    Features::of(response).map_err(|what| nonsense(address, API_VERSIONS, what))
}

fn milliseconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}

const API_VERSIONS: &str = "ApiVersions";
const UPDATE_FEATURES: &str = "UpdateFeatures";

#[cfg(test)]
#[path = "features_test.rs"]
mod tests;
