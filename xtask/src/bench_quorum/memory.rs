//! What a voter has resident at most: idle, at 5,000 records a second, and with as many as go through; and whether it stays
//! so for long.

use kraft_bench_report::{Figure, Goal};

use super::commit::{OPEN, SATURATION, measure, mebibytes, parameters};
use super::soak;
use super::voters::Load;
use super::{Session, is_wanted};
use crate::interop::Failure;

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// One record a second
    Idle,
    /// 5,000 records a second
    Open,
    /// As many as go through
    Saturation,
    /// 5,000 records a second with snapshots: does it grow? Meant for `--secs 3600`
    Soak,
}

pub(super) fn run(session: &mut Session, only: &[Part]) -> Result<(), Failure> {
    let idle = Load {
        throughput: 1,
        ..OPEN
    };
    let loads = [
        (Part::Idle, "memory, one record a second", idle, 16.0, true),
        (Part::Open, "memory, 5,000 records a second", OPEN, 40.0, true),
        (Part::Saturation, "memory, saturation", SATURATION, 96.0, false),
    ];
    for (part, name, load, most, beside_peer) in loads {
        if !is_wanted(only, &part) {
            continue;
        }
        let ours = mebibytes(measure(session, &session.ours, load)?.resident_bytes);
        session.report.figure(&Figure {
            name,
            parameters: parameters(load, session.duration),
            unit: "MiB",
            ours: &[ours],
            peer: None,
            goal: Some(Goal::Max(most)),
        });
        let Some(kafka) = session.kafka(25).filter(|_| beside_peer) else {
            continue;
        };
        let theirs = mebibytes(measure(session, &kafka, load)?.resident_bytes);
        session.report.figure(&Figure {
            name,
            parameters: parameters(load, session.duration),
            unit: "MiB",
            ours: &[ours],
            peer: Some((&kafka.name(), &[theirs])),
            goal: Some(Goal::RatioMax(1.0 / 20.0)),
        });
    }
    if only.contains(&Part::Soak) {
        soak::run(session)?;
    }
    Ok(())
}
