//! Opening a log directory.

use crate::{
    StorageError,
    directory::{Contents, look},
    epoch_checkpoint,
    epoch_checks::contradicts,
    examine::{Examined, examine},
    examined_segment::{ExaminedSegment, sync_found},
    index::LogIndex,
    layout::{Layout, Segment, Shared},
    names::{NO_VOTE_FILE, SYNCED_FILE, log_file, offset_index_file, set_aside_name, time_index_file},
    open_error::{OpenError, Refusal, unreadable},
    options::LogOptions,
    partition_metadata,
    preparer::Preparer,
    reader::LogReader,
    segment_files::{create_segment, cut, remove_if_there, write_index_files},
    storage_error::failed,
    synced_mark::{SyncedFile, SyncedMark},
    writer::LogWriter,
};
use kraft_core::{ElectionState, Recovered};
use kraft_fs::FileSystem;
use kraft_snapshot::frozen_name;
use std::{collections::BTreeMap, path::Path, sync::Arc};
use uuid::Uuid;

/// An opened log: one part for each thread that works with it, and what the core has to know.
#[derive(Debug)]
pub struct Opened<F: FileSystem> {
    /// For the log thread.
    pub writer: LogWriter<F>,
    /// For a thread that makes blocks ready ahead of the log thread.
    pub preparer: Preparer<F>,
    /// For the engine.
    pub index: LogIndex,
    /// For whoever reads.
    pub reader: LogReader<F>,
    /// For the core.
    pub recovered: Recovered,
}

/// Opens the log in `dir`, the partition directory, and creates what is missing. The caller holds the lock of the
/// directory above.
///
/// Everything is read and checked first. What a crash can have left is then put in order, and is durable on return;
/// other damage is an error, and then nothing has been written.
///
/// # Errors
/// [`Refusal`].
pub fn open<F: FileSystem>(fs: F, dir: &Path, options: LogOptions) -> Result<Opened<F>, Refusal> {
    open_examined(fs.clone(), dir, options).map_err(|cause| Refusal::new(&fs, dir, cause))
}

/// [`open`] for whoever knows that there is nothing to refuse.
pub(crate) fn open_examined<F: FileSystem>(
    fs: F,
    dir: &Path,
    options: LogOptions,
) -> Result<Opened<F>, OpenError> {
    create_directory(&fs, dir)?;
    let mut contents = look(&fs, dir, &options.topic_id)?;
    let examined = examine(&fs, dir, &contents)?;
    bring_in_order(&fs, dir, &options.topic_id, &mut contents, &examined)?;
    Ok(assemble(fs, dir, options, contents, examined)?)
}

fn create_directory<F: FileSystem>(fs: &F, dir: &Path) -> Result<(), OpenError> {
    if fs.metadata(dir).map_err(unreadable(dir))?.is_some() {
        return Ok(());
    }
    fs.create_dir_all(dir).map_err(failed("creating", dir))?;
    let parent = dir.parent().unwrap_or(dir);
    Ok(fs.sync_dir(parent).map_err(failed("syncing", parent))?)
}

/// Removes what is not needed, cuts what a crash left, writes the small files that are missing or behind.
fn bring_in_order<F: FileSystem>(
    fs: &F,
    dir: &Path,
    topic_id: &Uuid,
    contents: &mut Contents,
    examined: &Examined<F>,
) -> Result<(), StorageError> {
    for name in &contents.leftovers {
        remove_if_there(fs, &dir.join(name))?;
    }
    sync_found(dir, &examined.segments)?;
    put_promises_right(fs, dir, contents, examined)?;
    remove_replaced_segments(fs, dir, examined)?;
    set_damaged_aside(fs, dir, contents, examined)?;
    remove_old_snapshots(fs, dir, contents, examined)?;
    cut_tail(dir, examined)?;
    if contents.topic.is_none() {
        let path = dir.join(partition_metadata::FILE_NAME);
        partition_metadata::store(fs, dir, topic_id).map_err(failed("creating", &path))?;
    }
    Ok(())
}

/// Has the mark and the epoch cache promise what is durable, and no more than what the log will be, before any of it goes:
/// each step may be the last one that is done.
fn put_promises_right<F: FileSystem>(
    fs: &F,
    dir: &Path,
    contents: &Contents,
    examined: &Examined<F>,
) -> Result<(), StorageError> {
    if contents.synced.is_some() && !examined.replaced.is_empty() {
        let path = dir.join(SYNCED_FILE);
        let synced = SyncedFile::open(fs, dir).map_err(failed("opening", &path))?;
        synced.clear().map_err(failed("clearing", &path))?;
    }
    if let Some(fault) = &contents.epochs_fault {
        let file = epoch_checkpoint::FILE_NAME;
        tracing::warn!("{file}: {fault}; the file is rebuilt from the log");
    }
    let cached = contents.epochs.as_deref().unwrap_or_default();
    if contradicts(cached, examined.epochs.entries(), examined.end) {
        let file = epoch_checkpoint::FILE_NAME;
        tracing::warn!("{file} says other epochs than the log; the file is rebuilt from the log");
    }
    if contents.epochs.as_deref() != Some(examined.epochs.entries()) {
        let path = dir.join(epoch_checkpoint::FILE_NAME);
        epoch_checkpoint::store(fs, dir, examined.epochs.entries()).map_err(failed("replacing", &path))?;
    }
    Ok(())
}

