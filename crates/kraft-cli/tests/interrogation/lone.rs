//! One of three voters, the others of which never run. What it answers follows from the questions before.

use std::fs;
use std::path::Path;

use crate::ask;
use crate::compare::Context;
use crate::node::{Node, kraft};
use crate::ports::Ports;
use crate::quorum::STILL;
use crate::report::Report;
use crate::row::rows;

pub(crate) fn dynamic() -> Report {
    let ports = Ports::free(&[57061, 51503, 38075]);
    let voters = [
        (ports.of(57061), "uqPYcG5TRbuS26Pxnk1D8A"),
        (ports.of(51503), "XNDeTwxsSFKmuSpbWiZPww"),
        (ports.of(38075), "c1kl7LaYSiiiH1ZtVPwsaw"),
    ];
    let folder = tempfile::tempdir().unwrap();
    format_lone(folder.path(), "saikH-KiSA2V-nDPxaQxLg", &voters);
    interrogate("lone-dynamic", &Node::start(folder.path()), &ports)
}

/// Formats the first of some voters.
pub(crate) fn format_lone(folder: &Path, cluster_id: &str, voters: &[(u16, &str)]) {
    let servers: Vec<_> = voters
        .iter()
        .map(|(port, _)| format!("127.0.0.1:{port}"))
        .collect();
    let mut initial = Vec::new();
    for (id, (port, directory_id)) in (1..).zip(voters) {
        initial.push(format!("{id}@127.0.0.1:{port}:{directory_id}"));
    }
    let settings = format!(
        "advertised.listeners=CONTROLLER://{}\ncontroller.quorum.bootstrap.servers={}\n{STILL}",
        servers[0],
        servers.join(",")
    );
    let initial = initial.join(",");
    format(
        folder,
        &settings,
        &["-t", cluster_id, "--initial-controllers", &initial],
    );
}

pub(crate) fn fixed() -> Report {
    let folder = tempfile::tempdir().unwrap();
    let ports = Ports::free(&[55661, 50943, 47313]);
    let [one, two, three] = [55661, 50943, 47313].map(|port| ports.of(port));
    let settings = format!(
        "advertised.listeners=CONTROLLER://127.0.0.1:{one}\n\
         controller.quorum.voters=1@127.0.0.1:{one},2@127.0.0.1:{two},3@127.0.0.1:{three}\n{STILL}"
    );
    format(folder.path(), &settings, &["-t", "REdFOYogTNatY4ZYURrzcQ"]);
    let properties = folder.path().join("data/meta.properties");
    let text = fs::read_to_string(&properties).unwrap();
    let lines = text.lines().map(|line| match line.starts_with("directory.id=") {
        true => "directory.id=SvVxdCWoiLCMlL3RTotHHA\n".to_owned(),
        false => format!("{line}\n"),
    });
    fs::write(&properties, lines.collect::<String>()).unwrap();
    interrogate("lone-static-b", &Node::start(folder.path()), &ports)
}

/// Writes a configuration and formats the directory that it names.
pub(crate) fn format(folder: &Path, settings: &str, how: &[&str]) {
    let (config, data) = (folder.join("server.properties"), folder.join("data"));
    let text = format!(
        "process.roles=controller\nnode.id=1\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
         listeners=CONTROLLER://127.0.0.1:0\n{settings}\n",
        data.display()
    );
    fs::write(&config, text).unwrap();
    kraft(&[&["format", "-c", config.to_str().unwrap()], how].concat());
}

fn interrogate(file: &str, node: &Node, ports: &Ports) -> Report {
    let context = Context::of(node, ports);
    let mut report = Report::default();
    for row in rows(file) {
        report.add(row.id(), ask(&context, node, &row));
    }
    report
}
