//! Theme LOG of the scenarios: what may not stand in a log. The ids are those of the list that docs/scenarios.md shows.

use bytes::Bytes;
use kraft_core::{ElectionState, Epoch, Instant, MAX_EPOCH, MAX_OFFSET, SnapshotId, Ticket};
use kraft_fs::{File, FileSystem, MemFs, Open};
use kraft_log::{LogOptions, OpenError, Refusal, StorageOp, batch_info, open, quorum_state, verify};
use kraft_snapshot::{SnapshotHeader, SnapshotWriter};
use kraft_wire::{
    UnknownTags,
    batch::{BatchBuilder, BatchView},
    control::{
        ControlError, ControlRecord, KRaftVersionRecord, LeaderChangeMessage, SnapshotFooterRecord,
        SnapshotHeaderRecord, VotersRecord, control_batch, control_records,
    },
};
use std::path::Path;

fn all_control_records() -> [(i16, ControlRecord); 5] {
    let unknown_tags = UnknownTags::default;
    [
        (
            2,
            ControlRecord::LeaderChange(LeaderChangeMessage {
                version: 0,
                leader_id: 1,
                voters: Vec::new(),
                granting_voters: Vec::new(),
                unknown_tags: unknown_tags(),
            }),
        ),
        (
            3,
            ControlRecord::SnapshotHeader(SnapshotHeaderRecord {
                version: 0,
                last_contained_log_timestamp: 7,
                unknown_tags: unknown_tags(),
            }),
        ),
        (
            4,
            ControlRecord::SnapshotFooter(SnapshotFooterRecord {
                version: 0,
                unknown_tags: unknown_tags(),
            }),
        ),
        (
            5,
            ControlRecord::KRaftVersion(KRaftVersionRecord {
                version: 0,
                kraft_version: 1,
                unknown_tags: unknown_tags(),
            }),
        ),
        (
            6,
            ControlRecord::KRaftVoters(VotersRecord {
                version: 0,
                voters: Vec::new(),
                unknown_tags: unknown_tags(),
            }),
        ),
    ]
}

#[test]
fn log_004_each_control_record_comes_back_with_its_type_and_there_are_no_others() {
    for (number, record) in all_control_records() {
        assert_eq!(record.control_type(), number);
        let batch = control_batch(std::slice::from_ref(&record), 10, 1, 0).expect("it fits");
        let view = BatchView::parse(batch).expect("a batch");
        assert_eq!(control_records(&view), Ok(vec![(10, record)]));
        // Header and footer belong to snapshots.
        assert_eq!(
            batch_info(&view).is_ok(),
            ![3, 4].contains(&number),
            "type {number}"
        );
    }
    // The markers of transactions, and what no release knows.
    for number in [0, 1, 7, 9, -1_i16] {
        let mut builder = BatchBuilder::control(0);
        let key = [[0, 0], number.to_be_bytes()].concat();
        builder
            .push_record(Some(&key), Some(&[0, 0, 0]), 0, &[])
            .expect("it fits");
        let view = BatchView::parse(builder.build(10, 1)).expect("a batch");
        let unknown = ControlError::UnknownType { control_type: number };
        assert_eq!(batch_info(&view), Err(unknown));
    }
}

#[test]
#[should_panic(expected = "an append has a batch")]
fn log_006_an_append_without_a_batch_is_refused() {
    let opened = open(MemFs::new(), Path::new("/log"), LogOptions::default());
    let append = StorageOp::Append {
        batches: Bytes::new(),
        infos: Vec::new(),
    };
    opened
        .expect("a new log")
        .index
        .submit(Ticket(1), &append, Instant(0));
}

/// A start and whoever verifies beforehand say the same, before anything is written.
#[test]
fn a_directory_in_the_place_of_a_file_is_refused_and_any_other_is_none_of_our_business() {
    let dir = Path::new("/log");
    let with = |name: &str| {
        let fs = MemFs::new();
        fs.create_dir_all(&dir.join(name)).unwrap();
        fs
    };
    let names = [
        "00000000000000000000.log",
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
        "leader-epoch-checkpoint.tmp",
        "quorum-state.tmp",
        "kraft-no-vote",
        "kraft-synced",
        "kraft-spare",
    ];
    for name in names {
        let fs = with(name);
        let syncs = fs.syncs();
        let verified = verify(&fs, dir).unwrap_err();
        let opened = open(fs.clone(), dir, LogOptions::default()).unwrap_err();
        for refusal in [verified, opened] {
            assert!(
                matches!(&*refusal.cause, OpenError::NotAFile { path } if path.ends_with(name)),
                "{name}: {refusal}"
            );
            assert!(refusal.ways_out.is_empty(), "{name}");
        }
        assert_eq!(fs.syncs(), syncs, "{name}: something was written");
    }
    for name in [
        "lost+found",
        "copy.log",
        "0.log",
        "00000000000000000000.log.kept-1",
    ] {
        let fs = with(name);
        verify(&fs, dir).unwrap();
        open(fs, dir, LogOptions::default()).unwrap();
    }
}

