//! Endpoints of voters in the record that stands for the voter set.

use kraft_core::{Endpoint, Endpoints, NodeId, ReplicaKey, SupportedVersions, VoterNode, VoterSet};
use kraft_snapshot::control::{voter_set, voters_record};
use uuid::Uuid;

#[test]
fn wire_001_endpoints_to_and_from_the_voters_record() {
    let address = || Endpoint {
        host: "localhost".into(),
        port: 9092,
    };
    let voters = |endpoints: Endpoints| -> VoterSet {
        let voter = VoterNode {
            key: ReplicaKey::new(NodeId(1), Uuid::from_u128(7)),
            endpoints,
            kraft_versions: SupportedVersions { min: 0, max: 1 },
        };
        [voter].into_iter().collect()
    };
    let one = voters(Endpoints::single("LISTENER", address()));
    let mut record = voters_record(&one);
    let written = &record.voters[0].endpoints[0];
    assert_eq!(
        (written.name.as_str(), written.host.as_str(), written.port),
        ("LISTENER", "localhost", 9092)
    );
    assert_eq!(voter_set(&record).as_ref(), Ok(&one));
    record.voters[0].endpoints[0].name = "listener".to_owned();
    assert_eq!(voter_set(&record).as_ref(), Ok(&one));

    let none = voters(Endpoints::empty());
    let record = voters_record(&none);
    assert_eq!(record.voters[0].endpoints, []);
    assert_eq!(voter_set(&record), Ok(none));
}
