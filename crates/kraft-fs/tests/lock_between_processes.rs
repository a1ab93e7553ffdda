//! The lock against another process: this test starts itself as that process.

use kraft_fs::{FileSystem, LockError, RealFs};
use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Command, Stdio},
};

const DIR_VARIABLE: &str = "KRAFT_FS_TEST_LOCK_DIR";
const LOCKED: &str = "the child holds the lock";

/// The other process: takes the lock, says so, and keeps it until its input ends.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(DIR_VARIABLE) else {
        return;
    };
    let _lock = RealFs.lock_dir(Path::new(&dir)).unwrap();
    println!("{LOCKED}");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn field_h11_a_directory_that_another_process_has_locked_is_refused_until_it_ends() {
    // The case lock-held-fcntl of the damaged directories.
    let root = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(DIR_VARIABLE, root.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(LOCKED)));

    let refused = RealFs.lock_dir(root.path());
    assert!(
        matches!(refused, Err(LockError::HeldByOther { .. })),
        "{refused:?}"
    );
    let text = refused.expect_err("locked").to_string();
    assert!(text.contains(root.path().to_str().unwrap()), "{text}");

    drop(child.stdin.take());
    for line in lines {
        line.unwrap();
    }
    assert!(child.wait().unwrap().success());
    RealFs.lock_dir(root.path()).unwrap();
}
