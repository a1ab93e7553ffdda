//! What became of all questions, and the differences that are allowed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Where the differences are listed: a table whose rows begin with the ids of questions.
const LIST: &str = "## Recorded questions that are answered differently";

/// The questions that may be answered differently.
pub(crate) fn listed() -> BTreeSet<String> {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/differences.md");
    let text = fs::read_to_string(document).unwrap();
    let (_, list) = text.split_once(LIST).unwrap();
    let list = list.split("\n## ").next().unwrap();
    let mut listed = BTreeSet::new();
    for line in list.lines().filter(|line| line.starts_with("| `")) {
        let (ids, _) = line[2..].split_once('|').unwrap();
        for id in ids.split(',').map(|id| id.trim().trim_matches('`')) {
            assert!(listed.insert(id.to_owned()), "{id} is listed twice");
        }
    }
    listed
}

/// What became of the questions of some files.
#[derive(Default)]
pub(crate) struct Report {
    /// Of each question of a file, in order.
    pub(crate) results: Vec<(String, Result<(), String>)>,
}

impl Report {
    pub(crate) fn add(&mut self, id: &str, result: Result<(), String>) {
        self.results.push((id.to_owned(), result));
    }

    pub(crate) fn join(&mut self, other: Report) {
        self.results.extend(other.results);
    }
}
