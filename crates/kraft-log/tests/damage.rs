//! Damaged directories, as in the table that was recorded from Kafka: what we do with each of them.
//!
//! `vectors/recovery-outcomes.txt` holds our outcome of every case beside Kafka's log end. Set `KRAFT_REWRITE` to write
//! it anew, then read the difference.

mod common;

use common::{VECTORS, files, unpack, write};
use kraft_core::LogView;
use kraft_fs::{File, FileSystem, MemFs, Open, RealFs, Unsynced};
use kraft_log::{ConfiguredDirectories, LogOptions, check_directories, open, verify};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};

/// What each outcome has to be beside Kafka's, unless [`STRICTER`] says otherwise: the same, or better.
fn expected(case: &Value, ours: &str) -> &'static str {
    let end = ours
        .split_once("..")
        .and_then(|(_, rest)| rest.split_whitespace().next()?.parse::<i64>().ok())
        .filter(|_| !ours.starts_with("refused"));
    let loaded = case["log_end_loaded"].as_i64();
    let loses = case.get("lost_offsets").is_some()
        || (case.get("log_end_base").is_some()
            && loaded.is_some()
            && loaded != case["log_end_base"].as_i64());
    match (case["outcome"].as_str().expect("text"), end) {
        ("refuses", None) => "as Kafka: refused",
        ("refuses", Some(end)) if loaded.is_none_or(|loaded| loaded <= end) => {
            "better: starts with everything, Kafka refuses"
        }
        (_, None) if loses => "better: refused, Kafka loses records",
        ("starts", Some(end)) if loaded.is_none_or(|loaded| loaded == end) => "as Kafka: starts",
        ("starts", None) => stricter(case["id"].as_str().expect("a name")),
        // It starts and then hangs, halts or finds no leader.
        (_, None) => "better: refused, Kafka starts and fails later",
        (_, Some(end)) if loaded.is_none_or(|loaded| loaded == end) => "at least as Kafka: starts",
        (kafka, ours) => panic!("{}: worse than Kafka: {kafka}, {ours:?}", case["id"]),
    }
}

fn stricter(id: &str) -> &'static str {
    let entry = STRICTER.iter().find(|(known, _)| *known == id);
    entry
        .unwrap_or_else(|| panic!("{id}: refused for no reason that is known"))
        .1
}

/// Refused although Kafka starts and loses no record at once.
const STRICTER: [(&str, &str); 10] = [
    ("ones-tail-61", GARBAGE),
    ("garbage-tail-4096", GARBAGE),
    ("repeat-tail", "better: refused, Kafka takes an offset twice"),
    (
        "epochfile-long",
        "better: refused, Kafka takes a log for whole that has been longer",
    ),
    ("quorumstate-missing", VOTE),
    ("quorumstate-missing-tmp-present", VOTE),
    ("pruned-quorumstate-missing", VOTE),
    ("fresh-zerocp-cut-after-header", TORN),
    ("fresh-zerocp-no-footer", TORN),
    (
        "segment-name-lower",
        "better: refused, Kafka takes a segment under a wrong name",
    ),
];
const GARBAGE: &str = "better: refused, Kafka cuts what no crash leaves";
const VOTE: &str = "better: refused, Kafka forgets its vote";
const TORN: &str = "better: refused, Kafka takes a torn checkpoint for whole";

/// Cases that are not run here, and why.
const ELSEWHERE: [(&str, &str); 12] = [
    ("zero-tail-1073741824-killed", LARGE),
    ("zero-tail-2g", LARGE),
    ("zero-tail-2g-minus-1", LARGE),
    (
        "metadata-dir-is-file",
        "this file system has no such mistake: see the tests on real files",
    ),
    (
        "lock-held-fcntl",
        "the lock belongs to the caller: see the tests of kraft-fs",
    ),
    (
        "lock-held-flock",
        "the lock belongs to the caller: see the tests of kraft-fs",
    ),
    ("readonly-dir-0555", PERMISSION),
    ("log-file-readonly", PERMISSION),
    ("log-file-unreadable", PERMISSION),
    ("disk-full-52k", FULL),
    ("disk-full-60k", FULL),
    ("disk-full-72k", FULL),
];
const LARGE: &str = "memory should not hold it: see the tests on real files";
const PERMISSION: &str = "a test that may run as root is refused nothing: see the faults at every call";
const FULL: &str = "memory is never full: see the faults at every call";

/// Cases whose edits memory should not hold, or that need an operating system to refuse something.
fn runs_here(case: &Value) -> bool {
    let edits = case["edits"].as_array().into_iter().flatten();
    let small = edits
        .filter_map(|edit| edit["append_zeros"].as_u64())
        .all(|zeros| zeros <= 1 << 24);
    let no_directory = case["id"] == "metadata-dir-is-file";
    small && !no_directory && case.get("environment").is_none()
}

