//! The log, as the log thread of a node writes it.

use std::{
    collections::VecDeque,
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use kraft_core::{ElectionState, Epoch, Ticket};
use kraft_fs::RealFs;
use kraft_log::{LogOptions, METADATA_PARTITION_DIR, Prepared, StorageOp, batch_info, open};
use kraft_wire::batch::BatchView;

use super::{Load, SEGMENT_BYTES};
use crate::{Error, measure::Times};

/// Appends one batch after the other, each in a round of its own, and what the preparer has done meanwhile. What it
/// does before the first of them is not timed: that is what "ahead of need" means.
pub fn append(dir: &Path, load: &Load) -> Result<(Times, Prepared), Error> {
    let dir = dir.join(METADATA_PARTITION_DIR);
    let options = LogOptions {
        segment_bytes: SEGMENT_BYTES,
        prepare_bytes: SEGMENT_BYTES,
        ..LogOptions::default()
    };
    let mut opened = open(RealFs, &dir, options)?;
    let preparer = opened.preparer;
    let (writer, index) = (&mut opened.writer, &mut opened.index);
    let mut tickets = 0;
    let mut run = |op: StorageOp, times: Option<&mut Times>| -> Result<(), Error> {
        tickets += 1;
        let ticket = Ticket(tickets);
        let round = || -> Result<(), Error> {
            index.submit(ticket, &op, kraft_core::Instant(tickets));
            let mut queue = VecDeque::from([(ticket, op)]);
            let done = writer.run_round(&mut queue)?;
            index.complete(done.up_to);
            Ok(())
        };
        match times {
            Some(times) => times.take(round),
            None => round(),
        }
    };
    run(elected(), None)?;
    let first = if load.is_large() { 0 } else { 1 };
    let preparing = thread::spawn(move || preparer.run());
    if first == 1 {
        // The first append has the preparer begin.
        run(append_op(load, 0)?, None)?;
        wait_for_spare(&dir)?;
    }
    let mut times = Times::with_capacity(load.operations);
    for operation in first..load.operations + first {
        run(append_op(load, operation)?, Some(&mut times))?;
    }
    opened.writer.close()?;
    let prepared = preparing.join().map_err(|_| "the preparer has panicked")??;
    Ok((times, prepared))
}

fn elected() -> StorageOp {
    StorageOp::StoreElection(ElectionState {
        epoch: Epoch(1),
        leader: None,
        voted: None,
        voters: Vec::new(),
        kraft_version: 1,
    })
}

fn append_op(load: &Load, operation: usize) -> Result<StorageOp, Error> {
    let batches = load.batch_of(operation);
    let infos = vec![batch_info(&BatchView::parse(batches.clone())?)?];
    Ok(StorageOp::Append { batches, infos })
}

/// The preparer makes the spare file last.
fn wait_for_spare(dir: &Path) -> Result<(), Error> {
    let deadline = Instant::now() + Duration::from_secs(60);
    while fs::metadata(dir.join("kraft-spare")).map_or(0, |spare| spare.len()) < SEGMENT_BYTES {
        if Instant::now() > deadline {
            return Err("the preparer does not come to its end".into());
        }
        thread::sleep(Duration::from_millis(5));
    }
    // Its last sync.
    thread::sleep(Duration::from_millis(50));
    Ok(())
}
