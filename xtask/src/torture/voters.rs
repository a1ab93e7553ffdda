//! The processes of the voters, and the pipes by which they are asked.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::guardian::Guardian;
use super::history::Told;
use super::network::Network;
use super::recorder::Recorder;
use super::{POLL, RECOVERY, VOTERS};
use crate::eventually::eventually_every;
use crate::interop::Failure;
use crate::workspace;

/// Where clients find the voters that run.
#[derive(Default)]
pub(crate) struct Seats(Mutex<BTreeMap<usize, Arc<Connection>>>);

impl Seats {
    pub(crate) fn of(&self, voter: usize) -> Option<Arc<Connection>> {
        self.0
            .lock()
            .expect("nobody panics with the lock")
            .get(&voter)
            .cloned()
    }
}

/// The pipes of one process. A question that it does not answer before it ends is answered by nobody.
pub(crate) struct Connection {
    stdin: Mutex<ChildStdin>,
    waiting: Mutex<Waiting>,
    ready: AtomicBool,
    questions: AtomicU64,
}

/// Who waits, by the word that begins the answer; `None` once there are no more answers.
type Waiting = Option<BTreeMap<String, Sender<String>>>;

impl Connection {
    /// Asks; the answer comes without the word that began the question.
    pub(crate) fn ask(&self, word: &str, question: &str) -> Result<Receiver<String>, Failure> {
        let (sender, answer) = channel();
        let mut waiting = self.waiting.lock().expect("nobody panics with the lock");
        waiting
            .as_mut()
            .ok_or("it has ended")?
            .insert(word.to_owned(), sender);
        drop(waiting);
        let line = format!("{word} {question}\n");
        let mut stdin = self.stdin.lock().expect("nobody panics with the lock");
        stdin.write_all(line.as_bytes())?;
        Ok(answer)
    }

    /// Asks something that is no operation of the history, and waits a little.
    pub(crate) fn question(&self, question: &str) -> Result<String, Failure> {
        let word = format!("q{}", self.questions.fetch_add(1, Ordering::Relaxed));
        Ok(self.ask(&word, question)?.recv_timeout(Duration::from_secs(5))?)
    }

    fn read(&self, stdout: ChildStdout, recorder: &Recorder) {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if line == "ready" {
                self.ready.store(true, Ordering::Release);
            }
            let Some((word, answer)) = line.split_once(' ') else {
                continue;
            };
            if let (Ok(operation), Some(told)) = (word.parse(), told(answer)) {
                recorder.end(operation, told);
            }
            let mut waiting = self.waiting.lock().expect("nobody panics with the lock");
            if let Some(sender) = waiting.as_mut().and_then(|waiting| waiting.remove(word)) {
                // Whoever asked may have given up.
                sender.send(answer.to_owned()).ok();
            }
        }
        *self.waiting.lock().expect("nobody panics with the lock") = None;
    }
}

/// What an answer tells about an operation; nothing if it leaves it open.
fn told(answer: &str) -> Option<Told> {
    let mut words = answer.split(' ');
    match words.next()? {
        "ok" => Some(Told::Written {
            base: words.next()?.parse().ok()?,
        }),
        "refused" => Some(Told::Refused),
        "saw" => Some(Told::Saw {
            last: words.next()?.parse().ok()?,
            digest: words.next()?.parse().ok()?,
        }),
        _ => None,
    }
}

/// What a voter says of itself.
pub(crate) struct State {
    pub(crate) leads: bool,
    pub(crate) applied: i64,
    pub(crate) digest: u64,
}

/// All voters. Dropping them kills them.
pub(crate) struct Voters {
    pub(crate) network: Network,
    pub(crate) seats: Arc<Seats>,
    children: BTreeMap<usize, Child>,
    folder: PathBuf,
    recorder: Arc<Recorder>,
    guardian: Guardian,
}

impl Voters {
    pub(crate) fn new(
        network: Network,
        guardian: Guardian,
        folder: &Path,
        recorder: Arc<Recorder>,
    ) -> Voters {
        Voters {
            network,
            seats: Arc::default(),
            children: BTreeMap::new(),
            folder: folder.to_path_buf(),
            recorder,
            guardian,
        }
    }

    /// The metadata directory of a voter.
    pub(crate) fn data(&self, voter: usize) -> PathBuf {
        self.folder.join(format!("voter-{voter}"))
    }

