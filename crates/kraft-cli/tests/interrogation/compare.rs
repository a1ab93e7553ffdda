//! Compares what became of a question here with what became of it there.

use std::collections::BTreeSet;

use bytes::Bytes;
use kraft_wire::frame::{decode_request_header, decode_response_header};
use kraft_wire::{ApiKey, ErrorCode, Message, batch::Batches, message as m};

use crate::node::{Node, Outcome};
use crate::ports::Ports;
use crate::quorum::Quorum;
use crate::row::{Row, read_slice};

/// What a comparison has to know.
pub(crate) struct Context<'a> {
    pub(crate) apis: BTreeSet<i16>,
    pub(crate) ports: &'a Ports,
    /// The quorum that is asked, if it is a recorded one.
    pub(crate) quorum: Option<&'a Quorum>,
    /// Whether offsets are told from the high watermark, because earlier questions have moved it differently.
    pub(crate) moving: bool,
    /// From here on batches are grouped, and filled, as the run has it.
    pub(crate) newest: i64,
}

impl<'a> Context<'a> {
    /// For a node that is not one of a recorded quorum.
    pub(crate) fn of(node: &Node, ports: &'a Ports) -> Self {
        Self {
            apis: node.versions(0).api_keys.iter().map(|api| api.api_key).collect(),
            ports,
            quorum: None,
            moving: false,
            newest: 0,
        }
    }

    pub(crate) fn compare(&self, row: &Row, found: &Outcome) -> Result<(), String> {
        let answers = match (row.text("outcome"), found) {
            ("closed", Outcome::Closed) | ("timeout", Outcome::Silent) => return Ok(()),
            ("answered", Outcome::Answered(answers)) => answers,
            (wanted, found) => return Err(format!("{wanted} there, {found:?} here")),
        };
        let wanted = row.wanted_answers();
        if wanted.len() != answers.len() {
            return Err(format!("{} answers there, {} here", wanted.len(), answers.len()));
        }
        let request = row.sent();
        let mut requests = &request[..];
        for (wanted, found) in wanted.iter().zip(answers) {
            // A header that cannot be read is never answered.
            let (api, header, _) = decode_request_header(read_slice(&mut requests)).unwrap();
            let version = header.request_api_version;
            let mut found = found.to_vec();
            if api == ApiKey::FetchSnapshot {
                self.take_back_snapshot(row, version, &mut found);
            }
            self.ports.recorded(&mut found);
            let (wanted, found) = (
                self.plain(row, api, version, wanted),
                self.plain(row, api, version, &found.into()),
            );
            if wanted != found {
                return Err(difference(&wanted, &found));
            }
        }
        Ok(())
    }

    /// An answer as text, without what differs on purpose or from run to run.
    fn plain(&self, row: &Row, api: ApiKey, version: i16, frame: &Bytes) -> String {
        let unknown_version = api == ApiKey::ApiVersions && !api.versions().contains(&version);
        let version = if unknown_version { 0 } else { version };
        let (header, reader) = decode_response_header(frame.clone(), api, version).unwrap();
        let body = reader.rest();
        let body = match api {
            ApiKey::ApiVersions => self.api_versions(&body, version),
            ApiKey::DescribeQuorum => self.describe_quorum(row, &body, version),
            ApiKey::DescribeCluster => {
                let mut answer = m::DescribeClusterResponse::from_bytes(&body, version).unwrap();
                // The order of a hash table.
                answer.brokers.sort_by_key(|broker| broker.broker_id);
                format!("{answer:?}")
            }
            ApiKey::AddRaftVoter => {
                let mut answer = m::AddRaftVoterResponse::from_bytes(&body, version).unwrap();
                answer.error_message = answer.error_message.as_deref().map(sorted);
                format!("{answer:?}")
            }
            ApiKey::RemoveRaftVoter => {
                let mut answer = m::RemoveRaftVoterResponse::from_bytes(&body, version).unwrap();
                answer.error_message = answer.error_message.as_deref().map(sorted);
                format!("{answer:?}")
            }
            ApiKey::Fetch => self.fetch(row, &body, version),
            ApiKey::FetchSnapshot => fetch_snapshot(row, &body, version),
            _ => format!("{:?}", &body[..]),
        };
        format!("{} {body}", header.correlation_id)
    }

    /// The list holds what is served; features come in the order of a hash table.
    fn api_versions(&self, body: &Bytes, version: i16) -> String {
        let mut answer = m::ApiVersionsResponse::from_bytes(body, version).unwrap();
        answer.api_keys.retain(|api| {
            let known_there = api.api_key != ApiKey::MetadataFetch.key();
            known_there && self.apis.contains(&api.api_key)
        });
        answer
            .supported_features
            .sort_by(|one, other| one.name.cmp(&other.name));
        answer
            .finalized_features
            .sort_by(|one, other| one.name.cmp(&other.name));
        // Where features last changed, told from the first image that was published.
        answer.finalized_features_epoch = answer.finalized_features_epoch.signum();
        format!("{answer:?}")
    }

