//! A snapshot on its way from one replica to another: windows out, pieces in.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use kraft_core::{Epoch, SnapshotId, SnapshotWindow};
use kraft_fs::{FileSystem, MemFs, RealFs, Unsynced};
use kraft_snapshot::{
    FetchedSnapshot, FetchedSnapshotError, SnapshotHeader, SnapshotReader, SnapshotWriter, frozen_name,
    read_window,
};

const ID: SnapshotId = SnapshotId {
    end_offset: 100,
    epoch: Epoch(4),
};

fn dir() -> PathBuf {
    PathBuf::from("/d")
}

fn file_system() -> MemFs {
    let fs = MemFs::new();
    fs.create_dir_all(&dir()).unwrap();
    fs.sync_dir(Path::new("/")).unwrap();
    fs
}

fn header() -> SnapshotHeader {
    SnapshotHeader {
        last_contained_log_timestamp: 5,
        kraft_version: 0,
        voters: None,
    }
}

/// A leader with a snapshot of two batches, and the size of that snapshot.
fn leader() -> (MemFs, u64) {
    let fs = file_system();
    let mut writer = SnapshotWriter::create(&fs, &dir(), ID, &header(), || 7).unwrap();
    for number in 0..20_u8 {
        writer.append(&vec![number; 70_000]).unwrap();
    }
    let size = writer.freeze().unwrap();
    (fs, size)
}

fn window(position: u64, max_bytes: i32) -> SnapshotWindow {
    SnapshotWindow {
        snapshot: ID,
        size: 0,
        position,
        max_bytes,
    }
}

#[test]
fn windows_of_any_size_make_up_the_same_file() {
    let (leader, size) = leader();
    for max_bytes in [99_991, 1 << 20, i32::MAX] {
        let follower = file_system();
        let mut fetched = FetchedSnapshot::create(&follower, &dir(), ID).unwrap();
        while fetched.size() < size {
            let piece = read_window(&leader, &dir(), &window(fetched.size(), max_bytes))
                .unwrap()
                .unwrap();
            assert!(piece.len() <= max_bytes as usize);
            fetched.append(fetched.size(), &piece).unwrap();
        }
        assert_eq!(fetched.freeze().unwrap(), header());
        let name = dir().join(frozen_name(ID));
        let durable = follower.crash_image(Unsynced::Lost);
        assert_eq!(
            durable.read_bounded(&name, 1 << 24).unwrap(),
            leader.read_bounded(&name, 1 << 24).unwrap()
        );
        let mut reader = SnapshotReader::open(&durable, &dir(), ID).unwrap().unwrap();
        reader.verify_rest().unwrap();
    }
}

#[test]
fn windows_outside_of_the_file_are_empty() {
    let (leader, size) = leader();
    for outside in [
        window(size, 100),
        window(u64::MAX, 100),
        window(0, 0),
        window(0, -1),
    ] {
        assert!(
            read_window(&leader, &dir(), &outside)
                .unwrap()
                .unwrap()
                .is_empty()
        );
    }
    assert_eq!(
        read_window(&leader, &dir(), &window(size - 3, 100))
            .unwrap()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        read_window(&file_system(), &dir(), &window(0, 100)).unwrap(),
        None
    );
}

#[test]
fn a_piece_out_of_place_is_refused() {
    let fs = file_system();
    let mut fetched = FetchedSnapshot::create(&fs, &dir(), ID).unwrap();
    fetched.append(0, b"abc").unwrap();
    for position in [0, 2, 4, u64::MAX] {
        let error = fetched.append(position, b"d").unwrap_err();
        assert!(
            matches!(error, FetchedSnapshotError::Position { expected: 3, .. }),
            "{error}"
        );
    }
    assert_eq!(fetched.size(), 3);
}

/// Kafka freezes what it was sent and looks afterwards; here a wrong snapshot never gets the name of a right one.
#[test]
fn what_is_not_whole_is_removed() {
    let (leader, _) = leader();
    let good = leader
        .read_bounded(&dir().join(frozen_name(ID)), 1 << 24)
        .unwrap()
        .unwrap();
    let mut flipped = good.clone();
    flipped[1_000_000] ^= 1;
    for bytes in [&good[..good.len() - 1], &good[..good.len() - 75], &flipped, &[]] {
        let fs = file_system();
        let mut fetched = FetchedSnapshot::create(&fs, &dir(), ID).unwrap();
        fetched.append(0, bytes).unwrap();
        assert!(matches!(fetched.freeze(), Err(FetchedSnapshotError::Damaged(_))));
        assert_eq!(fs.list(&dir()).unwrap(), []);
    }
    let other = SnapshotId {
        epoch: Epoch(5),
        ..ID
    };
    let fs = file_system();
    let mut fetched = FetchedSnapshot::create(&fs, &dir(), other).unwrap();
    fetched.append(0, &good).unwrap();
    assert!(matches!(fetched.freeze(), Err(FetchedSnapshotError::Damaged(_))));
}

#[test]
fn several_part_files_of_one_snapshot_do_not_meet() {
    let fs = file_system();
    let mut first = FetchedSnapshot::create(&fs, &dir(), ID).unwrap();
    let second = FetchedSnapshot::create(&fs, &dir(), ID).unwrap();
    first.append(0, b"abc").unwrap();
    assert_eq!((first.size(), second.size()), (3, 0));
    assert_eq!(fs.list(&dir()).unwrap().len(), 2);
    drop(first);
    drop(second);
    assert_eq!(fs.list(&dir()).unwrap(), []);
}

#[test]
fn files_have_the_modes_that_kafka_gives_them() {
    let temp = tempfile::tempdir().unwrap();
    let mode = |name: &str| fs::metadata(temp.path().join(name)).unwrap().permissions().mode() & 0o777;
    let writer = SnapshotWriter::create(&RealFs, temp.path(), ID, &header(), || 7).unwrap();
    assert_eq!(mode("00000000000000000100-0000000004-0.checkpoint.part"), 0o600);
    writer.freeze().unwrap();
    assert_eq!(mode("00000000000000000100-0000000004.checkpoint"), 0o400);
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
}
