//! The majority of the voters is gone for good: this node goes on alone.

use super::{
    RecoverInputs, RecoverPlan,
    error::RecoverError,
    new_identity::beyond_unknown_epochs,
    only_voter::{is_only_voter, kraft_version, voters},
    step::Step,
    survey::{Directory, Survey},
};
use crate::{
    batch_info::batch_info,
    directory::Contents,
    examine::examine,
    op::StorageOp,
    open::open_examined,
    options::LogOptions,
    storage_error::{StorageError, failed},
};
use kraft_core::{ControlRecord, ElectionState, Epoch, LogView, Ticket, VoterNode, VoterSet};
use kraft_fs::FileSystem;
use kraft_snapshot::control::to_wire;
use kraft_wire::{batch::BatchView, control::control_batch};
use std::{collections::VecDeque, io, path::Path};

pub(super) fn plan<F: FileSystem>(
    fs: &F,
    directory: &Directory,
    inputs: &RecoverInputs,
) -> Result<RecoverPlan, RecoverError> {
    let election = directory.known_election()?;
    let contents = Contents {
        election: Some(election.clone()),
        ..directory.contents.clone()
    };
    let examined = examine(fs, &directory.partition, &contents)?;
    let survey = Survey::read(fs, directory)?;
    let node = directory.local.id.0;
    if kraft_version(&survey) < 1 {
        return Err(RecoverError::StaticVoters { node });
    }
    if is_only_voter(directory, &survey) {
        return Err(RecoverError::AlreadySoleVoter);
    }
    let known = voters(&survey).and_then(|voters| voters.get(directory.local.id));
    let known = known.ok_or(RecoverError::NeverAVoter { node })?;
    let alone = VoterSet::from_iter([VoterNode {
        key: directory.local,
        ..known.clone()
    }]);
    let in_log = examined.epochs.latest().unwrap_or_default();
    let in_snapshot = survey.snapshot.as_ref().map_or(Epoch(0), |(id, _)| id.epoch);
    let epoch = beyond_unknown_epochs(election.epoch.max(in_log).max(in_snapshot))?;
    let others = voters(&survey).into_iter().flat_map(VoterSet::ids);
    let others: Vec<String> = others
        .filter(|id| *id != directory.local.id)
        .map(|id| id.to_string())
        .collect();
    Ok(RecoverPlan {
        partition: directory.partition.clone(),
        steps: vec![
            directory.keep_copy(directory.quorum_state()),
            Step::AppendVoters {
                voters: alone,
                epoch,
                now_ms: inputs.now_ms,
            },
        ],
        loss: Some(super::Loss {
            from: examined.end,
            known_end: None,
        }),
        notes: vec![
            format!(
                "the other voters ({}) must never start again on their directories: format them anew before they join",
                others.join(", ")
            ),
            "what they had committed and this node has not is lost; what this node has is committed by it alone".to_owned(),
        ],
    })
}

/// Enters an epoch in which nobody leads and appends the batch that names the voters, as a leader would begin it.
pub(super) fn append_voters<F: FileSystem>(
    fs: &F,
    partition: &Path,
    voters: &VoterSet,
    epoch: Epoch,
    now_ms: i64,
) -> Result<(), StorageError> {
    let wrong = |error: io::Error| failed("appending the voters to", partition)(error);
    let mut log = open_examined(fs.clone(), partition, LogOptions::default())
        .map_err(|error| wrong(io::Error::other(error.to_string())))?;
    let ids: Vec<_> = voters.ids().collect();
    let leader = *ids.first().expect("there is one voter");
    let records = [
        ControlRecord::LeaderChange {
            leader,
            voters: ids.clone(),
            granting: ids,
        },
        ControlRecord::KRaftVersion(1),
        ControlRecord::Voters(voters.clone()),
    ];
    let records: Vec<_> = records.iter().map(to_wire).collect();
    let end = log.index.end().last_offset;
    let batch = control_batch(&records, end, epoch.0, now_ms)
        .map_err(|error| wrong(io::Error::other(error.to_string())))?;
    let view = BatchView::parse(batch.clone()).expect("our own batch");
    let infos = vec![batch_info(&view).expect("our own batch")];
    let election = ElectionState {
        epoch,
        leader: None,
        voted: None,
        voters: Vec::new(),
        kraft_version: 1,
    };
    let mut ops = VecDeque::from([
        (Ticket(1), StorageOp::StoreElection(election)),
        (
            Ticket(2),
            StorageOp::Append {
                batches: batch,
                infos,
            },
        ),
    ]);
    while !ops.is_empty() {
        log.writer.run_round(&mut ops)?;
    }
    log.writer.close()
}
