//! `kraft decode` over every frame that was recorded from Apache Kafka 4.4.0: what it shows, what it writes again, and
//! what it says of frames that are wrong on purpose.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use serde_json::Value;

/// A line of the recordings whose question is a frame.
struct Exchange {
    id: String,
    api: i64,
    version: i64,
    request: String,
    response: Option<String>,
    decoded: Value,
}

#[test]
fn every_answer_comes_back_unchanged_and_says_what_kafka_said() {
    let mut by_request: BTreeMap<(i64, i64), Vec<Exchange>> = BTreeMap::new();
    for exchange in exchanges() {
        if exchange.response.is_some() {
            let key = (exchange.api, exchange.version);
            by_request.entry(key).or_default().push(exchange);
        }
    }
    let (mut answers, mut compared) = (0, 0);
    for ((api, version), group) in by_request {
        let frames: Vec<_> = group
            .iter()
            .filter_map(|exchange| exchange.response.as_deref())
            .collect();
        let of = format!("--response={api}:{version}");
        assert_eq!(
            lines(&kraft(&[&of, "--reencode", "-"], &frames), 0),
            frames,
            "{of}"
        );
        for (exchange, line) in group.iter().zip(lines(&kraft(&[&of, "-"], &frames), 0)) {
            let shown: Value = serde_json::from_str(&line).expect("a line of JSON");
            answers += 1;
            if exchange.decoded.is_object() {
                compared += 1;
                assert_same(&shown["body"], &exchange.decoded, &exchange.id);
            }
        }
    }
    assert_eq!((answers, compared), (1101, 946));
}

#[test]
fn every_question_comes_back_or_is_refused_for_what_is_wrong_with_it() {
    let exchanges = exchanges();
    let frames: Vec<_> = exchanges
        .iter()
        .map(|exchange| exchange.request.as_str())
        .collect();
    let again = lines(&kraft(&["--reencode", "-"], &frames), 1);
    let shown = lines(&kraft(&["-"], &frames), 1);
    assert_eq!((again.len(), shown.len()), (frames.len(), frames.len()));
    let (mut different, mut refused) = (Vec::new(), String::new());
    for ((exchange, again), shown) in exchanges.iter().zip(&again).zip(&shown) {
        let shown: Value = serde_json::from_str(shown).expect("a line of JSON");
        if let Some(error) = shown.get("error") {
            let (reason, position) = (error["reason"].as_str().expect("a reason"), &error["position"]);
            refused += &format!("{} {reason} {position}\n", exchange.id);
        } else if *again != exchange.request {
            different.push(exchange.id.as_str());
        }
    }
    assert_eq!(different, NOT_CANONICAL);
    let expected = fs::read_to_string(vectors("refused.txt")).expect("vectors");
    assert_eq!(refused, expected);
}

/// Questions that Kafka answers although no encoder writes them so: text that is not UTF-8 (it is replaced), an odd
/// null, a tag at its default or of the wrong size, an odd truth.
const NOT_CANONICAL: &[&str] = &[
    "api-versions-050",
    "api-versions-051",
    "fetch-170",
    "fetch-171",
    "framing-103",
    "framing-113",
];

#[test]
fn a_wrong_frame_does_not_stop_the_ones_behind_it() {
    let good = "001200000000000700016b";
    let output = kraft(&[good, "zz", "0034", good], &[]);
    let shown = lines(&output, 1);
    assert_eq!(shown[0], shown[3]);
    let expected = r#"{"api":"ApiVersions","version":0,"header":{"requestApiKey":18,"requestApiVersion":0,"correlationId":7,"clientId":"k"},"body":{}}"#;
    assert_eq!(shown[0], expected);
    let expected = r#"{"error":{"message":"character 0 is not a hex digit","position":0,"reason":"NotHex"}}"#;
    assert_eq!(shown[1], expected);
    let expected = r#"{"error":{"message":"2 bytes needed, 0 left","position":2,"reason":"UnexpectedEnd"}}"#;
    assert_eq!(shown[2], expected);
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert_eq!(
        stderr,
        "kraft: 2 of 4 frames are wrong, shown above with reason and position\n"
    );
}

#[test]
fn wrong_usage_is_told_from_wrong_frames() {
    assert_eq!(kraft(&[], &[]).status.code(), Some(2));
    assert_eq!(
        kraft(&["--response", "Nothing:1", "00"], &[]).status.code(),
        Some(2)
    );
}

