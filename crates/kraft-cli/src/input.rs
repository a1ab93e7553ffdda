//! Standard input.

use std::io;

/// Says that what went wrong is about standard input.
pub(crate) fn of_stdin(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard input: {error}"))
}
