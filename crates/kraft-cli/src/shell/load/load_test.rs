use std::path::PathBuf;

use bytes::Bytes;
use kraft_metadata::record::{
    AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord, FeatureLevelRecord, NoOpRecord,
    TopicRecord,
};
use kraft_snapshot::{SnapshotHeader, SnapshotWriter};
use kraft_wire::Message;
use kraft_wire::batch::BatchBuilder;
use kraft_wire::metadata_frame::encode_metadata_record;
use uuid::Uuid;

use super::*;

/// A log directory in the making.
struct Log {
    folder: tempfile::TempDir,
    next: i64,
    segment: PathBuf,
}

impl Log {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let segment = folder.path().join("00000000000000000000.log");
        fs::write(&segment, b"").unwrap();
        Self {
            folder,
            next: 0,
            segment,
        }
    }

    fn dir(&self) -> &Path {
        self.folder.path()
    }

    fn append(&mut self, epoch: i32, values: &[Vec<u8>]) {
        let batch = batch(self.next, epoch, values);
        self.next += values.len() as i64;
        self.append_bytes(&batch);
    }

    fn append_bytes(&self, bytes: &[u8]) {
        let mut content = fs::read(&self.segment).unwrap();
        content.extend(bytes);
        fs::write(&self.segment, content).unwrap();
    }

    fn roll(&mut self) {
        self.segment = self.dir().join(format!("{:020}.log", self.next));
        fs::write(&self.segment, b"").unwrap();
    }

    /// Writes a snapshot with these topics.
    fn snapshot(&self, end_offset: i64, epoch: i32, topics: &[&str]) -> PathBuf {
        let id = SnapshotId {
            end_offset,
            epoch: Epoch(epoch),
        };
        let header = SnapshotHeader {
            last_contained_log_timestamp: 77,
            kraft_version: 1,
            voters: None,
        };
        let mut writer = SnapshotWriter::create(&RealFs, self.dir(), id, &header, || 88).unwrap();
        for name in topics {
            writer.append(&topic(name)).unwrap();
        }
        writer.freeze().unwrap();
        self.dir().join(kraft_snapshot::frozen_name(id))
    }

    fn load(&self) -> Result<Loaded, String> {
        load(self.dir()).map_err(|error| self.named(&error.to_string()))
    }

    fn notes(&self, loaded: &Loaded) -> Vec<String> {
        loaded.notes.iter().map(|note| self.named(note)).collect()
    }

    fn named(&self, text: &str) -> String {
        text.replace(self.dir().to_str().unwrap(), "DIR")
    }
}

fn batch(base: i64, epoch: i32, values: &[Vec<u8>]) -> Bytes {
    let mut builder = BatchBuilder::data(1_000 + base);
    for value in values {
        builder.push(value).unwrap();
    }
    builder.build(base, epoch)
}

fn value<M: Message>(record: &M) -> Vec<u8> {
    encode_metadata_record(record, 0).unwrap().to_vec()
}

fn topic(name: &str) -> Vec<u8> {
    let seed = name
        .bytes()
        .fold(0_u128, |seed, byte| seed.rotate_left(8) ^ u128::from(byte));
    value(&TopicRecord {
        name: name.to_owned(),
        topic_id: Uuid::from_u128(seed << 8),
        ..TopicRecord::default()
    })
}

fn topics(loaded: &Loaded) -> Vec<&str> {
    loaded.image.topics.by_name.keys().map(String::as_str).collect()
}

fn at(loaded: &Loaded) -> (i64, i32, i64) {
    let Provenance {
        offset,
        epoch,
        time_ms,
    } = loaded.image.provenance;
    (offset, epoch, time_ms)
}

