//! Questions that were put to controllers of Apache Kafka 4.4.0, put to running nodes in the same state: the outcome
//! is the same, and so are the bytes, but for what `docs/differences.md` names.
//!
//! The files are those of `kraft-wire`; its README says how they were made.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kraft_wire::frame::{decode_request_header, decode_response_header};
use kraft_wire::{ApiKey, Message, message as m};
use serde_json::Value;

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");

/// A node that is asked. Its process does not outlive the test.
struct Node {
    process: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Drop for Node {
    fn drop(&mut self) {
        // Both fail only where the process has ended.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Node {
    /// Formats a directory and starts a node on it. The settings come on top; the directory gets the id, if there is
    /// one.
    fn start(id: u64, settings: &str, format: &[&str], directory_id: Option<&str>) -> Node {
        let folder = tempfile::tempdir().unwrap();
        let (config, data) = (
            folder.path().join("server.properties"),
            folder.path().join("data"),
        );
        let text = format!(
            "process.roles=controller\nnode.id={id}\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
             listeners=CONTROLLER://127.0.0.1:0\n{settings}\n",
            data.display()
        );
        fs::write(&config, text).unwrap();
        let mut formatting = Command::new(KRAFT);
        let output = formatting
            .arg("format")
            .arg("-c")
            .arg(&config)
            .args(format)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        if let Some(directory_id) = directory_id {
            set_directory_id(&data.join("meta.properties"), directory_id);
        }
        let mut running = Command::new(KRAFT);
        running.arg("run").arg("-c").arg(&config);
        let running = running
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = running.spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut ready)
            .unwrap();
        let address = ready.trim().rsplit("://").next().unwrap().parse().unwrap();
        Node {
            process,
            address,
            _folder: folder,
        }
    }

    /// Sends bytes over a connection of their own and reads until the other side closes it, has sent so many frames, or
    /// says nothing for long enough.
    fn ask(&self, bytes: &[u8], frames: usize, patience: Duration) -> Outcome {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(patience)).unwrap();
        // The other side may close before it has read everything.
        stream.write_all(bytes).ok();
        let mut answers = Vec::new();
        while answers.len() < frames {
            match read_frame(&mut stream) {
                Ok(frame) => answers.push(frame),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Outcome::Silent;
                }
                Err(_) => return Outcome::Closed,
            }
        }
        Outcome::Answered(answers)
    }

    fn answer(&self, row: &Row) -> Outcome {
        // Only what stays unanswered is waited for in vain.
        let patience = match row.text("outcome") {
            "timeout" => Duration::from_millis(300),
            _ => Duration::from_secs(30),
        };
        let (bytes, frames) = (row.sent(), row.wanted_answers().len().max(1));
        self.ask(&bytes, frames, patience)
    }

    /// The APIs that it lists.
    fn apis(&self) -> BTreeSet<i16> {
        let listed = self.versions(0).api_keys;
        listed.iter().map(|api| api.api_key).collect()
    }

    fn versions(&self, version: i16) -> m::ApiVersionsResponse {
        let api = ApiKey::ApiVersions;
        let mut request = Vec::new();
        m::RequestHeader {
            request_api_key: api.key(),
            request_api_version: version,
            ..Default::default()
        }
        .encode(api.request_header_version(version), &mut request)
        .unwrap();
        let body = m::ApiVersionsRequest {
            client_software_name: "kraft".to_owned(),
            client_software_version: "1".to_owned(),
            ..Default::default()
        };
        request.extend_from_slice(&body.to_bytes(version).unwrap());
        let Outcome::Answered(answers) = self.ask(&framed(&request), 1, Duration::from_secs(30)) else {
            panic!("ApiVersions is not answered");
        };
        m::ApiVersionsResponse::from_bytes(&answers[0].slice(4..), version).unwrap()
    }
}

fn set_directory_id(file: &Path, id: &str) {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| match line.starts_with("directory.id=") {
        true => format!("directory.id={id}\n"),
        false => format!("{line}\n"),
    });
    let text: String = lines.collect();
    fs::write(file, text).unwrap();
}

fn read_frame(stream: &mut TcpStream) -> std::io::Result<Bytes> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut frame = vec![0; usize::try_from(i32::from_be_bytes(length)).unwrap()];
    stream.read_exact(&mut frame)?;
    Ok(frame.into())
}

/// What became of a question.
#[derive(Debug, PartialEq)]
enum Outcome {
    Answered(Vec<Bytes>),
    Closed,
    Silent,
}

/// A line of a file.
struct Row(Value);

