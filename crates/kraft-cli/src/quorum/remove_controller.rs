//! `kraft quorum remove-controller`.

use std::io::Write as _;
use std::process::ExitCode;

use kraft_wire::ErrorCode;
use kraft_wire::message::RemoveRaftVoterRequest;
use kraft_wire::uuid_text;
use thiserror::Error;
use uuid::Uuid;

use crate::Outcome;
use crate::client::{Admin, AdminError};
use crate::out::Out;

/// Take a voter out of the quorum; stop its process first if it would join again by itself
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    kraft quorum remove-controller --controller-id 3 --controller-directory-id paCp5-yobltyLG2nfoTBSA \
    --bootstrap-controller 127.0.0.1:9093")]
pub(crate) struct Arguments {
    /// Its node id
    #[arg(long, short = 'i', value_name = "ID", value_parser = clap::value_parser!(i32).range(0..))]
    controller_id: i32,
    /// The id of its metadata directory
    #[arg(long, short = 'd', value_name = "UUID", value_parser = directory_id)]
    controller_directory_id: Uuid,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Remove its registration, too
    #[arg(long)]
    unregister: bool,
}

/// What is left to do.
#[derive(Debug, Error)]
#[error(
    "{source}; a registration that is left over goes with: kafka-cluster.sh unregister-controller --id {id}"
)]
struct Unregister {
    id: i32,
    source: AdminError,
}

pub(crate) fn run(admin: &Admin, arguments: &Arguments) -> Outcome {
    let id = arguments.controller_id;
    let directory = uuid_text::format(&arguments.controller_directory_id);
    let mut out = Out::report();
    if arguments.dry_run {
        writeln!(
            out,
            "DRY RUN of removing KRaft controller {id} with directory id {directory}"
        )?;
        if arguments.unregister {
            writeln!(out, "DRY RUN of unregistering KRaft controller {id}")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    remove(admin, arguments)?;
    let mut told = writeln!(out, "Removed KRaft controller {id} with directory id {directory}");
    if arguments.unregister {
        admin
            .unregister_controller(id)
            .map_err(|source| Unregister { id, source })?;
        told = told.and_then(|()| writeln!(out, "Unregistered KRaft controller {id}"));
    }
    told.map_err(|error| format!("all is done, but {error}"))?;
    Ok(ExitCode::SUCCESS)
}

fn remove(admin: &Admin, arguments: &Arguments) -> Outcome {
    let request = RemoveRaftVoterRequest {
        cluster_id: None,
        voter_id: arguments.controller_id,
        voter_directory_id: arguments.controller_directory_id,
        ..RemoveRaftVoterRequest::default()
    };
    match admin.remove_voter(&request) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(source) if arguments.unregister && is_no_voter(&source) => {
            let id = arguments.controller_id;
            Err(Unregister { id, source }.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// The controller may be registered all the same.
fn is_no_voter(error: &AdminError) -> bool {
    matches!(
        error,
        AdminError::Refused {
            code: ErrorCode::UnsupportedVersion | ErrorCode::VoterNotFound,
            ..
        }
    )
}

fn directory_id(text: &str) -> Result<Uuid, String> {
    uuid_text::parse(text).map_err(|_| {
        "expected an id of 22 base64 characters, as `kraft quorum describe` prints it".to_owned()
    })
}
