//! The contents of one file in memory, beside what of them is durable.

use super::rng::Rng;
use std::collections::BTreeMap;

/// What a disk writes at once.
pub(super) const SECTOR: usize = 512;

/// A file: what readers see, and what a crash may bring back of that which was durable.
#[derive(Debug, Clone, Default)]
pub(super) struct Inode {
    pub(super) data: Vec<u8>,
    pub(super) mode: u32,
    /// The size that a sync has made durable. All that is behind it is not.
    durable_len: usize,
    /// The durable contents of the sectors that were written or cut off since the last sync, as far as they were durable.
    old: BTreeMap<usize, Vec<u8>>,
}

impl Inode {
    pub(super) fn new() -> Self {
        Self {
            mode: 0o644,
            ..Self::default()
        }
    }

    /// A file that is durable as it is.
    pub(super) fn durable(data: Vec<u8>, mode: u32) -> Self {
        Self {
            durable_len: data.len(),
            data,
            mode,
            old: BTreeMap::new(),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: usize) {
        if bytes.is_empty() {
            return;
        }
        let end = offset + bytes.len();
        self.keep_old(offset, end);
        if self.data.len() < offset {
            self.data.resize(offset, 0);
        }
        // What is appended is not filled with zeros first.
        let overwritten = (self.data.len() - offset).min(bytes.len());
        self.data[offset..offset + overwritten].copy_from_slice(&bytes[..overwritten]);
        self.data.extend_from_slice(&bytes[overwritten..]);
    }

    pub(super) fn resize(&mut self, len: usize) {
        if len < self.data.len() {
            self.keep_old(len, self.data.len());
        }
        self.data.resize(len, 0);
    }

    pub(super) fn sync(&mut self) {
        self.durable_len = self.data.len();
        self.old.clear();
    }

    /// Keeps the durable contents of the sectors from `start` to `end`, which are about to change.
    fn keep_old(&mut self, start: usize, end: usize) {
        let end = end.min(self.durable_len);
        let mut sector = start / SECTOR;
        while sector * SECTOR < end {
            // Where the file has become shorter meanwhile, they are kept already.
            let range = sector * SECTOR..((sector + 1) * SECTOR).min(self.durable_len);
            self.old
                .entry(sector)
                .or_insert_with(|| self.data[range].to_vec());
            sector += 1;
        }
    }

    pub(super) fn durable_bytes(&self) -> Vec<u8> {
        let mut image = self.data[..self.data.len().min(self.durable_len)].to_vec();
        image.resize(self.durable_len, 0);
        for (sector, bytes) in &self.old {
            let start = sector * SECTOR;
            image[start..start + bytes.len()].copy_from_slice(bytes);
        }
        image
    }

    /// What a crash may leave: some of the unsynced sectors, and one of the sizes that the file had.
    pub(super) fn torn_bytes(&self, rng: &mut Rng) -> Vec<u8> {
        let (least, most) = (
            self.durable_len.min(self.data.len()),
            self.durable_len.max(self.data.len()),
        );
        let len = match rng.below(3) {
            0 => self.durable_len,
            1 => self.data.len(),
            _ => least + rng.below((most - least) as u64 + 1) as usize,
        };
        let mut image = self.durable_bytes();
        image.resize(len, 0);
        let written_in_4 = rng.below(5);
        let grown = self.durable_len / SECTOR..self.data.len().div_ceil(SECTOR);
        let grown = if self.data.len() > self.durable_len {
            grown
        } else {
            0..0
        };
        let changed = self.old.keys().copied().filter(|sector| !grown.contains(sector));
        for sector in changed.chain(grown.clone()) {
            if rng.below(4) < written_in_4 {
                copy_sector(&self.data, &mut image, sector);
            }
        }
        image
    }
}

/// Copies one sector as far as both sides have it.
fn copy_sector(from: &[u8], to: &mut [u8], sector: usize) {
    let start = sector * SECTOR;
    let end = (start + SECTOR).min(from.len()).min(to.len());
    if start < end {
        to[start..end].copy_from_slice(&from[start..end]);
    }
}
