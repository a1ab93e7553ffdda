//! `cargo xtask bench`: how fast the core and the wire codec are beside what a user would take instead, and how many
//! instructions their main work takes. The instructions are compared with numbers that are kept in the repository, so that
//! a busy machine cannot hide a slow change.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::part::Outcome;
use crate::{bench_quorum, part, workspace};

#[derive(Subcommand)]
pub(crate) enum Bench {
    /// The steps of kraft-core beside the crate `raft`, JSON lines on the standard output and text on the other one
    Core {
        /// How long to measure, in all
        #[arg(long, default_value_t = 30)]
        secs: u32,
        /// JSON lines alone
        #[arg(long)]
        json: bool,
    },
    /// The instructions of kraft-core, counted by valgrind and compared with bench/core-counts.json
    CoreCounts {
        /// Keep what was counted as the numbers to compare with
        #[arg(long)]
        write: bool,
    },
    /// The wire codec beside kafka-protocol, one JSON line for each message
    Wire,
    /// The instructions of the wire codec, counted by valgrind and compared with bench/wire-counts.json
    WireCounts {
        /// Keep what was counted as the numbers to compare with
        #[arg(long)]
        write: bool,
    },
    /// The log and the snapshots beside bare files and raft-engine, and the start of a voter
    #[command(disable_help_flag = true)]
    Log(PassedOn),
    /// Records that three voters commit: how many, how soon, at what cost
    Commit(bench_quorum::Commit),
    /// Records that three voters in one process commit, without disk and sockets
    #[command(disable_help_flag = true)]
    MemoryQuorum(PassedOn),
    /// How long three voters are without a leader
    Failover(bench_quorum::Failover),
    /// What a voter has resident
    Memory(bench_quorum::Memory),
    /// What a thousand replicas that fetch cost the leader, and how soon they know of a commit
    Observers(bench_quorum::Observers),
    /// How fast an empty follower gets a log or a snapshot of 100 MB
    #[command(name = "catchup")]
    CatchUp(bench_quorum::CatchUp),
}

/// What the program of a bench takes itself.
#[derive(clap::Args)]
pub(crate) struct PassedOn {
    /// The options of the bench; --help names them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    arguments: Vec<OsString>,
}

pub(crate) fn run(bench: &Bench) -> bool {
    match bench {
        Bench::Core { secs, json } => {
            let mut command = cargo(&["run", "--release", "--example", "core", "--", &secs.to_string()]);
            if *json {
                command.stderr(Stdio::null());
            }
            command.status().is_ok_and(|status| status.success())
        }
        Bench::Log(options) => log(options),
        Bench::Commit(options) => bench_quorum::commit(options),
        Bench::MemoryQuorum(options) => {
            let mut command = cargo(&["run", "--release", "-p", "kraft-bench-quorum", "--"]);
            command.args(&options.arguments);
            command.status().is_ok_and(|status| status.success())
        }
        Bench::Failover(options) => bench_quorum::failover(options),
        Bench::Memory(bench) => bench_quorum::memory(bench),
        Bench::Observers(options) => bench_quorum::observers(options),
        Bench::CatchUp(options) => bench_quorum::catch_up(options),
        Bench::Wire => cargo(&["run", "--release", "--example", "wire"])
            .status()
            .is_ok_and(|status| status.success()),
        Bench::CoreCounts { write } => CORE.run(*write),
        Bench::WireCounts { write } => WIRE.run(*write),
    }
}

/// Files are where builds go, if nothing else is said.
fn log(options: &PassedOn) -> bool {
    let built = workspace::cargo(&["build", "--release", "--locked", "-p", "kraft-cli"]).status();
    if !built.is_ok_and(|status| status.success()) {
        return false;
    }
    let mut command = cargo(&["run", "--release", "-p", "kraft-bench-log", "--"]);
    command.arg("--kraft").arg(workspace::kraft());
    command.arg("--dir").arg(workspace::target());
    command.args(&options.arguments);
    command.status().is_ok_and(|status| status.success())
}

/// Our codec against another implementation, in both directions; that records are never copied; and that a step of the
/// core in steady state allocates nothing.
pub(crate) fn tests_part(name: &'static str) -> Outcome {
    part::command(
        name,
        cargo(&["test", "--release", "--tests"]),
        Duration::from_secs(15 * 60),
    )
}

/// What the bench of voters in one process counts and measures.
pub(crate) fn quorum_tests_part(name: &'static str) -> Outcome {
    part::command(
        name,
        cargo(&["test", "-p", "kraft-bench-quorum"]),
        Duration::from_secs(15 * 60),
    )
}

/// No message takes more instructions than it did, but for a little.
pub(crate) fn wire_counts_part(name: &'static str) -> Outcome {
    part::check(
        name,
        "instructions of the wire codec, counted by valgrind",
        || WIRE.compare(),
    )
}

