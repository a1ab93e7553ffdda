//! The fuzz targets: over their corpus, as `ci` runs them, and for as long as is wanted. They are a workspace of their
//! own and need no nightly compiler.

use std::process::Command;
use std::time::Duration;

use crate::part::Outcome;
use crate::{part, workspace};

/// Which target runs, and for how long.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The target; all of them if none is named
    name: Option<String>,
    /// How long each target runs
    #[arg(long, value_name = "N", default_value_t = 60)]
    secs: u64,
    /// Where the random changes begin; the same seed gives the same inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(options: &Options) -> bool {
    let names = match &options.name {
        Some(name) => vec![name.clone()],
        None => match names() {
            Ok(names) => names,
            Err(problem) => {
                eprintln!("{problem}");
                return false;
            }
        },
    };
    let (secs, seed) = (options.secs.to_string(), options.seed.to_string());
    names.iter().all(|name| {
        let mut command = cargo(&["run", "--quiet", "--example", "fuzz", "--"]);
        command.args([name, &secs, &seed]);
        command.status().is_ok_and(|status| status.success())
    })
}

/// Every target over its corpus and a number of changed inputs.
pub(crate) fn corpus_part(name: &'static str) -> Outcome {
    part::command(name, cargo(&["test"]), Duration::from_secs(15 * 60))
}

fn names() -> Result<Vec<String>, String> {
    let output = cargo(&["run", "--quiet", "--example", "fuzz"])
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().map(str::to_owned).collect())
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = workspace::cargo(&[arguments[0], "--locked", "--manifest-path", "fuzz/Cargo.toml"]);
    let target = workspace::target().join("fuzz");
    command.args(&arguments[1..]).env("CARGO_TARGET_DIR", target);
    command
}
