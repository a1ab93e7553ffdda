//! Numbers that mean nothing by themselves: moments, tickets, numbers of requests, random numbers.
//!
//! The core compares moments with its clock, tickets with what is durable, and the numbers of requests with each other.
//! States that differ in nothing else go on alike, and a model checker wants to know them for one. So each of these
//! numbers is hashed together with its kind, as one `u128`, which nothing else in a state is: a hasher that looks for
//! them can count from the clock and from what is durable.

use core::hash::Hasher;

/// A moment: what counts is its distance from the clock.
pub const INSTANT: u64 = 1;
/// A ticket: what counts is how far it is from being durable.
pub const TICKET: u64 = 2;
/// The number of a request: what counts is whether its answer is awaited.
pub const REQUEST: u64 = 3;
/// The state of the random numbers: it decides nothing where there is no jitter and only one bootstrap server.
pub const RANDOM: u64 = 4;

pub(crate) fn hash<H: Hasher>(kind: u64, number: u64, state: &mut H) {
    state.write_u128(u128::from(kind) << 64 | u128::from(number));
}

/// Kind and number of what was hashed.
#[must_use]
pub fn split(hashed: u128) -> (u64, u64) {
    let [kind, number] = [hashed >> 64, hashed & u128::from(u64::MAX)];
    let narrow = |half: u128| u64::try_from(half).expect("half of the bits");
    (narrow(kind), narrow(number))
}
