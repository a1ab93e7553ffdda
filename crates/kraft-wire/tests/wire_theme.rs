//! The shapes of the quorum's messages by version: theme WIRE of Kafka's own tests. Each test writes a message in a
//! version, reads it back and compares all that the version shows.

use kraft_wire::message::*;
use kraft_wire::{ErrorCode, Message};
use uuid::Uuid;

const TOPIC: &str = "__cluster_metadata";
const TOPIC_ID: Uuid = Uuid::from_u128(1);
const DIRECTORY: Uuid = Uuid::from_u128(1);

/// What a reader sees of a message that was written in a version.
fn seen<M: Message>(message: &M, version: i16) -> String {
    let bytes = message.to_bytes(version).expect("the version can carry it");
    let read = M::from_bytes(&bytes, version).expect("what was written can be read");
    read.to_json_value(version).to_string()
}

#[test]
fn wire_002_endpoints_of_the_leader_in_begin_and_end_quorum_epoch() {
    let begin = |leader_endpoints| BeginQuorumEpochRequest {
        leader_endpoints,
        ..Default::default()
    };
    let endpoint = BeginQuorumEpochRequestLeaderEndpoint {
        name: "LISTENER".into(),
        host: "localhost".into(),
        port: 9092,
        ..Default::default()
    };
    let one = r#""leaderEndpoints":[{"name":"LISTENER","host":"localhost","port":9092}]}"#;
    assert!(seen(&begin(vec![endpoint]), 1).ends_with(one));
    assert!(seen(&begin(vec![]), 1).ends_with(r#""leaderEndpoints":[]}"#));
    let end = |leader_endpoints| EndQuorumEpochRequest {
        leader_endpoints,
        ..Default::default()
    };
    let endpoint = EndQuorumEpochRequestLeaderEndpoint {
        name: "LISTENER".into(),
        host: "localhost".into(),
        port: 9092,
        ..Default::default()
    };
    assert!(seen(&end(vec![endpoint]), 1).ends_with(one));
    assert!(seen(&end(vec![]), 1).ends_with(r#""leaderEndpoints":[]}"#));
}

fn fetch(replica_directory_id: Uuid) -> FetchRequest {
    FetchRequest {
        topics: vec![FetchRequestTopic {
            topic: TOPIC.into(),
            topic_id: TOPIC_ID,
            partitions: vec![FetchRequestPartition {
                current_leader_epoch: 5,
                fetch_offset: 333,
                last_fetched_epoch: 10,
                partition_max_bytes: 10,
                replica_directory_id,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// A version before 12 has no LastFetchedEpoch, and the field may not be dropped.
fn fetch_for(version: i16, directory: Uuid) -> FetchRequest {
    let mut request = fetch(directory);
    if version < 12 {
        request.topics[0].partitions[0].last_fetched_epoch = -1;
    }
    request
}

/// What a reader sees of [`fetch`], without the directory id.
fn fetch_seen(version: i16) -> String {
    let mut text = String::from("{");
    let mut put = |since, until, field: &str| {
        if (since..=until).contains(&version) {
            text += field;
        }
    };
    put(4, 14, r#""replicaId":-1,"#);
    put(
        4,
        18,
        r#""maxWaitMs":0,"minBytes":0,"maxBytes":2147483647,"isolationLevel":0,"#,
    );
    put(7, 18, r#""sessionId":0,"sessionEpoch":-1,"#);
    put(
        4,
        12,
        r#""topics":[{"topic":"__cluster_metadata","partitions":[{"partition":0,"#,
    );
    put(
        13,
        18,
        r#""topics":[{"topicId":"AAAAAAAAAAAAAAAAAAAAAQ","partitions":[{"partition":0,"#,
    );
    put(9, 18, r#""currentLeaderEpoch":5,"#);
    put(4, 18, r#""fetchOffset":333,"#);
    put(12, 18, r#""lastFetchedEpoch":10,"#);
    put(5, 18, r#""logStartOffset":-1,"#);
    put(4, 18, r#""partitionMaxBytes":10}]}]"#);
    put(7, 18, r#","forgottenTopicsData":[]"#);
    put(11, 18, r#","rackId":"""#);
    text + "}"
}

#[test]
fn wire_004_fetch_request_by_version() {
    assert_eq!(
        fetch(Uuid::nil()).to_bytes(11),
        Err(kraft_wire::EncodeError::FieldNotInVersion {
            message: "FetchRequestPartition",
            field: "lastFetchedEpoch",
            version: 11
        })
    );
    for version in [4, 5, 7, 11, 12, 15, 17] {
        let request = fetch_for(version, Uuid::nil());
        assert_eq!(seen(&request, version), fetch_seen(version), "version {version}");
    }
}

#[test]
fn wire_005_the_directory_id_of_a_fetch_is_dropped_where_a_version_lacks_it() {
    for version in [4, 5, 7, 11, 12, 15] {
        let request = fetch_for(version, DIRECTORY);
        assert_eq!(seen(&request, version), fetch_seen(version), "version {version}");
    }
    let with_id = r#""partitionMaxBytes":10,"replicaDirectoryId":"AAAAAAAAAAAAAAAAAAAAAQ"}"#;
    let expected = fetch_seen(17).replace(r#""partitionMaxBytes":10}"#, with_id);
    assert_eq!(seen(&fetch_for(17, DIRECTORY), 17), expected);
}

#[test]
fn wire_006_fetch_response_by_version() {
    let response = FetchResponse {
        responses: vec![FetchResponseTopic {
            topic: TOPIC.into(),
            topic_id: TOPIC_ID,
            partitions: vec![FetchResponsePartition {
                high_watermark: 1000,
                last_stable_offset: 900,
                log_start_offset: 10,
                aborted_transactions: Some(vec![FetchResponseAbortedTransaction {
                    producer_id: 1,
                    first_offset: 2,
                    ..Default::default()
                }]),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    for version in [4, 5, 7, 11, 12, 13, 16] {
        let mut text = String::from(r#"{"throttleTimeMs":0,"#);
        let mut put = |since, until, field: &str| {
            if (since..=until).contains(&version) {
                text += field;
            }
        };
        put(7, 16, r#""errorCode":0,"sessionId":0,"#);
        put(4, 12, r#""responses":[{"topic":"__cluster_metadata","#);
        put(13, 16, r#""responses":[{"topicId":"AAAAAAAAAAAAAAAAAAAAAQ","#);
        put(4, 16, r#""partitions":[{"partitionIndex":0,"errorCode":0,"#);
        put(4, 16, r#""highWatermark":1000,"lastStableOffset":900,"#);
        put(5, 16, r#""logStartOffset":10,"#);
        put(
            4,
            16,
            r#""abortedTransactions":[{"producerId":1,"firstOffset":2}],"#,
        );
        put(11, 16, r#""preferredReadReplica":-1,"#);
        put(4, 16, r#""records":null}]}]}"#);
        let mut shown = response.clone();
        // Null is the default of the field; Kafka's test leaves it so.
        shown.responses[0].partitions[0].records = None;
        assert_eq!(seen(&shown, version), text, "version {version}");
    }
}

#[test]
fn wire_007_vote_response_by_version() {
    let response = VoteResponse {
        topics: vec![VoteResponseTopic {
            topic_name: TOPIC.into(),
            partitions: vec![VoteResponsePartition {
                leader_id: 1,
                leader_epoch: 1,
                vote_granted: true,
                ..Default::default()
            }],
            ..Default::default()
        }],
        node_endpoints: vec![VoteResponseNodeEndpoint {
            node_id: 1,
            host: "localhost".into(),
            port: 9990,
            ..Default::default()
        }],
        ..Default::default()
    };
    let mut without = response.clone();
    without.node_endpoints.clear();
    let partition = r#"{"partitionIndex":0,"errorCode":0,"leaderId":1,"leaderEpoch":1,"voteGranted":true}"#;
    let topics =
        format!(r#"{{"errorCode":0,"topics":[{{"topicName":"{TOPIC}","partitions":[{partition}]}}]"#);
    let endpoints = r#","nodeEndpoints":[{"nodeId":1,"host":"localhost","port":9990}]"#;
    assert_eq!(seen(&without, 0), format!("{topics}}}"));
    // The sender leaves the field empty for version 0: it may not be dropped.
    assert!(response.to_bytes(0).is_err());
    for version in [1, 2] {
        assert_eq!(seen(&response, version), format!("{topics}{endpoints}}}"));
    }
}

#[test]
fn wire_008_fetch_snapshot_request_by_version() {
    let request = |replica_directory_id| FetchSnapshotRequest {
        replica_id: 1,
        max_bytes: 1000,
        topics: vec![FetchSnapshotRequestTopic {
            name: TOPIC.into(),
            partitions: vec![FetchSnapshotRequestPartition {
                current_leader_epoch: 1,
                snapshot_id: FetchSnapshotRequestSnapshotId {
                    end_offset: 10,
                    epoch: 1,
                    ..Default::default()
                },
                position: 10,
                replica_directory_id,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let expected = |directory: &str| {
        let snapshot = r#""snapshotId":{"endOffset":10,"epoch":1}"#;
        let partition =
            format!(r#"{{"partition":0,"currentLeaderEpoch":1,{snapshot},"position":10{directory}}}"#);
        let topics = format!(r#"[{{"name":"{TOPIC}","partitions":[{partition}]}}]"#);
        format!(r#"{{"replicaId":1,"maxBytes":1000,"topics":{topics}}}"#)
    };
    assert_eq!(seen(&request(Uuid::nil()), 0), expected(""));
    assert_eq!(seen(&request(DIRECTORY), 0), expected(""));
    assert_eq!(seen(&request(Uuid::nil()), 1), expected(""));
    let directory = r#","replicaDirectoryId":"AAAAAAAAAAAAAAAAAAAAAQ""#;
    assert_eq!(seen(&request(DIRECTORY), 1), expected(directory));
}

#[test]
fn wire_009_fetch_snapshot_response_by_version() {
    let response = |node_endpoints| FetchSnapshotResponse {
        topics: vec![FetchSnapshotResponseTopic {
            name: TOPIC.into(),
            partitions: vec![FetchSnapshotResponsePartition::default()],
            ..Default::default()
        }],
        node_endpoints,
        ..Default::default()
    };
    let snapshot = r#""snapshotId":{"endOffset":0,"epoch":0},"size":0,"position":0,"unalignedRecords":"""#;
    let topics = format!(
        r#"{{"throttleTimeMs":0,"errorCode":0,"topics":[{{"name":"{TOPIC}","partitions":[{{"index":0,"errorCode":0,{snapshot}}}]}}]"#
    );
    let endpoint = FetchSnapshotResponseNodeEndpoint {
        node_id: 1,
        host: "localhost".into(),
        port: 9990,
        ..Default::default()
    };
    assert_eq!(seen(&response(vec![]), 0), format!("{topics}}}"));
    assert!(response(vec![endpoint.clone()]).to_bytes(0).is_err());
    let endpoints = r#","nodeEndpoints":[{"nodeId":1,"host":"localhost","port":9990}]"#;
    assert_eq!(
        seen(&response(vec![endpoint]), 1),
        format!("{topics}{endpoints}}}")
    );
}

#[test]
fn wire_010_end_quorum_epoch_by_version() {
    let request = EndQuorumEpochRequest {
        topics: vec![EndQuorumEpochRequestTopic {
            topic_name: TOPIC.into(),
            partitions: vec![EndQuorumEpochRequestPartition {
                leader_id: 1,
                leader_epoch: 1,
                preferred_successors: vec![1],
                preferred_candidates: vec![EndQuorumEpochRequestCandidate {
                    candidate_id: 1,
                    candidate_directory_id: DIRECTORY,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let expected = |preferred: &str, endpoints: &str| {
        let partition = format!(r#"{{"partitionIndex":0,"leaderId":1,"leaderEpoch":1,{preferred}}}"#);
        let topics = format!(r#"[{{"topicName":"{TOPIC}","partitions":[{partition}]}}]"#);
        format!(r#"{{"clusterId":null,"topics":{topics}{endpoints}}}"#)
    };
    assert_eq!(seen(&request, 0), expected(r#""preferredSuccessors":[1]"#, ""));
    let candidates =
        r#""preferredCandidates":[{"candidateId":1,"candidateDirectoryId":"AAAAAAAAAAAAAAAAAAAAAQ"}]"#;
    assert_eq!(
        seen(&request, 1),
        expected(candidates, r#","leaderEndpoints":[]"#)
    );

    let response = |node_endpoints| EndQuorumEpochResponse {
        node_endpoints,
        ..Default::default()
    };
    assert_eq!(seen(&response(vec![]), 0), r#"{"errorCode":0,"topics":[]}"#);
    let endpoint = EndQuorumEpochResponseNodeEndpoint {
        node_id: 1,
        host: "localhost".into(),
        port: 9990,
        ..Default::default()
    };
    assert_eq!(
        seen(&response(vec![endpoint]), 1),
        r#"{"errorCode":0,"topics":[],"nodeEndpoints":[{"nodeId":1,"host":"localhost","port":9990}]}"#
    );
}

#[test]
fn wire_011_describe_quorum_by_version() {
    let request = DescribeQuorumRequest {
        topics: vec![DescribeQuorumRequestTopic {
            topic_name: TOPIC.into(),
            partitions: vec![DescribeQuorumRequestPartition::default()],
            ..Default::default()
        }],
        ..Default::default()
    };
    for version in 0..=2 {
        let expected =
            format!(r#"{{"topics":[{{"topicName":"{TOPIC}","partitions":[{{"partitionIndex":0}}]}}]}}"#);
        assert_eq!(seen(&request, version), expected);
    }
    let response = |version| {
        // Below version 2 a sender has no directory id to give, and the field may not be dropped.
        let state = DescribeQuorumResponseReplicaState {
            replica_id: 1,
            replica_directory_id: if version >= 2 { DIRECTORY } else { Uuid::nil() },
            log_end_offset: -1,
            last_fetch_timestamp: 0,
            last_caught_up_timestamp: 0,
            ..Default::default()
        };
        DescribeQuorumResponse {
            error_message: Some(String::new()),
            topics: vec![DescribeQuorumResponseTopic {
                topic_name: TOPIC.into(),
                partitions: vec![DescribeQuorumResponsePartition {
                    error_message: Some(String::new()),
                    leader_id: 1,
                    leader_epoch: 1,
                    high_watermark: 1000,
                    current_voters: vec![state.clone()],
                    observers: vec![state],
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        }
    };
    for version in 0..=2 {
        let mut state = String::from(r#"{"replicaId":1,"#);
        if version >= 2 {
            state += r#""replicaDirectoryId":"AAAAAAAAAAAAAAAAAAAAAQ","#;
        }
        state += r#""logEndOffset":-1"#;
        if version >= 1 {
            state += r#","lastFetchTimestamp":0,"lastCaughtUpTimestamp":0"#;
        }
        state += "}";
        let (message, nodes) = match version {
            2 => (r#""errorMessage":"","#, r#","nodes":[]"#),
            _ => ("", ""),
        };
        let partition = format!(
            r#"{{"partitionIndex":0,"errorCode":0,{message}"leaderId":1,"leaderEpoch":1,"highWatermark":1000,"currentVoters":[{state}],"observers":[{state}]}}"#
        );
        let topics = format!(r#"[{{"topicName":"{TOPIC}","partitions":[{partition}]}}]"#);
        let expected = format!(r#"{{"errorCode":0,{message}"topics":{topics}{nodes}}}"#);
        assert_eq!(seen(&response(version), version), expected, "version {version}");
    }
}

#[test]
fn wire_013_an_error_without_a_text_of_its_own_carries_the_standard_one() {
    for error in ErrorCode::ALL.iter().copied() {
        let text = (error != ErrorCode::None).then(|| error.name().to_owned());
        let added = AddRaftVoterResponse::of(error, None);
        assert_eq!(
            (added.error_code, added.error_message),
            (error.code(), text.clone())
        );
        let removed = RemoveRaftVoterResponse::of(error, None);
        assert_eq!((removed.error_code, removed.error_message), (error.code(), text));
        let own = Some(String::from("because"));
        assert_eq!(AddRaftVoterResponse::of(error, own.clone()).error_message, own);
        assert_eq!(RemoveRaftVoterResponse::of(error, own.clone()).error_message, own);
    }
}
