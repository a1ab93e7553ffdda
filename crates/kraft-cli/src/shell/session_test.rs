use kraft_metadata::record::{
    ConfigRecord, PartitionRecord, RegisterBrokerRecord, TopicRecord, UserScramCredentialRecord,
};
use kraft_wire::Message;
use kraft_wire::metadata_frame::{MetadataFrame, encode_metadata_record};
use uuid::Uuid;

use super::*;
use crate::shell::words;

fn apply<M: Message>(image: &mut Image, record: &M, version: i16) {
    let value = encode_metadata_record(record, version).unwrap();
    image.apply(&MetadataFrame::parse(&value).unwrap()).unwrap();
}

fn topic(image: &mut Image, number: u128, name: &str, partitions: i32) {
    let topic_id = Uuid::from_u128(number << 64);
    let record = TopicRecord {
        name: name.to_owned(),
        topic_id,
        ..TopicRecord::default()
    };
    apply(image, &record, 0);
    for partition_id in 0..partitions {
        let record = PartitionRecord {
            partition_id,
            topic_id,
            replicas: vec![1],
            isr: vec![1],
            leader: 1,
            ..PartitionRecord::default()
        };
        apply(image, &record, 0);
    }
}

/// Two topics, one with a setting, a broker, and a user who wants to clear the screen.
fn image() -> Image {
    let mut image = Image::empty();
    topic(&mut image, 1, "orders", 2);
    topic(&mut image, 2, "bills", 11);
    let setting = ConfigRecord {
        resource_type: 2,
        resource_name: "bills".to_owned(),
        name: "retention.ms".to_owned(),
        value: Some("1".to_owned()),
        ..ConfigRecord::default()
    };
    apply(&mut image, &setting, 0);
    let broker = RegisterBrokerRecord {
        broker_id: 1,
        rack: Some("a\u{1b}[2J".to_owned()),
        ..RegisterBrokerRecord::default()
    };
    apply(&mut image, &broker, 4);
    let user = UserScramCredentialRecord {
        name: "e\u{1b}[2Jve".to_owned(),
        mechanism: 1,
        ..UserScramCredentialRecord::default()
    };
    apply(&mut image, &user, 0);
    image
}

/// What the lines of a dialogue print.
fn dialogue(image: &Image, width: Option<usize>, lines: &[&str]) -> String {
    let mut out = Vec::new();
    let mut session = Session::new(image, &mut out, None, width);
    for line in lines {
        session.remember(line);
        assert_eq!(
            session.run(&words::split(line).unwrap()).unwrap(),
            Then::Next,
            "{line}"
        );
    }
    String::from_utf8(out).unwrap()
}

/// Records of every type with bytes that are almost right leave an image that can be walked in.
#[test]
fn no_record_makes_the_tree_panic() {
    let examples = include_str!("../../../kraft-metadata/tests/vectors/records-carried.jsonl");
    let others = include_str!("../../../kraft-metadata/tests/vectors/records.jsonl");
    let values: Vec<Vec<u8>> = examples
        .lines()
        .chain(others.lines())
        .map(|line| {
            let example: serde_json::Value = serde_json::from_str(line).unwrap();
            let hex = example["hex"].as_str().unwrap();
            let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            (0..hex.len()).step_by(2).map(byte).collect()
        })
        .collect();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap()
    };
    let mut applied = 0;
    for _ in 0..40 {
        let mut image = Image::empty();
        for _ in 0..400 {
            let mut value = values[draw(values.len())].clone();
            for _ in 0..draw(3) {
                let at = 3.min(value.len() - 1) + draw(value.len().saturating_sub(3).max(1));
                value[at] = [0, 1, 0x7f, 0x80, 0xff, draw(256) as u8][draw(6)];
            }
            if let Ok(frame) = MetadataFrame::parse(&value.into()) {
                applied += usize::from(image.apply(&frame).is_ok());
            }
        }
        let tree = dialogue(
            &image,
            Some(80),
            &["tree /", "find /", "ls /*/*/*", "cat /image/*/*/*"],
        );
        assert!(tree.starts_with("image:\n"));
    }
    assert!(applied > 4_000, "{applied}");
}

#[test]
fn ls_lists_leaves_first_and_directories_under_their_names() {
    let image = image();
    assert_eq!(dialogue(&image, None, &["ls"]), "image\nlocal\n");
    assert_eq!(
        dialogue(&image, None, &["ls image/topics/byName"]),
        "bills\norders\n"
    );
    assert_eq!(
        dialogue(&image, None, &["ls image/topics/byName/orders/id"]),
        "id\n"
    );
    let both = dialogue(&image, None, &["ls image/topics image/provenance local"]);
    assert_eq!(
        both,
        "provenance\n\ntopics:\nbyId\nbyName\n\nlocal:\ncommitId\nversion\n"
    );
    let empty = dialogue(&image, None, &["ls image/delegationToken local image/acls/byId"]);
    assert_eq!(empty, "\nlocal:\ncommitId\nversion\n");
    let numbers = dialogue(&image, Some(60), &["ls image/topics/byName/bills"]);
    assert_eq!(numbers, "0  1  10  2  3  4  5  6  7  8  9  id  name\n");
}

