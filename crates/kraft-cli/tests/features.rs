//! `kraft features` and a controller of ours.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::Process;
use kraft_cli::local::HeldPort;

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");

/// A voter that is alone, at kraft.version 0 and the levels of a release; its process with its port, and its address.
fn lone_voter(folder: &Path, release: &str) -> ((Process, HeldPort), String) {
    let port = HeldPort::find().unwrap();
    let address = format!("127.0.0.1:{}", port.number());
    let config = folder.join("server.properties");
    let text = format!(
        "process.roles=controller\nnode.id=1\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
         listeners=CONTROLLER://{address}\ncontroller.quorum.voters=1@{address}\n",
        folder.join("data").display()
    );
    fs::write(&config, text).unwrap();
    let cluster = ["-t", "6PMpHYL9QkeyXRj9Nrp4KA", "--release-version", release];
    let mut formatting = Command::new(KRAFT);
    formatting.arg("format").arg("-c").arg(&config).args(cluster);
    let output = formatting.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut running = Command::new(KRAFT);
    running.arg("run").arg("-c").arg(&config);
    let running = running
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut process = Process(running.spawn().unwrap());
    let mut ready = String::new();
    let mut out = BufReader::new(process.0.stdout.take().unwrap());
    out.read_line(&mut ready).unwrap();
    assert!(ready.starts_with("ready node.id=1"), "{ready}");
    ((process, port), address)
}

fn features(arguments: &[&str]) -> Output {
    Command::new(KRAFT)
        .arg("features")
        .args(arguments)
        .output()
        .unwrap()
}

