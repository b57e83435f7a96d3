// SPDX-License-Identifier: MIT
//! The bindings against the library: layouts, inline functions, memory pools. Declarations are
//! compared with the headers by `tests/install/rust_test.py`, constants too.

use core::ffi::c_void;
use core::mem::{size_of, MaybeUninit};
use core::ptr;
use std::ffi::CStr;
use std::vec::Vec;

use crate::*;

macro_rules! offset_of {
    ($kind:ty, $member:ident) => {{
        let value = MaybeUninit::<$kind>::uninit();
        // SAFETY: the address of a member is taken; nothing is read.
        unsafe { ptr::addr_of!((*value.as_ptr()).$member) as usize - value.as_ptr() as usize }
    }};
}

extern "C" {
    static uslab_rust_layout: [usize; 18];
}

/// In the order of src/shim.c.
fn layout() -> [usize; 18] {
    [
        size_of::<kmem_cache_args>(),
        offset_of!(kmem_cache_args, use_freeptr_offset),
        offset_of!(kmem_cache_args, ctor),
        offset_of!(kmem_cache_args, sheaf_capacity),
        offset_of!(kmem_cache_args, engine),
        offset_of!(kmem_cache_args, capacity),
        offset_of!(kmem_cache_args, dtor),
        offset_of!(kmem_cache_args, reclaim_arg),
        size_of::<kmem_cache_stats>(),
        offset_of!(kmem_cache_stats, objects),
        offset_of!(kmem_cache_stats, slab_bytes),
        size_of::<mempool_t>(),
        offset_of!(mempool_t, elements),
        offset_of!(mempool_t, wait),
        offset_of!(mempool_t, kind),
        size_of::<rcu_head>(),
        size_of::<uslab_rcu_ops>(),
        size_of::<kmem_buckets>(),
    ]
}

#[test]
fn layout_is_that_of_c() {
    // SAFETY: constants of src/shim.c.
    assert_eq!(layout(), unsafe { uslab_rust_layout });
}

/// `NAME value` lines, which tests/install/rust_test.py compares with the headers.
#[test]
fn constants_are_listed() {
    let all: Vec<_> = types::ALL.iter().flat_map(|list| list.iter()).collect();

    for (name, value) in &all {
        std::println!("constant {} {}", name, *value);
    }
    assert!(all.len() > 70);
}

#[test]
fn version() {
    // SAFETY: a constant string.
    let text = unsafe { CStr::from_ptr(uslab_version()) };

    assert_eq!(text.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}

#[test]
fn objects_come_and_go() {
    // SAFETY: the functions are used as their pages say.
    unsafe {
        let s = kmem_cache_create(b"sys-objects\0".as_ptr().cast(), 40, 0, SLAB_NO_MERGE, None);
        let mut objects = [ptr::null_mut(); 20];

        assert!(!s.is_null());
        assert_eq!(kmem_cache_size(s), 40);
        let one = kmem_cache_zalloc(s, GFP_KERNEL) as *mut [u8; 40];
        assert_eq!(*one, [0; 40]);
        *one = [1; 40];
        kmem_cache_free(s, one.cast());
        let one = kmem_cache_alloc(s, GFP_KERNEL);
        assert!(!one.is_null());
        assert_eq!(
            kmem_cache_alloc_bulk(s, GFP_KERNEL, 20, objects.as_mut_ptr()),
            20
        );
        let mut stats = kmem_cache_stats {
            size: size_of::<kmem_cache_stats>(),
            ..Default::default()
        };
        assert_eq!(kmem_cache_stats(s, &mut stats), 0);
        assert_eq!((stats.object_size, stats.objects), (40, 21));
        kmem_cache_free_bulk(s, 20, objects.as_mut_ptr());
        uslab_cache_free(s, one);
        assert_eq!(kmem_cache_shrink(s), 0);
        kmem_cache_destroy(s);
    }
}

#[test]
fn inline_functions() {
    // SAFETY: the functions are used as their pages say.
    unsafe {
        assert_eq!(kmalloc(0, GFP_KERNEL), ZERO_SIZE_PTR);
        assert!(kmalloc_array(usize::MAX / 8, 16, GFP_KERNEL | __GFP_NOWARN).is_null());
        assert!(kvcalloc(usize::MAX, 2, GFP_KERNEL | __GFP_NOWARN).is_null());
        let words = kcalloc(10, 8, GFP_KERNEL) as *mut u64;
        assert_eq!(*words.add(9), 0);
        *words.add(9) = 9;
        let more = krealloc_array(words.cast(), 100, 8, GFP_KERNEL) as *mut u64;
        assert_eq!(*more.add(9), 9);
        assert!(ksize(more.cast()) >= 800);
        let copy = kmemdup_array(more.cast(), 100, 8, GFP_KERNEL) as *mut u64;
        assert_eq!(*copy.add(9), 9);
        let mut both = [more.cast(), copy.cast()];
        kfree_bulk(2, both.as_mut_ptr());
        let large = kvmalloc(3 << 20, GFP_KERNEL);
        let large = kvrealloc(large, 5 << 20, GFP_KERNEL);
        assert!(ksize(large) >= 5 << 20);
        kvfree(large);
        let text = kasprintf(
            GFP_KERNEL,
            b"%d of %s\0".as_ptr().cast(),
            3 as c_int,
            b"five\0".as_ptr(),
        );
        assert_eq!(CStr::from_ptr(text).to_bytes(), b"3 of five");
        kfree(text.cast());
    }
}

#[test]
fn pools_keep_elements() {
    // SAFETY: the functions are used as their pages say.
    unsafe {
        let pool = mempool_create_kmalloc_pool(2, 100);
        assert!(mempool_initialized(pool) && mempool_is_saturated(pool));
        let kept = mempool_alloc_preallocated(pool);
        assert!(!kept.is_null() && !mempool_is_saturated(pool));
        mempool_free(kept, pool);
        assert!(mempool_is_saturated(pool));
        mempool_destroy(pool);
        let mut embedded = MaybeUninit::<mempool_t>::zeroed();
        assert!(!mempool_initialized(embedded.as_mut_ptr()));
        assert_eq!(mempool_init_page_pool(embedded.as_mut_ptr(), 1, 1), 0);
        let pages = mempool_alloc(embedded.as_mut_ptr(), GFP_KERNEL);
        assert_eq!(pages as usize % 8192, 0);
        mempool_free(pages, embedded.as_mut_ptr());
        mempool_exit(embedded.as_mut_ptr());
    }
}

#[test]
fn a_constructor_is_called() {
    unsafe extern "C" fn construct(object: *mut c_void) {
        *(object as *mut u64) = 7;
    }
    // SAFETY: the functions are used as their pages say.
    unsafe {
        let args = kmem_cache_args {
            align: 64,
            ctor: Some(construct),
            ..Default::default()
        };
        let s = kmem_cache_create_args(b"sys-constructed\0".as_ptr().cast(), 72, &args, 0);
        let object = kmem_cache_alloc(s, GFP_KERNEL) as *mut u64;

        assert_eq!((*object, object as usize % 64), (7, 0));
        kmem_cache_free(s, object.cast());
        kmem_cache_destroy(s);
        assert!(kmem_cache_create(ptr::null(), 8, 0, 0, None).is_null());
        assert_eq!(errno(), 22); // EINVAL
    }
}
