//! One message in both codecs.

use bytes::{Bytes, BytesMut};
use kafka_protocol::protocol::{Decodable, Encodable};
use kraft_wire::{Message, SharedBytes, Writer};

/// A message that can be encoded and decoded by us and by the peer.
pub trait Pair {
    /// Name of the message with its version.
    fn name(&self) -> &str;
    /// We encode and decode it once.
    fn ours(&self);
    /// The peer encodes and decodes it once.
    fn peer(&self);
    /// The largest allocation-free byte string in it, if there is one: its records.
    fn records(&self) -> Option<&Bytes>;
    /// The parts that we would hand to the socket.
    fn parts(&self) -> Vec<Bytes>;
    /// The encoded form.
    fn encoded(&self) -> &Bytes;
    /// The records of what we decode from the encoded form.
    fn decoded_records(&self) -> Option<Bytes>;
}

/// A message of type `M`, which the peer calls `P`.
pub struct Sample<M, P> {
    name: String,
    version: i16,
    ours: M,
    peer: P,
    encoded: Bytes,
    records: fn(&M) -> Option<&Bytes>,
}

impl<M: Message, P: Decodable + Encodable> Sample<M, P> {
    /// The peer's form is what the peer reads from our bytes; it has to write the same bytes again.
    pub fn new(version: i16, ours: M, records: fn(&M) -> Option<&Bytes>) -> Self {
        let encoded = ours.to_bytes(version).expect("a sample fits its version");
        let peer = P::decode(&mut encoded.clone(), version).expect("the peer reads our bytes");
        let mut again = BytesMut::new();
        peer.encode(&mut again, version)
            .expect("the peer writes what it has read");
        assert_eq!(again, encoded, "{} version {version}", M::NAME);
        let name = format!("{} v{version}", M::NAME);
        Self {
            name,
            version,
            ours,
            peer,
            encoded,
            records,
        }
    }
}

impl<M: Message, P: Decodable + Encodable> Pair for Sample<M, P> {
    fn name(&self) -> &str {
        &self.name
    }

    fn ours(&self) {
        let message = std::hint::black_box(&self.ours);
        if self.records().is_some() {
            std::hint::black_box(self.parts());
        } else {
            std::hint::black_box(message.to_bytes(self.version).expect("a sample fits its version"));
        }
        let encoded = std::hint::black_box(&self.encoded);
        std::hint::black_box(M::from_bytes(encoded, self.version).expect("our own bytes"));
    }

    fn peer(&self) {
        let message = std::hint::black_box(&self.peer);
        let size = message
            .compute_size(self.version)
            .expect("a sample fits its version");
        let mut out = BytesMut::with_capacity(size);
        message
            .encode(&mut out, self.version)
            .expect("a sample fits its version");
        std::hint::black_box(out.freeze());
        let mut encoded = std::hint::black_box(&self.encoded).clone();
        std::hint::black_box(P::decode(&mut encoded, self.version).expect("our own bytes"));
    }

    fn records(&self) -> Option<&Bytes> {
        (self.records)(&self.ours)
    }

    fn parts(&self) -> Vec<Bytes> {
        let mut parts = SharedBytes::default();
        let message = std::hint::black_box(&self.ours);
        message
            .write_message(&mut Writer::sharing(&mut parts), self.version)
            .expect("a sample fits its version");
        parts.into_parts()
    }

    fn encoded(&self) -> &Bytes {
        &self.encoded
    }

    fn decoded_records(&self) -> Option<Bytes> {
        let message = M::from_bytes(&self.encoded, self.version).expect("our own bytes");
        (self.records)(&message).cloned()
    }
}
