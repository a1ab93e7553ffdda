//! What clients did and were told, and whether a log explains it.
//!
//! A replicated log is linearizable if there is one order, that of the log, in which every write stands where its client was
//! told, every read saw exactly what stands before its place, and whatever ended before something else began comes first.
//! As the order is given by offsets, nothing has to be searched for.

use std::collections::BTreeMap;
use std::fmt;

/// Something a client did. Its number is its place in the history.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) what: What,
    /// When it began.
    pub(crate) began: u64,
    /// When the client was told, if it was.
    pub(crate) ended: Option<u64>,
    pub(crate) told: Told,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// So many records as one unit, each followed by so much padding.
    Write {
        records: usize,
        padding: usize,
    },
    Read,
}

/// What a client was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing, or that it is open.
    Open,
    /// It did not happen and never will.
    Refused,
    /// Committed, its first record at this offset.
    Written { base: i64 },
    /// Everything up to this offset, of which this is the digest.
    Saw { last: i64, digest: u64 },
}

/// A record with a value, where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) offset: i64,
    pub(crate) value: Vec<u8>,
}

/// The log contradicts what a client was told or asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// A record that nobody wrote, or not like this.
    Strange { offset: i64 },
    /// The records of a write are not there once each, one behind the other.
    Scattered { operation: usize },
    /// An acknowledged write is not where it was acknowledged.
    Lost { operation: usize, base: i64 },
    /// A write that was refused for certain is in the log.
    Risen { operation: usize, base: i64 },
    /// What a read saw was never the beginning of the log.
    Imagined { operation: usize, last: i64 },
    /// It comes before something that had ended when it began.
    Stale {
        operation: usize,
        at: i64,
        ended_before: i64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Strange { offset } => write!(f, "the record at {offset} was never written like this"),
            Violation::Scattered { operation } => {
                write!(
                    f,
                    "the records of write {operation} are not there once each and in one piece"
                )
            }
            Violation::Lost { operation, base } => {
                write!(f, "write {operation} was acknowledged at {base} and is not there")
            }
            Violation::Risen { operation, base } => {
                write!(f, "write {operation} was refused for certain and is at {base}")
            }
            Violation::Imagined { operation, last } => {
                write!(
                    f,
                    "what read {operation} saw up to {last} is not what the log has up to there"
                )
            }
            Violation::Stale {
                operation,
                at,
                ended_before,
            } => write!(
                f,
                "operation {operation} takes place at {at}, but {ended_before} was told before it began"
            ),
        }
    }
}

/// The value of record `index` of write `operation`.
pub(crate) fn value(operation: usize, index: usize, padding: usize) -> String {
    format!("{operation}.{index}.{}", "x".repeat(padding))
}

/// All that is wrong, the log first.
pub(crate) fn check(history: &[Operation], log: &[Record]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let places = places(history, log, &mut violations);
    check_answers(history, log, &places, &mut violations);
    check_order(history, &places, &mut violations);
    violations
}

/// Where each write stands that is in the log: the offset of its first record.
fn places(history: &[Operation], log: &[Record], violations: &mut Vec<Violation>) -> BTreeMap<usize, i64> {
    let mut found: BTreeMap<usize, Vec<(usize, i64)>> = BTreeMap::new();
    for record in log {
        match written(history, &record.value) {
            Some((operation, index)) => found.entry(operation).or_default().push((index, record.offset)),
            None => violations.push(Violation::Strange {
                offset: record.offset,
            }),
        }
    }
    let mut places = BTreeMap::new();
    for (operation, records) in found {
        let base = records[0].1;
        let expected = (0..count(&history[operation])).zip(base..);
        if !records.into_iter().eq(expected) {
            violations.push(Violation::Scattered { operation });
        }
        places.insert(operation, base);
    }
    places
}

/// Which record of which write has this value.
fn written(history: &[Operation], found: &[u8]) -> Option<(usize, usize)> {
    let text = std::str::from_utf8(found).ok()?;
    let (operation, rest) = text.split_once('.')?;
    let operation: usize = operation.parse().ok()?;
    let index: usize = rest.split_once('.')?.0.parse().ok()?;
    let What::Write { records, padding } = history.get(operation)?.what else {
        return None;
    };
    (index < records && text == value(operation, index, padding)).then_some((operation, index))
}