/// Exit code, stdout and stderr.
fn told(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn done(line: &str) -> (Option<i32>, String, String) {
    (Some(0), format!("{line}\n"), String::new())
}

fn refused(line: &str) -> (Option<i32>, String, String) {
    let failure = "kraft: 1 out of 1 operation(s) failed.\n";
    (Some(1), format!("{line}\n"), failure.to_owned())
}

/// The line of a feature, its blanks made one.
fn line(output: &Output, feature: &str) -> String {
    let (code, stdout, stderr) = told(output);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(stdout.lines().count(), 7, "{stdout}");
    let start = format!("Feature: {feature} ");
    let line = stdout.lines().find(|line| line.starts_with(&start)).unwrap();
    let (line, epoch) = line.rsplit_once("  Epoch: ").unwrap();
    assert!(epoch.parse::<i64>().unwrap() >= 0, "{epoch}");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn levels_of_a_running_controller() {
    let folder = tempfile::tempdir().unwrap();
    let (_process, address) = lone_voter(folder.path(), "4.0");
    // Where Kafka's tool has the address.
    let ask = |arguments: &[&str]| features(&[&["--bootstrap-controller", &address], arguments].concat());
    let kraft_version = |level| {
        format!(
            "Feature: kraft.version SupportedMinVersion: 0 SupportedMaxVersion: 1 FinalizedVersionLevel: {level}"
        )
    };
    let upgrade = ["upgrade", "--feature", "kraft.version=1"];

    let described = ask(&["describe"]);
    assert_eq!(line(&described, "kraft.version"), kraft_version(0));
    assert_eq!(
        line(&described, "metadata.version"),
        "Feature: metadata.version SupportedMinVersion: 3.3-IV3 SupportedMaxVersion: 4.4-IV2 \
         FinalizedVersionLevel: 4.0-IV3"
    );

    let rehearsed = ask(&[&upgrade[..], &["--dry-run"]].concat());
    assert_eq!(told(&rehearsed), done("kraft.version can be upgraded to 1."));
    assert_eq!(line(&ask(&["describe"]), "kraft.version"), kraft_version(0));
    assert_eq!(told(&ask(&upgrade)), done("kraft.version was upgraded to 1."));
    assert_eq!(line(&ask(&["describe"]), "kraft.version"), kraft_version(1));
    // Once more is no error.
    assert_eq!(told(&ask(&upgrade)), done("kraft.version was upgraded to 1."));

    let no_downgrade = "The update failed for all features since the following feature had an error: Invalid update \
                        version 0 for feature kraft.version. Can't downgrade the version of this feature.";
    for manner in [&[][..], &["--unsafe"]] {
        assert_eq!(
            told(&ask(
                &[&["downgrade", "--feature", "kraft.version=0"], manner].concat()
            )),
            refused(&format!("Could not downgrade kraft.version to 0. {no_downgrade}"))
        );
    }
    assert_eq!(
        told(&ask(&["disable", "--feature", "kraft.version", "--dry-run"])),
        refused(&format!("Can not disable kraft.version. {no_downgrade}"))
    );

    // Neither the change nor the exit code depends on a reader.
    let unread = |command: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let place = ["features", "--bootstrap-controller", &address];
        let mut kraft = Command::new(KRAFT);
        kraft.args(place).args(command).stdout(writer);
        told(&kraft.output().unwrap())
    };
    assert_eq!(unread(&upgrade), (Some(0), String::new(), String::new()));
    assert_eq!(unread(&["describe"]), (Some(0), String::new(), String::new()));
    let (_, _, failure) = refused("");
    assert_eq!(
        unread(&["disable", "--feature", "kraft.version"]),
        (Some(1), String::new(), failure)
    );

    let json = ask(&["describe", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["supportedFeatures"].as_array().unwrap().len(), 7, "{json}");
    let levels = json["finalizedFeatures"].as_array().unwrap();
    assert!(
        levels
            .iter()
            .any(|feature| feature["name"] == "kraft.version" && feature["maxVersionLevel"] == 1),
        "{json}"
    );
}

#[test]
fn levels_that_a_controller_does_not_grant() {
    let folder = tempfile::tempdir().unwrap();
    let (_process, address) = lone_voter(folder.path(), "4.0");
    let ask = |arguments: &[&str]| features(&[arguments, &["--bootstrap-controller", &address]].concat());
    let for_all =
        "The update failed for all features since the following feature had an error: Invalid update version";

    assert_eq!(
        told(&ask(&["upgrade", "--feature", "no.such=1"])),
        refused(&format!(
            "Could not upgrade no.such to 1. {for_all} 1 for feature no.such. Local controller 1 does not support this \
             feature."
        ))
    );
    assert_eq!(
        told(&ask(&["upgrade", "--metadata", "4.5-IV0"])),
        refused(&format!(
            " `metadata` flag is deprecated and may be removed in a future release.\n\
             Could not upgrade metadata.version to 34. {for_all} 34 for feature metadata.version. Local controller 1 \
             only supports versions 7-33"
        ))
    );
    assert_eq!(
        told(&ask(&["upgrade", "--feature", "metadata.version=7"])),
        refused(&format!(
            "Could not upgrade metadata.version to 7. {for_all} 7 for feature metadata.version. Can't downgrade the \
             version of this feature without setting the upgrade type to either safe or unsafe downgrade."
        ))
    );
    let lower = told(&ask(&["downgrade", "--metadata", "3.9-IV0"])).1;
    assert!(
        lower.starts_with(
            " `metadata` flag is deprecated and may be removed in a future release.\n\
             Could not downgrade metadata.version to 21. "
        ),
        "{lower}"
    );
    let json = ask(&["downgrade", "--metadata", "3.9-IV0", "--json"]);
    serde_json::from_slice::<serde_json::Value>(&json.stdout).unwrap();
    // What the cluster is at, it may be asked for.
    assert_eq!(
        told(&ask(&["upgrade", "--feature", "metadata.version=25"])),
        done("metadata.version was upgraded to 25.")
    );
    assert_eq!(
        told(&ask(&["upgrade", "--feature", "metadata.version=26"])),
        refused(&format!(
            "Could not upgrade metadata.version to 26. {for_all} 26 for feature metadata.version. This controller does \
             not know what every broker and voter supports, and changes no level. A Kafka controller that leads can."
        ))
    );

    let (code, stdout, stderr) = told(&ask(&["upgrade", "--release-version", "3.9", "--json"]));
    assert_eq!(code, Some(1));
    assert_eq!(stderr, "kraft: 2 out of 2 operation(s) failed.\n");
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), 2, "{json}");
    assert!(
        results
            .iter()
            .all(|result| result["errorCode"] == 95 && result["errorMessage"].is_string()),
        "{json}"
    );
}