fn apply(fs: &MemFs, edit: &Value) {
    let text = |field: &str| edit[field].as_str().expect("text");
    let bytes = |field: &str| -> Vec<u8> {
        let digits = text(field).as_bytes();
        digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ascii"), 16).expect("hex"))
            .collect()
    };
    let path = Path::new("/data").join(text("file"));
    let other = |field: &str| Path::new("/data").join(text(field));
    let len = || {
        fs.metadata(&path)
            .expect("readable")
            .map_or(0, |metadata| metadata.len)
    };
    // A snapshot is read-only; whoever damages it does not care.
    if let Ok(file) = fs.open(&path, Open::Read) {
        file.set_mode(0o644).expect("a mode");
    }
    if edit.get("write_hex").is_some() {
        write(
            fs,
            &path,
            edit["offset"].as_u64().expect("a number"),
            &bytes("write_hex"),
        );
    } else if let Some(size) = edit["truncate_to"].as_u64() {
        fs.open(&path, Open::ReadWrite)
            .expect("opened")
            .set_len(size)
            .expect("cut");
    } else if edit.get("append_hex").is_some() {
        write(fs, &path, len(), &bytes("append_hex"));
    } else if let Some(zeros) = edit["append_zeros"].as_u64() {
        let file = fs.open(&path, Open::ReadWrite).expect("opened");
        file.set_len(len() + zeros).expect("extended");
    } else if edit.get("delete").is_some() {
        delete(fs, &path);
    } else if edit.get("rename_to").is_some() {
        fs.rename(&path, &other("rename_to")).expect("renamed");
    } else if edit.get("copy_to").is_some() {
        let content = fs
            .read_bounded(&path, 1 << 24)
            .expect("readable")
            .expect("it is there");
        delete(fs, &other("copy_to"));
        write(fs, &other("copy_to"), 0, &content);
    } else if edit.get("create_hex").is_some() {
        delete(fs, &path);
        write(fs, &path, 0, &bytes("create_hex"));
    } else if edit.get("set_text").is_some() {
        delete(fs, &path);
        write(fs, &path, 0, text("set_text").as_bytes());
    } else {
        assert!(edit.get("mkdir").is_some(), "unknown edit {edit}");
        fs.create_dir_all(&path).expect("created");
    }
}

fn delete(fs: &MemFs, path: &Path) {
    match fs.metadata(path).expect("readable") {
        Some(metadata) if metadata.is_dir => {
            for entry in fs.list(path).expect("listed") {
                fs.remove(&path.join(entry.name)).expect("removed");
            }
        }
        Some(_) => fs.remove(path).expect("removed"),
        None => {}
    }
}

/// Our outcome in one line. Nothing may have been written where we refuse.
fn outcome(case: &Value, bases: &mut BTreeMap<String, (MemFs, PathBuf)>) -> String {
    let base = case["base"].as_str().expect("a name");
    let good = bases.entry(base.to_owned()).or_insert_with(|| unpack(base));
    outcome_of(case, good, 1, &case["edits"])
}

/// What becomes of node `node` on a directory with these edits.
fn outcome_of(case: &Value, (good, dir): &(MemFs, PathBuf), node: i32, edits: &Value) -> String {
    let fs = good.crash_image(Unsynced::Kept);
    for edit in edits.as_array().into_iter().flatten() {
        apply(&fs, edit);
    }
    let before = files(&fs, dir);
    if let Err(error) = check_directories(
        &fs,
        ConfiguredDirectories {
            node_id: node,
            metadata_dir: Path::new("/data"),
            log_dirs: &[],
        },
    ) {
        return format!("refused: {}", error.to_string().replace("/data/", ""));
    }
    let verified = verify(&fs, dir);
    assert_eq!(
        files(&fs, dir),
        before,
        "{}: verifying writes nothing",
        case["id"]
    );
    match open(fs.clone(), dir, LogOptions::default()) {
        Ok(opened) => {
            let index = &opened.index;
            let id = &case["id"];
            let verified = verified.unwrap_or_else(|error| panic!("{id}: a node starts, but {error}"));
            assert_eq!(
                (verified.start, verified.end, verified.last_epoch),
                (index.start(), index.end().last_offset, index.end().last_epoch),
                "{id}"
            );
            let again = verify(&fs, dir).expect("a node has started on it");
            assert_eq!(again.repairs, [], "{id}");
            format!(
                "{}..{} epoch {}",
                index.start(),
                index.end().last_offset,
                index.end().last_epoch
            )
        }
        Err(error) => {
            assert_eq!(
                files(&fs, dir),
                before,
                "{}: a refusal writes nothing",
                case["id"]
            );
            let text = error.to_string();
            assert_eq!(
                verified.map(|_| ()).expect_err("a node refuses it").to_string(),
                text,
                "{}",
                case["id"]
            );
            assert!(error.place().0.is_some(), "{text}");
            assert!(!text.contains('\n'), "one line: {text}");
            // What an operator can do is always the same.
            let fact = text.split(". Nothing was changed").next().expect("a first part");
            format!("refused: {}", fact.replace("/data/__cluster_metadata-0/", ""))
        }
    }
}

