//! Where a log ends, read off its files while a voter writes them: the one count of records that holds for both sides.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::interop::Failure;

/// A log whose end is looked for from where it was found last.
pub(super) struct LogEnd {
    partition: PathBuf,
    segment: Option<(u64, PathBuf)>,
    position: u64,
    end: u64,
    /// Where the batch that was read last begins in the segment, and how: a node that comes back may cut its log there.
    last: Option<(u64, [u8; HEADER_BYTES])>,
}

impl LogEnd {
    pub(super) fn new(partition: PathBuf) -> Self {
        Self {
            partition,
            segment: None,
            position: 0,
            end: 0,
            last: None,
        }
    }

    /// The offset behind the last whole batch.
    pub(super) fn read(&mut self) -> Result<u64, Failure> {
        let mut segments = Vec::new();
        for entry in fs::read_dir(&self.partition)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "log") {
                let base = path.file_stem().and_then(|stem| stem.to_str());
                let base: u64 = base
                    .and_then(|stem| stem.parse().ok())
                    .ok_or("a strange log file")?;
                segments.push((base, path));
            }
        }
        segments.sort();
        let is_there = |current: &(u64, PathBuf)| segments.iter().any(|(base, _)| *base == current.0);
        if !self.segment.as_ref().is_some_and(is_there) {
            self.segment = None;
        }
        for (base, path) in segments {
            match &self.segment {
                Some((current, _)) if base < *current => continue,
                Some((current, _)) if base == *current => {}
                _ => {
                    self.segment = Some((base, path.clone()));
                    self.begin(base);
                }
            }
            let file = File::open(&path)?;
            if !self.last_is_there(&file)? {
                self.begin(base);
            }
            self.read_on(&file)?;
        }
        Ok(self.end)
    }

    fn begin(&mut self, base: u64) {
        self.position = 0;
        self.end = base;
        self.last = None;
    }

    /// Whether the segment still has the batch that was read last.
    fn last_is_there(&self, file: &File) -> Result<bool, Failure> {
        let Some((position, header)) = &self.last else {
            return Ok(true);
        };
        let mut found = [0; HEADER_BYTES];
        Ok(file.read_at(&mut found, *position)? == HEADER_BYTES && found == *header)
    }

    fn read_on(&mut self, file: &File) -> Result<(), Failure> {
        let len = file.metadata()?.len();
        let mut header = [0; HEADER_BYTES];
        while self.position + HEADER_BYTES as u64 <= len {
            // A node that starts or ends cuts the zeros off meanwhile.
            if file.read_at(&mut header, self.position)? < HEADER_BYTES {
                break;
            }
            let base = u64::from_be_bytes(header[..8].try_into()?);
            let size = u64::from(u32::from_be_bytes(header[8..12].try_into()?));
            let last = u64::from(u32::from_be_bytes(header[23..27].try_into()?));
            // Behind the last batch there may be zeros, for those to come.
            if size == 0 || self.position + 12 + size > len {
                break;
            }
            self.end = base + last + 1;
            self.last = Some((self.position, header));
            self.position += 12 + size;
        }
        Ok(())
    }
}

/// Up to the delta of the last offset; the checksum is among them.
const HEADER_BYTES: usize = 27;

#[cfg(test)]
mod tests {
    use super::*;

    /// A batch as far as it matters here: `body` stands for its checksum and its records.
    fn batch(base: u64, records: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = base.to_be_bytes().to_vec();
        bytes.extend((15 + body.len() as u32).to_be_bytes());
        bytes.extend([0, 0, 0, 1, 2]);
        bytes.extend([body[0]; 4]);
        bytes.extend([0; 2]);
        bytes.extend((records - 1).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn the_end_is_found_again_in_a_log_that_was_cut_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let segment = folder.path().join("00000000000000000000.log");
        let mut log_end = LogEnd::new(folder.path().to_owned());
        let kept = batch(0, 3, &[1; 40]);
        fs::write(
            &segment,
            [kept.clone(), batch(3, 2, &[2; 60]), vec![0; 99]].concat(),
        )
        .unwrap();
        assert_eq!(log_end.read().unwrap(), 5);

        fs::write(&segment, [kept.clone(), vec![0; 99]].concat()).unwrap();
        assert_eq!(log_end.read().unwrap(), 3);
        fs::write(&segment, [kept.clone(), batch(3, 4, &[3; 200])].concat()).unwrap();
        assert_eq!(log_end.read().unwrap(), 7);
        fs::write(
            &segment,
            [kept, batch(3, 1, &[4; 20]), batch(4, 9, &[5; 300])].concat(),
        )
        .unwrap();
        assert_eq!(log_end.read().unwrap(), 13);

        fs::write(
            folder.path().join("00000000000000000013.log"),
            batch(13, 1, &[6; 20]),
        )
        .unwrap();
        assert_eq!(log_end.read().unwrap(), 14);
        fs::remove_file(folder.path().join("00000000000000000013.log")).unwrap();
        assert_eq!(log_end.read().unwrap(), 13);
    }
}
