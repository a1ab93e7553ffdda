//! Both format tools on the same configuration: the same files and the same words, apart from random ids and
//! clocks.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::interop::jars::{Finished, Jars};
use crate::interop::quorum::{Kind, Mode, Quorum, kraft};
use crate::interop::{Failure, say};

pub(crate) fn round(jars: &Jars, folder: &Path) -> Result<(), Failure> {
    let mut compared = 0;
    for (mode, flags) in cases() {
        let case = folder.join(format!("{compared}"));
        let quorum = Quorum::new(jars, &case, mode, 3)?;
        let list = quorum.initial_controllers();
        let flags: Vec<_> = flags
            .iter()
            .map(|flag| if *flag == "LIST" { &list } else { *flag })
            .collect();
        compare(&quorum, &flags).map_err(|failure| format!("format {}: {failure}", flags.join(" ")))?;
        compared += 1;
    }
    say(&format!(
        "{compared} ways to format: the same files, words and exit codes"
    ));
    Ok(())
}

/// Flags that succeed and flags that are refused; LIST stands for the initial controllers.
fn cases() -> Vec<(Mode, Vec<&'static str>)> {
    use Mode::{Dynamic, Static};
    vec![
        (Static, vec![]),
        (Static, vec!["--release-version", "3.9-IV0"]),
        (Dynamic, vec!["--standalone"]),
        (Dynamic, vec!["--no-initial-controllers"]),
        (Dynamic, vec!["--initial-controllers", "LIST"]),
        (
            Dynamic,
            vec![
                "--standalone",
                "--feature",
                "share.version=0",
                "--add-scram",
                "SCRAM-SHA-256=[name=alice,salt=\"MWx2NHBkbnc0ZndxN25vdGN4bTB5eTFrN3E=\",password=secret]",
            ],
        ),
        (Dynamic, vec![]),
        (Static, vec!["--standalone"]),
        (Dynamic, vec!["--standalone", "--release-version", "9.9"]),
        (Dynamic, vec!["--standalone", "--feature", "no.such=1"]),
        (Dynamic, vec!["--standalone", "--feature", "kraft.version=0"]),
    ]
}

fn compare(quorum: &Quorum<'_>, flags: &[&str]) -> Result<(), Failure> {
    let mut seen = Vec::new();
    for kind in [Kind::Kafka, Kind::Kraft] {
        let data = quorum.member(1).data();
        if data.exists() {
            fs::remove_dir_all(&data)?;
        }
        let first = quorum.format_with(kind, &quorum.member(1).config(), flags)?;
        let files = files(&data)?;
        let again = quorum.format_with(kind, &quorum.member(1).config(), flags)?;
        let ignored: Vec<_> = flags.iter().copied().chain(["--ignore-formatted"]).collect();
        let ignored = quorum.format_with(kind, &quorum.member(1).config(), &ignored)?;
        let info = quorum.info_with(kind, &quorum.member(1).config())?;
        seen.push((
            files,
            [
                words(&first),
                words(&again),
                words(&ignored),
                (info.code, lines(&info)),
            ],
        ));
    }
    let [kafka, ours] = seen.as_slice() else {
        return Err("two tools were compared".into());
    };
    if kafka != ours {
        return Err(format!("Kafka:\n{kafka:#?}\nkraft:\n{ours:#?}").into());
    }
    Ok(())
}

/// Exit code and stdout without what Kafka renders for debugging; of a refusal only the code.
fn words(finished: &Finished) -> (i32, Vec<String>) {
    let lines = if finished.code == 0 {
        lines(finished)
    } else {
        Vec::new()
    };
    (finished.code, lines)
}

fn lines(finished: &Finished) -> Vec<String> {
    let lines = finished.stdout.lines();
    let lines = lines.filter(|line| !line.starts_with("Bootstrap metadata:"));
    lines.map(without_clocks).collect()
}

/// Every file with its mode and its content, in which random ids and clocks are replaced by a word.
fn files(data: &Path) -> Result<BTreeMap<String, (u32, String)>, Failure> {
    let mut files = BTreeMap::new();
    let mut folders = vec![data.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if !folder.exists() {
            continue;
        }
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(data)?.to_string_lossy().into_owned();
            let mode = fs::metadata(&path)?.permissions().mode() & 0o777;
            let content = if name.ends_with(".checkpoint") {
                checkpoint(&path)?
            } else {
                properties(&path)?
            };
            files.insert(name, (mode, content));
        }
    }
    Ok(files)
}

/// The key order of a Java properties file depends on the JVM, and its second line is a clock.
fn properties(path: &Path) -> Result<String, Failure> {
    let text = fs::read_to_string(path)?;
    let mut lines: Vec<_> = text
        .lines()
        .enumerate()
        .map(|(at, line)| match line.split_once('=') {
            Some(("directory.id", _)) => "directory.id=RANDOM".to_owned(),
            None if at == 1 && line.starts_with('#') => "#CLOCK".to_owned(),
            _ => line.to_owned(),
        })
        .collect();
    lines.sort();
    Ok(lines.join("\n"))
}

/// Size and every batch and record, without clocks, checksums over them, and ids.
fn checkpoint(path: &Path) -> Result<String, Failure> {
    let name = path.to_string_lossy();
    let dump = kraft(&["dump", "--records", &name])?.expect_success("kraft dump")?;
    let mut lines = vec![format!("{} bytes", fs::metadata(path)?.len())];
    for line in dump.lines().skip(1) {
        lines.push(without_clocks(line));
    }
    Ok(lines.join("\n"))
}

fn without_clocks(line: &str) -> String {
    let mut line = line.to_owned();
    for (start, end) in [
        ("CreateTime: ", " "),
        ("crc: ", " "),
        ("\"lastContainedLogTimestamp\":", "}"),
        ("\"voterDirectoryId\":\"", "\""),
        ("directory.id=", ","),
        ("\"storedKey\":\"", "\""),
        ("\"serverKey\":\"", "\""),
    ] {
        let mut rest = line.as_str();
        let mut replaced = String::new();
        while let Some((before, after)) = rest.split_once(start) {
            replaced.push_str(before);
            replaced.push_str(start);
            replaced.push('*');
            rest = after.find(end).map_or("", |at| &after[at..]);
        }
        replaced.push_str(rest);
        line = replaced;
    }
    line
}
