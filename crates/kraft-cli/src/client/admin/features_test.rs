use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use bytes::Bytes;
use kraft_wire::message::{
    ApiVersionsResponseApiVersion, ApiVersionsResponseFinalizedFeature, ApiVersionsResponseSupportedFeature,
    DescribeClusterResponse, UpdateFeaturesResponseResult,
};
use kraft_wire::{ApiKey, Message};

use super::*;

/// What a server of the past, or a wrong one, does with UpdateFeatures.
#[derive(Clone)]
enum Answer {
    /// This, in the version of the request.
    With(UpdateFeaturesResponse),
    /// It hangs up.
    None,
}

/// A broker that answers every connection, in a thread that ends with the process.
#[derive(Clone)]
struct Server {
    /// The highest version of UpdateFeatures; none where it is not served.
    update_features: Option<i16>,
    supported: Vec<(&'static str, i16, i16)>,
    finalized: Vec<(&'static str, i16)>,
    answer: Answer,
}

impl Server {
    fn new(update_features: Option<i16>, answer: Answer) -> Server {
        Server {
            update_features,
            supported: vec![("kraft.version", 0, 1)],
            finalized: vec![("kraft.version", 1)],
            answer,
        }
    }

    fn start(self) -> Admin {
        self.start_for(Duration::from_secs(30))
    }

    /// For a client that waits for as long.
    fn start_for(self, patience: Duration) -> Admin {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string().parse().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let server = self.clone();
                thread::spawn(move || server.serve(stream.unwrap()));
            }
        });
        Admin::new(vec![address], EndpointKind::Brokers, patience)
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut length = [0; 4];
        while stream.read_exact(&mut length).is_ok() {
            let mut frame = vec![0; u32::from_be_bytes(length) as usize];
            stream.read_exact(&mut frame).unwrap();
            let Some(answer) = self.answer(&Bytes::from(frame)) else {
                return;
            };
            stream.write_all(&(answer.len() as u32).to_be_bytes()).unwrap();
            stream.write_all(&answer).unwrap();
        }
    }

    fn answer(&self, frame: &Bytes) -> Option<Vec<u8>> {
        let key = i16::from_be_bytes([frame[0], frame[1]]);
        let version = i16::from_be_bytes([frame[2], frame[3]]);
        let body = match ApiKey::from_key(key).unwrap() {
            ApiKey::ApiVersions => self.versions().to_bytes(version),
            ApiKey::DescribeCluster => DescribeClusterResponse {
                cluster_id: "cluster".to_owned(),
                endpoint_type: 1,
                ..DescribeClusterResponse::default()
            }
            .to_bytes(version),
            _ => match &self.answer {
                Answer::With(response) => response.to_bytes(version),
                Answer::None => return None,
            },
        };
        // The correlation id, and the tagged fields of a flexible header, which ApiVersions never has.
        let mut answer = frame[4..8].to_vec();
        if key != ApiKey::ApiVersions.key() {
            answer.push(0);
        }
        answer.extend_from_slice(&body.unwrap());
        Some(answer)
    }

    fn versions(&self) -> ApiVersionsResponse {
        let api = |api: ApiKey, max_version| ApiVersionsResponseApiVersion {
            api_key: api.key(),
            min_version: 0,
            max_version,
            ..ApiVersionsResponseApiVersion::default()
        };
        let mut api_keys = vec![api(ApiKey::ApiVersions, 4), api(ApiKey::DescribeCluster, 1)];
        api_keys.extend(
            self.update_features
                .map(|highest| api(ApiKey::UpdateFeatures, highest)),
        );
        let supported =
            |(name, min_version, max_version): &(&str, i16, i16)| ApiVersionsResponseSupportedFeature {
                name: (*name).to_owned(),
                min_version: *min_version,
                max_version: *max_version,
                ..ApiVersionsResponseSupportedFeature::default()
            };
        let finalized = |(name, level): &(&str, i16)| ApiVersionsResponseFinalizedFeature {
            name: (*name).to_owned(),
            max_version_level: *level,
            min_version_level: *level,
            ..ApiVersionsResponseFinalizedFeature::default()
        };
        ApiVersionsResponse {
            api_keys,
            supported_features: self.supported.iter().map(supported).collect(),
            finalized_features: self.finalized.iter().map(finalized).collect(),
            ..ApiVersionsResponse::default()
        }
    }
}

fn levels(levels: &[(&str, i16)]) -> BTreeMap<String, i16> {
    let owned = |(name, level): &(&str, i16)| ((*name).to_owned(), *level);
    levels.iter().map(owned).collect()
}

fn answered(
    code: ErrorCode,
    message: Option<&str>,
    results: &[(&str, ErrorCode, &str)],
) -> UpdateFeaturesResponse {
    let result = |(feature, code, message): &(&str, ErrorCode, &str)| UpdateFeaturesResponseResult {
        feature: (*feature).to_owned(),
        error_code: code.code(),
        error_message: Some((*message).to_owned()),
        ..UpdateFeaturesResponseResult::default()
    };
    UpdateFeaturesResponse {
        error_code: code.code(),
        error_message: message.map(str::to_owned),
        results: results.iter().map(result).collect(),
        ..UpdateFeaturesResponse::default()
    }
}

/// Name, code and text of each.
fn shown(outcomes: &[FeatureOutcome]) -> Vec<(&str, &str, Option<&str>)> {
    let one = |outcome: &'_ FeatureOutcome| outcome.code.name();
    outcomes
        .iter()
        .map(|outcome| (outcome.feature.as_str(), one(outcome), outcome.message.as_deref()))
        .collect()
}

