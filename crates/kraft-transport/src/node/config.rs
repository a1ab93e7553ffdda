//! What a node needs to start.

use crate::{engine::EngineConfig, error::NodeError, tcp::ListenerLimits};
use kraft_core::Config;
use kraft_fs::DirLock;
use kraft_log::LogOptions;
use std::{fmt, path::PathBuf};

/// Where a listener is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerConfig {
    /// Its name; upper case, as everywhere.
    pub name: String,
    /// The host to bind; empty for all addresses.
    pub host: String,
    /// The port to bind; 0 for a free one, which then stands in the advertised endpoint of the same name.
    pub port: u16,
    /// What its connections may take.
    pub limits: ListenerLimits,
}

/// What a node needs to start.
#[derive(Debug)]
pub struct NodeConfig<F> {
    /// Engine and core.
    pub engine: EngineConfig,
    /// The file system of the log.
    pub fs: F,
    /// The directory of the log's partition, `__cluster_metadata-0` in the metadata directory.
    pub log_dir: PathBuf,
    /// The settings of the log.
    pub log: LogOptions,
    /// Locks that are held until the node has ended. Without any, the node locks the directory that holds `log_dir`.
    pub locks: Vec<DirLock>,
    /// The listeners; none where an embedder brings requests itself through [`Handle::inbound`](super::Handle::inbound).
    pub listeners: Vec<ListenerConfig>,
    /// Told when the node ends by a fault.
    pub on_fault: Option<FaultHandler>,
}

impl<F> NodeConfig<F> {
    /// A node without a listener, with the defaults of everything else.
    #[must_use]
    pub fn new(core: Config, fs: F, log_dir: impl Into<PathBuf>) -> Self {
        Self {
            engine: EngineConfig::new(core),
            fs,
            log_dir: log_dir.into(),
            log: LogOptions::default(),
            locks: Vec::new(),
            listeners: Vec::new(),
            on_fault: None,
        }
    }
}

/// What an embedder does when its node ends by a fault: the disk failed, a record cannot be applied, a thread has panicked.
///
/// It is called at most once, after the node has stopped to serve and before [`Handle::ended`](super::Handle::ended)
/// resolves, and never for an end that was asked for. It should not block.
pub struct FaultHandler(Box<dyn FnOnce(&NodeError) + Send>);

impl FaultHandler {
    /// Calls `handle` with what the node ended with.
    #[must_use]
    pub fn new(handle: impl FnOnce(&NodeError) + Send + 'static) -> Self {
        Self(Box::new(handle))
    }

    pub(super) fn call(self, fault: &NodeError) {
        (self.0)(fault);
    }
}

impl fmt::Debug for FaultHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultHandler")
    }
}
