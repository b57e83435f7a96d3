// SPDX-License-Identifier: MIT
//! What libuslab exports, but for memory pools and allocation profiling. `tests/install/rust_test.py` compares each
//! declaration with the headers, and the names with `scripts/symbols.txt`.

use core::ffi::c_void;

use crate::types::*;

extern "C" {
    // ---- caches ----

    /// *kmem_cache_create*(3)
    pub fn kmem_cache_create(
        name: *const c_char,
        size: c_uint,
        align: c_uint,
        flags: slab_flags_t,
        ctor: Option<unsafe extern "C" fn(obj: *mut c_void)>,
    ) -> *mut kmem_cache;
    /// *kmem_cache_create*(3)
    pub fn kmem_cache_create_args(
        name: *const c_char,
        size: c_uint,
        args: *const kmem_cache_args,
        flags: slab_flags_t,
    ) -> *mut kmem_cache;
    /// *kmem_cache_create_usercopy*(3)
    pub fn kmem_cache_create_usercopy(
        name: *const c_char,
        size: c_uint,
        align: c_uint,
        flags: slab_flags_t,
        useroffset: c_uint,
        usersize: c_uint,
        ctor: Option<unsafe extern "C" fn(obj: *mut c_void)>,
    ) -> *mut kmem_cache;
    /// *kmem_cache_create*(3)
    pub fn kmem_cache_destroy(s: *mut kmem_cache);
    /// *kmem_cache_shrink*(3)
    pub fn kmem_cache_shrink(s: *mut kmem_cache) -> c_int;
    /// *kmem_cache_reap*(3)
    pub fn kmem_cache_reap();
    /// *kmem_cache_tune*(3)
    pub fn kmem_cache_tune(
        s: *mut kmem_cache,
        limit: c_uint,
        batchcount: c_uint,
        shared: c_uint,
    ) -> c_int;
    /// *kmem_cache_set_capacity*(3)
    pub fn kmem_cache_set_capacity(s: *mut kmem_cache, objects: c_uint) -> c_int;
    /// *kmem_cache_set_capacity*(3)
    pub fn uslab_set_capacity(pattern: *const c_char, objects: c_uint) -> c_int;
    /// *kmem_cache_size*(3)
    pub fn kmem_cache_size(s: *mut kmem_cache) -> c_uint;
    /// *kmem_cache_name*(3)
    pub fn kmem_cache_name(s: *mut kmem_cache) -> *const c_char;
    /// *kmem_cache_stats*(3)
    pub fn kmem_cache_stats(s: *mut kmem_cache, stats: *mut kmem_cache_statistics) -> c_int;
    /// *kmem_cache_destroy_all_objects*(3)
    pub fn kmem_cache_destroy_all_objects(s: *mut kmem_cache) -> c_int;
    /// *kmem_cache_defrag*(3)
    pub fn kmem_cache_setup_mobility(
        s: *mut kmem_cache,
        isolate: kmem_cache_isolate_func,
        migrate: kmem_cache_migrate_func,
    ) -> c_int;
    /// *kmem_cache_defrag*(3)
    pub fn uslab_cache_set_move(
        s: *mut kmem_cache,
        moves: uslab_move_func,
        arg: *mut c_void,
    ) -> c_int;
    /// *kmem_cache_defrag*(3)
    pub fn uslab_cache_set_defrag_ratio(s: *mut kmem_cache, percent: c_uint) -> c_int;
    /// *kmem_cache_defrag*(3)
    pub fn kmem_cache_defrag(s: *mut kmem_cache, node: c_int, budget_us: c_ulong) -> c_int;
    /// *uslab_should_move*(3)
    pub fn uslab_should_move(p: *const c_void) -> bool;
    /// *uslab_should_move*(3)
    pub fn uslab_cache_alloc_direct(s: *mut kmem_cache, gfp: gfp_t) -> *mut c_void;
    /// *uslab_should_move*(3)
    pub fn uslab_cache_free_direct(s: *mut kmem_cache, obj: *mut c_void);

    // ---- objects ----

    /// *kmem_cache_alloc*(3); the hit path is in it.
    #[link_name = "uslab_rust_alloc"]
    pub fn kmem_cache_alloc(s: *mut kmem_cache, flags: gfp_t) -> *mut c_void;
    /// *kmem_cache_free*(3); the hit path is in it.
    #[link_name = "uslab_rust_free"]
    pub fn kmem_cache_free(s: *mut kmem_cache, obj: *mut c_void);
    /// *kmem_cache_alloc_bulk*(3); the hit path is in it.
    #[link_name = "uslab_rust_alloc_bulk"]
    pub fn kmem_cache_alloc_bulk(
        s: *mut kmem_cache,
        flags: gfp_t,
        nr: usize,
        p: *mut *mut c_void,
    ) -> c_int;
    /// *kmem_cache_free_bulk*(3); the hit path is in it.
    #[link_name = "uslab_rust_free_bulk"]
    pub fn kmem_cache_free_bulk(s: *mut kmem_cache, nr: usize, p: *mut *mut c_void);
    /// *kmem_cache_alloc*(3)
    pub fn kmem_cache_alloc_node(s: *mut kmem_cache, flags: gfp_t, node: c_int) -> *mut c_void;
    /// *kmem_cache_alloc_array*(3)
    pub fn kmem_cache_alloc_array(
        s: *mut kmem_cache,
        flags: gfp_t,
        nr: usize,
        objs: *mut *mut c_void,
        mode: c_uint,
    ) -> c_int;
    /// *kmem_cache_alloc_array*(3)
    pub fn kmem_cache_free_array(s: *mut kmem_cache, nr: usize, objs: *mut *mut c_void);
    /// What a miss of `kmem_cache_alloc()` calls.
    pub fn uslab_cache_alloc(s: *mut kmem_cache, flags: gfp_t) -> *mut c_void;
    /// What a miss of `kmem_cache_free()` calls.
    pub fn uslab_cache_free(s: *mut kmem_cache, obj: *mut c_void);
    /// What a miss of `kmem_cache_alloc_bulk()` calls, which has `done` objects already.
    pub fn uslab_cache_alloc_bulk(
        s: *mut kmem_cache,
        flags: gfp_t,
        nr: usize,
        p: *mut *mut c_void,
        done: usize,
    ) -> c_int;
    /// What a miss of `kmem_cache_free_bulk()` calls.
    pub fn uslab_cache_free_bulk(s: *mut kmem_cache, nr: usize, p: *mut *mut c_void);

    // ---- lent sheaves ----

    /// *kmem_cache_prefill_sheaf*(3)
    pub fn kmem_cache_prefill_sheaf(
        s: *mut kmem_cache,
        gfp: gfp_t,
        size: c_uint,
    ) -> *mut slab_sheaf;
    /// *kmem_cache_prefill_sheaf*(3)
    pub fn kmem_cache_refill_sheaf(
        s: *mut kmem_cache,
        gfp: gfp_t,
        sheafp: *mut *mut slab_sheaf,
        size: c_uint,
    ) -> c_int;
    /// *kmem_cache_prefill_sheaf*(3)
    pub fn kmem_cache_alloc_from_sheaf(
        s: *mut kmem_cache,
        gfp: gfp_t,
        sheaf: *mut slab_sheaf,
    ) -> *mut c_void;
    /// *kmem_cache_prefill_sheaf*(3)
    pub fn kmem_cache_return_sheaf(s: *mut kmem_cache, gfp: gfp_t, sheaf: *mut slab_sheaf);
    /// *kmem_cache_prefill_sheaf*(3)
    pub fn kmem_cache_sheaf_size(sheaf: *mut slab_sheaf) -> c_uint;

    // ---- kmalloc ----

    /// *kmalloc*(3): what `kmalloc()` calls where the compiler does not know the size.
    pub fn uslab_kmalloc(size: usize, flags: gfp_t) -> *mut c_void;
    /// *kmalloc_node_track_caller*(3)
    pub fn uslab_kmalloc_caller(
        size: usize,
        flags: gfp_t,
        node: c_int,
        caller: *const c_void,
    ) -> *mut c_void;
    /// Handles of the kmalloc caches of the normal type; entry i is the kernel's index i.
    pub static uslab_kmalloc_handles: *mut kmem_cache;
    /// *kmalloc*(3)
    pub fn kmalloc_node(size: usize, flags: gfp_t, node: c_int) -> *mut c_void;
    /// *ksize*(3)
    pub fn kmalloc_size_roundup(size: usize) -> usize;
    /// *kmalloc*(3)
    pub fn kfree(p: *const c_void);
    /// *kmalloc*(3)
    pub fn kfree_sensitive(p: *const c_void);
    /// *krealloc*(3)
    pub fn krealloc(p: *const c_void, new_size: usize, flags: gfp_t) -> *mut c_void;
    /// *krealloc*(3)
    pub fn krealloc_node_align(
        p: *const c_void,
        new_size: usize,
        align: usize,
        flags: gfp_t,
        node: c_int,
    ) -> *mut c_void;
    /// *ksize*(3)
    pub fn ksize(p: *const c_void) -> usize;
    /// *kmem_buckets_create*(3)
    pub fn kmem_buckets_create(
        name: *const c_char,
        flags: slab_flags_t,
        useroffset: c_uint,
        usersize: c_uint,
        ctor: Option<unsafe extern "C" fn(obj: *mut c_void)>,
    ) -> *mut kmem_buckets;
    /// *kmem_buckets_create*(3)
    pub fn kmem_buckets_alloc(b: *mut kmem_buckets, size: usize, flags: gfp_t) -> *mut c_void;
    /// *kmem_buckets_create*(3)
    pub fn kmem_buckets_valloc(b: *mut kmem_buckets, size: usize, flags: gfp_t) -> *mut c_void;
    /// *kmem_buckets_create*(3)
    pub fn uslab_kmalloc_buckets(
        b: *mut kmem_buckets,
        size: usize,
        flags: gfp_t,
        caller: *const c_void,
    ) -> *mut c_void;
    /// *kvmalloc*(3)
    pub fn kvmalloc_node_align(size: usize, align: usize, flags: gfp_t, node: c_int)
        -> *mut c_void;
    /// *kvmalloc*(3)
    pub fn kvrealloc_node_align(
        p: *const c_void,
        new_size: usize,
        align: usize,
        flags: gfp_t,
        node: c_int,
    ) -> *mut c_void;

    // ---- kmalloc in any context ----

    /// *kmalloc_nolock*(3)
    pub fn kmalloc_nolock(size: usize, flags: gfp_t, node: c_int) -> *mut c_void;
    /// *kmalloc_nolock*(3)
    pub fn kmalloc_nolock_node(size: usize, flags: gfp_t, node: c_int) -> *mut c_void;
    /// *kmalloc_nolock*(3)
    pub fn kfree_nolock(p: *const c_void);

    // ---- rows of kmalloc's caches ----

    /// What a new [`uslab_kmalloc_site`] has the address of.
    pub static uslab_kmalloc_no_row: [*mut kmem_cache; 16];
    /// *uslab_kmalloc_at*(3)
    pub fn uslab_kmalloc_at(
        size: usize,
        flags: gfp_t,
        node: c_int,
        site: *mut uslab_kmalloc_site,
    ) -> *mut c_void;
    /// *uslab_kmalloc_at*(3)
    pub fn uslab_kvmalloc_at(
        size: usize,
        align: usize,
        flags: gfp_t,
        node: c_int,
        site: *mut uslab_kmalloc_site,
    ) -> *mut c_void;
    /// *uslab_kmalloc_at*(3)
    pub fn uslab_krealloc_at(
        p: *const c_void,
        new_size: usize,
        align: usize,
        flags: gfp_t,
        node: c_int,
        site: *mut uslab_kmalloc_site,
    ) -> *mut c_void;
    /// *uslab_kmalloc_at*(3)
    pub fn uslab_kvrealloc_at(
        p: *const c_void,
        new_size: usize,
        align: usize,
        flags: gfp_t,
        node: c_int,
        site: *mut uslab_kmalloc_site,
    ) -> *mut c_void;

    // ---- copies and strings ----

    /// *kstrdup*(3)
    pub fn kmemdup(p: *const c_void, size: usize, flags: gfp_t) -> *mut c_void;
    /// *kstrdup*(3)
    pub fn kvmemdup(p: *const c_void, size: usize, flags: gfp_t) -> *mut c_void;
    /// *kstrdup*(3)
    pub fn kmemdup_nul(p: *const c_char, size: usize, flags: gfp_t) -> *mut c_char;
    /// *kstrdup*(3)
    pub fn kstrdup(s: *const c_char, flags: gfp_t) -> *mut c_char;
    /// *kstrdup*(3)
    pub fn kstrndup(s: *const c_char, max: usize, flags: gfp_t) -> *mut c_char;
    /// *kstrdup*(3)
    pub fn kstrdup_const(s: *const c_char, flags: gfp_t) -> *const c_char;
    /// *kstrdup*(3)
    pub fn kfree_const(p: *const c_void);
    /// *kstrdup*(3)
    pub fn kasprintf(flags: gfp_t, format: *const c_char, ...) -> *mut c_char;

    // ---- RCU ----

    /// *kfree_rcu*(3)
    pub fn uslab_set_rcu(ops: *const uslab_rcu_ops) -> c_int;
    /// *kfree_rcu*(3)
    pub fn kvfree_call_rcu(head: *mut rcu_head, ptr: *mut c_void);
    /// *kfree_rcu*(3)
    pub fn kvfree_rcu_barrier();
    /// *kfree_rcu*(3)
    pub fn kvfree_rcu_barrier_on_cache(s: *mut kmem_cache);

    // ---- the whole library ----

    /// *uslab_version*(3)
    pub fn uslab_version() -> *const c_char;
    /// *uslab_trim*(3)
    pub fn uslab_trim() -> usize;
    /// *uslab_pin_object*(3)
    pub fn uslab_pin_object(address: *const c_void) -> c_int;
    /// *uslab_set_oom_hook*(3)
    pub fn uslab_set_oom_hook(hook: uslab_oom_hook, arg: *mut c_void);
    /// *uslab_set_limit*(3)
    pub fn uslab_set_limit(bytes: usize) -> c_int;
    /// *uslab_set_limit*(3)
    pub fn uslab_limit(held: *mut usize) -> usize;
    /// *uslab_set_limit*(3)
    pub fn kmem_cache_set_limit(s: *mut kmem_cache, bytes: usize) -> c_int;
    /// *uslab_set_mempolicy*(3)
    pub fn uslab_set_mempolicy(mode: c_int, nodemask: *const c_ulong, nr_nodes: c_uint) -> c_int;
    /// *uslab_set_mempolicy*(3)
    pub fn uslab_cache_set_mempolicy(
        s: *mut kmem_cache,
        mode: c_int,
        nodemask: *const c_ulong,
        nr_nodes: c_uint,
    ) -> c_int;

    // ---- debugging ----

    /// *kmem_cache_validate*(3)
    pub fn kmem_cache_validate(s: *mut kmem_cache) -> c_long;
    /// *uslab_set_debug*(3)
    pub fn uslab_set_debug(pattern: *const c_char, debug_flags: *const c_char) -> c_int;
    /// *uslab_dump_obj*(3)
    pub fn uslab_dump_obj(p: *const c_void) -> bool;
    /// *uslab_check_object*(3)
    pub fn uslab_check_object(p: *const c_void, n: usize) -> c_int;
    /// *uslab_set_report_hook*(3)
    pub fn uslab_set_report_hook(hook: uslab_report_hook, arg: *mut c_void, quiet: bool);
    /// *uslab_set_failslab*(3)
    pub fn uslab_set_failslab(text: *const c_char) -> c_int;
}
