//! What can be wrong with a configuration.

use kraft_log::java_properties::PropertiesError;
use std::path::{Path, PathBuf};

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
    #[error("{argument:?} is not of the form KEY=VALUE")]
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
    /// It is no configuration: nobody writes one of this size.
    #[error("{}: more than {max} bytes, which is no configuration", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How large a configuration may be.
        max: u64,
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
    /// The file says something that a node must not start with, and perhaps does not mean it.
    #[error(
        "{}: {source}; the file begins with a UTF-8 byte order mark, which Java takes for a part of the first key: save it without",
        path.display()
    )]
    ByteOrderMark {
        /// The file.
        path: PathBuf,
        /// Which key and why.
        source: ConfigError,
    },
    /// An override of the command line says something that a node must not start with.
    #[error("override {source}")]
    Override {
        /// Which key and why.
        source: ConfigError,
    },
}

impl ConfigError {
    /// The key to look at, where there is one.
    fn key(&self) -> Option<&str> {
        match self {
            Self::Missing { key, .. } | Self::Conflict { key, .. } | Self::Unsupported { key, .. } => {
                Some(key)
            }
            Self::Value { key, .. } => Some(key),
            Self::Override { .. } => None,
        }
    }
}

impl ReadError {
    /// Says where what is wrong was said: in `overrides`, or in the file at `path`.
    pub(super) fn of_config(path: &Path, file: &[u8], overrides: &[String], source: ConfigError) -> Self {
        let path = path.to_owned();
        let key = |argument: &String| Some(argument.split_once('=')?.0.trim().to_owned());
        let overridden = match source.key() {
            Some(found) => overrides.iter().filter_map(key).any(|key| key == found),
            None => true,
        };
        if overridden {
            Self::Override { source }
        } else if file.starts_with(BYTE_ORDER_MARK) {
            Self::ByteOrderMark { path, source }
        } else {
            Self::Config { path, source }
        }
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
