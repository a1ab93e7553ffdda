//! The last offsets and the last epoch.

use super::harness::{TestLog, config};
use crate::{
    action::{Action, DiskOp},
    config::Recovered,
    election_state::ElectionState,
    event::Event,
    handles::{PayloadId, ReplyId},
    ids::Epoch,
    offsets::LogEnd,
    open_error::OpenError,
    replica::{LAST_ROOM, MAX_EPOCH, MAX_OFFSET, Replica},
    time::{Instant, Time},
};
use alloc::vec::Vec;

/// A log that a damaged name puts at the end of all offsets: whoever led on it could not append a record.
#[test]
fn a_log_that_ends_further_than_any_is_not_opened() {
    for (end, opens) in [(MAX_OFFSET, true), (MAX_OFFSET + 1, false), (i64::MAX, false)] {
        let mut log = TestLog::new();
        log.end.last_offset = end;
        // With others to vote for it, it appends nothing yet.
        let opened = Replica::open(
            config(&[1, 2, 3]),
            Recovered::default(),
            &log,
            MORNING,
            &mut Vec::new(),
        );
        let refused = opened.err();
        let expected = (!opens).then_some(OpenError::OffsetOutOfRange(end));
        assert_eq!(refused, expected);
    }
}

/// What a lone voter does on a log that ends here.
fn alone_at(end: LogEnd, recovered: Recovered) -> (Replica, TestLog, Vec<Action>) {
    let mut log = TestLog::new();
    log.end = end;
    let mut out = Vec::new();
    let opened = Replica::open(config(&[1]), recovered, &log, MORNING, &mut out);
    (opened.expect("it opens"), log, out)
}

const MORNING: Time = Time {
    mono: Instant(1_000_000),
    wall_ms: 1_000_000,
};

fn at(last_offset: i64) -> LogEnd {
    LogEnd {
        last_epoch: Epoch(1),
        last_offset,
    }
}

fn fatal(out: &[Action]) -> Option<&str> {
    let mut reasons = out.iter().filter_map(|action| match action {
        Action::Fatal { reason } => Some(reason.as_str()),
        _ => None,
    });
    reasons.next()
}

fn appends(out: &[Action]) -> bool {
    let append = |action: &Action| {
        matches!(
            action,
            Action::Disk {
                op: DiskOp::Append { .. },
                ..
            }
        )
    };
    out.iter().any(append)
}

#[test]
fn nothing_is_appended_that_would_make_a_log_that_nobody_opens() {
    let full = "the log ends at offset";
    for end in [MAX_OFFSET - LAST_ROOM + 1, MAX_OFFSET] {
        let (_, _, out) = alone_at(at(end), Recovered::default());
        assert!(
            fatal(&out).is_some_and(|reason| reason.starts_with(full)),
            "{out:?}"
        );
        assert!(!appends(&out));
    }
    let (mut leader, mut log, out) = alone_at(at(MAX_OFFSET - LAST_ROOM), Recovered::default());
    assert_eq!((fatal(&out), appends(&out)), (None, true));
    for action in &out {
        if let Action::Disk { ticket, op } = action {
            log.submit(*ticket, op, MORNING.mono);
        }
    }
    let mut out = Vec::new();
    let propose = Event::Propose {
        reply: ReplyId(1),
        epoch: None,
        records: 1,
        bytes: 10,
        payload: PayloadId(1),
    };
    leader.step(propose, &log, MORNING, &mut out);
    assert!(
        fatal(&out).is_some_and(|reason| reason.starts_with(full)),
        "{out:?}"
    );
    let refused = |action: &Action| {
        matches!(
            action,
            Action::Refuse {
                reply: ReplyId(1),
                ..
            }
        )
    };
    assert!(out.iter().any(refused), "{out:?}");
    assert!(!appends(&out));
}

#[test]
fn no_election_follows_the_last_epoch() {
    let stored = Recovered {
        election: Some(ElectionState {
            epoch: MAX_EPOCH,
            leader: None,
            voted: None,
            voters: Vec::new(),
            kraft_version: 0,
        }),
        ..Recovered::default()
    };
    let (replica, _, out) = alone_at(at(0), stored);
    assert_eq!(
        fatal(&out),
        Some("epoch 2147483646 is the last one: no election can follow it")
    );
    assert_eq!(replica.epoch(), MAX_EPOCH);
}
