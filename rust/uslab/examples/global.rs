// SPDX-License-Identifier: MIT
//! A program whose Box, Vec, String and maps are kmalloc's.
//!
//! $ cargo run --example global
//! 1000 words, the longest has 4 bytes

use std::collections::BTreeMap;

#[global_allocator]
static GLOBAL: uslab::Uslab = uslab::Uslab;

fn main() {
    let mut words = BTreeMap::new();

    for i in 1..=1000 {
        words.insert(i.to_string(), i);
    }
    let longest = words.keys().map(String::len).max().unwrap_or(0);
    println!("{} words, the longest has {} bytes", words.len(), longest);
}
