//! The options by which a tool is told where the cluster is.

use std::time::Duration;

use super::{Address, Admin, EndpointKind};
use crate::program::wrong_usage;

/// Where to ask, for how long. The options may stand before the name of a command, as with Kafka's tools, or behind it.
#[derive(clap::Args)]
pub(crate) struct Bootstrap {
    /// Controllers to ask for the active one
    #[arg(
        long,
        global = true,
        display_order = LAST,
        value_name = "HOST:PORT,…",
        value_delimiter = ','
    )]
    bootstrap_controller: Vec<Address>,
    /// Brokers that forward to the active controller
    #[arg(
        long,
        global = true,
        display_order = LAST,
        value_name = "HOST:PORT,…",
        value_delimiter = ','
    )]
    bootstrap_server: Vec<Address>,
    /// How long to look for an active controller
    #[arg(
        long,
        global = true,
        display_order = LAST,
        value_name = "SECONDS",
        default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(..=SECONDS_MAX)
    )]
    timeout: u64,
}

impl Bootstrap {
    pub(crate) fn admin(self) -> Admin {
        let patience = Duration::from_secs(self.timeout.max(1));
        match (
            self.bootstrap_controller.is_empty(),
            self.bootstrap_server.is_empty(),
        ) {
            (false, true) => Admin::new(self.bootstrap_controller, EndpointKind::Controllers, patience),
            (true, false) => Admin::new(self.bootstrap_server, EndpointKind::Brokers, patience),
            // clap checks a group of global arguments before the sub-command has given its own.
            _ => wrong_usage("give exactly one of --bootstrap-controller and --bootstrap-server"),
        }
    }
}

/// As many milliseconds as a request can carry.
const SECONDS_MAX: u64 = i32::MAX as u64 / 1000;

/// The help shows them behind the options of the command itself.
const LAST: usize = 900;