/// No checksum covers a name. A node that believed one of these could not append a record, and ended in the attempt.
#[test]
fn a_name_with_an_offset_that_no_log_comes_to_is_refused() {
    let dir = Path::new("/log");
    for offset in [MAX_OFFSET + 1, i64::MAX - 5, i64::MAX] {
        for name in [
            format!("{offset:020}.log"),
            format!("{offset:020}-0000000001.checkpoint"),
        ] {
            let fs = MemFs::new();
            fs.create_dir_all(dir).unwrap();
            fs.open(&dir.join(&name), Open::CreateNew).unwrap();
            let verified = verify(&fs, dir).unwrap_err();
            let opened = open(fs, dir, LogOptions::default()).unwrap_err();
            for refusal in [verified, opened] {
                let refused = matches!(
                    &*refusal.cause,
                    OpenError::OffsetOutOfRange { path, offset: found } if path.ends_with(&name) && *found == offset
                );
                assert!(refused, "{name}: {refusal}");
            }
        }
    }
}

/// A segment may begin where a log may end, and go on from there. A replica does not start on that, so nobody finds it good.
#[test]
fn a_log_that_ends_where_no_log_comes_to_is_refused() {
    let dir = Path::new("/log");
    let base = MAX_OFFSET - 1;
    let refused = |records: usize| {
        let fs = MemFs::new();
        fs.create_dir_all(dir).unwrap();
        let header = SnapshotHeader {
            last_contained_log_timestamp: 0,
            kraft_version: 0,
            voters: None,
        };
        let id = SnapshotId {
            end_offset: base,
            epoch: Epoch(1),
        };
        SnapshotWriter::create(&fs, dir, id, &header, || 0)
            .unwrap()
            .freeze()
            .unwrap();
        let mut batch = BatchBuilder::data(0);
        for _ in 0..records {
            batch.push(b"record").unwrap();
        }
        let segment = dir.join(format!("{base:020}.log"));
        let file = fs.open(&segment, Open::CreateNew).unwrap();
        file.write_all_at(&batch.build(base, 1), 0).unwrap();
        let election = ElectionState {
            epoch: Epoch(1),
            leader: None,
            voted: None,
            voters: Vec::new(),
            kraft_version: 0,
        };
        quorum_state::store(&fs, dir, &election).unwrap();
        let verified = verify(&fs, dir).err().map(|refusal| refusal.cause.to_string());
        let opened = open(fs, dir, LogOptions::default()).err();
        assert_eq!(verified, opened.map(|refusal| refusal.cause.to_string()));
        verified
    };
    assert_eq!(refused(1), None);
    let end = MAX_OFFSET + 2;
    let expected = format!("/log/{base:020}.log: no log comes to offset {end}: the file has a wrong name");
    assert_eq!(refused(3), Some(expected));
}

/// The replica does not start on these, so neither the log nor whoever verifies it finds them good.
#[test]
fn an_epoch_that_none_follows_and_a_level_of_a_later_release_are_refused() {
    let dir = Path::new("/log");
    let last = MAX_EPOCH.0 + 1;
    let refused_beside = |beside: Option<(&str, String)>, batches: &[Bytes], stored: i32| {
        let fs = MemFs::new();
        fs.create_dir_all(dir).unwrap();
        let log = ("00000000000000000000.log", batches.concat());
        let beside = beside.map(|(name, text)| (name, text.into_bytes()));
        for (name, bytes) in [log].into_iter().chain(beside) {
            let file = fs.open(&dir.join(name), Open::CreateNew).unwrap();
            file.write_all_at(&bytes, 0).unwrap();
        }
        let election = ElectionState {
            epoch: Epoch(stored),
            leader: None,
            voted: None,
            voters: Vec::new(),
            kraft_version: 1,
        };
        quorum_state::store(&fs, dir, &election).unwrap();
        let verified = verify(&fs, dir).map(drop);
        let opened = open(fs, dir, LogOptions::default()).map(drop);
        let text = |outcome: Result<(), Refusal>| outcome.err().map(|refusal| refusal.cause.to_string());
        let (verified, opened) = (text(verified), text(opened));
        assert_eq!(verified, opened);
        opened.unwrap_or_default()
    };
    let refused = |batches: &[Bytes], stored: i32| refused_beside(None, batches, stored);
    let leader = |epoch: i32| {
        let [(_, leader), ..] = all_control_records();
        control_batch(&[leader], 0, epoch, 1).unwrap()
    };
    let level = |kraft_version: i16| {
        let record = ControlRecord::KRaftVersion(KRaftVersionRecord {
            version: 0,
            kraft_version,
            unknown_tags: UnknownTags::default(),
        });
        control_batch(&[record], 1, 1, 1).unwrap()
    };
    assert_eq!(refused(&[leader(1), level(1)], 1), "");
    assert_eq!(refused(&[leader(last - 1)], last - 1), "");
    let epoch = format!(": no quorum comes to epoch {last}");
    assert_eq!(
        refused(&[leader(last)], 1),
        format!("/log/00000000000000000000.log{epoch}")
    );
    assert_eq!(refused(&[leader(1)], last), format!("/log/quorum-state{epoch}"));
    // A new segment has no epoch yet, and one that is only entered stands in the cache.
    let new_segment = ("00000000000000000001.log", String::new());
    assert_eq!(
        refused_beside(Some(new_segment), &[leader(last)], 1),
        format!("/log/00000000000000000000.log{epoch}")
    );
    let entered = |epoch: i32| ("leader-epoch-checkpoint", format!("0\n2\n1 0\n{epoch} 1\n"));
    assert_eq!(refused_beside(Some(entered(last - 1)), &[leader(1)], 1), "");
    assert_eq!(
        refused_beside(Some(entered(last)), &[leader(1)], 1),
        format!("/log/leader-epoch-checkpoint{epoch}")
    );
    let later = "/log/00000000000000000000.log: kraft.version 7 at offset 1 is not known to this release";
    assert!(refused(&[leader(1), level(7)], 1).starts_with(later));
}
