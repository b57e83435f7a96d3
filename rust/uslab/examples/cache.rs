// SPDX-License-Identifier: MIT
//! A cache of a type: boxes, a batch, numbers.
//!
//! $ cargo run --example cache
//! nodes: 56 bytes, 3 objects
//! sum 6, then 1000 more
//! all back: true

use uslab::{Cache, Flags};

struct Node {
    value: u64,
    _payload: [u64; 6],
}

fn node(value: usize) -> Node {
    Node {
        value: value as u64,
        _payload: [0; 6],
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let nodes = Cache::builder("nodes").flags(Flags::NO_MERGE).build()?;
    let boxes: Vec<_> = (1..4).map(|value| nodes.boxed(node(value))).collect();
    let stats = nodes.stats();

    println!(
        "{}: {} bytes, {} objects",
        nodes.name(),
        stats.object_size,
        stats.objects
    );
    let batch = nodes.try_batch(1000, node)?;
    let sum: u64 = boxes.iter().map(|node| node.value).sum();
    println!("sum {}, then {} more", sum, batch.len());
    drop((boxes, batch)); // or the cache could not end
    println!("all back: {}", nodes.shrink());
    Ok(())
}
