//! What signals do to the program.

use std::fs;
use std::future::poll_fn;
use std::io;
use std::task::Poll;

use rustix::process::Signal as Number;
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end a process in order: those that end a JVM so. One that the process was started to ignore, as `nohup` and
/// a shell without job control start it, stays ignored, as in a JVM.
pub(crate) struct Endings(Vec<(&'static str, Signal)>);

impl Endings {
    /// From now on these signals are waited for and do nothing else. Within a runtime.
    pub(crate) fn take_over() -> io::Result<Endings> {
        let signals = [
            ("SIGTERM", Number::TERM),
            ("SIGINT", Number::INT),
            ("SIGHUP", Number::HUP),
        ];
        let ignored = ignored();
        let signals = signals.into_iter().filter(|(_, number)| !ignored(*number));
        let taken = signals.map(|(name, number)| Ok((name, taken_over(number)?)));
        Ok(Endings(taken.collect::<io::Result<_>>()?))
    }

    /// The name of the next one.
    pub(crate) async fn next(&mut self) -> &'static str {
        poll_fn(|cx| {
            let mut signals = self.0.iter_mut();
            let come = signals.find_map(|(name, signal)| signal.poll_recv(cx).is_ready().then_some(*name));
            come.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// Has a write beyond a limit of the size of files fail, as it does in a JVM. Its signal would end the process, which then
/// could not say why, and blocks that are only made ready ahead of the log would be enough for it.
pub(crate) fn outlive_file_size_limit() -> io::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
    let _within = runtime.enter();
    // What has been taken over stays so.
    taken_over(Number::XFSZ).map(drop)
}

fn taken_over(number: Number) -> io::Result<Signal> {
    signal(SignalKind::from_raw(number.as_raw()))
}

/// Which signals this process has been started to ignore; where the system does not say, none.
fn ignored() -> impl Fn(Number) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = ignored_mask(&status).unwrap_or_default();
    move |number| mask >> (number.as_raw() - 1) & 1 == 1
}

fn ignored_mask(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
