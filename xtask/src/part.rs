//! One part of a longer run: announced, timed, its output kept in a file, its own summary lines shown, and
//! its whole output shown when it fails.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::workspace;

/// The outcome of one part.
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    pub(crate) passed: bool,
    pub(crate) took: Duration,
}

/// Runs `command` as the part `name`; it is ended and counted as failed when it outlives `limit`.
pub(crate) fn command(name: &'static str, mut command: Command, limit: Duration) -> Outcome {
    announce(name, &shown(&command));
    let started = Instant::now();
    let log = workspace::target()
        .join("ci")
        .join(format!("{}.log", name.replace(' ', "-")));
    let verdict = fs::create_dir_all(log.parent().expect("the log lies in a folder"))
        .and_then(|()| File::create(&log))
        .and_then(|file| supervise(&mut command, file, limit));
    let problem = match verdict {
        Ok(Ended::Exited(status)) if status.success() => None,
        Ok(Ended::Exited(status)) => Some(format!("{status}")),
        Ok(Ended::OverLimit) => Some(format!("still running after {} s, ended", limit.as_secs())),
        Err(error) => Some(format!("{}: {error}", shown(&command))),
    };
    if problem.is_some() {
        let text = fs::read_to_string(&log).unwrap_or_default();
        println!("{text}");
    }
    finish(name, started, problem)
}

/// Runs a check of our own as the part `name`; it returns its summary line or what is wrong.
pub(crate) fn check(
    name: &'static str,
    what: &str,
    check: impl FnOnce() -> Result<String, String>,
) -> Outcome {
    announce(name, what);
    let started = Instant::now();
    match check() {
        Ok(summary) => {
            println!("    {summary}");
            finish(name, started, None)
        }
        Err(problem) => finish(name, started, Some(problem)),
    }
}

/// Prints one line for each part and whether all passed.
pub(crate) fn summarise(outcomes: &[Outcome]) -> bool {
    println!("\n== summary");
    for outcome in outcomes {
        let word = if outcome.passed { "ok" } else { "FAILED" };
        println!(
            "    {:<22} {:>7.1} s  {word}",
            outcome.name,
            outcome.took.as_secs_f64()
        );
    }
    let failed: Vec<_> = outcomes
        .iter()
        .filter(|outcome| !outcome.passed)
        .map(|outcome| outcome.name)
        .collect();
    let total: f64 = outcomes.iter().map(|outcome| outcome.took.as_secs_f64()).sum();
    if failed.is_empty() {
        println!("    all {} parts passed in {total:.1} s", outcomes.len());
    } else {
        println!("    FAILED after {total:.1} s: {}", failed.join(", "));
    }
    failed.is_empty() && !outcomes.is_empty()
}

enum Ended {
    Exited(ExitStatus),
    OverLimit,
}

fn announce(name: &str, what: &str) {
    println!("\n== {name}: {what}");
    std::io::stdout().flush().ok();
}

fn finish(name: &'static str, started: Instant, problem: Option<String>) -> Outcome {
    let took = started.elapsed();
    match &problem {
        None => println!("   {name} ok in {:.1} s", took.as_secs_f64()),
        Some(problem) => println!("   {name} FAILED in {:.1} s: {problem}", took.as_secs_f64()),
    }
    Outcome {
        name,
        passed: problem.is_none(),
        took,
    }
}

fn shown(command: &Command) -> String {
    let mut words: Vec<_> = command
        .get_envs()
        .filter_map(|(key, value)| {
            Some(format!(
                "{}='{}'",
                key.to_string_lossy(),
                value?.to_string_lossy()
            ))
        })
        .collect();
    let program = command.get_program().to_string_lossy().into_owned();
    words.push(program.rsplit('/').next().unwrap_or(&program).to_owned());
    words.extend(
        command
            .get_args()
            .map(|argument| argument.to_string_lossy().into_owned()),
    );
    words.join(" ")
}

/// Copies both streams into the log line by line, shows the summary lines, and enforces the limit.
fn supervise(command: &mut Command, log: File, limit: Duration) -> std::io::Result<Ended> {
    use std::os::unix::process::CommandExt;
    // A group of its own, so that ending it also ends what it started.
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let log = Arc::new(Mutex::new(log));
    let readers = [
        child
            .stdout
            .take()
            .map(|stream| copy_lines(stream, Arc::clone(&log))),
        child
            .stderr
            .take()
            .map(|stream| copy_lines(stream, Arc::clone(&log))),
    ];
    let ended = wait(&mut child, limit)?;
    for reader in readers.into_iter().flatten() {
        reader.join().ok();
    }
    Ok(ended)
}

fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Ended> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::Exited(status));
        }
        if begun.elapsed() >= limit {
            end_group(child);
            child.wait()?;
            return Ok(Ended::OverLimit);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn end_group(child: &Child) {
    if let Ok(id) = i32::try_from(child.id())
        && let Some(group) = rustix::process::Pid::from_raw(id)
    {
        // It fails only when the group is gone already.
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
    }
}

fn copy_lines(stream: impl std::io::Read + Send + 'static, log: Arc<Mutex<File>>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
            let text = String::from_utf8_lossy(&line);
            if is_summary(&text) {
                println!("    {}", text.trim());
            }
            if let Ok(mut log) = log.lock() {
                writeln!(log, "{text}").ok();
            }
        }
    })
}

/// The lines in which the runners themselves say how it went.
fn is_summary(line: &str) -> bool {
    let line = line.trim_start();
    [
        "test result:",
        "Finished ",
        "Generated ",
        "Running ",
        "Doc-tests ",
        "summary: ",
        "error",
        "  at ",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_may_have_no_limit() {
        let mut child = Command::new("true").spawn().expect("true is everywhere");
        let ended = wait(&mut child, Duration::MAX).expect("a child of ours");
        assert!(matches!(ended, Ended::Exited(status) if status.success()));
    }
}
