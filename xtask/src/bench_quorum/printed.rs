//! What the voters print, theirs and ours.

use std::time::Duration;

/// A change of leadership.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) what: What,
    pub(super) epoch: i64,
    /// Time of day, UTC.
    pub(super) at: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// The voter leads.
    Leads,
    /// It has committed in its epoch.
    Committed,
}

/// The events of a voter's log, in order.
pub(super) fn events(log: &str) -> Vec<Event> {
    log.lines().filter_map(ours).chain(kafkas(log)).collect()
}

fn ours(line: &str) -> Option<Event> {
    let what = if line.contains("leads and makes the load") {
        What::Leads
    } else if line.contains("the first of its records is committed") {
        What::Committed
    } else {
        return None;
    };
    let (_, time) = line.split_once('T')?;
    Some(Event {
        what,
        epoch: number_behind(line, "epoch=")?,
        at: time_of_day(time)?,
    })
}

fn kafkas(log: &str) -> impl Iterator<Item = Event> {
    log.lines().filter_map(|line| {
        let (what, epoch) = if line.contains("Completed transition to Leader(") {
            (What::Leads, "epoch=")
        } else if line.contains(" LeaderState - ") || line.contains("LeaderState -") {
            (What::Committed, "for the first time for epoch ")
        } else {
            return None;
        };
        Some(Event {
            what,
            epoch: number_behind(line, epoch)?,
            at: time_of_day(line)?,
        })
    })
}

fn number_behind(line: &str, before: &str) -> Option<i64> {
    let (_, rest) = line.split_once(before)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// `HH:MM:SS` and a fraction at the beginning of the text.
fn time_of_day(text: &str) -> Option<Duration> {
    let part = |range: std::ops::Range<usize>| text.get(range)?.parse::<u64>().ok();
    let seconds = (part(0..2)? * 60 + part(3..5)?) * 60 + part(6..8)?;
    let end = text.get(8..)?.find(|c: char| c != '.' && !c.is_ascii_digit());
    let fraction: f64 = text.get(8..8 + end?)?.parse().ok()?;
    Some(Duration::from_secs(seconds) + Duration::from_secs_f64(fraction))
}

/// The latencies of the last line of `kraft perf` that begins with `total`, in milliseconds, by name: `p99` and so on.
pub(super) fn total(stdout: &str, name: &str) -> Option<f64> {
    let line = stdout.lines().rev().find(|line| line.starts_with("total "))?;
    let word = line
        .split(' ')
        .find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    word?.parse().ok()
}

/// The latencies of the lines of `TestRaftServer`, in milliseconds, in order.
pub(super) fn kafka_latencies(stdout: &str, name: &str) -> Vec<f64> {
    let of_line = |line: &str| {
        let (_, latencies) = line.split_once("Latency (ms): ")?;
        let words: Vec<_> = latencies.split_whitespace().collect();
        let at = words.iter().position(|word| *word == name)?;
        words[at.checked_sub(1)?].parse().ok()
    };
    stdout.lines().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_are_understood() {
        let log = "2026-11-29T21:57:58.778123Z  INFO kraft_cli::perf::generator: leads and makes the load epoch=3\n\
                   2026-11-29T21:57:58.780000Z  INFO kraft_cli::perf::generator: the first of its records is committed epoch=3 base_offset=1\n";
        let second = Duration::from_secs((21 * 60 + 57) * 60 + 58);
        let expected = [(What::Leads, 778_123), (What::Committed, 780_000)].map(|(what, micros)| Event {
            what,
            epoch: 3,
            at: second + Duration::from_micros(micros),
        });
        assert_eq!(events(log), expected);

        let log = "21:57:57.843 [io] INFO org.apache.kafka.raft.QuorumState - [RaftManager id=1] Completed transition to \
                   Leader(localVoterNode=x, epoch=12, y)\n\
                   21:57:58.778 [io] INFO org.apache.kafka.raft.FollowerState - High watermark set to 1 for the first time for epoch 11\n\
                   21:57:58.778 [io] INFO org.apache.kafka.raft.LeaderState - High watermark set to 1 for the first time for epoch 12 based\n";
        let expected =
            [(What::Leads, 57, 843), (What::Committed, 58, 778)].map(|(what, seconds, millis)| Event {
                what,
                epoch: 12,
                at: Duration::from_secs((21 * 60 + 57) * 60 + seconds) + Duration::from_millis(millis),
            });
        assert_eq!(events(log), expected);

        let stdout = "p99=1.0 ms\ntotal seconds=20.0 p50=0.5 p99=2.5 p999=3.5 ms\n";
        assert_eq!(total(stdout, "p99"), Some(2.5));
        let stdout = "Throughput (bytes/second): 8.53, Latency (ms): 196.0 p75 248.0 p99 249.0 p999\n";
        assert_eq!(kafka_latencies(stdout, "p99"), [248.0]);
    }
}