/// All frames of the recordings that are frames: the raw streams have lengths between them.
fn exchanges() -> Vec<Exchange> {
    let mut exchanges = Vec::new();
    for folder in ["captured", "interrogated"] {
        let mut files: Vec<_> = fs::read_dir(vectors(folder))
            .expect("vectors")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        files.sort();
        for file in files {
            for line in fs::read_to_string(file).expect("readable").lines() {
                let line: Value = serde_json::from_str(line).expect("JSON");
                if line["raw_stream"] == true {
                    continue;
                }
                let text = |name: &str| line[name].as_str().map(str::to_owned);
                let request = text("request").unwrap_or_else(|| long_request(&line));
                exchanges.push(Exchange {
                    id: text("id").expect("an id"),
                    api: line["api"].as_i64().expect("an api"),
                    version: line["version"].as_i64().expect("a version"),
                    request,
                    response: text("response"),
                    decoded: line["decoded_response"].clone(),
                });
            }
        }
    }
    exchanges
}

/// Of a long question the head was kept, its length, and the byte that fills it.
fn long_request(line: &Value) -> String {
    let text = |name: &str| line[name].as_str().expect("hex").to_owned();
    let (mut request, fill) = (text("request_head"), text("request_fill"));
    let length = line["request_length"].as_u64().expect("a length") as usize;
    while request.len() < 2 * length {
        request += &fill;
    }
    request
}

fn vectors(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../kraft-wire/tests/vectors")
        .join(name)
}

#[test]
fn the_example_of_the_help_is_a_frame() {
    let help = lines(&kraft(&["--help"], &[]), 0);
    let example = help
        .iter()
        .find_map(|line| line.trim().strip_prefix("kraft decode 0"));
    let frame = format!("0{}", example.expect("an example with a frame"));
    assert_eq!(lines(&kraft(&["--reencode", &frame], &[]), 0), [frame]);
}

fn kraft(arguments: &[&str], input: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kraft"))
        .arg("decode")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    let text = input.join("\n");
    // It answers while it is still being asked.
    let writer = thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("no panic").ok();
    output
}

fn lines(output: &Output, code: i32) -> Vec<String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    let stdout = String::from_utf8(output.stdout.clone()).expect("text");
    stdout.lines().map(str::to_owned).collect()
}

/// The recording has the schema's names, whose first letter is large, byte strings and records as hex, and instead of
/// the list of APIs sometimes only its name.
fn assert_same(shown: &Value, recorded: &Value, place: &str) {
    match (shown, recorded) {
        (Value::Object(shown), Value::Object(recorded)) => {
            assert_eq!(shown.len(), recorded.len(), "{place}");
            for (name, recorded) in recorded {
                let small = name[..1].to_lowercase() + &name[1..];
                let place = format!("{place} {small}");
                let shown = shown.get(&small).unwrap_or_else(|| panic!("{place} is missing"));
                match small.as_str() {
                    "records" | "unalignedRecords" => assert_same_records(shown, recorded, &place),
                    "apiKeys" if recorded.is_string() => assert_eq!(shown.as_array().map(Vec::len), Some(42)),
                    _ => assert_same(shown, recorded, &place),
                }
            }
        }
        (Value::Array(shown), Value::Array(recorded)) => {
            assert_eq!(shown.len(), recorded.len(), "{place}");
            for (shown, recorded) in shown.iter().zip(recorded) {
                assert_same(shown, recorded, place);
            }
        }
        _ => assert_eq!(shown, recorded, "{place}"),
    }
}

/// Every byte of the records is shown: in a batch or as the rest of one that is cut off.
fn assert_same_records(shown: &Value, recorded: &Value, place: &str) {
    let Some(recorded) = recorded.as_str() else {
        return assert_eq!(shown, recorded, "{place}");
    };
    let mut position = 0;
    for shown in shown.as_array().expect("an array") {
        let Some(size) = shown["size"].as_u64() else {
            assert_eq!(shown["position"], position as u64, "{place}");
            position = recorded.len() / 2;
            continue;
        };
        let base = &recorded[2 * position..][..16];
        let base = i64::from_str_radix(base, 16).expect("hex");
        assert_eq!(shown["baseOffset"], base, "{place}");
        assert_eq!(shown["isvalid"], true, "{place}");
        assert_eq!(shown.get("problem"), None, "{place}");
        let count = shown["records"].as_array().map(Vec::len).expect("records");
        assert_eq!(shown["count"], count, "{place}");
        position += usize::try_from(size).expect("a size");
    }
    assert_eq!(2 * position, recorded.len(), "{place}");
}
