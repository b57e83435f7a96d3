// SPDX-License-Identifier: MIT
//! Caches of a type.

use std::hint::black_box;
use std::sync::Arc;

use uslab::{Batch, Cache, OwnedBox, SlabBox};
use uslab_bench::{seen, Value};

fn main() {
    let mut c = uslab_bench::criterion();
    let cache = Arc::new(Cache::<Value>::new("bench").unwrap());

    c.bench_function("pair/SlabBox", |b| {
        b.iter(|| drop(seen(SlabBox::new(&*cache, black_box([1; 8])))))
    });
    c.bench_function("pair/OwnedBox", |b| {
        b.iter(|| drop(seen(OwnedBox::new(Arc::clone(&cache), black_box([1; 8])))))
    });
    c.bench_function("batch of 1000/SlabBox", |b| {
        let mut boxes: Vec<SlabBox<'_, Value>> = Vec::with_capacity(1000);
        b.iter(|| {
            boxes.extend((0..1000).map(|_| SlabBox::new(&*cache, black_box([1; 8]))));
            black_box(&mut boxes).clear();
        })
    });
    c.bench_function("batch of 1000/Batch", |b| {
        b.iter(|| black_box(Batch::try_new(&*cache, 1000, |_| black_box([1; 8])).unwrap()))
    });
    c.final_summary();
}
