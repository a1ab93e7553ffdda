//! The ways out of damage: what a refusal suggests works, nothing is gone without a copy, and a crash in the middle of
//! it leaves a directory that is refused or does no harm.

mod common;
#[path = "damage/edits.rs"]
mod edits;

use common::{VECTORS, files, unpack};
use edits::apply;
use kraft_core::{ElectionState, Epoch, LogView, MAX_OFFSET, SnapshotId};
use kraft_fs::{Fault, FaultyFs, File, FileSystem, MemFs, Open, Unsynced};
use kraft_log::{
    LogOptions, METADATA_PARTITION_DIR, MetaProperties, Refusal, check_directories, open, quorum_state,
    recover::{RecoverError, RecoverForm, RecoverInputs, RecoverPlan, WayOut, plan_recovery},
    verify,
};
use kraft_snapshot::{SnapshotHeader, SnapshotWriter};
use kraft_wire::batch::BatchBuilder;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};
use uuid::Uuid;

const DATA: &str = "/data";

fn data() -> &'static Path {
    Path::new(DATA)
}

fn partition() -> PathBuf {
    data().join(METADATA_PARTITION_DIR)
}

const NEW_ID: Uuid = Uuid::from_u128(0x1234_5678_9abc_4def_8123_4567_89ab_cdef);

fn plan<F: FileSystem>(fs: &F, form: RecoverForm) -> Result<RecoverPlan, RecoverError> {
    let inputs = RecoverInputs {
        new_directory_id: NEW_ID,
        now_ms: 1_800_000_000_000,
    };
    plan_recovery(fs, data(), form, &inputs)
}

fn all_files(fs: &MemFs) -> BTreeMap<String, Vec<u8>> {
    files(fs, data())
        .into_iter()
        .chain(files(fs, &partition()))
        .collect()
}

/// What goes is kept: every byte that is in no file any more is in one of the copies.
fn check_copies(before: &MemFs, after: &MemFs, id: &str) {
    let after = all_files(after);
    for (name, bytes) in all_files(before) {
        let rebuilt = name.ends_with("index")
            || name.ends_with(".tmp")
            || name.ends_with(".deleted")
            || name.ends_with(".part")
            || ["leader-epoch-checkpoint", "kraft-synced"].contains(&&*name);
        if rebuilt || after.get(&name) == Some(&bytes) {
            continue;
        }
        let copies = after.iter().filter(|(copy, _)| copy.starts_with(&name));
        let tail = copies.clone().any(|(copy, copied)| {
            let position = copy
                .split(".from-")
                .nth(1)
                .and_then(|rest| rest.split('.').next());
            let position = position.map_or(0, |text| text.parse::<usize>().expect("a position"));
            bytes[position..] == **copied
        });
        assert!(tail, "{id}: {name} is gone");
    }
}

/// Follows the ways out until a node starts; what was done.
fn follow(fs: &MemFs, id: &str) -> String {
    let mut done = String::new();
    for _ in 0..3 {
        match open(fs.clone(), &partition(), LogOptions::default()) {
            Ok(opened) => {
                let (index, local) = (&opened.index, MetaProperties::load(fs, data()));
                let renamed = local.expect("readable").expect("there").directory_id == Some(NEW_ID);
                let identity = if renamed { ", new directory id" } else { "" };
                let end = index.end();
                write!(
                    done,
                    "{}..{} epoch {}{identity}",
                    index.start(),
                    end.last_offset,
                    end.last_epoch
                )
                .expect("text");
                return done;
            }
            Err(refusal) => {
                let text = refusal.to_string();
                assert!(!text.contains('\n'), "{id}: one line: {text}");
                match refusal.ways_out.first() {
                    Some(WayOut::Recover(form)) => {
                        assert!(
                            text.contains(&format!("kraft recover /data {}", form.option())),
                            "{text}"
                        );
                        if let Some(loss) = refusal.loss {
                            write!(done, "[{loss}] ").expect("text");
                        }
                        let before = fs.crash_image(Unsynced::Kept);
                        let plan = plan(fs, *form).unwrap_or_else(|error| panic!("{id}: {form:?}: {error}"));
                        assert_eq!(
                            all_files(fs),
                            all_files(&before),
                            "{id}: planning changes nothing"
                        );
                        plan.carry_out(fs).expect("carried out");
                        check_copies(&before, fs, id);
                        write!(done, "{} -> ", form.option()).expect("text");
                    }
                    Some(way) => {
                        assert!(text.contains("Ways out"), "{id}: {text}");
                        return done + way.name();
                    }
                    None => return done + &follow_text(fs, &refusal, id),
                }
            }
        }
    }
    panic!("{id}: {done}: still refused");
}

