//! The damaged directories that take an operating system to refuse something: locks, permissions, a full disk. Cases and
//! what is expected of them are in the table `vectors/expected/recovery.txt`.

#![cfg(target_os = "linux")]

mod common;

use common::{files, unpack};
use kraft_core::LogView;
use kraft_fs::{FileSystem, RealFs};
use kraft_log::{LogOptions, open, verify};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
    process::Command,
};

const PARTITION: &str = "__cluster_metadata-0";
const SEGMENT: &str = "00000000000000000000.log";
const ZERO_CHECKPOINT: &str = "00000000000000000000-0000000000.checkpoint";
/// Set where a test runs itself again under other rights: the directory.
const DIRECTORY: &str = "KRAFT_LOG_TEST_DIRECTORY";
const NOBODY: u32 = 65534;

/// Unpacks the recorded directory `small-…` into `root`; returns the partition directory.
fn unpack_to(root: &Path, name: &str) -> PathBuf {
    let (recorded, dir) = unpack(name);
    let partition = root.join(PARTITION);
    fs::create_dir(&partition).expect("created");
    for (name, bytes) in files(&recorded, &dir) {
        let path = partition.join(name);
        // The zeros behind an index, 10 MiB with it, take no room on a disk.
        let used = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1);
        fs::write(&path, &bytes[..used]).expect("written");
        let file = fs::OpenOptions::new().write(true).open(&path).expect("opened");
        file.set_len(bytes.len() as u64).expect("extended");
    }
    partition
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

