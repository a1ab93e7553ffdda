//! What `kafka-metadata-quorum describe` prints, read the way an operator's script reads it.

use std::collections::BTreeMap;

use crate::interop::Failure;

/// `describe --status`.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    pub(crate) cluster_id: String,
    pub(crate) leader: i32,
    pub(crate) epoch: i32,
    pub(crate) high_watermark: i64,
    pub(crate) voters: Vec<i32>,
    pub(crate) observers: Vec<i32>,
    /// The lines that do not change from one moment to the next.
    pub(crate) steady_lines: Vec<String>,
}

impl Status {
    pub(crate) fn parse(text: &str) -> Result<Status, Failure> {
        let fields: BTreeMap<_, _> = text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(k, v)| (k, v.trim()))
            .collect();
        let field = |name: &str| {
            fields
                .get(name)
                .copied()
                .ok_or_else(|| Failure::from(format!("no {name} in:\n{text}")))
        };
        Ok(Status {
            cluster_id: field("ClusterId")?.to_owned(),
            leader: field("LeaderId")?.parse()?,
            epoch: field("LeaderEpoch")?.parse()?,
            high_watermark: field("HighWatermark")?.parse()?,
            voters: ids(field("CurrentVoters")?)?,
            observers: ids(field("CurrentObservers")?)?,
            steady_lines: text
                .lines()
                .filter(|line| !is_moving(line))
                .map(str::to_owned)
                .collect(),
        })
    }
}

fn is_moving(line: &str) -> bool {
    ["HighWatermark:", "MaxFollowerLag:", "MaxFollowerLagTimeMs:"]
        .iter()
        .any(|label| line.starts_with(label))
}

/// One row of `describe --replication`.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) id: i32,
    pub(crate) directory_id: String,
    pub(crate) log_end: i64,
    pub(crate) lag: i64,
    pub(crate) status: String,
}

/// `describe --replication`.
#[derive(Clone, Debug)]
pub(crate) struct Replication {
    pub(crate) rows: Vec<Row>,
}

impl Replication {
    pub(crate) fn parse(text: &str) -> Result<Replication, Failure> {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let titles: Vec<_> = lines.next().unwrap_or_default().split_whitespace().collect();
        if titles != TITLES {
            return Err(format!("unexpected titles {titles:?}").into());
        }
        let mut rows = Vec::new();
        for line in lines {
            let cells: Vec<_> = line
                .split('\t')
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect();
            let &[id, directory_id, log_end, lag, _fetched, _caught_up, status] = cells.as_slice() else {
                return Err(format!("unexpected row {line:?}").into());
            };
            let status = status.to_owned();
            rows.push(Row {
                id: id.parse()?,
                directory_id: directory_id.to_owned(),
                log_end: log_end.parse()?,
                lag: lag.parse()?,
                status,
            });
        }
        Ok(Replication { rows })
    }
}

const TITLES: [&str; 7] = [
    "NodeId",
    "DirectoryId",
    "LogEndOffset",
    "Lag",
    "LastFetchTimestamp",
    "LastCaughtUpTimestamp",
    "Status",
];

fn ids(list: &str) -> Result<Vec<i32>, Failure> {
    let mut ids = Vec::new();
    for piece in list.split("\"id\":").skip(1) {
        let digits: String = piece
            .trim_start()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        ids.push(digits.parse()?);
    }
    ids.sort_unstable();
    Ok(ids)
}
