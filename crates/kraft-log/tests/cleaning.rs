//! A crash, or a failing disk, at every call of a cleaning.

use kraft_core::{Epoch, Instant, LogView, SnapshotId, Ticket};
use kraft_fs::{Fault, FaultyFs, MemFs, Unsynced};
use kraft_log::{LogOptions, Opened, Retention, StorageOp, batch_info, open, verify};
use kraft_snapshot::{SnapshotHeader, SnapshotWriter};
use kraft_wire::batch::{BatchBuilder, BatchView};
use std::{collections::VecDeque, path::Path};

const DIR: &str = "/__cluster_metadata-0";

fn options() -> LogOptions {
    LogOptions {
        segment_bytes: 300,
        retention: Retention {
            bytes: Some(0),
            age_ms: None,
        },
        ..LogOptions::default()
    }
}

fn run<F: kraft_fs::FileSystem>(
    opened: &mut Opened<F>,
    ops: Vec<StorageOp>,
) -> Result<(), kraft_log::StorageError> {
    let mut queue = VecDeque::new();
    for (ticket, op) in (1..).map(Ticket).zip(ops) {
        opened.index.submit(ticket, &op, Instant(0));
        queue.push_back((ticket, op));
    }
    while !queue.is_empty() {
        let round = opened.writer.run_round(&mut queue)?;
        if let Some(cleaned) = round.cleaned {
            opened.index.cleaned(cleaned);
        }
        opened.index.complete(round.up_to);
    }
    Ok(())
}

/// A log of 30 records in several segments and epochs, with four snapshots.
fn history() -> MemFs {
    let fs = MemFs::new();
    let mut opened = open(fs.clone(), Path::new(DIR), options()).expect("opened");
    let mut ops = vec![StorageOp::StoreElection(kraft_core::ElectionState {
        epoch: Epoch(3),
        leader: None,
        voted: None,
        voters: Vec::new(),
        kraft_version: 1,
    })];
    for base in 0..30 {
        let mut builder = BatchBuilder::data(1000);
        builder.push(b"a record").expect("it fits");
        let batches = builder.build(base, 1 + i32::try_from(base / 10).expect("small"));
        let infos = vec![batch_info(&BatchView::parse(batches.clone()).expect("a batch")).expect("valid")];
        ops.push(StorageOp::Append { batches, infos });
    }
    run(&mut opened, ops).expect("written");
    for (end_offset, epoch) in [(8, 1), (15, 2), (21, 3), (26, 3)] {
        let id = SnapshotId {
            end_offset,
            epoch: Epoch(epoch),
        };
        let header = SnapshotHeader {
            last_contained_log_timestamp: 1000,
            kraft_version: 0,
            voters: None,
        };
        let writer = SnapshotWriter::create(&fs, Path::new(DIR), id, &header, || 1000).expect("created");
        writer.freeze().expect("frozen");
    }
    fs.crash_image(Unsynced::Kept)
}

#[test]
fn a_crash_at_any_call_of_a_cleaning_loses_nothing_that_is_kept() {
    let good = history();
    let clean = || {
        vec![StorageOp::Clean {
            high_watermark: 30,
            now_ms: 0,
        }]
    };
    let mut points = 0;
    for call in 0.. {
        let disk = good.crash_image(Unsynced::Kept);
        let fs = FaultyFs::new(disk.clone());
        let mut opened = open(fs.clone(), Path::new(DIR), options()).expect("opened");
        fs.arm(call, Fault::Io);
        let done = run(&mut opened, clean()).is_ok();
        if done {
            assert_eq!(opened.index.start(), 26);
        }
        drop(opened);
        let seeds = (0..8).map(|seed| Unsynced::Torn { seed });
        for unsynced in [Unsynced::Lost, Unsynced::Kept].into_iter().chain(seeds) {
            let image = disk.crash_image(unsynced);
            verify(&image, Path::new(DIR)).unwrap_or_else(|error| panic!("call {call}: {error}"));
            let mut opened = open(image.clone(), Path::new(DIR), options()).expect("opened");
            assert_eq!(opened.index.end().last_offset, 30);
            let newest = opened.index.latest_snapshot().expect("the newest one stays");
            assert_eq!(newest.end_offset, 26);
            assert!(opened.index.start() <= 26);
            run(&mut opened, clean()).expect("cleaned");
            // A start knows only where the first segment begins.
            assert!([24, 26].contains(&opened.index.start()), "call {call}");
            assert_eq!(opened.index.snapshots().count(), 1, "call {call}");
            points += 1;
        }
        if done {
            break;
        }
    }
    assert!(points > 100, "{points}");
}
