use kraft_wire::message::DescribeQuorumResponseListener;
use uuid::Uuid;

use super::*;

fn replica(replica_id: i32, directory: u128, log_end_offset: i64, caught_up: i64) -> Replica {
    Replica {
        replica_id,
        replica_directory_id: Uuid::from_u128(directory),
        log_end_offset,
        last_fetch_timestamp: caught_up,
        last_caught_up_timestamp: caught_up,
        ..Replica::default()
    }
}

fn described(leader_id: i32, voters: Vec<Replica>, observers: Vec<Replica>) -> Described {
    let listener = DescribeQuorumResponseListener {
        name: "CONTROLLER".to_owned(),
        host: "::1".to_owned(),
        port: 9093,
        ..DescribeQuorumResponseListener::default()
    };
    Described {
        cluster_id: Some("cluster".to_owned()),
        partition: DescribeQuorumResponsePartition {
            leader_id,
            leader_epoch: 7,
            high_watermark: 40,
            current_voters: voters,
            observers,
            ..DescribeQuorumResponsePartition::default()
        },
        nodes: vec![DescribeQuorumResponseNode {
            node_id: 2,
            listeners: vec![listener],
            ..DescribeQuorumResponseNode::default()
        }],
    }
}

#[test]
fn status_lines() {
    let voters = vec![replica(1, 1 << 64, 30, 900), replica(2, 0, 42, 1000)];
    let printed = status(&described(2, voters, vec![replica(2, 5, 1, -1)])).unwrap();
    assert_eq!(
        printed,
        "ClusterId:              cluster\n\
         LeaderId:               2\n\
         LeaderEpoch:            7\n\
         HighWatermark:          40\n\
         MaxFollowerLag:         12\n\
         MaxFollowerLagTimeMs:   100\n\
         CurrentVoters:          [{\"id\": 1, \"directoryId\": \"AAAAAAAAAAEAAAAAAAAAAA\"}, \
         {\"id\": 2, \"endpoints\": [\"CONTROLLER://[::1]:9093\"]}]\n\
         CurrentObservers:       [{\"id\": 2, \"directoryId\": \"AAAAAAAAAAAAAAAAAAAABQ\"}]\n"
    );
}

#[test]
fn a_cluster_whose_id_is_not_told() {
    let mut described = described(2, vec![replica(2, 0, 42, 1000)], vec![]);
    described.cluster_id = None;
    let printed = status(&described).unwrap();
    assert!(
        printed.starts_with("ClusterId:              unknown\n"),
        "{printed}"
    );
    let json = json(&described);
    assert!(json.contains("\"clusterId\":null"), "{json}");
}

#[test]
fn a_name_from_elsewhere_stays_on_its_line() {
    let mut described = described(2, vec![replica(2, 0, 42, 1000)], vec![]);
    described.cluster_id = Some("clu\nster\u{1b}[2J".to_owned());
    described.nodes[0].listeners[0].host = "a\nb".to_owned();
    let printed = status(&described).unwrap();
    assert_eq!(printed.lines().count(), 8, "{printed}");
    assert!(
        printed.starts_with("ClusterId:              clu\\nster\\u001b[2J\n"),
        "{printed}"
    );
}

#[test]
fn lag_times() {
    let cases = [
        // The leader itself is the slowest, or as slow as the slowest that comes behind it.
        (vec![replica(1, 0, 10, 50), replica(2, 0, 10, 40)], (0, 0)),
        (vec![replica(1, 0, 10, 50), replica(2, 0, 4, -1)], (6, -1)),
        (vec![replica(1, 0, 10, 50), replica(2, 0, -1, -1)], (11, -1)),
        (vec![replica(1, 0, 10, 50), replica(2, 0, 7, 20)], (3, 30)),
    ];
    for (voters, expected) in cases {
        let described = described(1, voters, vec![]);
        assert_eq!(max_follower_lag(&described.partition), Ok(expected));
    }
}

#[test]
fn replication_table() {
    let voters = vec![replica(1, 0, 5, -1), replica(2, 0, 42, 1000)];
    let described = described(2, voters, vec![replica(13, 0, 40, 999)]);
    let expected = [
        "NodeId\tDirectoryId           \tLogEndOffset\tLag\tLastFetchTimestamp\tLastCaughtUpTimestamp\tStatus  \t\n",
        "2     \tAAAAAAAAAAAAAAAAAAAAAA\t42          \t0  \t1000              \t1000                 \tLeader  \t\n",
        "1     \tAAAAAAAAAAAAAAAAAAAAAA\t5           \t37 \t-1                \t-1                   \tFollower\t\n",
        "13    \tAAAAAAAAAAAAAAAAAAAAAA\t40          \t2  \t999               \t999                  \tObserver\t\n",
    ];
    assert_eq!(replication(&described, Times::Epoch).unwrap(), expected.concat());
    let ago = replication(&described, Times::Before { now_ms: 1500 }).unwrap();
    assert!(ago.contains("500 ms ago"), "{ago}");
    let error = replication(&described, Times::Before { now_ms: 999 });
    assert_eq!(
        error,
        Err(OutputError::Clock {
            timestamp_ms: 1000,
            now_ms: 999
        })
    );
}

#[test]
fn a_leader_that_is_no_voter() {
    let described = described(9, vec![replica(1, 0, 5, 0)], vec![]);
    assert_eq!(
        status(&described),
        Err(OutputError::LeaderNotVoter { leader_id: 9 })
    );
}
