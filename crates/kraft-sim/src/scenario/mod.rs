//! Text scenarios: inputs and time in, every effect out.
//!
//! A scenario is one file, `crates/<crate>/scenarios/<theme>/<ID>.txt`, beside the crate that it speaks of. It can be read
//! without code:
//!
//! ```text
//! ELECT-008 Second candidate in an epoch is refused
//! L has voted for C in epoch 2, so B cannot have its vote.
//!
//! replica voters=L,B,C epoch=2 voted=C
//! ----
//! disk #1: store epoch 2, no leader, vote C, voters L,B,C, version 0
//! ...
//!
//! vote from=B epoch=2
//! ----
//! reply 1: Vote NONE, epoch 2, no leader, not granted
//! ```
//!
//! The first line is the id and the title, the paragraph below says what is shown and why. Then come blocks: commands,
//! a line `----`, and everything that the commands print. Paragraphs without `----` are remarks. With
//! `KRAFT_SCENARIO_REWRITE=1` the runner writes what it saw into the files; the diff is then to be read.
//!
//! # Names
//!
//! `L` is the replica under test (node id 0), `B`, `C`, … are the nodes 1, 2, …. `B@b` is B in its directory `b`, `B`
//! is B without a directory id, `B@d9` B in some other directory, `B@nil` B with the zero id; numbers stand for
//! themselves. B listens at `b:9093`, and bootstrap servers, which have the ids -2, -3, …, at `boot1:9093`,
//! `boot2:9093`, …. `10-3` is the end offset 10 with the epoch 3: a log end, a snapshot or a point of divergence. `5x2`
//! is a batch of two records of epoch 5; `5[leader B voters L,B granting B; version 1; voters L@l,B@b]` is a control
//! batch. Times are milliseconds.
//!
//! # Setting up
//!
//! `replica` starts L on a log directory. Arguments, all optional:
//!
//! | argument | meaning |
//! | --- | --- |
//! | `voters=L,B` | the static voters, kraft.version 0 |
//! | `bootstrap-voters=L@l,B@b` | the voters of the bootstrap checkpoint, kraft.version 1 |
//! | `epoch=5` with `leader=B`, `voted=B@b` | what `quorum-state` holds; without `epoch` there is no such file |
//! | `log=1x3,3x2` | the batches of the log; `log-start=` where they begin; `begun=5` an epoch of which only the entry of the cache is left |
//! | `snapshot=10-3` | a snapshot, with `snapshot-size=` and `snapshot-control=[…]` |
//! | `bootstrap-servers=2` | how many bootstrap servers are configured; one if there are no static voters, else none |
//! | `local=D@d`, `broker`, `auto-join`, `seed=` | another local key, no controller role, … |
//! | `listeners=two` | L listens in a second place, too |
//! | `election-timeout=` and the like | other settings than those of the reference's client tests |
//! | `disk=waits` | disk operations stay undone until `durable`; otherwise they are done after each step |
//!
//! `restart` is a crash, with the loss of everything that is not durable, and a new start.
//!
//! # Inputs
//!
//! | command | input |
//! | --- | --- |
//! | `wait 500`, `wait deadline`, `wait transition` | time passes, with a tick at each deadline of the replica, until then, the next deadline, or a change of role or epoch |
//! | `pause 500` | time passes in which the replica is not asked, as in a process that is stopped |
//! | `vote from=B epoch=3`, `pre-vote …` | a (pre-)vote request; `log=10-3` (L's own end if missing), `to=L@l` |
//! | `begin leader=B epoch=3` | BeginQuorumEpoch; `endpoints=none`, `two`, `nameless` or `hostless`, `to=` |
//! | `end leader=B epoch=3 preferring=L@l,C@c` | EndQuorumEpoch |
//! | `fetch from=B epoch=3 offset=5 last=3` | Fetch; `hw=` (not sent if missing), `max-wait=`, `max-bytes=` |
//! | `fetch-snapshot from=B epoch=3 snapshot=10-3` | FetchSnapshot; `position=`, `max-bytes=` |
//! | `describe`, `update-voter voter=B@b epoch=3` | DescribeQuorum, UpdateRaftVoter |
//! | `add-voter voter=D@d early`, `remove-voter voter=B@b` | AddRaftVoter, answered at the append if `early`, and RemoveRaftVoter; `endpoints=other-listener`, `two` or `none` |
//! | `reconfigure add voter=D@d`, `remove`, `update`; `upgrade level=1` | the embedder's changes; `early`, `validate-only`, `epoch=` |
//! | `answer 4 granted`, `answer B …` | the answer to request 4, or to the newest request to B; `error=`, `top-level=`, `epoch=` (L's own if missing), `leader=`, `refused`; for a Fetch `hw=`, `records=`, `corrupt`, `diverging=`, `snapshot=`; for a FetchSnapshot `size=`, `position=`, `bytes=`; for ApiVersions `kraft-version=` with the largest level or `none` |
//! | `fail 4 disconnected` | request 4 has no answer: `unsupported-version`, `authentication`, `malformed` |
//! | `propose records=2` | records to append; `epoch=`, `bytes=` |
//! | `resign epoch=3`, `shutdown timeout=5000` | what the operator can ask for |
//! | `read` | somebody wants to read what is committed |
//! | `durable`, `durable up-to=3`, `disk waits`, `disk follows` | the disk |
//! | `storage-failed`, `caller-gone reply=2`, `leaderless epoch=4`, `installed snapshot=10-3 control=[…]` | the rest |
//!
//! Requests also take `cluster=`, `listener=` and `partition=other`.
//!
//! # Clusters
//!
//! `cluster voters=3` starts the nodes B, C and D as whole engines over a network and disks in memory, where a message and a
//! round of the log thread take a millisecond and nothing goes wrong that the scenario does not say; `observers=1` adds
//! one that does not vote, `down` leaves all of them down, `dynamic` takes the voters from the bootstrap checkpoint, `seed=` draws
//! other election timeouts. With `stable` it is an error if leader or epoch ever change.
//!
//! | command | what happens |
//! | --- | --- |
//! | `wait 500`, `wait leader`, `wait agreement` | time passes, until somebody leads and has committed something, or until all nodes that are up have the same log, all of it is committed and applied, and no client waits |
//! | `propose records=3` | records for the leader, or `at=C` |
//! | `cut B,C`, `cut from=B to=C,D`, `heal` | a group is cut off from the rest, or one way, or nothing is any more |
//! | `crash B`, `stop B`, `start B`, `crash all` | nodes end without warning or gracefully, and start again |
//! | `lose-disk B` | B, which is down, gets an empty disk, and is another replica from its next start on |
//! | `add-voter E`, `remove-voter B` | the leader is asked for it |
//! | `snapshot B`, `state` | B writes a snapshot; the state of all nodes |
//!
//! `leader` stands for the node that leads the newest epoch. Printed are roles, what is known to be committed, what clients are
//! told, and all requests but Fetches. The checkers of the simulation watch.
//!
//! # Output
//!
//! Every action is one line, in the order in which the replica wants them. `(after #3)` stands behind what has to wait for
//! the disk operation 3. `state`, `stored`, `voters` and `changes` print the replica's state, what `quorum-state` durably
//! holds, the voter set in force, and kraft.version with whether a change is under way. The replica's invariants are checked after each step.

