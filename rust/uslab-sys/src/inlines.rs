// SPDX-License-Identifier: MIT
//! Inline functions of `<uslab/fastpath.h>`, `<uslab/kmalloc.h>` and `<uslab/kstring.h>`.

use core::ffi::c_void;

use crate::functions::*;
use crate::types::*;

/// More than can be allocated: what a product that overflows asks for.
const TOO_LARGE: usize = usize::MAX / 2;

const fn product(n: usize, size: usize) -> usize {
    match n.checked_mul(size) {
        Some(bytes) => bytes,
        None => TOO_LARGE,
    }
}

macro_rules! inline {
    ($($page:literal $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)? = $body:expr;)*) => {
        $(
            #[doc = concat!("*", $page, "*(3)")]
            ///
            /// # Safety
            /// As in C.
            #[inline]
            pub unsafe fn $name($($argument: $kind),*) $(-> $result)? { $body }
        )*
    };
}

inline! {
    "kmem_cache_alloc" kmem_cache_zalloc(s: *mut kmem_cache, flags: gfp_t) -> *mut c_void =
        kmem_cache_alloc(s, flags | __GFP_ZERO);
    "kmalloc" kmalloc(size: usize, flags: gfp_t) -> *mut c_void = uslab_kmalloc(size, flags);
    "kmalloc" kzalloc(size: usize, flags: gfp_t) -> *mut c_void =
        uslab_kmalloc(size, flags | __GFP_ZERO);
    "kmalloc" kzalloc_node(size: usize, flags: gfp_t, node: c_int) -> *mut c_void =
        kmalloc_node(size, flags | __GFP_ZERO, node);
    "kmalloc" kmalloc_array(n: usize, size: usize, flags: gfp_t) -> *mut c_void =
        uslab_kmalloc(product(n, size), flags);
    "kmalloc" kcalloc(n: usize, size: usize, flags: gfp_t) -> *mut c_void =
        uslab_kmalloc(product(n, size), flags | __GFP_ZERO);
    "kmalloc" kmalloc_array_node(n: usize, size: usize, flags: gfp_t, node: c_int)
        -> *mut c_void = kmalloc_node(product(n, size), flags, node);
    "kmalloc" kcalloc_node(n: usize, size: usize, flags: gfp_t, node: c_int) -> *mut c_void =
        kmalloc_node(product(n, size), flags | __GFP_ZERO, node);
    "krealloc" krealloc_array(p: *const c_void, new_n: usize, new_size: usize, flags: gfp_t)
        -> *mut c_void = krealloc(p, product(new_n, new_size), flags);
    "krealloc" krealloc_node(p: *const c_void, new_size: usize, flags: gfp_t, node: c_int)
        -> *mut c_void = krealloc_node_align(p, new_size, 1, flags, node);
    "kmalloc" kfree_bulk(nr: usize, p: *mut *mut c_void) =
        uslab_cache_free_bulk(core::ptr::null_mut(), nr, p);
    "kvmalloc" kvmalloc(size: usize, flags: gfp_t) -> *mut c_void =
        kvmalloc_node_align(size, 1, flags, NUMA_NO_NODE);
    "kvmalloc" kvmalloc_node(size: usize, flags: gfp_t, node: c_int) -> *mut c_void =
        kvmalloc_node_align(size, 1, flags, node);
    "kvmalloc" kvzalloc(size: usize, flags: gfp_t) -> *mut c_void =
        kvmalloc(size, flags | __GFP_ZERO);
    "kvmalloc" kvzalloc_node(size: usize, flags: gfp_t, node: c_int) -> *mut c_void =
        kvmalloc_node(size, flags | __GFP_ZERO, node);
    "kvmalloc" kvmalloc_array(n: usize, size: usize, flags: gfp_t) -> *mut c_void =
        kvmalloc(product(n, size), flags);
    "kvmalloc" kvcalloc(n: usize, size: usize, flags: gfp_t) -> *mut c_void =
        kvmalloc(product(n, size), flags | __GFP_ZERO);
    "kvmalloc" kvmalloc_array_node(n: usize, size: usize, flags: gfp_t, node: c_int)
        -> *mut c_void = kvmalloc_node(product(n, size), flags, node);
    "kvmalloc" kvcalloc_node(n: usize, size: usize, flags: gfp_t, node: c_int) -> *mut c_void =
        kvmalloc_node(product(n, size), flags | __GFP_ZERO, node);
    "kvmalloc" kvrealloc(p: *const c_void, new_size: usize, flags: gfp_t) -> *mut c_void =
        kvrealloc_node_align(p, new_size, 1, flags, NUMA_NO_NODE);
    "kvmalloc" kvfree(p: *const c_void) = kfree(p);
    "kvmalloc" kvfree_sensitive(p: *const c_void, _size: usize) = kfree_sensitive(p);
    "kstrdup" kmemdup_array(p: *const c_void, n: usize, size: usize, flags: gfp_t)
        -> *mut c_void = kmemdup(p, product(n, size), flags);
}
