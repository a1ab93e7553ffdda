//! Tests that try to break the state machine through its public surface: numbers that nobody sends, events at the
//! wrong moment, and quorums whose network and disks do their worst.

mod disk;
mod edges;
mod hostile;
mod quorum;
mod settings;
mod splitmix;
