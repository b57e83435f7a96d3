// SPDX-License-Identifier: MIT
//! Types and constants of the headers.

use core::ffi::c_void;
use core::marker::{PhantomData, PhantomPinned};

/// C's `int`. `core::ffi` has it since Rust 1.64 only.
pub type c_int = i32;
/// C's `unsigned int`.
pub type c_uint = u32;
/// C's `long`: libuslab is for machines with longs of 64 bits.
pub type c_long = i64;
/// C's `unsigned long`.
pub type c_ulong = u64;
/// C's `char`.
#[cfg(target_arch = "x86_64")]
pub type c_char = i8;
/// C's `char`.
#[cfg(not(target_arch = "x86_64"))]
pub type c_char = u8;

/// Allocation flags, `__GFP_*`.
pub type gfp_t = c_uint;
/// Cache flags, `SLAB_*`.
pub type slab_flags_t = c_uint;

macro_rules! constants {
    ($kind:ty: $($name:ident = $value:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the headers.")]
            pub const $name: $kind = $value;
        )*
        /// Names and values, for a test that compares them with the headers.
        #[cfg(all(test, not(uslab_fake)))]
        pub(crate) const ALL: &[(&str, u64)] = &[$((stringify!($name), $name as u64)),*];
    };
}

mod gfp {
    use super::gfp_t;

    constants! { gfp_t:
        __GFP_DMA = 0x01;
        __GFP_HIGHMEM = 0x02;
        __GFP_DMA32 = 0x04;
        __GFP_MOVABLE = 0x08;
        __GFP_RECLAIMABLE = 0x10;
        __GFP_HIGH = 0x20;
        __GFP_IO = 0x40;
        __GFP_FS = 0x80;
        __GFP_ZERO = 0x100;
        __GFP_ATOMIC = 0x200;
        __GFP_DIRECT_RECLAIM = 0x400;
        __GFP_KSWAPD_RECLAIM = 0x800;
        __GFP_WRITE = 0x1000;
        __GFP_NOWARN = 0x2000;
        __GFP_RETRY_MAYFAIL = 0x4000;
        __GFP_NOFAIL = 0x8000;
        __GFP_NORETRY = 0x10000;
        __GFP_MEMALLOC = 0x20000;
        __GFP_COMP = 0x40000;
        __GFP_NOMEMALLOC = 0x80000;
        __GFP_HARDWALL = 0x100000;
        __GFP_THISNODE = 0x200000;
        __GFP_ACCOUNT = 0x400000;
        __GFP_ZEROTAGS = 0x800000;
        __GFP_SKIP_ZERO = 0x1000000;
        __GFP_NOLOCKDEP = 0x8000000;
        __GFP_RECLAIM = __GFP_DIRECT_RECLAIM | __GFP_KSWAPD_RECLAIM;
        GFP_ATOMIC = __GFP_HIGH | __GFP_ATOMIC | __GFP_KSWAPD_RECLAIM;
        GFP_KERNEL = __GFP_RECLAIM | __GFP_IO | __GFP_FS;
        GFP_KERNEL_ACCOUNT = GFP_KERNEL | __GFP_ACCOUNT;
        GFP_NOWAIT = __GFP_KSWAPD_RECLAIM;
        GFP_NOIO = __GFP_RECLAIM;
        GFP_NOFS = __GFP_RECLAIM | __GFP_IO;
        GFP_USER = __GFP_RECLAIM | __GFP_IO | __GFP_FS | __GFP_HARDWALL;
        GFP_DMA = __GFP_DMA;
        GFP_DMA32 = __GFP_DMA32;
    }
}

mod slab {
    use super::slab_flags_t;

    constants! { slab_flags_t:
        SLAB_CONSISTENCY_CHECKS = 0x00000100;
        SLAB_RED_ZONE = 0x00000400;
        SLAB_POISON = 0x00000800;
        SLAB_KMALLOC = 0x00001000;
        SLAB_HWCACHE_ALIGN = 0x00002000;
        SLAB_CACHE_DMA = 0x00004000;
        SLAB_CACHE_DMA32 = 0x00008000;
        SLAB_STORE_USER = 0x00010000;
        SLAB_RECLAIM_ACCOUNT = 0x00020000;
        SLAB_TEMPORARY = SLAB_RECLAIM_ACCOUNT;
        SLAB_PANIC = 0x00040000;
        SLAB_TYPESAFE_BY_RCU = 0x00080000;
        SLAB_MEM_SPREAD = 0x00100000;
        SLAB_TRACE = 0x00200000;
        SLAB_DEBUG_OBJECTS = 0x00400000;
        SLAB_NOLEAKTRACE = 0x00800000;
        SLAB_NO_MERGE = 0x01000000;
        SLAB_FAILSLAB = 0x02000000;
        SLAB_ACCOUNT = 0x04000000;
        SLAB_KASAN = 0x08000000;
        SLAB_NO_USER_FLAGS = 0x10000000;
        SLAB_SKIP_KFENCE = 0x20000000;
    }
}

