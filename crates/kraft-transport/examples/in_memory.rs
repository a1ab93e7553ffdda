//! A quorum of three in the memory of one process, as a unit test of an embedder would have it.

#[path = "kv/machine.rs"]
mod machine;

use kraft_transport::{memory::MemoryQuorum, node};
use machine::{KeyValues, put};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    node::runtime()?.block_on(async {
        let mut quorum = MemoryQuorum::start(3, KeyValues::default).await?;
        let first = quorum.leader().await;
        first.submit(vec![put("color", "blue")], None).await?;
        println!(
            "node {} leads, and color is {}",
            first.node_id(),
            first.image()["color"]
        );

        quorum.halt(first.node_id()).await?;
        let next = quorum.leader().await;
        println!(
            "node {} leads, and color is {}",
            next.node_id(),
            next.image()["color"]
        );
        next.submit(vec![put("color", "green")], None).await?;

        quorum.restart(first.node_id()).await?;
        let back = quorum.node(first.node_id()).ok_or("it was started")?;
        let mut image = back.watch_image();
        image
            .wait_for(|entries| entries.get("color").is_some_and(|color| color == "green"))
            .await?;
        println!("node {} is back, and color is green", back.node_id());
        Ok(())
    })
}
