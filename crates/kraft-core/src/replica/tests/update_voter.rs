//! UpdateRaftVoter on both sides, at both kraft.version levels.

use super::harness::{Node, elected, endpoints, follower_of, key};
use crate::{
    action::{Action, AppendPayload, DiskOp},
    answer::Answer,
    control::ControlRecord,
    endpoints::Endpoints,
    error_code::ErrorCode,
    event::{Event, PartitionMatch, RequestContext},
    handles::ReplyId,
    ids::Epoch,
    peer_request::PeerRequest,
    voter_set::SupportedVersions,
};
use alloc::vec::Vec;
use core::time::Duration;

const LEVELS: SupportedVersions = SupportedVersions { min: 0, max: 1 };

fn update(node: &mut Node, voter: i32, epoch: i32, endpoints: Endpoints) -> (ErrorCode, Vec<Action>) {
    let out = node.step(Event::ReceiveUpdateRaftVoter {
        context: RequestContext {
            reply: ReplyId(1),
            listener: "CONTROLLER".into(),
            partition: PartitionMatch::Metadata,
        },
        cluster_id: None,
        leader_epoch: Epoch(epoch),
        voter: key(voter),
        endpoints,
        kraft_versions: LEVELS,
    });
    let answered = out.iter().find_map(|action| match action {
        Action::Reply {
            answer: Answer::UpdateRaftVoter(partition),
            ..
        } => Some(partition.error),
        _ => None,
    });
    (answered.expect("an answer at once"), out)
}

#[test]
fn a_leader_checks_an_update_in_kafkas_order() {
    let mut node = elected(&[1, 2, 3], 1);
    node.flush();
    assert_eq!(
        update(&mut node, 2, 0, endpoints(2)).0,
        ErrorCode::FencedLeaderEpoch
    );
    assert_eq!(
        update(&mut node, 2, 2, endpoints(2)).0,
        ErrorCode::UnknownLeaderEpoch
    );
    assert_eq!(
        update(&mut node, 2, 1, endpoints(2)).0,
        ErrorCode::RequestTimedOut
    );
    let end = node.log.end.last_offset;
    node.fetch(2, end, 1, 0);
    assert_eq!(
        update(&mut node, 2, 1, Endpoints::empty()).0,
        ErrorCode::InvalidRequest
    );
    assert_eq!(update(&mut node, 9, 1, endpoints(9)).0, ErrorCode::VoterNotFound);
    let (error, out) = update(&mut node, 2, 1, endpoints(7));
    assert_eq!(error, ErrorCode::None);
    assert_eq!(out.len(), 1, "kept in memory at kraft.version 0: {out:?}");
}

#[test]
fn from_kraft_version_1_on_an_update_is_a_record() {
    let mut node = elected(&[1, 2, 3], 1);
    node.upgrade(&[1, 2, 3]);
    node.flush();
    assert_eq!(
        update(&mut node, 2, 1, endpoints(7)).0,
        ErrorCode::RequestTimedOut,
        "the voters are not committed"
    );
    let end = node.log.end.last_offset;
    node.fetch(2, end, 1, 0);
    let (error, out) = update(&mut node, 2, 1, endpoints(7));
    assert_eq!(error, ErrorCode::None);
    let Some(Action::Disk {
        op:
            DiskOp::Append {
                payload: AppendPayload::Control { records, .. },
                ..
            },
        ..
    }) = out.first()
    else {
        panic!("{out:?}")
    };
    let [ControlRecord::Voters(voters)] = &records[..] else {
        panic!("{records:?}")
    };
    assert_eq!(voters.endpoints(key(2).id), endpoints(7));
    assert_eq!(node.replica.voters(), voters);
    assert_eq!(
        update(&mut node, 3, 1, endpoints(8)).0,
        ErrorCode::RequestTimedOut,
        "one change at a time"
    );
    node.flush();
    node.fetch(3, end + 1, 1, 0);
    assert_eq!(update(&mut node, 3, 1, endpoints(8)).0, ErrorCode::None);
}

#[test]
fn a_follower_reports_itself_once_to_each_leader() {
    let mut node = follower_of(2, 5);
    let reports = |node: &mut Node| -> Vec<_> {
        node.sent()
            .into_iter()
            .filter(|(_, _, body)| matches!(body, PeerRequest::UpdateRaftVoter { epoch: Epoch(5), .. }))
            .collect()
    };
    for _ in 0..8 {
        let fetch = node.sent().pop().expect("a fetch").0;
        node.pass(Duration::from_millis(499));
        node.fetch_response(fetch, 5, -1, crate::event::FetchedRecords::Empty);
    }
    let fetch = node.sent().pop().expect("a fetch").0;
    node.pass(Duration::from_millis(8));
    assert!(reports(&mut node).is_empty(), "the leader is busy with a Fetch");
    node.fetch_response(fetch, 5, -1, crate::event::FetchedRecords::Empty);
    let report = reports(&mut node).pop().expect("a report").0;
    let out = node.update_voter_response(report, 5);
    assert!(
        matches!(
            out[..],
            [Action::Send {
                body: PeerRequest::Fetch { .. },
                ..
            }]
        ),
        "{out:?}"
    );
}
