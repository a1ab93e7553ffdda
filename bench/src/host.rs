//! What a measurement has to say of the machine that it was made on.

use std::{fs, process::Command};

/// The facts as fields of a JSON object, without braces.
#[must_use]
pub fn facts() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpus
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let rustc = Command::new("rustc")
        .arg("--version")
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default();
    format!(
        "\"cpu\":\"{cpu}\",\"cores\":{cores},\"kernel\":\"{}\",\"rustc\":\"{rustc}\"",
        kernel.trim()
    )
}
