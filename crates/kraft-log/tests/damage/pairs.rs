//! Two voters, one of them or both damaged: what each opens. Where Kafka loses committed records or splits the logs for
//! good, the damaged voter does not start, and the intact one waits for it.

use crate::{
    common::VECTORS,
    outcome::{Bases, outcome},
    table::read,
};
use serde_json::Value;

/// What became of a node in words.
fn kafka(node: &Value) -> String {
    let mut text = node["outcome"].as_str().expect("text").to_owned();
    let end = node["log_end_loaded_or_truncated_to"].as_i64();
    text += &format!(", end {}", end.expect("a number"));
    if let (Some(first), Some(last)) = (node["lost"][0][0].as_i64(), {
        let lost = node["lost"].as_array().and_then(|lost| lost.last());
        lost.and_then(|range| range[1].as_i64())
    }) {
        text += &format!(", loses {first}-{last}");
    }
    text
}

#[test]
fn each_voter_of_a_damaged_pair_ends_as_the_table_says() {
    let cases = std::fs::read_to_string(format!("{VECTORS}/pairs.jsonl")).expect("readable");
    let mut rows = read("pairs").into_iter();
    let mut bases = Bases::default();
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).expect("JSON");
        for node in [1, 2] {
            let row = rows.next().expect("a row for each node");
            assert_eq!(
                row.id,
                format!("{} n{node}", case["id"].as_str().expect("a name"))
            );
            assert_eq!(row.kafka, kafka(&case["nodes"][node.to_string()]), "{}", row.id);
            let base = bases.get(&format!("voter-changes-n{node}"));
            let edits = &case[format!("edits_n{node}")];
            row.check(&outcome(&row.id, base, node, edits));
        }
    }
    assert!(rows.next().is_none(), "every row is of a case");
}