impl Row {
    fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap_or_default()
    }

    fn is_raw(&self) -> bool {
        self.0["raw_stream"].as_bool().unwrap_or_default()
    }

    /// The bytes that go over the connection.
    fn sent(&self) -> Vec<u8> {
        let request = match self.0.get("request").and_then(Value::as_str) {
            Some(request) => hex(request),
            None => {
                let mut request = hex(self.text("request_head"));
                let length = usize::try_from(self.0["request_length"].as_u64().unwrap()).unwrap();
                request.resize(length, hex(self.text("request_fill"))[0]);
                request
            }
        };
        match self.is_raw() {
            true => request,
            false => framed(&request),
        }
    }

    fn wanted_answers(&self) -> Vec<Bytes> {
        let response = hex(self.text("response"));
        // Two streams were recorded as they are.
        let stream = response
            .get(..4)
            .map(|length| i32::from_be_bytes(length.try_into().unwrap()));
        if self.is_raw() && stream.is_some_and(|length| length > 0 && (length as usize) < response.len() - 4)
        {
            let (mut rest, mut answers) = (&response[..], Vec::new());
            while !rest.is_empty() {
                answers.push(read_slice(&mut rest));
            }
            return answers;
        }
        match response.is_empty() {
            true => Vec::new(),
            false => vec![response.into()],
        }
    }

    /// Compares what became of the question here with what became of it there.
    fn compare(&self, found: &Outcome, apis: &BTreeSet<i16>, same_state: bool) -> Result<(), String> {
        let answers = match (self.text("outcome"), found) {
            ("closed", Outcome::Closed) | ("timeout", Outcome::Silent) => return Ok(()),
            ("answered", Outcome::Answered(answers)) => answers,
            (wanted, found) => return Err(format!("{wanted} there, {found:?} here")),
        };
        let wanted = self.wanted_answers();
        let request = self.sent();
        let mut requests = &request[..];
        for (wanted, found) in wanted.iter().zip(answers) {
            // A header that cannot be read is never answered.
            let (api, header, _) = decode_request_header(read_slice(&mut requests)).unwrap();
            let version = header.request_api_version;
            let (wanted, found) = (
                plain(api, version, wanted, apis),
                plain(api, version, found, apis),
            );
            let depends_on_state = api != ApiKey::ApiVersions;
            if wanted != found && (same_state || !depends_on_state) {
                return Err(format!("{wanted} there, {found} here"));
            }
        }
        Ok(())
    }
}

fn read_slice(rest: &mut &[u8]) -> Bytes {
    let (length, behind) = rest.split_at(4);
    let length = i32::from_be_bytes(length.try_into().unwrap()) as usize;
    let (frame, behind) = behind.split_at(length);
    *rest = behind;
    Bytes::copy_from_slice(frame)
}

/// An answer as text, without what differs on purpose or from run to run.
fn plain(api: ApiKey, version: i16, frame: &Bytes, apis: &BTreeSet<i16>) -> String {
    let unknown_version = api == ApiKey::ApiVersions && !api.versions().contains(&version);
    let version = if unknown_version { 0 } else { version };
    let (header, reader) = decode_response_header(frame.clone(), api, version).unwrap();
    let body = reader.rest();
    let body = match api {
        // The list holds what is served.
        ApiKey::ApiVersions => {
            let mut answer = m::ApiVersionsResponse::from_bytes(&body, version).unwrap();
            answer.api_keys.retain(|api| {
                let known_there = api.api_key != ApiKey::MetadataFetch.key();
                known_there && apis.contains(&api.api_key)
            });
            // It comes from the log; and Kafka names features in the order of a hash table.
            answer.finalized_features_epoch = 0;
            answer
                .supported_features
                .sort_by(|one, other| one.name.cmp(&other.name));
            answer
                .finalized_features
                .sort_by(|one, other| one.name.cmp(&other.name));
            format!("{answer:?}")
        }
        // The text of an error is for people; clocks go on.
        ApiKey::DescribeQuorum => {
            let mut answer = m::DescribeQuorumResponse::from_bytes(&body, version).unwrap();
            for partition in answer.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
                partition.error_message = None;
                for voter in &mut partition.current_voters {
                    (voter.last_fetch_timestamp, voter.last_caught_up_timestamp) = (0, 0);
                }
            }
            format!("{answer:?}")
        }
        // Errors are answered for the partition here, and as an unknown error of the whole there.
        ApiKey::FetchSnapshot => {
            let answer = m::FetchSnapshotResponse::from_bytes(&body, version).unwrap();
            let partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
            let failed = partitions.into_iter().any(|partition| partition.error_code != 0);
            match failed || answer.error_code == -1 {
                true => "an error".to_owned(),
                false => format!("{answer:?}"),
            }
        }
        _ => format!("{:?}", &body[..]),
    };
    format!("{} {body}", header.correlation_id)
}

