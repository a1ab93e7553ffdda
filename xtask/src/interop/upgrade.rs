//! A static quorum whose kraft.version the other side's tool raises at run time, and which is a dynamic one from then on.

use std::path::Path;

use crate::eventually::eventually;
use crate::interop::jars::{Finished, Jars, Tool};
use crate::interop::quorum::{Kind, LIMIT, Mode, Quorum, kraft};
use crate::interop::voters::remove_and_add_follower;
use crate::interop::{Failure, say};

pub(crate) fn round(jars: &Jars, folder: &Path, kinds: &[Kind; 3], leader: Kind) -> Result<(), Failure> {
    let mut quorum = Quorum::started(jars, folder, Mode::Static, kinds)?;
    let status = quorum.lead_with(leader)?;
    let other = match leader {
        Kind::Kafka => Kind::Kraft,
        Kind::Kraft => Kind::Kafka,
    };
    // The leader has to be found.
    let asked = if status.leader == 1 { 2 } else { 1 };
    let features = |quorum: &Quorum<'_>, arguments: &[&str]| -> Result<Finished, Failure> {
        let address = quorum.member(asked).address();
        let arguments = [&["--bootstrap-controller", &address], arguments].concat();
        match other {
            Kind::Kafka => quorum.jars().tool(Tool::Features, &arguments),
            Kind::Kraft => kraft(&[&["features"], &arguments[..]].concat()),
        }
    };
    let kraft_version = ["--feature", "kraft.version=1"];
    // Either leader refuses until every voter has reported what it supports, which it does only now and then.
    let mut refused = 0;
    eventually("the upgrade", LIMIT, || {
        let upgrade = features(&quorum, &[&["upgrade"], &kraft_version[..]].concat())?;
        if upgrade.stdout.contains("not all of the voters support it") {
            refused += 1;
            return Ok(None);
        }
        upgrade.expect_success("the upgrade").map(Some)
    })?;
    wait_for_directories(&mut quorum)?;
    let described = features(&quorum, &["describe"])?.expect_success("the description")?;
    let level = described.lines().find(|line| line.contains("kraft.version"));
    if !level.is_some_and(|line| line.contains("FinalizedVersionLevel: 1")) {
        return Err(format!("under {leader} {other}'s tool says {level:?}").into());
    }
    let down = features(&quorum, &["downgrade", "--feature", "kraft.version=0"])?;
    if down.code == 0 {
        return Err(format!("under {leader} kraft.version went down: {}", down.stdout).into());
    }
    say(&format!(
        "under leader {} ({leader}) {other}'s tool raised kraft.version to 1 after {refused} refusals, and does not lower it",
        status.leader
    ));

    quorum.use_bootstrap_servers()?;
    let others = quorum.kinds();
    for (id, kind) in others.iter().filter(|(id, _)| **id != status.leader) {
        quorum.stop(*id)?;
        quorum.start(*id, *kind)?;
        quorum.wait_for_all()?;
    }
    let now = quorum.lead_with(other)?;
    say(&format!(
        "node {} ({other}) leads all three by bootstrap servers and the voters in their logs",
        now.leader
    ));
    let follower = if now.leader == 1 { 2 } else { 1 };
    remove_and_add_follower(&mut quorum, follower, Kind::Kafka, Kind::Kafka)?;
    quorum.stop_and_compare()
}

/// Waits until the voters are known with the directories that they have.
fn wait_for_directories(quorum: &mut Quorum<'_>) -> Result<(), Failure> {
    let directories: Vec<_> = quorum
        .members()
        .map(|member| member.directory_id())
        .collect::<Result<_, _>>()?;
    eventually("voters with directories", LIMIT, || {
        let Some(status) = quorum.glance()? else {
            return Ok(None);
        };
        let voters = status
            .steady_lines
            .iter()
            .find(|line| line.starts_with("CurrentVoters:"));
        let voters = voters.ok_or("no voters")?;
        Ok(directories.iter().all(|id| voters.contains(id)).then_some(()))
    })
}
