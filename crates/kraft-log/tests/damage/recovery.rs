//! One voter that can lead alone, on 228 directories.

use crate::{
    common::{VECTORS, files, unpack},
    outcome::{Bases, Outcome, outcome},
    table::{Row, read},
};
use kraft_core::LogView;
use kraft_fs::RealFs;
use kraft_log::{LogOptions, open};
use serde_json::Value;
use std::path::Path;

/// Cases that take an operating system, and the test that shows them, which names them.
const ELSEWHERE: [(&str, &str); 12] = [
    ("zero-tail-1073741824-killed", HERE),
    ("zero-tail-2g", HERE),
    ("zero-tail-2g-minus-1", HERE),
    ("metadata-dir-is-file", HERE),
    ("lock-held-fcntl", "../kraft-fs/tests/lock_between_processes.rs"),
    ("lock-held-flock", ENVIRONMENT),
    ("readonly-dir-0555", ENVIRONMENT),
    ("log-file-readonly", ENVIRONMENT),
    ("log-file-unreadable", ENVIRONMENT),
    ("disk-full-52k", ENVIRONMENT),
    ("disk-full-60k", ENVIRONMENT),
    ("disk-full-72k", ENVIRONMENT),
];
const HERE: &str = "tests/damage/recovery.rs";
const ENVIRONMENT: &str = "tests/environment.rs";

fn cases() -> Vec<Value> {
    let cases = std::fs::read_to_string(format!("{VECTORS}/recovery.jsonl")).expect("readable");
    let cases = cases
        .lines()
        .map(|case| serde_json::from_str(case).expect("JSON"));
    cases.collect()
}

/// Kafka's outcome in the words of the table.
fn kafka(case: &Value) -> String {
    let mut text = case["outcome"].as_str().expect("text").to_owned();
    if let Some(end) = case["log_end_loaded"].as_i64() {
        text += &format!(", end {end}");
    }
    if let Some(lost) = case["lost_offsets"].as_array() {
        let ranges = lost.iter().map(|range| match (&range[0], &range[1]) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        });
        text += &format!(", loses {}", ranges.collect::<Vec<_>>().join(" "));
    }
    text
}

/// A row without a kind of difference expects what Kafka does.
fn check_sameness(row: &Row, case: &Value) {
    let kafka = case["outcome"].as_str().expect("text");
    let loaded = case["log_end_loaded"].as_i64();
    let same = match row.expected_end() {
        Some(end) => kafka.starts_with("starts") && loaded == Some(end),
        None => kafka == "refuses",
    };
    if row.kind == "=" {
        assert!(same, "{}: {kafka}, and expected is {}", row.id, row.expected);
    } else if row.expected_end().is_none() {
        assert_ne!(kafka, "refuses", "{}: that is no difference", row.id);
    } else {
        // More than Kafka makes of it, never less.
        assert!(loaded <= row.expected_end(), "{}", row.id);
    }
}

#[test]
fn every_damaged_directory_ends_as_the_table_says() {
    let (cases, rows) = (cases(), read("recovery"));
    assert_eq!((cases.len(), rows.len()), (228, 228));
    let mut bases = Bases::default();
    for (case, row) in cases.iter().zip(&rows) {
        assert_eq!(case["id"], *row.id, "the table has the order of the cases");
        assert_eq!(kafka(case), row.kafka, "{}", row.id);
        check_sameness(row, case);
        if ELSEWHERE.iter().any(|(id, _)| *id == row.id) {
            continue;
        }
        let base = bases.get(case["base"].as_str().expect("a name"));
        row.check(&outcome(&row.id, base, 1, &case["edits"]));
    }
}

#[test]
fn cases_that_take_an_operating_system_are_shown_where_they_are_said_to_be() {
    for (id, file) in ELSEWHERE {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
        let text = text.expect("readable");
        let tests = text.split("#[test]").skip(1);
        assert_eq!(
            tests.filter(|test| test.contains(id)).count(),
            1,
            "{id} in {file}"
        );
    }
}

fn expected(id: &str) -> Row {
    let mut rows = read("recovery").into_iter();
    rows.find(|row| row.id == id).expect("a row")
}

/// Memory should not hold them.
#[test]
fn zeros_up_to_the_largest_segment_are_cut_and_one_more_byte_is_refused() {
    let (recorded, dir) = unpack("small-killed");
    let folder = tempfile::tempdir().expect("a directory");
    for (name, bytes) in files(&recorded, &dir) {
        std::fs::write(folder.path().join(name), bytes).expect("written");
    }
    let path = folder.path().join("00000000000000000000.log");
    // Sparse, so it costs neither room nor much time.
    let set_len = |len| {
        let segment = std::fs::OpenOptions::new().write(true).open(&path);
        segment.expect("opened").set_len(len).expect("extended");
    };
    set_len(1 << 31);
    let error = open(RealFs, folder.path(), LogOptions::default()).expect_err("too large");
    let message = error.to_string();
    let file = "00000000000000000000.log".to_owned();
    expected("zero-tail-2g").check(&Outcome::Refused {
        file,
        byte: None,
        message,
    });
    for (len, id) in [
        ((1 << 31) - 1, "zero-tail-2g-minus-1"),
        (8874 + (1 << 30), "zero-tail-1073741824-killed"),
    ] {
        set_len(len);
        let opened = open(RealFs, folder.path(), LogOptions::default()).expect("opened");
        assert_eq!(Some(opened.index.end().last_offset), expected(id).expected_end());
        assert_eq!(std::fs::metadata(&path).expect("it is there").len(), 8874);
    }
}

#[test]
fn a_file_in_the_place_of_the_directory_is_refused() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("__cluster_metadata-0");
    std::fs::write(&path, b"0").expect("written");
    let error = open(RealFs, &path, LogOptions::default()).expect_err("no directory");
    let message = error.to_string();
    let file = "__cluster_metadata-0".to_owned();
    expected("metadata-dir-is-file").check(&Outcome::Refused {
        file,
        byte: None,
        message,
    });
    assert_eq!(std::fs::read(&path).expect("readable"), b"0");
}
