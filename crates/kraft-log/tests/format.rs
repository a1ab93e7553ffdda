//! Formatting: the files that Kafka's tool wrote, byte for byte, and every reason to refuse.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use kraft_core::{Endpoint, Endpoints, NodeId, ReplicaKey, SnapshotId, SupportedVersions, VoterNode};
use kraft_fs::{Fault, FaultyFs, FileSystem, MemFs, RealFs, Unsynced, replace_file};
use kraft_log::{
    METADATA_PARTITION_DIR, MetaProperties,
    format::{DirectoryKind, FormatError, FormatReport, FormatRequest, InitialVoters, format},
    meta_properties::FILE_NAME,
};
use kraft_snapshot::SnapshotReader;
use serde_json::Value;
use uuid::Uuid;

const CHECKPOINT: &str = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint";

fn vectors() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/formatted")
}

/// What Kafka's tool was given and what its clock said, as far as its files tell.
struct Recorded {
    dir: PathBuf,
    properties: MetaProperties,
    voters: InitialVoters,
    values: Vec<Vec<u8>>,
    times: Vec<i64>,
}

fn recorded(name: &str) -> Recorded {
    let dir = vectors().join(name);
    let properties = MetaProperties::load(&RealFs, &dir).unwrap().unwrap();
    let partition = dir.join(METADATA_PARTITION_DIR);
    let mut reader = SnapshotReader::open(&RealFs, &partition, SnapshotId::BOOTSTRAP)
        .unwrap()
        .unwrap();
    let voters = match &reader.header().voters {
        Some(voters) => InitialVoters::Listed(voters.clone()),
        None if reader.header().kraft_version == 1 => InitialVoters::Elsewhere,
        None => InitialVoters::Static,
    };
    let mut values = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        values.extend(batch.values().map(|value| value.to_vec()));
    }
    let json: Value =
        serde_json::from_slice(&fs::read(vectors().join(format!("{name}.json"))).unwrap()).unwrap();
    let batches = json["snapshots"][0]["batches"].as_array().unwrap();
    let mut times = vec![
        batches[0]["records"][0]["lastContainedLogTimestamp"]
            .as_i64()
            .unwrap(),
    ];
    times.extend(batches.iter().map(|batch| batch["timestamp"].as_i64().unwrap()));
    // The file with the date is the last one; its date line tells only the second.
    let text = fs::read_to_string(dir.join(FILE_NAME)).unwrap();
    let second: i64 = text.lines().nth(1).unwrap()[18..20].parse().unwrap();
    times.push(1_795_963_380_000 + second * 1000);
    Recorded {
        dir,
        properties,
        voters,
        values,
        times,
    }
}

#[test]
fn formats_as_kafka_does() {
    let names = [
        ("formatted-initial-controllers", DirectoryKind::DynamicVoter),
        ("formatted-no-initial-controllers", DirectoryKind::Metadata),
        ("formatted-standalone", DirectoryKind::DynamicVoter),
        ("formatted-standalone-scram", DirectoryKind::DynamicVoter),
        ("formatted-static-3.9-IV0", DirectoryKind::Metadata),
        ("formatted-static-4.0-IV3", DirectoryKind::Metadata),
        ("formatted-static-latest", DirectoryKind::Metadata),
    ];
    for (name, kind) in names {
        let recorded = recorded(name);
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("below/d");
        let mut times = recorded.times.into_iter();
        let report = format(
            &RealFs,
            FormatRequest {
                directories: std::slice::from_ref(&dir),
                metadata_dir: &dir,
                cluster_id: recorded.properties.cluster_id.as_deref().unwrap(),
                node_id: recorded.properties.node_id.unwrap(),
                controller: true,
                voters: recorded.voters,
                bootstrap_values: &recorded.values,
                ignore_formatted: false,
                clock: &mut || times.next().unwrap(),
                random_bytes: &mut || recorded.properties.directory_id.unwrap().into_bytes(),
            },
        )
        .unwrap();
        assert_eq!(report.formatted.len(), 1);
        assert_eq!(report.formatted[0].kind, kind, "{name}");
        for file in [FILE_NAME, CHECKPOINT] {
            let written = fs::read(dir.join(file)).unwrap();
            assert!(
                written == fs::read(recorded.dir.join(file)).unwrap(),
                "{name}: {file}"
            );
        }
        let names = |dir: &Path| {
            let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<_> = names.collect();
            names.sort();
            names
        };
        assert_eq!(names(&dir), names(&recorded.dir));
        assert_eq!(names(&dir.join(METADATA_PARTITION_DIR)).len(), 1);
        let mode = fs::metadata(dir.join(CHECKPOINT)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o400);
    }
}

const META: &str = "/a/meta";
const DATA: &str = "/b/data";

struct Setup {
    fs: MemFs,
    directories: Vec<PathBuf>,
    voters: InitialVoters,
    cluster_id: &'static str,
    node_id: i32,
    controller: bool,
    ignore_formatted: bool,
}