#[test]
fn a_directory_is_its_newest_snapshot_and_the_log_behind_it() {
    let mut log = Log::new();
    log.append(1, &[topic("a")]);
    log.append(1, &[topic("b")]);
    log.roll();
    log.append(1, &[topic("c"), topic("d")]);
    log.append(2, &[value(&NoOpRecord::default())]);
    let all = log.load().unwrap();
    assert_eq!(topics(&all), ["a", "b", "c", "d"]);
    assert_eq!((at(&all), &all.notes), ((4, 2, 1_004), &Vec::new()));

    // Whatever a snapshot says counts, and of a batch that it ends in what is behind.
    log.snapshot(1, 1, &["older"]);
    log.snapshot(3, 1, &["of-snapshot"]);
    let both = log.load().unwrap();
    assert_eq!(topics(&both), ["d", "of-snapshot"]);
    assert_eq!((at(&both), &both.notes), ((4, 2, 1_004), &Vec::new()));

    log.snapshot(5, 2, &["all"]);
    let newest = log.load().unwrap();
    assert_eq!((topics(&newest), at(&newest)), (vec!["all"], (4, 2, 77)));
}

#[test]
fn a_log_that_the_newest_snapshot_does_not_continue_is_not_shown() {
    let mut log = Log::new();
    log.append(1, &[topic("a"), topic("b")]);
    log.snapshot(1, 3, &["installed"]);
    let loaded = log.load().unwrap();
    assert_eq!(topics(&loaded), ["installed"]);
    let note =
        "DIR/00000000000000000000.log: the log is not what the latest snapshot continues, and is not shown";
    assert_eq!(log.notes(&loaded), [note]);
    log.snapshot(9, 3, &["ahead"]);
    let ahead = log.load().unwrap();
    assert_eq!((topics(&ahead), at(&ahead)), (vec!["ahead"], (8, 3, 77)));
}

#[test]
fn a_damaged_snapshot_is_made_up_for_by_an_older_one_with_the_log() {
    let mut log = Log::new();
    log.append(1, &[topic("a")]);
    log.append(1, &[topic("b")]);
    log.snapshot(1, 1, &["older"]);
    let newest = log.snapshot(2, 1, &["newest"]);
    let length = fs::metadata(&newest).unwrap().len();
    cut(&newest, length - 3);
    let loaded = log.load().unwrap();
    assert_eq!(topics(&loaded), ["b", "older"]);
    let notes = log.notes(&loaded);
    assert!(
        notes[0].ends_with("; what it held is read from the rest of the directory"),
        "{notes:?}"
    );

    // Unless the log does not reach as far.
    let beyond = log.snapshot(7, 1, &["beyond"]);
    cut(&beyond, length - 3);
    let error = log.load().unwrap_err();
    assert!(
        error.contains("00000000000000000007-0000000001.checkpoint: byte "),
        "{error}"
    );
    assert!(
        error.ends_with("and without it only what is up to offset 1 is known"),
        "{error}"
    );
}

/// Snapshots are read-only files.
fn cut(path: &Path, length: u64) {
    let content = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    fs::write(path, &content[..length as usize]).unwrap();
}

#[test]
fn a_hole_is_an_error_that_says_where() {
    let mut log = Log::new();
    fs::remove_file(&log.segment).unwrap();
    log.next = 10;
    log.roll();
    log.append(1, &[topic("a")]);
    let error = log.load().unwrap_err();
    assert_eq!(
        error,
        "DIR/00000000000000000010.log: the log begins at offset 10, and no snapshot says what was before"
    );
    log.snapshot(4, 1, &["s"]);
    let error = log.load().unwrap_err();
    assert!(
        error.ends_with("begins at offset 10, and the newest snapshot that can be read ends at 4"),
        "{error}"
    );
    log.snapshot(10, 1, &["s"]);
    log.next = 12;
    log.roll();
    assert_eq!(
        log.load().unwrap_err(),
        "DIR/00000000000000000012.log: the segment begins at offset 12, and the one before ends at 11; read up to \
         offset 10"
    );
}

