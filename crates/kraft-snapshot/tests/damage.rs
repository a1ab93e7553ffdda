//! A snapshot counts only when it is whole: every flipped bit and every cut is an error with file and byte.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use bytes::Bytes;
use kraft_core::{Epoch, SnapshotId};
use kraft_fs::{Fault, FaultyFs, File, FileSystem, MemFs, Open, Unsynced};
use kraft_snapshot::{
    SnapshotDamage, SnapshotHeader, SnapshotReadError, SnapshotReader, SnapshotWriteError, SnapshotWriter,
    frozen_name,
};
use kraft_wire::{
    UnknownTags,
    batch::{BATCH_SIZE_MAX, BatchBuilder},
    control::{ControlRecord, KRaftVersionRecord, SnapshotFooterRecord, SnapshotHeaderRecord, control_batch},
};
use proptest::prelude::*;

const ID: SnapshotId = SnapshotId {
    end_offset: 29,
    epoch: Epoch(2),
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

fn plain_header() -> SnapshotHeader {
    SnapshotHeader {
        last_contained_log_timestamp: 5,
        kraft_version: 1,
        voters: None,
    }
}

fn write<F: FileSystem>(fs: &F, values: &[Vec<u8>]) -> Result<u64, SnapshotWriteError> {
    let mut writer = SnapshotWriter::create(fs, &dir(), ID, &plain_header(), || 7)?;
    for value in values {
        writer.append(value)?;
    }
    writer.freeze()
}

/// The values of the snapshot, or why it is refused; `None` if there is none.
fn read<F: FileSystem>(fs: &F) -> Result<Option<Vec<Vec<u8>>>, SnapshotReadError> {
    let Some(mut reader) = SnapshotReader::open(fs, &dir(), ID)? else {
        return Ok(None);
    };
    let mut values = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        values.extend(batch.values().map(|value| value.to_vec()));
    }
    Ok(Some(values))
}

/// Reads a file of these bytes.
fn read_bytes(bytes: &[u8]) -> Result<Vec<Vec<u8>>, SnapshotReadError> {
    let fs = file_system();
    let file = fs.open(&dir().join(frozen_name(ID)), Open::CreateNew).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    read(&fs).map(|values| values.expect("the file is there"))
}

fn damage(bytes: &[u8]) -> (u64, SnapshotDamage) {
    match read_bytes(bytes).unwrap_err() {
        SnapshotReadError::Damaged {
            path,
            position,
            damage,
        } => {
            assert_eq!(path, dir().join(frozen_name(ID)));
            (position, damage)
        }
        error => panic!("{error}"),
    }
}

/// Two data records in one batch.
fn good() -> Vec<u8> {
    let fs = file_system();
    write(&fs, &[b"first".to_vec(), b"second".to_vec()]).unwrap();
    fs.read_bounded(&dir().join(frozen_name(ID)), 1000)
        .unwrap()
        .unwrap()
}

#[test]
fn a_whole_snapshot_is_read() {
    assert_eq!(
        read_bytes(&good()).unwrap(),
        [b"first".to_vec(), b"second".to_vec()]
    );
}

#[test]
fn every_flipped_bit_is_found() {
    let good = good();
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(read_bytes(&bytes).is_err(), "bit {bit}");
    }
}

#[test]
fn every_cut_and_every_tail_is_found() {
    let good = good();
    for len in 0..good.len() {
        assert!(read_bytes(&good[..len]).is_err(), "cut to {len} bytes");
    }
    for zeros in [1, 17, 61, 1000] {
        let mut bytes = good.clone();
        bytes.resize(good.len() + zeros, 0);
        let expected = SnapshotDamage::BehindFooter { bytes: zeros as u64 };
        assert_eq!(damage(&bytes).1, expected);
    }
}

fn header_records() -> Vec<ControlRecord> {
    vec![ControlRecord::SnapshotHeader(SnapshotHeaderRecord {
        version: 0,
        last_contained_log_timestamp: 5,
        unknown_tags: UnknownTags::default(),
    })]
}

fn kraft_version(level: i16) -> ControlRecord {
    ControlRecord::KRaftVersion(KRaftVersionRecord {
        version: 0,
        kraft_version: level,
        unknown_tags: UnknownTags::default(),
    })
}

fn footer() -> ControlRecord {
    ControlRecord::SnapshotFooter(SnapshotFooterRecord {
        version: 0,
        unknown_tags: UnknownTags::default(),
    })
}

fn control(records: &[ControlRecord], base_offset: i64) -> Bytes {
    control_batch(records, base_offset, ID.epoch.0, 7).unwrap()
}

fn data(base_offset: i64, epoch: i32) -> Bytes {
    let mut batch = BatchBuilder::data(7);
    batch.push(b"value").unwrap();
    batch.build(base_offset, epoch)
}

