//! The quorum at kraft.version 0, whose three voters stand in the configuration; node 2 leads.

use std::fs;

use crate::ask;
use crate::compare::Context;
use crate::node::{Node, eventually};
use crate::ports::Ports;
use crate::quorum::{Quorum, STATIC};
use crate::report::Report;
use crate::row::rows;

pub(crate) fn interrogate() -> Report {
    let ports = Ports::free(&STATIC.ports);
    let mut quorum = Quorum::start(STATIC, &ports);
    let apis: std::collections::BTreeSet<_> = quorum
        .node(2)
        .versions(0)
        .api_keys
        .iter()
        .map(|api| api.api_key)
        .collect();
    let mut report = Report::default();
    for row in rows("static") {
        let last = row.id() == "static-114";
        if last {
            third_voter_reports(&mut quorum);
        }
        let context = Context {
            apis: apis.clone(),
            ports: &ports,
            quorum: Some(&quorum),
            moving: false,
            newest: quorum.recorded.cut,
        };
        let mut result = ask(&context, quorum.node(row.node()), &row);
        if last {
            eventually("every voter has reported", || {
                result = ask(&context, quorum.node(2), &row);
                result.is_ok()
            });
        }
        report.add(row.id(), result);
    }
    report
}

/// A voter says what it is twice its fetch timeout after it has begun to follow.
fn third_voter_reports(quorum: &mut Quorum) {
    let third = quorum.nodes.pop().unwrap();
    let home = third.folder.clone();
    drop(third);
    let file = home.join("server.properties");
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replace("fetch.timeout.ms=600000", "fetch.timeout.ms=1000");
    fs::write(&file, text).unwrap();
    quorum.nodes.push(Node::start(&home));
}
