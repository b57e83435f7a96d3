// SPDX-License-Identifier: MIT
//! Threads: objects that others free, a static cache that several make, fork beside threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Barrier};
use std::thread;

use uslab::{Cache, Flags, OwnedBox, SlabBox, StaticCache};

const THREADS: usize = 4;
const EACH: usize = if cfg!(miri) { 30 } else { 5_000 };

static DROPS: AtomicUsize = AtomicUsize::new(0);

struct Message {
    number: usize,
    text: String,
}

impl Drop for Message {
    fn drop(&mut self) {
        DROPS.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn objects_go_from_thread_to_thread() {
    let cache = Arc::new(
        Cache::builder("messages")
            .flags(Flags::NO_MERGE)
            .build()
            .unwrap(),
    );
    let receivers: Vec<_> = (0..THREADS)
        .map(|_| {
            let (sender, receiver) = sync_channel::<OwnedBox<Message>>(100);
            let cache = Arc::clone(&cache);
            let maker = thread::spawn(move || {
                for number in 0..EACH {
                    let message = Message {
                        number,
                        text: number.to_string(),
                    };
                    sender
                        .send(OwnedBox::new(Arc::clone(&cache), message))
                        .unwrap();
                }
            });
            (maker, receiver)
        })
        .collect();

    for (maker, receiver) in receivers {
        let sum: usize = receiver
            .iter()
            .map(|message| {
                assert_eq!(message.text, message.number.to_string());
                message.number
            })
            .sum();
        maker.join().unwrap();
        assert_eq!(sum, EACH * (EACH - 1) / 2);
    }
    assert_eq!(DROPS.load(Ordering::Relaxed), THREADS * EACH);
    assert_eq!(cache.stats().objects, 0);
    assert_eq!(Arc::strong_count(&cache), 1);
}

#[test]
fn scoped_threads_borrow_a_cache() {
    let cache = Cache::builder("scoped")
        .flags(Flags::NO_MERGE)
        .build()
        .unwrap();
    let boxes: Vec<SlabBox<'_, usize>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|t| {
                let cache = &cache;
                scope.spawn(move || {
                    let mut kept = Vec::new();
                    for i in 0..EACH {
                        let number = cache.boxed(t * EACH + i);
                        let batch = cache.try_batch(i % 20, |i| i).unwrap();
                        assert!(batch.iter().copied().eq(0..i % 20));
                        if i % 10 == 0 {
                            kept.push(number);
                        }
                    }
                    kept
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });

    assert_eq!(cache.stats().objects, boxes.len());
    for (i, number) in boxes.iter().enumerate() {
        assert_eq!(**number, i * 10);
    }
}

#[test]
fn a_static_cache_is_made_once() {
    for _ in 0..if cfg!(miri) { 5 } else { 50 } {
        let cache = StaticCache::<u64>::with(Cache::builder("raced").flags(Flags::NO_MERGE));
        let barrier = Barrier::new(THREADS);
        let addresses: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        (
                            cache.get().unwrap().as_raw().as_ptr() as usize,
                            *cache.boxed(7),
                        )
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });

        assert!(addresses.iter().all(|&pair| pair == addresses[0]));
        assert_eq!(cache.stats().objects, 0);
    }
    static WRONG: StaticCache<u64> = StaticCache::new("");
    assert!(WRONG.get().is_err());
    assert!(thread::spawn(|| drop(WRONG.boxed(1))).join().is_err());
}

extern "C" {
    fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

/// What a child does: it has the parent's objects, and goes on with its caches.
fn child(cache: &Cache<u64>, inherited: SlabBox<'_, u64>) -> bool {
    let batch = cache.try_batch(100, |i| i as u64).unwrap();
    let right = *inherited == 42 && batch[99] == 99 && *cache.boxed(5) == 5;

    drop(inherited);
    right && cache.stats().objects >= 100
}

#[test]
#[cfg_attr(miri, ignore)]
fn a_child_goes_on() {
    let cache = Cache::builder("forked")
        .flags(Flags::NO_MERGE)
        .build()
        .unwrap();
    let stop = AtomicBool::new(false);

    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let kept: Vec<_> = (0..100).map(|i| cache.boxed(i)).collect();
                    assert_eq!(*kept[99], 99);
                }
            });
        }
        for _ in 0..20 {
            let inherited = cache.boxed(42);
            let mut status = -1;
            // SAFETY: the child calls the library, and _exit(). libc's allocator has handlers, too.
            unsafe {
                let pid = fork();
                assert!(pid >= 0);
                if pid == 0 {
                    _exit(!child(&cache, inherited) as i32);
                }
                assert_eq!(waitpid(pid, &mut status, 0), pid);
            }
            assert_eq!(status, 0);
        }
        stop.store(true, Ordering::Relaxed);
    });
}