mod catalogue;
mod cluster;
mod command;
mod field_reports;
mod model_log;
pub mod names;
mod records;
mod replica;
mod requests;
mod responses;
mod show;
mod text;

pub use catalogue::{NamedTest, OWN_THEMES, THEMES, Theme, find, named_tests, report};
pub(crate) use command::Command;
pub use command::CommandError;
pub use field_reports::{FIELD_REPORTS, FieldTest, field_tests};
pub use text::{Block, NoTitle, Scenario};

/// What running a scenario printed, block by block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// One entry for each block.
    pub outputs: Vec<Vec<String>>,
}

/// Runs a scenario.
///
/// A command that means nothing prints `error: …`: a scenario cannot expect that by accident, as rewriting refuses it.
#[must_use]
pub fn run(scenario: &Scenario) -> Run {
    let mut stage = Stage::Replica(Box::new(replica::Stage::new()));
    let outputs = scenario
        .blocks()
        .map(|block| {
            let printed = block.commands.iter().map(|line| match stage.run(line) {
                Ok(lines) => lines,
                Err(error) => vec![format!("{ERROR}{error}")],
            });
            printed.flatten().collect()
        })
        .collect();
    Run { outputs }
}

/// Where a scenario plays.
enum Stage {
    Replica(Box<replica::Stage>),
    Cluster(Box<cluster::Cluster>),
}

impl Stage {
    /// Carries a command out and returns what it printed.
    fn run(&mut self, line: &str) -> Result<Vec<String>, CommandError> {
        let command = Command::parse(line)?;
        if command.name == "cluster" {
            *self = Self::Cluster(Box::new(cluster::Cluster::new(&command)?));
        } else {
            let known = match self {
                Self::Replica(stage) => stage.run(&command)?,
                Self::Cluster(cluster) => cluster.run(&command)?,
            };
            if !known {
                return Err(CommandError::new(format!(
                    "there is no command `{}`",
                    command.name
                )));
            }
        }
        command.finish()?;
        let mut printed = match self {
            Self::Replica(stage) => stage.take_lines(),
            Self::Cluster(cluster) => cluster.take_lines(),
        };
        if printed.is_empty() {
            printed.push("(nothing)".to_owned());
        }
        Ok(printed)
    }
}

const ERROR: &str = "error: ";

impl Run {
    /// The first command that could not be carried out.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        let lines = self.outputs.iter().flatten();
        lines.map(String::as_str).find(|line| line.starts_with(ERROR))
    }

    /// Where the output differs from what the scenario expects, as text for people.
    #[must_use]
    pub fn difference(&self, scenario: &Scenario) -> Option<String> {
        let (block, output) = scenario
            .blocks()
            .zip(&self.outputs)
            .find(|(block, output)| block.expected != **output)?;
        Some(format!(
            "line {}: {}\nexpected:\n  {}\nseen:\n  {}",
            block.line,
            block.commands.join(" / "),
            block.expected.join("\n  "),
            output.join("\n  ")
        ))
    }
}
