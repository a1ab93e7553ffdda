//! Contents of `quorum-state` beside a log of epoch 3: what is read of them.

use crate::{
    common::{VECTORS, unpack, write},
    edits::delete,
    outcome::{Outcome, outcome_of},
    table::read,
};
use kraft_log::quorum_state;
use serde_json::Value;

#[test]
fn every_quorum_state_is_taken_as_the_table_says() {
    let cases = std::fs::read(format!("{VECTORS}/quorum-state/damaged.json")).expect("readable");
    let cases: Vec<Value> = serde_json::from_slice(&cases).expect("JSON");
    let rows = read("quorum-state");
    assert_eq!(cases.len(), rows.len());
    for (case, row) in cases.iter().zip(rows) {
        assert_eq!(case["id"], *row.id);
        let first = &case["first_state"];
        let state = match (first[0].as_str(), first[1].as_i64()) {
            (Some(role), Some(epoch)) => format!(", {role} in {epoch}"),
            _ => String::new(),
        };
        let kafka = format!("{}{state}", case["outcome"].as_str().expect("text"));
        assert_eq!(row.kafka, kafka, "{}", row.id);

        let (fs, dir) = unpack("small-killed");
        let path = dir.join(quorum_state::FILE_NAME);
        delete(&fs, &path);
        match case["content"].as_str() {
            // The file that is to replace it never counts.
            Some(content) if row.id == "missing-tmp-present" => {
                write(&fs, &dir.join("quorum-state.tmp"), 0, content.as_bytes());
            }
            Some(content) => write(&fs, &path, 0, content.as_bytes()),
            None => {}
        }
        if row.id == "missing-log-missing" {
            delete(&fs, &dir.join("00000000000000000000.log"));
            delete(&fs, &dir.join("leader-epoch-checkpoint"));
        }
        let stored = quorum_state::load(&fs, &dir);
        let outcome = outcome_of(&row.id, &fs, &dir, 1);
        // A table of elections: what was read stands in place of the log's extent.
        let Some(expected) = row.expected.strip_prefix("reads ") else {
            row.check(&outcome);
            continue;
        };
        assert!(
            matches!(outcome, Outcome::Starts { .. }),
            "{}: {outcome:?}",
            row.id
        );
        let seen = match stored.expect("readable") {
            None => "nothing".to_owned(),
            Some(state) => {
                let id =
                    |id: Option<_>| id.map_or("none".to_owned(), |id: kraft_core::NodeId| id.to_string());
                format!(
                    "epoch {} leader {} vote {}",
                    state.epoch,
                    id(state.leader),
                    id(state.voted.map(|vote| vote.id))
                )
            }
        };
        assert_eq!(seen, expected, "{}", row.id);
    }
}
