//! Kafka's framing over TCP: the listener, and connections to peers.

mod bind;
mod client;
#[cfg(test)]
mod conn_theme_test;
mod connection;
mod frame;
mod idle;
mod listener;
mod log_limit;
mod peers;
mod per_address;
mod reach;
mod recent;

pub use client::{CallError, Client};
pub use listener::{Listener, ListenerLimits};
pub(crate) use peers::{PeerSettings, Peers};
pub use per_address::AddressLimits;
pub(crate) use per_address::Addresses;
