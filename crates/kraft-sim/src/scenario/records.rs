//! Batches and control records as scenarios write them.
//!
//! `5x2` is a batch of two records of epoch 5. `5[leader B voters L,B granting B; version 1; voters L@l,B@b]` is a
//! control batch of epoch 5. A list is separated by commas.

use super::{
    command::{CommandError, bad, key_list, split_outside_brackets},
    names::{self, show_key, show_node, show_nodes},
};
use kraft_core::{BatchInfo, ControlRecord, Epoch, NodeId, VoterSet};

/// A data batch counts as this many bytes for each of its records.
pub(crate) const RECORD_BYTES: u32 = 100;

/// The batches of a list, the first one at `base`.
pub(crate) fn batches(text: &str, base: i64) -> Result<Vec<BatchInfo>, CommandError> {
    let mut next = base;
    let mut batches = Vec::new();
    for item in split_outside_brackets(text, ',') {
        let batch = batch(&item, next)?;
        next = batch.last + 1;
        batches.push(batch);
    }
    Ok(batches)
}

fn batch(item: &str, base: i64) -> Result<BatchInfo, CommandError> {
    let fault = || bad("batch", item);
    if let Some(inner) = item.strip_suffix(']') {
        let (epoch, records) = inner.split_once('[').ok_or_else(fault)?;
        let control = control_records(records)?;
        let count = i64::try_from(control.len()).map_err(|_| fault())?;
        return Ok(BatchInfo {
            base,
            last: base + count - 1,
            epoch: Epoch(epoch.parse().map_err(|_| fault())?),
            bytes: RECORD_BYTES,
            control: Some(control),
        });
    }
    let (epoch, count) = item.split_once('x').ok_or_else(fault)?;
    let count: u32 = count.parse().map_err(|_| fault())?;
    Ok(BatchInfo {
        base,
        last: base + i64::from(count) - 1,
        epoch: Epoch(epoch.parse().map_err(|_| fault())?),
        bytes: count.saturating_mul(RECORD_BYTES),
        control: None,
    })
}

/// Control records, separated by semicolons.
pub(crate) fn control_records(text: &str) -> Result<Vec<ControlRecord>, CommandError> {
    text.split(';').map(control_record).collect()
}

fn control_record(text: &str) -> Result<ControlRecord, CommandError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["leader", leader, "voters", voters, "granting", granting] => Ok(ControlRecord::LeaderChange {
            leader: names::node(leader)?,
            voters: node_list(voters)?,
            granting: node_list(granting)?,
        }),
        ["version", version] => Ok(ControlRecord::KRaftVersion(
            version.parse().map_err(|_| bad("version", version))?,
        )),
        ["voters", voters] => Ok(ControlRecord::Voters(names::voter_set(&key_list(voters)?))),
        _ => Err(bad("record", text)),
    }
}

fn node_list(text: &str) -> Result<Vec<NodeId>, CommandError> {
    text.split(',').map(names::node).collect()
}

/// The text of a control record.
pub(crate) fn show_control(record: &ControlRecord) -> String {
    match record {
        ControlRecord::LeaderChange {
            leader,
            voters,
            granting,
        } => format!(
            "leader {} voters {} granting {}",
            show_node(*leader),
            show_nodes(voters),
            show_nodes(granting)
        ),
        ControlRecord::KRaftVersion(version) => format!("version {version}"),
        ControlRecord::Voters(voters) => format!("voters {}", show_voters(voters)),
    }
}

/// The text of a voter set: the keys, with the endpoints that are not the usual ones.
pub(crate) fn show_voters(voters: &VoterSet) -> String {
    let texts: Vec<_> = voters
        .iter()
        .map(|voter| {
            if voter.endpoints == names::endpoints(voter.key.id) {
                show_key(&voter.key)
            } else {
                format!(
                    "{}({})",
                    show_key(&voter.key),
                    names::show_endpoints(&voter.endpoints)
                )
            }
        })
        .collect();
    if texts.is_empty() {
        "nobody".to_owned()
    } else {
        texts.join(",")
    }
}

/// The text of a batch.
pub(crate) fn show_batch(batch: &BatchInfo) -> String {
    match &batch.control {
        None => format!("{}x{}", batch.epoch, batch.last - batch.base + 1),
        Some(records) => {
            let records: Vec<_> = records.iter().map(show_control).collect();
            format!("{}[{}]", batch.epoch, records.join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_read_back() {
        let text = "3x3,5[leader B voters L,B granting B; version 1; voters L@l,B@b],5x2";
        let batches = batches(text, 10).expect("batches");
        assert_eq!(
            batches.iter().map(|batch| batch.base).collect::<Vec<_>>(),
            [10, 13, 16]
        );
        assert_eq!(batches.iter().map(show_batch).collect::<Vec<_>>().join(","), text);
    }
}
