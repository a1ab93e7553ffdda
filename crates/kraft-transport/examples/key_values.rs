//! A node of a replicated key-value store. Run it once for each voter, in a directory of your choice:
//!
//! `key_values 1`, `key_values 2` and `key_values 3`. Lines on stdin are requests: `KEY=VALUE` puts, `KEY` reads, and
//! `resign` gives the leadership away. Puts work on the leader, reads everywhere.

#[path = "kv/machine.rs"]
mod machine;

use kraft_transport::{NodeConfig, node};
use machine::KeyValues;
use std::{error::Error, io};

const VOTERS: &[(i32, &str)] = &[
    (1, "127.0.0.1:19091"),
    (2, "127.0.0.1:19092"),
    (3, "127.0.0.1:19093"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let id: i32 = std::env::args().nth(1).ok_or("which voter? 1, 2 or 3")?.parse()?;
    let config = NodeConfig::voter("key-values-example", id, VOTERS, format!("node-{id}"))?;
    let runtime = node::runtime()?;
    let node = runtime.block_on(node::start(config, KeyValues::default()))?;
    println!("node {id} runs");
    for line in io::stdin().lines() {
        let line = line?;
        if line == "resign" {
            println!("{:?}", runtime.block_on(node.resign()));
        } else if line.contains('=') {
            match runtime.block_on(node.submit(vec![line], None)) {
                Ok(at) => println!("committed at {}", at.base_offset),
                Err(error) => println!("{error}"),
            }
        } else {
            println!("{:?}", node.image().get(&line));
        }
    }
    Ok(runtime.block_on(node.shutdown())?)
}