impl Setup {
    fn new() -> Self {
        Self {
            fs: MemFs::new(),
            directories: vec![PathBuf::from(DATA), PathBuf::from(META)],
            voters: InitialVoters::Static,
            cluster_id: "c",
            node_id: 1,
            controller: true,
            ignore_formatted: false,
        }
    }

    fn with_file(self, dir: &str, text: &str) -> Self {
        self.fs.create_dir_all(Path::new(dir)).unwrap();
        replace_file(&self.fs, Path::new(dir), FILE_NAME, text.as_bytes()).unwrap();
        self
    }

    fn format(&self) -> Result<FormatReport, FormatError> {
        let mut next = 0;
        format(
            &self.fs,
            FormatRequest {
                directories: &self.directories,
                metadata_dir: Path::new(META),
                cluster_id: self.cluster_id,
                node_id: self.node_id,
                controller: self.controller,
                voters: self.voters.clone(),
                bootstrap_values: &[b"\x01\x14\x00\x00".to_vec()],
                ignore_formatted: self.ignore_formatted,
                clock: &mut || 0,
                random_bytes: &mut || {
                    next += 1;
                    [next; 16]
                },
            },
        )
    }

    /// The reason to refuse, after which nothing is written.
    fn error(&self) -> FormatError {
        let syncs = self.fs.syncs();
        let error = self.format().unwrap_err();
        assert_eq!(self.fs.syncs(), syncs, "something was written");
        assert!(!error.to_string().contains('\n'));
        error
    }

    fn exists(&self, path: &str) -> bool {
        self.fs.metadata(Path::new(path)).unwrap().is_some()
    }
}

fn voters(ids: &[(i32, u128)]) -> InitialVoters {
    let node = |(id, directory): &(i32, u128)| VoterNode {
        key: ReplicaKey::new(NodeId(*id), Uuid::from_u128(*directory)),
        endpoints: Endpoints::single(
            "CONTROLLER",
            Endpoint {
                host: "h".into(),
                port: 9093,
            },
        ),
        kraft_versions: SupportedVersions { min: 0, max: 1 },
    };
    InitialVoters::Listed(ids.iter().map(node).collect())
}

#[test]
fn several_directories_get_different_ids_and_one_checkpoint() {
    let mut setup = Setup::new();
    setup.voters = voters(&[(1, 1000), (2, 2000)]);
    let report = setup.format().unwrap();
    let kinds: Vec<_> = report
        .formatted
        .iter()
        .map(|dir| (dir.path.to_str().unwrap(), dir.kind))
        .collect();
    assert_eq!(
        kinds,
        [(DATA, DirectoryKind::Data), (META, DirectoryKind::DynamicVoter)]
    );
    assert_eq!(report.formatted[1].directory_id, Uuid::from_u128(1000));
    assert!(setup.exists(&format!("{META}/{CHECKPOINT}")));
    assert!(!setup.exists(&format!("{DATA}/{METADATA_PARTITION_DIR}")));

    // All of it is durable.
    let after = setup.fs.crash_image(Unsynced::Lost);
    for dir in &report.formatted {
        let properties = MetaProperties::load(&after, &dir.path).unwrap().unwrap();
        assert_eq!(properties, MetaProperties::new("c", 1, dir.directory_id));
    }
    let partition = Path::new(META).join(METADATA_PARTITION_DIR);
    let mut reader = SnapshotReader::open(&after, &partition, SnapshotId::BOOTSTRAP)
        .unwrap()
        .unwrap();
    reader.verify_rest().unwrap();
}

#[test]
fn a_node_outside_the_list_gets_an_id_of_its_own() {
    let mut setup = Setup::new();
    setup.voters = voters(&[(2, 2000)]);
    let report = setup.format().unwrap();
    assert_eq!(report.formatted[1].kind, DirectoryKind::DynamicNonVoter);
    assert_ne!(report.formatted[0].directory_id, report.formatted[1].directory_id);
}

#[test]
fn a_broker_gets_no_checkpoint() {
    let mut setup = Setup::new();
    setup.controller = false;
    setup.format().unwrap();
    assert!(setup.exists(&format!("{META}/{FILE_NAME}")));
    assert!(!setup.exists(&format!("{META}/{METADATA_PARTITION_DIR}")));
}

#[test]
fn formatted_directories_are_refused_or_passed_over() {
    let mut setup = Setup::new().with_file(DATA, "version=1\nnode.id=1\ncluster.id=c\n");
    assert_eq!(
        setup.error().to_string(),
        "Log directory /b/data is already formatted. Use --ignore-formatted to ignore this directory and format the others."
    );
    setup.ignore_formatted = true;
    let report = setup.format().unwrap();
    assert_eq!(report.already_formatted, [PathBuf::from(DATA)]);
    assert_eq!(report.formatted.len(), 1);
    let again = setup.format().unwrap();
    assert_eq!(again.formatted, []);
    assert_eq!(again.already_formatted.len(), 2);
}