#[test]
fn each_mistake_has_its_own_reason() {
    let header = control(&header_records(), 0);
    let size = header.len() as u64;
    let damage = |batches: &[Bytes]| damage(&batches.concat());
    let twice = |record: ControlRecord| {
        let mut records = header_records();
        records.extend([record.clone(), record]);
        control(&records, 0)
    };

    assert_eq!(damage(&[]), (0, SnapshotDamage::NoHeader));
    assert_eq!(damage(&[data(0, 2)]), (0, SnapshotDamage::NoHeader));
    assert_eq!(damage(&[control(&[footer()], 0)]), (0, SnapshotDamage::NoHeader));
    assert_eq!(
        damage(std::slice::from_ref(&header)),
        (size, SnapshotDamage::NoFooter)
    );
    let no_end = damage(&[header.clone(), data(1, 2)]);
    assert_eq!(no_end, (size + data(1, 2).len() as u64, SnapshotDamage::NoFooter));
    assert_eq!(
        damage(&[header.clone(), data(2, 2)]),
        (
            size,
            SnapshotDamage::Offset {
                expected: 1,
                found: 2
            }
        )
    );
    assert_eq!(
        damage(&[header.clone(), data(1, 3)]),
        (
            size,
            SnapshotDamage::Epoch {
                expected: 2,
                found: 3
            }
        )
    );
    assert_eq!(
        damage(&[header.clone(), header.slice(..61)]),
        (
            size,
            SnapshotDamage::CutOff {
                needed: size,
                remaining: 61
            }
        )
    );
    let misplaced = |record| SnapshotDamage::MisplacedControl { record };
    assert_eq!(damage(&[twice(kraft_version(1))]).1, misplaced("KRaftVersion"));
    assert_eq!(damage(&[twice(footer())]).1, misplaced("SnapshotFooter"));
    assert_eq!(
        damage(&[header.clone(), control(&[kraft_version(1)], 1)]).1,
        misplaced("KRaftVersion")
    );
    assert_eq!(
        damage(&[header.clone(), control(&[footer(), kraft_version(1)], 1)]).1,
        misplaced("KRaftVersion")
    );
    let mut future = header_records();
    future.push(kraft_version(2));
    assert_eq!(
        damage(&[control(&future, 0)]).1,
        SnapshotDamage::UnknownKRaftVersion { level: 2 }
    );
    let after = control(&[footer()], 1);
    assert_eq!(
        damage(&[header.clone(), after.clone(), after.clone()]).1,
        SnapshotDamage::BehindFooter {
            bytes: after.len() as u64
        }
    );
    assert_eq!(
        read_bytes(&[header, after].concat()).unwrap(),
        Vec::<Vec<u8>>::new()
    );
}

#[test]
fn a_promised_size_is_not_believed() {
    let mut bytes = good();
    bytes[8..12].copy_from_slice(&i32::MAX.to_be_bytes());
    let size = i32::MAX as u64 + 12;
    assert_eq!(damage(&bytes), (0, SnapshotDamage::BatchTooLarge { size }));
}

#[test]
fn an_error_comes_again() {
    let fs = file_system();
    let file = fs.open(&dir().join(frozen_name(ID)), Open::CreateNew).unwrap();
    file.write_all_at(&control(&header_records(), 0), 0).unwrap();
    let mut reader = SnapshotReader::open(&fs, &dir(), ID).unwrap().unwrap();
    let first = reader.next_batch().unwrap_err().to_string();
    assert_eq!(reader.next_batch().unwrap_err().to_string(), first);
    assert_eq!(
        first,
        "/d/00000000000000000029-0000000002.checkpoint: byte 83: the file ends without a snapshot footer"
    );
}

#[test]
fn records_that_no_reader_takes_are_refused() {
    let fs = file_system();
    let mut writer = SnapshotWriter::create(&fs, &dir(), ID, &plain_header(), || 7).unwrap();
    writer.append(b"x").unwrap();
    let error = writer.append(b"").unwrap_err();
    assert!(
        matches!(error, SnapshotWriteError::EmptyRecord { offset: 3 }),
        "{error}"
    );
    let error = writer.append(&vec![1; BATCH_SIZE_MAX]).unwrap_err();
    assert!(
        matches!(error, SnapshotWriteError::RecordTooLarge { offset: 3, .. }),
        "{error}"
    );
    drop(writer);
    assert_eq!(fs.list(&dir()).unwrap(), []);
}

#[test]
fn many_records_make_several_batches() {
    let fs = file_system();
    let values: Vec<Vec<u8>> = (0..30_u8).map(|number| vec![number; 100_000]).collect();
    write(&fs, &values).unwrap();
    let mut reader = SnapshotReader::open(&fs, &dir(), ID).unwrap().unwrap();
    let mut sizes = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        sizes.push(batch.values().count());
    }
    assert_eq!(sizes, [10, 10, 10]);
    assert_eq!(read(&fs).unwrap().unwrap(), values);
}

/// Whatever call fails, no file with the final name is less than whole, and no part file stays.
#[test]
fn a_fault_never_leaves_half_a_snapshot() {
    let values = [b"first".to_vec(), b"second".to_vec()];
    let mut failed = 0;
    for skip in 0.. {
        let mem = file_system();
        let fs = FaultyFs::new(mem.clone());
        fs.arm(skip, if skip % 2 == 0 { Fault::Io } else { Fault::NoSpace });
        let written = write(&fs, &values);
        let mut images = vec![mem.clone()];
        let crashes = [Unsynced::Lost, Unsynced::Kept].into_iter();
        let crashes = crashes.chain((0..8).map(|seed| Unsynced::Torn { seed }));
        images.extend(crashes.map(|unsynced| mem.crash_image(unsynced)));
        for image in images {
            if let Some(found) = read(&image).unwrap() {
                assert_eq!(found, values);
            } else {
                assert!(written.is_err());
            }
        }
        let names = mem.list(&dir()).unwrap();
        assert!(names.iter().all(|entry| !entry.name.ends_with(".part")));
        match written {
            Ok(_) => break,
            Err(_) => failed += 1,
        }
    }
    assert!(failed >= 6, "{failed} calls can fail");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn round_trip(values in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..40)) {
        let fs = file_system();
        write(&fs, &values).unwrap();
        prop_assert_eq!(read(&fs).unwrap().unwrap(), values);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_bytes(&bytes);
    }

    #[test]
    fn no_damage_panics(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut: prop::sample::Index) {
        let mut bytes = good();
        for (index, byte) in edits {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        if let Ok(values) = read_bytes(&bytes) {
            prop_assert_eq!(values, [b"first".to_vec(), b"second".to_vec()]);
        }
    }
}
