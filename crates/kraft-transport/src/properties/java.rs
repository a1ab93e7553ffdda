//! The syntax of Java's properties files.

use super::error::ConfigError;
use std::collections::BTreeMap;

/// Keys and values of a properties file, as text. Where a key stands twice, the later one counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Properties {
    entries: BTreeMap<String, String>,
}

/// An escape that Java cannot read either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: \\u has to be followed by four hexadecimal digits that form a character")]
pub struct SyntaxError {
    /// The number of the line that the entry begins on, counted from 1.
    pub line: usize,
}

impl Properties {
    /// Reads a file's bytes. Java reads them as ISO 8859-1; other characters are written as `\uXXXX`.
    ///
    /// # Errors
    /// A `\u` escape is malformed. Everything else is some entry.
    pub fn parse(bytes: &[u8]) -> Result<Self, SyntaxError> {
        let mut properties = Self::default();
        for (line, text) in logical_lines(bytes) {
            let (key, value) = split_entry(&text);
            let unescape = |raw| unescape(raw).ok_or(SyntaxError { line });
            properties.entries.insert(unescape(key)?, unescape(value)?);
        }
        Ok(properties)
    }

    /// Adds a `KEY=VALUE` of the command line; it replaces what the file says.
    ///
    /// # Errors
    /// There is no `=` or no key.
    pub fn apply_override(&mut self, argument: &str) -> Result<(), ConfigError> {
        match argument.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                self.insert(key.trim(), value);
                Ok(())
            }
            _ => Err(ConfigError::Override {
                argument: argument.to_owned(),
            }),
        }
    }

    /// Sets a key.
    pub fn insert(&mut self, key: &str, value: &str) {
        self.entries.insert(key.to_owned(), value.to_owned());
    }

    /// The value of a key as it stands in the file.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(String::as_str)
    }

    /// All entries, ordered by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

/// Joins continued lines and leaves out blank ones and comments; each with the number of its first line.
///
/// A comment cannot be continued, and a blank line ends an entry that was to be continued.
fn logical_lines(bytes: &[u8]) -> Vec<(usize, Vec<char>)> {
    let mut lines = Vec::new();
    let mut joined: Vec<char> = Vec::new();
    let mut first = 0;
    let mut continued = false;
    for (index, natural) in natural_lines(bytes).enumerate() {
        let text = natural.trim_start_matches(is_blank);
        if joined.is_empty() {
            if text.is_empty() || text.starts_with(['#', '!']) {
                continued = false;
                continue;
            }
            first = index + 1;
        }
        let backslashes = text.len() - text.trim_end_matches('\\').len();
        continued = backslashes % 2 == 1;
        joined.extend(
            text.strip_suffix('\\')
                .filter(|_| continued)
                .unwrap_or(text)
                .chars(),
        );
        if !continued && !joined.is_empty() {
            lines.push((first, std::mem::take(&mut joined)));
        }
    }
    if continued && !joined.is_empty() {
        lines.push((first, joined));
    }
    lines
}

/// The lines of the file, ended by `\n`, `\r` or both, decoded from ISO 8859-1.
fn natural_lines(bytes: &[u8]) -> impl Iterator<Item = String> + '_ {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'))
            .unwrap_or(rest.len());
        let line = rest[..end].iter().map(|&byte| char::from(byte)).collect();
        let terminator = if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = rest.get(end + terminator..).unwrap_or_default();
        Some(line)
    })
}

/// Splits at the first `=`, `:` or blank that is not escaped. Blanks around the separator belong to neither side.
fn split_entry(line: &[char]) -> (&[char], &[char]) {
    let mut escaped = false;
    let key_end = line
        .iter()
        .position(|&c| {
            let ends = !escaped && (matches!(c, '=' | ':') || is_blank(c));
            escaped = c == '\\' && !escaped;
            ends
        })
        .unwrap_or(line.len());
    let (key, rest) = line.split_at(key_end);
    let rest = skip_blanks(rest);
    match rest.first() {
        Some('=' | ':') => (key, skip_blanks(&rest[1..])),
        _ => (key, rest),
    }
}

fn skip_blanks(text: &[char]) -> &[char] {
    let start = text.iter().position(|&c| !is_blank(c)).unwrap_or(text.len());
    &text[start..]
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\x0c')
}

