//! A quorum that grows from one voter by the tools of both sides and by itself, in which followers and leaders of both
//! kinds are removed and come back.

use std::path::Path;

use crate::eventually::eventually;
use crate::interop::jars::{Jars, Tool};
use crate::interop::load::Load;
use crate::interop::quorum::{Kind, LIMIT, Mode, Quorum, kraft};
use crate::interop::{Failure, say};

/// Node 1 begins alone; node 2 is added, node 3 joins by itself.
pub(crate) fn round(jars: &Jars, folder: &Path, kinds: &[Kind; 3]) -> Result<(), Failure> {
    let mut quorum = Quorum::new(jars, folder, Mode::Dynamic, 3)?;
    for id in 1..=3 {
        quorum.set(id, PATIENT)?;
    }
    quorum.set(3, "controller.quorum.auto.join.enable=true\n")?;
    for (id, kind) in (1..).zip(kinds) {
        let voters = if id == 1 {
            "--standalone"
        } else {
            "--no-initial-controllers"
        };
        let config = quorum.member(id).config();
        quorum
            .format_with(*kind, &config, &[voters])?
            .expect_success("format")?;
    }
    quorum.start(1, kinds[0])?;
    quorum.wait_voters(&[1])?;
    quorum.start(2, kinds[1])?;
    quorum.add(Kind::Kafka, 2)?;
    quorum.wait_voters(&[1, 2])?;
    quorum.start(3, kinds[2])?;
    quorum.wait_voters(&[1, 2, 3])?;
    let load = Load::start(&quorum);
    say(&format!(
        "{} leads; {} was added, {} has joined by itself",
        kinds[0], kinds[1], kinds[2]
    ));
    remove_and_add_follower(&mut quorum, 2, Kind::Kafka, Kind::Kraft)?;
    remove_leader(&mut quorum, Kind::Kafka)?;
    // Node 1 is a follower now, unless it came back as the leader.
    quorum.lead_with(kinds[1])?;
    remove_and_add_follower(&mut quorum, 1, Kind::Kraft, Kind::Kafka)?;
    remove_leader(&mut quorum, Kind::Kraft)?;
    let marks = load.stop();
    quorum.stop_and_compare()?;
    quorum.find_acknowledged(&marks)
}

/// A follower goes by one side's tool and comes back by the other's.
pub(crate) fn remove_and_add_follower(
    quorum: &mut Quorum<'_>,
    id: i32,
    removed_by: Kind,
    added_by: Kind,
) -> Result<(), Failure> {
    let before = quorum.wait_for_all()?;
    if before.leader == id {
        return Err(format!("node {id} leads").into());
    }
    quorum.remove(removed_by, id)?;
    quorum.wait_voters(&others(id))?;
    quorum.add(added_by, id)?;
    quorum.wait_voters(&[1, 2, 3])?;
    let kinds = quorum.kinds();
    say(&format!(
        "under leader {} ({}) follower {id} ({}) went by {removed_by}'s tool and came back by {added_by}'s",
        before.leader, kinds[&before.leader], kinds[&id]
    ));
    Ok(())
}

/// The leader goes; another one leads without it, under which it comes back.
fn remove_leader(quorum: &mut Quorum<'_>, tool: Kind) -> Result<(), Failure> {
    let before = quorum.wait_for_all()?;
    let id = before.leader;
    quorum.remove(tool, id)?;
    let after = quorum.wait_leader(Some(id))?;
    // Node 3 joins by itself again.
    if id != 3 {
        quorum.wait_voters(&others(id))?;
        quorum.add(tool, id)?;
    }
    quorum.wait_voters(&[1, 2, 3])?;
    let kinds = quorum.kinds();
    say(&format!(
        "leader {id} ({}) went by {tool}'s tool; node {} ({}) led epoch {} -> {}, and it came back",
        kinds[&id], after.leader, kinds[&after.leader], before.epoch, after.epoch
    ));
    Ok(())
}

/// Leaders go because they are removed or stopped, and not because a machine with two processors is busy.
const PATIENT: &str = "controller.quorum.fetch.timeout.ms=5000\n";

fn others(id: i32) -> Vec<i32> {
    (1..=3).filter(|other| *other != id).collect()
}

impl Quorum<'_> {
    /// Makes an observer a voter by a tool, once the leader knows it.
    fn add(&mut self, tool: Kind, id: i32) -> Result<(), Failure> {
        let status = eventually("the observer", LIMIT, || {
            let status = self.glance()?;
            Ok(status.filter(|status| status.observers.contains(&id)))
        })?;
        let config = self.member(id).config();
        let config = config.to_string_lossy();
        let address = self.member(status.leader).address();
        self.quorum_tool(
            tool,
            &[
                "--bootstrap-controller",
                &address,
                "--command-config",
                &config,
                "add-controller",
            ],
        )
    }

    fn remove(&self, tool: Kind, id: i32) -> Result<(), Failure> {
        let directory = self.member(id).directory_id()?;
        let address = self.member(id).address();
        let id = id.to_string();
        self.quorum_tool(
            tool,
            &[
                "--bootstrap-controller",
                &address,
                "remove-controller",
                "--controller-id",
                &id,
                "--controller-directory-id",
                &directory,
            ],
        )
    }

    fn quorum_tool(&self, tool: Kind, arguments: &[&str]) -> Result<(), Failure> {
        let finished = match tool {
            Kind::Kafka => self.jars().tool(Tool::Quorum, arguments),
            Kind::Kraft => kraft(&[&["quorum"], arguments].concat()),
        };
        finished?.expect_success(&format!("{tool}: {}", arguments.join(" ")))?;
        Ok(())
    }
}
