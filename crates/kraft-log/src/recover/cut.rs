//! The log ends behind its last good batch; or begins behind damage that a snapshot makes up for.

use super::{
    RecoverPlan,
    error::RecoverError,
    only_voter::is_only_voter,
    step::Step,
    survey::{Directory, Survey},
    ways_out::Loss,
};
use crate::{
    directory::Contents,
    epochs::EpochCache,
    examine::{examine, makes_up_for},
    examined_segment::ExaminedSegment,
    names::{log_file, set_aside_name},
    open_error::OpenError,
    tail::NotTorn,
};
use kraft_core::{MAX_OFFSET, SnapshotId};
use kraft_fs::FileSystem;
use kraft_snapshot::frozen_name;
use std::ops::Range;

pub(super) fn plan<F: FileSystem>(fs: &F, directory: &Directory) -> Result<RecoverPlan, RecoverError> {
    let records_gone = match state(fs, directory)? {
        LogState::Whole => return Err(RecoverError::NothingToCut),
        LogState::Garbage => false,
        LogState::RecordsGone => true,
    };
    let survey = Survey::read(fs, directory)?;
    let kept = kept_segments(&survey);
    if let Some(last) = survey.segments[kept.clone()].last()
        && last.end.offset > MAX_OFFSET
    {
        // Whole batches, too far on: nothing tells which of them should not be there.
        let path = directory.partition.join(log_file(last.base));
        let offset = last.end.offset;
        return Err(OpenError::OffsetOutOfRange { path, offset }.into());
    }
    let ahead = survey.damaged.iter().copied().filter(|id| {
        let log = &survey.segments[kept.clone()];
        *id != SnapshotId::BOOTSTRAP && !makes_up_for(*id, log)
    });
    let ahead: Vec<SnapshotId> = ahead.collect();
    let known = loss(directory, &survey, kept.clone(), &ahead);
    let loss = known.or_else(|| {
        let from = log_end(&survey, kept.clone());
        records_gone.then_some(Loss {
            from,
            known_end: None,
        })
    });
    check_allowed(directory, &survey, kept.clone(), records_gone, loss)?;
    Ok(RecoverPlan {
        partition: directory.partition.clone(),
        steps: steps(directory, &survey, kept, &ahead),
        loss,
        notes: vec![format!(
            "what goes is kept in files whose names end in {}",
            directory.kept
        )],
    })
}

/// How the log as such is, whatever became of the election state.
enum LogState {
    /// It would be opened.
    Whole,
    /// There are bytes that need not have been records.
    Garbage,
    /// Something that had been durable is damaged or missing.
    RecordsGone,
}

fn state<F: FileSystem>(fs: &F, directory: &Directory) -> Result<LogState, RecoverError> {
    match examine(fs, &directory.partition, &directory.contents) {
        Ok(_) | Err(OpenError::QuorumStateMissing { .. }) => Ok(LogState::Whole),
        Err(
            error @ (OpenError::Io { .. }
            | OpenError::NotAFile { .. }
            | OpenError::EpochOutOfRange { .. }
            | OpenError::UnknownKRaftVersion { .. }),
        ) => Err(error.into()),
        Err(
            OpenError::Short { .. }
            | OpenError::Damaged {
                why: Some(NotTorn::BelowSynced { .. }),
                ..
            },
        ) => Ok(LogState::RecordsGone),
        Err(_) => Ok(LogState::Garbage),
    }
}

/// The segments that reach furthest among those that go on from one another and begin where the log or a snapshot does.
fn kept_segments<F: FileSystem>(survey: &Survey<F>) -> Range<usize> {
    let segments = &survey.segments;
    let covered = survey.covered();
    let mut best = 0..0;
    let mut best_end = i64::MIN;
    let mut first = 0;
    while first < segments.len() {
        let mut next = first + 1;
        while next < segments.len() && continues(&segments[next - 1], &segments[next]) {
            next += 1;
        }
        // One without a valid batch is no more than its name.
        let last = if segments[next - 1].batch_ends.is_empty() && next - 1 > first {
            next - 1
        } else {
            next
        };
        let end = segments[last - 1].end.offset;
        let has_batch = !segments[first].batch_ends.is_empty();
        if segments[first].base <= covered && has_batch && end > best_end {
            (best, best_end) = (first..last, end);
        }
        first = next;
    }
    best
}

fn continues<F: FileSystem>(before: &ExaminedSegment<F>, after: &ExaminedSegment<F>) -> bool {
    let first_epoch = after.epochs.first().map(|begin| begin.start.epoch);
    // Whatever follows the batches of the earlier one is garbage then: nothing is missing.
    before.end.offset == after.base
        && first_epoch.is_none_or(|first| before.last_epoch().is_none_or(|last| last <= first))
}

