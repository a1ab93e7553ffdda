//! The ERROR lines of a JVM's log: those that every healthy quorum of Kafka's own prints, and all others.

use std::fs;
use std::path::Path;

use crate::interop::Failure;

/// Fails with the ERROR lines that an all-JVM quorum does not print.
pub(crate) fn check(log: &Path) -> Result<(), Failure> {
    let Ok(text) = fs::read_to_string(log) else {
        return Ok(());
    };
    let unexpected: Vec<_> = entries(&text).filter(|entry| !is_normal(entry)).collect();
    if unexpected.is_empty() {
        return Ok(());
    }
    Err(format!(
        "unexpected ERROR lines in {}:\n{}",
        log.display(),
        unexpected.join("\n")
    )
    .into())
}

/// Each ERROR line with what belongs to it: the lines of its exception, up to the next dated line.
fn entries(text: &str) -> impl Iterator<Item = String> {
    let mut entries: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.contains(" ERROR ") {
            entries.push(line.to_owned());
            inside = true;
        } else if is_dated(line) {
            inside = false;
        } else if inside && let Some(entry) = entries.last_mut() {
            entry.push('\n');
            entry.push_str(line);
        }
    }
    entries.into_iter()
}

fn is_dated(line: &str) -> bool {
    let start = line.as_bytes();
    start.len() > 12 && start[2] == b':' && start[5] == b':' && start[8] == b'.'
}

fn is_normal(entry: &str) -> bool {
    let has = |word: &str| entry.contains(word);
    // Asked before the first metadata.version is known.
    (has("DESCRIBE_CLUSTER") && (has("UnsupportedVersion") || has("NoSuchElement") || has("metadata.version")))
        // Stopped while there is no leader.
        || (has("Graceful shutdown of RaftClient failed") && has("TimeoutException"))
        // A controller that is just starting or stopping.
        || (has("API_VERSIONS") && has("NullPointerException"))
        // Small segments.
        || has("is only supported for testing")
        // Around a change of leader.
        || has("NotControllerException")
        // A busy machine.
        || has("Exceptionally slow controller event")
        || (has("ControllerRegistrationManager") && has("timed out before sending"))
}
