//! A shell that waits for the end of this process, whatever that is, and then ends what is left and removes the network.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;

use crate::interop::Failure;

/// Dropping it does what it is there for.
pub(crate) struct Guardian {
    shell: Child,
    told: Mutex<Told>,
}

struct Told {
    pipe: Option<ChildStdin>,
    processes: BTreeSet<u32>,
}

/// The last line names the processes that run. SIGKILL also ends those that are stopped.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
running=
while read -r line; do running=$line; done
[ -z "$running" ] || kill -KILL $running
for namespace in "$@"; do ip netns delete "$namespace"; done
"#;

impl Guardian {
    pub(crate) fn start(namespaces: &[String]) -> Result<Guardian, Failure> {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "guardian"])
            .args(namespaces)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let pipe = shell.stdin.take();
        let processes = BTreeSet::new();
        let told = Mutex::new(Told { pipe, processes });
        Ok(Guardian { shell, told })
    }

    /// A process that is to be ended, too.
    pub(crate) fn began(&self, process: u32) -> Result<(), Failure> {
        self.tell(|processes| processes.insert(process))
    }

    /// It has been waited for, so its number may belong to another soon.
    pub(crate) fn ended(&self, process: u32) -> Result<(), Failure> {
        self.tell(|processes| processes.remove(&process))
    }

    fn tell(&self, change: impl FnOnce(&mut BTreeSet<u32>) -> bool) -> Result<(), Failure> {
        let mut told = self.told.lock().expect("nobody panics with the lock");
        change(&mut told.processes);
        let words: Vec<_> = told.processes.iter().map(u32::to_string).collect();
        let line = format!("{}\n", words.join(" "));
        let pipe = told.pipe.as_mut().ok_or("the guardian is gone")?;
        Ok(pipe.write_all(line.as_bytes())?)
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        if let Ok(told) = self.told.get_mut() {
            told.pipe = None;
        }
        self.shell.wait().ok();
    }
}