/// Makes the parts of the log of what has been found.
fn assemble<F: FileSystem>(
    fs: F,
    dir: &Path,
    options: LogOptions,
    contents: Contents,
    examined: Examined<F>,
) -> Result<Opened<F>, StorageError> {
    let recovered = recovered(contents.election, contents.abstains, &examined);
    let batch_ends = examined.segments.iter().flat_map(|segment| &segment.batch_ends);
    let index = LogIndex::new(
        examined.start,
        batch_ends.copied().collect(),
        examined.epochs.clone(),
        contents.snapshots,
        options.recent_bytes,
    );
    let last_epochs = examined.segments.iter().map(ExaminedSegment::last_epoch);
    let last_epoch = last_epochs.flatten().next_back();
    let layout = layout(&fs, dir, examined.segments, examined.start)?;
    let (segment, position) = {
        let (base, newest) = layout.newest();
        (base, newest.written)
    };
    let shared = Arc::new(Shared::new(fs.clone(), dir.to_owned(), layout));
    for (base, segment) in &shared.layout().segments {
        write_index_files(&shared, *base, &segment.index)
            .map_err(failed("writing the indexes of", &segment.path))?;
    }
    let synced_path = dir.join(SYNCED_FILE);
    let synced = SyncedFile::open(&fs, dir).map_err(failed("opening", &synced_path))?;
    if let Some(epoch) = last_epoch {
        let mark = SyncedMark {
            segment,
            position,
            epoch,
        };
        synced.mark(mark).map_err(failed("writing", &synced_path))?;
    }
    let (writer, blocks) = LogWriter::new(shared.clone(), options, examined.epochs, synced)?;
    Ok(Opened {
        writer,
        preparer: Preparer::new(blocks),
        index,
        reader: LogReader::new(shared),
        recovered,
    })
}

fn recovered<F: FileSystem>(
    election: Option<ElectionState>,
    abstains: bool,
    examined: &Examined<F>,
) -> Recovered {
    if abstains {
        tracing::warn!("{NO_VOTE_FILE}: neither votes nor campaigns until it has what is committed");
    }
    let covered = examined.snapshot.as_ref().map_or(0, |(id, _)| id.end_offset);
    let control = examined.segments.iter().flat_map(|segment| &segment.control);
    Recovered {
        election,
        log: control
            .filter(|(offset, _)| *offset >= covered)
            .cloned()
            .collect(),
        snapshot: examined.snapshot.clone(),
        abstains,
    }
}

/// The segments for writer and readers, with an empty one where there is none.
fn layout<F: FileSystem>(
    fs: &F,
    dir: &Path,
    examined: Vec<ExaminedSegment<F>>,
    start: i64,
) -> Result<Layout<F>, StorageError> {
    let end = examined.last().map_or(start, |segment| segment.end.offset);
    let mut segments = BTreeMap::new();
    for segment in examined {
        segments.insert(
            segment.base,
            Segment {
                file: Arc::new(segment.file),
                path: dir.join(log_file(segment.base)),
                written: segment.end.position,
                index: segment.index,
            },
        );
    }
    if segments.is_empty() {
        segments.insert(start, create_segment(fs, dir, start)?);
    }
    fs.sync_dir(dir).map_err(failed("syncing", dir))?;
    Ok(Layout {
        segments,
        end,
        truncations: 0,
    })
}

/// Removes the segments that a snapshot has replaced, from the end, so that a crash leaves no new hole.
fn remove_replaced_segments<F: FileSystem>(
    fs: &F,
    dir: &Path,
    examined: &Examined<F>,
) -> Result<(), StorageError> {
    for base in examined.replaced.iter().rev() {
        for name in [log_file(*base), offset_index_file(*base), time_index_file(*base)] {
            remove_if_there(fs, &dir.join(name))?;
        }
    }
    fs.sync_dir(dir).map_err(failed("syncing", dir))
}

/// Takes the place from damaged snapshots that nobody needs; their bytes stay for whoever wants to look.
fn set_damaged_aside<F: FileSystem>(
    fs: &F,
    dir: &Path,
    contents: &mut Contents,
    examined: &Examined<F>,
) -> Result<(), StorageError> {
    for id in &examined.damaged {
        let name = frozen_name(*id);
        let path = dir.join(&name);
        tracing::warn!(
            snapshot = %path.display(),
            "the snapshot is damaged and set aside; the log holds what it held"
        );
        fs.rename(&path, &dir.join(set_aside_name(&name)))
            .map_err(failed("setting aside", &path))?;
        contents.snapshots.remove(*id);
    }
    Ok(())
}

/// Removes the snapshots that end before the log starts.
fn remove_old_snapshots<F: FileSystem>(
    fs: &F,
    dir: &Path,
    contents: &mut Contents,
    examined: &Examined<F>,
) -> Result<(), StorageError> {
    for id in examined.old_snapshots(contents) {
        remove_if_there(fs, &dir.join(frozen_name(id)))?;
        contents.snapshots.remove(id);
    }
    Ok(())
}

/// Cuts what a crash, or preallocation, left behind the last batch.
fn cut_tail<F: FileSystem>(dir: &Path, examined: &Examined<F>) -> Result<(), StorageError> {
    let Some(last) = examined.segments.last() else {
        return Ok(());
    };
    if last.len == last.end.position {
        return Ok(());
    }
    let path = dir.join(log_file(last.base));
    tracing::info!(
        segment = %path.display(),
        position = last.end.position,
        bytes = last.len - last.end.position,
        "cut what lay behind the last batch"
    );
    cut(&last.file, last.end.position).map_err(failed("cutting", &path))
}
