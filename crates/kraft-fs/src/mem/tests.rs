use super::*;
use crate::replace_file;

fn dir() -> &'static Path {
    Path::new("/d")
}

fn fs() -> MemFs {
    let fs = MemFs::new();
    fs.create_dir_all(dir()).unwrap();
    fs.sync_dir(Path::new("/")).unwrap();
    fs
}

fn read(fs: &MemFs, name: &str) -> Option<Vec<u8>> {
    fs.read_bounded(&dir().join(name), 1 << 20).unwrap()
}

#[test]
fn a_crash_loses_bytes_and_names_that_were_not_synced() {
    let fs = fs();
    let kept = fs.open(&dir().join("kept"), Open::CreateNew).unwrap();
    kept.write_all_at(b"one", 0).unwrap();
    kept.sync_data().unwrap();
    fs.sync_dir(dir()).unwrap();
    kept.write_all_at(b"two", 3).unwrap();
    let unnamed = fs.open(&dir().join("unnamed"), Open::CreateNew).unwrap();
    unnamed.sync_all().unwrap();

    let lost = fs.crash_image(Unsynced::Lost);
    assert_eq!(read(&lost, "kept"), Some(b"one".to_vec()));
    assert_eq!(read(&lost, "unnamed"), None);

    let all = fs.crash_image(Unsynced::Kept);
    assert_eq!(read(&all, "kept"), Some(b"onetwo".to_vec()));
    assert_eq!(read(&all, "unnamed"), Some(Vec::new()));
}

#[test]
fn a_directory_whose_name_was_not_synced_is_lost_with_all_in_it() {
    let fs = MemFs::new();
    fs.create_dir_all(dir()).unwrap();
    replace_file(&fs, dir(), "f", b"x").unwrap();
    assert_eq!(fs.crash_image(Unsynced::Lost).metadata(dir()).unwrap(), None);
}

#[test]
fn torn_images_are_made_of_whole_sectors_and_replay_from_their_seed() {
    let fs = fs();
    let file = fs.open(&dir().join("f"), Open::CreateNew).unwrap();
    file.write_all_at(&[1; 2048], 0).unwrap();
    file.sync_data().unwrap();
    fs.sync_dir(dir()).unwrap();
    file.write_all_at(&[2; 2048], 1024).unwrap();

    let mut images = BTreeSet::new();
    for seed in 0..200 {
        let image = read(&fs.crash_image(Unsynced::Torn { seed }), "f").unwrap();
        assert_eq!(
            Some(&image),
            read(&fs.crash_image(Unsynced::Torn { seed }), "f").as_ref()
        );
        assert_eq!(&image[..1024], &[1; 1024]);
        for (n, sector) in image.chunks(512).enumerate().skip(2) {
            assert!(
                sector.iter().all(|byte| *byte == sector[0]),
                "sector {n} is whole"
            );
        }
        images.insert(image);
    }
    assert!(images.len() > 10, "the seeds reach many images");
}

/// Beside a model that keeps two whole copies.
#[test]
fn what_is_durable_is_what_the_last_sync_has_seen() {
    for seed in 0..300 {
        let mut rng = Rng(seed);
        let fs = fs();
        let file = fs.open(&dir().join("f"), Open::CreateNew).unwrap();
        fs.sync_dir(dir()).unwrap();
        let (mut model, mut durable) = (Vec::new(), Vec::new());
        for step in 0..40 {
            let at = rng.below(3000) as usize;
            match rng.below(5) {
                0 => {
                    file.sync_data().unwrap();
                    durable.clone_from(&model);
                }
                1 => {
                    file.set_len(at as u64).unwrap();
                    model.resize(at, 0);
                }
                appends => {
                    let at = if appends == 2 { model.len() } else { at };
                    let bytes = vec![step + 1; 1 + rng.below(1500) as usize];
                    file.write_all_at(&bytes, at as u64).unwrap();
                    model.resize(model.len().max(at + bytes.len()), 0);
                    model[at..at + bytes.len()].copy_from_slice(&bytes);
                }
            }
            assert_eq!(read(&fs, "f").as_ref(), Some(&model), "seed {seed}");
            let lost = fs.crash_image(Unsynced::Lost);
            assert_eq!(read(&lost, "f").as_ref(), Some(&durable), "seed {seed}");
            let torn = read(&fs.crash_image(Unsynced::Torn { seed }), "f").unwrap();
            let of = |whole: &[u8], at: usize| whole.get(at).copied().unwrap_or(0);
            let explained = |(at, byte): (usize, &u8)| [of(&model, at), of(&durable, at)].contains(byte);
            assert!(torn.iter().enumerate().all(explained), "seed {seed}");
        }
    }
}

#[test]
fn replacing_a_file_leaves_the_old_or_the_new_content_at_every_crash() {
    let fs = fs();
    replace_file(&fs, dir(), "f", b"old").unwrap();
    replace_file(&fs, dir(), "f", b"new").unwrap();
    for seed in 0..50 {
        assert_eq!(
            read(&fs.crash_image(Unsynced::Torn { seed }), "f"),
            Some(b"new".to_vec())
        );
    }
}

#[test]
fn a_directory_is_locked_once_until_the_lock_is_dropped() {
    let fs = fs();
    let lock = fs.lock_dir(dir()).unwrap();
    assert!(matches!(fs.lock_dir(dir()), Err(LockError::HeldHere { .. })));
    drop(lock);
    fs.lock_dir(dir()).unwrap();
}

#[test]
fn read_only_files_and_handles_refuse_writes() {
    let fs = fs();
    let path = dir().join("f");
    let file = fs.open(&path, Open::CreateNew).unwrap();
    file.set_mode(0o400).unwrap();
    let refused = fs.open(&path, Open::ReadWrite).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    let reader = fs.open(&path, Open::Read).unwrap();
    assert_eq!(
        reader.write_all_at(b"x", 0).unwrap_err().kind(),
        io::ErrorKind::PermissionDenied
    );
}

#[test]
fn a_full_disk_takes_what_fits_and_has_room_again_for_what_goes() {
    let fs = fs();
    assert_eq!(fs.free_bytes(dir()).unwrap(), u64::MAX);
    fs.set_capacity(3 * 4096);
    let full = |written: io::Result<()>| written.unwrap_err().kind() == io::ErrorKind::StorageFull;
    let [a, b] = ["a", "b"].map(|name| fs.open(&dir().join(name), Open::CreateNew).unwrap());
    a.write_all_at(&[1; 4097], 0).unwrap();
    assert_eq!(fs.free_bytes(dir()).unwrap(), 4096);
    assert!(full(b.write_all_at(&[2; 5000], 0)));
    assert_eq!((b.len().unwrap(), fs.free_bytes(dir()).unwrap()), (4096, 0));
    // Within blocks that it has, a file can still be written.
    a.write_all_at(&[1; 4095], 4097).unwrap();
    assert!(full(a.write_all_at(&[1; 1], 8192)));
    b.set_len(0).unwrap();
    a.write_all_at(&[1; 1], 8192).unwrap();
    assert!(full(b.write_all_at(&[2; 1], 0)));
    fs.remove(&dir().join("a")).unwrap();
    b.write_all_at(&[2; 1], 0).unwrap();
    assert_eq!(fs.free_bytes(dir()).unwrap(), 2 * 4096);
}
