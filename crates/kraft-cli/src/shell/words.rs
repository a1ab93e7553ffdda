//! A line as words.

use thiserror::Error;

/// Why a line is no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a {quote} has no end")]
pub(super) struct OpenQuote {
    quote: char,
}

/// Splits a line at its blanks. Quotes keep blanks together, and so does a backslash before one; before anything else but
/// a quote it stays, because it has a meaning in paths.
pub(super) fn split(line: &str) -> Result<Vec<String>, OpenQuote> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            blank if blank.is_whitespace() => words.extend(word.take()),
            '"' | '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some(end) if end == character => break,
                        Some(other) => word.push(other),
                        None => return Err(OpenQuote { quote: character }),
                    }
                }
            }
            '\\' => {
                let word = word.get_or_insert_default();
                let special = |next: &char| next.is_whitespace() || matches!(next, '"' | '\'');
                match characters.next_if(special) {
                    Some(next) => word.push(next),
                    None => {
                        word.push('\\');
                        word.extend(characters.next_if(|next| *next == '\\'));
                    }
                }
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_at_blanks_outside_of_quotes() {
        let rows: [(&str, &[&str]); 8] = [
            ("", &[]),
            ("  ls \t a  ", &["ls", "a"]),
            ("cat 'a b' \"c'd\"", &["cat", "a b", "c'd"]),
            ("cat a\\ b", &["cat", "a b"]),
            ("cat a\\*b\\\\*", &["cat", "a\\*b\\\\*"]),
            ("cat ''", &["cat", ""]),
            ("cat pre'fix'ed", &["cat", "prefixed"]),
            ("cat \\", &["cat", "\\"]),
        ];
        for (line, expected) in rows {
            assert_eq!(split(line).unwrap(), expected, "{line}");
        }
        assert_eq!(split("cat 'a").unwrap_err().to_string(), "a ' has no end");
    }
}
