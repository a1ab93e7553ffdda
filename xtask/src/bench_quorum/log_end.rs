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
}

impl LogEnd {
    pub(super) fn new(partition: PathBuf) -> Self {
        Self {
            partition,
            segment: None,
            position: 0,
            end: 0,
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
        for (base, path) in segments {
            match &self.segment {
                Some((current, _)) if base < *current => continue,
                Some((current, _)) if base == *current => {}
                _ => {
                    self.segment = Some((base, path.clone()));
                    self.position = 0;
                }
            }
            self.read_on(&File::open(&path)?)?;
        }
        Ok(self.end)
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
            self.position += 12 + size;
        }
        Ok(())
    }
}

/// Up to the delta of the last offset.
const HEADER_BYTES: usize = 27;
