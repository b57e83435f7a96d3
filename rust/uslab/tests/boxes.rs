// SPDX-License-Identifier: MIT
//! Boxes and batches: what is dropped and freed, how often, and what a panic leaves.

use std::cell::Cell;
use std::collections::HashSet;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use uslab::{
    Batch, Builder, Cache, CacheError, CapacityError, Engine, Flags, Front, OwnedBox, SlabBox,
};

/// Counts its drops; one of them may panic.
struct Counted<'a> {
    drops: &'a Cell<usize>,
    panics: bool,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.drops.set(self.drops.get() + 1);
        if self.panics {
            panic!("on purpose");
        }
    }
}

fn own<T>(name: &str) -> Cache<T> {
    Cache::builder(name).flags(Flags::NO_MERGE).build().unwrap()
}

#[test]
fn a_value_is_dropped_and_freed_once() {
    let drops = Cell::new(0);
    let cache = own("counted");
    let counted = || Counted {
        drops: &drops,
        panics: false,
    };
    let boxes: Vec<_> = (0..1000).map(|_| SlabBox::new(&cache, counted())).collect();

    assert_eq!((drops.get(), cache.stats().objects), (0, 1000));
    drop(boxes);
    assert_eq!((drops.get(), cache.stats().objects), (1000, 0));
    let value = SlabBox::into_inner(cache.boxed(counted()));
    assert_eq!((drops.get(), cache.stats().objects), (1000, 0));
    drop(value);
    assert_eq!(drops.get(), 1001);
    assert!(cache.shrink());
}

#[test]
fn assignment_and_moves() {
    let drops = Cell::new(0);
    let cache = own("moved");
    let mut one = cache.boxed(Counted {
        drops: &drops,
        panics: false,
    });
    let two = cache.boxed(Counted {
        drops: &drops,
        panics: false,
    });
    let place: *const Counted = &*two;

    assert!(!one.panics);
    one = two; // the old value goes
    assert_eq!((drops.get(), cache.stats().objects), (1, 1));
    assert_eq!(&*one as *const _, place);
    *one = Counted {
        drops: &drops,
        panics: false,
    };
    assert_eq!((drops.get(), cache.stats().objects), (2, 1));
    let (object, holder) = SlabBox::into_parts(one);
    assert_eq!(cache.stats().objects, 1);
    // SAFETY: what into_parts() gave.
    drop(unsafe { SlabBox::from_parts(object, holder) });
    assert_eq!((drops.get(), cache.stats().objects), (3, 0));
}

#[test]
fn a_panic_in_drop_frees_the_object() {
    let drops = Cell::new(0);
    let cache = own("panics");
    let boxed = cache.boxed(Counted {
        drops: &drops,
        panics: true,
    });
    let batch = cache
        .try_batch(10, |i| Counted {
            drops: &drops,
            panics: i == 3,
        })
        .unwrap();

    assert!(catch_unwind(AssertUnwindSafe(|| drop(boxed))).is_err());
    assert_eq!((drops.get(), cache.stats().objects), (1, 10));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(batch))).is_err());
    assert_eq!((drops.get(), cache.stats().objects), (11, 0));
}

#[test]
fn a_panic_while_a_value_is_made() {
    let drops = Cell::new(0);
    let cache = own("unmade");
    let made = catch_unwind(AssertUnwindSafe(|| {
        SlabBox::try_new_with(&cache, || -> Counted { panic!("on purpose") })
    }));
    assert!(made.is_err());
    let batch = catch_unwind(AssertUnwindSafe(|| {
        cache.try_batch(100, |i| {
            assert_ne!(i, 60, "on purpose");
            Counted {
                drops: &drops,
                panics: false,
            }
        })
    }));
    assert!(batch.is_err());
    let clone = cache.boxed(Counted {
        drops: &drops,
        panics: false,
    });
    assert_eq!((drops.get(), cache.stats().objects), (60, 1));
    drop(clone);
}

#[test]
fn no_bytes() {
    let cache = own::<()>("nothing");
    let (one, two) = (cache.boxed(()), cache.boxed(()));

    assert_eq!((*one, cache.stats().objects), ((), 2));
    drop((one, two));
    assert_eq!(cache.stats().objects, 0);
    assert_eq!(cache.try_batch(50, |_| ()).unwrap().iter().count(), 50);
}