/// No step of the core does either.
pub(crate) fn core_counts_part(name: &'static str) -> Outcome {
    part::check(name, "instructions of the core, counted by valgrind", || {
        CORE.compare()
    })
}

/// Work whose instructions are counted, one count for each kind of it.
struct Counts {
    /// The program that does the work, `EXAMPLE NAME TIMES`, and names the kinds when it has no arguments.
    example: &'static str,
    /// Where the numbers are kept.
    file: &'static str,
    /// The command that keeps them.
    command: &'static str,
    /// How often the work is done.
    times: u64,
}

const WIRE: Counts = Counts {
    example: "wire_counts",
    file: "bench/wire-counts.json",
    command: "wire-counts",
    times: 20,
};

const CORE: Counts = Counts {
    example: "core_counts",
    file: "bench/core-counts.json",
    command: "core-counts",
    times: 200,
};

impl Counts {
    fn run(&self, write: bool) -> bool {
        let counted = if write { self.keep() } else { self.compare() };
        match &counted {
            Ok(summary) => println!("{summary}"),
            Err(problem) => eprintln!("{problem}"),
        }
        counted.is_ok()
    }

    fn compare(&self) -> Result<String, String> {
        let kept = self.kept()?;
        let rustc = rustc()?;
        if kept["rustc"] != rustc.as_str() {
            return Err(format!(
                "{} was counted with {}, this is {rustc}: look at both, then `cargo xtask bench {} --write`",
                self.file, kept["rustc"], self.command
            ));
        }
        let counts = self.count()?;
        let mut problems = Vec::new();
        for (kind, count) in &counts {
            match kept["instructions"][kind].as_u64() {
                None => problems.push(format!("{kind}: {count}, nothing to compare with")),
                Some(before) if *count * 100 > before * (100 + RISE_MAX_PERCENT) => {
                    problems.push(format!("{kind}: {count} instructions, {before} before"));
                }
                Some(_) => {}
            }
        }
        if problems.is_empty() {
            Ok(format!(
                "summary: {} counts, none above the one before by more than {RISE_MAX_PERCENT} %",
                counts.len()
            ))
        } else {
            Err(problems.join("\n    "))
        }
    }

    fn keep(&self) -> Result<String, String> {
        let counts = self.count()?;
        let text = serde_json::to_string_pretty(&json!({ "rustc": rustc()?, "instructions": counts }))
            .expect("names and numbers are JSON");
        let path = self.path();
        fs::write(&path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(format!("{} counts written to {}", counts.len(), self.file))
    }

    /// Instructions for doing each kind of work once.
    fn count(&self) -> Result<BTreeMap<String, u64>, String> {
        let built = cargo(&["build", "--release", "--example", self.example])
            .status()
            .map_err(|error| format!("cargo: {error}"))?;
        if !built.success() {
            return Err("the bench does not build".to_owned());
        }
        let program = target().join("release/examples").join(self.example);
        let names = Command::new(&program)
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let names = String::from_utf8_lossy(&names.stdout).into_owned();
        let mut counts = BTreeMap::new();
        for name in names.lines() {
            // What both runs do, the start of the program above all, cancels out.
            let (few, many) = (
                instructions(&program, name, 0)?,
                instructions(&program, name, self.times)?,
            );
            counts.insert(name.to_owned(), many.saturating_sub(few) / self.times);
        }
        Ok(counts)
    }

    fn kept(&self) -> Result<Value, String> {
        let path = self.path();
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn path(&self) -> PathBuf {
        workspace::root().join(self.file)
    }
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

fn rustc() -> Result<String, String> {
    let output = Command::new("rustc")
        .arg("--version")
        .current_dir(workspace::root())
        .output()
        .map_err(|error| format!("rustc: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A cargo for the workspace of the benches, which has its own folder for what it builds.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = workspace::cargo(&[arguments[0], "--locked", "--manifest-path", "bench/Cargo.toml"]);
    command.args(&arguments[1..]).env("CARGO_TARGET_DIR", target());
    command
}

fn target() -> PathBuf {
    workspace::target().join("bench")
}

const RISE_MAX_PERCENT: u64 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Called {
        #[command(subcommand)]
        bench: Bench,
    }

    #[test]
    fn what_a_bench_takes_itself_is_passed_on_as_it_is() {
        let options = ["--peer", "openraft", "--clients", "1,64", "--help"];
        for name in ["memory-quorum", "log"] {
            let words = ["bench", name].into_iter().chain(options);
            let called = Called::try_parse_from(words).expect("any options are taken");
            let (Bench::MemoryQuorum(passed_on) | Bench::Log(passed_on)) = called.bench else {
                panic!("{name} is another bench");
            };
            assert_eq!(passed_on.arguments, options);
        }
    }
}
