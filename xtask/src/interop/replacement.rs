//! Member by member a quorum under load changes from one program to the other on the same directories, and back.

use std::path::Path;

use crate::interop::jars::Jars;
use crate::interop::load::Load;
use crate::interop::quorum::{Kind, Mode, Quorum};
use crate::interop::{Failure, say};

pub(crate) fn round(jars: &Jars, folder: &Path, mode: Mode) -> Result<(), Failure> {
    let mut quorum = Quorum::started(jars, folder, mode, &[Kind::Kafka; 3])?;
    let first = quorum.wait_for_all()?;
    let load = Load::start(&quorum);
    for kind in [Kind::Kraft, Kind::Kafka] {
        let mut led = Vec::new();
        for id in 1..=3 {
            quorum.stop(id)?;
            quorum.start(id, kind)?;
            let status = quorum.wait_for_all()?;
            led.push(format!("{} ({})", status.leader, quorum.kinds()[&status.leader]));
        }
        say(&format!("all are {kind}; leaders on the way: {}", led.join(", ")));
    }
    let last = quorum.wait_for_all()?;
    let marks = load.stop();
    say(&format!(
        "six replacements in {} epochs",
        last.epoch - first.epoch
    ));
    quorum.stop_and_compare()?;
    quorum.find_acknowledged(&marks)
}
