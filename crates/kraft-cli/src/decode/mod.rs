//! `kraft decode`: frames of the controller listener, as hex, shown as JSON or encoded again.

mod frame;
mod hex;
mod input;
mod json;
mod response_of;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use bytes::Bytes;
use thiserror::Error;

use crate::Outcome;
use crate::out::Out;
use frame::{Decoded, Problem};
use response_of::ResponseOf;

/// Show Kafka frames as JSON, one object a line
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    kraft decode 003c00020000000700076578616d706c650000020000\n  \
    kraft decode --response DescribeCluster:2 - < answers.hex\n\n\
    A frame is given without the four bytes of its length. Blanks and colons between hex digits are passed over. \
    From a pipe each line is one frame. A frame that is wrong gives an object with the reason and the position in the \
    frame, and the rest goes on.")]
pub(crate) struct Arguments {
    /// The frames answer requests of this API, a name or a number, in this version; without it they are requests
    #[arg(long, value_name = "API:VERSION", allow_hyphen_values = true)]
    response: Option<ResponseOf>,
    /// Print each frame encoded again, as hex
    #[arg(long)]
    reencode: bool,
    /// Frames as hex, or - for one on each line of standard input
    #[arg(required = true, value_name = "HEX")]
    frames: Vec<String>,
}

/// What ends the command, or was wrong with what it has shown.
#[derive(Debug, Error)]
enum DecodeError {
    #[error("{wrong} of {frames} {} wrong, shown above with reason and position", if *.wrong == 1 { "frames is" } else { "frames are" })]
    Wrong { wrong: usize, frames: usize },
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut run = Run {
        out: BufWriter::new(Out::listing()),
        arguments,
        frames: 0,
        wrong: 0,
    };
    for frame in &arguments.frames {
        if frame == "-" {
            input::each_line(io::stdin().lock(), |line| run.text(line))?;
        } else {
            run.text(frame.as_bytes())?;
        }
    }
    run.out.flush()?;
    match run {
        Run { wrong: 0, .. } => Ok(ExitCode::SUCCESS),
        Run { wrong, frames, .. } => Err(DecodeError::Wrong { wrong, frames }.into()),
    }
}

struct Run<'a, W: Write> {
    out: W,
    arguments: &'a Arguments,
    frames: usize,
    wrong: usize,
}

impl<W: Write> Run<'_, W> {
    fn text(&mut self, text: &[u8]) -> io::Result<()> {
        self.frames += 1;
        let line = hex::decode(text)
            .map_err(Problem::from)
            .and_then(|bytes| self.frame(bytes))
            .unwrap_or_else(|problem| {
                self.wrong += 1;
                problem.to_json()
            });
        writeln!(self.out, "{line}")
    }

    fn frame(&self, bytes: Bytes) -> Result<String, Problem> {
        let decoded = match &self.arguments.response {
            Some(of) => Decoded::response(bytes, of)?,
            None => Decoded::request(bytes)?,
        };
        if self.arguments.reencode {
            Ok(hex::encode(&decoded.encode()?))
        } else {
            Ok(decoded.to_json())
        }
    }
}
