//! Short texts that are passed on without an allocation.

use alloc::{string::String, sync::Arc};
use core::{cmp::Ordering, fmt, ops::Deref};

/// An immutable text: a host, the name of a listener, the id of a cluster.
///
/// Nearly every message carries one. Up to 24 bytes lie in the value itself, which is enough for a cluster id; longer ones are
/// shared. Either way a copy allocates nothing.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Text(Form);

/// One text has one form, so that forms can be compared.
///
/// It consists of whole words, also where the kind of form is said, because texts are copied all the time: bytes that are
/// written in other pieces than they are read in a moment later make a processor wait.
#[derive(Clone, PartialEq, Eq, Hash)]
#[repr(u32)]
enum Form {
    /// Bytes behind the length are zero.
    Short {
        len: u32,
        bytes: Words,
    },
    Long(Arc<str>),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(align(8))]
struct Words([u8; SHORT_MAX]);

impl Text {
    fn short(text: &str) -> Option<Self> {
        let mut bytes = Words([0; SHORT_MAX]);
        bytes.0.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        let len = u32::try_from(text.len()).ok()?;
        Some(Self(Form::Short { len, bytes }))
    }

    /// The text as a slice.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Form::Short { .. } => core::str::from_utf8(self.as_bytes()).expect("it was copied from a text"),
            Form::Long(text) => text,
        }
    }

    /// The text in UTF-8.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Form::Short { len, bytes } => &bytes.0[..*len as usize],
            Form::Long(text) => text.as_bytes(),
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self(Form::Short {
            len: 0,
            bytes: Words([0; SHORT_MAX]),
        })
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::short(text).unwrap_or_else(|| Self(Form::Long(text.into())))
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::short(&text).unwrap_or_else(|| Self(Form::Long(text.into())))
    }
}

impl From<&Text> for String {
    fn from(text: &Text) -> Self {
        text.as_str().into()
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.as_str().into()
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl PartialEq<String> for Text {
    fn eq(&self, other: &String) -> bool {
        *self == **other
    }
}

/// As texts are ordered everywhere: by their bytes.
impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

const SHORT_MAX: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, vec::Vec};

    #[test]
    fn a_text_is_what_it_was_made_from_at_any_length() {
        for len in [0, 1, 23, 24, 25, 300] {
            let plain: String = "é"
                .chars()
                .chain("abcdefghij".chars().cycle())
                .scan(0, |bytes, c| {
                    *bytes += c.len_utf8();
                    (*bytes <= len).then_some(c)
                })
                .collect();
            let text = Text::from(plain.as_str());
            assert_eq!(text, Text::from(plain.clone()));
            assert_eq!(text, plain);
            assert_eq!(format!("{text} {text:?}"), format!("{plain} {plain:?}"));
            assert_eq!(String::from(text.clone()), plain);
            assert_ne!(text, Text::from(plain + "\0"));
        }
        assert_eq!(Text::default(), "");
    }

    #[test]
    fn texts_are_ordered_by_their_bytes() {
        let plain = ["", "A", "a", "a much longer text than one that fits", "aa", "b"];
        let mut texts: Vec<Text> = plain.iter().rev().map(|text| Text::from(*text)).collect();
        texts.sort();
        assert_eq!(texts, plain);
    }

    #[test]
    fn a_text_consists_of_words_and_its_absence_takes_no_room() {
        assert_eq!(size_of::<Text>(), 8 + SHORT_MAX);
        assert_eq!(size_of::<Option<Text>>(), size_of::<Text>());
    }
}
