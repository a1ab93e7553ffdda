//! A million records into a snapshot, and out of it.

use std::{
    fs::{self, File},
    hint::black_box,
    os::unix::fs::FileExt,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use kraft_bench_report::{Figure, Goal, Report};
use kraft_core::{Epoch, SnapshotId};
use kraft_fs::RealFs;
use kraft_snapshot::{SnapshotHeader, SnapshotReader, SnapshotWriter, frozen_name};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use crate::{Error, measure::goes_on};

const RECORDS: usize = 1_000_000;
const RECORD_BYTES: usize = 100;

const ID: SnapshotId = SnapshotId {
    end_offset: 1_000_000,
    epoch: Epoch(5),
};

/// Memory beside what is asked for, at most.
const EXTRA_BYTES_MAX: f64 = 16.0 * 1024.0 * 1024.0;

pub fn run(root: &Path, secs: u64, report: &mut Report) -> Result<(), Error> {
    let [mut ours, mut dd, mut loads, mut cpu, mut reads] = [(); 5].map(|()| Vec::new());
    let dir = root.join("snapshot");
    let started = Instant::now();
    let mut bytes = 0;
    while goes_on(ours.len(), started, secs) {
        fs::create_dir(&dir)?;
        // The first one says how many bytes it is about.
        let ours_first = dd.len() % 2 == 0;
        if !ours_first {
            dd.push(copy(root, bytes)?);
        }
        let writing = Instant::now();
        bytes = write_snapshot(&dir)?;
        ours.push(bytes as f64 / writing.elapsed().as_secs_f64() / 1e6);
        if ours_first {
            dd.push(copy(root, bytes)?);
        }
        let (started, busy) = (Instant::now(), cpu_time());
        let read = load(&dir)?;
        let elapsed = started.elapsed().as_secs_f64();
        cpu.push(bytes as f64 / (cpu_time() - busy).as_secs_f64() / 1e9);
        if read != RECORDS * RECORD_BYTES {
            return Err("the snapshot does not hold what was written".into());
        }
        loads.push(bytes as f64 / elapsed / 1e9);
        reads.push(read_through(&dir.join(frozen_name(ID)))?);
        fs::remove_dir_all(&dir)?;
        crate::append::settle(root)?;
    }
    let rates: Vec<f64> = loads
        .iter()
        .map(|rate| rate * 1e9 / bytes as f64 * RECORDS as f64 / 1e6)
        .collect();
    let parameters = json!({ "records": RECORDS, "record_bytes": RECORD_BYTES, "file_bytes": bytes });
    let figure = |name, unit, ours: &[f64], peer: Option<(&str, &[f64])>, goal| {
        let parameters = parameters.clone();
        report.figure(&Figure {
            name,
            parameters,
            unit,
            ours,
            peer,
            goal: Some(goal),
        });
    };
    figure(
        "snapshot write",
        "MB/s",
        &ours,
        Some(("dd conv=fdatasync", &dd)),
        Goal::RatioMin(0.9),
    );
    figure(
        "snapshot load",
        "GB/s",
        &loads,
        Some(("read alone", &reads)),
        Goal::Min(2.0),
    );
    figure(
        "snapshot load",
        "million records/s",
        &rates,
        None,
        Goal::Min(20.0),
    );
    // What a machine without other work would show.
    figure(
        "snapshot load",
        "GB by the second of processor time",
        &cpu,
        None,
        Goal::Min(2.0),
    );
    fs::create_dir(&dir)?;
    let mut outcomes = Vec::new();
    let written = allocation_counter::measure(|| outcomes.push(write_snapshot(&dir).map(drop)));
    let loaded = allocation_counter::measure(|| outcomes.push(load(&dir).map(drop)));
    outcomes.into_iter().collect::<Result<Vec<()>, _>>()?;
    for (name, used) in [("snapshot write", written), ("snapshot load", loaded)] {
        figure(
            name,
            "bytes of memory at most",
            &[used.bytes_max as f64],
            None,
            Goal::Max(EXTRA_BYTES_MAX),
        );
    }
    fs::remove_dir_all(&dir)?;
    Ok(())
}

/// From the first record to the durable name. Every record is different.
fn write_snapshot(dir: &Path) -> Result<u64, Error> {
    let header = SnapshotHeader {
        last_contained_log_timestamp: 1_760_000_000_000,
        kraft_version: 1,
        voters: None,
    };
    let mut writer = SnapshotWriter::create(&RealFs, dir, ID, &header, || 1_760_000_000_000)?;
    let mut value = [0x5a; RECORD_BYTES];
    for record in 0..RECORDS as u64 {
        value[..8].copy_from_slice(&record.to_be_bytes());
        writer.append(&value)?;
    }
    Ok(writer.freeze()?)
}

/// Every record is looked at where it lies; returns how many bytes they have.
fn load(dir: &Path) -> Result<usize, Error> {
    let mut reader = SnapshotReader::open(&RealFs, dir, ID)?.ok_or("there is no snapshot")?;
    let mut bytes = 0;
    while let Some(batch) = reader.next_batch()? {
        for value in batch.value_slices() {
            bytes += black_box(value).len();
        }
    }
    Ok(bytes)
}

/// What this thread has used.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Megabytes by the second of `dd` for as many bytes.
fn copy(root: &Path, bytes: u64) -> Result<f64, Error> {
    let path = root.join("dd");
    let started = Instant::now();
    let output = Command::new("dd")
        .args(["if=/dev/zero", "bs=1M", "iflag=count_bytes", "conv=fdatasync"])
        .arg(format!("of={}", path.display()))
        .arg(format!("count={bytes}"))
        .output()?;
    let elapsed = started.elapsed();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    fs::remove_file(&path)?;
    Ok(bytes as f64 / elapsed.as_secs_f64() / 1e6)
}

/// Gigabytes by the second of reading a file and doing nothing with it.
fn read_through(path: &Path) -> Result<f64, Error> {
    let file = File::open(path)?;
    let mut piece = vec![0; 1 << 20];
    let started = Instant::now();
    let mut position = 0;
    loop {
        match file.read_at(&mut piece, position)? {
            0 => return Ok(position as f64 / started.elapsed().as_secs_f64() / 1e9),
            read => position += black_box(&piece[..read]).len() as u64,
        }
    }
}