/// Resolves escapes; `None` for a `\u` that names no character.
fn unescape(raw: &[char]) -> Option<String> {
    // Java's characters are UTF-16 units, so a pair of escapes may form one character.
    let mut units: Vec<u16> = Vec::with_capacity(raw.len());
    let mut chars = raw.iter().copied();
    while let Some(c) = chars.next() {
        let unit = if c != '\\' {
            latin1_unit(c)
        } else {
            match chars.next() {
                Some('u') => {
                    let mut unit = 0;
                    for _ in 0..4 {
                        unit = unit << 4 | chars.next()?.to_digit(16)?;
                    }
                    u16::try_from(unit).expect("four hexadecimal digits fit into 16 bits")
                }
                Some('t') => u16::from(b'\t'),
                Some('n') => u16::from(b'\n'),
                Some('r') => u16::from(b'\r'),
                Some('f') => 0x0c,
                Some(other) => latin1_unit(other),
                None => continue,
            }
        };
        units.push(unit);
    }
    String::from_utf16(&units).ok()
}

fn latin1_unit(c: char) -> u16 {
    u16::try_from(u32::from(c)).expect("characters of the file come from single bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<(String, String)> {
        Properties::parse(text.as_bytes())
            .unwrap()
            .iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn entries_are_read_as_java_reads_them() {
        type Pairs = &'static [(&'static str, &'static str)];
        let cases: &[(&str, &str, Pairs)] = &[
            ("an equals sign", "a=b", &[("a", "b")]),
            ("a colon", "a:b", &[("a", "b")]),
            ("a blank", "a b", &[("a", "b")]),
            ("blanks around the separator", " a \t=\x0c b ", &[("a", "b ")]),
            ("only the first separator counts", "a==b", &[("a", "=b")]),
            (
                "a colon in the value",
                "listeners=C://:9093",
                &[("listeners", "C://:9093")],
            ),
            ("no value", "a", &[("a", "")]),
            ("no key", "=b", &[("", "b")]),
            ("comments and blank lines", "# x\n ! y\n\n \na=b", &[("a", "b")]),
            ("a comment is not continued", "# x\\\na=b", &[("a", "b")]),
            (
                "all line ends",
                "a=1\r\nb=2\rc=3\n",
                &[("a", "1"), ("b", "2"), ("c", "3")],
            ),
            ("the later entry counts", "a=1\na=2", &[("a", "2")]),
            (
                "a continued line loses its indent",
                "a=1,\\\n   2",
                &[("a", "1,2")],
            ),
            (
                "a sharp sign inside a continued line is text",
                "a=1\\\n#2",
                &[("a", "1#2")],
            ),
            (
                "a blank line ends a continued one",
                "a=1\\\n\nb=2",
                &[("a", "1"), ("b", "2")],
            ),
            (
                "two backslashes do not continue",
                "a=1\\\\\nb=2",
                &[("a", "1\\"), ("b", "2")],
            ),
            ("a backslash at the end of the file", "a=1\\", &[("a", "1")]),
            ("a lone backslash", "\\\na=b", &[("a", "b")]),
            ("escaped separators", "a\\=\\:\\ b=c", &[("a=: b", "c")]),
            ("control escapes", "a=\\t\\n\\r\\f\\q", &[("a", "\t\n\r\x0cq")]),
            ("unicode escapes", "a=\\u00e4\\uD83D\\uDE00", &[("a", "ä😀")]),
        ];
        for (name, text, expected) in cases {
            let expected: Vec<_> = expected
                .iter()
                .map(|&(key, value)| (key.to_owned(), value.to_owned()))
                .collect();
            assert_eq!(entries(text), expected, "{name}");
        }
    }

    #[test]
    fn bytes_are_latin1() {
        let properties = Properties::parse(b"a=\xe4").unwrap();
        assert_eq!(properties.get("a"), Some("ä"));
    }

    #[test]
    fn malformed_escapes_name_their_line() {
        for text in ["x=1\na=\\u12", "x=1\na=\\uzzzz", "x=1\na=\\ud800"] {
            assert_eq!(
                Properties::parse(text.as_bytes()),
                Err(SyntaxError { line: 2 }),
                "{text}"
            );
        }
    }

    #[test]
    fn overrides_replace_and_may_hold_equals_signs() {
        let mut properties = Properties::parse(b"a=1").unwrap();
        properties.apply_override("a=x=y").unwrap();
        assert_eq!(properties.get("a"), Some("x=y"));
        for argument in ["a", "=b", ""] {
            assert!(properties.apply_override(argument).is_err(), "{argument}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = Properties::parse(&bytes);
        }
    }
}
