//! Every bit of a log, flipped: noticed, or proven harmless.

mod common;

use common::{files, unpack};
use kraft_core::LogView;
use kraft_fs::{File, FileSystem, MemFs, Open, Unsynced};
use kraft_log::{LogOptions, open, verify};
use std::path::Path;

/// What a flip does.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Effect {
    /// A start is refused.
    Refused,
    /// The last batch is cut as a torn one.
    LastBatchCut,
    /// The damaged snapshot is set aside, and the log is whole.
    SetAside,
    /// Nothing is noticed: the log is read as before, but for the epoch of a batch.
    OtherEpoch,
}

fn flip(file: &impl File, bit: u64) {
    let mut byte = [0];
    file.read_exact_at(&mut byte, bit / 8).expect("readable");
    byte[0] ^= 1 << (bit % 8);
    file.write_all_at(&byte, bit / 8).expect("written");
}

/// Flips every bit of a file and counts the effects. `end` is where the log ends, `last` its last batch.
fn effects(good: &MemFs, dir: &Path, name: &str, end: i64, last: i64) -> Vec<(Effect, u64)> {
    let path = dir.join(name);
    let bytes = good.metadata(&path).expect("readable").expect("it is there").len;
    let mut counts = std::collections::BTreeMap::new();
    let file = good.open(&path, Open::Read).expect("it is there");
    file.set_mode(0o644).expect("a mode");
    let file = good.open(&path, Open::ReadWrite).expect("it is there");
    for bit in 0..bytes * 8 {
        flip(&file, bit);
        let found = verify(good, dir);
        flip(&file, bit);
        let effect = match found {
            Err(error) => {
                let (file, _) = error.place();
                assert!(file.is_some(), "bit {bit} of {name}: {error}");
                Effect::Refused
            }
            Ok(found) if found.end == last => Effect::LastBatchCut,
            Ok(found) if found.repairs.is_empty() => {
                assert_eq!(found.end, end, "bit {bit} of {name}");
                Effect::OtherEpoch
            }
            Ok(found) => {
                assert_eq!(found.end, end, "bit {bit} of {name}: {found:?}");
                let text: Vec<_> = found.repairs.iter().map(ToString::to_string).collect();
                if text.iter().any(|text| text.contains("would be renamed")) {
                    Effect::SetAside
                } else {
                    // The epoch cache would follow the batch.
                    Effect::OtherEpoch
                }
            }
        };
        *counts.entry(effect).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// A log that we have written ourselves, so that what had been durable is known: the last batch cannot go.
fn reopened(name: &str) -> (MemFs, std::path::PathBuf) {
    let (fs, dir) = unpack(name);
    let opened = open(fs.clone(), &dir, LogOptions::default()).expect("opened");
    opened.writer.close().expect("closed");
    (fs.crash_image(Unsynced::Kept), dir)
}

#[test]
fn every_bit_of_a_segment_is_noticed_but_for_some_of_epochs() {
    let (good, dir) = reopened("small-killed");
    let index = open(good.crash_image(Unsynced::Kept), &dir, LogOptions::default())
        .expect("opened")
        .index;
    let end = index.end().last_offset;
    let last = index.batch_end_at_or_before(end - 1);
    let found = effects(&good, &dir, "00000000000000000000.log", end, last);
    // No checksum covers the epoch, and no neighbour contradicts these: a higher one in the last batch (30 bits; one
    // lowers it, one makes it negative), and that of the one before in the first batch of an epoch (1 to 0, 3 to 2).
    assert_eq!(
        found,
        [(Effect::Refused, 8874 * 8 - 32), (Effect::OtherEpoch, 32)]
    );
}

#[test]
fn every_bit_of_the_latest_snapshot_is_noticed() {
    let (good, dir) = reopened("pruned-stopped");
    let names = files(&good, &dir).into_iter().map(|(name, _)| name);
    let newest = names
        .filter(|name| name.ends_with(".checkpoint"))
        .max()
        .expect("a snapshot");
    let bytes = good
        .metadata(&dir.join(&newest))
        .expect("readable")
        .expect("it is there")
        .len;
    let found = effects(&good, &dir, &newest, 37, -1);
    assert_eq!(found, [(Effect::SetAside, bytes * 8)]);
}
