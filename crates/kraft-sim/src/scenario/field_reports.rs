//! What goes wrong in practice, as operators and developers have reported it in public, and the tests that show that it
//! does not go wrong here.

use super::catalogue::for_each_source;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
};

/// The reports by number, from 1: what was seen.
pub const FIELD_REPORTS: [&str; 40] = [
    "Leader resumes in its old epoch after a restart",
    "Committed data lost when a process dies",
    "Truncation below the high watermark",
    "Elections delayed by parked fetches",
    "Lingering batch is not sent although its time is over",
    "Metadata log and snapshots fill the disk",
    "Segment retention deletes past the newest snapshot",
    "Starting on a directory in an impossible state",
    "Bit rot is replayed as metadata",
    "Large snapshot cannot be written",
    "Two processes on one metadata directory",
    "Raft thread dies, process lives",
    "Standby with a hole in its state becomes leader",
    "Observers are slow on disk",
    "New or far-behind replica replays the whole log",
    "Timeout thread touches raft state",
    "Application is told too early that it leads",
    "Listener registered late never learns the leader",
    "High watermark reaches followers half a second late",
    "Snapshots stop being made",
    "One huge write takes the controller down, again and again",
    "Snapshot in the middle of a metadata transaction",
    "Election storms on rejoin",
    "Livelocked elections",
    "Observer stuck on the bootstrap servers",
    "Known leader, stale endpoints",
    "An RPC the sender does not know kills the node",
    "Removed controller comes back by itself",
    "AddRaftVoter blocks auto-join",
    "Unreachable endpoint written into the voter set",
    "Old logs with several voter changes at once are refused",
    "Wrong feature level reported",
    "Unknown quorum-state version is accepted",
    "File exists after crash, directory entry does not",
    "A misconfigured node of another cluster",
    "Memory creep in log readers",
    "Misleading metrics",
    "Leadership flaps under slow storage or CPU limits",
    "Node of another implementation is ignored in a mixed quorum",
    "Permanent loss of the majority",
];

/// A test that shows that a reported failure does not happen here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldTest {
    /// What is shown: the name of the test in words.
    pub title: String,
    /// The file that it is in.
    pub path: PathBuf,
}

/// The tests of a source tree for each report: `fn field_h07_…` shows H-07.
///
/// # Errors
/// A folder or file cannot be read.
pub fn field_tests(root: &Path) -> io::Result<BTreeMap<usize, Vec<FieldTest>>> {
    let mut found: BTreeMap<usize, Vec<FieldTest>> = BTreeMap::new();
    for_each_source(root, &mut |path, text| {
        for (number, title) in text.lines().filter_map(field_test) {
            let path = path.to_owned();
            found.entry(number).or_default().push(FieldTest { title, path });
        }
    })?;
    for tests in found.values_mut() {
        tests.sort_by(|one, other| (&one.path, &one.title).cmp(&(&other.path, &other.title)));
    }
    Ok(found)
}

/// Number and title of a line such as `fn field_h07_no_segment_goes_without_a_snapshot() {`.
fn field_test(line: &str) -> Option<(usize, String)> {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    let (name, _) = line.strip_prefix("fn field_h")?.split_once('(')?;
    let (number, title) = name.split_once('_')?;
    let known = number.len() == 2 && !title.is_empty();
    let number = number.parse().ok().filter(|_| known)?;
    (1..=FIELD_REPORTS.len())
        .contains(&number)
        .then(|| (number, title.replace('_', " ")))
}

/// The reports as they stand at the end of `docs/scenarios.md`.
pub(super) fn section(root: &Path) -> io::Result<String> {
    let found = field_tests(root)?;
    let mut text = String::from(HEAD);
    for (number, report) in (1..).zip(FIELD_REPORTS) {
        let shown = match found.get(&number) {
            None => "not shown yet".to_owned(),
            Some(tests) => {
                let tests = tests.iter().map(|FieldTest { title, path }| {
                    let path = path.strip_prefix(root).unwrap_or(path).display();
                    format!("[{title}](../{path})")
                });
                tests.collect::<Vec<_>>().join("; ")
            }
        };
        writeln!(text, "- H-{number:02} {report}: {shown}").expect("writing to a string cannot fail");
    }
    let shown = found.len();
    writeln!(text, "\n{shown} of {} are shown.", FIELD_REPORTS.len())
        .expect("writing to a string cannot fail");
    Ok(text)
}

const HEAD: &str = "
## Field reports: what goes wrong in practice

Failures of Raft libraries and of KRaft that were reported in public. Tests named after a report (`field_h07_…` for H-07)
show that it does not happen here.

";

#[cfg(test)]
mod tests {
    use super::field_test;

    #[test]
    fn tests_named_after_a_report_are_found() {
        let found = |title: &str| Some((7, title.to_owned()));
        assert_eq!(
            field_test("    fn field_h07_nothing_goes() {"),
            found("nothing goes")
        );
        assert_eq!(field_test("async fn field_h07_it_stays() {"), found("it stays"));
        for line in [
            "fn field_h7_short() {",
            "fn field_h41_unknown() {",
            "fn field_h00_none() {",
            "fn field_h07() {",
            "let field_h07_x = 1;",
        ] {
            assert_eq!(field_test(line), None, "{line}");
        }
    }
}
