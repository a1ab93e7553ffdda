//! Doing to a directory what was done to the one that Kafka was started on.

use crate::common::write;
use kraft_fs::{File, FileSystem, MemFs, Open};
use serde_json::Value;
use std::path::Path;

pub(crate) fn apply(fs: &MemFs, edit: &Value) {
    let text = |field: &str| edit[field].as_str().expect("text");
    let bytes = |field: &str| -> Vec<u8> {
        let digits = text(field).as_bytes();
        digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ascii"), 16).expect("hex"))
            .collect()
    };
    let path = Path::new("/data").join(text("file"));
    let other = |field: &str| Path::new("/data").join(text(field));
    let len = || {
        fs.metadata(&path)
            .expect("readable")
            .map_or(0, |metadata| metadata.len)
    };
    // A snapshot is read-only; whoever damages it does not care.
    if let Ok(file) = fs.open(&path, Open::Read) {
        file.set_mode(0o644).expect("a mode");
    }
    if edit.get("write_hex").is_some() {
        write(
            fs,
            &path,
            edit["offset"].as_u64().expect("a number"),
            &bytes("write_hex"),
        );
    } else if let Some(size) = edit["truncate_to"].as_u64() {
        fs.open(&path, Open::ReadWrite)
            .expect("opened")
            .set_len(size)
            .expect("cut");
    } else if edit.get("append_hex").is_some() {
        write(fs, &path, len(), &bytes("append_hex"));
    } else if let Some(zeros) = edit["append_zeros"].as_u64() {
        let file = fs.open(&path, Open::ReadWrite).expect("opened");
        file.set_len(len() + zeros).expect("extended");
    } else if edit.get("delete").is_some() {
        delete(fs, &path);
    } else if edit.get("rename_to").is_some() {
        fs.rename(&path, &other("rename_to")).expect("renamed");
    } else if edit.get("copy_to").is_some() {
        let content = fs
            .read_bounded(&path, 1 << 24)
            .expect("readable")
            .expect("it is there");
        delete(fs, &other("copy_to"));
        write(fs, &other("copy_to"), 0, &content);
    } else if edit.get("create_hex").is_some() {
        delete(fs, &path);
        write(fs, &path, 0, &bytes("create_hex"));
    } else if edit.get("set_text").is_some() {
        delete(fs, &path);
        write(fs, &path, 0, text("set_text").as_bytes());
    } else {
        assert!(edit.get("mkdir").is_some(), "unknown edit {edit}");
        fs.create_dir_all(&path).expect("created");
    }
}

pub(crate) fn delete(fs: &MemFs, path: &Path) {
    match fs.metadata(path).expect("readable") {
        Some(metadata) if metadata.is_dir => {
            for entry in fs.list(path).expect("listed") {
                fs.remove(&path.join(entry.name)).expect("removed");
            }
        }
        Some(_) => fs.remove(path).expect("removed"),
        None => {}
    }
}
