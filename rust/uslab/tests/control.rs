// SPDX-License-Identifier: MIT
//! Functions of the whole library.

use uslab::{
    set_capacity, set_debug, sys, trim, version, Cache, CapacityError, DebugError, Flags, Front,
};

#[test]
fn versions_agree() {
    assert_eq!(version(), env!("CARGO_PKG_VERSION"));
}

#[test]
#[cfg_attr(miri, ignore)]
fn debug_flags_of_a_live_cache() {
    if sys::FAKE {
        return;
    }
    let cache = Cache::<u64>::builder("debugged")
        .flags(Flags::NO_MERGE)
        .build()
        .unwrap();
    let before = cache.boxed(1);

    assert_eq!(set_debug("debugged", "FZPU"), Ok(1));
    let after = cache.boxed(2);
    // SAFETY: a live cache.
    assert!(unsafe { sys::kmem_cache_validate(cache.as_raw().as_ptr()) } >= 1);
    assert_eq!(set_debug("debugged", ""), Ok(1));
    assert_eq!(*before + *after, 3);
    assert_eq!(set_debug("no-such-cache", "F"), Err(DebugError::Cache));
    assert_eq!(set_debug("debugged", "Q"), Err(DebugError::Flag));
    assert_eq!(set_debug("debugged\0", "F"), Err(DebugError::Flag));
}

#[test]
#[cfg_attr(miri, ignore)]
fn capacities_of_caches_by_name() {
    if sys::FAKE {
        return;
    }
    let build = |name, front| {
        Cache::<u64>::builder(name)
            .flags(Flags::NO_MERGE)
            .front(front)
            .build()
            .unwrap()
    };
    let (one, two) = (
        build("bursts-one", Front::Array),
        build("bursts-two", Front::Queues),
    );
    let none = build("bursts-none", Front::None);

    assert_eq!(set_capacity("bursts-*", 20), Ok(2));
    assert_eq!(set_capacity("bursts-*", 200), Ok(1));
    assert_eq!(set_capacity("bursts-none", 20), Err(CapacityError::Front));
    assert_eq!(none.set_capacity(20), Err(CapacityError::Front));
    let no_objects = sys::USLAB_CAPACITY_NONE;
    assert_eq!(two.set_capacity(no_objects), Err(CapacityError::Number));
    assert_eq!(one.set_capacity(no_objects), Ok(()));
    for wrong in ["no-such-cache", "bursts-*\0"] {
        assert_eq!(set_capacity(wrong, 20), Err(CapacityError::Cache));
    }
}

#[test]
fn memory_goes_back() {
    let cache = Cache::<[u8; 4096]>::builder("trimmed")
        .flags(Flags::NO_MERGE)
        .build()
        .unwrap();

    drop(cache.try_batch(1000, |_| [1; 4096]));
    let bytes = trim();
    assert!(sys::FAKE || bytes >= 1000 * 4096 || cache.stats().slab_bytes < 1000 * 4096);
}
