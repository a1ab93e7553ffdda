//! A process that is asked.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kraft_wire::{ApiKey, Message, message as m};

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");
/// What answers at all answers within this.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// What became of a question.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Answered(Vec<Bytes>),
    Closed,
    Silent,
}

/// A node that is asked. Its process does not outlive the test.
pub(crate) struct Node {
    process: Child,
    pub(crate) address: SocketAddr,
    /// The folder with its configuration and its data.
    pub(crate) folder: PathBuf,
}

impl Drop for Node {
    fn drop(&mut self) {
        // Both fail only where the process has ended.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Node {
    /// Starts a node on the configuration of the folder and waits until its listener is bound.
    pub(crate) fn start(folder: &Path) -> Node {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join("log"))
            .unwrap();
        let mut process = Command::new(KRAFT)
            .arg("run")
            .arg("-c")
            .arg(folder.join("server.properties"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut ready = String::new();
        let output = process.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut ready).unwrap();
        let address = ready.trim().rsplit("://").next().unwrap().parse();
        let Ok(address) = address else {
            panic!("{}", fs::read_to_string(folder.join("log")).unwrap());
        };
        Node {
            process,
            address,
            folder: folder.to_owned(),
        }
    }

    /// Whether the process still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Sends bytes over a connection of their own and reads until the other side closes it, has sent so many frames, or
    /// says nothing for long enough.
    pub(crate) fn ask(&self, bytes: &[u8], frames: usize, patience: Duration) -> Outcome {
        read_answers(&mut self.send(bytes, patience), frames)
    }

    /// A connection over which the bytes have been sent.
    pub(crate) fn send(&self, bytes: &[u8], patience: Duration) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(patience)).unwrap();
        // The other side may close before it has read everything.
        stream.write_all(bytes).ok();
        stream
    }

    /// Puts a question of our own.
    pub(crate) fn call<Q: Message, A: Message>(&self, api: ApiKey, version: i16, body: &Q) -> A {
        let mut request = Vec::new();
        let header = m::RequestHeader {
            request_api_key: api.key(),
            request_api_version: version,
            ..Default::default()
        };
        header
            .encode(api.request_header_version(version), &mut request)
            .unwrap();
        request.extend_from_slice(&body.to_bytes(version).unwrap());
        let Outcome::Answered(answers) = self.ask(&framed(&request), 1, LIMIT) else {
            panic!("{api:?} is not answered");
        };
        // Only ApiVersions is answered without a section of tags in the header.
        let header = if api == ApiKey::ApiVersions { 4 } else { 5 };
        A::from_bytes(&answers[0].slice(header..), version).unwrap()
    }

    pub(crate) fn versions(&self, version: i16) -> m::ApiVersionsResponse {
        let body = m::ApiVersionsRequest {
            client_software_name: "kraft".to_owned(),
            client_software_version: "1".to_owned(),
            ..Default::default()
        };
        self.call(ApiKey::ApiVersions, version, &body)
    }

    /// What the leader says of the quorum.
    pub(crate) fn describe(&self) -> m::DescribeQuorumResponse {
        let body = m::DescribeQuorumRequest {
            topics: vec![m::DescribeQuorumRequestTopic {
                topic_name: "__cluster_metadata".to_owned(),
                partitions: vec![Default::default()],
                ..Default::default()
            }],
            ..Default::default()
        };
        self.call(ApiKey::DescribeQuorum, 2, &body)
    }

    /// Its high watermark, if it leads.
    pub(crate) fn high_watermark(&self) -> Option<i64> {
        let answer = self.describe();
        let partition = &answer.topics[0].partitions[0];
        (partition.error_code == 0).then_some(partition.high_watermark)
    }

    /// Waits until it leads and has committed up to an offset at least.
    pub(crate) fn wait_until_committed(&self, offset: i64) {
        eventually("it leads", || {
            self.high_watermark().is_some_and(|found| found >= offset)
        });
    }
}

pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn kraft(arguments: &[&str]) {
    let output = Command::new(KRAFT).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

pub(crate) fn read_answers(stream: &mut TcpStream, frames: usize) -> Outcome {
    let mut answers = Vec::new();
    while answers.len() < frames {
        match read_frame(stream) {
            Ok(frame) => answers.push(frame),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Outcome::Silent;
            }
            Err(_) => return Outcome::Closed,
        }
    }
    Outcome::Answered(answers)
}

fn read_frame(stream: &mut TcpStream) -> std::io::Result<Bytes> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut frame = vec![0; usize::try_from(i32::from_be_bytes(length)).unwrap()];
    stream.read_exact(&mut frame)?;
    Ok(frame.into())
}

pub(crate) fn framed(request: &[u8]) -> Vec<u8> {
    let length = i32::try_from(request.len()).unwrap();
    [&length.to_be_bytes(), request].concat()
}
