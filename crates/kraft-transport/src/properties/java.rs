//! A properties file of Java's, with what the command line says on top.

use super::error::ConfigError;
use kraft_log::java_properties::{self, PropertiesError};
use std::collections::BTreeMap;

/// Keys and values of a properties file, as text. Where a key stands twice, the later one counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Properties {
    entries: BTreeMap<String, String>,
}

impl Properties {
    /// Reads a file's bytes. Java reads them as ISO 8859-1; other characters are written as `\uXXXX`.
    ///
    /// # Errors
    /// A `\u` escape is malformed. Everything else is some entry.
    pub fn parse(bytes: &[u8]) -> Result<Self, PropertiesError> {
        let entries = java_properties::parse(bytes)?;
        let entries = entries
            .into_iter()
            .map(|property| (property.key, property.value))
            .collect();
        Ok(Self { entries })
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
        for text in ["x=1\na=\\u12", "x=1\na=\\uzzzz"] {
            assert_eq!(
                Properties::parse(text.as_bytes()),
                Err(PropertiesError::MalformedEscape { line: 2 }),
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