fn framed(request: &[u8]) -> Vec<u8> {
    let length = i32::try_from(request.len()).unwrap();
    [&length.to_be_bytes(), request].concat()
}

fn hex(text: &str) -> Vec<u8> {
    let digit = |digit: u8| (digit as char).to_digit(16).unwrap() as u8;
    let pairs = text.as_bytes().chunks_exact(2);
    pairs.map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn rows(file: &str) -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kraft-wire/tests/vectors/interrogated");
    let text = fs::read_to_string(folder.join(file)).unwrap();
    text.lines()
        .map(|line| Row(serde_json::from_str(line).unwrap()))
        .collect()
}

/// Puts all questions and fails with everything that came out differently.
fn interrogate(node: &Node, rows: &[Row], same_state: bool) {
    let apis = node.apis();
    let mut different = Vec::new();
    let mut compared = 0;
    for row in rows {
        // Not listed, not served.
        let api = i16::try_from(row.0["api"].as_i64().unwrap()).unwrap();
        if row.text("outcome") == "answered" && !apis.contains(&api) {
            continue;
        }
        compared += 1;
        if let Err(difference) = row.compare(&node.answer(row), &apis, same_state) {
            different.push(format!("{} {}: {difference}", row.text("id"), row.text("what")));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(
        compared * 10 > rows.len() * 9,
        "only {compared} of {} were compared",
        rows.len()
    );
}

/// A single voter with the cluster id of the quorum that was asked, once the records of its format are committed.
fn single_voter() -> Node {
    let settings = "controller.quorum.bootstrap.servers=127.0.0.1:1";
    let format = ["-t", "ntpjg8OrToGHRt4yC6tdVQ", "--standalone"];
    let node = Node::start(2, settings, &format, None);
    let deadline = Instant::now() + Duration::from_secs(30);
    while node.versions(3).finalized_features.len() < 2 {
        assert!(Instant::now() < deadline, "it does not lead");
        std::thread::sleep(Duration::from_millis(10));
    }
    node
}

#[test]
fn frames_of_every_kind_have_the_same_outcome() {
    interrogate(&single_voter(), &rows("framing.jsonl"), false);
}

#[test]
fn versions_are_told_alike() {
    interrogate(&single_voter(), &rows("api-versions.jsonl"), false);
}

/// Timers that let nothing happen but what a question causes.
const STILL: &str = "controller.quorum.election.timeout.ms=600000\ncontroller.quorum.fetch.timeout.ms=600000\n\
                     controller.quorum.election.backoff.max.ms=500000";

#[test]
fn one_of_three_voters_alone_answers_alike() {
    let voters = [
        (57061, "uqPYcG5TRbuS26Pxnk1D8A"),
        (51503, "XNDeTwxsSFKmuSpbWiZPww"),
        (38075, "c1kl7LaYSiiiH1ZtVPwsaw"),
    ];
    let servers = voters.map(|(port, _)| format!("127.0.0.1:{port}")).join(",");
    let mut initial = Vec::new();
    for (id, (port, directory_id)) in (1..).zip(voters) {
        initial.push(format!("{id}@127.0.0.1:{port}:{directory_id}"));
    }
    let settings = format!(
        "advertised.listeners=CONTROLLER://127.0.0.1:57061\ncontroller.quorum.bootstrap.servers={servers}\n{STILL}"
    );
    let initial = initial.join(",");
    let format = ["-t", "saikH-KiSA2V-nDPxaQxLg", "--initial-controllers", &initial];
    let node = Node::start(1, &settings, &format, None);
    interrogate(&node, &rows("lone-dynamic.jsonl"), true);
}

#[test]
fn one_of_three_static_voters_alone_answers_alike() {
    let settings = format!(
        "advertised.listeners=CONTROLLER://127.0.0.1:55661\n\
         controller.quorum.voters=1@127.0.0.1:55661,2@127.0.0.1:50943,3@127.0.0.1:47313\n{STILL}"
    );
    let node = Node::start(
        1,
        &settings,
        &["-t", "REdFOYogTNatY4ZYURrzcQ"],
        Some("SvVxdCWoiLCMlL3RTotHHA"),
    );
    interrogate(&node, &rows("lone-static-b.jsonl"), true);
}
