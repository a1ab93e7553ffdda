//! What a voter has resident at most: idle, at 5,000 records a second, and with as many as go through.

use super::Session;
use super::commit::{OPEN, SATURATION, measure, mebibytes, parameters};
use super::report::{Figure, Goal};
use super::voters::Load;
use crate::interop::Failure;

pub(super) fn run(session: &mut Session) -> Result<(), Failure> {
    let idle = Load {
        throughput: 1,
        ..OPEN
    };
    let loads = [
        ("memory, one record a second", idle, 16.0, true),
        ("memory, 5,000 records a second", OPEN, 40.0, true),
        ("memory, saturation", SATURATION, 96.0, false),
    ];
    for (name, load, most, beside_peer) in loads {
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
    Ok(())
}
