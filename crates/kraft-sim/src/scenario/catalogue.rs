//! Which scenarios there are, and which entries of the reference still wait.

use super::{field_reports, text::Scenario};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

/// A theme of the reference's behaviour tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// The prefix of its ids.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// How many entries it has, numbered from 1.
    pub entries: u32,
    /// Entries about the reference's own plumbing, which have no counterpart here: number and what they speak of.
    foreign: &'static [(u32, &'static str)],
}

impl Theme {
    const fn new(name: &'static str, about: &'static str, entries: u32) -> Self {
        Self {
            name,
            about,
            entries,
            foreign: &[],
        }
    }

    const fn foreign(mut self, foreign: &'static [(u32, &'static str)]) -> Self {
        self.foreign = foreign;
        self
    }

    /// The ids of the theme.
    pub fn ids(&self) -> impl Iterator<Item = String> + '_ {
        (1..=self.entries).map(|number| format!("{}-{number:03}", self.name))
    }

    /// Why an entry has no scenario.
    fn absence(&self, number: u32) -> String {
        let mut foreign = self.foreign.iter();
        match foreign.find(|(listed, _)| *listed == number) {
            Some((_, plumbing)) => format!("is Java's own: {plumbing}"),
            None => "waits for its turn".to_owned(),
        }
    }
}

/// The themes of the reference.
pub const THEMES: &[Theme] = &[
    Theme::new("ELECT", "Elections and votes", 30),
    Theme::new("PREVOTE", "Pre-vote", 21),
    Theme::new("BEGIN", "BeginQuorumEpoch", 8),
    Theme::new("END", "EndQuorumEpoch", 5),
    Theme::new("RESIGN", "Resignation", 5),
    Theme::new("HWM", "High watermark", 14),
    Theme::new("CHECKQUORUM", "Check quorum", 6),
    Theme::new("DIVERGE", "Divergence, truncation, offset validation", 9),
    Theme::new("FETCH", "Fetch", 12),
    Theme::new("DISCOVERY", "Leader discovery and bootstrap servers", 9),
    Theme::new("RESTART", "Restart and persistence", 14),
    Theme::new("BOOTSTRAP", "First start, bootstrap snapshot, configuration", 14),
    Theme::new(
        "RECONFIG",
        "Add, remove and update voters, auto-join, kraft.version",
        39,
    ),
    Theme::new("VOTERSET", "Voter sets and their history", 24),
    Theme::new("OBSERVER", "Observers", 4),
    Theme::new("DESCRIBE", "DescribeQuorum", 3),
    Theme::new("CLUSTERAUTH", "Cluster id checks and cluster authorisation", 6),
    Theme::new("SHUTDOWN", "Shutdown", 4),
    Theme::new("SNAPSHOT", "Snapshot files, FetchSnapshot, createSnapshot", 31)
        .foreign(&[(26, "a writer that lives on after the freeze")]),
    Theme::new("QSTATE", "Transitions between roles and what is stored", 63),
    Theme::new("APPEND", "Append and batching", 18).foreign(&[(
        13,
        "the lock between those who append and the one who drains, where here one thread does both",
    )]),
    Theme::new("LISTENER", "Listener callbacks and readers", 14),
    Theme::new("LOG", "Metadata log and record reading", 34).foreign(&[(
        14,
        "a place in a file that travels with the high watermark, where here a read looks it up",
    )]),
    Theme::new("WIRE", "Message shapes by version", 13),
    Theme::new(
        "SIM",
        "Whole quorums: scenarios and invariants of the simulation",
        20,
    ),
    Theme::new("METRICS", "Metrics", 8).foreign(&[(
        5,
        "a number that nothing sets but this test of it, and that is 0 here too",
    )]),
    Theme::new("CONN", "Connections, request manager, network channel, queue", 10).foreign(&[
        (
            6,
            "a network thread that sleeps until it is woken, where here every peer has a task of its own",
        ),
        (
            10,
            "the queue between its threads, with wake-ups and null messages",
        ),
    ]),
];

/// Themes of our own: behaviour that the reference does not have, or not so.
pub const OWN_THEMES: &[Theme] = &[
    Theme::new(
        "HANDOVER",
        "A leader that is shut down waits for its successor",
        11,
    ),
    Theme::new("REFUSAL", "What a peer says is not believed", 9),
    Theme::new("RIVAL", "Voters that ask for pre-votes at the same time", 11),
    Theme::new(
        "READ",
        "Reads behind a barrier, which the reference does not have",
        4,
    ),
    Theme::new(
        "CLOCK",
        "Timers that start anew when somebody else is waited for",
        2,
    ),
    Theme::new("REMOVAL", "Who has the removal of a voter first", 5),
    Theme::new(
        "WAITING",
        "What observers wait for: the commit of what is appended, and their own disks",
        5,
    ),
];

/// The scenario files of a source tree by id, in order: everything under `crates/*/scenarios`.
///
/// # Errors
/// A folder cannot be read, or two files have the same id.
pub fn find(root: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root.join("crates"))? {
        let folder = entry?.path().join("scenarios");
        if folder.is_dir() {
            collect(&folder, &mut found)?;
        }
    }
    Ok(found)
}

fn collect(folder: &Path, found: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            let id = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if let Some(other) = found.insert(id, path.clone()) {
                let text = format!("{} and {} have the same id", other.display(), path.display());
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
            }
        }
    }
    Ok(())
}

