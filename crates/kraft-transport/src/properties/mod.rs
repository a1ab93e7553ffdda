//! Kafka's `server.properties`: the file's syntax and a controller's settings, typed and checked.
//!
//! [`Properties`] reads Java's properties syntax and knows no key. [`ServerConfig`] gives the keys that a controller
//! obeys their types, defaults and ranges, and makes the checks that Kafka makes before it starts. What the file
//! says and this program does not obey is never dropped in silence: a wrong value ends with a [`ConfigError`], a
//! listener that would need encryption or authorization is refused, and every other key is named in
//! [`ServerConfig::without_effect`] or [`ServerConfig::unknown`].
//!
//! ```
//! use kraft_transport::properties::{Properties, ServerConfig};
//!
//! let mut properties = Properties::parse(
//!     b"process.roles=controller\n\
//!       node.id=1\n\
//!       controller.quorum.bootstrap.servers=localhost:9093\n\
//!       controller.listener.names=CONTROLLER\n\
//!       listeners=CONTROLLER://:9093\n\
//!       log.dirs=/var/lib/kraft\n",
//! )?;
//! properties.apply_override("controller.quorum.election.timeout.ms=500")?;
//! let config = ServerConfig::from_properties(&properties)?;
//! assert_eq!(config.node_id.0, 1);
//! assert_eq!(config.quorum.election_timeout.as_millis(), 500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod connections;
mod error;
mod java;
mod keys;
mod listener;
mod quorum;
mod server;
mod storage;
mod values;

pub(crate) use address::host_and_port;
pub use connections::ConnectionSettings;
pub use error::{ConfigError, ReadError};
pub use java::Properties;
pub use listener::Listener;
pub use quorum::QuorumSettings;
pub use server::{ServerConfig, local_host_name};
pub use storage::MetadataLogSettings;
