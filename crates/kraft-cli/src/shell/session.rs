//! Commands carried out on an image.

use std::collections::VecDeque;
use std::io::{self, Write};

use super::columns;
use super::commands::{self, Command};
use super::image::Image;
use super::node::Node;
use super::place::{Place, shown, visit};
use crate::printable::printable;

/// Where one stands, and to whom one speaks.
pub(super) struct Session<'a> {
    image: &'a Image,
    out: &'a mut dyn Write,
    /// Whom to tell what is wrong; without it, who reads what is asked for also reads what is wrong.
    complaints: Option<&'a mut dyn Write>,
    /// How wide the names of `ls` may be side by side.
    width: Option<usize>,
    /// Where one stands, as names.
    at: Vec<String>,
    history: VecDeque<String>,
    /// How many lines were entered before the first of `history`.
    forgotten: usize,
    complained: bool,
}

/// How a dialogue goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Next,
    Exit,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        image: &'a Image,
        out: &'a mut dyn Write,
        complaints: Option<&'a mut dyn Write>,
        width: Option<usize>,
    ) -> Self {
        Self {
            image,
            out,
            complaints,
            width,
            at: Vec::new(),
            history: VecDeque::new(),
            forgotten: 0,
            complained: false,
        }
    }

    /// Whether anything was wrong so far.
    pub(super) fn complained(&self) -> bool {
        self.complained
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes something as it is.
    pub(super) fn say(&mut self, what: &str) -> io::Result<()> {
        write!(self.out, "{what}")
    }

    /// Says what is wrong.
    pub(super) fn complain(&mut self, what: &str) -> io::Result<()> {
        self.complained = true;
        let what = printable(what);
        match &mut self.complaints {
            Some(complaints) => writeln!(complaints, "kraft: {what}"),
            None => writeln!(self.out, "{what}"),
        }
    }

    /// Keeps a line that was entered.
    pub(super) fn remember(&mut self, line: &str) {
        if self.history.len() == HISTORY_MAX {
            self.history.pop_front();
            self.forgotten += 1;
        }
        self.history.push_back(line.to_owned());
    }

    /// Carries out a command.
    pub(super) fn run(&mut self, words: &[String]) -> io::Result<Then> {
        let Some((name, arguments)) = words.split_first() else {
            return Ok(Then::Next);
        };
        let Some(command) = Command::named(name) else {
            let known = commands::names(false);
            self.complain(&format!("{name}: no such command; there are {known}"))?;
            return Ok(Then::Next);
        };
        if let Some(wrong) = commands::wrong_count(name, arguments.len()) {
            self.complain(&format!("{name}: {wrong}"))?;
            return Ok(Then::Next);
        }
        match command {
            Command::Cat => self.cat(arguments)?,
            Command::Cd => self.cd(arguments.first().map_or("/", String::as_str))?,
            Command::Exit => return Ok(Then::Exit),
            Command::Find => self.find(arguments)?,
            Command::Help => commands::write_help(self.out)?,
            Command::History => self.history(arguments.first())?,
            Command::Ls => self.ls(arguments)?,
            Command::Man => self.manual(&arguments[0])?,
            Command::Pwd => writeln!(self.out, "{}", shown(&self.at))?,
            Command::Tree => self.tree(arguments)?,
        }
        Ok(Then::Next)
    }

    fn cat(&mut self, paths: &[String]) -> io::Result<()> {
        for path in paths {
            let found = self.each(path, &mut |session, place| match place.node.text() {
                Some(text) => writeln!(session.out, "{}", printable(&text)),
                None => {
                    let path = named(path, &place);
                    session.complain(&format!("cat: {path}: a directory; tree shows what is in it"))
                }
            })?;
            self.must_be_found("cat", path, found)?;
        }
        Ok(())
    }

    fn cd(&mut self, path: &str) -> io::Result<()> {
        let found = self.each(path, &mut |session, place| {
            if place.node.is_directory() {
                session.at = place.path;
                return Ok(());
            }
            let path = named(path, &place);
            session.complain(&format!("cd: {path}: not a directory; cat shows what is in it"))
        })?;
        self.must_be_found("cd", path, found)
    }

    fn find(&mut self, paths: &[String]) -> io::Result<()> {
        for path in or_here(paths) {
            let mut matches = Vec::new();
            let found = self.each(&path, &mut |_, place| {
                matches.push(place);
                Ok(())
            })?;
            self.must_be_found("find", &path, found)?;
            // A path without wildcards is repeated as it was given, as in Kafka.
            let given = (matches.len() == 1 && !has_wildcard(&path)).then_some(path);
            for place in matches {
                let path = given
                    .clone()
                    .unwrap_or_else(|| format!("/{}", place.path.join("/")));
                self.find_below(path, &place.node)?;
            }
        }
        Ok(())
    }

    fn find_below(&mut self, path: String, node: &Node<'a>) -> io::Result<()> {
        writeln!(self.out, "{}", printable(&path))?;
        for name in node.names() {
            if let Some(child) = node.child(&name) {
                let separator = if path == "/" { "" } else { "/" };
                self.find_below(format!("{path}{separator}{name}"), &child)?;
            }
        }
        Ok(())
    }

    fn ls(&mut self, paths: &[String]) -> io::Result<()> {
        let (mut leaves, mut directories) = (Vec::new(), Vec::new());
        for path in or_here(paths) {
            let found = self.each(&path, &mut |_, place| {
                if place.node.is_directory() {
                    directories.push(place);
                } else {
                    leaves.push(place.name().to_owned());
                }
                Ok(())
            })?;
            self.must_be_found("ls", &path, found)?;
        }
        if !leaves.is_empty() {
            columns::write(self.out, self.width, &leaves)?;
        }
        let with_heading = !leaves.is_empty() || directories.len() > 1;
        let mut first = leaves.is_empty();
        for place in directories {
            let names = place.node.names();
            if with_heading && !std::mem::replace(&mut first, false) && !names.is_empty() {
                writeln!(self.out)?;
            }
            if names.is_empty() {
                continue;
            }
            if with_heading {
                writeln!(self.out, "{}:", printable(place.name()))?;
            }
            columns::write(self.out, self.width, &names)?;
        }
        Ok(())
    }

    fn tree(&mut self, paths: &[String]) -> io::Result<()> {
        for path in or_here(paths) {
            let found = self.each(&path, &mut |session, place| session.tree_below(0, &place.node))?;
            self.must_be_found("tree", &path, found)?;
        }
        Ok(())
    }

    fn tree_below(&mut self, depth: usize, node: &Node<'a>) -> io::Result<()> {
        let blanks = 2 * depth;
        if let Some(text) = node.text() {
            return writeln!(self.out, "{:blanks$}{}", "", printable(&text));
        }
        for name in node.names() {
            writeln!(self.out, "{:blanks$}{}:", "", printable(&name))?;
            if let Some(child) = node.child(&name) {
                self.tree_below(depth + 1, &child)?;
            }
        }
        Ok(())
    }

    fn manual(&mut self, name: &str) -> io::Result<()> {
        if commands::write_manual(name, self.out)? {
            return Ok(());
        }
        self.complain(&format!("man: {name}: no such command; help lists them"))
    }

    fn history(&mut self, count: Option<&String>) -> io::Result<()> {
        let count = match count.map(|count| count.parse::<usize>()) {
            None => usize::MAX,
            Some(Ok(count)) => count,
            Some(Err(_)) => return self.complain("history: not a number of lines"),
        };
        let skipped = self.history.len().saturating_sub(count);
        for (index, line) in self.history.iter().enumerate().skip(skipped) {
            writeln!(self.out, "{:5}  {}", self.forgotten + index, printable(line))?;
        }
        Ok(())
    }

    fn each(
        &mut self,
        path: &str,
        each: &mut dyn FnMut(&mut Self, Place<'a>) -> io::Result<()>,
    ) -> io::Result<bool> {
        let from = self.at.clone();
        visit(self.image, &from, path, &mut |place| each(self, place))
    }

    fn must_be_found(&mut self, command: &str, path: &str, found: bool) -> io::Result<()> {
        if found {
            return Ok(());
        }
        self.complain(&format!("{command}: {path}: no such place"))
    }
}

/// The paths that are not empty, or the place where one stands.
pub(super) fn or_here(paths: &[String]) -> Vec<String> {
    let given: Vec<_> = paths.iter().filter(|path| !path.is_empty()).cloned().collect();
    if given.is_empty() {
        vec![".".to_owned()]
    } else {
        given
    }
}

/// The path that was given, or what a pattern has found.
fn named(path: &str, place: &Place<'_>) -> String {
    if has_wildcard(path) {
        shown(&place.path)
    } else {
        path.to_owned()
    }
}

fn has_wildcard(path: &str) -> bool {
    path.contains(['*', '?', '{', '\\'])
}

/// How many lines are kept.
const HISTORY_MAX: usize = 500;

#[cfg(test)]
#[path = "session_test.rs"]
mod tests;