#[test]
fn damage_is_an_error_with_file_and_byte_and_the_last_good_offset() {
    let mut log = Log::new();
    log.append(1, &[topic("a")]);
    let good = fs::metadata(&log.segment).unwrap().len();
    log.append(1, &[topic("b")]);
    log.append(1, &[topic("c")]);
    let mut content = fs::read(&log.segment).unwrap();
    content[good as usize + 70] ^= 1;
    fs::write(&log.segment, content).unwrap();
    let error = log.load().unwrap_err();
    let (place, rest) = error.split_once(": byte ").unwrap();
    assert_eq!(place, "DIR/00000000000000000000.log");
    assert!(rest.starts_with(&format!("{good}: ")), "{error}");
    assert!(
        rest.contains("; read up to offset 0; kraft dump shows"),
        "{error}"
    );
    let single = load(&log.segment).unwrap_err().to_string();
    assert_eq!(log.named(&single), error);
}

#[test]
fn what_is_still_being_written_is_left_out() {
    let mut log = Log::new();
    log.append(1, &[topic("a")]);
    let good = fs::metadata(&log.segment).unwrap().len();
    log.append_bytes(&[0; 5_000]);
    let space = log.load().unwrap();
    assert_eq!((topics(&space), &space.notes), (vec!["a"], &Vec::new()));

    // The file ends inside the batch, or one of its sectors has not come.
    let next = batch(1, 1, &[topic(&"b".repeat(200)), topic(&"c".repeat(2_000))]);
    let written = fs::read(&log.segment).unwrap()[..good as usize].to_vec();
    let mut sector_missing = [&written[..], &next].concat();
    sector_missing[512..1_024].fill(0);
    for torn in [
        [&written[..], &next[..next.len() - 1]].concat(),
        sector_missing,
        [&written[..], &next[..9]].concat(),
    ] {
        fs::write(&log.segment, torn).unwrap();
        let loaded = log.load().unwrap();
        assert_eq!(topics(&loaded), ["a"]);
        let notes = log.notes(&loaded);
        assert!(
            notes[0].starts_with(&format!("DIR/00000000000000000000.log: byte {good}: ")),
            "{notes:?}"
        );
        assert!(
            notes[0].ends_with("; it is being written, or a crash has torn it, and is left out"),
            "{notes:?}"
        );
    }

    // Not in an earlier segment.
    log.next = 1;
    log.roll();
    let error = log.load().unwrap_err();
    assert!(error.contains("; read up to offset 0;"), "{error}");
}

#[test]
fn transactions_count_when_they_have_ended() {
    let begin = value(&BeginTransactionRecord::default());
    let end = value(&EndTransactionRecord::default());
    let abort = value(&AbortTransactionRecord::default());
    let mut log = Log::new();
    log.append(1, &[begin.clone(), topic("ended")]);
    log.append(1, &[end, begin.clone(), topic("aborted"), abort]);
    log.append(1, &[begin, topic("open")]);
    let loaded = log.load().unwrap();
    assert_eq!(topics(&loaded), ["ended"]);
    assert_eq!(
        loaded.notes,
        ["a transaction has not ended; its records (1) are not shown"]
    );
}

#[test]
fn records_that_leave_nothing_are_counted() {
    let level = |level| {
        value(&FeatureLevelRecord {
            name: "metadata.version".to_owned(),
            feature_level: level,
            ..FeatureLevelRecord::default()
        })
    };
    let mut log = Log::new();
    log.append(1, &[level(33), vec![1, 99, 0, 1, 2, 3]]);
    let one = log.load().unwrap();
    assert_eq!(
        one.notes,
        ["1 record is not shown, at offset 1: record type 99 is not known to this release"]
    );
    // A body that goes on, a frame and a level that are not known, an end of nothing; a no-op says nothing at any version.
    let end = value(&EndTransactionRecord::default());
    log.append(
        1,
        &[
            vec![1, 20, 9, 0],
            vec![1, 2, 0, 9],
            vec![2, 2, 0],
            level(999),
            end,
        ],
    );
    let more = log.load().unwrap();
    assert_eq!(
        more.notes,
        ["5 records are not shown, the first at offset 1: record type 99 is not known to this release"]
    );
    assert_eq!(
        more.image.metadata_version.map(|version| version.level()),
        Some(33)
    );
    log.snapshot(8, 1, &["a"]);
    let path = log.snapshot(9, 1, &[]);
    fs::remove_file(path).unwrap();
    assert_eq!(log.load().unwrap().notes, Vec::<String>::new());
}

