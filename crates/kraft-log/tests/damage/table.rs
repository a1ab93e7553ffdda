//! The tables of what is expected.

use crate::{common::VECTORS, outcome::Outcome};
use std::collections::BTreeSet;

/// A row of a table: what Kafka made of a damaged directory, and what a start has to make of it here.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) kafka: String,
    /// `=` where it is the same; otherwise the kind of difference, by its name in docs/differences.md.
    pub(crate) kind: String,
    /// `starts START..END epoch N`, or `refused FILE[ byte N]: WORDS`, words that the message has.
    pub(crate) expected: String,
}

/// The rows of `vectors/expected/NAME.txt`.
pub(crate) fn read(name: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(format!("{VECTORS}/expected/{name}.txt")).expect("readable");
    let rows: Vec<Row> = text.lines().map(parse).collect();
    let ids: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids.len(), rows.len(), "every id once");
    rows
}

fn parse(line: &str) -> Row {
    let mut columns = line.splitn(4, " | ").map(|column| column.trim().to_owned());
    let mut next = || columns.next().unwrap_or_else(|| panic!("four columns: {line}"));
    Row {
        id: next(),
        kafka: next(),
        kind: next(),
        expected: next(),
    }
}

impl Row {
    /// Holds the expectation against what was seen.
    pub(crate) fn check(&self, seen: &Outcome) {
        let expected = &self.expected;
        let holds = match seen {
            Outcome::Starts { start, end, epoch } => {
                *expected == format!("starts {start}..{end} epoch {epoch}")
            }
            Outcome::Refused { file, byte, message } => {
                let byte = byte.map_or(String::new(), |byte| format!(" byte {byte}"));
                let words = expected.strip_prefix(&format!("refused {file}{byte}: "));
                words.is_some_and(|words| !words.is_empty() && message.contains(words))
            }
        };
        assert!(holds, "{}: expected {expected}, seen {seen:?}", self.id);
    }

    /// The log's end where it is expected to open.
    pub(crate) fn expected_end(&self) -> Option<i64> {
        let range = self.expected.strip_prefix("starts ")?.split_once("..")?.1;
        let end = range.split(' ').next().expect("a first word");
        Some(end.parse().expect("a number"))
    }
}

/// Every kind of difference in the tables has a line in docs/differences.md, and every line there a row that shows it.
#[test]
fn every_kind_of_difference_is_explained() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/differences.md");
    let page = std::fs::read_to_string(page).expect("readable");
    let section = page
        .split("\n## ")
        .find(|section| section.starts_with("Damaged directories\n"));
    let lines = section.expect("a section about them").lines();
    let named = lines.filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let named: BTreeSet<String> = named.map(|(kind, _)| kind.to_owned()).collect();
    let tables = ["recovery", "pairs", "flips", "quorum-state"].map(read);
    let rows = tables.iter().flatten();
    let kinds = rows.map(|row| row.kind.clone()).filter(|kind| kind != "=");
    assert_eq!(kinds.collect::<BTreeSet<_>>(), named);
}
