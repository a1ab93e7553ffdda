//! `cargo xtask ci`: everything that must hold before a change lands. It reads the sources and never writes
//! to them; every part runs even when an earlier one failed, so that one run names all that is wrong.

use std::process::Command;
use std::time::Duration;

use crate::part::{self, Outcome};
use crate::{
    bench, footprint, fuzz, interop, model, mutations, policy, quick_start, sim, torture, workspace,
};

pub(crate) fn run(only: &[String]) -> bool {
    let wanted = |name: &str| only.is_empty() || only.iter().any(|word| name.contains(word.as_str()));
    let outcomes: Vec<_> = PARTS
        .iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, part)| part(name))
        .collect();
    part::summarise(&outcomes)
}

type Part = fn(&'static str) -> Outcome;

/// In the order in which a mistake is cheapest to find. The parts up to the tests share one profile and
/// therefore one set of build artefacts, those from the simulation on share the release build.
const PARTS: &[(&str, Part)] = &[
    ("format", |name| cargo(name, &["fmt", "--all", "--check"], 2)),
    ("format of probe", |name| {
        cargo(
            name,
            &["fmt", "--check", "--manifest-path", "probe/Cargo.toml"],
            2,
        )
    }),
    ("format of bench", |name| {
        cargo(
            name,
            &["fmt", "--check", "--manifest-path", "bench/Cargo.toml"],
            2,
        )
    }),
    ("format of fuzz", |name| {
        cargo(name, &["fmt", "--check", "--manifest-path", "fuzz/Cargo.toml"], 2)
    }),
    ("format of model", |name| {
        cargo(
            name,
            &["fmt", "--check", "--manifest-path", "model/Cargo.toml"],
            2,
        )
    }),
    ("policy", |name| {
        part::check(
            name,
            "licences, duplicate versions and sources against deny.toml",
            policy::check,
        )
    }),
    ("clippy", |name| {
        let what = [
            "clippy",
            "--locked",
            "--workspace",
            "--all-features",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ];
        cargo(name, &what, 15)
    }),
    ("features", features),
    ("no_std probe", |name| {
        cargo(
            name,
            &["build", "--locked", "--manifest-path", "probe/Cargo.toml"],
            10,
        )
    }),
    ("docs", docs),
    ("tests", |name| {
        let what = [
            "test",
            "--locked",
            "--workspace",
            "--all-features",
            "--no-fail-fast",
        ];
        cargo(name, &what, 30)
    }),
    ("quick start", |name| {
        part::check(name, "the README's program for embedders", quick_start::check)
    }),
    ("fuzz", fuzz::corpus_part),
    ("bench tests", bench::tests_part),
    ("bench quorum tests", bench::quorum_tests_part),
    ("wire counts", bench::wire_counts_part),
    ("core counts", bench::core_counts_part),
    ("release build", release_build),
    ("simulation", sim::part),
    ("model", model::part),
    ("mutations", mutations::part),
    ("footprint", |name| {
        part::check(
            name,
            "time to leader and memory of a single node",
            footprint::check,
        )
    }),
    ("demo", demo),
    ("torture", torture::part),
    ("interop", |name| {
        part::check(name, "a quorum with Apache Kafka 4.4, the short form", || {
            let passed = interop::run(interop::Options {
                short: true,
                only: None,
                keep: false,
            });
            if passed {
                Ok("the short form passed".to_owned())
            } else {
                Err("see above".to_owned())
            }
        })
    }),
];

/// The program, the simulation and the voter of `torture` together, so that they share what they are made of.
pub(crate) fn release_build(name: &'static str) -> Outcome {
    let arguments = [
        "build",
        "--locked",
        "--release",
        "-p",
        "kraft-cli",
        "-p",
        "kraft-sim",
        "-p",
        "kraft-transport",
        "--bins",
        "--examples",
    ];
    cargo(name, &arguments, 15)
}

fn cargo(name: &'static str, arguments: &[&str], minutes: u64) -> Outcome {
    part::command(
        name,
        workspace::cargo(arguments),
        Duration::from_secs(60 * minutes),
    )
}

/// The libraries that have features, without them: what the default build never sees.
fn features(name: &'static str) -> Outcome {
    let arguments = [
        "check",
        "--locked",
        "--no-default-features",
        "-p",
        "kraft-core",
        "-p",
        "kraft-wire",
        "-p",
        "kraft-sim",
    ];
    cargo(name, &arguments, 10)
}

fn docs(name: &'static str) -> Outcome {
    let mut command = workspace::cargo(&["doc", "--locked", "--workspace", "--all-features", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    part::command(name, command, Duration::from_secs(10 * 60))
}

/// The program's main job, as a user runs it.
fn demo(name: &'static str) -> Outcome {
    let mut command = Command::new(workspace::kraft());
    command.arg("demo");
    part::command(name, command, Duration::from_secs(10 * 60))
}
