//! How many files the process may have open, and what of it connections may take.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Takes as many open files as the system allows, as a JVM does. Where it refuses, the number stays as it is.
pub(crate) fn raise_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    // The limit that is in force is asked for where it counts.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// How many connections each of so many listeners may have.
///
/// The log needs files too. If connections could take the last one, whoever opens enough of them would end the node.
pub(super) fn connections_max(listeners: usize) -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    share(limit, listeners)
}

fn share(limit: usize, listeners: usize) -> usize {
    let own = OWN_FILES.min(limit / 2);
    ((limit - own) / listeners.max(1)).max(1)
}

/// For the log, snapshots, connections to peers, and the runtime.
const OWN_FILES: usize = 384;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_the_log() {
        assert_eq!(share(1024, 1), 640);
        assert_eq!(share(1024, 2), 320);
        assert_eq!(share(256, 1), 128, "at least half");
        assert_eq!(share(0, 1), 1);
        assert!(share(usize::MAX, 1) > 1 << 40);
    }
}