mod sizes {
    constants! { usize:
        KMALLOC_SHIFT_LOW = 3;
        KMALLOC_SHIFT_HIGH = 13;
        KMALLOC_MIN_SIZE = 8;
        KMALLOC_MAX_CACHE_SIZE = 8192;
        KMALLOC_SHIFT_MAX = 22;
        KMALLOC_MAX_SIZE = 4 << 20;
        KMALLOC_MAX_ORDER = 10;
        ARCH_KMALLOC_MINALIGN = 8;
        ARCH_SLAB_MINALIGN = 8;
        USLAB_MAX_NAME = 63;
        USLAB_RCU_HEAD_BYTES = 64;
    }
}

mod arrays {
    use super::c_uint;

    constants! { c_uint:
        SLAB_ARRAY_PARTIAL = 1;
        SLAB_ARRAY_NEW = 2;
        SLAB_ARRAY_LOCAL = 4;
        SLAB_ARRAY_FULL = 8;
        SLAB_ARRAY_ALL = 15;
        USLAB_CAPACITY_NONE = !0;
    }
}

mod policies {
    use super::c_int;

    constants! { c_int:
        USLAB_POLICY_DEFAULT = 0;
        USLAB_POLICY_PREFERRED = 1;
        USLAB_POLICY_BIND = 2;
        USLAB_POLICY_INTERLEAVE = 3;
        USLAB_POLICY_LOCAL = 4;
        USLAB_POLICY_PREFERRED_MANY = 5;
    }
}

pub use {arrays::*, gfp::*, policies::*, sizes::*, slab::*};

#[cfg(all(test, not(uslab_fake)))]
pub(crate) const ALL: &[&[(&str, u64)]] =
    &[gfp::ALL, slab::ALL, sizes::ALL, arrays::ALL, policies::ALL];

/// No node in particular.
pub const NUMA_NO_NODE: c_int = -1;

/// Result of a request for zero bytes: not null, not to be touched, accepted by [`kfree`].
///
/// [`kfree`]: crate::kfree
pub const ZERO_SIZE_PTR: *mut c_void = 16 as *mut c_void;

macro_rules! opaque {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[repr(C)]
        pub struct $name {
            _data: [u8; 0],
            // Neither Send nor Sync nor Unpin: C decides.
            _marker: PhantomData<(*mut u8, PhantomPinned)>,
        }
    };
}

opaque! {
    /// A cache. Programs have pointers to it only.
    kmem_cache
}
opaque! {
    /// A lent sheaf, likewise.
    slab_sheaf
}
opaque! {
    /// Of the allocation functions of memory pools.
    uslab_mempool_kind
}

/// Caches by size for one user, see *kmem_buckets_create*(3).
pub type kmem_buckets = [*mut kmem_cache; KMALLOC_SHIFT_HIGH + 1];

/// A place in a program where memory is allocated, see *uslab_kmalloc_at*(3): static, one for each.
/// `row` begins as the address of [`uslab_kmalloc_no_row`], and is the library's then.
///
/// [`uslab_kmalloc_no_row`]: crate::uslab_kmalloc_no_row
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs)] // the header has them
pub struct uslab_kmalloc_site {
    pub row: *mut *mut kmem_cache,
    pub token: c_ulong,
}

/// The arguments of `kmem_cache_create_args()` beyond name and size; all zero: none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the header has them
pub struct kmem_cache_args {
    pub align: c_uint,
    pub useroffset: c_uint,
    pub usersize: c_uint,
    pub freeptr_offset: c_uint,
    pub use_freeptr_offset: bool,
    pub ctor: Option<unsafe extern "C" fn(obj: *mut c_void)>,
    pub sheaf_capacity: c_uint,
    pub engine: *const c_char,
    pub front: *const c_char,
    pub capacity: c_uint,
    pub dtor: Option<unsafe extern "C" fn(obj: *mut c_void)>,
    pub reclaim: Option<unsafe extern "C" fn(arg: *mut c_void)>,
    pub reclaim_arg: *mut c_void,
}

