//! Processes that end: with a deadline, by their id, and never left behind.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::interop::Failure;
use crate::interop::jars::Finished;

/// Runs a command to its end; over the limit it is killed and that is a failure.
pub(crate) fn finish(mut command: Command, limit: Duration) -> Result<Finished, Failure> {
    let shown = format!("{command:?}");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().map(read_all);
    let stderr = child.stderr.take().map(read_all);
    let status = wait(&mut child, limit)?;
    let Some(status) = status else {
        child.kill()?;
        child.wait()?;
        return Err(format!("still running after {} s: {shown}", limit.as_secs()).into());
    };
    let text = |reader: Option<thread::JoinHandle<String>>| reader.and_then(|reader| reader.join().ok());
    Ok(Finished {
        code: status.code().unwrap_or(-1),
        stdout: text(stdout).unwrap_or_default(),
        stderr: text(stderr).unwrap_or_default(),
    })
}

/// A process that runs until it is told to stop; dropping it kills it.
pub(crate) struct Running(Child);

impl Running {
    /// Starts it with both streams appended to one file.
    pub(crate) fn start(mut command: Command, output: &Path) -> Result<Running, Failure> {
        let file = File::options().create(true).append(true).open(output)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()?;
        Ok(Running(child))
    }

    /// One that is started already.
    pub(crate) fn of(child: Child) -> Running {
        Running(child)
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Failure> {
        let pid = Pid::from_raw(i32::try_from(self.0.id())?).ok_or("process id 0")?;
        Ok(kill_process(pid, signal)?)
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// SIGTERM, then wait for its end.
    pub(crate) fn stop(mut self, limit: Duration) -> Result<ExitStatus, Failure> {
        let id = self.0.id();
        self.signal(Signal::TERM)?;
        let status = wait(&mut self.0, limit)?;
        status.ok_or_else(|| format!("process {id} ignored SIGTERM for {} s", limit.as_secs()).into())
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) -> Result<(), Failure> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails only when the process has ended.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>, Failure> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn read_all(mut stream: impl std::io::Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).ok();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
