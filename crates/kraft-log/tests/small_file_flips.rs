//! Every bit of the small text files, flipped: they have no checksum, so some flips leave a file that says something else.
//! Which values that can happen to stands in docs/log.md, and here with the number of bits.

mod common;

use common::{files, unpack};
use kraft_core::ElectionState;
use kraft_fs::{File, FileSystem, MemFs, Open};
use kraft_log::{
    ConfiguredDirectories, MetaProperties, Repair, check_directories, epoch_checkpoint, partition_metadata,
    quorum_state, verify,
};
use std::{collections::BTreeMap, path::Path};

/// What a start makes of the file, or which value it takes from it that it did not have.
type Effects = BTreeMap<&'static str, u32>;

fn flips(
    directory: &str,
    name: &str,
    effect: impl Fn(&MemFs, &Path) -> &'static str,
) -> Vec<(&'static str, u32)> {
    let (fs, partition) = unpack(directory);
    let dir = if name == "meta.properties" {
        Path::new("/data")
    } else {
        &partition
    };
    let file = fs.open(&dir.join(name), Open::ReadWrite).expect("it is there");
    let before = files(&fs, &partition);
    let mut effects = Effects::new();
    for bit in 0..file.len().expect("a size") * 8 {
        let flip = || {
            let mut byte = [0];
            file.read_exact_at(&mut byte, bit / 8).expect("readable");
            file.write_all_at(&[byte[0] ^ (1 << (bit % 8))], bit / 8)
                .expect("written");
        };
        flip();
        *effects.entry(effect(&fs, dir)).or_insert(0) += 1;
        flip();
    }
    assert!(files(&fs, &partition) == before, "nothing was written");
    effects.into_iter().collect()
}

/// Of the partition directory: whether a start is refused, or writes the file anew.
fn start(fs: &MemFs, dir: &Path, name: &str) -> Option<&'static str> {
    let Ok(verified) = verify(fs, dir) else {
        return Some("refused");
    };
    assert_eq!((verified.start, verified.repairs.len() < 2), (0, true));
    let rebuilt = |repair: &Repair| matches!(repair, Repair::Rebuild { path } if path.ends_with(name));
    verified.repairs.iter().any(rebuilt).then_some("rebuilt")
}

fn election(fs: &MemFs, dir: &Path, good: &ElectionState) -> &'static str {
    if let Some(effect) = start(fs, dir, quorum_state::FILE_NAME) {
        return effect;
    }
    let state = quorum_state::load(fs, dir)
        .expect("a start reads it")
        .expect("it is there");
    if state.epoch != good.epoch {
        "another epoch"
    } else if state.leader != good.leader {
        "another leader"
    } else if state.voted.map(|vote| vote.id) != good.voted.map(|vote| vote.id) {
        "another vote"
    } else if state.voted != good.voted {
        "another directory of the vote"
    } else if state.voters != good.voters {
        "other voters"
    } else if state != *good {
        "another version"
    } else {
        "the same"
    }
}

fn elections(directory: &str) -> Vec<(&'static str, u32)> {
    let (fs, dir) = unpack(directory);
    let good = quorum_state::load(&fs, &dir)
        .expect("readable")
        .expect("it is there");
    flips(directory, quorum_state::FILE_NAME, |fs, dir| {
        election(fs, dir, &good)
    })
}

#[test]
fn quorum_state_may_name_another_epoch_leader_vote_or_voter() {
    // Nobody was voted for, so the directory of the vote means nothing.
    assert_eq!(
        elections("small-killed"),
        [
            ("another epoch", 3),
            ("another leader", 4),
            ("refused", 719),
            ("the same", 106)
        ]
    );
    assert_eq!(
        elections("voter-changes-n1"),
        [
            ("another directory of the vote", 110),
            ("another epoch", 3),
            ("another leader", 3),
            ("another vote", 3),
            ("refused", 705)
        ]
    );
    // Version 0; what stays the same is `appliedOffset`, which nobody looks at.
    assert_eq!(
        elections("static0-follower"),
        [
            ("another epoch", 4),
            ("another leader", 3),
            ("another vote", 3),
            ("other voters", 7),
            ("refused", 1083),
            ("the same", 4)
        ]
    );
}

#[test]
fn leader_epoch_checkpoint_is_refused_or_written_anew_from_the_log() {
    let name = epoch_checkpoint::FILE_NAME;
    let effects = |directory| {
        flips(directory, name, |fs, dir| {
            start(fs, dir, name).unwrap_or("the same")
        })
    };
    // An epoch that is over may seem to begin behind the end of the log, which is whole: what it says is read off the log.
    assert_eq!(
        effects("small-killed"),
        [("rebuilt", 115), ("refused", 28), ("the same", 1)]
    );
    assert_eq!(
        effects("voter-changes-n1"),
        [("rebuilt", 150), ("refused", 33), ("the same", 1)]
    );
}

#[test]
fn partition_metadata_may_have_another_version() {
    let name = partition_metadata::FILE_NAME;
    let effects = flips("small-killed", name, |fs, dir| {
        start(fs, dir, name).unwrap_or("the same")
    });
    assert_eq!(effects, [("refused", 340), ("the same", 4)]);
}

fn load(fs: &MemFs) -> MetaProperties {
    let found = MetaProperties::load(fs, Path::new("/data"));
    found.expect("readable").expect("it is there")
}

#[test]
fn meta_properties_may_name_another_cluster_or_directory() {
    let (fs, _) = unpack("small-killed");
    let good = load(&fs);
    let effects = flips("small-killed", "meta.properties", |fs, dir| {
        let configured = ConfiguredDirectories {
            node_id: 1,
            metadata_dir: dir,
            log_dirs: &[],
        };
        if check_directories(fs, configured).is_err() {
            return "refused";
        }
        let found = load(fs);
        if found.cluster_id != good.cluster_id {
            "another cluster"
        } else if found.directory_id.is_none() {
            "no directory"
        } else if found.directory_id != good.directory_id {
            "another directory"
        } else {
            assert_eq!(found, good);
            "the same"
        }
    });
    // The comment and the date stay what they are: nothing.
    assert_eq!(
        effects,
        [
            ("another cluster", 184),
            ("another directory", 112),
            ("no directory", 104),
            ("refused", 328),
            ("the same", 248)
        ]
    );
}
