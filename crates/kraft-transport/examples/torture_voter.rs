//! The voter that `cargo xtask torture` kills, stops, pauses and cuts off: `torture_voter ID DIR HOST:PORT...`, an address for
//! each voter from 1 on.
//!
//! Lines on stdin are requests, all of which run at the same time; the answer begins with the number of the request.
//!
//! | request | answers |
//! | --- | --- |
//! | `N put VALUE...` | `N ok OFFSET`; `N refused LEADER`, which never comes true; `N open`, of which nobody knows |
//! | `N read` | `N saw OFFSET DIGEST`: everything up to there; `N refused LEADER` |
//! | `N state` | `N state LEADS OFFSET DIGEST`, of what this node has applied |
//! | `N resign` | `N resigned`, `N refused LEADER` |
//!
//! LEADER is 0 where none is known. The node ends by SIGTERM, or with its stdin.

#[path = "torture/machine.rs"]
mod machine;

use kraft_transport::{Handle, NodeConfig, RaftError, node};
use machine::Journal;
use std::{error::Error, io, thread, time::Duration};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};

fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    let usage = "usage: torture_voter ID DIR HOST:PORT...";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [id, dir, addresses @ ..] = arguments.as_slice() else {
        return Err(usage.into());
    };
    let voters: Vec<(i32, &str)> = (1..).zip(addresses.iter().map(String::as_str)).collect();
    let mut config = NodeConfig::voter("torture", id.parse()?, &voters, dir)?;
    // Shorter than by default, so that more happens in the same time.
    config.engine.core.election_timeout = Duration::from_millis(400);
    config.engine.core.fetch_timeout = Duration::from_millis(800);
    config.engine.core.request_timeout = Duration::from_millis(800);
    // Many small segments and snapshots, and every segment is kept for the check at the end.
    config.engine.snapshot_max_new_bytes = 256 * 1024;
    config.log.segment_bytes = 1024 * 1024;
    config.log.retention.bytes = None;
    config.log.retention.age_ms = None;
    node::runtime()?.block_on(serve(config))
}

async fn serve(config: NodeConfig<kraft_fs::RealFs>) -> Result<(), Box<dyn Error>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let node = node::start(config, Journal::default()).await?;
    println!("ready");
    let (sender, mut lines) = mpsc::channel(100);
    thread::spawn(move || {
        let lines = io::stdin().lines().map_while(Result::ok);
        lines
            .map(|line| sender.blocking_send(line))
            .all(|sent| sent.is_ok())
    });
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) => drop(tokio::spawn(answer(node.clone(), line))),
                None => break,
            },
            _ = terminate.recv() => break,
            ended = node.ended() => return Ok(ended?),
        }
    }
    Ok(node.shutdown().await?)
}

async fn answer(node: Handle<Journal>, line: String) {
    let mut words = line.split(' ');
    let (number, request) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let answer = match request {
        "put" => match node.submit(words.map(str::to_owned).collect(), None).await {
            Ok(written) => format!("ok {}", written.base_offset),
            Err(error) => failed(&error),
        },
        "read" => match node.read_barrier().await {
            Ok(()) => {
                let seen = node.image();
                format!("saw {} {}", seen.at.last_offset, seen.digest)
            }
            Err(error) => failed(&error),
        },
        "state" => {
            let applied = node.image();
            format!(
                "state {} {} {}",
                node.state().leading,
                applied.at.last_offset,
                applied.digest
            )
        }
        "resign" => match node.resign().await {
            Ok(_) => "resigned".to_owned(),
            Err(error) => failed(&error),
        },
        other => format!("unknown request {other:?}"),
    };
    println!("{number} {answer}");
}

/// What a client has to know of an error: whether the change may still come true, and who leads.
fn failed(error: &RaftError) -> String {
    match error {
        RaftError::Unknown | RaftError::Stopped => "open".to_owned(),
        RaftError::NotLeader { leader, .. } => format!("refused {}", leader.map_or(0, |id| id.0)),
        _ => "refused 0".to_owned(),
    }
}
