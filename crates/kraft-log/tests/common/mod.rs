//! Recorded directories, unpacked into memory.

use flate2::read::GzDecoder;
use kraft_fs::{File, FileSystem, MemFs, Open};
use kraft_log::METADATA_PARTITION_DIR;
use std::{
    io::Read,
    path::{Path, PathBuf},
};

pub(crate) const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors");

/// Unpacks a directory. Index files are cut short: they are 10 MiB of zeros each.
pub(crate) fn unpack(name: &str) -> (MemFs, PathBuf) {
    let fs = MemFs::new();
    let packed = std::fs::File::open(format!("{VECTORS}/dirs/{name}.tar.gz")).expect("readable");
    let mut archive = tar::Archive::new(GzDecoder::new(packed));
    let root = Path::new("/data");
    fs.create_dir_all(&root.join(METADATA_PARTITION_DIR))
        .expect("created");
    for entry in archive.entries().expect("a tar file") {
        let entry = entry.expect("an entry");
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = root.join(entry.path().expect("a path"));
        let mut bytes = Vec::new();
        entry.take(100_000).read_to_end(&mut bytes).expect("readable");
        write(&fs, &path, 0, &bytes);
        if path.extension().is_some_and(|suffix| suffix == "checkpoint") {
            let file = fs.open(&path, Open::Read).expect("it is there");
            file.set_mode(0o400).expect("a mode");
        }
    }
    (fs, root.join(METADATA_PARTITION_DIR))
}

/// Writes into a file, which need not exist.
pub(crate) fn write(fs: &MemFs, path: &Path, offset: u64, bytes: &[u8]) {
    fs.create_dir_all(path.parent().expect("a directory"))
        .expect("created");
    let file = fs.open(path, Open::Create).expect("opened");
    file.write_all_at(bytes, offset).expect("written");
}

/// Every file with its content.
pub(crate) fn files(fs: &MemFs, dir: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs.list(dir).expect("listed").into_iter();
    entries
        .filter(|entry| !entry.metadata.is_dir)
        .map(|entry| {
            let bytes = fs
                .read_bounded(&dir.join(&entry.name), 1 << 24)
                .expect("readable");
            (entry.name, bytes.expect("it is there"))
        })
        .collect()
}