impl kmem_cache_args {
    /// Nothing is set.
    pub const fn new() -> Self {
        Self {
            align: 0,
            useroffset: 0,
            usersize: 0,
            freeptr_offset: 0,
            use_freeptr_offset: false,
            ctor: None,
            sheaf_capacity: 0,
            engine: core::ptr::null(),
            front: core::ptr::null(),
            capacity: 0,
            dtor: None,
            reclaim: None,
            reclaim_arg: core::ptr::null_mut(),
        }
    }
}

impl Default for kmem_cache_args {
    fn default() -> Self {
        Self::new()
    }
}

/// A cache in numbers, see *kmem_cache_stats*(3). `size` is to be set to the size of the struct.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)] // the header has them
pub struct kmem_cache_statistics {
    pub size: usize,
    pub object_size: usize,
    pub slab_size: usize,
    pub objs_per_slab: usize,
    pub objects: usize,
    pub objects_free: usize,
    pub objects_lent: usize,
    pub total_objects: usize,
    pub slabs: usize,
    pub slab_bytes: usize,
    pub defrag_slabs: usize,
    pub defrag_bytes: usize,
    pub defrag_moved: usize,
    pub defrag_refused: usize,
}

/// Two words for programs to embed, see *kfree_rcu*(3).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct rcu_head {
    pub next: *mut rcu_head,
    pub func: Option<unsafe extern "C" fn(head: *mut rcu_head)>,
}

/// A function that the RCU calls with a head.
pub type rcu_callback = unsafe extern "C" fn(head: *mut rcu_head);

/// The RCU of the program's readers, see *uslab_set_rcu*(3).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct uslab_rcu_ops {
    pub call: Option<unsafe extern "C" fn(head: *mut rcu_head, func: Option<rcu_callback>)>,
    pub synchronize: Option<unsafe extern "C" fn()>,
    pub barrier: Option<unsafe extern "C" fn()>,
}

/// Called with each report, see *uslab_set_report_hook*(3).
pub type uslab_report_hook =
    Option<unsafe extern "C" fn(cache: *const c_char, text: *const c_char, arg: *mut c_void)>;

/// Pins objects that are to be moved, see *kmem_cache_defrag*(3).
pub type kmem_cache_isolate_func = Option<
    unsafe extern "C" fn(s: *mut kmem_cache, objs: *mut *mut c_void, nr: c_int) -> *mut c_void,
>;

/// Moves objects, see *kmem_cache_defrag*(3).
pub type kmem_cache_migrate_func = Option<
    unsafe extern "C" fn(
        s: *mut kmem_cache,
        objs: *mut *mut c_void,
        nr: c_int,
        node: c_int,
        private: *mut c_void,
    ),
>;

/// Moves one object, see *kmem_cache_defrag*(3).
pub type uslab_move_func = Option<
    unsafe extern "C" fn(from: *mut c_void, to: *mut c_void, arg: *mut c_void) -> c_int,
>;

/// Called before memory is refused, see *uslab_set_oom_hook*(3).
pub type uslab_oom_hook =
    Option<unsafe extern "C" fn(size: usize, gfp: gfp_t, arg: *mut c_void) -> bool>;

/// An element, or null.
pub type mempool_alloc_t =
    Option<unsafe extern "C" fn(flags: gfp_t, pool_data: *mut c_void) -> *mut c_void>;
/// Takes what a [`mempool_alloc_t`] returned.
pub type mempool_free_t =
    Option<unsafe extern "C" fn(element: *mut c_void, pool_data: *mut c_void)>;

/// Threads that wait for elements of a pool.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the header has them
pub struct mempool_wait {
    pub threads: c_uint,
    pub several: c_uint,
    pub wakeups: c_uint,
}

/// A memory pool, for programs to embed; all zero: no pool yet.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs)] // the header has them
pub struct mempool_t {
    pub min_nr: c_int,
    pub curr_nr: c_int,
    pub elements: *mut *mut c_void,
    pub pool_data: *mut c_void,
    pub alloc: mempool_alloc_t,
    pub free: mempool_free_t,
    pub wait: mempool_wait,
    pub kind: *const uslab_mempool_kind,
}
