//! Whole quorums in virtual time over a faulty network and faulty disks; text scenarios; checkers.

pub mod checker;
pub mod scenario;
pub mod sim;
