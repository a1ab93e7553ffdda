//! The private file `kraft-synced`: a lower bound of what was once durable.
//!
//! It is rewritten after each sync, without a sync of its own, so it may be old or gone, but what it says was true.
//! It holds as long as no later epoch is stored: a log is cut only in an epoch later than that of its last batch.

use crate::names::SYNCED_FILE;
use kraft_core::Epoch;
use kraft_fs::{File, FileSystem, Open};
use kraft_wire::batch::crc32c;
use std::{
    io::{self, Write},
    path::Path,
};

/// How far a log was durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SyncedMark {
    /// Base offset of the last segment.
    pub(crate) segment: i64,
    /// Where its durable batches ended.
    pub(crate) position: u64,
    /// The epoch of the last of them.
    pub(crate) epoch: Epoch,
}

/// Always written at this size, in one sector, so that a short line leaves nothing of a long one.
const LINE_BYTES: usize = 96;
const NO_MARK: [u8; LINE_BYTES] = [b' '; LINE_BYTES];

impl SyncedMark {
    /// Made without a string in between, since each sync writes one.
    fn line(&self) -> [u8; LINE_BYTES] {
        let mut line = [b' '; LINE_BYTES];
        line[LINE_BYTES - 1] = b'\n';
        let mut rest = &mut line[..];
        let fits = "the longest numbers leave room";
        write!(rest, "0 {} {} {}", self.segment, self.position, self.epoch).expect(fits);
        let end = LINE_BYTES - rest.len();
        let crc = crc32c(&[&line[..end]]);
        write!(&mut line[end..], " {crc:08x}").expect(fits);
        line
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?.trim_end();
        let (facts, crc) = text.rsplit_once(' ')?;
        if u32::from_str_radix(crc, 16).ok()? != crc32c(&[facts.as_bytes()]) {
            return None;
        }
        let mut facts = facts.split(' ');
        if facts.next()? != "0" {
            return None;
        }
        Some(Self {
            segment: facts.next()?.parse().ok()?,
            position: facts.next()?.parse().ok()?,
            epoch: Epoch(facts.next()?.parse().ok()?),
        })
    }
}

/// What the file says, if it says anything: it is a hint, so an unreadable one is none.
pub(crate) fn read<F: FileSystem>(fs: &F, dir: &Path) -> Option<SyncedMark> {
    let bytes = fs.read_bounded(&dir.join(SYNCED_FILE), LINE_BYTES).ok()??;
    SyncedMark::parse(&bytes)
}

/// Writes the file.
#[derive(Debug)]
pub(crate) struct SyncedFile<F: FileSystem>(F::File);

impl<F: FileSystem> SyncedFile<F> {
    /// A new file is written at once, so that it has its block: a mark then needs no room on the disk.
    pub(crate) fn open(fs: &F, dir: &Path) -> io::Result<Self> {
        let file = fs.open(&dir.join(SYNCED_FILE), Open::Create)?;
        if file.is_empty()? {
            file.write_all_at(&NO_MARK, 0)?;
        }
        Ok(Self(file))
    }

    pub(crate) fn mark(&self, mark: SyncedMark) -> io::Result<()> {
        self.0.write_all_at(&mark.line(), 0)
    }

    /// Takes the mark back, durably: what it covers is about to go.
    pub(crate) fn clear(&self) -> io::Result<()> {
        self.0.write_all_at(&NO_MARK, 0)?;
        self.0.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_fs::MemFs;

    #[test]
    fn a_mark_comes_back_until_it_is_cleared_and_a_broken_one_is_none() {
        let (fs, dir) = (MemFs::new(), Path::new("/"));
        assert_eq!(read(&fs, dir), None);
        let file = SyncedFile::<MemFs>::open(&fs, dir).unwrap();
        let long = SyncedMark {
            segment: i64::MAX,
            position: u64::MAX,
            epoch: Epoch(i32::MAX),
        };
        let short = SyncedMark {
            segment: 7,
            position: 4096,
            epoch: Epoch(3),
        };
        for mark in [long, short] {
            file.mark(mark).unwrap();
            assert_eq!(read(&fs, dir), Some(mark));
        }
        let line = fs.read_bounded(&dir.join(SYNCED_FILE), LINE_BYTES).unwrap();
        let facts = format!("{:<width$}\n", "0 7 4096 3 be24b1f2", width = LINE_BYTES - 1);
        assert_eq!(line, Some(facts.into_bytes()));
        file.0.write_all_at(b"8", 2).unwrap();
        assert_eq!(read(&fs, dir), None);
        file.clear().unwrap();
        assert_eq!(read(&fs, dir), None);
    }

    #[test]
    fn a_disk_that_gets_full_behind_the_opening_has_room_for_marks_and_an_old_mark_stays() {
        let (fs, dir) = (MemFs::new(), Path::new("/"));
        let file = SyncedFile::open(&fs, dir).unwrap();
        fs.set_capacity(0);
        let mark = SyncedMark {
            segment: 1,
            position: 2,
            epoch: Epoch(3),
        };
        file.mark(mark).unwrap();
        SyncedFile::open(&fs, dir).unwrap();
        assert_eq!(read(&fs, dir), Some(mark));
    }
}