#[test]
fn an_error_of_the_answer_is_that_of_every_feature() {
    let response = answered(ErrorCode::InvalidUpdateVersion, Some("No."), &[]);
    let admin = Server::new(Some(2), Answer::With(response)).start();
    let outcomes = admin.update_features(&levels(&[("b", 1), ("a", 2)]), FeatureChange::Upgrade, false);
    assert_eq!(
        shown(&outcomes.unwrap()),
        [
            ("a", "INVALID_UPDATE_VERSION", Some("No.")),
            ("b", "INVALID_UPDATE_VERSION", Some("No.")),
        ]
    );
}

#[test]
fn below_version_2_each_feature_has_its_own_outcome() {
    let results = [
        ("b", ErrorCode::FeatureUpdateFailed, "Not this one."),
        ("a", ErrorCode::None, "NONE"),
        ("nobody.asked", ErrorCode::None, ""),
    ];
    let response = answered(ErrorCode::None, None, &results);
    let admin = Server::new(Some(1), Answer::With(response)).start();
    let asked = levels(&[("a", 1), ("b", 1), ("c", 1)]);
    let outcomes = admin.update_features(&asked, FeatureChange::SafeDowngrade, true);
    assert_eq!(
        shown(&outcomes.unwrap()),
        [
            ("a", "NONE", None),
            ("b", "FEATURE_UPDATE_FAILED", Some("Not this one.")),
            (
                "c",
                "UNKNOWN_SERVER_ERROR",
                Some("The answer says nothing about this feature.")
            ),
        ]
    );
}

#[test]
fn no_results_mean_that_all_was_done() {
    for version in 0..=2 {
        let admin = Server::new(Some(version), Answer::With(answered(ErrorCode::None, None, &[]))).start();
        let outcomes = admin.update_features(&levels(&[("a", 1)]), FeatureChange::Upgrade, false);
        assert_eq!(
            shown(&outcomes.unwrap()),
            [("a", "NONE", None)],
            "version {version}"
        );
    }
}

#[test]
fn what_an_old_server_cannot_be_asked_is_not_sent() {
    for (change, validate_only, served) in [
        (FeatureChange::SafeDowngrade, false, Some(0)),
        (FeatureChange::Upgrade, true, Some(0)),
        (FeatureChange::Upgrade, false, None),
    ] {
        let admin = Server::new(served, Answer::None).start();
        let error = admin
            .update_features(&levels(&[("a", 1)]), change, validate_only)
            .unwrap_err();
        assert!(matches!(error, AdminError::Incapable { .. }), "{error}");
    }
}

#[test]
fn a_change_that_is_not_answered_may_have_been_made() {
    let admin = Server::new(Some(2), Answer::None).start();
    let error = admin
        .update_features(&levels(&[("a", 1)]), FeatureChange::Upgrade, false)
        .unwrap_err();
    assert!(matches!(error, AdminError::Unanswered { .. }), "{error}");
    assert!(error.to_string().contains("UpdateFeatures"), "{error}");
}

#[test]
fn somebody_who_is_not_the_controller_is_asked_again() {
    let response = answered(ErrorCode::NotController, Some("It is node 7."), &[]);
    let admin = Server::new(Some(2), Answer::With(response)).start_for(SHORT);
    let error = admin
        .update_features(&levels(&[("a", 1)]), FeatureChange::Upgrade, false)
        .unwrap_err();
    assert!(matches!(error, AdminError::NotFound { .. }), "{error}");
    assert!(
        error.to_string().contains("NOT_CONTROLLER (It is node 7.)"),
        "{error}"
    );
}

#[test]
fn features_of_a_node() {
    let mut server = Server::new(None, Answer::None);
    let features = server.clone().start().describe_features(None).unwrap();
    assert_eq!(
        features,
        Features {
            supported: [("kraft.version".to_owned(), (0, 1))].into(),
            finalized: levels(&[("kraft.version", 1)]),
            epoch: None,
        }
    );
    server.supported = vec![("kraft.version", 2, 1)];
    let error = server.clone().start().describe_features(None).unwrap_err();
    assert!(matches!(error, AdminError::Nonsense { .. }), "{error}");
    server.supported.clear();
    server.finalized = vec![("kraft.version", -1)];
    let error = server.start().describe_features(None).unwrap_err();
    assert!(matches!(error, AdminError::Nonsense { .. }), "{error}");
}

#[test]
fn an_answer_that_comes_byte_by_byte_has_no_more_time_than_any() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string().parse().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // The client hangs up first.
            let announced = 100_i32.to_be_bytes();
            let mut bytes = announced.iter().chain(&[0; 90]);
            while bytes
                .next()
                .is_some_and(|byte| stream.write_all(&[*byte]).is_ok())
            {
                thread::sleep(Duration::from_millis(50));
            }
        }
    });
    let admin = Admin::new(vec![address], EndpointKind::Controllers, SHORT);
    let error = admin.describe_features(None).unwrap_err();
    assert!(error.to_string().ends_with("no answer in time"), "{error}");
}

#[test]
fn a_node_that_is_not_registered() {
    let admin = Server::new(None, Answer::None).start_for(SHORT);
    let error = admin.describe_features(Some(7)).unwrap_err();
    assert!(
        matches!(error, AdminError::NodeNotFound { node_id: 7, .. }),
        "{error}"
    );
}

/// For what is tried until the time is over.
const SHORT: Duration = Duration::from_secs(2);
