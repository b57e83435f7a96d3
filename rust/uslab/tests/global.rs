// SPDX-License-Identifier: MIT
//! The global allocator: every layout, and a program that uses nothing else.

use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::collections::{BTreeMap, HashMap};
use std::{slice, thread};

use uslab::{sys, Uslab};

#[global_allocator]
static GLOBAL: Uslab = Uslab;

const MIRI: bool = cfg!(miri);
/// Bytes of a block that are looked at, from its start.
const SEEN: usize = 600;

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

/// Bytes that tell blocks apart.
fn pattern(size: usize) -> impl Iterator<Item = u8> {
    (0..size).map(move |i| (i * 7 + size) as u8)
}

unsafe fn fill(p: *mut u8, size: usize) {
    pattern(size)
        .enumerate()
        .for_each(|(i, byte)| *p.add(i) = byte);
}

unsafe fn has(p: *const u8, size: usize, of: usize) -> bool {
    slice::from_raw_parts(p, size)
        .iter()
        .copied()
        .eq(pattern(of).take(size))
}

unsafe fn is_zero(p: *const u8, size: usize) -> bool {
    slice::from_raw_parts(p, size.min(SEEN))
        .iter()
        .all(|&byte| byte == 0)
        && *p.add(size - 1) == 0
}

fn sizes() -> Vec<usize> {
    match MIRI {
        true => vec![1, 8, 24, 100, 5000],
        false => vec![
            1,
            2,
            7,
            8,
            9,
            24,
            65,
            96,
            192,
            193,
            1000,
            4096,
            8192,
            8193,
            40000,
            3 << 20,
            5 << 20,
        ],
    }
}

fn alignments() -> impl Iterator<Item = usize> {
    (0..if MIRI { 8 } else { 24 }).map(|shift| 1 << shift) // to 8 MiB, more than the library has
}

#[test]
fn every_layout() {
    for (size, align) in sizes()
        .into_iter()
        .flat_map(|s| alignments().map(move |a| (s, a)))
    {
        let layout = layout(size, align);
        // SAFETY: blocks are used as they were asked for.
        unsafe {
            let blocks: Vec<_> = (0..4).map(|_| alloc(layout)).collect();
            for &p in &blocks {
                assert!(!p.is_null() && p as usize % align == 0, "{:?}", layout);
                fill(p, size.min(SEEN));
            }
            for &p in &blocks {
                assert!(has(p, size.min(SEEN), size.min(SEEN)), "{:?}", layout);
                dealloc(p, layout);
            }
            let p = alloc_zeroed(layout);
            assert!(p as usize % align == 0, "{:?}", layout);
            assert!(is_zero(p, size), "{:?}", layout);
            dealloc(p, layout);
        }
    }
}

#[test]
fn a_block_that_grows_and_shrinks() {
    for align in alignments() {
        let mut now = layout(1, align);
        // SAFETY: as above.
        unsafe {
            let mut p = alloc(now);
            fill(p, 1);
            for size in sizes().into_iter().chain(sizes().into_iter().rev()) {
                p = realloc(p, now, size);
                assert!(
                    !p.is_null() && p as usize % align == 0,
                    "{:?} to {}",
                    now,
                    size
                );
                let kept = size.min(now.size()).min(SEEN);
                assert!(has(p, kept, now.size().min(SEEN)), "{:?} to {}", now, size);
                fill(p, size.min(SEEN));
                now = layout(size, align);
            }
            dealloc(p, now);
        }
    }
}

/// More than the library has: the system's allocator's, in and out. It may refuse.
#[test]
#[cfg_attr(miri, ignore)]
fn more_than_2_gib() {
    let (small, large) = (layout(100, 16), layout(3 << 30, 16));
    // SAFETY: as above.
    unsafe {
        let p = alloc(small);
        fill(p, 100);
        let grown = realloc(p, small, large.size());
        if grown.is_null() {
            assert!(has(p, 100, 100)); // it stays
            dealloc(p, small);
            return;
        }
        *grown.add(large.size() - 1) = 1;
        assert!(has(grown, 100, 100));
        let p = realloc(grown, large, 100);
        assert!(has(p, 100, 100));
        dealloc(p, small);
    }
    let mut vec = Vec::<u8>::new();
    assert!(vec.try_reserve(isize::MAX as usize).is_err());
}

/// What is boxed is the library's.
#[test]
fn boxes_are_kmallocs() {
    let boxed = Box::new([1u64; 5]);

    // SAFETY: a block of kmalloc's.
    let size = unsafe { sys::ksize(Box::as_ref(&boxed).as_ptr().cast()) };
    assert!((40..=64).contains(&size), "{}", size);
}

#[test]
fn a_program() {
    let n = if MIRI { 100 } else { 5_000 };
    let work = move |thread: usize| {
        let mut tree = BTreeMap::new();
        let mut table = HashMap::new();
        let mut words = Vec::new();

        for i in 0..n {
            tree.insert(i * 7 % n, i.to_string());
            table.insert(i, vec![i as u128; i % 50]); // tables have an alignment of 16
            words.push(Box::new(i + thread));
            if i % 3 == 0 {
                tree.remove(&(i / 2));
                table.remove(&(i / 2));
            }
        }
        assert!(table
            .iter()
            .all(|(i, v)| v.len() == i % 50 && v.iter().all(|x| x == &(*i as u128))));
        assert!(tree.values().all(|text| text.parse::<usize>().unwrap() < n));
        words.iter().map(|word| **word).sum::<usize>()
    };
    let threads: Vec<_> = (0..4).map(|i| thread::spawn(move || work(i))).collect();

    for (i, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join().unwrap(), n * (n - 1) / 2 + i * n);
    }
}