/// Starts this program again for one test, with the directory in the environment, behind the words of `prefix`.
fn run_again(prefix: &[&str], test: &str, directory: &Path) {
    let program = std::env::current_exe().expect("a program");
    let program = program.to_str().expect("a path of text");
    let words = [prefix, &[program, "--exact", test, "--include-ignored"]].concat();
    let output = Command::new(words[0])
        .args(&words[1..])
        .env(DIRECTORY, directory)
        .output()
        .expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

/// Whether whoever runs this is refused nothing.
fn is_root(directory: &Path) -> bool {
    fs::metadata(directory).expect("readable").uid() == 0
}

/// Damages a directory, then runs `check` on it without the rights of root.
fn without_override(test: &str, damage: impl FnOnce(&Path), check: impl FnOnce(&Path)) {
    if let Some(partition) = std::env::var_os(DIRECTORY) {
        return check(Path::new(&partition));
    }
    let root = tempfile::tempdir().expect("a directory");
    let partition = unpack_to(root.path(), "small-killed");
    if !is_root(&partition) {
        damage(&partition);
        check(&partition);
        return set_mode(&partition, 0o755);
    }
    set_mode(root.path(), 0o755);
    for entry in fs::read_dir(&partition).expect("listed") {
        chown(entry.expect("an entry").path(), Some(NOBODY), Some(NOBODY)).expect("given away");
    }
    chown(&partition, Some(NOBODY), Some(NOBODY)).expect("given away");
    damage(&partition);
    let nobody = NOBODY.to_string();
    run_again(
        &["setpriv", "--reuid", &nobody, "--clear-groups"],
        test,
        &partition,
    );
}

fn is_refused(partition: &Path, file: &str) {
    let error = open(RealFs, partition, LogOptions::default()).expect_err("no permission");
    let message = error.to_string();
    assert!(
        message.contains(&format!("{file}: Permission denied")),
        "{message}"
    );
}

/// What cannot be read is not damaged: nobody is told to restore or to format.
fn is_unreadable_to_verify(partition: &Path, file: &str) {
    let refusal = verify(&RealFs, partition).expect_err("no permission");
    assert!(refusal.ways_out.is_empty(), "{refusal}");
    let end = format!("{file}: Permission denied (os error 13)");
    let message = refusal.to_string();
    assert!(message.contains(&end), "{message}");
    assert!(
        message.ends_with("Check the disk, the path and its permissions"),
        "{message}"
    );
}

#[test]
fn a_directory_without_write_permission_is_refused() {
    // readonly-dir-0555
    let test = "a_directory_without_write_permission_is_refused";
    let damage = |partition: &Path| set_mode(partition, 0o555);
    without_override(test, damage, |partition| is_refused(partition, "kraft-synced"));
}

#[test]
fn a_segment_without_write_permission_is_refused() {
    // log-file-readonly
    let test = "a_segment_without_write_permission_is_refused";
    let damage = |partition: &Path| set_mode(&partition.join(SEGMENT), 0o444);
    without_override(test, damage, |partition| is_refused(partition, SEGMENT));
}

#[test]
fn a_segment_without_read_permission_is_refused() {
    // log-file-unreadable
    let test = "a_segment_without_read_permission_is_refused";
    let damage = |partition: &Path| set_mode(&partition.join(SEGMENT), 0o000);
    without_override(test, damage, |partition| is_refused(partition, SEGMENT));
}

#[test]
fn a_snapshot_that_cannot_be_read_is_not_called_damaged() {
    let test = "a_snapshot_that_cannot_be_read_is_not_called_damaged";
    let damage = |partition: &Path| set_mode(&partition.join(ZERO_CHECKPOINT), 0o000);
    without_override(test, damage, |partition| {
        is_unreadable_to_verify(partition, ZERO_CHECKPOINT)
    });
}

#[test]
fn an_election_state_that_cannot_be_read_is_not_called_damaged() {
    let test = "an_election_state_that_cannot_be_read_is_not_called_damaged";
    let damage = |partition: &Path| set_mode(&partition.join("quorum-state"), 0o000);
    without_override(test, damage, |partition| {
        is_unreadable_to_verify(partition, "quorum-state")
    });
}

/// Such a file was made by somebody who had other rights. A start that met it in the midst of its work had put the directory in
/// order by then.
#[test]
fn a_file_that_is_written_in_place_and_may_not_be_is_found_beforehand() {
    let test = "a_file_that_is_written_in_place_and_may_not_be_is_found_beforehand";
    let names = [
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
        "kraft-synced",
    ];
    without_override(
        test,
        |_| {},
        |partition| {
            for name in names {
                let file = partition.join(name);
                fs::File::options()
                    .create(true)
                    .append(true)
                    .open(&file)
                    .expect("a file of its own");
                for forbidden in [0o000, 0o444] {
                    set_mode(&file, forbidden);
                    is_unreadable_to_verify(partition, name);
                    let refusal = open(RealFs, partition, LogOptions::default()).expect_err("no permission");
                    assert!(refusal.to_string().contains("Nothing was changed"), "{refusal}");
                }
                set_mode(&file, 0o644);
            }
            verify(&RealFs, partition).expect("nothing is in the way any more");
        },
    );
}

/// What an editor leaves is one, and so is what an operator forgets.
#[test]
fn a_link_that_leads_nowhere_matters_only_by_the_name_of_a_part_of_the_log() {
    let opened_with = |name: &str, to: &str| {
        let root = tempfile::tempdir().expect("a directory");
        std::os::unix::fs::symlink(to, root.path().join(name)).expect("linked");
        let verified = verify(&RealFs, root.path()).map(drop);
        let opened = open(RealFs, root.path(), LogOptions::default()).map(drop);
        assert_eq!(verified.is_ok(), opened.is_ok(), "{name}");
        opened.map_err(|refusal| refusal.to_string())
    };
    for name in ["old", ".#quorum-state", "quorum-state~", "lost+found"] {
        assert_eq!(opened_with(name, "/nonexistent/file"), Ok(()), "{name}");
        assert_eq!(opened_with(name, name), Ok(()), "{name}, a circle");
    }
    for name in [
        SEGMENT,
        ZERO_CHECKPOINT,
        "00000000000000000029.index",
        "29.log",
        "quorum-state",
        "quorum-state.tmp",
        "leader-epoch-checkpoint",
        "partition.metadata",
        "kraft-synced",
        "kraft-spare",
        "kraft-no-vote",
    ] {
        let message = opened_with(name, "/nonexistent/file").expect_err(name);
        let reason = format!("{name}: it is a link that leads nowhere");
        assert!(message.contains(&reason), "{message}");
        let message = opened_with(name, name).expect_err(name);
        assert!(message.contains("symbolic links"), "{message}");
    }
}

#[test]
fn a_lock_of_another_kind_does_not_matter() {
    // lock-held-flock
    let root = tempfile::tempdir().expect("a directory");
    let partition = unpack_to(root.path(), "small-killed");
    let file = fs::File::create(root.path().join(".lock")).expect("created");
    file.lock().expect("locked with flock");
    let _lock = RealFs
        .lock_dir(root.path())
        .expect("a lock for fcntl is another one");
    let opened = open(RealFs, &partition, LogOptions::default()).expect("opened");
    assert_eq!(opened.index.end().last_offset, 33);
}

#[test]
#[ignore = "mounts file systems: unshare has to be allowed"]
fn a_nearly_full_disk_is_enough_to_start() {
    // disk-full-52k, disk-full-60k, disk-full-72k
    if let Some(root) = std::env::var_os(DIRECTORY) {
        let partition = unpack_to(Path::new(&root), "small-stopped");
        let opened = open(RealFs, &partition, LogOptions::default()).expect("opened");
        assert_eq!(opened.index.end().last_offset, 33);
        return;
    }
    for kilobytes in [52, 60, 72] {
        let root = tempfile::tempdir().expect("a directory");
        let mount = format!(
            "mount -t tmpfs -o size={kilobytes}k none '{}'",
            root.path().display()
        );
        let script = format!("{mount} && exec \"$@\"");
        let prefix = ["unshare", "--map-root-user", "--mount", "sh", "-c", &script, "sh"];
        run_again(&prefix, "a_nearly_full_disk_is_enough_to_start", root.path());
    }
}
