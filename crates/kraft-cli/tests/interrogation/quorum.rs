//! A recorded quorum in the state in which the questions began.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::node::{Node, eventually};
use crate::ports::Ports;

const LOG: &str = "__cluster_metadata-0";
/// Where a batch says its length; what stands in front of it is its base offset.
const LENGTH: usize = 8;

/// Timers that let nothing happen but what a question causes.
pub(crate) const STILL: &str = "controller.quorum.election.timeout.ms=600000\ncontroller.quorum.fetch.timeout.ms=600000\n\
                         controller.quorum.election.backoff.max.ms=500000\n";
/// No record and no snapshot but what a question causes, and nothing deleted.
const NOTHING_MORE: &str = "metadata.max.idle.interval.ms=0\nmetadata.log.max.snapshot.interval.ms=0\n\
                            metadata.max.retention.ms=-1\nmetadata.max.retention.bytes=-1\n";

/// How a quorum was recorded.
#[derive(Clone, Copy)]
pub(crate) struct Recorded {
    /// In the names of its directories.
    pub(crate) name: &'static str,
    pub(crate) ports: [u16; 3],
    pub(crate) directories: [&'static str; 3],
    /// Where the log ends before the election of epoch 8.
    pub(crate) cut: i64,
    /// Where it ends when the questions begin.
    pub(crate) end: i64,
}

pub(crate) const DYNAMIC: Recorded = Recorded {
    name: "dynamic",
    ports: [37219, 36107, 53533],
    directories: [
        "VlhIISSJQSu14WKAjiU5Cg",
        "z5NCmT1NTCm9Acvk4Nlw0w",
        "paCp5-yobltyLG2nfoTBSA",
    ],
    cut: 141,
    end: 145,
};

pub(crate) const STATIC: Recorded = Recorded {
    name: "static",
    ports: [38071, 44239, 58353],
    directories: [
        "ueVXmv0sSiUFkctzm912ig",
        "J-IEMSeto1Aed4veAfvP4g",
        "4_-1LmWnbyGiNIJyUkED_A",
    ],
    cut: 61,
    end: 65,
};

pub(crate) struct Quorum {
    pub(crate) nodes: Vec<Node>,
    pub(crate) recorded: Recorded,
    _folder: tempfile::TempDir,
}

impl Quorum {
    /// Starts the three nodes and waits until node 2 leads epoch 8 and everything is as it was.
    pub(crate) fn start(recorded: Recorded, ports: &Ports) -> Quorum {
        // On a slow disk node 2 may ask for votes again before it has them, in another epoch, and a registration may stand in
        // the log twice. It begins anew then, and waits longer.
        for seconds in [2, 8, 32] {
            let quorum = Quorum::start_with(&recorded, ports, seconds * 1000);
            if quorum.is_as_it_was() {
                return quorum;
            }
        }
        panic!("node 2 does not lead epoch 8 as it did");
    }

    fn start_with(recorded: &Recorded, ports: &Ports, election_timeout: u32) -> Quorum {
        let folder = tempfile::tempdir().unwrap();
        let addresses = recorded.ports.map(|port| format!("127.0.0.1:{}", ports.of(port)));
        let members = match recorded.name {
            "static" => {
                let voters = (1..)
                    .zip(&addresses)
                    .map(|(id, address)| format!("{id}@{address}"));
                format!(
                    "controller.quorum.voters={}",
                    voters.collect::<Vec<_>>().join(",")
                )
            }
            _ => format!("controller.quorum.bootstrap.servers={}", addresses.join(",")),
        };
        let mut nodes = Vec::new();
        for (id, address) in (1..).zip(&addresses) {
            let home = folder.path().join(format!("n{id}"));
            copy(recorded, id, &home.join("data"), ports);
            // Node 2 alone asks for votes.
            let timers = match id {
                2 => {
                    let short = format!("election.timeout.ms={election_timeout}");
                    STILL.replace("election.timeout.ms=600000", &short)
                }
                _ => STILL.to_owned(),
            };
            let text = format!(
                "process.roles=controller\nnode.id={id}\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
                 listeners=CONTROLLER://{address}\nadvertised.listeners=CONTROLLER://{address}\n\
                 {members}\n{timers}{NOTHING_MORE}",
                home.join("data").display()
            );
            fs::write(home.join("server.properties"), text).unwrap();
            nodes.push(Node::start(&home));
        }
        Quorum {
            nodes,
            recorded: *recorded,
            _folder: folder,
        }
    }