#[test]
fn alignments() {
    #[repr(align(256))]
    struct Wide(u8);
    #[repr(align(4096))]
    struct Page(u8);
    #[repr(align(8192))]
    struct Pages(u8);
    let (wide, page) = (own("wide"), own("page"));

    for i in 0..20 {
        let (a, b) = (wide.boxed(Wide(i)), page.boxed(Page(i)));
        assert_eq!((&*a as *const Wide as usize % 256, a.0), (0, i));
        assert_eq!((&*b as *const Page as usize % 4096, b.0), (0, i));
    }
    assert_eq!(Cache::<Pages>::new("pages").err(), Some(CacheError::Align));
    assert_eq!(
        Cache::<u8>::builder("odd").align(24).build().err(),
        Some(CacheError::Align)
    );
    let lines = Cache::<u8>::builder("lines")
        .align(64)
        .flags(Flags::NO_MERGE)
        .build()
        .unwrap();
    assert_eq!(&*lines.boxed(Pages(1).0) as *const u8 as usize % 64, 0);
}

/// What may leave its thread, and be seen by several: by the compiler.
#[test]
fn send_and_sync() {
    fn both<T: Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    fn send<T: Send>() {}

    both::<Cache<Rc<u8>>>();
    both::<uslab::CacheRef<'static, Rc<u8>>>();
    both::<uslab::StaticCache<Rc<u8>>>();
    both::<SlabBox<'static, u8>>();
    both::<OwnedBox<u8>>();
    both::<Batch<'static, u8>>();
    send::<SlabBox<'static, Cell<u8>>>(); // and no more: see the documents of Cache and BoxIn
    send::<Batch<'static, Cell<u8>>>();
}

#[test]
fn what_is_refused() {
    let long = "x".repeat(64);

    assert_eq!(Cache::<u8>::new("").err(), Some(CacheError::Name));
    assert_eq!(Cache::<u8>::new("a\0b").err(), Some(CacheError::Name));
    assert_eq!(Cache::<u8>::new(&long).err(), Some(CacheError::Name));
    assert_eq!(Cache::<u8>::new(&long[1..]).unwrap().name(), &long[1..]);
    assert_eq!(
        Cache::<[u8; (4 << 20) + 1]>::new("huge").err(),
        Some(CacheError::Size)
    );
    let many = Cache::<u8>::builder("many").capacity(100_000).build();
    assert_eq!(many.err(), Some(CacheError::Refused(22)));
    assert!(CacheError::Refused(22).to_string().contains("errno 22"));
}

#[test]
fn engines_and_fronts() {
    use Engine::*;

    for engine in [Slub, Slab, Slobseg, SlobsegPow2, Slob, Slob1991] {
        for front in [
            Front::Array,
            Front::Queues,
            Front::Sheaves,
            Front::None,
            Front::Historical,
        ] {
            let cache = Builder::<[u32; 7]>::new("kinds")
                .engine(engine)
                .front(front)
                .flags(Flags::NO_MERGE | Flags::HWCACHE_ALIGN)
                .build()
                .unwrap();
            let boxes: Vec<_> = (0..300).map(|i| cache.boxed([i; 7])).collect();
            let aligned = Builder::<u8>::new("aligned")
                .engine(engine)
                .front(front)
                .align(512);
            let aligned = aligned.build().unwrap();
            let byte = aligned.boxed(1);

            assert_eq!(
                &*byte as *const u8 as usize % 512,
                0,
                "{:?} {:?}",
                engine,
                front
            );
            for (i, b) in boxes.iter().enumerate() {
                assert_eq!(**b, [i as u32; 7], "{:?} {:?}", engine, front);
            }
        }
    }
    let odd = Cache::<u8>::builder("odd")
        .engine(Slab)
        .front(Front::Cpuslab)
        .build();
    assert_eq!(odd.is_err(), !uslab::sys::FAKE);
}

