//! A small blocking client for the requests that the tools make, one request in flight at a time.

mod address;
mod admin;
mod connection;

pub(crate) use address::Address;
pub(crate) use admin::{Admin, AdminError, Described, EndpointKind};
pub(crate) use connection::Connection;
use connection::ConnectionError;
