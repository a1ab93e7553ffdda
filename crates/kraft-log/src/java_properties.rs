//! The text format of Java's `Properties`, which `meta.properties` and `server.properties` are written in.

use std::fmt::Write as _;

use thiserror::Error;

/// A text that Java refuses too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PropertiesError {
    /// `\u` without four hexadecimal digits behind it.
    #[error("line {line}: \\u without four hexadecimal digits")]
    MalformedEscape {
        /// The line on which the entry begins, counted from 1.
        line: usize,
    },
}

/// One key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// The key.
    pub key: String,
    /// The value, empty where there is none.
    pub value: String,
    /// The line on which it begins, counted from 1.
    pub line: usize,
}

/// Reads properties in the order of the text; where a key comes twice, Java keeps the later one.
///
/// Bytes are characters of ISO 8859-1, as `Properties.load(InputStream)` takes them.
///
/// # Errors
/// A malformed `\u` escape, the only thing that is not a properties text.
pub fn parse(bytes: &[u8]) -> Result<Vec<Property>, PropertiesError> {
    let mut properties = Vec::new();
    let mut lines = NaturalLines { rest: bytes, line: 0 };
    while let Some((line, text)) = lines.next_logical() {
        let malformed = PropertiesError::MalformedEscape { line };
        let (key, value) = split(&text);
        properties.push(Property {
            key: unescape(key).ok_or(malformed)?,
            value: unescape(value).ok_or(malformed)?,
            line,
        });
    }
    Ok(properties)
}

/// The value of a key: the last one, as Java keeps it.
#[must_use]
pub fn value_of<'a>(properties: &'a [Property], key: &str) -> Option<&'a str> {
    let property = properties.iter().rev().find(|property| property.key == key)?;
    Some(&property.value)
}

/// Appends one line `key=value`, escaped as Java escapes it. Characters outside printable ASCII are written as
/// `\uXXXX`, so that a reader of ISO 8859-1 gets back what was written.
pub fn write_entry(text: &mut String, key: &str, value: &str) {
    escape(text, key, true);
    text.push('=');
    escape(text, value, false);
    text.push('\n');
}

fn escape(text: &mut String, part: &str, is_key: bool) {
    for (index, character) in part.chars().enumerate() {
        match character {
            ' ' if is_key || index == 0 => text.push_str("\\ "),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\u{c}' => text.push_str("\\f"),
            '\\' | '=' | ':' | '#' | '!' => {
                text.push('\\');
                text.push(character);
            }
            ' '..='~' => text.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(text, "\\u{unit:04X}").expect("writing to a string never fails");
                }
            }
        }
    }
}

struct NaturalLines<'a> {
    rest: &'a [u8],
    line: usize,
}

impl<'a> NaturalLines<'a> {
    fn next_natural(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self
            .rest
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'))
            .unwrap_or(self.rest.len());
        let (line, behind) = self.rest.split_at(end);
        self.rest = match behind {
            [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
            [] => behind,
        };
        self.line += 1;
        Some(line)
    }

    /// The next line that is neither blank nor a comment, with the lines that it goes on in joined to it.
    fn next_logical(&mut self) -> Option<(usize, Vec<u8>)> {
        let mut text = Vec::new();
        let mut first_line = 0;
        while let Some(natural) = self.next_natural() {
            let natural = skip_blanks(natural);
            if text.is_empty() {
                if matches!(natural, [] | [b'#' | b'!', ..]) {
                    continue;
                }
                first_line = self.line;
            }
            text.extend_from_slice(natural);
            let backslashes = natural.iter().rev().take_while(|byte| **byte == b'\\').count();
            if backslashes % 2 == 0 {
                break;
            }
            text.pop();
        }
        (!text.is_empty()).then_some((first_line, text))
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\x0c')
}

fn skip_blanks(line: &[u8]) -> &[u8] {
    let blanks = line.iter().take_while(|byte| is_blank(**byte)).count();
    &line[blanks..]
}

/// Cuts an entry at the first unescaped blank, `=` or `:`; blanks around one `=` or `:` belong to the cut.
fn split(entry: &[u8]) -> (&[u8], &[u8]) {
    let mut escaped = false;
    let end = entry.iter().position(|byte| {
        let ends = !escaped && (is_blank(*byte) || matches!(byte, b'=' | b':'));
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    let (key, rest) = entry.split_at(end.unwrap_or(entry.len()));
    let value = match skip_blanks(rest) {
        [b'=' | b':', value @ ..] => skip_blanks(value),
        value => value,
    };
    (key, value)
}

fn unescape(part: &[u8]) -> Option<String> {
    let mut units: Vec<u16> = Vec::with_capacity(part.len());
    let mut bytes = part.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            units.push(u16::from(byte));
            continue;
        }
        match bytes.next() {
            Some(b't') => units.push(0x09),
            Some(b'n') => units.push(0x0a),
            Some(b'f') => units.push(0x0c),
            Some(b'r') => units.push(0x0d),
            Some(b'u') => {
                let mut unit = 0;
                for _ in 0..4 {
                    let digit = char::from(bytes.next()?).to_digit(16)?;
                    unit = unit << 4 | u16::try_from(digit).expect("a hexadecimal digit has four bits");
                }
                units.push(unit);
            }
            Some(other) => units.push(u16::from(other)),
            None => {}
        }
    }
    Some(String::from_utf16_lossy(&units))
}
