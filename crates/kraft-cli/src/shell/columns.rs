//! Names in columns, as wide as a terminal.

use std::io::{self, Write};

use crate::printable::printable;

/// Writes the names in as few lines as the width allows; without a width one on a line.
pub(super) fn write<S: AsRef<str>>(out: &mut dyn Write, width: Option<usize>, names: &[S]) -> io::Result<()> {
    let widths = widths(width, names);
    let lines = names.len().div_ceil(widths.len());
    for line in 0..lines {
        for (column, width) in widths.iter().enumerate() {
            let Some(name) = names.get(line + column * lines) else {
                continue;
            };
            let name = printable(name.as_ref());
            if line + (column + 1) * lines < names.len() {
                let blanks = width - name.chars().count();
                write!(out, "{name}{:blanks$}", "")?;
            } else {
                write!(out, "{name}")?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The width of each column, with two blanks behind the longest name.
fn widths<S: AsRef<str>>(width: Option<usize>, names: &[S]) -> Vec<usize> {
    let one = vec![0];
    let Some(width) = width else {
        return one;
    };
    let lengths: Vec<_> = names
        .iter()
        .map(|name| printable(name.as_ref()).chars().count() + GAP)
        .collect();
    let columns_max = (width / NARROWEST).min(names.len());
    let fitting = (2..=columns_max).rev().find_map(|columns| {
        let lines = names.len().div_ceil(columns);
        let widths: Vec<_> = lengths
            .chunks(lines)
            .map(|column| column.iter().copied().max().unwrap_or(0))
            .collect();
        let fits = widths.len() == columns && widths.iter().sum::<usize>() <= width;
        fits.then_some(widths)
    });
    fitting.unwrap_or(one)
}

const GAP: usize = 2;
/// The narrowest column.
const NARROWEST: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(width: Option<usize>, names: &[&str]) -> Vec<String> {
        let mut out = Vec::new();
        write(&mut out, width, names).unwrap();
        String::from_utf8(out)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn columns_fill_the_width_from_top_to_bottom() {
        let names = ["alpha", "b", "c", "delta", "e"];
        assert_eq!(lines(None, &names), names);
        assert_eq!(lines(Some(80), &names), ["alpha  b  c  delta  e"]);
        assert_eq!(lines(Some(16), &names), ["alpha  delta", "b      e", "c"]);
        assert_eq!(lines(Some(13), &names), names);
        assert_eq!(lines(Some(3), &names), names);
        assert_eq!(lines(Some(80), &["one"]), ["one"]);
    }

    #[test]
    fn what_is_escaped_is_as_wide_as_it_is_shown() {
        assert_eq!(
            lines(Some(20), &["a\u{1b}", "b", "ö", "d"]),
            ["a\\u001b  b  ö  d"]
        );
    }
}
