//! Every bit of every segment and snapshot that Kafka left behind, flipped, one at a time: a start is refused, or needs
//! nothing of the damaged file and says so.

mod common;

use common::{files, unpack, write};
use kraft_core::{Instant, LogView, Ticket};
use kraft_fs::{File, FileSystem, MemFs, Open, Unsynced};
use kraft_log::{LogOptions, Repair, StorageOp, batch_info, open, verify};
use kraft_wire::batch::{BatchBuilder, BatchView};
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
};

/// What a flip does.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Effect {
    /// A start is refused, and a file is named.
    Refused,
    /// The damaged snapshot is set aside: the log holds what it held.
    SetAside,
    /// The damaged snapshot is older than the one that is needed: it is named, and nothing is read from it.
    Unneeded,
}

fn flip(file: &impl File, bit: u64) {
    let mut byte = [0];
    file.read_exact_at(&mut byte, bit / 8).expect("readable");
    byte[0] ^= 1 << (bit % 8);
    file.write_all_at(&byte, bit / 8).expect("written");
}

/// What the flipped file does to a start.
fn effect(fs: &MemFs, dir: &Path, name: &str, bit: u64) -> Effect {
    let path = dir.join(name);
    let verified = match verify(fs, dir) {
        Err(error) => {
            assert_eq!(error.place().0, Some(&*path), "bit {bit} of {name}: {error}");
            return Effect::Refused;
        }
        Ok(verified) => verified,
    };
    let set_aside = |repair: &Repair| matches!(repair, Repair::SetAside { path: found } if *found == path);
    if verified.repairs.iter().any(set_aside) {
        return Effect::SetAside;
    }
    let mut unneeded = verified.unneeded.iter();
    assert!(
        unneeded.any(|damage| damage.to_string().contains(name)),
        "bit {bit} of {name} goes unnoticed: {verified:?}"
    );
    Effect::Unneeded
}

/// The log of a recorded directory at the root, where a refusal looks for no ways out: these take longer than it does.
fn at_the_root(name: &str) -> MemFs {
    let (recorded, dir) = unpack(name);
    let fs = MemFs::new();
    for (name, bytes) in files(&recorded, &dir) {
        if !name.ends_with("index") {
            write(&fs, &Path::new("/").join(name), 0, &bytes);
        }
    }
    fs
}

/// Flips every bit of every segment and snapshot of a recorded directory; how many bits have which effect.
fn effects(name: &str) -> Vec<(Effect, u64)> {
    let (fs, dir) = (at_the_root(name), Path::new("/"));
    let mut counts = BTreeMap::new();
    for (name, bytes) in segments_and_snapshots(&fs, dir) {
        let file = fs.open(&dir.join(&name), Open::Read).expect("it is there");
        file.set_mode(0o644).expect("a mode");
        let file = fs.open(&dir.join(&name), Open::ReadWrite).expect("it is there");
        for bit in 0..bytes.len() as u64 * 8 {
            flip(&file, bit);
            *counts.entry(effect(&fs, dir, &name, bit)).or_insert(0) += 1;
            flip(&file, bit);
        }
    }
    counts.into_iter().collect()
}

fn segments_and_snapshots(fs: &MemFs, dir: &Path) -> Vec<(String, Vec<u8>)> {
    let files = files(fs, dir).into_iter();
    files
        .filter(|(name, _)| name.ends_with(".log") || name.ends_with(".checkpoint"))
        .collect()
}

macro_rules! every_bit_of {
    ($($test:ident: $name:literal, $effects:expr;)*) => {$(
        #[test]
        fn $test() {
            assert_eq!(effects($name), $effects);
        }
    )*};
}

