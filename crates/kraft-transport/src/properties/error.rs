//! What can be wrong with a configuration.

use kraft_log::java_properties::PropertiesError;
use std::path::PathBuf;

/// A setting that a node must not start with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A required key is absent.
    #[error("{key} is missing; allowed is {allowed}")]
    Missing {
        /// The key.
        key: &'static str,
        /// What may stand there.
        allowed: String,
    },
    /// A value is of the wrong form or out of range.
    #[error("{key}={value} is not allowed; allowed is {allowed}")]
    Value {
        /// The key.
        key: String,
        /// The value as given.
        value: String,
        /// What may stand there.
        allowed: String,
    },
    /// Settings that contradict each other.
    #[error("{key}={value} is not allowed: {reason}")]
    Conflict {
        /// The key to look at.
        key: &'static str,
        /// Its value.
        value: String,
        /// What it contradicts.
        reason: String,
    },
    /// A setting that Kafka obeys and this program does not, and that must not be ignored.
    #[error("{key}={value} is not supported: {reason}")]
    Unsupported {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// What to do about it.
        reason: &'static str,
    },
    /// An override of the command line has no `=`.
    #[error("override {argument:?} is not of the form KEY=VALUE")]
    Override {
        /// The argument as given.
        argument: String,
    },
}

/// A configuration file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file is not in properties syntax.
    #[error("{}: {source}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: PropertiesError,
    },
    /// The file says something that a node must not start with.
    #[error("{}: {source}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// Which key and why.
        source: ConfigError,
    },
}