/// Refusals that name a file to move away.
fn follow_text(fs: &MemFs, refusal: &Refusal, id: &str) -> String {
    let text = refusal.to_string();
    assert!(
        text.contains("move it away and start again")
            || text.contains("move the file away and start again")
            || text.contains("move it out of the directory"),
        "{id}: {text}"
    );
    let path = refusal.place().0.expect("a file").to_owned();
    fs.remove(&path).expect("moved away");
    format!(
        "move {} away -> {}",
        path.file_name().expect("a name").display(),
        follow(fs, id)
    )
}

#[test]
fn every_refusal_of_the_damage_table_names_a_way_out_that_works() {
    let cases = std::fs::read_to_string(format!("{VECTORS}/recovery.jsonl")).expect("readable");
    let mut bases = BTreeMap::new();
    let mut table = String::new();
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).expect("JSON");
        let id = case["id"].as_str().expect("a name");
        let edits = case["edits"].as_array();
        let large = edits
            .into_iter()
            .flatten()
            .any(|edit| edit["append_zeros"].as_u64().is_some_and(|zeros| zeros > 1 << 24));
        if large || case.get("environment").is_some() || id == "metadata-dir-is-file" {
            continue;
        }
        let base = case["base"].as_str().expect("a name").to_owned();
        let (good, dir) = bases.entry(base).or_insert_with_key(|base| unpack(base));
        let fs = good.crash_image(Unsynced::Kept);
        for edit in edits.into_iter().flatten() {
            apply(&fs, edit);
        }
        let configured = kraft_log::ConfiguredDirectories {
            node_id: 1,
            metadata_dir: data(),
            log_dirs: &[],
        };
        // What is wrong with meta.properties says what to do itself; a log that opens needs nothing.
        if check_directories(&fs, configured).is_err() || verify(&fs, dir).is_ok() {
            continue;
        }
        writeln!(table, "{id}\n  {}", follow(&fs, id)).expect("text");
    }
    let path = format!("{VECTORS}/expected/ways-out.txt");
    if std::env::var_os("KRAFT_REWRITE").is_some() {
        std::fs::write(&path, &table).expect("written");
    }
    let expected = std::fs::read_to_string(&path).expect("readable");
    assert_eq!(table, expected);
}

/// No quorum comes to such an epoch, so it is damage and nobody's vote: whatever kept it would be refused again.
#[test]
fn a_stored_epoch_that_none_follows_is_lost_like_a_file_that_cannot_be_read() {
    let with_stored = |base: &str| {
        let (fs, dir) = unpack(base);
        let stored = quorum_state::load(&fs, &dir).expect("readable").expect("there");
        let beyond = ElectionState {
            epoch: Epoch(i32::MAX),
            ..stored
        };
        quorum_state::store(&fs, &dir, &beyond).expect("stored");
        fs.crash_image(Unsynced::Kept)
    };
    for (base, way) in [
        (
            "voter-changes-n1",
            "--new-identity -> 0..27 epoch 6, new directory id",
        ),
        ("pruned-killed", "--new-identity -> 29..37 epoch 2"),
        // Whoever is known by its node id alone cannot come back as somebody else.
        ("static0-follower", "restore-copy"),
    ] {
        assert_eq!(follow(&with_stored(base), base), way);
    }
    for form in [RecoverForm::Refetch, RecoverForm::SoleVoter] {
        let refused = plan(&with_stored("voter-changes-n1"), form).expect_err("it would keep the epoch");
        assert!(matches!(refused, RecoverError::ElectionLost { .. }), "{refused}");
    }
}

/// There is nothing in it that could be cut.
#[test]
fn a_log_that_ends_where_no_log_comes_to_is_fetched_again() {
    let (fs, dir) = unpack("voter-changes-n1");
    for (name, _) in files(&fs, &dir) {
        if name.starts_with("0000") || name == "leader-epoch-checkpoint" {
            fs.remove(&dir.join(name)).expect("removed");
        }
    }
    let id = SnapshotId {
        end_offset: MAX_OFFSET,
        epoch: Epoch(1),
    };
    let header = SnapshotHeader {
        last_contained_log_timestamp: 0,
        kraft_version: 1,
        voters: None,
    };
    let snapshot = SnapshotWriter::create(&fs, &dir, id, &header, || 0).expect("created");
    snapshot.freeze().expect("written");
    let mut batch = BatchBuilder::data(0);
    batch.push(b"one too many").expect("it fits");
    let segment = dir.join(format!("{MAX_OFFSET:020}.log"));
    let file = fs.open(&segment, Open::CreateNew).expect("created");
    file.write_all_at(&batch.build(MAX_OFFSET, 1), 0)
        .expect("written");
    let refused = plan(&fs, RecoverForm::Cut).expect_err("nothing is cut");
    assert!(matches!(refused, RecoverError::InTheWay(_)), "{refused}");
    assert_eq!(
        follow(&fs, "the end"),
        "--refetch -> 0..0 epoch 0, new directory id"
    );
}

