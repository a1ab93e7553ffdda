//! Random changes that keep most of an input as it was, so that a decoder gets far.

use kraft_wire::batch::{CRC_START, HEADER_SIZE, crc32c};

/// A small generator of numbers: a seed gives the same inputs for ever.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, 0 if there is none.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// One input of the corpus with a few changes.
pub(crate) fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(4) {
        change(&mut bytes, corpus, random);
    }
    bytes.truncate(LENGTH_MAX);
    bytes
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(9) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        1 if !bytes.is_empty() => bytes[at] = EDGES[random.below(EDGES.len())],
        2 if !bytes.is_empty() => bytes[at] = random.next() as u8,
        3 => bytes.truncate(at),
        4 => {
            let many = random.below(9);
            bytes.splice(at..at, (0..many).map(|_| random.next() as u8));
        }
        5 => {
            let end = at + random.below(bytes.len() - at);
            bytes.drain(at..end);
        }
        6 => {
            // A piece of itself once more.
            let end = at + random.below(bytes.len() - at);
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
        7 => {
            // The end of another input.
            let other = &corpus[random.below(corpus.len())];
            bytes.truncate(at);
            bytes.extend_from_slice(&other[random.below(other.len())..]);
        }
        _ => {
            // A number that is a length or a count in many places.
            let number = NUMBERS[random.below(NUMBERS.len())];
            let end = (at + number.len()).min(bytes.len());
            bytes.splice(at..end, number.iter().copied());
        }
    }
}

/// Makes the checksums of batches right again, so that what lies behind them is read.
pub(crate) fn mend_checksums(bytes: &mut [u8]) {
    let mut rest = bytes;
    while rest.len() >= HEADER_SIZE {
        let length = i32::from_be_bytes([rest[8], rest[9], rest[10], rest[11]]);
        let size = usize::try_from(length).map_or(usize::MAX, |length| length.saturating_add(12));
        if size < HEADER_SIZE || size > rest.len() {
            return;
        }
        let (batch, behind) = rest.split_at_mut(size);
        let crc = crc32c(&[&batch[CRC_START..]]);
        batch[17..21].copy_from_slice(&crc.to_be_bytes());
        rest = behind;
    }
}

const LENGTH_MAX: usize = 1 << 16;

const EDGES: &[u8] = &[0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff];

const NUMBERS: &[&[u8]] = &[
    &[0xff, 0xff, 0xff, 0xff, 0x07],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    &[0x80, 0x80, 0x80, 0x80, 0x08],
    &[0x7f, 0xff, 0xff, 0xff],
    &[0x80, 0x00, 0x00, 0x00],
    &[0xff, 0xff, 0xff, 0xff],
    &[0x7f, 0xff],
    &[0x80, 0x00],
];
