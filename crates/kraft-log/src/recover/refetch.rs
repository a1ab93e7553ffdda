//! The log is moved aside and fetched again from the other voters.

use super::{
    RecoverInputs, RecoverPlan,
    error::RecoverError,
    only_voter::{is_only_voter, kraft_version},
    step::Step,
    survey::{Directory, Survey},
    ways_out::Loss,
};
use crate::{
    meta_properties::{FILE_NAME, MetaProperties},
    names::log_file,
};
use kraft_core::ElectionState;
use kraft_fs::FileSystem;
use kraft_snapshot::frozen_name;
use kraft_wire::uuid_text;

pub(super) fn plan<F: FileSystem>(
    fs: &F,
    directory: &Directory,
    inputs: &RecoverInputs,
) -> Result<RecoverPlan, RecoverError> {
    let election = directory.known_election()?;
    if directory.contents.segments.is_empty() && directory.contents.snapshots.iter().next().is_none() {
        return Err(RecoverError::NothingToRefetch);
    }
    let survey = Survey::read(fs, directory)?;
    // A snapshot that is ahead of the log was made by another leader.
    if is_only_voter(directory, &survey) && survey.damaged.is_empty() {
        return Err(RecoverError::NobodyToFetchFrom);
    }
    let mut steps = Vec::new();
    let mut notes = Vec::new();
    if election.kraft_version.max(kraft_version(&survey)) >= 1 {
        steps.extend(new_directory_id(directory, inputs));
        steps.push(directory.keep_copy(directory.quorum_state()));
        steps.push(Step::StoreElection {
            election: ElectionState {
                leader: None,
                voted: None,
                ..election.clone()
            },
        });
        notes.push(swap_voter(directory));
    } else {
        steps.push(Step::AbstainFromVotes);
        notes.push(
            "the node is a voter all the time, but neither votes nor campaigns until it has what the first leader it \
             meets had committed; until then the quorum lacks its vote"
                .to_owned(),
        );
    }
    steps.extend(move_log_aside(directory));
    notes.push(format!(
        "what goes is kept in files whose names end in {}",
        directory.kept
    ));
    Ok(RecoverPlan {
        partition: directory.partition.clone(),
        steps,
        loss: Some(Loss {
            from: 0,
            known_end: None,
        }),
        notes,
    })
}

/// The steps that make the node somebody else. They come first: whoever loses its log must not vote by its old name.
pub(super) fn new_directory_id(directory: &Directory, inputs: &RecoverInputs) -> [Step; 2] {
    let properties = MetaProperties {
        directory_id: Some(inputs.new_directory_id),
        ..directory.properties.clone()
    };
    [
        directory.keep_copy(directory.path.join(FILE_NAME)),
        Step::StoreProperties {
            dir: directory.path.clone(),
            properties,
            now_ms: inputs.now_ms,
        },
    ]
}

/// What the operator has to do where a node returns under another identity.
pub(super) fn swap_voter(directory: &Directory) -> String {
    let id = directory.local.id;
    let old = uuid_text::format(&directory.local.directory_or_nil());
    format!(
        "the node comes back as an observer; unless it joins by itself (controller.quorum.auto.join.enable), swap the \
         voter: kraft quorum remove-controller --controller-id {id} --controller-directory-id {old}, then kraft quorum \
         add-controller on this node"
    )
}

/// From the end, then the snapshots, the newest first: at no time there is a hole.
fn move_log_aside(directory: &Directory) -> Vec<Step> {
    let dir = &directory.partition;
    let contents = &directory.contents;
    let segments = contents.segments.keys().rev().map(|base| log_file(*base));
    let snapshots = contents.snapshots.iter().rev().map(|(id, _)| frozen_name(id));
    let mut steps = vec![Step::ForgetSynced, Step::StoreEpochs { entries: Vec::new() }];
    steps.extend(segments.chain(snapshots).map(|name| {
        let from = dir.join(name);
        let to = directory.kept(&from);
        Step::SetAside { from, to }
    }));
    steps
}
