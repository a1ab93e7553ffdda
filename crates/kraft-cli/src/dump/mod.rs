//! `kraft dump`, as `kafka-dump-log --cluster-metadata-decoder`, over all files of a metadata directory.

mod batches;
pub(crate) mod files;
mod print;
mod record;
mod small;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use thiserror::Error;

use crate::Outcome;
use crate::out::Out;
use files::Kind;
pub(crate) use print::batch_json;

/// Show what is in segments, checkpoints and the small files of a metadata directory
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    kraft dump --records /var/lib/kafka/__cluster_metadata-0/00000000000000000000.log\n  \
    kraft dump --json /var/lib/kafka")]
pub(crate) struct Arguments {
    /// Show the records too, not only the batches
    #[arg(long)]
    records: bool,
    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
    /// Files, and directories whose files are all shown
    #[arg(required = true, value_name = "FILE_OR_DIR")]
    paths: Vec<PathBuf>,
}

/// What ends a dump, or is wrong with what it has shown.
#[derive(Debug, Error)]
enum DumpError {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{damaged} damaged {}, shown above with file and position", if *.damaged == 1 { "place" } else { "places" })]
    Damaged { damaged: usize },
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut dump = Dump {
        out: BufWriter::new(Out::listing()),
        records: arguments.records,
        json: arguments.json,
        damaged: 0,
    };
    for path in &arguments.paths {
        dump.path(path)?;
    }
    dump.out.flush()?;
    match dump.damaged {
        0 => Ok(ExitCode::SUCCESS),
        damaged => Err(DumpError::Damaged { damaged }.into()),
    }
}

/// Says something of a path on stderr.
fn remark(path: &Path, what: &str) {
    // A reader that is gone need not be told.
    writeln!(io::stderr(), "kraft: {}: {what}", path.display()).ok();
}

/// A dump in progress.
struct Dump<W: Write> {
    out: W,
    records: bool,
    json: bool,
    damaged: usize,
}

impl<W: Write> Dump<W> {
    fn path(&mut self, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let reading = |source| DumpError::Read {
            path: path.to_owned(),
            source,
        };
        if std::fs::metadata(path).map_err(reading)?.is_dir() {
            let files = files::of_directory(path).map_err(reading)?;
            if files.is_empty() {
                remark(path, "no file of a metadata directory in it");
            }
            return files.iter().try_for_each(|file| self.path(file));
        }
        match Kind::of(path) {
            Some(Kind::Segment { base_offset }) => {
                self.heading(path, &format!("Log starting offset: {base_offset}"))?;
                self.batches(path)?;
            }
            Some(Kind::Checkpoint { end_offset, epoch }) => {
                self.heading(
                    path,
                    &format!("Snapshot end offset: {end_offset}, epoch: {epoch}"),
                )?;
                self.batches(path)?;
            }
            Some(Kind::Small(small)) => self.small(path, small)?,
            None => remark(path, "not a file of a metadata directory, skipped"),
        }
        Ok(())
    }

    /// The lines that Kafka prints above a file. JSON lines name the file themselves.
    fn heading(&mut self, path: &Path, what: &str) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        writeln!(self.out, "Dumping {}\n{what}", path.display())
    }
}

#[cfg(test)]
#[path = "dump_test.rs"]
mod tests;
