//! Directories recorded from Apache Kafka 4.4.0; their README says how.

use std::path::Path;
use std::process::Command;

const DIRECTORIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../kraft-log/tests/vectors/dirs");

/// Unpacks what was in `log.dirs` into a folder.
pub(crate) fn unpack(name: &str, folder: &Path) {
    let mut tar = Command::new("tar");
    tar.arg("xzf").arg(format!("{DIRECTORIES}/{name}.tar.gz"));
    let status = tar.arg("-C").arg(folder).status().unwrap();
    assert!(status.success(), "{name}: tar ends with {status}");
    let names = || std::fs::read_dir(folder).unwrap().collect::<Vec<_>>();
    assert!(folder.join("meta.properties").exists(), "{name}: {:?}", names());
}
