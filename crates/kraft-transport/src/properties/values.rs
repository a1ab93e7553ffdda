//! Values by key: types, defaults and ranges.

use super::{error::ConfigError, java::Properties};
use std::{ops::RangeInclusive, time::Duration};

/// Typed access to the properties. Every value is trimmed before it is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values<'a>(pub(super) &'a Properties);

impl<'a> Values<'a> {
    /// The trimmed text of a key that is set.
    pub(super) fn text(self, key: &str) -> Option<&'a str> {
        self.0.get(key).map(str::trim)
    }

    /// As [`text`](Self::text); an empty value counts as not set.
    pub(super) fn non_empty(self, key: &str) -> Option<&'a str> {
        self.text(key).filter(|text| !text.is_empty())
    }

    /// A whole number in a range.
    pub(super) fn integer(
        self,
        key: &str,
        default: i64,
        range: RangeInclusive<i64>,
    ) -> Result<i64, ConfigError> {
        match self.text(key) {
            None => Ok(default),
            Some(text) => parse_integer(key, text, range),
        }
    }

    /// A 32-bit number of at least `min`.
    pub(super) fn int(self, key: &str, default: i32, min: i32) -> Result<i32, ConfigError> {
        let value = self.integer(key, i64::from(default), i64::from(min)..=i64::from(i32::MAX))?;
        Ok(i32::try_from(value).expect("the range ends at the largest 32-bit number"))
    }

    /// A number of milliseconds that fits into 32 bits, 0 included.
    pub(super) fn int_millis(self, key: &str, default: i32) -> Result<Duration, ConfigError> {
        let millis = self.int(key, default, 0)?;
        Ok(Duration::from_millis(u64::from(millis.unsigned_abs())))
    }

    /// A number of milliseconds of at least `min`.
    pub(super) fn long_millis(self, key: &str, default: i64, min: i64) -> Result<Duration, ConfigError> {
        assert!(min >= 0, "a duration has no sign");
        let millis = self.integer(key, default, min..=i64::MAX)?;
        Ok(Duration::from_millis(millis.unsigned_abs()))
    }

    /// `true` or `false` in any case.
    pub(super) fn boolean(self, key: &str, default: bool) -> Result<bool, ConfigError> {
        match self.text(key) {
            None => Ok(default),
            Some(text) => parse_boolean(key, text),
        }
    }

    /// Entries between commas, without blanks around them. Empty entries and duplicates are refused.
    pub(super) fn list(self, key: &str) -> Result<Vec<&'a str>, ConfigError> {
        let text = self.text(key).unwrap_or_default();
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let entries: Vec<&str> = text.split(',').map(str::trim).collect();
        for (index, entry) in entries.iter().enumerate() {
            if entry.is_empty() || entries[..index].contains(entry) {
                return Err(wrong(
                    key,
                    text,
                    "a list without empty and without repeated entries",
                ));
            }
        }
        Ok(entries)
    }

    /// As [`list`](Self::list), where at least one entry is wanted if the key is set.
    pub(super) fn list_if_set(self, key: &str) -> Result<Option<Vec<&'a str>>, ConfigError> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        let entries = self.list(key)?;
        if entries.is_empty() {
            return Err(wrong(key, text, "a list with at least one entry"));
        }
        Ok(Some(entries))
    }
}

pub(super) fn parse_integer(key: &str, text: &str, range: RangeInclusive<i64>) -> Result<i64, ConfigError> {
    text.parse()
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let (min, max) = (range.start(), range.end());
            wrong(key, text, format!("a whole number from {min} to {max}"))
        })
}

pub(super) fn parse_boolean(key: &str, text: &str) -> Result<bool, ConfigError> {
    if text.eq_ignore_ascii_case("true") {
        Ok(true)
    } else if text.eq_ignore_ascii_case("false") {
        Ok(false)
    } else {
        Err(wrong(key, text, "true or false"))
    }
}

pub(super) fn wrong(key: &str, value: &str, allowed: impl Into<String>) -> ConfigError {
    ConfigError::Value {
        key: key.to_owned(),
        value: value.to_owned(),
        allowed: allowed.into(),
    }
}
