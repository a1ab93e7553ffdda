//! What a start makes of the files that it finds: the entries RESTART-006 to RESTART-013 of the reference's tests.

use kraft_core::{ControlRecord, ElectionState, Epoch, LogView, NodeId, ReplicaKey, SnapshotId};
use kraft_fs::{File, FileSystem, MemFs, Open};
use kraft_log::{
    LogOptions, OpenError, Opened, SmallFileError, open,
    quorum_state::{self, QuorumStateError},
};
use kraft_snapshot::{
    SnapshotHeader, SnapshotWriter, control::to_wire, deleted_name, frozen_name, partial_name,
};
use kraft_wire::{batch::BatchBuilder, control::control_batch};
use std::path::{Path, PathBuf};
use uuid::Uuid;

const DIRECTORY: Uuid = Uuid::from_u128(1);

fn state(leader: Option<i32>, voted: Option<i32>, kraft_version: i16) -> ElectionState {
    ElectionState {
        epoch: Epoch(5),
        leader: leader.map(NodeId),
        voted: voted.map(|id| ReplicaKey::new(NodeId(id), DIRECTORY)),
        voters: [1, 2, 3].map(NodeId).to_vec(),
        kraft_version,
    }
}

fn id(end_offset: i64, epoch: i32) -> SnapshotId {
    SnapshotId {
        end_offset,
        epoch: Epoch(epoch),
    }
}

/// An empty directory of a node that has been used.
fn used_directory() -> (MemFs, PathBuf) {
    let fs = MemFs::new();
    let dir = PathBuf::from("/log");
    fs.create_dir_all(&dir).expect("created");
    fs.sync_dir(Path::new("/")).expect("synced");
    quorum_state::store(&fs, &dir, &state(None, None, 1)).expect("stored");
    (fs, dir)
}

fn create(fs: &MemFs, path: &Path, bytes: &[u8]) {
    let file = fs.open(path, Open::CreateNew).expect("created");
    file.write_all_at(bytes, 0).expect("written");
    file.sync_all().expect("synced");
}

/// A segment that begins at `base` and holds as many records of epoch 1, the first of which is its leader's.
fn create_segment(fs: &MemFs, dir: &Path, base: i64, records: usize) {
    let mut bytes = Vec::new();
    if records > 0 {
        let leader = ControlRecord::LeaderChange {
            leader: NodeId(1),
            voters: vec![NodeId(1)],
            granting: vec![NodeId(1)],
        };
        bytes.extend_from_slice(&control_batch(&[to_wire(&leader)], base, 1, 0).expect("a short record"));
        let mut batch = BatchBuilder::data(0);
        for _ in 1..records {
            batch.push(b"value").expect("a short record");
        }
        bytes.extend_from_slice(&batch.build(base + 1, 1));
    }
    create(fs, &dir.join(format!("{base:020}.log")), &bytes);
}

fn create_snapshot(fs: &MemFs, dir: &Path, id: SnapshotId) {
    let header = SnapshotHeader {
        last_contained_log_timestamp: 0,
        kraft_version: 0,
        voters: None,
    };
    let mut writer = SnapshotWriter::create(fs, dir, id, &header, || 0).expect("created");
    writer.append(b"value").expect("a short record");
    writer.freeze().expect("frozen");
}

fn opened(fs: &MemFs, dir: &Path) -> Opened<MemFs> {
    open(fs.clone(), dir, LogOptions::default()).expect("a good directory")
}

fn refused(fs: &MemFs, dir: &Path) -> OpenError {
    let before = names(fs, dir);
    let error = open(fs.clone(), dir, LogOptions::default()).expect_err("a bad directory");
    assert_eq!(names(fs, dir), before, "a start that is refused changes nothing");
    *error.cause
}

fn names(fs: &MemFs, dir: &Path) -> Vec<String> {
    let entries = fs.list(dir).expect("listed");
    entries.into_iter().map(|entry| entry.name).collect()
}

#[test]
fn restart_006_version_0_keeps_the_voters_and_version_1_the_directory_of_the_vote() {
    for (leader, voted) in [(None, None), (Some(1), None), (None, Some(1)), (Some(1), Some(1))] {
        let before = state(leader, voted, 0);
        let expected = ElectionState {
            voted: voted.map(|id| ReplicaKey::without_directory(NodeId(id))),
            ..before.clone()
        };
        assert_eq!(quorum_state::parse(&quorum_state::format(&before)), Ok(expected));

        let before = state(leader, voted, 1);
        let expected = ElectionState {
            voters: Vec::new(),
            ..before.clone()
        };
        assert_eq!(quorum_state::parse(&quorum_state::format(&before)), Ok(expected));
    }
}

