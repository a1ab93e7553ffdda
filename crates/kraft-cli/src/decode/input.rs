//! Frames from a pipe.

use std::io::{self, BufRead, Read};

use crate::input::of_stdin;

/// Calls `each` with every line that is not blank, without its line end.
pub(super) fn each_line(
    mut input: impl BufRead,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let part = input.by_ref().take(LINE_MAX).read_until(b'\n', &mut line);
        let read = part.map_err(of_stdin)?;
        if read == 0 {
            return Ok(());
        }
        if read as u64 == LINE_MAX && line.last() != Some(&b'\n') {
            let what = format!("a line of standard input is longer than {LINE_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let text = line.trim_ascii();
        if !text.is_empty() {
            each(text)?;
        }
    }
}

/// The largest frame that Kafka takes, 100 MiB, with three characters a byte.
const LINE_MAX: u64 = 3 * 104_857_600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_frame_and_blank_ones_are_none() {
        let mut lines = Vec::new();
        each_line(&b"00\r\n\n  \n01 02\n03"[..], |line| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        })
        .unwrap();
        assert_eq!(lines, ["00", "01 02", "03"]);
    }
}