fn count(operation: &Operation) -> usize {
    match operation.what {
        What::Write { records, .. } => records,
        What::Read => 0,
    }
}

fn check_answers(
    history: &[Operation],
    log: &[Record],
    places: &BTreeMap<usize, i64>,
    violations: &mut Vec<Violation>,
) {
    let digests = digests(log);
    for (operation, Operation { told, .. }) in history.iter().enumerate() {
        let place = places.get(&operation).copied();
        match (*told, place) {
            (Told::Written { base }, place) if place != Some(base) => {
                violations.push(Violation::Lost { operation, base });
            }
            (Told::Refused, Some(base)) => violations.push(Violation::Risen { operation, base }),
            (Told::Saw { last, digest }, _) => {
                let before = log.partition_point(|record| record.offset <= last);
                if digests[before] != digest {
                    violations.push(Violation::Imagined { operation, last });
                }
            }
            _ => {}
        }
    }
}

/// The digest of all records.
pub(crate) fn digest(log: &[Record]) -> u64 {
    digests(log)[log.len()]
}

/// The digest of the first so many records: FNV-1a over the values and a byte that ends each.
fn digests(log: &[Record]) -> Vec<u64> {
    let mut digest: u64 = 0xcbf2_9ce4_8422_2325;
    let mut digests = vec![digest];
    for record in log {
        for byte in record.value.iter().chain(&[0xff]) {
            digest = (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        digests.push(digest);
    }
    digests
}

/// Whatever has ended sets the least place of what begins later: a write has to stand behind it, a read has to see it.
fn check_order(history: &[Operation], places: &BTreeMap<usize, i64>, violations: &mut Vec<Violation>) {
    /// At the same moment, what begins comes first: the two are concurrent then.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    enum Moment {
        Begins,
        Ends,
    }
    let mut moments = Vec::new();
    for (operation, what) in history.iter().enumerate() {
        moments.push((what.began, Moment::Begins, operation));
        moments.extend(what.ended.map(|ended| (ended, Moment::Ends, operation)));
    }
    moments.sort();
    let mut floor = -1;
    for (_, moment, operation) in moments {
        let what = &history[operation];
        let place = places.get(&operation).copied();
        match (moment, what.told, place) {
            (Moment::Begins, Told::Saw { last: at, .. }, _) if at < floor => {
                violations.push(Violation::Stale {
                    operation,
                    at,
                    ended_before: floor,
                });
            }
            (Moment::Begins, _, Some(at)) if at <= floor => {
                violations.push(Violation::Stale {
                    operation,
                    at,
                    ended_before: floor,
                });
            }
            (Moment::Begins, ..) => {}
            (Moment::Ends, Told::Saw { last, .. }, _) => floor = floor.max(last),
            (Moment::Ends, Told::Written { base }, _) => {
                let records = i64::try_from(count(what)).expect("a few records");
                floor = floor.max(base + records - 1);
            }
            (Moment::Ends, Told::Open | Told::Refused, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A write of two records that began and ended at these times.
    fn write(began: u64, ended: Option<u64>, told: Told) -> Operation {
        let what = What::Write {
            records: 2,
            padding: 3,
        };
        Operation {
            what,
            began,
            ended,
            told,
        }
    }

    fn read(began: u64, ended: u64, last: i64, log: &[Record]) -> Operation {
        let before = log.partition_point(|record| record.offset <= last);
        let told = Told::Saw {
            last,
            digest: digests(log)[before],
        };
        Operation {
            what: What::Read,
            began,
            ended: Some(ended),
            told,
        }
    }

    /// A log in which writes stand behind each other, a control record at 0.
    fn log(operations: &[usize]) -> Vec<Record> {
        let values = operations
            .iter()
            .flat_map(|operation| [(*operation, 0), (*operation, 1)]);
        let records = (1..).zip(values);
        let record = |(offset, (operation, index))| Record {
            offset,
            value: value(operation, index, 3).into_bytes(),
        };
        records.map(record).collect()
    }

    fn written(began: u64, ended: u64, base: i64) -> Operation {
        write(began, Some(ended), Told::Written { base })
    }

    #[test]
    fn a_log_that_explains_everything_passes() {
        let log = log(&[1, 0, 3]);
        let history = [
            // Concurrent with the next, so the order of the two is free.
            written(0, 10, 3),
            written(0, 10, 1),
            write(11, Some(12), Told::Refused),
            // Nobody was told, so it may be there,
            write(11, None, Told::Open),
            // or not.
            write(11, None, Told::Open),
            read(11, 12, 4, &log),
            read(13, 14, 6, &log),
        ];
        assert_eq!(check(&history, &log), []);
    }

    #[test]
    fn a_lost_write_is_found() {
        let history = [written(0, 1, 1), written(2, 3, 3)];
        assert_eq!(
            check(&history, &log(&[0])),
            [Violation::Lost {
                operation: 1,
                base: 3
            }]
        );
    }

    #[test]
    fn a_write_elsewhere_than_told_is_found() {
        let history = [written(0, 9, 3), written(0, 9, 1)];
        let found = check(&history, &log(&[0, 1]));
        let lost = |operation, base| Violation::Lost { operation, base };
        assert_eq!(found, [lost(0, 3), lost(1, 1)]);
    }

    #[test]
    fn half_a_write_is_found() {
        let mut log = log(&[0]);
        log.pop();
        assert_eq!(
            check(&[written(0, 1, 1)], &log),
            [Violation::Scattered { operation: 0 }]
        );
    }

    #[test]
    fn a_duplicated_write_is_found() {
        assert_eq!(
            check(&[written(0, 1, 1)], &log(&[0, 0])),
            [Violation::Scattered { operation: 0 }]
        );
    }

    #[test]
    fn reordered_writes_are_found() {
        // The first was acknowledged before the second began, and stands behind it.
        let history = [written(0, 1, 3), written(2, 3, 1)];
        let stale = Violation::Stale {
            operation: 1,
            at: 1,
            ended_before: 4,
        };
        assert_eq!(check(&history, &log(&[1, 0])), [stale]);
        // The same if nobody was told of the second.
        let history = [written(0, 1, 3), write(2, None, Told::Open)];
        assert_eq!(check(&history, &log(&[1, 0])), [stale]);
    }

    #[test]
    fn a_refused_write_that_is_there_is_found() {
        let history = [write(0, Some(1), Told::Refused)];
        assert_eq!(
            check(&history, &log(&[0])),
            [Violation::Risen {
                operation: 0,
                base: 1
            }]
        );
    }

    #[test]
    fn a_changed_record_is_found() {
        let mut log = log(&[0]);
        log[1].value = value(0, 1, 4).into_bytes();
        let found = check(&[written(0, 1, 1)], &log);
        assert_eq!(
            found,
            [
                Violation::Strange { offset: 2 },
                Violation::Scattered { operation: 0 }
            ]
        );
    }

    #[test]
    fn a_stale_read_is_found() {
        let log = log(&[0, 1]);
        let history = [written(0, 1, 1), written(2, 3, 3), read(4, 5, 2, &log)];
        let stale = |operation| Violation::Stale {
            operation,
            at: 2,
            ended_before: 4,
        };
        assert_eq!(check(&history, &log), [stale(2)]);
        // And one that sees less than an earlier read.
        let history = [
            written(0, 1, 1),
            write(0, None, Told::Open),
            read(2, 3, 4, &log),
            read(4, 5, 2, &log),
        ];
        assert_eq!(check(&history, &log), [stale(3)]);
    }

    #[test]
    fn a_write_before_what_a_read_has_seen_is_found() {
        let log = log(&[1, 0]);
        let history = [written(0, 9, 3), write(4, None, Told::Open), read(2, 3, 4, &log)];
        let stale = Violation::Stale {
            operation: 1,
            at: 1,
            ended_before: 4,
        };
        assert_eq!(check(&history, &log), [stale]);
    }

    #[test]
    fn a_read_of_what_was_never_there_is_found() {
        let seen = log(&[1]);
        let history = [written(0, 1, 1), write(0, None, Told::Open), read(2, 3, 2, &seen)];
        let imagined = Violation::Imagined {
            operation: 2,
            last: 2,
        };
        assert_eq!(check(&history, &log(&[0])), [imagined]);
    }
}
