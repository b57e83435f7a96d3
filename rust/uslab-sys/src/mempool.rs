// SPDX-License-Identifier: MIT
//! Memory pools, `<uslab/mempool.h>`: *mempool_create*(3), *mempool_alloc*(3).

use core::ffi::c_void;
use core::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use crate::types::*;

#[allow(missing_docs)] // the pages have them
extern "C" {
    pub fn mempool_init_node(
        pool: *mut mempool_t,
        min_nr: c_int,
        alloc_fn: mempool_alloc_t,
        free_fn: mempool_free_t,
        pool_data: *mut c_void,
        flags: gfp_t,
        node: c_int,
    ) -> c_int;
    pub fn mempool_exit(pool: *mut mempool_t);
    pub fn mempool_create_node(
        min_nr: c_int,
        alloc_fn: mempool_alloc_t,
        free_fn: mempool_free_t,
        pool_data: *mut c_void,
        flags: gfp_t,
        node: c_int,
    ) -> *mut mempool_t;
    pub fn mempool_destroy(pool: *mut mempool_t);
    pub fn mempool_resize(pool: *mut mempool_t, min_nr: c_int) -> c_int;
    pub fn mempool_alloc(pool: *mut mempool_t, flags: gfp_t) -> *mut c_void;
    pub fn mempool_alloc_preallocated(pool: *mut mempool_t) -> *mut c_void;
    pub fn mempool_alloc_bulk(
        pool: *mut mempool_t,
        elements: *mut *mut c_void,
        count: c_uint,
        allocated: c_uint,
    ) -> c_int;
    pub fn mempool_free(element: *mut c_void, pool: *mut mempool_t);
    pub fn mempool_free_bulk(
        pool: *mut mempool_t,
        elements: *mut *mut c_void,
        count: c_uint,
    ) -> c_uint;
    pub fn mempool_alloc_slab(flags: gfp_t, pool_data: *mut c_void) -> *mut c_void;
    pub fn mempool_free_slab(element: *mut c_void, pool_data: *mut c_void);
    pub fn mempool_kmalloc(flags: gfp_t, pool_data: *mut c_void) -> *mut c_void;
    pub fn mempool_kfree(element: *mut c_void, pool_data: *mut c_void);
    pub fn mempool_kvmalloc(flags: gfp_t, pool_data: *mut c_void) -> *mut c_void;
    pub fn mempool_kvfree(element: *mut c_void, pool_data: *mut c_void);
    pub fn mempool_alloc_pages(flags: gfp_t, pool_data: *mut c_void) -> *mut c_void;
    pub fn mempool_free_pages(element: *mut c_void, pool_data: *mut c_void);
}

/// Is there a pool? In memory that was all zero before.
///
/// # Safety
/// As in C: `pool` points to such memory, or to a pool.
#[inline]
pub unsafe fn mempool_initialized(pool: *mut mempool_t) -> bool {
    let elements = &*(core::ptr::addr_of!((*pool).elements) as *const AtomicPtr<*mut c_void>);

    !elements.load(Ordering::Relaxed).is_null()
}

/// Are as many elements kept as there should be? True a moment ago.
///
/// # Safety
/// As in C: `pool` points to a pool.
#[inline]
pub unsafe fn mempool_is_saturated(pool: *mut mempool_t) -> bool {
    let kept = &*(core::ptr::addr_of!((*pool).curr_nr) as *const AtomicI32);
    let wanted = &*(core::ptr::addr_of!((*pool).min_nr) as *const AtomicI32);

    kept.load(Ordering::Relaxed) >= wanted.load(Ordering::Relaxed)
}

/// [`mempool_init_node`] on any node, with `GFP_KERNEL`.
///
/// # Safety
/// As in C.
#[inline]
pub unsafe fn mempool_init(
    pool: *mut mempool_t,
    min_nr: c_int,
    alloc_fn: mempool_alloc_t,
    free_fn: mempool_free_t,
    pool_data: *mut c_void,
) -> c_int {
    mempool_init_node(
        pool,
        min_nr,
        alloc_fn,
        free_fn,
        pool_data,
        GFP_KERNEL,
        NUMA_NO_NODE,
    )
}

/// [`mempool_create_node`] on any node, with `GFP_KERNEL`.
///
/// # Safety
/// As in C.
#[inline]
pub unsafe fn mempool_create(
    min_nr: c_int,
    alloc_fn: mempool_alloc_t,
    free_fn: mempool_free_t,
    pool_data: *mut c_void,
) -> *mut mempool_t {
    mempool_create_node(
        min_nr,
        alloc_fn,
        free_fn,
        pool_data,
        GFP_KERNEL,
        NUMA_NO_NODE,
    )
}

macro_rules! kind_of_pool {
    ($init:ident, $create:ident, $alloc:ident, $free:ident, $data:ident: $kind:ty) => {
        /// A pool of that kind, as in `<uslab/mempool.h>`.
        ///
        /// # Safety
        /// As in C.
        #[inline]
        pub unsafe fn $init(pool: *mut mempool_t, min_nr: c_int, $data: $kind) -> c_int {
            mempool_init(
                pool,
                min_nr,
                Some($alloc),
                Some($free),
                $data as *mut c_void,
            )
        }
        /// A pool of that kind, as in `<uslab/mempool.h>`.
        ///
        /// # Safety
        /// As in C.
        #[inline]
        pub unsafe fn $create(min_nr: c_int, $data: $kind) -> *mut mempool_t {
            mempool_create(min_nr, Some($alloc), Some($free), $data as *mut c_void)
        }
    };
}

kind_of_pool!(mempool_init_slab_pool, mempool_create_slab_pool,
              mempool_alloc_slab, mempool_free_slab, s: *mut kmem_cache);
kind_of_pool!(mempool_init_kmalloc_pool, mempool_create_kmalloc_pool,
              mempool_kmalloc, mempool_kfree, size: usize);
kind_of_pool!(mempool_init_kvmalloc_pool, mempool_create_kvmalloc_pool,
              mempool_kvmalloc, mempool_kvfree, size: usize);
kind_of_pool!(mempool_init_page_pool, mempool_create_page_pool,
              mempool_alloc_pages, mempool_free_pages, order: c_long);
