// SPDX-License-Identifier: MIT
//! The bindings against the library: layouts, inline functions, memory pools. Declarations are
//! compared with the headers by `tests/install/rust_test.py`, constants too.

use core::ffi::c_void;
use core::mem::{size_of, size_of_val, MaybeUninit};
use core::ptr;
use std::boxed::Box;
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
    static uslab_rust_layout: [usize; 31];
}

/// In the order of src/shim.c.
fn layout() -> [usize; 31] {
    // SAFETY: the type is looked at, not what is there.
    let row = unsafe { &uslab_kmalloc_no_row };

    [
        size_of::<kmem_cache_args>(),
        offset_of!(kmem_cache_args, use_freeptr_offset),
        offset_of!(kmem_cache_args, ctor),
        offset_of!(kmem_cache_args, sheaf_capacity),
        offset_of!(kmem_cache_args, engine),
        offset_of!(kmem_cache_args, capacity),
        offset_of!(kmem_cache_args, dtor),
        offset_of!(kmem_cache_args, reclaim_arg),
        size_of::<kmem_cache_statistics>(),
        offset_of!(kmem_cache_statistics, objects),
        offset_of!(kmem_cache_statistics, slab_bytes),
        offset_of!(kmem_cache_statistics, defrag_refused),
        size_of::<mempool_t>(),
        offset_of!(mempool_t, elements),
        offset_of!(mempool_t, wait),
        offset_of!(mempool_t, kind),
        size_of::<rcu_head>(),
        size_of::<uslab_rcu_ops>(),
        size_of::<kmem_buckets>(),
        size_of::<uslab_kmalloc_site>(),
        offset_of!(uslab_kmalloc_site, token),
        size_of_val(row),
        size_of::<alloc_tag>(),
        offset_of!(alloc_tag, function),
        offset_of!(alloc_tag, line),
        offset_of!(alloc_tag, site),
        size_of::<alloc_tag_counters>(),
        offset_of!(alloc_tag_counters, calls),
        size_of::<uslab_alloc_tags>(),
        offset_of!(uslab_alloc_tags, end),
        offset_of!(uslab_alloc_tags, next),
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
        let mut stats = kmem_cache_statistics {
            size: size_of::<kmem_cache_statistics>(),
            ..Default::default()
        };
        assert_eq!(kmem_cache_stats(s, &mut stats), 0);
        assert_eq!((stats.object_size, stats.objects), (40, 21));
        kmem_cache_free_bulk(s, 20, objects.as_mut_ptr());
        let mode = SLAB_ARRAY_PARTIAL | SLAB_ARRAY_FULL;
        let room = objects.as_mut_ptr();
        assert_eq!(kmem_cache_alloc_array(s, GFP_KERNEL, 20, room, mode), 20);
        kmem_cache_free_array(s, 20, room);
        let wrong = SLAB_ARRAY_ALL + 1;
        assert_eq!(kmem_cache_alloc_array(s, GFP_KERNEL, 20, room, wrong), -22); // EINVAL
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
fn capacities_change() {
    // SAFETY: the functions are used as their pages say.
    unsafe {
        let args = kmem_cache_args {
            front: b"array\0".as_ptr().cast(),
            ..Default::default()
        };
        let s = kmem_cache_create_args(b"sys-capacity\0".as_ptr().cast(), 40, &args, SLAB_NO_MERGE);

        assert_eq!(kmem_cache_set_capacity(s, 7), 0);
        assert_eq!(kmem_cache_set_capacity(s, USLAB_CAPACITY_NONE), 0);
        assert_eq!(kmem_cache_set_capacity(s, 2000), -22); // EINVAL
        assert_eq!(uslab_set_capacity(b"sys-cap*\0".as_ptr().cast(), 0), 1);
        kmem_cache_destroy(s);
    }
}

/// Another thread may hold the lock just now: then there is none.
#[test]
fn without_locks() {
    // SAFETY: the functions are used as their pages say.
    unsafe {
        let p = (0..1000)
            .map(|_| {
                kfree(kmalloc(100, GFP_KERNEL));
                kmalloc_nolock(100, __GFP_ZERO, NUMA_NO_NODE) as *mut [u8; 100]
            })
            .find(|p| !p.is_null())
            .unwrap();

        assert_eq!(*p, [0; 100]);
        kfree_nolock(p.cast());
        assert!(kmalloc_nolock(KMALLOC_MAX_CACHE_SIZE + 1, 0, NUMA_NO_NODE).is_null());
        assert_eq!(kmalloc_nolock_node(0, 0, NUMA_NO_NODE), ZERO_SIZE_PTR);
    }
}

#[test]
#[allow(unused_unsafe)] // Rust 1.63 wants it for the address, too
fn a_site_of_kmalloc() {
    static mut SITE: uslab_kmalloc_site = uslab_kmalloc_site {
        // SAFETY: the address is taken.
        row: unsafe { ptr::addr_of!(uslab_kmalloc_no_row) as *mut *mut kmem_cache },
        token: 3,
    };
    // SAFETY: the functions are used as their pages say, and the site by them only.
    unsafe {
        let site = ptr::addr_of_mut!(SITE);
        let p = uslab_kmalloc_at(100, GFP_KERNEL, NUMA_NO_NODE, site) as *mut [u8; 100];

        assert!(ksize(p.cast()) >= 100);
        *p = [5; 100];
        let p = uslab_krealloc_at(p.cast(), 500, 0, GFP_KERNEL, NUMA_NO_NODE, site);
        let p = uslab_kvrealloc_at(p, 3 << 20, 1, GFP_KERNEL, NUMA_NO_NODE, site);
        assert_eq!(*(p as *const [u8; 100]), [5; 100]);
        kvfree(p);
        let zero = GFP_KERNEL | __GFP_ZERO;
        let p = uslab_kvmalloc_at(64, 64, zero, NUMA_NO_NODE, site) as *mut [u8; 64];
        assert_eq!((*p, p as usize % 64), ([0; 64], 0));
        kvfree(p.cast());
    }
}

#[test]
fn allocations_are_counted() {
    let (file, function) = (concat!(file!(), "\0"), "allocations_are_counted\0");
    let tag = alloc_tag::new(file.as_ptr().cast(), function.as_ptr().cast(), line!());
    let tag: *mut alloc_tag = Box::leak(Box::new(tag));

    // SAFETY: the functions are used as their pages say.
    unsafe {
        let before = kmalloc(1000, GFP_KERNEL);
        assert!(!mem_alloc_profiling_enabled());
        assert_eq!(uslab_set_mem_profiling(true), 0);
        assert!(mem_alloc_profiling_enabled());
        let objects = [(); 3].map(|_| kmalloc(1000, GFP_KERNEL));
        uslab_alloc_tag_add(tag, ptr::null_mut(), objects[0], false);
        let outer = alloc_tag_save(tag);
        uslab_alloc_tag_add_all(ptr::null_mut(), ptr::null_mut(), 2, objects[1..].as_ptr());
        alloc_tag_restore(tag, outer);
        let counted = alloc_tag_read(tag);
        assert!(counted.calls == 3 && counted.bytes >= 3000, "{:?}", counted);
        kfree(objects[1]);
        kfree(before);
        assert_eq!(alloc_tag_read(tag).calls, 2);
        kfree(objects[0]);
        kfree(objects[2]);
        assert_eq!(alloc_tag_read(tag), alloc_tag_counters::default());
        assert_eq!(uslab_set_mem_profiling(false), 0);
    }
}

#[test]
fn shrinkers_can_be_named() {
    // By their path, as programs do: a module of that name would hide the type.
    unsafe extern "C" fn none(
        _: *mut crate::shrinker,
        _: *mut crate::shrink_control,
    ) -> c_ulong {
        0
    }
    let call: crate::shrinker_call = Some(none);

    assert!(call.is_some());
}

#[test]
fn groups_are_charged() {
    let mut stat = uslab_group_statistics {
        size: core::mem::size_of::<uslab_group_statistics>(),
        ..Default::default()
    };

    // SAFETY: the functions are used as their pages say.
    unsafe {
        let group = uslab_group_create("rust\0".as_ptr().cast(), 4000, ptr::null_mut());
        assert!(!group.is_null());
        assert_eq!(uslab_group_set_callback(group, None, ptr::null_mut()), 0);
        assert!(uslab_group_enter(group).is_null());
        assert_eq!(uslab_group_current(), group);
        let p = kmalloc(1000, GFP_KERNEL_ACCOUNT);
        assert!(!p.is_null() && kmalloc(4000, GFP_KERNEL_ACCOUNT).is_null());
        assert_eq!(uslab_group_enter(ptr::null_mut()), group);
        assert!(uslab_group_usage(group) >= 1000);
        kfree(p);
        assert_eq!(uslab_group_stat(group, &mut stat), 0);
        assert_eq!((stat.usage, stat.failed, stat.limit), (0, 1, 4000));
        assert_eq!(stat.peak, uslab_group_peak(group));
        assert_eq!(uslab_group_set_limit(group, 0), 0);
        let name = b"rust-group\0".as_ptr().cast();
        let s = kmem_cache_create(name, 64, 0, SLAB_NO_MERGE, None);
        assert!(!s.is_null() && kmem_cache_set_group(s, group) == 0);
        let p = kmem_cache_alloc(s, GFP_KERNEL);
        assert_eq!(uslab_group_usage(group), 64);
        kmem_cache_free(s, p);
        assert_eq!(uslab_group_usage(group), 0);
        kmem_cache_destroy(s);
        uslab_group_destroy(group);
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
