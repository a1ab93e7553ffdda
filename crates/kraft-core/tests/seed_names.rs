//! The vocabulary of events: broker projects speak it, so each name and field of it is there.

use kraft_core::{Epoch, Event, LogEnd, LogOffsetMetadata, NodeId, ReplicaKey, SuccessorRank, Text};
use uuid::Uuid;

/// What an event is about, if it is of the common vocabulary. Does not compile without a name in it, or with another type.
fn spoken_of(event: Event) -> Option<Vec<String>> {
    let fields: &[&dyn std::fmt::Debug] = match &event {
        Event::ElectionTimeout | Event::FetchTimeout | Event::CheckQuorumTimeout => &[],
        Event::ReceiveVoteRequest {
            from,
            cluster_id,
            voter_id,
            voter_directory_id,
            candidate_epoch,
            candidate,
            candidate_directory_id,
            candidate_log_end: LogEnd {
                last_epoch,
                last_offset,
            },
            pre_vote,
            ..
        } => {
            let _: (&ReplicaKey, &Option<Text>, &NodeId, &Uuid) =
                (from, cluster_id, voter_id, voter_directory_id);
            let _: (&Epoch, &NodeId, &Uuid, &bool) =
                (candidate_epoch, candidate, candidate_directory_id, pre_vote);
            let _: (&Epoch, &i64) = (last_epoch, last_offset);
            &[
                &from.id.0,
                &cluster_id.as_deref(),
                &voter_id.0,
                &voter_directory_id.as_u128(),
                &candidate_epoch.0,
                &candidate.0,
                &candidate_directory_id.as_u128(),
                &last_epoch.0,
                last_offset,
                pre_vote,
            ]
        }
        Event::ReceiveVoteResponse {
            from,
            epoch,
            vote_granted,
            ..
        } => &[&from.id.0, &epoch.0, vote_granted],
        Event::ReceiveBeginQuorumEpoch {
            leader_id,
            leader_epoch,
            ..
        } => &[&leader_id.0, &leader_epoch.0],
        Event::ReceiveEndQuorumEpoch {
            leader_id,
            leader_epoch,
            successor_rank: SuccessorRank { position, successors },
            ..
        } => &[&leader_id.0, &leader_epoch.0, position, successors],
        Event::ReceiveFetch {
            from,
            fetch_epoch,
            fetch_offset,
            ..
        } => &[&from.id.0, &fetch_epoch.0, fetch_offset],
        Event::ReceiveFetchSnapshot { from, .. } => &[&from.id.0],
        Event::ReceiveFetchResponse {
            leader_id,
            leader_epoch,
            diverging,
            ..
        } => {
            let diverging: Option<&LogOffsetMetadata> = diverging.as_ref();
            &[
                &leader_id.0,
                &leader_epoch.0,
                &diverging.map(|end| (end.epoch.0, end.offset)),
            ]
        }
        Event::ReceiveLeaderlessEpoch { epoch } => &[&epoch.0],
        _ => return None,
    };
    Some(fields.iter().map(|field| format!("{field:?}")).collect())
}

mod values {
    //! An event of each kind, no two of whose fields have the same value.

    use kraft_core::*;
    use uuid::Uuid;

    fn context() -> RequestContext {
        RequestContext {
            reply: ReplyId(1),
            listener: "CONTROLLER".into(),
            partition: PartitionMatch::Metadata,
        }
    }

    fn answer() -> AnswerContext {
        AnswerContext {
            request: RequestId(1),
            top_level: ErrorCode::None,
            partition: PartitionMatch::Metadata,
            error: ErrorCode::None,
            leader: None,
            leader_endpoint: None,
        }
    }

    fn key(id: i32) -> ReplicaKey {
        ReplicaKey::without_directory(NodeId(id))
    }

    pub(super) fn all() -> Vec<(Event, &'static [&'static str])> {
        vec![
            (Event::ElectionTimeout, &[]),
            (Event::FetchTimeout, &[]),
            (Event::CheckQuorumTimeout, &[]),
            (
                Event::ReceiveVoteRequest {
                    context: context(),
                    from: key(2),
                    cluster_id: Some("a-cluster".into()),
                    voter_id: NodeId(3),
                    voter_directory_id: Uuid::from_u128(4),
                    candidate_epoch: Epoch(5),
                    candidate: NodeId(6),
                    candidate_directory_id: Uuid::from_u128(7),
                    candidate_log_end: LogEnd {
                        last_epoch: Epoch(8),
                        last_offset: 9,
                    },
                    pre_vote: true,
                },
                &[
                    "2",
                    "Some(\"a-cluster\")",
                    "3",
                    "4",
                    "5",
                    "6",
                    "7",
                    "8",
                    "9",
                    "true",
                ],
            ),
            (
                Event::ReceiveVoteResponse {
                    answer: answer(),
                    from: key(2),
                    epoch: Epoch(3),
                    vote_granted: true,
                },
                &["2", "3", "true"],
            ),
            (
                Event::ReceiveBeginQuorumEpoch {
                    context: context(),
                    cluster_id: None,
                    voter_id: NodeId(1),
                    voter_directory_id: Uuid::nil(),
                    leader_id: NodeId(2),
                    leader_epoch: Epoch(3),
                    leader_endpoints: Endpoints::empty(),
                },
                &["2", "3"],
            ),
            (
                Event::ReceiveEndQuorumEpoch {
                    context: context(),
                    cluster_id: None,
                    leader_id: NodeId(2),
                    leader_epoch: Epoch(3),
                    leader_endpoints: Endpoints::empty(),
                    successor_rank: SuccessorRank {
                        position: 4,
                        successors: 5,
                    },
                },
                &["2", "3", "4", "5"],
            ),
            (
                Event::ReceiveFetch {
                    context: context(),
                    from: key(2),
                    cluster: ClusterMatch::Ours,
                    fetch_epoch: Epoch(3),
                    fetch_offset: 4,
                    last_fetched_epoch: Epoch(0),
                    high_watermark: -1,
                    max_wait_ms: 0,
                    max_bytes: 0,
                },
                &["2", "3", "4"],
            ),
            (
                Event::ReceiveFetchSnapshot {
                    context: context(),
                    from: key(2),
                    cluster_id: None,
                    fetch_epoch: Epoch(0),
                    snapshot: SnapshotId::BOOTSTRAP,
                    position: 0,
                    max_bytes: 0,
                },
                &["2"],
            ),
            (
                Event::ReceiveFetchResponse {
                    answer: answer(),
                    from: key(1),
                    leader_id: NodeId(2),
                    leader_epoch: Epoch(3),
                    high_watermark: -1,
                    diverging: Some(LogOffsetMetadata {
                        epoch: Epoch(4),
                        offset: 5,
                    }),
                    snapshot: None,
                    records: FetchedRecords::Empty,
                },
                &["2", "3", "Some((4, 5))"],
            ),
            (Event::ReceiveLeaderlessEpoch { epoch: Epoch(2) }, &["2"]),
        ]
    }
}

#[test]
fn every_event_of_the_common_vocabulary_has_its_fields() {
    for (event, fields) in values::all() {
        assert_eq!(
            spoken_of(event.clone()).expect("it is spoken of"),
            fields,
            "{event:?}"
        );
    }
    assert_eq!(spoken_of(Event::Tick), None);
    // The place of a replica that no list names: it campaigns at once.
    let first = SuccessorRank::default();
    assert_eq!((first.position, first.successors), (0, 0));
}