#[test]
fn cd_goes_to_directories_and_nowhere_else() {
    let image = image();
    let lines = [
        "cd image/topics",
        "pwd",
        "cd ../cluster/./brokers",
        "pwd",
        "cd ../../../../..",
        "pwd",
        "cd image/provenance",
        "cd nowhere",
        "pwd",
        "cd /image/{topics,acls}",
        "pwd",
        "cd ..",
        "cd",
        "pwd",
    ];
    let expected = "/image/topics\n/image/cluster/brokers\n/\n\
                    cd: image/provenance: not a directory; cat shows what is in it\n\
                    cd: nowhere: no such place\n/\n/image/topics\n/\n";
    assert_eq!(dialogue(&image, None, &lines), expected);
}

#[test]
fn cat_shows_leaves_and_not_directories() {
    let image = image();
    let setting = ["cd image/configs", "cat TOPIC:bills/*"];
    assert_eq!(dialogue(&image, None, &setting), "1\n");
    let names = ["cat image/topics/byName/*/name"];
    assert_eq!(dialogue(&image, None, &names), "bills\norders\n");
    let wrong = ["cat image", "cat image/nope", "cat local/* image/t*", "cat"];
    let expected = "cat: image: a directory; tree shows what is in it\n\
                    cat: image/nope: no such place\n\
                    unknown\nVERSION\n\
                    cat: /image/topics: a directory; tree shows what is in it\n\
                    cat: an argument is missing; usage: cat PATH…\n";
    let expected = expected.replace("VERSION", env!("CARGO_PKG_VERSION"));
    assert_eq!(dialogue(&image, None, &wrong), expected);
}

#[test]
fn find_lists_paths_as_they_were_begun() {
    let image = image();
    let below = "image/features\nimage/features/metadataVersion\n";
    assert_eq!(dialogue(&image, None, &["find image/features"]), below);
    let absolute = "/local\n/local/commitId\n/local/version\n";
    assert_eq!(dialogue(&image, None, &["find /local"]), absolute);
    assert_eq!(dialogue(&image, None, &["find /l*"]), absolute);
    assert_eq!(
        dialogue(&image, None, &["cd local", "find"]),
        ".\n./commitId\n./version\n"
    );
    assert!(dialogue(&image, None, &["find /"]).starts_with("/\n/image\n/image/acls\n/image/acls/byId\n"));
}

#[test]
fn tree_shows_names_and_what_is_below() {
    let image = image();
    let tree = dialogue(
        &image,
        None,
        &["tree image/configs image/producerIds/nextProducerId"],
    );
    assert_eq!(tree, "TOPIC:bills:\n  retention.ms:\n    1\n-1\n");
}

#[test]
fn names_and_texts_cannot_steer_the_terminal() {
    let image = image();
    let lines = [
        "ls image/scram/SCRAM-SHA-256",
        "tree /",
        "find /",
        "cat image/cluster/brokers/1",
        "cd image/scram/*/e*",
        "cat e\u{1b}ve",
        "e\u{7}",
        "history",
    ];
    let shown = dialogue(&image, None, &lines);
    assert!(shown.contains("e\\u001b[2Jve"), "{shown}");
    assert!(shown.contains("rack=Optional[a\\u001b[2J]"), "{shown}");
    let raw = shown
        .chars()
        .find(|character| character.is_control() && *character != '\n');
    assert_eq!(raw, None);
}

#[test]
fn history_keeps_the_last_lines() {
    let image = Image::empty();
    assert_eq!(
        dialogue(&image, None, &["pwd", "history"]),
        "/\n    0  pwd\n    1  history\n"
    );
    assert_eq!(
        dialogue(&image, None, &["pwd", "pwd", "history 2"]),
        "/\n/\n    1  pwd\n    2  history 2\n"
    );
    let mut lines = vec!["cd"; HISTORY_MAX];
    lines.push("history 1000");
    let shown = dialogue(&image, None, &lines);
    assert_eq!(shown.lines().count(), HISTORY_MAX);
    assert!(
        shown.starts_with("    1  cd\n") && shown.ends_with("  500  history 1000\n"),
        "{shown}"
    );
    assert_eq!(
        dialogue(&image, None, &["history -1"]),
        "history: not a number of lines\n"
    );
}

#[test]
fn help_and_man_name_every_command() {
    let image = Image::empty();
    let help = dialogue(&image, None, &["help"]);
    for name in commands::names(false).split(", ") {
        assert!(
            help.contains(&format!("\n  {name} ")) || help.starts_with(&format!("  {name} ")),
            "{name}"
        );
        let manual = dialogue(&image, None, &[&format!("man {name}")]);
        assert!(manual.starts_with(&format!("{name}: ")), "{manual}");
        let usage = manual.lines().next_back().unwrap();
        assert!(usage.starts_with(&format!("usage: {name}")), "{manual}");
        assert_eq!(usage.trim_end(), usage);
    }
    for name in ["exit", "quit", "help", "pwd"] {
        let told = dialogue(&image, None, &[&format!("{name} now")]);
        assert_eq!(told, format!("{name}: too many arguments; usage: {name}\n"));
    }
    let unknown = dialogue(&image, None, &["man dance", "dance"]);
    assert!(unknown.starts_with(
        "man: dance: no such command; help lists them\ndance: no such command; there are cat, "
    ));
}

#[test]
fn a_dialogue_ends_with_exit_or_quit() {
    let image = Image::empty();
    let mut out = Vec::new();
    let mut session = Session::new(&image, &mut out, None, None);
    for line in ["exit", "quit"] {
        assert_eq!(session.run(&[line.to_owned()]).unwrap(), Then::Exit);
    }
    assert_eq!(session.run(&[]).unwrap(), Then::Next);
}
