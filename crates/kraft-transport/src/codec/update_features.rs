//! UpdateFeatures (57) for kraft.version, the one feature that consensus keeps itself.

use super::KRAFT_VERSION;
use bytes::Bytes;
use kraft_core::{ChangeRefusal, ErrorCode, NodeId, UpgradeOutcome};
use kraft_wire::{EncodeError, Message, message as m};

/// A change of kraft.version that somebody asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KRaftVersionUpdate {
    pub(crate) level: i16,
    pub(crate) downgrade: bool,
    pub(crate) validate_only: bool,
}

/// What a request for UpdateFeatures is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// Features of the state machine, or bytes that only the state machine may refuse.
    StateMachine,
    /// kraft.version alone.
    KRaftVersion(KRaftVersionUpdate),
    /// kraft.version among others, or with an upgrade type that is not known.
    Unanswerable(&'static str),
}

/// Looks whether a request speaks of kraft.version.
pub(crate) fn about(version: i16, body: &Bytes) -> About {
    let Ok(request) = m::UpdateFeaturesRequest::from_bytes(body, version) else {
        return About::StateMachine;
    };
    let updates = &request.feature_updates;
    let Some(update) = updates.iter().find(|update| update.feature == KRAFT_VERSION) else {
        return About::StateMachine;
    };
    if updates.len() > 1 {
        return About::Unanswerable("kraft.version has to be changed in a request of its own.");
    }
    let downgrade = match (version, update.allow_downgrade, update.upgrade_type) {
        (0, downgrade, _) => downgrade,
        (_, _, 1) => false,
        (_, _, 2 | 3) => true,
        _ => return About::Unanswerable("The upgrade type is not known."),
    };
    About::KRaftVersion(KRaftVersionUpdate {
        level: update.max_version_level,
        downgrade,
        validate_only: request.validate_only,
    })
}

/// The first feature of a request, and the level that it is to have.
pub(crate) fn first(version: i16, body: &Bytes) -> Option<(String, i16)> {
    let request = m::UpdateFeaturesRequest::from_bytes(body, version).ok()?;
    let first = request.feature_updates.into_iter().next()?;
    Some((first.feature, first.max_version_level))
}

/// The answer to a request for kraft.version alone, or to one that is refused.
pub(crate) fn answer(
    version: i16,
    outcome: &Result<UpgradeOutcome, ChangeRefusal>,
    leader: Option<NodeId>,
) -> Result<Bytes, EncodeError> {
    let response = match outcome {
        Ok(UpgradeOutcome::Possible | UpgradeOutcome::InForce) => m::UpdateFeaturesResponse {
            error_message: None,
            results: if version < 2 {
                vec![m::UpdateFeaturesResponseResult {
                    feature: KRAFT_VERSION.to_owned(),
                    error_message: Some("NONE".to_owned()),
                    ..Default::default()
                }]
            } else {
                Vec::new()
            },
            ..Default::default()
        },
        Err(refusal) if refusal.error == ErrorCode::NotLeaderOrFollower => {
            let message = match leader {
                Some(leader) => format!("The active controller appears to be node {leader}."),
                None => "The active controller is not known.".to_owned(),
            };
            failed(ErrorCode::NotController, message)
        }
        Err(refusal) => failed(
            refusal.error,
            format!(
                "The update failed for all features since the following feature had an error: {}",
                refusal.message
            ),
        ),
    };
    response.to_bytes(version)
}

fn failed(error: ErrorCode, message: String) -> m::UpdateFeaturesResponse {
    m::UpdateFeaturesResponse {
        error_code: error.code(),
        error_message: Some(message),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(version: i16, features: &[&str], upgrade_type: i8) -> Bytes {
        let update = |feature: &&str| m::UpdateFeaturesRequestFeatureUpdate {
            feature: (*feature).to_owned(),
            max_version_level: 1,
            upgrade_type,
            ..Default::default()
        };
        m::UpdateFeaturesRequest {
            feature_updates: features.iter().map(update).collect(),
            ..Default::default()
        }
        .to_bytes(version)
        .expect("every version has these fields")
    }

    #[test]
    fn only_a_request_for_kraft_version_alone_is_for_consensus() {
        assert_eq!(
            about(1, &body(1, &[KRAFT_VERSION], 1)),
            About::KRaftVersion(KRaftVersionUpdate {
                level: 1,
                downgrade: false,
                validate_only: false
            })
        );
        assert_eq!(about(1, &body(1, &["metadata.version"], 1)), About::StateMachine);
        let both = body(1, &["metadata.version", KRAFT_VERSION], 1);
        assert!(matches!(about(1, &both), About::Unanswerable(_)));
        assert!(matches!(
            about(1, &body(1, &[KRAFT_VERSION], 7)),
            About::Unanswerable(_)
        ));
        assert_eq!(about(1, &Bytes::from_static(b"x")), About::StateMachine);
    }
}
