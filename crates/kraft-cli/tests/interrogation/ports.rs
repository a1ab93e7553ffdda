//! The ports of the recording and the free ones that stand for them. They are replaced where the host is written in front
//! of them, in frames, batches and texts alike: no length changes.

use std::sync::Arc;

use kraft_cli::local::HeldPort;
use kraft_wire::batch::crc32c;

const HOST: &[u8] = b"127.0.0.1";
/// What a text may say between host and port.
const UNRESOLVED: &[u8] = b"/<unresolved>";
/// Where a batch says how long it is, where its checksum stands, and where what it covers begins.
const LENGTH: usize = 8;
const CRC: usize = 17;
const COVERED: usize = 21;

#[derive(Clone)]
pub(crate) struct Ports {
    pairs: Vec<(u16, u16)>,
    /// Those here belong to nobody else as long as somebody knows them, whether a node listens there or not.
    _held: Arc<[HeldPort]>,
}

impl Ports {
    /// Finds a free port for each recorded one. They have five digits, as the recorded ones.
    pub(crate) fn free(recorded: &[u16]) -> Ports {
        let held: Arc<[_]> = recorded.iter().map(|_| HeldPort::find().unwrap()).collect();
        let free = held.iter().map(HeldPort::number);
        let pairs: Vec<_> = recorded.iter().copied().zip(free).collect();
        assert!(pairs.iter().all(|(_, free)| *free >= 10_000));
        Ports { pairs, _held: held }
    }

    /// Adds a port that is known.
    pub(crate) fn with(mut self, recorded: u16, here: u16) -> Ports {
        self.pairs.push((recorded, here));
        self
    }

    /// The port here for a recorded one.
    pub(crate) fn of(&self, recorded: u16) -> u16 {
        let found = self.pairs.iter().find(|(there, _)| *there == recorded);
        found.unwrap().1
    }

    /// From the recorded ports to those here.
    pub(crate) fn here(&self, bytes: &mut [u8]) {
        replace(bytes, &self.pairs);
    }

    /// From those here to the recorded ones.
    pub(crate) fn recorded(&self, bytes: &mut [u8]) {
        let turned: Vec<_> = self.pairs.iter().map(|(there, here)| (*here, *there)).collect();
        replace(bytes, &turned);
    }

    /// Replaces the ports in a file of batches and writes the checksums that follow from it.
    pub(crate) fn here_in_batches(&self, bytes: &mut [u8]) {
        self.here(bytes);
        let mut rest = bytes;
        while rest.len() > COVERED {
            let length = u32::from_be_bytes(rest[LENGTH..LENGTH + 4].try_into().unwrap()) as usize;
            let (batch, behind) = rest.split_at_mut(LENGTH + 4 + length);
            let crc = crc32c(&[&batch[COVERED..]]);
            batch[CRC..COVERED].copy_from_slice(&crc.to_be_bytes());
            rest = behind;
        }
    }
}

fn replace(bytes: &mut [u8], ports: &[(u16, u16)]) {
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(HOST.len()).position(|window| window == HOST) {
        at += found + HOST.len();
        if bytes[at..].starts_with(UNRESOLVED) {
            at += UNRESOLVED.len();
        }
        for (from, to) in ports {
            let (from_text, to_text) = (format!(":{from}"), format!(":{to}"));
            let wide = u32::from(*from).to_be_bytes();
            let (old, new): (&[u8], &[u8]) = if bytes[at..].starts_with(&wide) {
                (&wide, &u32::from(*to).to_be_bytes())
            } else if bytes[at..].starts_with(&from.to_be_bytes()) {
                (&from.to_be_bytes(), &to.to_be_bytes())
            } else if bytes[at..].starts_with(from_text.as_bytes()) {
                (from_text.as_bytes(), to_text.as_bytes())
            } else {
                continue;
            };
            bytes[at..at + old.len()].copy_from_slice(new);
            break;
        }
    }
}
