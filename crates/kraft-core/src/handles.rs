//! Opaque numbers by which core and engine speak of things that only one of them holds.

use crate::relative;
use core::hash::{Hash, Hasher};

/// A disk operation. The core numbers all of them from one rising counter; they complete in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

impl Hash for Ticket {
    fn hash<H: Hasher>(&self, state: &mut H) {
        relative::hash(relative::TICKET, self.0, state);
    }
}

impl Ticket {
    /// Waits for nothing.
    pub const NONE: Self = Self(0);
}

/// Somebody who waits for an answer; the engine maps it to the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplyId(pub u64);

/// Bytes that the engine holds: an encoded batch, fetched records, a piece of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PayloadId(pub u64);

/// A request that this replica sent; its answer comes back under the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u64);

impl Hash for RequestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        relative::hash(relative::REQUEST, self.0, state);
    }
}
