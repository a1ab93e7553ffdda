//! Both features tools on the same controller: the same lines and exit codes, whoever asks first.

use std::path::Path;

use crate::interop::jars::{Finished, Jars, Tool};
use crate::interop::quorum::{Kind, Mode, Quorum, kraft};
use crate::interop::{Failure, say};

/// A lone voter at kraft.version 0 and the levels of 4.0, asked by the tool of the other side and then by its own.
pub(crate) fn round(jars: &Jars, folder: &Path, kind: Kind) -> Result<(), Failure> {
    let mut quorum = Quorum::new(jars, folder, Mode::Static, 1)?;
    let config = quorum.member(1).config();
    quorum
        .format_with(kind, &config, &["--release-version", "4.0"])?
        .expect_success("format")?;
    quorum.start(1, kind)?;
    quorum.wait_leader(None)?;
    let address = quorum.member(1).address();
    let mut compared = 0;
    let mut compare = |command: &[&str], expected: Expected| -> Result<(), Failure> {
        let arguments = [&["--bootstrap-controller", &address], command].concat();
        let tools = match kind {
            Kind::Kafka => [Kind::Kraft, Kind::Kafka],
            Kind::Kraft => [Kind::Kafka, Kind::Kraft],
        };
        let said = tools
            .map(|tool| tell(jars, tool, &arguments))
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;
        let [first, second] = said.as_slice() else {
            return Err("two tools were asked".into());
        };
        if (first.code, &first.stdout) != (second.code, &second.stdout) {
            return Err(format!("{}:\n{}", command.join(" "), both(tools, first, second)).into());
        }
        if !expected.agrees(first) {
            return Err(format!("{} says\n{}", command.join(" "), both(tools, first, second)).into());
        }
        compared += 1;
        Ok(())
    };
    for (command, expected) in everywhere() {
        compare(&command, expected)?;
    }
    // A leader of ours changes the level of no other feature.
    if kind == Kind::Kafka {
        for (command, expected) in by_a_leader_of_kafka() {
            compare(&command, expected)?;
        }
    }
    say(&format!(
        "{compared} commands for a controller of {kind}: the same lines and exit codes from both tools"
    ));
    quorum.stop(1)?;
    Ok(())
}

/// What has to be among the lines beside the exit code, so that two tools that fail alike are noticed.
struct Expected {
    code: i32,
    part: &'static str,
}

impl Expected {
    fn agrees(&self, finished: &Finished) -> bool {
        finished.code == self.code && finished.stdout.contains(self.part)
    }
}

fn passes(part: &'static str) -> Expected {
    Expected { code: 0, part }
}

fn fails(part: &'static str) -> Expected {
    Expected { code: 1, part }
}

type Case = (Vec<&'static str>, Expected);

fn everywhere() -> Vec<Case> {
    vec![
        (vec!["describe"], passes("FinalizedVersionLevel: 4.0-IV3")),
        (
            vec!["upgrade", "--feature", "kraft.version=1", "--dry-run"],
            passes("kraft.version can be upgraded to 1.\n"),
        ),
        (
            vec!["upgrade", "--feature", "kraft.version=1"],
            passes("kraft.version was upgraded to 1.\n"),
        ),
        (
            vec!["describe", "--node-id", "1"],
            passes("Feature: kraft.version                             SupportedMinVersion: 0"),
        ),
        (
            vec!["downgrade", "--feature", "kraft.version=0"],
            fails("Could not downgrade kraft.version to 0. "),
        ),
        (
            vec!["disable", "--feature", "metadata.version", "--dry-run"],
            fails("Can not disable metadata.version. "),
        ),
        (
            vec!["upgrade", "--feature", "no.such=1"],
            fails("does not support this feature."),
        ),
        (
            vec!["upgrade", "--metadata", "3.3-IV3"],
            fails(" `metadata` flag is deprecated"),
        ),
        (
            vec!["version-mapping", "--release-version", "4.1"],
            passes("metadata.version=27 (4.1)\n"),
        ),
        (
            vec![
                "feature-dependencies",
                "--feature",
                "eligible.leader.replicas.version=1",
                "--feature",
                "metadata.version=33",
            ],
            passes("    metadata.version=23 (4.0-IV1)\n"),
        ),
    ]
}

fn by_a_leader_of_kafka() -> Vec<Case> {
    vec![
        (
            vec!["upgrade", "--release-version", "4.4"],
            passes("share.version was upgraded to 2.\n"),
        ),
        (vec!["describe"], passes("FinalizedVersionLevel: 4.4-IV2")),
        (
            vec!["downgrade", "--release-version", "3.9"],
            fails("Could not downgrade metadata.version to 21. "),
        ),
        (
            vec!["disable", "--feature", "group.version", "--unsafe"],
            passes("group.version was disabled.\n"),
        ),
    ]
}

fn tell(jars: &Jars, tool: Kind, arguments: &[&str]) -> Result<Finished, Failure> {
    match tool {
        Kind::Kafka => jars.tool(Tool::Features, arguments),
        Kind::Kraft => kraft(&[&["features"], arguments].concat()),
    }
}

fn both(tools: [Kind; 2], first: &Finished, second: &Finished) -> String {
    let one = |tool: Kind, finished: &Finished| {
        format!(
            "{tool}: exit code {}\n{}{}",
            finished.code, finished.stdout, finished.stderr
        )
    };
    let [before, after] = tools;
    format!("{}\n{}", one(before, first), one(after, second))
}
