//! The log of a voter as its files have it, read without the code that is tortured.

use std::fs;
use std::path::Path;

use super::history::Record;
use crate::interop::Failure;

/// All batches of a log, in order. It begins with a snapshot's end where its leader had nothing older to compare with.
pub(crate) struct Log {
    bytes: Vec<u8>,
    batches: Vec<Batch>,
}

/// Where a batch is and what its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Batch {
    at: usize,
    end: usize,
    base: i64,
    last: i64,
    epoch: i32,
    control: bool,
    records: i32,
}

impl Log {
    /// Reads the segments of a partition's directory. Behind the last batch of a segment there may be zeros.
    pub(crate) fn read(folder: &Path) -> Result<Log, Failure> {
        let mut segments: Vec<_> = fs::read_dir(folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        segments.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        segments.sort();
        let mut bytes = Vec::new();
        for segment in segments {
            let read = fs::read(&segment)?;
            let mut at = 0;
            while let Some(batch) = Batch::at(&read, at) {
                at = batch.end;
            }
            if read[at..].iter().any(|byte| *byte != 0) {
                return Err(format!("{}: no batch at byte {at}", segment.display()).into());
            }
            bytes.extend_from_slice(&read[..at]);
        }
        Log::of(bytes)
    }

    fn of(bytes: Vec<u8>) -> Result<Log, Failure> {
        let mut batches: Vec<Batch> = Vec::new();
        let start = Batch::at(&bytes, 0).ok_or("the log is empty")?.base;
        let (mut at, mut next, mut epoch) = (0, start, 0);
        while let Some(batch) = Batch::at(&bytes, at) {
            if batch.base != next || batch.epoch < epoch {
                return Err(format!("{batch:?} follows offset {next} of epoch {epoch}").into());
            }
            (at, next, epoch) = (batch.end, batch.last + 1, batch.epoch);
            batches.push(batch);
        }
        Ok(Log { bytes, batches })
    }

    /// Its first offset.
    pub(crate) fn start(&self) -> i64 {
        self.batches[0].base
    }

    /// The bytes of the batches from offset `first` up to and including `last`, which have to begin and end one.
    pub(crate) fn between(&self, first: i64, last: i64) -> Result<&[u8], Failure> {
        let begins = self.batches.iter().find(|batch| batch.base == first);
        let ends = self.batches.iter().find(|batch| batch.last == last);
        let (begins, ends) = begins
            .zip(ends)
            .ok_or_else(|| format!("no batches of the log are from offset {first} to {last}"))?;
        Ok(&self.bytes[begins.at..ends.end])
    }

    /// The records with values up to and including `offset`.
    pub(crate) fn records(&self, offset: i64) -> Result<Vec<Record>, Failure> {
        let mut records = Vec::new();
        let batches = self.batches.iter().filter(|batch| batch.last <= offset);
        for batch in batches.filter(|batch| !batch.control) {
            let mut rest = &self.bytes[batch.at + HEADER..batch.end];
            for _ in 0..batch.records {
                let record = record(&mut rest, batch.base);
                records.push(record.ok_or_else(|| format!("{batch:?} has a record that is none"))?);
            }
        }
        Ok(records)
    }

    /// How many epochs have records, and so have had a leader.
    pub(crate) fn epochs(&self) -> usize {
        let mut epochs: Vec<_> = self.batches.iter().map(|batch| batch.epoch).collect();
        epochs.dedup();
        epochs.len()
    }
}

impl Batch {
    fn at(bytes: &[u8], at: usize) -> Option<Batch> {
        let header = bytes.get(at..at + HEADER)?;
        let field = |at: usize| i32::from_be_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let length = usize::try_from(field(8)).ok()?;
        let end = at + 12 + length;
        if length < HEADER - 12 || end > bytes.len() {
            return None;
        }
        let base = i64::from_be_bytes(header[..8].try_into().expect("eight bytes"));
        Some(Batch {
            at,
            end,
            base,
            last: base + i64::from(field(23)),
            epoch: field(12),
            control: header[22] & 0x20 != 0,
            records: field(57),
        })
    }
}

/// The next record, without key and headers, which nobody writes here.
fn record(rest: &mut &[u8], base: i64) -> Option<Record> {
    let length = usize::try_from(varint(rest)?).ok()?;
    let (mut record, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    let (_attributes, inside) = record.split_first()?;
    record = inside;
    let _timestamp = varint(&mut record)?;
    let offset = base + varint(&mut record)?;
    let _key = varint(&mut record)?;
    let length = usize::try_from(varint(&mut record)?).ok()?;
    let value = record.get(..length)?.to_vec();
    Some(Record { offset, value })
}

fn varint(bytes: &mut &[u8]) -> Option<i64> {
    let mut value: u64 = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            // Zigzag.
            return Some((value >> 1) as i64 ^ -((value & 1) as i64));
        }
    }
    None
}

const HEADER: usize = 61;

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(base: i64, epoch: i32, values: &[&str]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        for (delta, value) in (0..).zip(values) {
            let length = u8::try_from(value.len()).expect("short");
            let record = [&[0, 0, delta * 2, 1, length * 2], value.as_bytes(), &[0]].concat();
            bytes.push(u8::try_from(record.len()).expect("short") * 2);
            bytes.extend(record);
        }
        let count = i32::try_from(values.len()).expect("few");
        let length = i32::try_from(bytes.len() - 12).expect("short");
        bytes[..8].copy_from_slice(&base.to_be_bytes());
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        bytes[12..16].copy_from_slice(&epoch.to_be_bytes());
        bytes[23..27].copy_from_slice(&(count - 1).to_be_bytes());
        bytes[57..61].copy_from_slice(&count.to_be_bytes());
        bytes
    }

    #[test]
    fn batches_and_records_are_read() {
        let bytes = [batch(0, 1, &["a", "bc"]), batch(2, 3, &["d"])].concat();
        let log = Log::of(bytes.clone()).unwrap();
        let record = |offset, value: &str| Record {
            offset,
            value: value.into(),
        };
        assert_eq!(log.records(1).unwrap(), [record(0, "a"), record(1, "bc")]);
        assert_eq!(log.records(2).unwrap()[2], record(2, "d"));
        assert_eq!(log.between(0, 2).unwrap(), bytes);
        assert_eq!(log.between(0, 1).unwrap(), batch(0, 1, &["a", "bc"]));
        assert_eq!(log.between(2, 2).unwrap(), batch(2, 3, &["d"]));
        assert!(log.between(0, 0).is_err());
        assert_eq!(log.epochs(), 2);
    }

    #[test]
    fn a_gap_and_an_older_epoch_are_found() {
        assert!(Log::of([batch(0, 1, &["a"]), batch(2, 1, &["b"])].concat()).is_err());
        assert!(Log::of([batch(0, 2, &["a"]), batch(1, 1, &["b"])].concat()).is_err());
    }
}
