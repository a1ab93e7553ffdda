//! `kraft perf`: a node of a quorum that does nothing but commit opaque records, as Kafka's `TestRaftServer`. The node
//! that leads makes the load.

mod generator;
mod load;
mod machine;
mod measured;
mod node;

use std::path::PathBuf;
use std::process::ExitCode;

use kraft_transport::properties::ServerConfig;
use kraft_wire::uuid_text;
use uuid::Uuid;

use crate::{Outcome, random, run};
use load::Load;
use node::Kind;

/// Run a node that commits opaque records, and measure how fast it does, until SIGTERM, SIGINT or SIGHUP
#[derive(clap::Args)]
#[command(
    after_help = "Example, the first of the three voters that the file names:\n  \
    kraft perf -c 1.properties --replica-directory-id $(kraft random-uuid) --throughput 5000 --record-size 256\n\n\
    Whichever node leads makes the load and prints a line on stdout each 5 s, and at its end one for all but the first.\n\
    The quorum is that of controller.quorum.voters; nothing has to be formatted. Nodes of Kafka's TestRaftServer can be\n\
    among its voters, and have observers of this program, or follow it as observers."
)]
pub(crate) struct Arguments {
    /// The node's server.properties, with controller.quorum.voters
    #[arg(short, long, value_name = "FILE", alias = "config")]
    config: PathBuf,
    /// The id of its directory
    #[arg(long, value_name = "ID", value_parser = directory_id)]
    replica_directory_id: Uuid,
    /// Records a second that are proposed while this node leads; 0 for as many as there is room for
    #[arg(long, value_name = "N", default_value_t = 5000)]
    throughput: u32,
    /// The bytes of each
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=RECORD_BYTES_MAX))]
    record_size: u32,
    /// How many may wait for their commit; of a throughput above that, the rest is told that there is no room
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    in_flight: u32,
    /// Write snapshots, which have no records, as the file's metadata.log.* keys say, and delete the log before them.
    /// Without it the log grows as long as the node runs, as TestRaftServer's does
    #[arg(long)]
    snapshots: bool,
    /// Follow the quorum of controller.quorum.bootstrap.servers as a broker does: never vote, and ask for more without
    /// having synced what has come
    #[arg(long)]
    observer: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let config = ServerConfig::read(&arguments.config, &[])?;
    let file = arguments.config.display();
    match (arguments.observer, config.quorum.voters.is_empty()) {
        (false, true) => {
            return Err(format!(
                "{file}: controller.quorum.voters is needed: the voters are those of the file; only an --observer \
                 finds them by controller.quorum.bootstrap.servers"
            )
            .into());
        }
        (true, false) => {
            return Err(format!(
                "{file}: controller.quorum.voters makes this node a voter; an --observer finds the voters by \
                 controller.quorum.bootstrap.servers alone"
            )
            .into());
        }
        (false, false) | (true, true) => {}
    }
    run::start_logging();
    run::name_unused_keys(&config);
    run::raise_limit();
    let load = Load {
        throughput: arguments.throughput,
        record_bytes: arguments.record_size as usize,
        in_flight_max: u64::from(arguments.in_flight),
        linger: config.quorum.append_linger,
    };
    let seed = u64::from_ne_bytes(random::bytes()?);
    let runtime = kraft_transport::node::runtime()?;
    let outcome = runtime.block_on(node::run(
        &config,
        arguments.replica_directory_id,
        load,
        Kind {
            snapshots: arguments.snapshots,
            observer: arguments.observer,
        },
        seed,
    ));
    runtime.shutdown_background();
    outcome.map(|()| ExitCode::SUCCESS)
}

fn directory_id(text: &str) -> Result<Uuid, String> {
    let id = uuid_text::parse(text).map_err(|error| error.to_string())?;
    if uuid_text::is_reserved(&id) {
        return Err("one of the reserved ids".to_owned());
    }
    Ok(id)
}

/// One record has to fit into a batch, whose limit is 8 MiB.
const RECORD_BYTES_MAX: i64 = 8_000_000;
