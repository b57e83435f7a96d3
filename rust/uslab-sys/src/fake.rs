// SPDX-License-Identifier: MIT
//! In place of libuslab, for Miri: the functions that the crate `uslab` calls, each object a block
//! of the system allocator. So every access to an object, and every leak, is known to Miri, or to
//! valgrind and AddressSanitizer. It counts, and refuses what the library refuses.

#![allow(missing_docs)] // as in functions.rs

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::alloc::{GlobalAlloc, Layout, System};
use std::boxed::Box;

use crate::types::*;

struct Fake {
    name: [u8; USLAB_MAX_NAME + 1],
    layout: Layout,
    objects: AtomicUsize,
}

/// What lies before a block of `kvmalloc_node_align()`.
struct Head {
    layout: Layout, // of the whole block
    offset: usize,  // of the memory in it
}

const ENOENT: c_int = 2;
const EINVAL: c_int = 22;
const ENAMETOOLONG: c_int = 36;

/// Does every allocation fail? For tests of what happens without memory.
static FAILS: AtomicBool = AtomicBool::new(false);

unsafe fn fake<'a>(s: *mut kmem_cache) -> &'a Fake {
    &*(s as *const Fake)
}

unsafe fn get(layout: Layout, flags: gfp_t) -> *mut u8 {
    match FAILS.load(Ordering::Relaxed) {
        true => ptr::null_mut(),
        false if flags & __GFP_ZERO != 0 => System.alloc_zeroed(layout),
        false => System.alloc(layout),
    }
}

fn refuse(error: c_int) -> *mut kmem_cache {
    // SAFETY: libc's pointer to a word of this thread.
    unsafe { *crate::__errno_location() = error };
    ptr::null_mut()
}

pub unsafe fn kmem_cache_create_args(
    name: *const c_char,
    size: c_uint,
    args: *const kmem_cache_args,
    _flags: slab_flags_t,
) -> *mut kmem_cache {
    let mut copy = [0; USLAB_MAX_NAME + 1];
    let length = (0..).take_while(|&i| *name.add(i) != 0).count();
    let align = core::cmp::max((*args).align as usize, ARCH_SLAB_MINALIGN);

    if length > USLAB_MAX_NAME {
        return refuse(ENAMETOOLONG);
    }
    if size == 0 || size as usize > KMALLOC_MAX_SIZE || align > 4096 || (*args).capacity > 1024 {
        return refuse(EINVAL);
    }
    ptr::copy_nonoverlapping(name.cast(), copy.as_mut_ptr(), length);
    match Layout::from_size_align(size as usize, align) {
        Ok(layout) => Box::into_raw(Box::new(Fake {
            name: copy,
            layout,
            objects: AtomicUsize::new(0),
        })) as _,
        Err(_) => refuse(EINVAL),
    }
}

/// As in the library a cache with objects stays: then it is leaked, which Miri reports.
pub unsafe fn kmem_cache_destroy(s: *mut kmem_cache) {
    if !s.is_null() && fake(s).objects.load(Ordering::Relaxed) == 0 {
        drop(Box::from_raw(s as *mut Fake));
    }
}

pub unsafe fn kmem_cache_alloc(s: *mut kmem_cache, flags: gfp_t) -> *mut c_void {
    let object = get(fake(s).layout, flags);

    if !object.is_null() {
        fake(s).objects.fetch_add(1, Ordering::Relaxed);
    }
    object.cast()
}

pub unsafe fn kmem_cache_free(s: *mut kmem_cache, object: *mut c_void) {
    fake(s).objects.fetch_sub(1, Ordering::Relaxed);
    System.dealloc(object.cast(), fake(s).layout);
}

pub unsafe fn kmem_cache_alloc_bulk(
    s: *mut kmem_cache,
    flags: gfp_t,
    nr: usize,
    p: *mut *mut c_void,
) -> c_int {
    for i in 0..nr {
        *p.add(i) = kmem_cache_alloc(s, flags);
        if (*p.add(i)).is_null() {
            kmem_cache_free_bulk(s, i, p);
            return 0;
        }
    }
    nr as c_int
}

