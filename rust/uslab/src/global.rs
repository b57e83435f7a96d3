// SPDX-License-Identifier: MIT
//! The global allocator.

use core::alloc::{GlobalAlloc, Layout};
use core::cmp::{max, min};
use core::ffi::c_void;
use core::ptr;

use crate::sys;

/// As a program's `#[global_allocator]`: each `Box`, `Vec`, `String`, ... is kmalloc's.
///
/// ```
/// #[global_allocator]
/// static GLOBAL: uslab::Uslab = uslab::Uslab;
///
/// let text = String::from("in kmalloc-16 or so");
/// # assert_eq!(text.len(), 19);
/// ```
///
/// Up to 8 KiB a block is an object of kmalloc's caches, beyond that whole pages. Alignments up to
/// 4 MiB are served. Blocks of more than 2 GiB, or with a larger alignment, which the library does
/// not have, are the system's allocator's (without the feature `std`: refused). A block that grows
/// stays where it is as far as its object has room.
///
/// `malloc()` of C code in the program is another allocator, libc's or `libuslab_malloc.so`: each
/// frees its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uslab;

/// Rust says itself what happens without memory.
const GFP: sys::gfp_t = sys::GFP_KERNEL | sys::__GFP_NOWARN;

/// The largest block of kvmalloc().
const MAX_SIZE: usize = i32::MAX as usize;

/// Is a block of that layout the library's? It is by its layout that a free knows, too.
#[inline]
const fn is_ours(size: usize, align: usize) -> bool {
    size <= MAX_SIZE && align <= sys::KMALLOC_MAX_SIZE
}

#[inline]
unsafe fn allocate(layout: Layout, flags: sys::gfp_t) -> *mut u8 {
    let (size, align) = (layout.size(), layout.align());

    if size <= sys::KMALLOC_MAX_CACHE_SIZE && align <= sys::ARCH_KMALLOC_MINALIGN {
        sys::uslab_kmalloc(size, flags).cast()
    } else {
        allocate_aligned(size, align, flags)
    }
}

/// Heaps (`USLAB_CONF=engine=slob,front=none`) have no other alignment than the least: there whole
/// pages do.
unsafe fn allocate_aligned(size: usize, align: usize, flags: sys::gfp_t) -> *mut u8 {
    let p = sys::kvmalloc_node_align(size, align, flags, sys::NUMA_NO_NODE);
    let whole_pages = max(size, sys::KMALLOC_MAX_CACHE_SIZE + 1);

    if p.is_null() && size < whole_pages {
        return sys::kvmalloc_node_align(whole_pages, align, flags, sys::NUMA_NO_NODE).cast();
    }
    p.cast()
}

/// A block that goes from the library to the system's allocator, or back, or needs whole pages.
#[cold]
unsafe fn move_block(p: *mut u8, old: Layout, new: Layout) -> *mut u8 {
    let moved = Uslab.alloc(new);

    if !moved.is_null() {
        ptr::copy_nonoverlapping(p, moved, min(old.size(), new.size()));
        Uslab.dealloc(p, old);
    }
    moved
}

// SAFETY: kmalloc's blocks have the size and alignment that was asked for, are nobody else's until
// they are freed, and nothing here panics. Whose a block is follows from its layout alone.
unsafe impl GlobalAlloc for Uslab {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_ours(layout.size(), layout.align()) {
            allocate(layout, GFP)
        } else {
            large::alloc(layout)
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_ours(layout.size(), layout.align()) {
            allocate(layout, GFP | sys::__GFP_ZERO)
        } else {
            large::alloc_zeroed(layout)
        }
    }

    #[inline]
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        if is_ours(layout.size(), layout.align()) {
            sys::kfree(p as *const c_void)
        } else {
            large::dealloc(p, layout)
        }
    }

    #[inline]
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let align = layout.align();
        let new = Layout::from_size_align_unchecked(new_size, align);

        match (is_ours(layout.size(), align), is_ours(new_size, align)) {
            (true, true) => {
                let node = sys::NUMA_NO_NODE;
                let moved = sys::kvrealloc_node_align(p.cast(), new_size, align, GFP, node);
                if moved.is_null() && align > sys::ARCH_KMALLOC_MINALIGN {
                    return move_block(p, layout, new);
                }
                moved.cast()
            }
            (false, false) => large::realloc(p, layout, new_size),
            _ => move_block(p, layout, new),
        }
    }
}

/// What the library does not have.
#[cfg(feature = "std")]
mod large {
    use std::alloc::{GlobalAlloc, Layout, System};

    #[cold]
    pub unsafe fn alloc(layout: Layout) -> *mut u8 {
        System.alloc(layout)
    }
    #[cold]
    pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
        System.alloc_zeroed(layout)
    }
    #[cold]
    pub unsafe fn dealloc(p: *mut u8, layout: Layout) {
        System.dealloc(p, layout)
    }
    #[cold]
    pub unsafe fn realloc(p: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        System.realloc(p, layout, new_size)
    }
}

/// Without std it is refused, so nobody frees it.
#[cfg(not(feature = "std"))]
mod large {
    use core::alloc::Layout;
    use core::ptr;

    pub unsafe fn alloc(_: Layout) -> *mut u8 {
        ptr::null_mut()
    }
    pub unsafe fn alloc_zeroed(_: Layout) -> *mut u8 {
        ptr::null_mut()
    }
    pub unsafe fn dealloc(_: *mut u8, _: Layout) {}
    pub unsafe fn realloc(_: *mut u8, _: Layout, _: usize) -> *mut u8 {
        ptr::null_mut()
    }
}