#[test]
fn what_contradicts_the_request_is_refused() {
    let refused = |text: &str| {
        let mut setup = Setup::new().with_file(DATA, text);
        setup.ignore_formatted = true;
        setup.error()
    };
    assert!(matches!(
        refused("version=1\nnode.id=1\ncluster.id=d"),
        FormatError::OtherCluster { found, .. } if found == "d"
    ));
    assert!(matches!(
        refused("version=1\nnode.id=2\ncluster.id=c"),
        FormatError::OtherNode {
            found: 2,
            requested: 1,
            ..
        }
    ));
    assert!(matches!(
        refused("version=1\nnode.id=1\ncluster.id=c\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ"),
        FormatError::ReservedDirectoryId { .. }
    ));
    let text = "version=1\nnode.id=1\ncluster.id=c\ndirectory.id=J8aAPcfLQt2bqs1JT_rMgQ";
    let setup = Setup::new().with_file(DATA, text).with_file(META, text);
    assert!(matches!(setup.error(), FormatError::DuplicateDirectoryId { .. }));
}

#[test]
fn requests_that_mean_nothing_are_refused() {
    let refused = |change: fn(&mut Setup)| {
        let mut setup = Setup::new();
        change(&mut setup);
        setup.error()
    };
    assert!(matches!(
        refused(|setup| setup.node_id = -1),
        FormatError::NegativeNodeId { .. }
    ));
    assert!(matches!(
        refused(|setup| setup.cluster_id = ""),
        FormatError::EmptyClusterId
    ));
    assert!(matches!(
        refused(|setup| setup.directories.clear()),
        FormatError::NoDirectories
    ));
    assert!(matches!(
        refused(|setup| setup.directories.truncate(1)),
        FormatError::MetadataDirNotListed { .. }
    ));
    assert!(matches!(
        refused(|setup| setup.voters = voters(&[])),
        FormatError::NoVoters
    ));
    assert!(matches!(
        refused(|setup| setup.voters = voters(&[(1, 0)])),
        FormatError::ReservedVoterDirectory { node_id: 1, .. }
    ));
}

#[test]
fn unreadable_directories_are_left_alone() {
    let setup = Setup::new().with_file(DATA, "version=9");
    let report = setup.format().unwrap();
    assert_eq!(report.formatted.len(), 1);
    assert_eq!(report.ignored[0].0, Path::new(DATA));
    assert!(report.ignored[0].1.contains("version=9"));

    let setup = Setup::new()
        .with_file(DATA, "version=9")
        .with_file(META, "version=9");
    assert!(matches!(setup.error(), FormatError::NothingReadable { .. }));
}

#[test]
fn an_interrupted_run_leaves_the_directory_unformatted() {
    let setup = Setup::new();
    setup.format().unwrap();
    // As if the run had ended right before the last file.
    setup.fs.remove(&Path::new(META).join(FILE_NAME)).unwrap();
    setup.fs.remove(&Path::new(DATA).join(FILE_NAME)).unwrap();
    let report = setup.format().unwrap();
    assert_eq!(report.formatted.len(), 2);
    let partition = Path::new(META).join(METADATA_PARTITION_DIR);
    assert_eq!(setup.fs.list(&partition).unwrap().len(), 1);
}

/// Whatever call fails and whatever a crash then leaves: a directory that counts as formatted has a whole checkpoint.
#[test]
fn a_fault_never_leaves_half_a_formatted_directory() {
    let dir = PathBuf::from(META);
    let mut failed = 0;
    for skip in 0.. {
        let mem = MemFs::new();
        let faulty = FaultyFs::new(mem.clone());
        faulty.arm(skip, Fault::NoSpace);
        let request = FormatRequest {
            directories: std::slice::from_ref(&dir),
            metadata_dir: &dir,
            cluster_id: "c",
            node_id: 1,
            controller: true,
            voters: voters(&[(1, 1000)]),
            bootstrap_values: &[b"\x01\x14\x00\x00".to_vec()],
            ignore_formatted: false,
            clock: &mut || 0,
            random_bytes: &mut || [1; 16],
        };
        let result = format(&faulty, request);
        for crash in [Unsynced::Lost, Unsynced::Kept]
            .into_iter()
            .chain((0..8).map(|seed| Unsynced::Torn { seed }))
        {
            let image = mem.crash_image(crash);
            if MetaProperties::load(&image, &dir).unwrap().is_some() {
                let partition = dir.join(METADATA_PARTITION_DIR);
                let mut reader = SnapshotReader::open(&image, &partition, SnapshotId::BOOTSTRAP)
                    .unwrap()
                    .unwrap();
                reader.verify_rest().unwrap();
            } else {
                assert!(result.is_err());
            }
        }
        match result {
            Ok(_) => break,
            Err(FormatError::Io { .. } | FormatError::Checkpoint(_)) => failed += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(failed >= 10, "{failed} calls can fail");
}
