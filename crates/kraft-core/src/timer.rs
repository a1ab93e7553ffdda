//! Deadlines.

use crate::time::Instant;

/// A deadline that may never come. It has expired once the clock reaches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Timer(Option<Instant>);

impl Timer {
    pub(crate) const NEVER: Self = Self(None);

    pub(crate) fn at(deadline: Instant) -> Self {
        Self(Some(deadline))
    }

    pub(crate) fn expired(self, now: Instant) -> bool {
        self.0.is_some_and(|deadline| now >= deadline)
    }

    pub(crate) fn deadline(self) -> Option<Instant> {
        self.0
    }
}

/// The earlier of two deadlines that may never come.
pub(crate) fn earlier(one: Option<Instant>, two: Option<Instant>) -> Option<Instant> {
    match (one, two) {
        (Some(one), Some(two)) => Some(one.min(two)),
        (one, two) => one.or(two),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_expires_at_its_deadline() {
        let timer = Timer::at(Instant(10));
        assert!(!timer.expired(Instant(9)));
        assert!(timer.expired(Instant(10)));
        assert!(!Timer::NEVER.expired(Instant(u64::MAX)));
    }

    #[test]
    fn never_is_later_than_anything() {
        assert_eq!(earlier(None, Some(Instant(3))), Some(Instant(3)));
        assert_eq!(earlier(Some(Instant(2)), Some(Instant(3))), Some(Instant(2)));
        assert_eq!(earlier(None, None), None);
    }
}
