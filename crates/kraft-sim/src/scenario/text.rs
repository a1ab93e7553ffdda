//! The form of a scenario file: a title, prose, and blocks of commands with the output expected of them.

use std::fmt::Write as _;

/// A scenario as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// The id, for example `ELECT-001`.
    pub id: String,
    /// What is shown, in one line.
    pub title: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Prose(Vec<String>),
    Block(Block),
}

/// Commands and the output that is expected of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The line on which the block begins, counted from 1.
    pub line: usize,
    /// One command a line.
    pub commands: Vec<String>,
    /// What they print, all together.
    pub expected: Vec<String>,
}

/// A file that is not a scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the first line has to be an id and a title, as in `ELECT-001 A title`")]
pub struct NoTitle;

const SEPARATOR: &str = "----";

impl Scenario {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first line is no id with a title.
    pub fn parse(text: &str) -> Result<Self, NoTitle> {
        let mut paragraphs = paragraphs(text).into_iter();
        let (_, mut first) = paragraphs.next().ok_or(NoTitle)?;
        let title_line = first.remove(0);
        let (id, title) = title_line.split_once(' ').ok_or(NoTitle)?;
        let mut parts = Vec::new();
        if !first.is_empty() {
            parts.push(Part::Prose(first));
        }
        for (line, lines) in paragraphs {
            match lines.iter().position(|text| text == SEPARATOR) {
                None => parts.push(Part::Prose(lines)),
                Some(at) => parts.push(Part::Block(Block {
                    line,
                    commands: lines[..at].to_vec(),
                    expected: lines[at + 1..].to_vec(),
                })),
            }
        }
        Ok(Self {
            id: id.to_owned(),
            title: title.to_owned(),
            parts,
        })
    }

    /// The blocks, in order.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.parts.iter().filter_map(|part| match part {
            Part::Block(block) => Some(block),
            Part::Prose(_) => None,
        })
    }

    /// The text of the same scenario with other output, one entry for each block.
    #[must_use]
    pub fn with_outputs(&self, outputs: &[Vec<String>]) -> String {
        let mut text = format!("{} {}\n", self.id, self.title);
        let mut outputs = outputs.iter();
        for (index, part) in self.parts.iter().enumerate() {
            let prose_under_title = index == 0 && matches!(part, Part::Prose(_));
            if !prose_under_title {
                text.push('\n');
            }
            match part {
                Part::Prose(lines) => push_lines(&mut text, lines),
                Part::Block(block) => {
                    push_lines(&mut text, &block.commands);
                    push_lines(&mut text, &[SEPARATOR.to_owned()]);
                    push_lines(&mut text, outputs.next().unwrap_or(&block.expected));
                }
            }
        }
        text
    }
}

/// The paragraphs of a text, each with the number of its first line.
fn paragraphs(text: &str) -> Vec<(usize, Vec<String>)> {
    let mut paragraphs: Vec<(usize, Vec<String>)> = Vec::new();
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if line.is_empty() {
            inside = false;
        } else if inside {
            let (_, lines) = paragraphs.last_mut().expect("a paragraph has begun");
            lines.push(line.to_owned());
        } else {
            paragraphs.push((index + 1, vec![line.to_owned()]));
            inside = true;
        }
    }
    paragraphs
}

fn push_lines(text: &mut String, lines: &[String]) {
    for line in lines {
        writeln!(text, "{line}").expect("writing to a string cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "X-001 A title\nWhat is shown.\n\none a=1\ntwo\n----\nfirst\nsecond\n\nAn aside.\n\nthree\n----\nthird\n";

    #[test]
    fn a_scenario_reads_and_writes_back() {
        let scenario = Scenario::parse(TEXT).expect("a scenario");
        assert_eq!(
            (scenario.id.as_str(), scenario.title.as_str()),
            ("X-001", "A title")
        );
        let blocks: Vec<_> = scenario.blocks().collect();
        assert_eq!(blocks.len(), 2);
        assert_eq!(
            (blocks[0].line, blocks[0].commands.len(), blocks[0].expected.len()),
            (4, 2, 2)
        );
        let outputs: Vec<_> = blocks.iter().map(|block| block.expected.clone()).collect();
        assert_eq!(scenario.with_outputs(&outputs), TEXT);
    }

    #[test]
    fn rewriting_changes_output_only() {
        let scenario = Scenario::parse(TEXT).expect("a scenario");
        let text = scenario.with_outputs(&[vec!["new".into()], vec!["third".into()]]);
        assert_eq!(text, TEXT.replace("first\nsecond", "new"));
    }

    #[test]
    fn a_file_without_title_is_refused() {
        assert_eq!(Scenario::parse("\n\n"), Err(NoTitle));
    }
}
