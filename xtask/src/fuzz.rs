//! The fuzz targets for longer than their tests run. They are a workspace of their own and need no nightly compiler.

use std::time::Duration;

use crate::{part, workspace};

pub(crate) fn run(seconds: u64) -> bool {
    let arguments = [
        "test",
        "--locked",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--",
        "--test-threads",
        "2",
    ];
    let mut command = workspace::cargo(&arguments);
    command.env("BOLERO_RANDOM_TEST_TIME_MS", (seconds * 1_000).to_string());
    // The time is the bound, not the number of inputs.
    command.env("BOLERO_RANDOM_ITERATIONS", usize::MAX.to_string());
    let build = Duration::from_secs(15 * 60);
    part::summarise(&[part::command(
        "fuzz",
        command,
        build + Duration::from_secs(seconds * 4),
    )])
}
