//! What a command finds as JSON: an object on a line for each place.

use std::io::{self, Write};

use serde_json::Value;

use super::commands::Command;
use super::image::Image;
use super::node::Node;
use super::place::{Place, visit};
use super::session::or_here;
use crate::printable::printable;

/// Carries out a command without a dialogue; returns what is wrong, a line each.
pub(super) fn run(
    image: &Image,
    out: &mut dyn Write,
    command: Command,
    paths: &[String],
) -> io::Result<Vec<String>> {
    let mut wrong = Vec::new();
    for path in or_here(paths) {
        let found = visit(image, &[], &path, &mut |place| {
            show(out, command, &place, &mut wrong)
        })?;
        if !found {
            wrong.push(format!("{path}: no such place"));
        }
    }
    Ok(wrong)
}

fn show(out: &mut dyn Write, command: Command, place: &Place<'_>, wrong: &mut Vec<String>) -> io::Result<()> {
    let path = format!("/{}", place.path.join("/"));
    match (command, place.node.text()) {
        (Command::Find, _) => return find(out, &path, &place.node),
        (Command::Cat, None) => {
            wrong.push(format!("{path}: a directory; tree shows what is in it"));
            return Ok(());
        }
        _ => {}
    }
    write!(out, "{{\"path\":{}", quoted(&path))?;
    match (command, place.node.text()) {
        (Command::Tree, _) => {
            write!(out, ",\"tree\":")?;
            tree(out, &place.node)?;
        }
        (Command::Ls, None) => {
            write!(out, ",\"names\":[")?;
            for (index, name) in place.node.names().iter().enumerate() {
                write!(out, "{}{}", comma(index), quoted(name))?;
            }
            write!(out, "]")?;
        }
        (Command::Cat, Some(text)) => write!(out, ",\"text\":{}", quoted(&text))?,
        _ => {}
    }
    writeln!(out, "}}")
}

fn find(out: &mut dyn Write, path: &str, node: &Node<'_>) -> io::Result<()> {
    writeln!(out, "{{\"path\":{}}}", quoted(path))?;
    let above = path.trim_end_matches('/');
    for name in node.names() {
        if let Some(child) = node.child(&name) {
            find(out, &format!("{above}/{name}"), &child)?;
        }
    }
    Ok(())
}

/// A leaf is its text, a directory an object. It may be large, and is written as it is walked through.
fn tree(out: &mut dyn Write, node: &Node<'_>) -> io::Result<()> {
    if let Some(text) = node.text() {
        return write!(out, "{}", quoted(&text));
    }
    write!(out, "{{")?;
    let mut index = 0;
    for name in node.names() {
        if let Some(child) = node.child(&name) {
            write!(out, "{}{}:", comma(index), quoted(&name))?;
            tree(out, &child)?;
            index += 1;
        }
    }
    write!(out, "}}")
}

fn comma(index: usize) -> &'static str {
    if index == 0 { "" } else { "," }
}

/// A text in JSON. What still steers a terminal then is escaped in the form that JSON has for it.
fn quoted(text: &str) -> String {
    printable(&Value::from(text).to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(command: Command, paths: &[&str]) -> (Vec<Value>, Vec<String>) {
        let paths: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
        let mut out = Vec::new();
        let wrong = run(&Image::empty(), &mut out, command, &paths).unwrap();
        let text = String::from_utf8(out).unwrap();
        (
            text.lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
            wrong,
        )
    }

    #[test]
    fn every_place_is_an_object_on_a_line() {
        let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let (found, wrong) = lines(Command::Ls, &["image/topics", "image/provenance", "nope"]);
        let expected = [
            r#"{"path":"/image/topics","names":["byId","byName"]}"#,
            r#"{"path":"/image/provenance"}"#,
        ];
        assert_eq!(found, expected.map(json));
        assert_eq!(wrong, ["nope: no such place"]);

        let (found, wrong) = lines(Command::Cat, &["image/{producerIds,features}/*", "image/acls"]);
        let expected = [
            r#"{"path":"/image/features/metadataVersion","text":"Optional.empty"}"#,
            r#"{"path":"/image/producerIds/nextProducerId","text":"-1"}"#,
        ];
        assert_eq!(found, expected.map(json));
        assert_eq!(wrong, ["/image/acls: a directory; tree shows what is in it"]);

        let (found, wrong) = lines(Command::Find, &["image/acls"]);
        let expected = [r#"{"path":"/image/acls"}"#, r#"{"path":"/image/acls/byId"}"#];
        assert_eq!((found, wrong), (expected.map(json).to_vec(), Vec::new()));

        let (found, _) = lines(
            Command::Tree,
            &["image/scram", "image/producerIds/nextProducerId", "/"],
        );
        assert_eq!(
            found[0],
            json(r#"{"path":"/image/scram","tree":{"SCRAM-SHA-256":{},"SCRAM-SHA-512":{}}}"#)
        );
        assert_eq!(
            found[1],
            json(r#"{"path":"/image/producerIds/nextProducerId","tree":"-1"}"#)
        );
        assert_eq!(found[2]["tree"]["image"]["topics"]["byName"], json("{}"));
    }

    #[test]
    fn texts_keep_their_characters_and_steer_nothing() {
        let text = "a\u{1b}[2J\u{9b}\"\\\n\u{202e}ü\u{7f}";
        let shown = quoted(text);
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        assert!(
            !shown.chars().any(char::is_control) && !shown.contains('\u{202e}'),
            "{shown}"
        );
    }
}
