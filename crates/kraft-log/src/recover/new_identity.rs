//! The election state is lost: the node may have voted and must not vote again under the same name.

use super::{
    RecoverInputs, RecoverPlan,
    error::RecoverError,
    only_voter::{is_only_voter, kraft_version},
    refetch::{new_directory_id, swap_voter},
    step::Step,
    survey::{Directory, LostElection, Survey},
};
use crate::{examine::examine, open_error::OpenError};
use kraft_core::{ElectionState, Epoch, NodeId};
use kraft_fs::FileSystem;

pub(super) fn plan<F: FileSystem>(
    fs: &F,
    directory: &Directory,
    inputs: &RecoverInputs,
) -> Result<RecoverPlan, RecoverError> {
    let Err(lost) = &directory.election else {
        return Err(RecoverError::ElectionKnown {
            path: directory.quorum_state(),
        });
    };
    match examine(fs, &directory.partition, &directory.contents) {
        Ok(_) if matches!(lost, LostElection::Missing) => {
            return Err(RecoverError::NeverUsed {
                path: directory.partition.clone(),
            });
        }
        // A damaged file is not believed, however new the directory looks.
        Ok(_) | Err(OpenError::QuorumStateMissing { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let survey = Survey::read(fs, directory)?;
    let kraft_version = kraft_version(&survey);
    let alone = is_only_voter(directory, &survey);
    if kraft_version < 1 && !alone {
        return Err(RecoverError::StaticIdentity {
            node: directory.local.id.0,
        });
    }
    let mut steps = Vec::new();
    let mut notes = Vec::new();
    let mut epoch = last_epoch(directory, &survey);
    if alone {
        epoch = beyond_unknown_epochs(epoch)?;
        notes.push(
            "this node is the only voter, so its vote is nobody else's business: it keeps its directory id and goes on \
             in a later epoch"
                .to_owned(),
        );
    } else {
        steps.extend(new_directory_id(directory, inputs));
        notes.push(swap_voter(directory));
    }
    if matches!(lost, LostElection::Malformed) {
        steps.push(directory.keep_copy(directory.quorum_state()));
    }
    steps.push(Step::StoreElection {
        election: ElectionState {
            epoch,
            leader: None,
            voted: None,
            voters: static_voters(kraft_version, directory.local.id),
            kraft_version,
        },
    });
    Ok(RecoverPlan {
        partition: directory.partition.clone(),
        steps,
        loss: None,
        notes,
    })
}

/// Only a node that is alone gets here without voters in the log.
fn static_voters(kraft_version: i16, local: NodeId) -> Vec<NodeId> {
    if kraft_version < 1 {
        vec![local]
    } else {
        Vec::new()
    }
}

/// The largest epoch that the directory knows of.
fn last_epoch<F: FileSystem>(directory: &Directory, survey: &Survey<F>) -> Epoch {
    let in_log = survey.segments.iter().flat_map(|segment| &segment.epochs);
    let in_file = directory.contents.epochs.iter().flatten();
    let in_snapshots = directory.contents.snapshots.iter().map(|(id, _)| id.epoch);
    let in_log = in_log.map(|begin| begin.start.epoch);
    let epochs = in_log.chain(in_file.map(|entry| entry.epoch));
    epochs.chain(in_snapshots).max().unwrap_or_default()
}

/// An epoch that nobody has seen. Epochs that left no record may have come after the last one that did.
pub(super) fn beyond_unknown_epochs(last: Epoch) -> Result<Epoch, RecoverError> {
    if last.0 > EPOCHS_END - EPOCHS_SKIPPED {
        return Err(RecoverError::EpochTooLarge { epoch: last.0 });
    }
    Ok(Epoch(last.0 + EPOCHS_SKIPPED))
}

/// Far more elections than a quorum holds without one of its leaders writing a record that reaches anybody.
const EPOCHS_SKIPPED: i32 = 1000;

/// Far from the largest epoch that replicas accept.
const EPOCHS_END: i32 = 1_900_000_000;
