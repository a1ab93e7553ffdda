//! Folds states that differ only in numbers which have no meaning by themselves: times are seen relative to the clock of
//! their replica, tickets relative to what is durable, and the numbers of requests not at all.
//!
//! The core only compares times with its clock, tickets with what is durable and request numbers for equality, so states
//! that are folded into one go on alike. A search that folded too much would miss states, which is why whatever is not
//! listed here is taken as it is.

use std::{
    collections::hash_map::DefaultHasher,
    fmt::{Debug, Write},
    hash::{Hash, Hasher},
};

/// A hash of `value` where a replica's clock shows `now` and everything up to `durable` is on disk.
pub(crate) fn fold(value: &impl Debug, now: u64, durable: u64) -> u64 {
    let mut text = String::with_capacity(4096);
    write!(text, "{value:?}").expect("a string takes everything");
    let mut hasher = DefaultHasher::new();
    let bytes = text.as_bytes();
    let mut plain = 0;
    let mut at = 0;
    while at < bytes.len() {
        // Numbers follow an opening bracket or, as the next number of a request, its colon.
        let kind = match bytes[at] {
            b'(' => Kind::before(&bytes[..at]),
            b':' if bytes[..at].ends_with(b"next_request") => Some(Kind::Request),
            _ => None,
        };
        at += 1;
        let Some(kind) = kind else { continue };
        hasher.write(&bytes[plain..at]);
        while bytes[at] == b' ' {
            at += 1;
        }
        let mut number: u64 = 0;
        while bytes[at].is_ascii_digit() {
            number = number * 10 + u64::from(bytes[at] - b'0');
            at += 1;
        }
        plain = at;
        match kind {
            Kind::Instant => number.wrapping_sub(now).hash(&mut hasher),
            Kind::Ticket => number.saturating_sub(durable).hash(&mut hasher),
            Kind::Request => {}
        }
    }
    hasher.write(&bytes[plain..]);
    hasher.finish()
}

enum Kind {
    Instant,
    Ticket,
    Request,
}

impl Kind {
    /// What the number is whose type is named at the end of `text`.
    fn before(text: &[u8]) -> Option<Self> {
        if text.ends_with(b"Instant") {
            Some(Self::Instant)
        } else if text.ends_with(b"Ticket") {
            Some(Self::Ticket)
        } else if text.ends_with(b"RequestId") {
            Some(Self::Request)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_core::{Instant, RequestId, Ticket};

    #[test]
    fn only_distances_count() {
        let state = |time, ticket, request| (Instant(time), Ticket(ticket), RequestId(request), 7);
        let folded = fold(&state(105, 9, 3), 100, 8);
        assert_eq!(folded, fold(&state(205, 4, 8), 200, 3));
        assert_ne!(folded, fold(&state(104, 9, 3), 100, 8));
        assert_ne!(folded, fold(&state(105, 10, 3), 100, 8));
        assert_eq!(
            fold(&Ticket(1), 0, 5),
            fold(&Ticket(5), 0, 5),
            "durable is durable"
        );
        assert_ne!(
            fold(&(1, 7), 1, 1),
            fold(&(2, 7), 2, 2),
            "other numbers are taken as they are"
        );
    }
}
