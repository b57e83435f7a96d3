// SPDX-License-Identifier: MIT
//! Allocation profiling, `<uslab/alloc_tag.h>`: *uslab_set_mem_profiling*(3),
//! *uslab_alloc_tag_add*(3).
//!
//! C has macros that give each call a tag. Here who wants one makes it, and calls
//! `uslab_alloc_tag_add()` if `mem_alloc_profiling_enabled()`.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicI32, Ordering};

use crate::types::*;

/// A call site. It stays where it is, and so do its texts, until the process ends or
/// `uslab_alloc_tags_unregister()` was called.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs)] // the header has them
pub struct alloc_tag {
    pub file: *const c_char,
    pub function: *const c_char,
    pub line: u32,
    pub site: u32,
    pub reserved: u64,
}

impl alloc_tag {
    /// One that the library does not know yet. The texts end with NUL.
    pub const fn new(file: *const c_char, function: *const c_char, line: u32) -> Self {
        Self {
            file,
            function,
            line,
            site: 0,
            reserved: 0,
        }
    }
}

/// Tags that lie side by side, for `uslab_alloc_tags_register()`.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs)] // the header has them
pub struct uslab_alloc_tags {
    pub start: *mut alloc_tag,
    pub end: *mut alloc_tag,
    pub next: *mut uslab_alloc_tags,
}

impl uslab_alloc_tags {
    /// The tags from `start` up to `end`.
    pub const fn new(start: *mut alloc_tag, end: *mut alloc_tag) -> Self {
        Self {
            start,
            end,
            next: ptr::null_mut(),
        }
    }
}

/// What is counted for a tag.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the header has them
pub struct alloc_tag_counters {
    pub bytes: u64,
    pub calls: u64,
}

#[allow(missing_docs)] // the pages have them
extern "C" {
    /// Not 0: allocations are counted. To be read only.
    pub static uslab_mem_profiling_on: AtomicI32;
    pub fn uslab_set_mem_profiling(on: bool) -> c_int;
    pub fn alloc_tag_read(tag: *mut alloc_tag) -> alloc_tag_counters;
    pub fn alloc_tag_save(tag: *mut alloc_tag) -> *mut alloc_tag;
    pub fn uslab_alloc_tag_add(
        tag: *mut alloc_tag,
        s: *mut kmem_cache,
        p: *const c_void,
        keep: bool,
    );
    pub fn uslab_alloc_tag_add_all(
        tag: *mut alloc_tag,
        s: *mut kmem_cache,
        nr: usize,
        p: *const *mut c_void,
    );
    pub fn uslab_alloc_tag_add_elements(
        tag: *mut alloc_tag,
        pool: *const mempool_t,
        nr: usize,
        elements: *const *mut c_void,
    );
    pub fn uslab_alloc_tag_add_pool(tag: *mut alloc_tag, pool: *const mempool_t);
    pub fn uslab_alloc_tags_register(tags: *mut uslab_alloc_tags);
    pub fn uslab_alloc_tags_unregister(tags: *mut uslab_alloc_tags);
}

/// *uslab_set_mem_profiling*(3)
///
/// # Safety
/// As in C.
#[inline]
pub unsafe fn mem_alloc_profiling_enabled() -> bool {
    uslab_mem_profiling_on.load(Ordering::Relaxed) != 0
}

/// *uslab_set_mem_profiling*(3)
///
/// # Safety
/// As in C.
#[inline]
pub unsafe fn alloc_tag_restore(_tag: *mut alloc_tag, old: *mut alloc_tag) {
    alloc_tag_save(old);
}
