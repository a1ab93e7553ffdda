//! `kraft demo`: the program's main job in one line, each step a fact that is printed with its time and checked.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::Outcome;
use crate::local::{Load, Loaded, LocalError, LocalQuorum, contents_of};
use crate::out::Out;
use crate::signals::Endings;

/// Start a quorum of processes on this machine, kill its leader, and show that nothing committed is lost
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  kraft demo\n  kraft demo --nodes 5 --rate 500 --dir /tmp/quorum")]
pub(crate) struct Arguments {
    /// How many nodes, from 3 to 9: fewer have no majority without their leader
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(3..=9))]
    nodes: u8,
    /// Where to put the directories; they stay there afterwards. Without it they are temporary
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Records a second, from 1 to 100000; the demo fails where the machine is much slower
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,
}

/// A fact that did not hold.
#[derive(Debug, Error)]
enum DemoError {
    #[error("the directory {} is not empty: name another with --dir", .0.display())]
    NotEmpty(PathBuf),
    #[error("{}: {source}; name another with --dir", .path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("only {acknowledged} records were acknowledged within {} s; a slow machine needs a lower --rate", .limit.as_secs())]
    TooFew { acknowledged: usize, limit: Duration },
    #[error("{missing} acknowledged records are not in the log of node {id}, among them number {first}")]
    Lost { id: i32, missing: usize, first: u64 },
    #[error("the logs of node {one} and node {other} differ at offset {offset}")]
    Differ { one: i32, other: i32, offset: i64 },
    #[error("node {id} ended with {status} after SIGTERM")]
    Stop {
        id: i32,
        status: std::process::ExitStatus,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let folder = Folder::choose(arguments.dir.as_deref())?;
    let interrupted = end_on_signal()?;
    let demo = Demo {
        begun: Instant::now(),
        out: Out::report(),
        interrupted,
    };
    demo.run(arguments, &folder.path)?;
    Ok(ExitCode::SUCCESS)
}

struct Demo {
    begun: Instant,
    out: Out,
    interrupted: Arc<AtomicBool>,
}

impl Demo {
    fn run(mut self, arguments: &Arguments, folder: &Path) -> Result<(), Box<dyn Error>> {
        let program = std::env::current_exe()?;
        let count = usize::from(arguments.nodes);
        let mut quorum = LocalQuorum::create(&program, folder, count, "")?;
        quorum.interrupt_on(Arc::clone(&self.interrupted));
        self.fact(&format!(
            "formatted the directories of {count} nodes in {}",
            folder.display()
        ))?;
        let started = Instant::now();
        for id in ids(&quorum) {
            quorum.start(id)?;
            let node = quorum.node(id);
            let process = node.process_id().unwrap_or_default();
            self.fact(&format!(
                "node {id} is process {process} and listens on 127.0.0.1:{}",
                node.port
            ))?;
        }
        let elected = quorum.wait_for("a leader", LIMIT, |now| now.high_watermark > 0)?;
        self.fact(&format!(
            "node {} leads epoch {}, {} after the first start",
            elected.leader,
            elected.epoch,
            shown(started.elapsed())
        ))?;
        let load = Load::start(
            quorum.nodes().iter().map(|node| node.port).collect(),
            arguments.rate,
        );
        let enough = usize::try_from(arguments.rate)? * 2;
        self.wait_acknowledged(&load, enough)?;
        let before = quorum.wait_for("a leader", LIMIT, |now| now.high_watermark > 0)?;
        self.fact(&format!(
            "{} records acknowledged as committed, the high watermark is {}",
            load.acknowledged(),
            before.high_watermark
        ))?;
        self.kill_leader(&mut quorum, &load, before.leader, before.epoch)?;
        let total = load.acknowledged() + enough / 2;
        self.wait_acknowledged(&load, total)?;
        self.fact(&format!(
            "records go on being committed: {} acknowledged",
            load.acknowledged()
        ))?;
        self.bring_back(&mut quorum, before.leader)?;
        let loaded = load.stop();
        let committed = quorum.wait_for("a leader", LIMIT, |now| now.high_watermark > 0)?;
        self.stop_all(&mut quorum)?;
        self.compare(&quorum, &loaded, committed.high_watermark)?;
        self.fact("the demo is complete: every fact held")
    }

    /// The leader dies in the midst of its work; another takes over with everything that was acknowledged.
    fn kill_leader(
        &mut self,
        quorum: &mut LocalQuorum,
        load: &Load,
        leader: i32,
        epoch: i32,
    ) -> Result<(), Box<dyn Error>> {
        let acknowledged = load.so_far();
        let process = quorum.node(leader).process_id().unwrap_or_default();
        quorum.kill(leader)?;
        let killed = Instant::now();
        self.fact(&format!(
            "killed the leader, node {leader} (process {process}), with SIGKILL"
        ))?;
        let next = quorum.wait_for("a next leader", LIMIT, |now| {
            now.leader != leader && now.epoch > epoch && now.high_watermark > 0
        })?;
        self.fact(&format!(
            "node {} took over and leads epoch {}, {} after the kill",
            next.leader,
            next.epoch,
            shown(killed.elapsed())
        ))?;
        self.check_kept(quorum, next.leader, &acknowledged)?;
        self.fact(&format!(
            "all {} records acknowledged before the kill are in its log",
            acknowledged.acknowledged.len()
        ))
    }

