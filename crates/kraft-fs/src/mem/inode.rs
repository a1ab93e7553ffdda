//! The contents of one file in memory, beside what of them is durable.

use super::rng::Rng;
use std::collections::BTreeSet;

/// What a disk writes at once.
pub(super) const SECTOR: usize = 512;

/// A file: what readers see, what a sync has made durable, and where the two may differ.
#[derive(Debug, Clone, Default)]
pub(super) struct Inode {
    pub(super) data: Vec<u8>,
    pub(super) mode: u32,
    durable: Vec<u8>,
    /// Sectors that were written, or came into being, since the last sync.
    dirty: BTreeSet<usize>,
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
            durable: data.clone(),
            data,
            mode,
            dirty: BTreeSet::new(),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: usize) {
        if bytes.is_empty() {
            return;
        }
        let end = offset + bytes.len();
        if self.data.len() < end {
            self.resize(end);
        }
        self.data[offset..end].copy_from_slice(bytes);
        self.dirty.extend(offset / SECTOR..=(end - 1) / SECTOR);
    }

    pub(super) fn resize(&mut self, len: usize) {
        let old = self.data.len();
        self.data.resize(len, 0);
        if len > old {
            self.dirty.extend(old / SECTOR..=(len - 1) / SECTOR);
        } else if !len.is_multiple_of(SECTOR) {
            self.dirty.insert(len / SECTOR);
        }
    }

    pub(super) fn sync(&mut self) {
        self.durable.resize(self.data.len(), 0);
        for sector in std::mem::take(&mut self.dirty) {
            copy_sector(&self.data, &mut self.durable, sector);
        }
    }

    pub(super) fn durable_bytes(&self) -> Vec<u8> {
        self.durable.clone()
    }

    /// What a crash may leave: some of the unsynced sectors, and one of the sizes that the file had.
    pub(super) fn torn_bytes(&self, rng: &mut Rng) -> Vec<u8> {
        let (least, most) = (
            self.durable.len().min(self.data.len()),
            self.durable.len().max(self.data.len()),
        );
        let len = match rng.below(3) {
            0 => self.durable.len(),
            1 => self.data.len(),
            _ => least + rng.below((most - least) as u64 + 1) as usize,
        };
        let mut image = self.durable.clone();
        image.resize(len, 0);
        let written_in_4 = rng.below(5);
        for &sector in &self.dirty {
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