    pub(crate) fn start(&mut self, voter: usize) -> Result<(), Failure> {
        let program = workspace::target().join("release/examples/torture_voter");
        let log = self.folder.join(format!("voter-{voter}.log"));
        let mut child = self
            .network
            .command(voter, &program)
            .arg(voter.to_string())
            .arg(self.data(voter))
            .args(self.network.addresses())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::options().create(true).append(true).open(log)?)
            .spawn()?;
        self.guardian.began(child.id())?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        self.children.insert(voter, child);
        let connection = Arc::new(Connection {
            stdin: Mutex::new(stdin.ok_or("no stdin")?),
            waiting: Mutex::new(Some(BTreeMap::new())),
            ready: AtomicBool::new(false),
            questions: AtomicU64::new(0),
        });
        let (reader, stdout) = (Arc::clone(&connection), stdout.ok_or("no stdout")?);
        let recorder = Arc::clone(&self.recorder);
        thread::spawn(move || reader.read(stdout, &recorder));
        let mut seats = self.seats.0.lock().expect("nobody panics with the lock");
        seats.insert(voter, connection);
        Ok(())
    }

    pub(crate) fn signal(&self, voter: usize, signal: Signal) -> Result<(), Failure> {
        let child = self.children.get(&voter).ok_or("it does not run")?;
        let process = Pid::from_raw(i32::try_from(child.id())?).ok_or("process id 0")?;
        Ok(kill_process(process, signal)?)
    }

    /// Waits until the process has ended that was sent this signal: SIGTERM has to end it well.
    pub(crate) fn wait(&mut self, voter: usize, sent: Signal) -> Result<(), Failure> {
        let child = self.children.get_mut(&voter).ok_or("it does not run")?;
        let what = format!("voter {voter} ends");
        let status = eventually_every(POLL, &what, RECOVERY, || Ok(child.try_wait()?))?;
        self.guardian.ended(child.id())?;
        self.children.remove(&voter);
        self.seats
            .0
            .lock()
            .expect("nobody panics with the lock")
            .remove(&voter);
        let expected = match sent {
            Signal::KILL => status.signal() == Some(Signal::KILL.as_raw()),
            _ => status.success(),
        };
        if expected {
            return Ok(());
        }
        Err(format!("voter {voter} ended with {status}").into())
    }

    pub(crate) fn kill(&mut self, voter: usize) -> Result<(), Failure> {
        self.signal(voter, Signal::KILL)?;
        self.wait(voter, Signal::KILL)
    }

    /// That nobody has ended who was not asked to.
    pub(crate) fn expect_running(&mut self) -> Result<(), Failure> {
        for (voter, child) in &mut self.children {
            if let Some(status) = child.try_wait()? {
                return Err(format!("voter {voter} ended by itself with {status}").into());
            }
        }
        if self.children.len() < VOTERS {
            return Err("not all voters run".into());
        }
        Ok(())
    }

    /// What a voter says, nothing as long as it does not accept anything.
    pub(crate) fn state(&self, voter: usize) -> Result<Option<State>, Failure> {
        let connection = self.seats.of(voter).ok_or("it does not run")?;
        if !connection.ready.load(Ordering::Acquire) {
            return Ok(None);
        }
        let Ok(answer) = connection.question("state") else {
            return Ok(None);
        };
        let words: Vec<_> = answer.split(' ').collect();
        let ["state", leads, applied, digest] = words.as_slice() else {
            return Err(format!("voter {voter} says {answer:?}").into());
        };
        Ok(Some(State {
            leads: leads.parse()?,
            applied: applied.parse()?,
            digest: digest.parse()?,
        }))
    }

    /// Waits until every voter has applied everything up to `offset`.
    pub(crate) fn all_apply(&mut self, offset: i64, limit: Duration) -> Result<(), Failure> {
        for voter in 1..=VOTERS {
            eventually_every(
                POLL,
                &format!("voter {voter} has applied offset {offset}"),
                limit,
                || {
                    self.expect_running()?;
                    let state = self.state(voter)?;
                    Ok(state.filter(|state| state.applied >= offset).map(|_| ()))
                },
            )?;
        }
        Ok(())
    }

    /// What every voter printed last.
    pub(crate) fn last_words(&self) -> String {
        let mut words = String::new();
        for voter in 1..=VOTERS {
            let log = fs::read_to_string(self.folder.join(format!("voter-{voter}.log"))).unwrap_or_default();
            let from = log.lines().count().saturating_sub(5);
            let last: Vec<_> = log.lines().skip(from).collect();
            words.push_str(&format!(
                "\n     voter {voter}: {}",
                last.join("\n              ")
            ));
        }
        words
    }
}

impl Drop for Voters {
    fn drop(&mut self) {
        for child in self.children.values_mut() {
            // Both fail only where the process has ended.
            child.kill().ok();
            child.wait().ok();
        }
    }
}
