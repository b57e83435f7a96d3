// SPDX-License-Identifier: MIT
//! The loads that each program of benches/ runs on its global allocator.

use std::collections::{BTreeMap, LinkedList};
use std::hint::black_box;
use std::ops::Deref;
use std::time::Duration;

mod cpu_time;
pub use cpu_time::CpuTime;

pub type Criterion = criterion::Criterion<CpuTime>;

/// What is allocated: 64 bytes.
pub type Value = [u64; 8];

pub fn criterion() -> Criterion {
    criterion::Criterion::default()
        .with_measurement(CpuTime)
        .sample_size(30)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args()
}

/// A number that the compiler does not know: in a permutation of 0 to `n`, a power of two.
fn scattered(i: usize, n: usize) -> usize {
    i * 2_654_435_761 % n
}

fn tree(n: usize) -> usize {
    let mut tree = BTreeMap::new();

    for i in 0..n {
        tree.insert(scattered(i, n), Box::new([i as u64; 8]));
    }
    for i in 0..n / 2 {
        tree.remove(&scattered(i, n));
    }
    for i in 0..n / 2 {
        tree.insert(scattered(i, n), Box::new([i as u64; 8]));
    }
    tree.len()
}

fn list(n: usize) -> usize {
    let mut list = LinkedList::new();

    for i in 0..n {
        list.push_back([i as u64; 7]);
        if i % 4 == 3 {
            list.pop_front();
        }
    }
    list.len()
}

fn texts(n: usize) -> usize {
    let mut texts = Vec::new();

    for i in 0..n {
        texts.push("x".repeat(scattered(i, 512)));
        if i % 3 == 2 {
            texts.swap_remove(scattered(i, 512) % texts.len());
        }
    }
    texts.len()
}

/// The compiler must have written the value. The box itself is not looked at: its two words would go
/// through memory, and be read as one, which costs more than the box.
#[inline]
pub fn seen<B: Deref<Target = Value>>(boxed: B) -> B {
    black_box(&*boxed);
    boxed
}

/// All of them, under that name.
pub fn all(c: &mut Criterion, allocator: &str) {
    c.bench_function(&format!("pair/{allocator}"), |b| {
        b.iter(|| drop(seen(Box::<Value>::new(black_box([1; 8])))))
    });
    c.bench_function(&format!("batch of 1000/{allocator}"), |b| {
        let mut boxes: Vec<Box<Value>> = Vec::with_capacity(1000);
        b.iter(|| {
            boxes.extend((0..1000).map(|_| Box::new(black_box([1; 8]))));
            black_box(&mut boxes).clear();
        })
    });
    c.bench_function(&format!("list of 4096/{allocator}"), |b| {
        b.iter(|| list(black_box(4096)))
    });
    c.bench_function(&format!("tree of 4096/{allocator}"), |b| {
        b.iter(|| tree(black_box(4096)))
    });
    c.bench_function(&format!("texts, 4096/{allocator}"), |b| {
        b.iter(|| texts(black_box(4096)))
    });
}