    /// Clocks go on, and replicas are listed in the order of a hash table. Whoever fetched is listed, under any name: the
    /// questions that were put before decide it, and not all of them are there. Those that want to know list node 1.
    fn describe_quorum(&self, row: &Row, body: &Bytes, version: i16) -> String {
        let mut answer = m::DescribeQuorumResponse::from_bytes(body, version).unwrap();
        for partition in answer.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
            let base = if self.moving { partition.high_watermark } else { 0 };
            partition.high_watermark -= base;
            if let Some(quorum) = self.quorum {
                let asks_for_strangers = row.id().starts_with("fetch-");
                partition.observers.retain(|observer| {
                    let (id, directory) = (observer.replica_id, observer.replica_directory_id);
                    quorum.is_a_node(version, id, directory) || asks_for_strangers && id == 1
                });
            }
            for replicas in [&mut partition.current_voters, &mut partition.observers] {
                for replica in replicas.iter_mut() {
                    // Never, or some time.
                    replica.last_fetch_timestamp = replica.last_fetch_timestamp.signum();
                    replica.last_caught_up_timestamp = replica.last_caught_up_timestamp.signum();
                    replica.log_end_offset -= base;
                    // It was asked while one replica was a record behind.
                    if row.id() == "reconfiguration-021" {
                        (replica.log_end_offset, replica.last_caught_up_timestamp) = (0, 0);
                    }
                }
                replicas.sort_by_key(|replica| (replica.replica_id, replica.replica_directory_id));
            }
        }
        answer.nodes.sort_by_key(|node| node.node_id);
        format!("{answer:?}")
    }

    /// Whole batches. Of the newest ones only what offsets they cover: how they are filled and grouped depends on the run.
    fn fetch(&self, row: &Row, body: &Bytes, version: i16) -> String {
        let mut answer = m::FetchResponse::from_bytes(body, version).unwrap();
        let mut text = String::new();
        for partition in answer
            .responses
            .iter_mut()
            .flat_map(|topic| &mut topic.partitions)
        {
            let Some(records) = partition.records.take() else {
                text += " no records";
                continue;
            };
            let mut newest = None;
            for batch in Batches::new(records).map_while(Result::ok) {
                if batch.base_offset() < self.newest {
                    let covered = &batch.bytes()[21..];
                    text += &format!(" {}@{}:{covered:?}", batch.base_offset(), batch.leader_epoch());
                } else {
                    let first = newest.map_or(batch.base_offset(), |(first, _)| first);
                    newest = Some((first, batch.last_offset()));
                }
            }
            // One question needs a batch that holds the offset in its middle, and others stand in front of it here.
            if row.id() == "fetch-141" {
                newest = newest.map(|(_, last)| (0, last));
            }
            text += &format!(" newest {newest:?}");
            if self.moving {
                (partition.high_watermark, partition.log_start_offset) = (0, 0);
            }
        }
        format!("{answer:?}{text}")
    }

    /// The ports are part of a snapshot: what comes of it is compared with the file, and stands for the recorded bytes.
    fn take_back_snapshot(&self, row: &Row, version: i16, frame: &mut Vec<u8>) {
        let (header, reader) =
            decode_response_header(Bytes::copy_from_slice(frame), ApiKey::FetchSnapshot, version).unwrap();
        let mut answer = m::FetchSnapshotResponse::from_bytes(&reader.rest(), version).unwrap();
        for partition in answer.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
            let id = &partition.snapshot_id;
            let files = self
                .quorum
                .and_then(|quorum| quorum.snapshot(row.node(), id.end_offset, id.epoch));
            let Some((there, here)) = files else {
                continue;
            };
            let from = usize::try_from(partition.position).unwrap();
            let range = from..from + partition.unaligned_records.len();
            assert_eq!(partition.unaligned_records, here[range.clone()], "{}", row.id());
            partition.unaligned_records = Bytes::copy_from_slice(&there[range]);
        }
        let mut again = header.correlation_id.to_be_bytes().to_vec();
        again.push(0);
        again.extend(answer.to_bytes(version).unwrap());
        *frame = again;
    }
}

/// Errors are answered for the partition here, and as an unknown error of the whole there. Which one it is follows from
/// what is wrong with the question.
fn fetch_snapshot(row: &Row, body: &Bytes, version: i16) -> String {
    let answer = m::FetchSnapshotResponse::from_bytes(body, version).unwrap();
    let partition = answer.topics.first().map(|topic| &topic.partitions[0]);
    let error = partition.map_or(0, |partition| partition.error_code);
    if answer.error_code == ErrorCode::UnknownServerError.code() {
        format!("error {}", refusal(row.text("what")).code())
    } else if error != 0 {
        format!("error {error}")
    } else {
        format!("{answer:?}")
    }
}

fn refusal(what: &str) -> ErrorCode {
    let says = |words: &[&str]| words.iter().any(|word| what.contains(word));
    if says(&["other topic", "partition 1"]) {
        ErrorCode::UnknownTopicOrPartition
    } else if says(&["older epoch"]) {
        ErrorCode::FencedLeaderEpoch
    } else if says(&["newer epoch", "nobody leads"]) {
        // Where nobody leads the question names epoch 1 in epoch 0, although its description does not say so.
        ErrorCode::UnknownLeaderEpoch
    } else if says(&["not the leader", "at the follower"]) {
        ErrorCode::NotLeaderOrFollower
    } else if says(&["position"]) {
        ErrorCode::PositionOutOfRange
    } else {
        assert!(says(&["snapshot", "wrong epoch"]), "{what}");
        ErrorCode::SnapshotNotFound
    }
}

/// Where two texts part, with what stands around.
fn difference(wanted: &str, found: &str) -> String {
    let same = wanted
        .bytes()
        .zip(found.bytes())
        .take_while(|(one, other)| one == other);
    let from = same.count().saturating_sub(60);
    let part = |text: &str| text.chars().skip(from).take(240).collect::<String>();
    format!("\n  there …{}\n  here  …{}", part(wanted), part(found))
}

/// A text that lists a set of voters does so in the order of a hash table; all others stay as they are.
fn sorted(text: &str) -> String {
    if !text.contains('[') {
        return text.to_owned();
    }
    let mut words: Vec<_> = text
        .split([' ', '[', ']'])
        .map(|word| word.trim_matches(','))
        .collect();
    words.sort_unstable();
    words.join(" ")
}
