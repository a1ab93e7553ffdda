//! Where things are: the root of the sources, the target directory, and the cargo that started us.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the sources.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest
        .parent()
        .expect("xtask lies one level below the root")
        .to_path_buf()
}

/// The target directory of the main workspace.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => root().join(directory),
        None => root().join("target"),
    }
}

/// A command that runs this cargo in the root of the sources.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// The release build of the `kraft` program.
pub(crate) fn kraft() -> PathBuf {
    target().join("release").join("kraft")
}
