//! What the suites share that run the program.

use std::process::Child;

/// A process that does not outlive the test, however the test ends.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only where the process has ended.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
