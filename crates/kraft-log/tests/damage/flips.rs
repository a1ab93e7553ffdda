//! Single bits of a log and of a snapshot, flipped, and both cut at many lengths, which Kafka's own classes loaded in one
//! process. `bit_flips.rs` flips all bits of all directories; here each recorded flip stands beside Kafka's outcome.

use crate::{
    common::VECTORS,
    outcome::{Outcome, outcome_of},
    table::{Row, read},
};
use kraft_fs::{File, FileSystem, MemFs, Open, Unsynced};
use serde_json::Value;
use std::{collections::BTreeMap, path::Path};

/// The parts of a batch header that no checksum covers, the checksum, and by their first bytes the rest.
const FIELDS: [(&str, std::ops::Range<u64>); 5] = [
    ("base offset", 0..8),
    ("length", 8..12),
    ("epoch", 12..16),
    ("magic", 16..17),
    ("checksum", 17..21),
];

/// Kafka's words for an outcome, without the number of an epoch that came out of a flip.
fn word(outcome: &str) -> String {
    let class = outcome.split(" epoch ").next().expect("a first part");
    if outcome.starts_with("refuses") {
        "refuses".to_owned()
    } else if outcome.contains("init fails") {
        "halts".to_owned()
    } else if outcome.contains("no voters") {
        "no leader".to_owned()
    } else {
        class.to_owned()
    }
}

fn counted(words: impl Iterator<Item = String>) -> String {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_insert(0) += 1;
    }
    let counts = counts.into_iter().map(|(word, count)| format!("{word} {count}x"));
    counts.collect::<Vec<_>>().join(", ")
}

/// What Kafka made of the flips in bytes of one batch: one list for each byte, with one entry for all bits or for each.
fn kafka(bytes: &[Value]) -> String {
    let bits = bytes.iter().flat_map(|outcomes| {
        let outcomes = outcomes.as_array().expect("a list");
        (0..8).map(move |bit| word(outcomes[bit.min(outcomes.len() - 1)].as_str().expect("text")))
    });
    counted(bits)
}

/// A directory with a snapshot or segment to flip bits of.
struct Target {
    fs: MemFs,
    dir: std::path::PathBuf,
    name: String,
}

impl Target {
    fn of(recorded: &Value) -> Self {
        let (fs, dir) = crate::common::unpack(recorded["base"].as_str().expect("a name"));
        let name = recorded["file"].as_str().expect("a name").to_owned();
        // Large, and of no account.
        for entry in fs.list(&dir).expect("listed") {
            if entry.name.ends_with("index") {
                fs.remove(&dir.join(entry.name)).expect("removed");
            }
        }
        let file = fs.open(&dir.join(&name), Open::Read).expect("it is there");
        file.set_mode(0o644).expect("a mode");
        Self { fs, dir, name }
    }

    fn damaged(&self, damage: impl FnOnce(&<MemFs as FileSystem>::File)) -> Outcome {
        let fs = self.fs.crash_image(Unsynced::Kept);
        let file = fs.open(&self.dir.join(&self.name), Open::ReadWrite);
        damage(&file.expect("it is there"));
        outcome_of(&self.name, &fs, &self.dir, 1)
    }

    fn flipped(&self, at: u64, bit: u32) -> Outcome {
        self.damaged(|file| {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).expect("readable");
            file.write_all_at(&[byte[0] ^ (1 << bit)], at).expect("written");
        })
    }

    /// Where the batches begin and end, by their base offsets.
    fn batches(&self) -> BTreeMap<String, std::ops::Range<u64>> {
        let bytes = self.fs.read_bounded(&self.dir.join(&self.name), 1 << 20);
        let bytes = bytes.expect("readable").expect("it is there");
        let batches = kraft_wire::batch::Batches::collect_all(bytes.into()).expect("valid");
        let mut end = 0;
        let places = batches.iter().map(|batch| {
            let start = end;
            end += batch.size() as u64;
            (batch.base_offset().to_string(), start..end)
        });
        places.collect()
    }
}

/// A row for the flips of a field expects one of a few words: where the fault is found differs from bit to bit.
fn check(row: &Row, target: &Target, seen: &Outcome) {
    match row.expected.as_str() {
        "refused" => assert!(
            matches!(seen, Outcome::Refused { file, byte: Some(_), .. } if *file == target.name),
            "{}: {seen:?}",
            row.id
        ),
        _ => row.check(seen),
    }
}

fn flips_of(kind: &str, recorded: &Value, rows: &mut impl Iterator<Item = Row>) {
    let target = Target::of(recorded);
    let batches = target.batches();
    for (base, outcomes) in recorded["by_batch_base_offset"].as_object().expect("batches") {
        let place = &batches[base];
        let header = outcomes["header_bytes_0_to_20_bits_0_to_7"]
            .as_array()
            .expect("bytes");
        for (field, bytes) in FIELDS {
            let row = rows.next().expect("a row for each field");
            assert_eq!(row.id, format!("{kind} {base} {field}"));
            let recorded = &header[bytes.start as usize..bytes.end as usize];
            assert_eq!(row.kafka, kafka(recorded), "{}", row.id);
            for (at, bit) in bytes.flat_map(|at| (0..8).map(move |bit| (at, bit))) {
                check(&row, &target, &target.flipped(place.start + at, bit));
            }
        }
        let rest = outcomes["bytes_from_21_one_bit_each"]
            .as_object()
            .expect("a count");
        let row = rows.next().expect("a row for the rest");
        assert_eq!(row.id, format!("{kind} {base} rest"));
        let recorded = rest
            .iter()
            .map(|(outcome, count)| format!("{} {count}x", word(outcome)));
        assert_eq!(row.kafka, recorded.collect::<Vec<_>>().join(", "), "{}", row.id);
        for at in place.start + 21..place.end {
            check(&row, &target, &target.flipped(at, (at % 8) as u32));
        }
    }
}

fn cuts_of(kind: &str, recorded: &Value, target: &Target, rows: &mut impl Iterator<Item = Row>) {
    for range in recorded.as_array().expect("ranges") {
        let (from, to) = (
            range[0].as_u64().expect("a length"),
            range[1].as_u64().expect("a length"),
        );
        let row = rows.next().expect("a row for each range");
        assert_eq!(row.id, format!("{kind} cut to {from}-{to}"));
        assert_eq!(row.kafka, word(range[2].as_str().expect("text")), "{}", row.id);
        // All but the middle of a long range, of which Kafka was shown every 53rd length, too.
        let lengths = (from..=to).filter(|len| *len < from + 240 || *len + 80 > to || len % 53 == 0);
        for len in lengths {
            row.check(&target.damaged(|file| file.set_len(len).expect("cut")));
        }
    }
}

#[test]
fn every_recorded_flip_and_cut_ends_as_the_table_says() {
    let recorded = std::fs::read(Path::new(VECTORS).join("bitflips.json")).expect("readable");
    let recorded: Value = serde_json::from_slice(&recorded).expect("JSON");
    let mut rows = read("flips").into_iter();
    let (log, snapshot) = (&recorded["log"], &recorded["snapshot"]);
    flips_of("log", log, &mut rows);
    cuts_of(
        "log",
        &recorded["log_cut_to_length_from_to"],
        &Target::of(log),
        &mut rows,
    );
    flips_of("snapshot", snapshot, &mut rows);
    cuts_of(
        "snapshot",
        &snapshot["cut_to_length_from_to"],
        &Target::of(snapshot),
        &mut rows,
    );
    assert!(rows.next().is_none(), "every row is of a flip or a cut");
}