/// A way out of something, and what has to hold at every moment of it at which a node would start.
struct Recovery {
    name: &'static str,
    base: &'static str,
    edits: &'static str,
    form: RecoverForm,
    harmless: fn(&State) -> bool,
    end: (i64, i64),
}

/// A directory on which a node would start.
struct State {
    log: (i64, i64),
    old_identity: bool,
    abstains: bool,
    epoch: i32,
}

const RECOVERIES: [Recovery; 8] = [
    Recovery {
        name: "garbage is cut",
        base: "small-killed",
        edits: r#"[{"file":"__cluster_metadata-0/00000000000000000000.log","append_hex":"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"}]"#,
        form: RecoverForm::Cut,
        harmless: |state| state.log == (0, 33) && state.old_identity,
        end: (0, 33),
    },
    Recovery {
        name: "segments behind a hole go",
        base: "segments-killed",
        edits: r#"[{"file":"__cluster_metadata-0/00000000000000000016.log","delete":true}]"#,
        form: RecoverForm::Cut,
        harmless: |state| state.log == (0, 16) && state.old_identity,
        end: (0, 16),
    },
    Recovery {
        name: "zeros behind a middle segment cost nothing",
        base: "segments-killed",
        edits: r#"[{"file":"__cluster_metadata-0/00000000000000000016.log","append_zeros":4096}]"#,
        form: RecoverForm::Cut,
        harmless: |state| state.log == (0, 27) && state.old_identity,
        end: (0, 27),
    },
    Recovery {
        name: "the log of one of two voters is fetched again",
        base: "voter-changes-n2",
        edits: "[]",
        form: RecoverForm::Refetch,
        harmless: |state| state.log == (0, 27) || !state.old_identity,
        end: (0, 0),
    },
    Recovery {
        name: "the log of a static voter is fetched again",
        base: "static0-follower",
        edits: "[]",
        form: RecoverForm::Refetch,
        harmless: |state| state.old_identity && (state.log.1 == STATIC_END || state.abstains),
        end: (0, 0),
    },
    Recovery {
        name: "one of two voters has lost its vote",
        base: "voter-changes-n1",
        edits: r#"[{"file":"__cluster_metadata-0/quorum-state","set_text":""}]"#,
        form: RecoverForm::NewIdentity,
        harmless: |state| state.log == (0, 27) && !state.old_identity,
        end: (0, 27),
    },
    Recovery {
        name: "the only voter has lost its vote",
        base: "pruned-killed",
        edits: r#"[{"file":"__cluster_metadata-0/quorum-state","delete":true}]"#,
        form: RecoverForm::NewIdentity,
        harmless: |state| state.log == (29, 37) && state.old_identity && state.epoch >= 1000,
        end: (29, 37),
    },
    Recovery {
        name: "the other voter is gone for good",
        base: "voter-changes-n1",
        edits: "[]",
        form: RecoverForm::SoleVoter,
        harmless: |state| {
            state.old_identity && (state.log == (0, 27) || (state.log == (0, 30) && state.epoch >= 1000))
        },
        end: (0, 30),
    },
];

/// Where the log of `static0-follower` ends.
const STATIC_END: i64 = 6;

impl Recovery {
    fn damaged(&self) -> MemFs {
        let (fs, _) = unpack(self.base);
        let edits: Value = serde_json::from_str(self.edits).expect("JSON");
        for edit in edits.as_array().expect("a list") {
            apply(&fs, edit);
        }
        fs.crash_image(Unsynced::Kept)
    }

    /// What a node would start on, if one would.
    fn state(&self, fs: &MemFs, old: Uuid) -> Option<State> {
        let verified = verify(fs, &partition()).ok()?;
        let properties = MetaProperties::load(fs, data())
            .expect("readable")
            .expect("it is there");
        let election = quorum_state::load(fs, &partition()).expect("readable");
        let no_vote = fs.metadata(&partition().join("kraft-no-vote")).expect("readable");
        Some(State {
            log: (verified.start, verified.end),
            old_identity: properties.directory_id == Some(old),
            abstains: no_vote.is_some(),
            epoch: election.expect("no node starts without it").epoch.0,
        })
    }

