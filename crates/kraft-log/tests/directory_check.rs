//! Which directories a node starts on: every refusal names the file, says what to do, and changes nothing.
// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use kraft_fs::{FileSystem, MemFs, replace_file};
use kraft_log::{
    ConfiguredDirectories, DirectoryCheckError, MetaProperties, check_directories, directory_info,
    meta_properties::FILE_NAME,
};
use uuid::Uuid;

const METADATA_DIR: &str = "/meta";
const OTHER_DIR: &str = "/other";

struct Node {
    fs: MemFs,
    log_dirs: Vec<PathBuf>,
}

impl Node {
    /// Two directories with these texts in their `meta.properties`, where there are any.
    fn new(metadata: Option<&str>, other: Option<&str>) -> Self {
        let fs = MemFs::new();
        for (dir, text) in [(METADATA_DIR, metadata), (OTHER_DIR, other)] {
            fs.create_dir_all(Path::new(dir)).unwrap();
            if let Some(text) = text {
                replace_file(&fs, Path::new(dir), FILE_NAME, text.as_bytes()).unwrap();
            }
        }
        Self {
            fs,
            log_dirs: vec![PathBuf::from(OTHER_DIR), PathBuf::from(METADATA_DIR)],
        }
    }

    fn configured(&self) -> ConfiguredDirectories<'_> {
        ConfiguredDirectories {
            node_id: 1,
            metadata_dir: Path::new(METADATA_DIR),
            log_dirs: &self.log_dirs,
        }
    }

    fn error(&self) -> DirectoryCheckError {
        let syncs = self.fs.syncs();
        let error = check_directories(&self.fs, self.configured()).unwrap_err();
        assert_eq!(self.fs.syncs(), syncs, "something was written");
        assert!(!error.to_string().contains('\n'), "{error}");
        error
    }

    fn text(&self, dir: &str) -> String {
        let path = Path::new(dir).join(FILE_NAME);
        String::from_utf8(self.fs.read_bounded(&path, 1000).unwrap().unwrap()).unwrap()
    }
}

fn text(node: i32, cluster: &str, directory: u128) -> String {
    let properties = MetaProperties::new(cluster, node, Uuid::from_u128(directory));
    String::from_utf8(properties.format(0)).unwrap()
}

#[test]
fn matching_directories_pass() {
    let node = Node::new(Some(&text(1, "c", 1000)), Some(&text(1, "c", 2000)));
    let mut checked = check_directories(&node.fs, node.configured()).unwrap();
    assert_eq!(checked.cluster_id(), "c");
    assert_eq!(checked.metadata_directory_id(), Some(Uuid::from_u128(1000)));
    assert_eq!(checked.directories().len(), 2);
    assert_eq!(checked.directories()[0].path, Path::new(METADATA_DIR));
    let syncs = node.fs.syncs();
    checked
        .give_missing_ids(&node.fs, &mut || panic!("no id is missing"), 0)
        .unwrap();
    assert_eq!(node.fs.syncs(), syncs);
}

#[test]
fn a_missing_directory_id_is_given_and_stored() {
    let without = "version=1\nnode.id=1\ncluster.id=c\n";
    let node = Node::new(Some(without), Some("broker.id=1\ncluster.id=c"));
    let mut checked = check_directories(&node.fs, node.configured()).unwrap();
    assert_eq!(checked.metadata_directory_id(), None);
    // The first id begins with a dash in its text form and the third is the one already given: both are passed over.
    let mut bytes = [[0xfb; 16], [1; 16], [1; 16], [2; 16]].into_iter();
    checked
        .give_missing_ids(&node.fs, &mut || bytes.next().unwrap(), 0)
        .unwrap();
    assert_eq!(
        node.text(METADATA_DIR),
        "#\n#Thu Jan 01 00:00:00 UTC 1970\nnode.id=1\ndirectory.id=AQEBAQEBAQEBAQEBAQEBAQ\nversion=1\ncluster.id=c\n"
    );
    assert_eq!(
        node.text(OTHER_DIR),
        "#\n#Thu Jan 01 00:00:00 UTC 1970\nbroker.id=1\ndirectory.id=AgICAgICAgICAgICAgICAg\nversion=0\ncluster.id=c\n"
    );
    let again = check_directories(&node.fs, node.configured()).unwrap();
    assert_eq!(again, checked);
}

