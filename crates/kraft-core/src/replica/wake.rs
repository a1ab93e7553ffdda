//! When a replica that waits for events has to look after itself again.

use crate::time::Instant;
use core::hash::{Hash, Hasher};

/// A moment before which no time-out comes, and before which the role waits for nothing but events.
///
/// It spares most steps a look at each timer: a timer that moves away leaves it where it is, one that comes nearer pulls
/// it along. To look too early changes nothing, so it is no part of what a replica is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wake(Instant);

impl Wake {
    /// At once.
    pub(super) const NOW: Self = Self(Instant(0));

    pub(super) fn at(moment: Instant) -> Self {
        Self(moment)
    }

    pub(super) fn is_ahead(self, now: Instant) -> bool {
        now < self.0
    }

    /// The same, with one more time-out.
    pub(super) fn or(self, moment: Instant) -> Self {
        Self(self.0.min(moment))
    }
}

impl PartialEq for Wake {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Wake {}

impl Hash for Wake {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
