// SPDX-License-Identifier: MIT
//! Accounting groups, `<uslab/group.h>`: *uslab_group_create*(3).

use core::ffi::c_void;

use crate::types::*;

/// A handle of a group: no address.
#[repr(C)]
#[derive(Debug)]
pub struct uslab_group {
    _private: [u8; 0],
}

/// Called when a charge of so many bytes meets the limit of a group.
pub type uslab_group_callback =
    Option<unsafe extern "C" fn(group: *mut uslab_group, bytes: usize, arg: *mut c_void)>;

/// A group in numbers; `size` is set by the caller.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the header has them
pub struct uslab_group_statistics {
    pub size: usize,
    pub usage: usize,
    pub peak: usize,
    pub limit: usize,
    pub met: usize,
    pub failed: usize,
    pub threads: usize,
    pub groups: usize,
}

#[allow(missing_docs)] // the page has them
extern "C" {
    pub fn uslab_group_create(
        name: *const c_char,
        limit: usize,
        parent: *mut uslab_group,
    ) -> *mut uslab_group;
    pub fn uslab_group_destroy(group: *mut uslab_group);
    pub fn uslab_group_enter(group: *mut uslab_group) -> *mut uslab_group;
    pub fn uslab_group_current() -> *mut uslab_group;
    pub fn uslab_group_usage(group: *mut uslab_group) -> usize;
    pub fn uslab_group_peak(group: *mut uslab_group) -> usize;
    pub fn uslab_group_stat(group: *mut uslab_group, stat: *mut uslab_group_statistics) -> c_int;
    pub fn uslab_group_set_limit(group: *mut uslab_group, limit: usize) -> c_int;
    pub fn kmem_cache_set_group(s: *mut kmem_cache, group: *mut uslab_group) -> c_int;
    pub fn uslab_group_set_callback(
        group: *mut uslab_group,
        callback: uslab_group_callback,
        arg: *mut c_void,
    ) -> c_int;
}
