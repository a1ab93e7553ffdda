//! A real disk that gets full under load: the node ends with a clear error, and with room it starts again and has all
//! that it had acknowledged.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kraft_cli::local::{Load, LocalError, LocalQuorum, contents_of};

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");
const LIMIT: Duration = Duration::from_secs(120);
/// One test writes a program. A process that the other one begins at that moment would have the file open for writing, too,
/// and nobody can run it until that process has become its own program.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Loads a quorum of one until its disk is full, and starts it again once `make_room` has made room.
fn fill(program: &Path, folder: &Path, disk: &Path, error: &str, make_room: impl FnOnce()) {
    let extra = format!("metadata.log.dir={}", disk.display());
    let mut quorum = LocalQuorum::create(program, folder, 1, &extra).unwrap();
    quorum.start(1).unwrap();
    quorum
        .wait_for("a leader", LIMIT, |now| now.high_watermark > 0)
        .unwrap();
    let load = Load::start(vec![quorum.node(1).port], 4000);
    let deadline = Instant::now() + LIMIT;
    let ended = loop {
        match quorum.leadership() {
            Ok(_) => std::thread::sleep(Duration::from_millis(20)),
            Err(ended) => break ended,
        }
        assert!(Instant::now() < deadline, "the disk does not get full");
    };
    let loaded = load.stop();
    let LocalError::Node { what, .. } = &ended else {
        panic!("{ended}");
    };
    assert!(what.contains("exit status: 1"), "{ended}");
    let said = fs::read_to_string(quorum.node(1).log()).unwrap();
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("kraft: "), "{last}");
    assert!(
        last.contains(error) && last.contains("__cluster_metadata-0"),
        "{last}"
    );
    assert!(
        loaded.acknowledged.len() > 100,
        "the load was too small to show anything"
    );

    make_room();
    quorum.start(1).unwrap();
    quorum
        .wait_for("a leader", LIMIT, |now| now.high_watermark > 0)
        .unwrap();
    assert!(quorum.stop(&[1]).unwrap()[0].success());
    let log = contents_of(disk).unwrap();
    let lost: Vec<_> = loaded.acknowledged.difference(&log.loaded).collect();
    assert!(
        lost.is_empty(),
        "of {} {lost:?} are lost",
        loaded.acknowledged.len()
    );
}

/// No file may get larger: what a quota does, and needs no rights.
#[test]
fn a_node_whose_files_may_not_grow_ends_and_comes_back() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let (program, limit) = (folder.path().join("limited"), folder.path().join("limit"));
    let script = format!(
        "#!/bin/sh\n[ -e {} ] && ulimit -f 10000\nexec {KRAFT} \"$@\"\n",
        limit.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    fs::write(&limit, "").unwrap();
    let disk = folder.path().join("disk");
    fill(&program, folder.path(), &disk, "File too large", || {
        fs::remove_file(&limit).unwrap();
    });
}

/// A small disk in memory, unmounted however the test ends.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: PathBuf) -> Option<Disk> {
        fs::create_dir(&at).unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=3m", "kraft-test"])
            .arg(&at);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(Disk(at))
    }

    fn grow(&self) {
        let mut mount = Command::new("mount");
        mount.args(["-o", "remount,size=64m"]).arg(&self.0);
        assert!(mount.status().unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // It fails only where somebody has unmounted it.
        Command::new("umount").arg(&self.0).status().ok();
    }
}

#[test]
fn a_node_whose_disk_is_full_ends_and_comes_back() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(folder.path().join("disk")) else {
        println!("NOT RUN: mounting a tmpfs needs root; the test with a limit on files has run instead");
        return;
    };
    let full = "No space left on device";
    fill(Path::new(KRAFT), folder.path(), &disk.0, full, || disk.grow());
}
