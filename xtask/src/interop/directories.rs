//! What is in the directories of members that do not run, as the tools of both sides see it.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::interop::jars::Tool;
use crate::interop::quorum::{Kind, Quorum, kraft};
use crate::interop::{Failure, jvm_log, say};
use crate::torture::log::Log;

impl Quorum<'_> {
    /// Stops all members, the leader last, and compares what they have: the same bytes wherever two logs have the same
    /// offsets, nothing that either side's tools complain about, and no error in the log of a JVM.
    pub(crate) fn stop_and_compare(&mut self) -> Result<(), Failure> {
        let last = self.wait_for_followers()?;
        let leader = last.leader;
        let running: Vec<_> = self.kinds().into_keys().collect();
        // What is not committed may be one thing in one log and another in the next; that this leader goes last leaves little.
        for id in running.iter().copied().filter(|id| *id != leader) {
            self.stop(id)?;
        }
        self.stop(leader)?;
        self.compare_logs(&running, last.high_watermark)?;
        let mut records = 0;
        for id in running.iter().copied() {
            jvm_log::check(&self.member(id).output(Kind::Kafka))?;
            records += self.kafka_dump(id)?.matches("payload").count();
            let data = self.member(id).data();
            kraft(&["verify", &data.to_string_lossy()])?
                .expect_success(&format!("kraft verify of node {id}"))?;
        }
        say(&format!(
            "both dump tools read all {} logs alike ({records} metadata records), kraft verify accepts the directories",
            running.len()
        ));
        Ok(())
    }

    /// Every acknowledged record stands in the log of every member.
    pub(crate) fn find_acknowledged(&self, marks: &[[u8; 16]]) -> Result<(), Failure> {
        if marks.is_empty() {
            return Err("nothing was ever acknowledged".into());
        }
        for member in self.members() {
            let bytes = member.log_bytes()?;
            let found: HashSet<&[u8]> = bytes.windows(marks[0].len()).collect();
            let lost = marks.iter().filter(|mark| !found.contains(&mark[..])).count();
            if lost > 0 {
                let all = marks.len();
                return Err(format!("node {} lacks {lost} of {all} acknowledged records", member.id).into());
            }
        }
        say(&format!("all logs have all {} acknowledged records", marks.len()));
        Ok(())
    }

    /// Compares the logs up to what is committed, which all of them have.
    fn compare_logs(&self, members: &[i32], committed: i64) -> Result<(), Failure> {
        let mut logs = Vec::new();
        for id in members {
            let log = Log::read(&self.member(*id).partition());
            logs.push((*id, log.map_err(|failure| format!("node {id}: {failure}"))?));
        }
        let first = logs.iter().map(|(_, log)| log.start()).max();
        let (first, last) = (first.ok_or("no logs")?, committed - 1);
        let common = |(id, log): &(i32, Log)| -> Result<Vec<u8>, Failure> {
            let bytes = log.between(first, last);
            Ok(bytes.map_err(|failure| format!("node {id}: {failure}"))?.to_vec())
        };
        let all: Vec<_> = logs.iter().map(common).collect::<Result<_, _>>()?;
        for ((id, _), bytes) in logs.iter().zip(&all) {
            if *bytes != all[0] {
                let at = bytes.iter().zip(&all[0]).position(|(one, other)| one != other);
                return Err(format!(
                    "from offset {first} to {last} the logs of node {id} and node {} differ at byte {at:?}",
                    logs[0].0
                )
                .into());
            }
        }
        say(&format!(
            "the logs agree byte for byte from offset {first} to {last} ({} bytes, {} epochs)",
            all[0].len(),
            logs[0].1.epochs()
        ));
        Ok(())
    }

    /// Kafka's dump tool over every segment and checkpoint of a stopped member: it must find nothing wrong, and ours
    /// must print the same lines.
    pub(crate) fn kafka_dump(&self, id: i32) -> Result<String, Failure> {
        let files = files_of(&self.member(id).partition(), ["log", "checkpoint"])?;
        let finished = self.jars().tool(
            Tool::Dump,
            &["--cluster-metadata-decoder", "--files", &files.join(",")],
        )?;
        let what = format!("Kafka's dump of node {id}");
        let printed = finished.expect_success(&what)?;
        for sign in ["isvalid: false", "invalid bytes", "skipping", "Could not"] {
            if let Some(line) = printed.lines().find(|line| line.contains(sign)) {
                return Err(format!("{what} says: {line}").into());
            }
        }
        let arguments: Vec<_> = ["dump", "--records"]
            .into_iter()
            .chain(files.iter().map(String::as_str))
            .collect();
        let ours = kraft(&arguments)?.expect_success("kraft dump")?;
        let different = printed
            .lines()
            .zip(ours.lines())
            .find(|(theirs, ours)| theirs != ours);
        if let Some((theirs, ours)) = different {
            return Err(format!("the dumps of node {id} differ:\nKafka {theirs}\nkraft {ours}").into());
        }
        match (printed.lines().count(), ours.lines().count()) {
            (theirs, ours) if theirs == ours => Ok(printed),
            (theirs, ours) => {
                Err(format!("dumps of node {id}: {theirs} lines by Kafka, {ours} by kraft").into())
            }
        }
    }

    /// The metadata of every segment and checkpoint of a stopped member as a tree: Kafka's classes and `kraft shell` must
    /// show the same.
    pub(crate) fn kafka_trees(&self, id: i32) -> Result<(), Failure> {
        let files = files_of(&self.member(id).partition(), ["log", "checkpoint"])?;
        let theirs = self
            .jars()
            .trees(&files)?
            .expect_success(&format!("Kafka's trees of node {id}"))?;
        let mut ours = String::new();
        for file in &files {
            let tree = kraft(&["shell", file, "tree", "image"])?.expect_success("kraft shell")?;
            ours.push_str(&format!("== {file}\n{tree}"));
        }
        if let Some((theirs, ours)) = theirs
            .lines()
            .zip(ours.lines())
            .find(|(theirs, ours)| theirs != ours)
        {
            return Err(format!("the trees of node {id} differ:\nKafka {theirs}\nkraft {ours}").into());
        }
        let (theirs, ours) = (theirs.lines().count(), ours.lines().count());
        if theirs != ours {
            return Err(format!("trees of node {id}: {theirs} lines by Kafka, {ours} by kraft").into());
        }
        say(&format!(
            "the trees of {} files are those of Kafka's metadata shell ({ours} lines)",
            files.len()
        ));
        Ok(())
    }

    /// Has Kafka's tool check the indexes of a node: their shape, then every entry against the log. Returns how many
    /// files have entries.
    pub(crate) fn kafka_checks_indexes(&self, id: i32) -> Result<usize, Failure> {
        let files = files_of(&self.member(id).partition(), ["index", "timeindex"])?;
        let mut filled = 0;
        for file in &files {
            filled += usize::from(fs::metadata(file)?.len() > 0);
        }
        let list = files.join(",");
        let what = format!("Kafka's check of the indexes of node {id}");
        let shape = self
            .jars()
            .tool(Tool::Dump, &["--index-sanity-check", "--files", &list])?
            .expect_success(&what)?;
        let passed = shape.matches("passed sanity check").count() + shape.matches(" is empty.").count();
        if files.is_empty() || passed != files.len() {
            return Err(format!("{what}: {passed} of {} passed:\n{shape}", files.len()).into());
        }
        let entries = self
            .jars()
            .tool(Tool::Dump, &["--verify-index-only", "--files", &list])?
            .expect_success(&what)?;
        let complaint = |line: &&str| !line.starts_with("Dumping ") && !line.ends_with(" is empty.");
        match entries.lines().find(complaint) {
            Some(line) => Err(format!("{what} says: {line}").into()),
            None => Ok(filled),
        }
    }
}

/// The files of a directory that have one of two extensions.
fn files_of(folder: &Path, extensions: [&str; 2]) -> Result<Vec<String>, Failure> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let extension = path.extension();
        if extension.is_some_and(|extension| extensions.iter().any(|one| extension == *one)) {
            files.push(path.to_string_lossy().into_owned());
        }
    }
    Ok(files)
}