#[test]
fn every_damaged_directory_ends_as_the_table_says() {
    let cases = std::fs::read_to_string(format!("{VECTORS}/recovery.jsonl")).expect("readable");
    let mut bases = BTreeMap::new();
    let mut table = String::new();
    let mut skipped = 0;
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).expect("JSON");
        let id = case["id"].as_str().expect("a name");
        if !runs_here(&case) {
            assert!(
                ELSEWHERE.iter().any(|(known, _)| *known == id),
                "{id}: skipped for no reason that is known"
            );
            skipped += 1;
            continue;
        }
        let kafka = match case["log_end_loaded"].as_i64() {
            Some(end) => format!("{}, log end {end}", case["outcome"].as_str().expect("text")),
            None => case["outcome"].as_str().expect("text").to_owned(),
        };
        let ours = outcome(&case, &mut bases);
        let expected = expected(&case, &ours);
        writeln!(table, "{id}\n  kafka: {kafka}\n  kraft: {ours}\n  {expected}").expect("text");
    }
    assert_eq!(skipped, ELSEWHERE.len());
    for (id, _) in STRICTER {
        assert!(table.contains(&format!("{id}\n")), "{id}: there is no such case");
    }
    let path = format!("{VECTORS}/recovery-outcomes.txt");
    if std::env::var_os("KRAFT_REWRITE").is_some() {
        std::fs::write(&path, &table).expect("written");
    }
    let expected = std::fs::read_to_string(&path).expect("readable");
    for (line, (got, expected)) in table.lines().zip(expected.lines()).enumerate() {
        assert_eq!(got, expected, "line {}", line + 1);
    }
    assert_eq!(table.lines().count(), expected.lines().count());
}

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
    assert!(error.to_string().contains("2147483648 bytes"), "{error}");
    set_len((1 << 31) - 1);
    let opened = open(RealFs, folder.path(), LogOptions::default()).expect("opened");
    assert_eq!(opened.index.end().last_offset, 33);
    assert_eq!(std::fs::metadata(&path).expect("it is there").len(), 8874);
}

#[test]
fn a_file_in_the_place_of_the_directory_is_refused() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("__cluster_metadata-0");
    std::fs::write(&path, b"0").expect("written");
    let error = open(RealFs, &path, LogOptions::default()).expect_err("no directory");
    assert!(error.to_string().contains("__cluster_metadata-0"), "{error}");
    assert_eq!(std::fs::read(&path).expect("readable"), b"0");
}

#[test]
fn each_voter_of_a_damaged_pair_ends_as_the_table_says() {
    let cases = std::fs::read_to_string(format!("{VECTORS}/pairs.jsonl")).expect("readable");
    let bases = [unpack("voter-changes-n1"), unpack("voter-changes-n2")];
    let mut found = BTreeMap::new();
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).expect("JSON");
        let outcomes = [
            outcome_of(&case, &bases[0], 1, &case["edits_n1"]),
            outcome_of(&case, &bases[1], 2, &case["edits_n2"]),
        ];
        let short = outcomes.map(|text| text.split(": ").take(3).collect::<Vec<_>>().join(": "));
        found.insert(case["id"].as_str().expect("a name").to_owned(), short);
    }
    let expected = PAIRS.map(|(id, first, second)| (id.to_owned(), [first.to_owned(), second.to_owned()]));
    assert_eq!(found, BTreeMap::from(expected));
}

/// What the two voters open, or where they refuse. Where Kafka loses committed records or splits the logs for good (the
/// flips, the gap), the damaged voter does not start. One higher epoch in the last batch is taken, as Kafka takes it.
const PAIRS: [(&str, &str, &str); 13] = [
    ("pair-all-gone-but-meta", ALL, "0..0 epoch 0"),
    ("pair-both-middle-flip", AT_24, AT_24),
    ("pair-divergent-tail", "0..28 epoch 7", "0..29 epoch 6"),
    ("pair-extra-tail", ALL, "0..28 epoch 6"),
    ("pair-gap-middle", ALL, AT_24),
    ("pair-good", ALL, ALL),
    ("pair-last-epoch-higher", ALL, "0..27 epoch 7"),
    (
        "pair-log-empty",
        ALL,
        "refused: leader-epoch-checkpoint: epoch 3 begins at offset 16, but the log ends at 0",
    ),
    ("pair-middle-flip", ALL, AT_24),
    (
        "pair-middle-flip-same-voters",
        ALL,
        "refused: 00000000000000000000.log: byte 2323",
    ),
    ("pair-other-cluster-id", ALL, ALL),
    ("pair-other-directory-id", ALL, ALL),
    ("pair-zero-tail", ALL, ALL),
];
const ALL: &str = "0..27 epoch 6";
const AT_24: &str = "refused: 00000000000000000000.log: byte 2547";