#[test]
fn each_mistake_has_its_own_error() {
    use DirectoryCheckError as Error;
    let good = text(1, "c", 1000);
    let other = text(1, "c", 2000);
    let (good, other) = (Some(good.as_str()), Some(other.as_str()));
    let error = |metadata: Option<&str>, other: Option<&str>| Node::new(metadata, other).error();

    assert!(matches!(error(None, other), Error::NotFormatted { .. }));
    assert!(
        matches!(error(good, None), Error::NotFormatted { file } if file == Path::new("/other/meta.properties"))
    );
    assert!(matches!(
        error(Some(&text(2, "c", 1000)), other),
        Error::OtherNode {
            found: 2,
            configured: 1,
            ..
        }
    ));
    assert!(matches!(
        error(good, Some(&text(1, "d", 2000))),
        Error::OtherCluster { .. }
    ));
    assert!(matches!(
        error(good, Some(&text(1, "c", 1000))),
        Error::DuplicateDirectoryId { .. }
    ));
    assert!(matches!(
        error(Some(&text(1, "c", 7)), other),
        Error::ReservedDirectoryId { .. }
    ));
    assert!(matches!(
        error(Some("version=2\nnode.id=1\ncluster.id=c"), other),
        Error::UnknownVersion { version, .. } if version == "2"
    ));
    assert!(matches!(error(Some("version=1"), other), Error::Malformed { .. }));
    assert!(matches!(
        error(Some(""), other),
        Error::MissingKey { key: "broker.id", .. }
    ));
    assert!(matches!(
        error(Some("broker.id=1"), other),
        Error::MissingKey {
            key: "cluster.id",
            ..
        }
    ));

    let node = Node::new(good, other);
    node.fs
        .create_dir_all(Path::new("/other/__cluster_metadata-0"))
        .unwrap();
    assert!(matches!(node.error(), Error::StrayMetadataLog { .. }));

    let mut node = Node::new(good, other);
    node.log_dirs.push(PathBuf::from("/nowhere"));
    assert!(matches!(node.error(), Error::NoSuchDirectory { dir } if dir == Path::new("/nowhere")));
}

#[test]
fn an_error_is_one_line_with_file_and_way_out() {
    let node = Node::new(Some(&text(2, "c", 1000)), None);
    node.fs.create_dir_all(Path::new(OTHER_DIR)).unwrap();
    replace_file(
        &node.fs,
        Path::new(OTHER_DIR),
        FILE_NAME,
        text(1, "c", 2000).as_bytes(),
    )
    .unwrap();
    assert_eq!(
        node.error().to_string(),
        "/meta/meta.properties: the directory belongs to node 2, node.id is 1; correct node.id or log.dirs"
    );
}

#[test]
fn info_tells_what_is_there_and_what_is_wrong() {
    let node = Node::new(Some(&text(1, "c", 1000)), Some(&text(1, "c", 2000)));
    let info = directory_info(&node.fs, &node.log_dirs);
    assert_eq!(
        info.found,
        [PathBuf::from(METADATA_DIR), PathBuf::from(OTHER_DIR)]
    );
    assert!(info.problems.is_empty());
    let entries: Vec<String> = info
        .metadata
        .unwrap()
        .sorted_entries()
        .into_iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(
        entries,
        [
            "cluster.id=c",
            "directory.id=AAAAAAAAAAAAAAAAAAAD6A",
            "node.id=1",
            "version=1"
        ]
    );

    let problems = |metadata: Option<&str>, other: Option<&str>, extra: &str| -> Vec<String> {
        let mut node = Node::new(metadata, other);
        if !extra.is_empty() {
            node.log_dirs.push(PathBuf::from(extra));
        }
        let info = directory_info(&node.fs, &node.log_dirs);
        info.problems.iter().map(ToString::to_string).collect()
    };
    let good = text(1, "c", 1000);
    let good = Some(good.as_str());
    assert_eq!(problems(good, None, ""), ["/other is not formatted."]);
    assert_eq!(
        problems(good, Some(&text(2, "d", 2000)), ""),
        ["Mismatched cluster IDs between storage directories."]
    );
    assert_eq!(
        problems(good, Some(&text(2, "c", 2000)), "/gone"),
        [
            "/gone does not exist",
            "Mismatched node IDs between storage directories."
        ]
    );
    assert_eq!(
        problems(good, Some("version=9"), "/meta/meta.properties"),
        [
            "/meta/meta.properties is not a directory",
            "Error loading /other/meta.properties: version=9 is not known, 0 and 1 are"
        ]
    );
    assert_eq!(problems(Some("broker.id=1\ncluster.id=c"), None, "").len(), 2);
}
