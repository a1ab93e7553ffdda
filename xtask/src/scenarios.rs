//! The text scenarios: which there are, and running some of them.

use crate::workspace;

/// Prints the list that `docs/scenarios.md` holds, or runs the scenarios whose id contains one of the words.
pub(crate) fn run(words: &[String], rewrite: bool) -> bool {
    let mut command = if words.is_empty() && !rewrite {
        workspace::cargo(&[
            "run",
            "--locked",
            "--quiet",
            "-p",
            "kraft-sim",
            "--example",
            "scenarios",
        ])
    } else {
        let mut command = workspace::cargo(&[
            "test",
            "--locked",
            "--quiet",
            "-p",
            "kraft-sim",
            "--test",
            "scenarios",
        ]);
        command.arg("--").args(words);
        command
    };
    if rewrite {
        command.env("KRAFT_SCENARIO_REWRITE", "1");
    }
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            println!("cargo: {error}");
            false
        }
    }
}