#[test]
fn the_capacity_changes() {
    let cache = Cache::<[u64; 4]>::builder("capacity")
        .front(Front::Array)
        .flags(Flags::NO_MERGE)
        .build()
        .unwrap();
    let boxes: Vec<_> = (0..200)
        .map(|i| {
            assert_eq!(cache.set_capacity(i as u32 % 32), Ok(()));
            cache.boxed([i; 4])
        })
        .collect();

    assert_eq!(cache.set_capacity(uslab::sys::USLAB_CAPACITY_NONE), Ok(()));
    assert!((0..200).zip(&boxes).all(|(i, b)| **b == [i; 4]));
    drop(boxes);
    assert_eq!(cache.set_capacity(2000), Err(CapacityError::Number));
    assert_eq!(cache.stats().objects, 0);
}

#[test]
fn the_last_owner_ends_the_cache() {
    let drops = Rc::new(Cell::new(0));
    struct Job(Rc<Cell<usize>>);
    impl Drop for Job {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let cache = Arc::new(own::<Job>("jobs"));
    let weak = Arc::downgrade(&cache);
    let mut jobs: Vec<_> = (0..3)
        .map(|_| OwnedBox::new(Arc::clone(&cache), Job(Rc::clone(&drops))))
        .collect();

    drop(cache);
    jobs.pop();
    assert_eq!((weak.strong_count(), drops.get()), (2, 1));
    let job = OwnedBox::into_inner(jobs.pop().unwrap());
    drop(jobs);
    assert_eq!((weak.strong_count(), drops.get()), (0, 2));
    drop(job);
    assert_eq!(drops.get(), 3);
}

#[test]
fn as_a_box() {
    let cache = own("texts");
    let mut text = cache.boxed(String::from("ab"));
    let copy = text.clone();

    assert_eq!(text, copy);
    text.push('c');
    assert!(text > copy && text.as_str() == "abc" && copy.len() == 2);
    assert_eq!(format!("{} {:?}", text, copy), "abc \"ab\"");
    assert!(format!("{:p}", text).starts_with("0x"));
    let mut set = HashSet::new();
    set.insert(copy);
    assert!(set.contains(&String::from("ab")));
    let mut pinned = SlabBox::into_pin(text);
    Pin::as_mut(&mut pinned).get_mut().push('d');
    assert_eq!(*pinned, "abcd");
    assert_eq!(
        format!("{:?}", cache),
        format!(
            "Cache {{ name: \"texts\", object_size: {} }}",
            std::mem::size_of::<String>()
        )
    );
}

#[test]
fn batches() {
    let drops = Cell::new(0);
    let cache = own("batches");
    let mut batch = cache
        .try_batch(200, |_| Counted {
            drops: &drops,
            panics: false,
        })
        .unwrap();

    assert_eq!((batch.len(), cache.stats().objects), (200, 200));
    let last = batch.pop().unwrap();
    drop(batch);
    assert_eq!((drops.get(), cache.stats().objects), (199, 1));
    drop(last);
    assert_eq!((drops.get(), cache.stats().objects), (200, 0));

    let numbers = own("numbers");
    let mut batch = Batch::try_new(&numbers, 50, |i| i).unwrap();
    batch.iter_mut().for_each(|n| *n *= 2);
    batch[0] = 7;
    assert_eq!(batch.iter().sum::<usize>(), 49 * 50 + 7);
    assert_eq!(batch.get_mut(49), Some(&mut 98));
    assert_eq!(batch.get(50), None);
    assert_eq!(
        format!("{:?}", numbers.try_batch(2, |i| i).unwrap()),
        "[0, 1]"
    );
    let boxes: Vec<_> = batch.into_boxes().take(10).collect();
    assert_eq!(
        (*boxes[0], *boxes[9], numbers.stats().objects),
        (98, 80, 10)
    );
    assert!(numbers.try_batch(0, |i| i).unwrap().is_empty());
}

/// The library reports it on stderr. What was leaked stays valid.
#[test]
#[cfg_attr(miri, ignore)] // a leak on purpose
fn what_was_leaked_stays() {
    let cache = own("leaked");
    let text: *mut String = SlabBox::leak(cache.boxed(String::from("for ever")));

    drop(cache);
    // SAFETY: nobody has freed it.
    assert_eq!(unsafe { &*text }, "for ever");
}
