//! `cargo xtask bench wire`: how fast the wire codec is beside `kafka-protocol`, and how many instructions its main
//! messages take. The instructions are compared with numbers that are kept in the repository, so that a busy machine
//! cannot hide a slow change.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::part::Outcome;
use crate::{part, workspace};

#[derive(Subcommand)]
pub(crate) enum Bench {
    /// The wire codec beside kafka-protocol, one JSON line for each message
    Wire,
    /// The instructions of the wire codec, counted by valgrind and compared with bench/wire-counts.json
    WireCounts {
        /// Keep what was counted as the numbers to compare with
        #[arg(long)]
        write: bool,
    },
}

pub(crate) fn run(bench: &Bench) -> bool {
    match bench {
        Bench::Wire => cargo(&["run", "--release", "--example", "wire"])
            .status()
            .is_ok_and(|status| status.success()),
        Bench::WireCounts { write } => {
            let counted = if *write { keep_counts() } else { compare_counts() };
            match &counted {
                Ok(summary) => println!("{summary}"),
                Err(problem) => eprintln!("{problem}"),
            }
            counted.is_ok()
        }
    }
}

/// Our codec against another implementation, in both directions, and that records are never copied.
pub(crate) fn oracle_part(name: &'static str) -> Outcome {
    part::command(
        name,
        cargo(&["test", "--release", "--tests"]),
        Duration::from_secs(15 * 60),
    )
}

/// No message takes more instructions than it did, but for a little.
pub(crate) fn counts_part(name: &'static str) -> Outcome {
    part::check(
        name,
        "instructions of the wire codec, counted by valgrind",
        compare_counts,
    )
}

fn compare_counts() -> Result<String, String> {
    let kept = kept()?;
    let rustc = rustc()?;
    if kept["rustc"] != rustc.as_str() {
        return Err(format!(
            "bench/wire-counts.json was counted with {}, this is {rustc}: look at both, then \
             `cargo xtask bench wire-counts --write`",
            kept["rustc"]
        ));
    }
    let counts = count()?;
    let mut problems = Vec::new();
    for (message, count) in &counts {
        match kept["instructions"][message].as_u64() {
            None => problems.push(format!("{message}: {count}, nothing to compare with")),
            Some(before) if *count * 100 > before * (100 + RISE_MAX_PERCENT) => {
                problems.push(format!("{message}: {count} instructions, {before} before"));
            }
            Some(_) => {}
        }
    }
    if problems.is_empty() {
        Ok(format!(
            "summary: {} messages, none above its count by more than {RISE_MAX_PERCENT} %",
            counts.len()
        ))
    } else {
        Err(problems.join("\n    "))
    }
}

fn keep_counts() -> Result<String, String> {
    let counts = count()?;
    let text = serde_json::to_string_pretty(&json!({ "rustc": rustc()?, "instructions": counts }))
        .expect("names and numbers are JSON");
    fs::write(kept_path(), text + "\n").map_err(|error| format!("{}: {error}", kept_path().display()))?;
    Ok(format!(
        "{} messages written to {}",
        counts.len(),
        kept_path().display()
    ))
}

/// Instructions for encoding and decoding each message once.
fn count() -> Result<BTreeMap<String, u64>, String> {
    let built = cargo(&["build", "--release", "--example", "wire_counts"])
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !built.success() {
        return Err("the bench does not build".to_owned());
    }
    let program = target().join("release/examples/wire_counts");
    let names = Command::new(&program)
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let names = String::from_utf8_lossy(&names.stdout).into_owned();
    let mut counts = BTreeMap::new();
    for name in names.lines() {
        // What both runs do, the start of the program above all, cancels out.
        let (few, many) = (
            instructions(&program, name, 0)?,
            instructions(&program, name, TIMES)?,
        );
        counts.insert(name.to_owned(), many.saturating_sub(few) / TIMES);
    }
    Ok(counts)
}

fn instructions(program: &PathBuf, name: &str, times: u64) -> Result<u64, String> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([name, &times.to_string()])
        .output()
        .map_err(|error| {
            format!(
                "valgrind, which counts the instructions, does not start ({error}): apt-get install valgrind"
            )
        })?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected :"));
    collected
        .and_then(|(_, count)| count.trim().parse().ok())
        .ok_or_else(|| format!("valgrind counted nothing for {name}: {text}"))
}

fn kept() -> Result<Value, String> {
    let path = kept_path();
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn kept_path() -> PathBuf {
    workspace::root().join("bench/wire-counts.json")
}

fn rustc() -> Result<String, String> {
    let output = Command::new("rustc")
        .arg("--version")
        .current_dir(workspace::root())
        .output()
        .map_err(|error| format!("rustc: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A cargo for the workspace of the benches, which has its own folder for what it builds.
fn cargo(arguments: &[&str]) -> Command {
    let mut command = workspace::cargo(&[arguments[0], "--locked", "--manifest-path", "bench/Cargo.toml"]);
    command.args(&arguments[1..]).env("CARGO_TARGET_DIR", target());
    command
}

fn target() -> PathBuf {
    workspace::target().join("bench")
}

const TIMES: u64 = 20;
const RISE_MAX_PERCENT: u64 = 5;
