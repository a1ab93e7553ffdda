//! The answer to ApiVersions: what this node serves, and which features it has.

use super::KRAFT_VERSION;
use crate::peer_api::PeerApi;
use bytes::Bytes;
use kraft_core::{
    SupportedVersions,
    state_machine::{Feature, Features, HandledApi},
};
use kraft_wire::{ApiKey, EncodeError, ErrorCode, Message, Refusal, message as m};

/// Every API that the listener serves, by rising key.
pub(crate) fn served(machine: Vec<HandledApi>) -> Vec<HandledApi> {
    let range = |key: i16, versions: std::ops::RangeInclusive<i16>| HandledApi {
        key,
        min_version: *versions.start(),
        max_version: *versions.end(),
    };
    let mut apis = machine;
    apis.extend(PeerApi::ALL.map(|api| range(api.key(), api.versions())));
    for api in [
        ApiKey::SaslHandshake,
        ApiKey::ApiVersions,
        ApiKey::SaslAuthenticate,
        ApiKey::MetadataFetch,
        ApiKey::UpdateFeatures,
    ] {
        apis.push(range(api.key(), api.versions()));
    }
    apis.sort_by_key(|api| api.key);
    apis.dedup_by_key(|api| api.key);
    apis
}

/// Answers a request. A body that cannot be decoded gives `None`: the connection is closed.
pub(crate) fn answer(
    version: i16,
    body: &Bytes,
    apis: &[HandledApi],
    features: Features,
    kraft_version: Feature,
) -> Option<Result<Bytes, EncodeError>> {
    let request = match m::ApiVersionsRequest::from_bytes(body, version) {
        Ok(request) => request,
        Err(error) => return refused(Refusal::of(ApiKey::ApiVersions, error.kind), apis),
    };
    let half_named = request.cluster_id.is_some() != (request.node_id != -1);
    let well_named = version < 3
        || (is_software_name(&request.client_software_name)
            && is_software_name(&request.client_software_version));
    if half_named || !well_named {
        return Some(
            m::ApiVersionsResponse {
                error_code: ErrorCode::InvalidRequest.code(),
                ..Default::default()
            }
            .to_bytes(version),
        );
    }
    let finalized_features_epoch = features.finalized_epoch;
    let all: Vec<Feature> = std::iter::once(kraft_version).chain(features.features).collect();
    // Readers of version 3 reject a lower bound of 0.
    let listed = all.iter().filter(|f| version >= 4 || f.supported.min > 0);
    Some(
        m::ApiVersionsResponse {
            api_keys: entries(apis.iter()),
            supported_features: listed
                .map(|feature| m::ApiVersionsResponseSupportedFeature {
                    name: feature.name.clone(),
                    min_version: feature.supported.min,
                    max_version: feature.supported.max,
                    ..Default::default()
                })
                .collect(),
            finalized_features_epoch,
            finalized_features: all
                .iter()
                .filter(|feature| feature.finalized != 0)
                .map(|feature| m::ApiVersionsResponseFinalizedFeature {
                    name: feature.name.clone(),
                    max_version_level: feature.finalized,
                    min_version_level: feature.finalized,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        }
        .to_bytes(version),
    )
}

/// Whoever is answered learns from our own range in which version to ask again.
fn refused(refusal: Refusal, apis: &[HandledApi]) -> Option<Result<Bytes, EncodeError>> {
    let Refusal::Answer { code, version } = refusal else {
        return None;
    };
    let own = apis.iter().filter(|api| api.key == ApiKey::ApiVersions.key());
    let response = m::ApiVersionsResponse {
        error_code: code.code(),
        api_keys: entries(own),
        ..Default::default()
    };
    Some(response.to_bytes(version))
}

/// `kraft.version`, which consensus itself keeps.
pub(crate) fn kraft_version(supported: SupportedVersions, level: i16) -> Feature {
    Feature {
        name: KRAFT_VERSION.to_owned(),
        supported,
        finalized: level,
    }
}

fn entries<'a>(apis: impl Iterator<Item = &'a HandledApi>) -> Vec<m::ApiVersionsResponseApiVersion> {
    apis.map(|api| m::ApiVersionsResponseApiVersion {
        api_key: api.key,
        min_version: api.min_version,
        max_version: api.max_version,
        ..Default::default()
    })
    .collect()
}

/// Letters and digits, with dots and hyphens inside.
fn is_software_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_names_are_checked_as_kafka_checks_them() {
        for (name, good) in [
            ("apache-kafka-java", true),
            ("4.4.0", true),
            ("a", true),
            ("", false),
            ("-a", false),
            ("a.", false),
            ("a b", false),
        ] {
            assert_eq!(is_software_name(name), good, "{name:?}");
        }
    }

    #[test]
    fn an_unknown_version_is_answered_in_the_oldest_form() {
        let apis = served(Vec::new());
        let level = kraft_version(SupportedVersions { min: 0, max: 1 }, 1);
        let body = answer(9, &Bytes::new(), &apis, Features::default(), level)
            .expect("answered")
            .expect("encoded");
        assert_eq!(&body[..], &[0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5]);
    }

    #[test]
    fn a_body_that_cannot_be_read_is_not_answered() {
        let level = kraft_version(SupportedVersions { min: 0, max: 1 }, 1);
        let body = Bytes::from_static(&[9]);
        assert!(answer(3, &body, &served(Vec::new()), Features::default(), level).is_none());
    }
}
