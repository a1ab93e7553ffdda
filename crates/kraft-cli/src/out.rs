//! Standard output, for commands that have more to do than to be read.

use std::fmt;
use std::io::{self, ErrorKind, StdoutLock, Write};

/// Standard output, whose errors say that they are its own.
pub(crate) struct Out {
    stdout: StdoutLock<'static>,
    reader: Reader,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// All there is to do is done for the reader.
    Everything,
    /// What is done counts, and so does the exit code, whether somebody reads of it or not.
    Onlooker,
    /// An onlooker that has gone.
    Gone,
}

/// Nobody reads what a command has to show.
#[derive(Debug)]
struct ReaderGone;

impl Out {
    /// For what is printed and nothing else: the command ends where its reader does.
    pub(crate) fn listing() -> Out {
        Out::to(Reader::Everything)
    }

    /// For a command that goes on without its reader.
    pub(crate) fn report() -> Out {
        Out::to(Reader::Onlooker)
    }

    fn to(reader: Reader) -> Out {
        Out {
            stdout: io::stdout().lock(),
            reader,
        }
    }

    /// What an attempt that may be the last one for this reader comes to.
    fn outcome<T>(&mut self, attempt: io::Result<T>, without_reader: T) -> io::Result<T> {
        match attempt {
            Err(error) if error.kind() == ErrorKind::BrokenPipe && self.reader == Reader::Onlooker => {
                self.reader = Reader::Gone;
                Ok(without_reader)
            }
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                Err(io::Error::new(ErrorKind::BrokenPipe, ReaderGone))
            }
            // A write is repeated by whoever sees this kind.
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            Err(error) => Err(io::Error::new(error.kind(), format!("standard output: {error}"))),
            Ok(done) => Ok(done),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.reader == Reader::Gone {
            return Ok(bytes.len());
        }
        let written = self.stdout.write(bytes);
        self.outcome(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.reader == Reader::Gone {
            return Ok(());
        }
        let flushed = self.stdout.flush();
        self.outcome(flushed, ())
    }
}

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output: nobody reads it any more")
    }
}

impl std::error::Error for ReaderGone {}

/// Whether a command ended because the reader of its listing did: `kraft dump … | head` is no failure.
pub(crate) fn is_reader_gone(error: &(dyn std::error::Error + 'static)) -> bool {
    let error = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is_some_and(|error| error.is::<ReaderGone>())
}
