//! What the figures were measured on.

use std::{fs, path::Path, thread};

use serde_json::{Value, json};

/// Processor, cores, file system and kernel.
pub(crate) fn facts(dir: &Path) -> Value {
    json!({
        "cpu": cpu(),
        "cores": thread::available_parallelism().map_or(0, |cores| cores.get()),
        "fs": file_system(dir),
        "kernel": read("/proc/sys/kernel/osrelease"),
    })
}

/// How busy the machine is.
pub(crate) fn load() -> Option<f64> {
    read("/proc/loadavg").split(' ').next()?.parse().ok()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn cpu() -> Option<String> {
    let info = read("/proc/cpuinfo");
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The type of the file system that is mounted nearest above `dir`.
fn file_system(dir: &Path) -> Option<String> {
    let dir = dir.canonicalize().ok()?;
    let mounts = read("/proc/mounts");
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let above = mounts.filter(|(place, _)| dir.starts_with(place));
    let (_, name) = above.max_by_key(|(place, _)| place.len())?;
    Some(name.to_owned())
}
