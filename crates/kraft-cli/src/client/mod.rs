//! A small blocking client for the requests that the tools make, one request in flight at a time.

mod address;
mod admin;
mod bootstrap;
mod connection;

pub(crate) use address::Address;
pub(crate) use admin::{Admin, AdminError, Described, EndpointKind, FeatureChange, FeatureOutcome, Features};
pub(crate) use bootstrap::Bootstrap;
pub(crate) use connection::Connection;
use connection::ConnectionError;