#[test]
fn single_files_are_read_under_any_name() {
    let mut log = Log::new();
    log.append(1, &[topic("a")]);
    log.append(2, &[topic("b")]);
    let segment = load(&log.segment).unwrap();
    assert_eq!((topics(&segment), at(&segment)), (vec!["a", "b"], (1, 2, 1_001)));
    let snapshot = log.snapshot(40, 7, &["s", "t"]);
    // Where it stands is its last batch, as in Kafka's tool; the first offset is its header's.
    let named = load(&snapshot).unwrap();
    assert_eq!(topics(&named), ["s", "t"]);
    assert_eq!((at(&named).1, at(&named).2), (7, 88));
    let renamed = log.dir().join("saved");
    fs::copy(&snapshot, &renamed).unwrap();
    let saved = load(&renamed).unwrap();
    assert_eq!((topics(&saved), at(&saved)), (vec!["s", "t"], at(&named)));
    // Without its footer it is no whole snapshot, whatever its name.
    cut(&renamed, fs::metadata(&snapshot).unwrap().len() - 3);
    let error = load(&renamed).unwrap_err().to_string();
    assert!(
        error.ends_with("kraft dump shows what can be read of it"),
        "{error}"
    );
}

#[test]
fn what_is_no_log_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    let error = load(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains(": no segment and no snapshot of a metadata log in it; give the directory"),
        "{error}"
    );
    let text = folder.path().join("text");
    for content in [&b"hello"[..], &[7; 5_000], b""] {
        fs::write(&text, content).unwrap();
        let loaded = load(&text);
        if content.is_empty() {
            // An empty segment is one that a node has just begun.
            assert_eq!(at(&loaded.unwrap()), (-1, -1, -1));
        } else {
            let error = loaded.unwrap_err().to_string();
            assert!(
                error.ends_with("give a .log or .checkpoint file of a metadata log, or its directory"),
                "{error}"
            );
        }
    }
    let error = load(Path::new("/dev/zero")).unwrap_err().to_string();
    assert!(
        error.starts_with("/dev/zero: not a file of record batches"),
        "{error}"
    );
    let error = load(&folder.path().join("gone")).unwrap_err();
    assert!(matches!(error, LoadError::Read { .. }), "{error}");
}

#[test]
fn what_a_node_does_not_look_at_is_passed_over() {
    let mut log = Log::new();
    log.append(1, &[topic("a")]);
    fs::create_dir(log.dir().join("00000000000000000040.log")).unwrap();
    fs::create_dir(log.dir().join("00000000000000000040-0000000001.checkpoint")).unwrap();
    for name in [
        "foo.log",
        "00000000000000000009-0000000001.checkpoint.part",
        "notes.checkpoint",
    ] {
        fs::write(log.dir().join(name), b"x").unwrap();
    }
    assert_eq!(topics(&log.load().unwrap()), ["a"]);
}

#[test]
fn the_newest_snapshot_is_that_of_the_highest_epoch() {
    let mut log = Log::new();
    log.append(2, &[topic("a"), topic("b")]);
    log.snapshot(1, 2, &["newest"]);
    log.snapshot(90, 1, &["of-before"]);
    let loaded = log.load().unwrap();
    assert_eq!(
        (topics(&loaded), at(&loaded)),
        (vec!["b", "newest"], (1, 2, 1_000))
    );
}

#[test]
fn an_epoch_that_goes_back_is_damage() {
    let mut log = Log::new();
    log.append(3, &[topic("a")]);
    log.append(2, &[topic("b")]);
    let error = log.load().unwrap_err();
    assert!(
        error.contains(": a batch of epoch 2 behind one of epoch 3; read up to offset 0;"),
        "{error}"
    );
}
