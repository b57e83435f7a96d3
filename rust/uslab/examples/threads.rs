// SPDX-License-Identifier: MIT
//! One cache for the whole program, and one that its users share: boxes go from thread to thread.
//!
//! $ cargo run --example threads
//! 10000 jobs, of which 0 are left
//! the log ends with its last line

use std::sync::{mpsc, Arc};
use std::thread;

use uslab::{Cache, OwnedBox, SlabBox, StaticCache};

struct Job {
    number: u64,
}

static JOBS: StaticCache<Job> =
    StaticCache::with(Cache::builder("jobs").flags(uslab::Flags::NO_MERGE));

fn main() {
    let (sender, receiver) = mpsc::channel::<SlabBox<'static, Job>>();
    let worker = thread::spawn(move || receiver.iter().filter(|job| job.number < 10_000).count());

    for number in 0..10_000 {
        sender.send(JOBS.boxed(Job { number })).unwrap();
    }
    drop(sender);
    let done = worker.join().unwrap();
    println!("{} jobs, of which {} are left", done, JOBS.stats().objects);

    let log = Arc::new(Cache::new("log").unwrap());
    let line = OwnedBox::new(
        Arc::clone(&log),
        String::from("the log ends with its last line"),
    );
    drop(log);
    println!("{}", line);
}
