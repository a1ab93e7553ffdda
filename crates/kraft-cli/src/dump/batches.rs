//! A file of record batches, read piece by piece: what is damaged is named, and what follows it is found again.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use kraft_wire::batch::{BatchView, HEADER_SIZE, MAGIC, MAGIC_END};

use super::{Dump, DumpError, print};
use crate::batch_file::{Found, WINDOW, batch_at, is_all_zeros, read_up_to};

impl<W: Write> Dump<W> {
    /// Shows every batch of a file.
    pub(super) fn batches(&mut self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let reading = |source| DumpError::Read {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(reading)?;
        let length = file.metadata().map_err(reading)?.len();
        let mut position = 0;
        while position < length {
            match batch_at(&file, position, length).map_err(reading)? {
                Found::Batch(batch) => {
                    self.batch(path, position, &batch)?;
                    position += batch.size() as u64;
                }
                Found::Nothing(reason) => position = self.damage(path, &file, position, length, &reason)?,
            }
        }
        Ok(())
    }

    fn batch(&mut self, path: &Path, position: u64, batch: &BatchView) -> io::Result<()> {
        if let Err(error) = batch.validate() {
            self.damaged += 1;
            self.note(path, position, batch.size() as u64, &format!("{error}"))?;
        }
        if self.json {
            let object = print::file_batch_json(path, position, batch, self.records);
            return writeln!(self.out, "{object}");
        }
        writeln!(self.out, "{}", print::batch_line(position, batch))?;
        if self.records {
            for record in batch.records() {
                match record {
                    Ok(record) => writeln!(self.out, "{}", print::record_line(batch, &record))?,
                    Err(error) => {
                        writeln!(self.out, "| unreadable: {error}")?;
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Names the bytes from `position` that are no batch; returns where the next batch is, or the end of the file.
    fn damage(
        &mut self,
        path: &Path,
        file: &File,
        position: u64,
        length: u64,
        reason: &str,
    ) -> Result<u64, Box<dyn std::error::Error>> {
        let reading = |source| DumpError::Read {
            path: path.to_owned(),
            source,
        };
        let next = next_batch(file, position + 1, length).map_err(reading)?;
        let is_tail = next == length;
        if is_tail && is_all_zeros(file, position, length).map_err(reading)? {
            self.note(
                path,
                position,
                length - position,
                "zeros up to the end: space kept for the next batches",
            )?;
        } else {
            self.damaged += 1;
            self.note(path, position, next - position, reason)?;
        }
        Ok(next)
    }

    fn note(&mut self, path: &Path, position: u64, size: u64, what: &str) -> io::Result<()> {
        if self.json {
            let file = path.display().to_string();
            let object =
                serde_json::json!({ "file": file, "position": position, "size": size, "note": what });
            writeln!(self.out, "{object}")
        } else {
            writeln!(
                self.out,
                "! {} at byte {position}, {size} bytes: {what}",
                path.display()
            )
        }
    }
}

/// Looks for a batch with a right checksum behind `from`.
fn next_batch(file: &File, from: u64, length: u64) -> io::Result<u64> {
    let mut window = vec![0; WINDOW];
    let mut start = from;
    while start + (HEADER_SIZE as u64) <= length {
        let filled = read_up_to(file, &mut window, start, length)?;
        for at in 0..=filled.saturating_sub(HEADER_SIZE) {
            // Almost every place fails at the first of these, so that the checksum is rarely computed.
            if window[at + MAGIC_END - 1] != MAGIC as u8 || window[at] & 0x80 != 0 {
                continue;
            }
            let position = start + at as u64;
            if let Found::Batch(batch) = batch_at(file, position, length)?
                && batch.validate().is_ok()
            {
                return Ok(position);
            }
        }
        // The windows overlap by a header, so that none is missed at their borders.
        start += (filled - HEADER_SIZE + 1) as u64;
    }
    Ok(length)
}
