// SPDX-License-Identifier: MIT
//! Functions of the whole library.

use uslab::{set_debug, sys, trim, version, Cache, DebugError, Flags};

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
fn memory_goes_back() {
    let cache = Cache::<[u8; 4096]>::builder("trimmed")
        .flags(Flags::NO_MERGE)
        .build()
        .unwrap();

    drop(cache.try_batch(1000, |_| [1; 4096]));
    let bytes = trim();
    assert!(sys::FAKE || bytes >= 1000 * 4096 || cache.stats().slab_bytes < 1000 * 4096);
}
