//! `kraft quorum add-controller`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kraft_log::meta_properties::{MetaProperties, MetaPropertiesError};
use kraft_transport::properties::{Listener, ServerConfig};
use kraft_wire::message::{AddRaftVoterRequest, AddRaftVoterRequestListener};
use kraft_wire::uuid_text;
use thiserror::Error;
use uuid::Uuid;

use crate::Outcome;
use crate::client::Admin;
use crate::out::Out;

/// Make a controller that is running and has caught up a voter
#[derive(clap::Args)]
#[command(after_help = "Example, on the machine of the new controller:\n  \
    kraft quorum add-controller --command-config server.properties --bootstrap-controller 127.0.0.1:9093")]
pub(crate) struct Arguments {
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// Why the new controller cannot be told.
#[derive(Debug, Error)]
enum AddError {
    #[error("{}: {source}", .file.display())]
    Unreadable { file: PathBuf, source: std::io::Error },
    #[error("{}: {source}", .file.display())]
    Malformed {
        file: PathBuf,
        source: MetaPropertiesError,
    },
    #[error("{}: there is no directory.id; start the controller once, or format its directory", .0.display())]
    NoDirectoryId(PathBuf),
    #[error("listener {0} has no fixed port: set it in advertised.listeners")]
    NoPort(String),
}

pub(crate) fn run(admin: &Admin, command_config: &Path, arguments: &Arguments) -> Outcome {
    let config = ServerConfig::read(command_config, &[])?;
    let directory_id = directory_id(&config.metadata_log_dir)?;
    let listeners = config.advertised_listeners.iter().map(listener);
    let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
    let done = if arguments.dry_run {
        "DRY RUN of adding"
    } else {
        "Added"
    };
    let mut text = format!(
        "{done} controller {} with directory id {} and endpoints: ",
        config.node_id,
        uuid_text::format(&directory_id)
    );
    for (place, listener) in listeners.iter().enumerate() {
        let comma = if place > 0 { ", " } else { "" };
        let (name, host, port) = (&listener.name, &listener.host, listener.port);
        if host.contains(':') {
            write!(text, "{comma}{name}://[{host}]:{port}")?;
        } else {
            write!(text, "{comma}{name}://{host}:{port}")?;
        }
    }
    if !arguments.dry_run {
        admin.add_voter(&AddRaftVoterRequest {
            cluster_id: None,
            timeout_ms: TIMEOUT_MS,
            voter_id: config.node_id.0,
            voter_directory_id: directory_id,
            listeners,
            ack_when_committed: true,
            ..AddRaftVoterRequest::default()
        })?;
    }
    let told = writeln!(Out::report(), "{text}");
    told.map_err(|error| {
        let state = if arguments.dry_run { "nothing" } else { "all" };
        format!("{state} is done, but {error}")
    })?;
    Ok(ExitCode::SUCCESS)
}

fn directory_id(folder: &Path) -> Result<Uuid, AddError> {
    let file = folder.join("meta.properties");
    let bytes = std::fs::read(&file).map_err(|source| AddError::Unreadable {
        file: file.clone(),
        source,
    })?;
    let properties = MetaProperties::parse(&bytes).map_err(|source| AddError::Malformed {
        file: file.clone(),
        source,
    })?;
    properties.directory_id.ok_or(AddError::NoDirectoryId(file))
}

/// Without a host the new voter is on this machine, as Kafka's tool has it.
fn listener(listener: &Listener) -> Result<AddRaftVoterRequestListener, AddError> {
    if listener.port == 0 {
        return Err(AddError::NoPort(listener.name.clone()));
    }
    Ok(AddRaftVoterRequestListener {
        name: listener.name.clone(),
        host: listener.host.clone().unwrap_or_else(|| "localhost".to_owned()),
        port: listener.port,
        ..AddRaftVoterRequestListener::default()
    })
}

/// Kafka's leader does not read it.
const TIMEOUT_MS: i32 = 30_000;