#[test]
fn restart_007_quorum_state_survives_a_crash_right_after_it_was_stored() {
    let (fs, dir) = used_directory();
    let stored = ElectionState {
        epoch: Epoch(2),
        voters: Vec::new(),
        ..state(None, None, 1)
    };
    quorum_state::store(&fs, &dir, &stored).unwrap();
    let fs = fs.crash_image(kraft_fs::Unsynced::Lost);
    assert_eq!(quorum_state::load(&fs, &dir).unwrap(), Some(stored));
}

/// Nothing here removes the state of a node; whoever formats a directory anew does.
#[test]
fn restart_008_no_temporary_quorum_state_is_left_and_none_is_read_once_the_file_is_gone() {
    let (fs, dir) = used_directory();
    assert_eq!(names(&fs, &dir), [quorum_state::FILE_NAME]);
    create(&fs, &dir.join("quorum-state.tmp"), b"half");
    opened(&fs, &dir);
    assert!(!names(&fs, &dir).iter().any(|name| name.ends_with(".tmp")));

    fs.remove(&dir.join(quorum_state::FILE_NAME)).unwrap();
    assert_eq!(quorum_state::load(&fs, &dir).unwrap(), None);
}

#[test]
fn restart_009_an_unknown_data_version_is_refused() {
    let (fs, dir) = used_directory();
    fs.remove(&dir.join(quorum_state::FILE_NAME)).unwrap();
    let content = br#"{"leaderId":1,"leaderEpoch":5,"votedId":-1,"appliedOffset":0,"data_version":2}"#;
    create(&fs, &dir.join(quorum_state::FILE_NAME), content);
    let error = refused(&fs, &dir);
    assert!(
        matches!(
            &error,
            OpenError::QuorumState(SmallFileError::Malformed {
                reason: QuorumStateError::UnknownVersion { version: 2 },
                ..
            })
        ),
        "{error}"
    );
}

#[test]
fn restart_010_a_log_that_starts_above_0_needs_a_snapshot() {
    let (fs, dir) = used_directory();
    create_segment(&fs, &dir, 100, 0);
    let error = refused(&fs, &dir);
    assert!(
        matches!(error, OpenError::NoSnapshot { start: 100, .. }),
        "{error}"
    );
    create_snapshot(&fs, &dir, id(50, 1));
    let error = refused(&fs, &dir);
    assert!(
        matches!(error, OpenError::NoSnapshot { start: 100, .. }),
        "{error}"
    );
    create_snapshot(&fs, &dir, id(100, 1));
    assert_eq!(opened(&fs, &dir).index.start(), 100);

    let (fs, dir) = used_directory();
    create_segment(&fs, &dir, 200, 0);
    create_snapshot(&fs, &dir, id(500, 1));
    assert_eq!(opened(&fs, &dir).index.start(), 500);
}

#[test]
fn restart_011_a_snapshot_marked_for_deletion_does_not_count() {
    let (fs, dir) = used_directory();
    create_segment(&fs, &dir, 100, 0);
    create_snapshot(&fs, &dir, id(100, 1));
    let deleted = deleted_name(id(100, 1));
    fs.rename(&dir.join(frozen_name(id(100, 1))), &dir.join(&deleted))
        .unwrap();
    let error = refused(&fs, &dir);
    assert!(
        matches!(error, OpenError::NoSnapshot { start: 100, .. }),
        "{error}"
    );
    assert!(names(&fs, &dir).contains(&deleted));
}

/// No high watermark is stored: a replica that starts knows none.
#[test]
fn restart_012_partial_snapshots_are_removed() {
    let (fs, dir) = used_directory();
    create_segment(&fs, &dir, 0, 10);
    create_snapshot(&fs, &dir, id(1, 1));
    for (number, partial) in [id(0, 0), id(1, 1), id(2, 2)].into_iter().enumerate() {
        create(&fs, &dir.join(partial_name(partial, number as u64)), b"half");
    }
    let opened = opened(&fs, &dir);
    assert_eq!(opened.index.latest_snapshot(), Some(id(1, 1)));
    assert_eq!((opened.index.start(), opened.index.end().last_offset), (0, 10));
    assert!(!names(&fs, &dir).iter().any(|name| name.ends_with(".part")));
}

#[test]
fn restart_013_a_snapshot_ahead_of_the_log_takes_its_place() {
    let (fs, dir) = used_directory();
    create_segment(&fs, &dir, 0, 10);
    create_snapshot(&fs, &dir, id(11, 2));
    let opened = opened(&fs, &dir);
    assert_eq!(opened.index.latest_snapshot(), Some(id(11, 2)));
    assert_eq!(opened.index.start(), 11);
    let end = opened.index.end();
    assert_eq!((end.last_offset, end.last_epoch), (11, Epoch(2)));
}
