// SPDX-License-Identifier: MIT
//! Shrinkers, `<uslab/shrinker.h>`: *register_shrinker*(3).

use core::ffi::c_void;

use crate::types::*;

/// What a shrinker is asked for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the header has them
pub struct shrink_control {
    pub gfp_mask: gfp_t,
    pub nid: c_int,
    pub nr_to_scan: c_ulong,
    pub nr_scanned: c_ulong,
    pub memcg: *mut c_void,
}

/// Counts objects, or frees some.
pub type shrinker_call =
    Option<unsafe extern "C" fn(shrinker: *mut shrinker, sc: *mut shrink_control) -> c_ulong>;

/// A shrinker; zero what is not set.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the header has them
pub struct shrinker {
    pub count_objects: shrinker_call,
    pub scan_objects: shrinker_call,
    pub batch: c_long,
    pub seeks: c_int,
    pub flags: c_uint,
    pub private_data: *mut c_void,
}

#[allow(missing_docs)] // the page has them
extern "C" {
    pub fn shrinker_alloc(flags: c_uint, fmt: *const c_char, ...) -> *mut shrinker;
    pub fn shrinker_register(shrinker: *mut shrinker);
    pub fn shrinker_free(shrinker: *mut shrinker);
    pub fn register_shrinker(shrinker: *mut shrinker, fmt: *const c_char, ...) -> c_int;
    pub fn unregister_shrinker(shrinker: *mut shrinker);
}