#[test]
fn a_node_is_asked_by_its_id_once_it_is_registered() {
    let folder = tempfile::tempdir().unwrap();
    let (_process, address) = lone_voter(folder.path(), "4.0");
    let ask = |id: &str, timeout: &str| {
        let place = ["--bootstrap-controller", &address, "--timeout", timeout];
        features(&[&place[..], &["describe", "--node-id", id]].concat())
    };
    assert!(line(&ask("1", "30"), "group.version").contains("FinalizedVersionLevel: 1"));
    // A busy machine may need more than a second for a single attempt.
    let expected = |seconds: &str| {
        format!(
            "kraft: no answer of node 7 within {seconds} s; last tried {address}: node 7 is not among those that are \
             registered there\n"
        )
    };
    let mut said = Vec::new();
    let is_told = ["1", "5", "25"].iter().any(|seconds| {
        let (code, stdout, stderr) = told(&ask("7", seconds));
        assert_eq!((code, stdout.as_str()), (Some(1), ""));
        let is_right = stderr == expected(seconds);
        said.push(stderr);
        is_right
    });
    assert!(is_told, "{said:?}");
}

#[test]
fn a_leader_is_found_where_no_controller_can_register() {
    let folder = tempfile::tempdir().unwrap();
    let (_process, address) = lone_voter(folder.path(), "3.6");
    let ask = |arguments: &[&str]| features(&[&["--bootstrap-controller", &address], arguments].concat());
    let described = ask(&["describe"]);
    assert!(line(&described, "metadata.version").ends_with("FinalizedVersionLevel: 3.6-IV2"));
    let upgrade = ask(&["upgrade", "--feature", "kraft.version=1"]);
    assert_eq!(told(&upgrade), done("kraft.version was upgraded to 1."));
    let quorum = [
        "quorum",
        "describe",
        "--status",
        "--bootstrap-controller",
        &address,
    ];
    let status = told(&Command::new(KRAFT).args(quorum).output().unwrap()).1;
    assert!(
        status.starts_with("ClusterId:              unknown\nLeaderId:               1\n"),
        "{status}"
    );
    let by_id = features(&[
        "describe",
        "--node-id=1",
        "--timeout=1",
        "--bootstrap-controller",
        &address,
    ]);
    assert_eq!(by_id.status.code(), Some(1), "{by_id:?}");
}

#[test]
fn nobody_is_there() {
    // A port of the system that nobody listens to.
    let place = ["--bootstrap-controller", "127.0.0.1:1", "--timeout", "1"];
    for command in [&["describe"][..], &["upgrade", "--feature", "kraft.version=1"]] {
        let (code, stdout, stderr) = told(&features(&[&place[..], command].concat()));
        assert_eq!((code, stdout.as_str()), (Some(1), ""));
        assert!(
            stderr.starts_with("kraft: no active controller found within 1 s; last tried 127.0.0.1:1: "),
            "{stderr}"
        );
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}

#[test]
fn wrong_usage_asks_nobody() {
    let nobody = ["--bootstrap-controller", "127.0.0.1:1"];
    for (arguments, part) in [
        (&["upgrade"][..], "--feature"),
        (&["disable"], "--feature"),
        (&["upgrade", "--feature", "kraft.version"], "NAME=LEVEL"),
        (&["upgrade", "--feature", "kraft.version=x"], "NAME=LEVEL"),
        (&["upgrade", "--feature", "kraft.version=-1"], "NAME=LEVEL"),
        (&["upgrade", "--feature", "=1"], "NAME=LEVEL"),
        (&["upgrade", "--feature", "a=0"], "use downgrade or disable"),
        (
            &["upgrade", "--feature", "a=1", "--feature", "a=2"],
            "more than once",
        ),
        (
            &[
                "downgrade",
                "--metadata",
                "4.0",
                "--feature",
                "metadata.version=25",
            ],
            "more than once",
        ),
        (&["disable", "--feature", "a", "--feature", "a"], "more than once"),
        (&["disable", "--feature", " "], "name of a feature"),
        (
            &["upgrade", "--release-version", "4.4", "--feature", "a=1"],
            "cannot be used with",
        ),
        (&["upgrade", "--feature", "a=1", "--unsafe"], "--unsafe"),
        (&["describe", "--node-id=-1"], "--node-id"),
        (&["describe", "--timeout", "18446744073709551615"], "--timeout"),
        (
            &["describe", "--bootstrap-server", "127.0.0.1:1"],
            "exactly one of",
        ),
        (&[], "Usage"),
    ] {
        let (code, stdout, stderr) = told(&features(&[&nobody[..], arguments].concat()));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(part), "{arguments:?}: {stderr}");
    }
    let (code, _, stderr) = told(&features(&["describe"]));
    assert_eq!(code, Some(2), "{stderr}");
}