    /// A node by its id.
    pub(crate) fn node(&self, id: usize) -> &Node {
        &self.nodes[id - 1]
    }

    /// Waits until the leader has committed the records of the three registrations, and all have everything. Whether it is
    /// what was recorded.
    fn is_as_it_was(&self) -> bool {
        let end = self.recorded.end;
        let mut found = (0, 0);
        eventually("node 2 has committed everything, and all follow", || {
            let answer = self.node(2).describe();
            let partition = &answer.topics[0].partitions[0];
            let replicas = partition.current_voters.iter().chain(&partition.observers);
            let high_watermark = partition.high_watermark;
            found = (partition.leader_epoch, high_watermark);
            partition.error_code == 0
                && high_watermark >= end
                && replicas
                    .filter(|replica| replica.log_end_offset == high_watermark)
                    .count()
                    == 3
        });
        if found != (8, end) {
            return false;
        }
        // All know what is committed.
        for node in &self.nodes {
            eventually("it has applied everything", || {
                node.versions(3).finalized_features_epoch >= 0
            });
        }
        true
    }

    /// Whether it is the third node under its own directory, which versions below 2 do not tell.
    pub(crate) fn is_a_node(&self, version: i16, id: i32, directory: uuid::Uuid) -> bool {
        let known = |text: &str| kraft_wire::uuid_text::parse(text).ok() == Some(directory);
        let own = self.recorded.directories.iter().any(|text| known(text));
        self.recorded.name == "static" || if version < 2 { id == 3 } else { own }
    }

    /// The bytes of a snapshot as they were recorded, and as they are here.
    pub(crate) fn snapshot(&self, node: usize, end: i64, epoch: i32) -> Option<(Vec<u8>, Vec<u8>)> {
        let name = format!("{end:020}-{epoch:010}.checkpoint");
        let there = directory(&self.recorded, node).join(LOG).join(&name);
        let here = self.node(node).folder.join("data").join(LOG).join(&name);
        Some((fs::read(there).ok()?, fs::read(here).ok()?))
    }
}

fn directory(recorded: &Recorded, id: usize) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/interrogated");
    folder.join(format!("{}-n{id}", recorded.name))
}

/// Copies a directory as it was before the election of epoch 8.
fn copy(recorded: &Recorded, id: usize, data: &Path, ports: &Ports) {
    let from = directory(recorded, id);
    fs::create_dir_all(data.join(LOG)).unwrap();
    fs::copy(from.join("meta.properties"), data.join("meta.properties")).unwrap();
    for entry in fs::read_dir(from.join(LOG)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let mut bytes = fs::read(entry.path()).unwrap();
        match name.as_str() {
            "quorum-state" => bytes = before_the_election(&bytes),
            "leader-epoch-checkpoint" => bytes = without_epoch_8(&String::from_utf8(bytes).unwrap()),
            "partition.metadata" => {}
            _ => {
                if name.ends_with(".log") {
                    cut(&mut bytes, recorded.cut);
                }
                ports.here_in_batches(&mut bytes);
            }
        }
        fs::write(data.join(LOG).join(name), bytes).unwrap();
    }
}

fn before_the_election(state: &[u8]) -> Vec<u8> {
    let mut state: Value = serde_json::from_slice(state).unwrap();
    let fields = state.as_object_mut().unwrap();
    fields.insert("leaderId".to_owned(), json!(-1));
    fields.insert("leaderEpoch".to_owned(), json!(7));
    fields.insert("votedId".to_owned(), json!(-1));
    if let Some(directory) = fields.get_mut("votedDirectoryId") {
        *directory = json!("AAAAAAAAAAAAAAAAAAAAAA");
    }
    state.to_string().into_bytes()
}

fn without_epoch_8(checkpoint: &str) -> Vec<u8> {
    let entries: Vec<_> = checkpoint
        .lines()
        .skip(2)
        .filter(|line| !line.starts_with("8 "))
        .collect();
    format!("0\n{}\n{}\n", entries.len(), entries.join("\n")).into_bytes()
}

fn cut(log: &mut Vec<u8>, offset: i64) {
    let mut at = 0;
    while at < log.len() {
        let base = i64::from_be_bytes(log[at..at + LENGTH].try_into().unwrap());
        if base >= offset {
            log.truncate(at);
            return;
        }
        let length = u32::from_be_bytes(log[at + LENGTH..at + LENGTH + 4].try_into().unwrap());
        at += LENGTH + 4 + length as usize;
    }
}
