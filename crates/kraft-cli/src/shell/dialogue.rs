//! Lines from stdin, until there are no more.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use super::image::Image;
use super::session::{Session, Then};
use super::words;
use crate::input::of_stdin;

/// Carries out what is entered. Only who sits at a terminal is prompted, and gets names in columns.
pub(super) fn run(image: &Image, out: &mut dyn Write) -> io::Result<()> {
    let stdout = io::stdout();
    let dialogue = io::stdin().is_terminal() && stdout.is_terminal();
    let width = if stdout.is_terminal() { width() } else { None };
    let mut session = Session::new(image, out, None, width);
    if dialogue {
        let offset = image.provenance.offset;
        session.say(&format!(
            "[ metadata up to offset {offset}; help lists the commands ]\n"
        ))?;
    }
    let mut input = io::stdin().lock();
    loop {
        if dialogue {
            session.say(">> ")?;
        }
        session.flush()?;
        match read_line(&mut input).map_err(of_stdin)? {
            Line::End => break,
            Line::TooLong => session.complain("a line is too long")?,
            Line::Text(line) => {
                if enter(&mut session, &line)? == Then::Exit {
                    return session.flush();
                }
            }
        }
    }
    if dialogue {
        session.say("\n")?;
    }
    session.flush()
}

fn enter(session: &mut Session<'_>, line: &str) -> io::Result<Then> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(Then::Next);
    }
    session.remember(line);
    match words::split(line) {
        Ok(words) => session.run(&words),
        Err(open) => {
            session.complain(&open.to_string())?;
            Ok(Then::Next)
        }
    }
}

/// What stdin has.
enum Line {
    Text(String),
    TooLong,
    End,
}

/// Reads a line. The rest of one that is too long is passed over.
fn read_line(input: &mut impl BufRead) -> io::Result<Line> {
    let mut line = Vec::new();
    input.take(LINE_MAX).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(Line::End);
    }
    if line.len() as u64 == LINE_MAX && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
        return Ok(Line::TooLong);
    }
    Ok(Line::Text(String::from_utf8_lossy(&line).into_owned()))
}

fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

const LINE_MAX: u64 = 64 * 1024;
