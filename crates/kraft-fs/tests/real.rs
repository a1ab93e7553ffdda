//! The operating system's file system, by the same contract as the one in memory.

use kraft_fs::{Fault, FaultyFs, File, FileSystem, LockError, Metadata, Open, RealFs, replace_file};
use std::{io, os::unix::fs::PermissionsExt};

#[test]
fn files_are_written_read_cut_renamed_listed_and_removed() -> io::Result<()> {
    let root = tempfile::tempdir()?;
    let dir = root.path().join("a/b");
    RealFs.create_dir_all(&dir)?;
    let path = dir.join("f");
    let file = RealFs.open(&path, Open::CreateNew)?;
    file.allocate(0, 100_000)?;
    file.write_all_at(b"hello", 10)?;
    file.sync_data()?;
    assert_eq!(file.len()?, 100_000);
    file.set_len(15)?;
    let mut read = [0; 15];
    file.read_exact_at(&mut read, 0)?;
    assert_eq!(&read, b"\0\0\0\0\0\0\0\0\0\0hello");
    let beyond = file.read_exact_at(&mut read, 1).unwrap_err();
    assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);

    file.set_mode(0o400)?;
    assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, 0o400);
    RealFs.rename(&path, &dir.join("g"))?;
    RealFs.sync_dir(&dir)?;
    let names: Vec<_> = RealFs.list(&dir)?.into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["g"]);
    let g = Some(Metadata {
        is_dir: false,
        len: 15,
    });
    assert_eq!(RealFs.metadata(&dir.join("g"))?, g);
    RealFs.remove(&dir.join("g"))?;
    assert_eq!(RealFs.metadata(&dir.join("g"))?, None);
    assert_eq!(RealFs.read_bounded(&dir.join("g"), 10)?, None);
    Ok(())
}

/// More than there is, nothing at all, and more at once than is begun at once.
#[test]
fn writing_back_early_changes_no_byte_and_hides_no_write() -> io::Result<()> {
    let root = tempfile::tempdir()?;
    let path = root.path().join("f");
    let file = RealFs.open(&path, Open::CreateNew)?;
    let piece: Vec<u8> = (0..100_003_u32).map(|n| (n % 251) as u8).collect();
    let mut expected = Vec::new();
    for _ in 0..40 {
        let offset = expected.len() as u64;
        file.write_all_at(&piece, offset)?;
        expected.extend_from_slice(&piece);
        file.start_writing_back(offset, piece.len() as u64);
        file.start_writing_back(offset, 0);
        file.start_writing_back(offset + 1, u64::MAX);
        file.write_all_at(b"again", offset)?;
        expected[offset as usize..][..5].copy_from_slice(b"again");
    }
    file.sync_all()?;
    drop(file);
    assert!(std::fs::read(&path)? == expected);
    Ok(())
}

/// Synced and not, beyond the end, and nothing at all.
#[test]
fn leaving_the_cache_changes_no_byte() -> io::Result<()> {
    let root = tempfile::tempdir()?;
    let path = root.path().join("f");
    let file = RealFs.open(&path, Open::CreateNew)?;
    let bytes: Vec<u8> = (0..100_003_u32).map(|n| (n % 251) as u8).collect();
    file.write_all_at(&bytes, 0)?;
    for (offset, len) in [(0, 50_000), (1, 0), (4096, u64::MAX)] {
        file.leave_cache(offset, len);
        file.sync_data()?;
        file.leave_cache(offset, len);
    }
    assert!(std::fs::read(&path)? == bytes);
    Ok(())
}

#[test]
fn a_small_file_is_replaced_and_its_temporary_is_gone() -> io::Result<()> {
    let root = tempfile::tempdir()?;
    std::fs::write(root.path().join("f.tmp"), b"left by a crash")?;
    replace_file(&RealFs, root.path(), "f", b"one")?;
    replace_file(&RealFs, root.path(), "f", b"two")?;
    assert_eq!(
        RealFs.read_bounded(&root.path().join("f"), 3)?,
        Some(b"two".to_vec())
    );
    assert_eq!(RealFs.list(root.path())?.len(), 1);
    let too_large = RealFs.read_bounded(&root.path().join("f"), 2).unwrap_err();
    assert_eq!(too_large.kind(), io::ErrorKind::InvalidData);
    Ok(())
}

#[test]
fn a_directory_is_locked_once_in_a_process_by_whatever_path() {
    let root = tempfile::tempdir().unwrap();
    let lock = RealFs.lock_dir(root.path()).unwrap();
    let around = root.path().join("../").join(root.path().file_name().unwrap());
    assert!(matches!(
        RealFs.lock_dir(&around),
        Err(LockError::HeldHere { .. })
    ));
    drop(lock);
    RealFs.lock_dir(root.path()).unwrap();
}

#[test]
fn a_link_counts_as_what_it_leads_to_and_one_that_leads_nowhere_is_not_absent() {
    let root = tempfile::tempdir().unwrap();
    let link = |to: &str| {
        let _ = std::fs::remove_file(root.path().join("link"));
        std::os::unix::fs::symlink(to, root.path().join("link")).unwrap();
        RealFs.list(root.path())
    };
    std::fs::write(root.path().join("file"), b"abc").unwrap();
    let linked = |to: &str| {
        let entries = link(to).unwrap().into_iter();
        let parts = entries.map(|entry| (entry.name, entry.metadata.len, entry.leads_nowhere));
        parts.collect::<Vec<_>>()
    };
    let file = ("file".to_owned(), 3, false);
    let with = |len, nowhere| vec![file.clone(), ("link".to_owned(), len, nowhere)];
    assert_eq!(linked("file"), with(3, false));
    assert_eq!(linked("/nonexistent/file"), with(0, true));
    assert_eq!(linked("link"), with(0, true), "a circle");
}

#[test]
fn a_disk_says_how_much_is_free() {
    let root = tempfile::tempdir().unwrap();
    assert!(RealFs.free_bytes(root.path()).unwrap() > 4096);
    let missing = RealFs.free_bytes(&root.path().join("missing")).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
}

#[test]
fn the_chosen_call_fails_once() {
    let root = tempfile::tempdir().unwrap();
    let fs = FaultyFs::new(RealFs);
    fs.arm(2, Fault::NoSpace);
    let file = fs.open(&root.path().join("f"), Open::CreateNew).unwrap();
    file.write_all_at(b"x", 0).unwrap();
    assert_eq!(file.sync_data().unwrap_err().kind(), io::ErrorKind::StorageFull);
    file.sync_data().unwrap();
    assert_eq!(fs.calls(), 4);
}
