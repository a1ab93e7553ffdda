//! One command of a scenario: a word and its arguments.

use super::names;
use kraft_core::{Epoch, NodeId, ReplicaKey, SnapshotId};
use std::{cell::RefCell, collections::BTreeSet, str::FromStr};

/// A command that means nothing, or that could not be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct CommandError {
    reason: String,
}

impl CommandError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

/// A word, flags and `name=value` arguments. Brackets hold an argument together.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) name: String,
    words: Vec<String>,
    used: RefCell<BTreeSet<usize>>,
}

impl Command {
    pub(crate) fn parse(line: &str) -> Result<Self, CommandError> {
        let mut words = split_outside_brackets(line, ' ').into_iter();
        let name = words
            .next()
            .ok_or_else(|| CommandError::new("an empty command"))?;
        Ok(Self {
            name,
            words: words.collect(),
            used: RefCell::default(),
        })
    }

    /// The value of an argument.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let found = self.words.iter().enumerate().find_map(|(index, word)| {
            let value = word.strip_prefix(name)?.strip_prefix('=')?;
            Some((index, value))
        });
        found.map(|(index, value)| {
            self.used.borrow_mut().insert(index);
            value
        })
    }

    /// Whether a word stands alone among the arguments.
    pub(crate) fn flag(&self, name: &str) -> bool {
        let found = self.words.iter().position(|word| word == name);
        found.is_some_and(|index| self.used.borrow_mut().insert(index))
    }

    /// The first word that stands alone and has not been used.
    pub(crate) fn word(&self) -> Result<&str, CommandError> {
        let mut used = self.used.borrow_mut();
        let found = self
            .words
            .iter()
            .enumerate()
            .find(|(index, word)| !used.contains(index) && !word.contains('='));
        let (index, word) =
            found.ok_or_else(|| CommandError::new(format!("`{}` needs one word more", self.name)))?;
        used.insert(index);
        Ok(word)
    }

    /// A number, or another value that reads itself.
    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, CommandError> {
        self.text(name)
            .map(|text| text.parse().map_err(|_| bad(name, text)))
            .transpose()
    }

    pub(crate) fn epoch(&self, name: &str) -> Result<Option<Epoch>, CommandError> {
        Ok(self.number(name)?.map(Epoch))
    }

    pub(crate) fn node(&self, name: &str) -> Result<Option<NodeId>, CommandError> {
        self.text(name).map(names::node).transpose()
    }

    pub(crate) fn key(&self, name: &str) -> Result<Option<ReplicaKey>, CommandError> {
        self.text(name).map(names::key).transpose()
    }

    pub(crate) fn keys(&self, name: &str) -> Result<Option<Vec<ReplicaKey>>, CommandError> {
        self.text(name).map(key_list).transpose()
    }

    /// An end offset and an epoch, as in `10-3`.
    pub(crate) fn pair(&self, name: &str) -> Result<Option<SnapshotId>, CommandError> {
        self.text(name)
            .map(|text| pair(text).ok_or_else(|| bad(name, text)))
            .transpose()
    }

    /// An argument that has to be there.
    pub(crate) fn need<T>(&self, name: &str, value: Option<T>) -> Result<T, CommandError> {
        value.ok_or_else(|| CommandError::new(format!("`{}` needs `{name}=`", self.name)))
    }

    /// Refuses arguments that nothing has asked for.
    pub(crate) fn finish(&self) -> Result<(), CommandError> {
        let used = self.used.borrow();
        let unused = self
            .words
            .iter()
            .enumerate()
            .find(|(index, _)| !used.contains(index));
        unused.map_or(Ok(()), |(_, word)| {
            Err(CommandError::new(format!(
                "`{}` does not know `{word}`",
                self.name
            )))
        })
    }
}

pub(crate) fn key_list(text: &str) -> Result<Vec<ReplicaKey>, CommandError> {
    if text == "nobody" {
        return Ok(Vec::new());
    }
    text.split(',').map(names::key).collect()
}

/// `10-3`: end offset 10, epoch 3. Either half may be negative.
pub(crate) fn pair(text: &str) -> Option<SnapshotId> {
    let at = text.get(1..)?.find('-')? + 1;
    Some(SnapshotId {
        end_offset: text[..at].parse().ok()?,
        epoch: Epoch(text[at + 1..].parse().ok()?),
    })
}

pub(crate) fn bad(name: &str, text: &str) -> CommandError {
    CommandError::new(format!("`{name}={text}` cannot be read"))
}

pub(crate) fn split_outside_brackets(text: &str, separator: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0_usize;
    for character in text.chars() {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if character == separator && depth == 0 {
            parts.push(String::new());
        } else {
            parts
                .last_mut()
                .expect("there is always a last part")
                .push(character);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_found_and_leftovers_refused() {
        let command = Command::parse("vote from=B@b epoch=3 pre records=[a b]").expect("a command");
        assert_eq!(command.name, "vote");
        assert_eq!(command.epoch("epoch"), Ok(Some(Epoch(3))));
        assert!(command.flag("pre"));
        assert!(!command.flag("post"));
        assert_eq!(command.text("records"), Some("[a b]"));
        assert!(command.finish().is_err(), "`from` has not been asked for");
        assert!(command.key("from").is_ok());
        assert_eq!(command.finish(), Ok(()));
    }

    #[test]
    fn pairs_may_be_negative() {
        assert_eq!(pair("10-3").map(|id| (id.end_offset, id.epoch.0)), Some((10, 3)));
        assert_eq!(
            pair("-1--1").map(|id| (id.end_offset, id.epoch.0)),
            Some((-1, -1))
        );
        assert_eq!(pair("10"), None);
    }
}