/// Where the log ends afterwards, and how far it is known to have been.
fn loss<F: FileSystem>(
    directory: &Directory,
    survey: &Survey<F>,
    kept: Range<usize>,
    ahead: &[SnapshotId],
) -> Option<Loss> {
    let from = log_end(survey, kept.clone());
    let later = kept.end.min(survey.segments.len())..;
    let known = [
        survey.behind.iter().map(|behind| behind.end).max(),
        survey.segments[later]
            .iter()
            .map(|segment| segment.end.offset)
            .max(),
        epochs_in_file(&directory.contents),
        ahead.iter().map(|id| id.end_offset).max(),
    ];
    let known_end = known.into_iter().flatten().max().filter(|end| *end > from);
    let cut = survey.segments[kept]
        .last()
        .is_some_and(|last| last.end.fault.is_some());
    (cut || known_end.is_some()).then_some(Loss { from, known_end })
}

/// Where the log ends afterwards.
fn log_end<F: FileSystem>(survey: &Survey<F>, kept: Range<usize>) -> i64 {
    let last = survey.segments[kept].last();
    last.map_or(0, |segment| segment.end.offset).max(survey.covered())
}

fn epochs_in_file(contents: &Contents) -> Option<i64> {
    let entries = contents.epochs.as_deref()?;
    entries.iter().map(|entry| entry.start_offset).max()
}

/// Garbage may go from any log. Records may only where nobody else can count on this node to have them.
fn check_allowed<F: FileSystem>(
    directory: &Directory,
    survey: &Survey<F>,
    kept: Range<usize>,
    records_gone: bool,
    loss: Option<Loss>,
) -> Result<(), RecoverError> {
    let nothing_left = kept.is_empty()
        && survey
            .snapshot
            .as_ref()
            .is_none_or(|(id, _)| *id == SnapshotId::BOOTSTRAP);
    if nothing_left {
        return Err(RecoverError::NothingLeft {
            path: directory.partition.clone(),
        });
    }
    let Some(Loss { from, known_end }) = loss else {
        return Ok(());
    };
    if is_only_voter(directory, survey) {
        return Ok(());
    }
    let last = kept
        .end
        .checked_sub(1)
        .map(|at| (&survey.segments[at], &survey.behind[at]));
    if let Some((segment, behind)) = last
        && behind.end > from
    {
        return Err(RecoverError::NotGarbage {
            path: directory.partition.join(log_file(segment.base)),
            position: segment.end.position,
            batches: behind.batches,
            end: behind.end,
        });
    }
    if known_end.is_some() || records_gone {
        return Err(RecoverError::RecordsMissing { from });
    }
    Ok(())
}

fn steps<F: FileSystem>(
    directory: &Directory,
    survey: &Survey<F>,
    kept: Range<usize>,
    ahead: &[SnapshotId],
) -> Vec<Step> {
    let dir = &directory.partition;
    let set_aside = |base: i64| {
        let from = dir.join(log_file(base));
        let to = directory.kept(&from);
        Step::SetAside { from, to }
    };
    let mut epochs = EpochCache::default();
    for entry in survey.segments[kept.clone()]
        .iter()
        .flat_map(|segment| &segment.epochs)
    {
        epochs.assign(entry.start.epoch, entry.start.start_offset);
    }
    let mut steps = vec![
        Step::ForgetSynced,
        Step::StoreEpochs {
            entries: epochs.entries().to_vec(),
        },
    ];
    // From the end, so that what is left has no new hole.
    let behind = survey.segments[kept.end..].iter().rev();
    steps.extend(behind.map(|segment| set_aside(segment.base)));
    let before = survey.segments[..kept.start].iter().rev();
    steps.extend(before.map(|segment| set_aside(segment.base)));
    for id in ahead {
        let name = frozen_name(*id);
        steps.push(Step::SetAside {
            from: dir.join(&name),
            to: dir.join(format!("{}{}", set_aside_name(&name), directory.kept)),
        });
    }
    let garbage = |segment: &&ExaminedSegment<F>| segment.end.fault.is_some();
    for segment in survey.segments[kept].iter().rev().filter(garbage) {
        let name = log_file(segment.base);
        let path = dir.join(&name);
        let position = segment.end.position;
        steps.push(Step::KeepCopy {
            from: path.clone(),
            position,
            to: dir.join(format!("{name}.from-{position}{}", directory.kept)),
        });
        steps.push(Step::Cut {
            path,
            position,
            bytes: segment.len - position,
        });
    }
    steps
}