/// An entry that a Rust test shows, because it speaks of something that no event of a replica reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTest {
    /// What is shown: the name of the test in words.
    pub title: String,
    /// The file that it is in.
    pub path: PathBuf,
}

/// The Rust tests of a source tree that carry an id: `fn restart_009_…` shows RESTART-009.
///
/// # Errors
/// A folder or file cannot be read.
pub fn named_tests(root: &Path) -> io::Result<BTreeMap<String, NamedTest>> {
    let mut found = BTreeMap::new();
    for_each_source(root, &mut |path, text| {
        for (id, title) in text.lines().filter_map(named_test) {
            let path = path.to_owned();
            found.entry(id).or_insert(NamedTest { title, path });
        }
    })?;
    Ok(found)
}

/// Hands over every Rust file of the crates of a source tree, with its text.
pub(super) fn for_each_source(root: &Path, visit: &mut impl FnMut(&Path, &str)) -> io::Result<()> {
    for entry in fs::read_dir(root.join("crates"))? {
        let package = entry?.path();
        for folder in ["src", "tests"].map(|name| package.join(name)) {
            if folder.is_dir() {
                for_each_source_in(&folder, visit)?;
            }
        }
    }
    Ok(())
}

fn for_each_source_in(folder: &Path, visit: &mut impl FnMut(&Path, &str)) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            for_each_source_in(&path, visit)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            visit(&path, &fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// Id and title of a line such as `fn restart_009_an_unknown_data_version_is_refused() {`.
fn named_test(line: &str) -> Option<(String, String)> {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    let (name, _) = line.strip_prefix("fn ")?.split_once('(')?;
    let mut parts = name.splitn(3, '_');
    let (theme, number, title) = (parts.next()?, parts.next()?, parts.next()?);
    let theme = theme.to_ascii_uppercase();
    let is_number = number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit());
    let known = THEMES.iter().chain(OWN_THEMES).any(|known| known.name == theme);
    let mut title = title.replace('_', " ");
    title.get_mut(..1)?.make_ascii_uppercase();
    (is_number && known).then(|| (format!("{theme}-{number}"), title))
}

/// The text of `docs/scenarios.md`.
///
/// # Errors
/// A scenario file cannot be read.
pub fn report(root: &Path) -> io::Result<String> {
    let found = find(root)?;
    let tests = named_tests(root)?;
    let mut text = String::from(HEAD);
    let (mut shown, mut all) = (0, 0);
    for theme in THEMES {
        let is_shown = |id: &String| found.contains_key(id) || tests.contains_key(id);
        let present = theme.ids().filter(is_shown).count();
        shown += present;
        all += theme.entries as usize;
        line(
            &mut text,
            format_args!(
                "| {} | {} | {} | {present} |",
                theme.name, theme.about, theme.entries
            ),
        );
    }
    line(&mut text, format_args!("| **all** | | {all} | {shown} |"));
    line(&mut text, format_args!("\nBeside them, of our own:\n"));
    for theme in OWN_THEMES {
        line(&mut text, format_args!("- {}: {}", theme.name, theme.about));
    }
    for theme in THEMES.iter().chain(OWN_THEMES) {
        line(&mut text, format_args!("\n## {}: {}\n", theme.name, theme.about));
        for (number, id) in (1..).zip(theme.ids()) {
            let place = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
            match (found.get(&id), tests.get(&id)) {
                (Some(path), test) => {
                    let also = test.map_or(String::new(), |NamedTest { path, .. }| {
                        format!(", and a [Rust test](../{})", place(path))
                    });
                    let (title, link) = (title(path)?, place(path));
                    line(&mut text, format_args!("- [{id}](../{link}) {title}{also}"));
                }
                (None, Some(NamedTest { title, path })) => {
                    let link = place(path);
                    line(
                        &mut text,
                        format_args!("- [{id}](../{link}) {title} (a Rust test)"),
                    );
                }
                (None, None) => {
                    line(&mut text, format_args!("- {id} {}", theme.absence(number)));
                }
            }
        }
    }
    text += &field_reports::section(root)?;
    Ok(text)
}

fn title(path: &Path) -> io::Result<String> {
    let scenario = Scenario::parse(&fs::read_to_string(path)?).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
    })?;
    Ok(scenario.title)
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    writeln!(text, "{arguments}").expect("writing to a string cannot fail");
}

const HEAD: &str = "\
# Scenarios

Behaviour that Apache Kafka's own raft tests check, shown as text scenarios: inputs and time in, every effect out. The
files lie beside the crate that they speak of; how to read them is said in the documentation of `kraft_sim::scenario`.
`cargo test -p kraft-sim --test scenarios` runs all of them, `… --test scenarios -- ELECT` those of one theme, and
`KRAFT_SCENARIO_REWRITE=1` in front of it writes what was seen into the files. Where an entry speaks of something that no
event of a replica reaches, a Rust test named by its id shows it. This page is what `cargo xtask scenarios` prints; a test
compares them.

| theme | about | entries | shown |
| --- | --- | --- | --- |
";

#[cfg(test)]
mod tests {
    use super::named_test;

    #[test]
    fn tests_with_an_id_in_their_name_are_found() {
        assert_eq!(
            named_test("    fn restart_009_an_unknown_version_is_refused() {"),
            Some((
                "RESTART-009".to_owned(),
                "An unknown version is refused".to_owned()
            ))
        );
        for line in [
            "fn restart_9_short() {",
            "fn other_009_theme() {",
            "fn restart_009() {",
            "let x = 1;",
        ] {
            assert_eq!(named_test(line), None, "{line}");
        }
    }
}