#[test]
fn releases_and_their_levels() {
    let newest = "metadata.version=33 (4.4-IV2)\nkraft.version=1\ntransaction.version=2\ngroup.version=1\n\
                  eligible.leader.replicas.version=1\nshare.version=2\nstreams.version=1";
    assert_eq!(told(&features(&["version-mapping"])), done(newest));
    let older = features(&["version-mapping", "--release-version", "4.1.7"]);
    let expected = "metadata.version=27 (4.1.7)\nkraft.version=1\ntransaction.version=2\ngroup.version=1\n\
                    eligible.leader.replicas.version=1\nshare.version=0\nstreams.version=0";
    assert_eq!(told(&older), done(expected));
    let json = features(&["version-mapping", "--release-version", "3.3-IV3", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (&json["metadata.version"], &json["kraft.version"]),
        (&7.into(), &0.into())
    );
    // A release that is not out has no newest level.
    for unknown in ["9.9", "4.5", "4"] {
        for command in [
            &["version-mapping"][..],
            &["upgrade", "--bootstrap-controller", "127.0.0.1:1"],
        ] {
            let arguments = [command, &["--release-version", unknown]].concat();
            let (code, stdout, stderr) = told(&features(&arguments));
            assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
            let start = format!("kraft: --release-version {unknown}: no such release");
            assert!(stderr.starts_with(&start), "{stderr}");
        }
    }
}

#[test]
fn what_a_level_needs() {
    let ask = |arguments: &[&str]| told(&features(&[&["feature-dependencies"], arguments].concat()));
    let several = [
        "--feature",
        "metadata.version=23",
        "--feature",
        "eligible.leader.replicas.version=1",
        "--feature",
        "eligible.leader.replicas.version=0",
        "--feature",
        "kraft.version=1",
    ];
    let expected = "metadata.version=23 (4.0-IV1) has no dependencies.\n\
                    eligible.leader.replicas.version=1 requires:\n    metadata.version=23 (4.0-IV1)\n\
                    eligible.leader.replicas.version=0 has no dependencies.\nkraft.version=1 has no dependencies.";
    assert_eq!(ask(&several), done(expected));
    assert_eq!(
        ask(&["--feature", "eligible.leader.replicas.version=1", "--json"]),
        done(
            "{\"feature\":\"eligible.leader.replicas.version\",\"level\":1,\"requires\":{\"metadata.version\":23}}"
        )
    );
    for (given, part) in [
        ("metadata.version=99", "those of metadata.version are 7 to 34"),
        ("kraft.version=9", "those of kraft.version are 0 to 1"),
        ("no.such=1", "no such feature"),
    ] {
        let (code, stdout, stderr) = ask(&["--feature", given]);
        assert_eq!((code, stdout.as_str()), (Some(1), ""));
        assert!(stderr.starts_with("kraft: ") && stderr.contains(part), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    let (code, _, stderr) = ask(&[]);
    assert_eq!(code, Some(2), "{stderr}");
}