    fn bring_back(&mut self, quorum: &mut LocalQuorum, id: i32) -> Result<(), Box<dyn Error>> {
        let started = Instant::now();
        quorum.start(id)?;
        let process = quorum.node(id).process_id().unwrap_or_default();
        self.fact(&format!(
            "started node {id} again on its directory (process {process})"
        ))?;
        quorum.wait_for("all nodes caught up", LIMIT, |now| now.lag_max <= CLOSE)?;
        self.fact(&format!(
            "node {id} has caught up, {} after its start",
            shown(started.elapsed())
        ))
    }

    fn stop_all(&mut self, quorum: &mut LocalQuorum) -> Result<(), Box<dyn Error>> {
        let begun = Instant::now();
        let ids = ids(quorum);
        for (id, status) in ids.iter().zip(quorum.stop(&ids)?) {
            if !status.success() {
                return Err(DemoError::Stop { id: *id, status }.into());
            }
        }
        self.fact(&format!(
            "stopped all nodes with SIGTERM in {}, each ended with 0",
            shown(begun.elapsed())
        ))
    }

    fn compare(
        &mut self,
        quorum: &LocalQuorum,
        loaded: &Loaded,
        committed: i64,
    ) -> Result<(), Box<dyn Error>> {
        let mut logs = Vec::new();
        for node in quorum.nodes() {
            logs.push((node.id, contents_of(&node.data())?));
        }
        let (one, first) = &logs[0];
        for (other, log) in &logs[1..] {
            if let Some(offset) = first.first_difference(log, committed) {
                return Err(DemoError::Differ {
                    one: *one,
                    other: *other,
                    offset,
                }
                .into());
            }
        }
        // Whoever led last has everything; the others may have been stopped a record short of it.
        let newest = logs
            .iter()
            .max_by_key(|(_, log)| log.last())
            .map_or(*one, |(id, _)| *id);
        self.check_kept(quorum, newest, loaded)?;
        self.fact(&format!(
            "the logs of all {} nodes agree, and all {} acknowledged records are there",
            logs.len(),
            loaded.acknowledged.len()
        ))
    }

    fn check_kept(&self, quorum: &LocalQuorum, id: i32, loaded: &Loaded) -> Result<(), Box<dyn Error>> {
        let contents = contents_of(&quorum.node(id).data())?;
        let mut missing = loaded.acknowledged.difference(&contents.loaded);
        match missing.next() {
            None => Ok(()),
            Some(first) => Err(DemoError::Lost {
                id,
                first: *first,
                missing: 1 + missing.count(),
            }
            .into()),
        }
    }

    fn wait_acknowledged(&self, load: &Load, enough: usize) -> Result<(), Box<dyn Error>> {
        let deadline = Instant::now() + LIMIT;
        while load.acknowledged() < enough {
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(LocalError::Interrupted.into());
            }
            if Instant::now() >= deadline {
                return Err(DemoError::TooFew {
                    acknowledged: load.acknowledged(),
                    limit: LIMIT,
                }
                .into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn fact(&mut self, fact: &str) -> Result<(), Box<dyn Error>> {
        Ok(writeln!(self.out, "[{:>8}] {fact}", shown(self.begun.elapsed()))?)
    }
}

/// A demo that is told to end ends its nodes and removes its folder, as one that fails does.
fn end_on_signal() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let mut endings = {
        let _within = runtime.enter();
        Endings::take_over()?
    };
    std::thread::spawn(move || {
        runtime.block_on(endings.next());
        set.store(true, Ordering::Relaxed);
    });
    Ok(flag)
}

/// The folder of a demo; a temporary one is removed in the end, whatever the end is.
struct Folder {
    path: PathBuf,
    temporary: bool,
}

impl Folder {
    fn choose(given: Option<&Path>) -> Result<Folder, Box<dyn Error>> {
        let path = match given {
            Some(path) => std::path::absolute(path)?,
            None => std::env::temp_dir().join(format!("kraft-demo-{}", std::process::id())),
        };
        let unusable = |source| DemoError::Directory {
            path: path.clone(),
            source,
        };
        std::fs::create_dir_all(&path).map_err(unusable)?;
        if std::fs::read_dir(&path).map_err(unusable)?.next().is_some() {
            return Err(DemoError::NotEmpty(path).into());
        }
        Ok(Folder {
            path,
            temporary: given.is_none(),
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.temporary {
            // What cannot be removed stays in the temporary directory of the machine.
            std::fs::remove_dir_all(&self.path).ok();
        }
    }
}

fn ids(quorum: &LocalQuorum) -> Vec<i32> {
    quorum.nodes().iter().map(|node| node.id).collect()
}

fn shown(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

/// How long any single fact may take to come true.
const LIMIT: Duration = Duration::from_secs(60);

/// Under load a follower is always a few records behind.
const CLOSE: i64 = 20;