    /// Plans and acts again until there is nothing left to do.
    fn finish(&self, fs: &MemFs, old: Uuid) {
        for _ in 0..2 {
            if let Ok(plan) = plan(fs, self.form) {
                plan.carry_out(fs).expect("nothing fails any more");
            }
        }
        let state = self.state(fs, old);
        let state = state.unwrap_or_else(|| panic!("{}: still refused", self.name));
        assert!((self.harmless)(&state), "{}", self.name);
        assert_eq!(state.log, self.end, "{}", self.name);
    }
}

#[test]
fn a_crash_at_every_call_of_every_way_out_leaves_one_that_still_works_and_no_harm() {
    let seeds = (0..6).map(|seed| Unsynced::Torn { seed });
    let states: Vec<_> = [Unsynced::Lost, Unsynced::Kept]
        .into_iter()
        .chain(seeds)
        .collect();
    for recovery in &RECOVERIES {
        let damaged = recovery.damaged();
        let properties = MetaProperties::load(&damaged, data())
            .expect("readable")
            .expect("there");
        let old = properties.directory_id.expect("an id");
        let mut call = 0;
        loop {
            let fs = FaultyFs::new(damaged.crash_image(Unsynced::Kept));
            let plan = plan(&fs, recovery.form).unwrap_or_else(|error| panic!("{}: {error}", recovery.name));
            fs.arm(call, if call % 2 == 0 { Fault::Io } else { Fault::NoSpace });
            let done = plan.carry_out(&fs);
            for unsynced in &states {
                let image = fs.inner().crash_image(*unsynced);
                if let Some(state) = recovery.state(&image, old) {
                    assert!(
                        (recovery.harmless)(&state),
                        "{}: call {call}, {unsynced:?}",
                        recovery.name
                    );
                }
                recovery.finish(&image, old);
                check_copies(&damaged, &image, recovery.name);
            }
            match done {
                // The call that was to fail was never made: everything has been tried.
                Ok(()) => break,
                Err(error) => assert!(error.to_string().contains(DATA), "{error}"),
            }
            call += 1;
        }
        assert!(call > 3, "{}: {call} calls", recovery.name);
    }
}

#[test]
fn a_way_out_that_is_none_says_why_and_writes_nothing() {
    let refused = |base: &str, edits: &str, form| {
        let (fs, _) = unpack(base);
        let edits: Value = serde_json::from_str(edits).expect("JSON");
        for edit in edits.as_array().expect("a list") {
            apply(&fs, edit);
        }
        let before = all_files(&fs);
        let error = plan(&fs, form).expect_err("no way out");
        assert_eq!(all_files(&fs), before);
        error.to_string()
    };
    let lost = r#"[{"file":"__cluster_metadata-0/quorum-state","delete":true}]"#;
    let middle_flip =
        r#"[{"file":"__cluster_metadata-0/00000000000000000000.log","offset":1000,"write_hex":"ff"}]"#;
    let cases = [
        ("small-killed", "[]", RecoverForm::Cut, "there is nothing to cut"),
        ("small-killed", "[]", RecoverForm::Refetch, "the only voter"),
        (
            "small-killed",
            "[]",
            RecoverForm::NewIdentity,
            "the file is whole",
        ),
        (
            "small-killed",
            "[]",
            RecoverForm::SoleVoter,
            "the only voter already",
        ),
        (
            "voter-changes-n1",
            lost,
            RecoverForm::Refetch,
            "use --new-identity first",
        ),
        (
            "voter-changes-n1",
            lost,
            RecoverForm::SoleVoter,
            "use --new-identity first",
        ),
        ("voter-changes-n2", middle_flip, RecoverForm::Cut, "use --refetch"),
        (
            "static0-leader",
            lost,
            RecoverForm::NewIdentity,
            "another node.id",
        ),
        ("static0-leader", "[]", RecoverForm::SoleVoter, "leave only"),
        (
            "formatted-standalone",
            "[]",
            RecoverForm::NewIdentity,
            "has never been used",
        ),
    ];
    for (base, edits, form, reason) in cases {
        let text = refused(base, edits, form);
        assert!(text.contains(reason), "{base} {form:?}: {text}");
    }
}