every_bit_of! {
    formatted: "formatted-initial-controllers", [(Effect::Refused, 597 * 8)];
    formatted_standalone: "formatted-standalone", [(Effect::Refused, 494 * 8)];
    formatted_without_voters: "formatted-no-initial-controllers", [(Effect::Refused, 427 * 8)];
    formatted_static_old: "formatted-static-3.9-IV0", [(Effect::Refused, 249 * 8)];
    formatted_static_middle: "formatted-static-4.0-IV3", [(Effect::Refused, 309 * 8)];
    formatted_with_scram: "formatted-standalone-scram", [(Effect::Refused, 527 * 8)];
    formatted_static: "formatted-static-latest", [(Effect::Refused, 411 * 8)];
    observer: "observer", [(Effect::Refused, 1076 * 8), (Effect::SetAside, 427 * 8)];
    pruned: "pruned-killed", [(Effect::Refused, 7147 * 8), (Effect::SetAside, 5554 * 8), (Effect::Unneeded, 4846 * 8)];
    segments: "segments-killed", [(Effect::Refused, 13902 * 8), (Effect::SetAside, 494 * 8)];
    small: "small-killed", [(Effect::Refused, 8874 * 8), (Effect::SetAside, 494 * 8)];
    snapshots: "snapshots-running", [(Effect::Refused, 12230 * 8), (Effect::SetAside, 5814 * 8), (Effect::Unneeded, 5659 * 8)];
    static_leader: "static0-leader", [(Effect::Refused, 806 * 8), (Effect::SetAside, 249 * 8)];
    static_follower: "static0-follower", [(Effect::Refused, 806 * 8), (Effect::SetAside, 249 * 8)];
    upgraded: "upgraded-leader", [(Effect::Refused, 1744 * 8), (Effect::SetAside, 249 * 8)];
    voter_changes_2: "voter-changes-n2", [(Effect::Refused, 2919 * 8), (Effect::SetAside, 427 * 8)];
    voter_changes: "voter-changes-n1", [(Effect::Refused, 2919 * 8), (Effect::SetAside, 494 * 8)];
}

/// The segments and snapshots of the directories that are not gone through are those of others.
#[test]
fn the_other_directories_hold_the_same_bytes() {
    let content = |name| {
        let (fs, dir) = unpack(name);
        segments_and_snapshots(&fs, &dir)
    };
    for (name, other) in [
        ("small-stopped", "small-killed"),
        ("segments-stopped", "segments-killed"),
        ("pruned-stopped", "pruned-killed"),
    ] {
        assert!(content(name) == content(other), "{name}");
    }
}

/// A log that we have written, with zeros behind it: a bit among them may be taken for what a crash has torn, which
/// costs nothing.
#[test]
fn zeros_behind_our_own_log() {
    let (recorded, dir) = (at_the_root("upgraded-leader"), Path::new("/"));
    let options = LogOptions {
        prepare_bytes: 2000,
        ..LogOptions::default()
    };
    let mut log = open(recorded.clone(), dir, options).expect("opened");
    let end = log.index.end();
    let mut batch = BatchBuilder::data(1_760_000_000_000);
    batch.push(b"a record").expect("it fits");
    let batches = batch.build(end.last_offset, end.last_epoch.0);
    let infos = vec![batch_info(&BatchView::parse(batches.clone()).expect("a batch")).expect("valid")];
    let append = StorageOp::Append { batches, infos };
    log.index.submit(Ticket(1), &append, Instant(0));
    log.writer
        .run_round(&mut VecDeque::from([(Ticket(1), append)]))
        .expect("written");
    while log.preparer.step().expect("prepared") {}
    drop(log);

    let fs = recorded.crash_image(Unsynced::Kept);
    let path = dir.join("00000000000000000000.log");
    let file = fs.open(&path, Open::ReadWrite).expect("it is there");
    let len = file.len().expect("a size");
    assert_eq!(len, 1744 + 76 + 2000);
    for bit in 0..len * 8 {
        flip(&file, bit);
        match verify(&fs, dir) {
            Err(error) => assert_eq!(error.place().0, Some(&*path), "bit {bit}: {error}"),
            Ok(verified) => {
                assert!(bit >= (1744 + 76) * 8, "bit {bit} goes unnoticed: {verified:?}");
                assert_eq!(verified.end, end.last_offset + 1, "bit {bit}");
            }
        }
        flip(&file, bit);
    }
}