pub unsafe fn kmem_cache_free_bulk(s: *mut kmem_cache, nr: usize, p: *mut *mut c_void) {
    for i in 0..nr {
        kmem_cache_free(s, *p.add(i));
    }
}

pub unsafe fn kmem_cache_size(s: *mut kmem_cache) -> c_uint {
    fake(s).layout.size() as c_uint
}

pub unsafe fn kmem_cache_name(s: *mut kmem_cache) -> *const c_char {
    fake(s).name.as_ptr().cast()
}

pub unsafe fn kmem_cache_shrink(s: *mut kmem_cache) -> c_int {
    (fake(s).objects.load(Ordering::Relaxed) != 0) as c_int
}

pub unsafe fn kmem_cache_stats(s: *mut kmem_cache, stats: *mut kmem_cache_statistics) -> c_int {
    let objects = fake(s).objects.load(Ordering::Relaxed);

    *stats = kmem_cache_statistics {
        size: core::mem::size_of::<kmem_cache_statistics>(),
        object_size: fake(s).layout.size(),
        objects,
        total_objects: objects,
        ..Default::default()
    };
    0
}

/// Nothing is cached here; it refuses what the front "array" does.
pub unsafe fn kmem_cache_set_capacity(_s: *mut kmem_cache, objects: c_uint) -> c_int {
    match objects {
        0..=31 | USLAB_CAPACITY_NONE => 0,
        _ => -EINVAL,
    }
}

/// By the address, which the block's pointer has exposed: a pointer to the memory is not allowed to
/// reach what lies before it.
fn head_of(p: *const c_void) -> *mut Head {
    (p as usize - core::mem::size_of::<Head>()) as *mut Head
}

pub unsafe fn kvmalloc_node_align(
    size: usize,
    align: usize,
    flags: gfp_t,
    _node: c_int,
) -> *mut c_void {
    let align = core::cmp::max(align, ARCH_KMALLOC_MINALIGN);
    let extended = Layout::from_size_align(size, align)
        .and_then(|layout| Layout::new::<Head>().extend(layout));
    let (layout, offset) = match extended {
        Ok(both) => both,
        Err(_) => return ptr::null_mut(),
    };
    let block = get(layout, flags);

    if block.is_null() {
        return ptr::null_mut();
    }
    let p: *mut c_void = block.add(offset).cast();
    let _exposed = block as usize;
    head_of(p).write_unaligned(Head { layout, offset });
    p
}

pub unsafe fn uslab_kmalloc(size: usize, flags: gfp_t) -> *mut c_void {
    kvmalloc_node_align(size, 1, flags, NUMA_NO_NODE)
}

/// Always moves, so that who uses the old address is found out.
pub unsafe fn kvrealloc_node_align(
    p: *const c_void,
    new_size: usize,
    align: usize,
    flags: gfp_t,
    node: c_int,
) -> *mut c_void {
    let new = kvmalloc_node_align(new_size, align, flags, node);

    if !new.is_null() {
        let size = core::cmp::min(ksize(p), new_size);
        ptr::copy_nonoverlapping(p as *const u8, new as *mut u8, size);
        kfree(p);
    }
    new
}

pub unsafe fn kfree(p: *const c_void) {
    let head = head_of(p).read_unaligned();

    System.dealloc((p as usize - head.offset) as *mut u8, head.layout);
}

pub unsafe fn ksize(p: *const c_void) -> usize {
    let head = head_of(p).read_unaligned();

    head.layout.size() - head.offset
}

pub unsafe fn uslab_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

pub unsafe fn uslab_trim() -> usize {
    0
}

pub unsafe fn uslab_set_debug(_pattern: *const c_char, _debug_flags: *const c_char) -> c_int {
    -EINVAL
}

pub unsafe fn uslab_set_capacity(_pattern: *const c_char, _objects: c_uint) -> c_int {
    -ENOENT
}

pub unsafe fn kmem_cache_validate(_s: *mut kmem_cache) -> c_long {
    -c_long::from(EINVAL)
}

/// Any text but an empty one: all fail.
pub unsafe fn uslab_set_failslab(text: *const c_char) -> c_int {
    FAILS.store(*text != 0, Ordering::Relaxed);
    0
}
