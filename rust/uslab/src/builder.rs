// SPDX-License-Identifier: MIT
//! How a cache is to be: name, alignment, flags, engine, front.

use core::fmt;
use core::marker::PhantomData;
use core::mem::{align_of, size_of};
use core::ops::BitOr;
use core::ptr::NonNull;

use crate::cache::Cache;
use crate::error::CacheError;
use crate::sys;

/// The largest alignment of an object: a page.
const MAX_ALIGN: usize = 4096;

/// How objects are packed into pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Engine {
    /// Free lists in the objects, partial slabs: the default.
    Slub,
    /// Index lists, coloured; full, partial and free slabs.
    Slab,
    /// Segregated lists; pages of the cache.
    Slobseg,
    /// Segregated lists by powers of two; pages of all such caches.
    SlobsegPow2,
    /// One heap of all such caches, three lists by size.
    Slob,
    /// The same with one list.
    Slob1991,
}

/// What a CPU caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Front {
    /// Two arrays for each CPU, exchanged whole: the default.
    Array,
    /// SLAB's queues.
    Queues,
    /// SLUB's CPU slab and partial slabs; for [`Engine::Slub`].
    Cpuslab,
    /// SLUB's sheaves and barns, since Linux 7.0.
    Sheaves,
    /// Nothing.
    None,
    /// What the engine had in the kernel.
    Historical,
}

/// Flags of a cache, `SLAB_*`; `|` joins them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u32);

impl Flags {
    /// Objects do not share cache lines, if they are larger than half of one.
    pub const HWCACHE_ALIGN: Self = Self(sys::SLAB_HWCACHE_ALIGN);
    /// No other cache of the same size shares this one.
    pub const NO_MERGE: Self = Self(sys::SLAB_NO_MERGE);
    /// Debug flag F: checks.
    pub const CONSISTENCY_CHECKS: Self = Self(sys::SLAB_CONSISTENCY_CHECKS);
    /// Debug flag Z: bytes beside an object that are checked.
    pub const RED_ZONE: Self = Self(sys::SLAB_RED_ZONE);
    /// Debug flag P: bytes in a free object that are checked.
    pub const POISON: Self = Self(sys::SLAB_POISON);
    /// Debug flag U: who allocated and freed an object.
    pub const STORE_USER: Self = Self(sys::SLAB_STORE_USER);
    /// Debug flag T: a line for each allocation and free.
    pub const TRACE: Self = Self(sys::SLAB_TRACE);
    /// Shown by tools; merges only with caches of the same flags.
    pub const RECLAIM_ACCOUNT: Self = Self(sys::SLAB_RECLAIM_ACCOUNT);
    /// Shown by tools; merges only with caches of the same flags.
    pub const ACCOUNT: Self = Self(sys::SLAB_ACCOUNT);
    /// `USLAB_DEBUG` does not concern it.
    pub const NO_USER_FLAGS: Self = Self(sys::SLAB_NO_USER_FLAGS);
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// How a [`Cache`] is to be. What is not set is as `USLAB_CONF` says, or the default.
///
/// ```
/// use uslab::{Cache, Engine, Flags};
///
/// let cache = Cache::<[u64; 5]>::builder("nodes")
///     .align(64)
///     .flags(Flags::NO_MERGE)
///     .engine(Engine::Slab)
///     .build()?;
/// assert_eq!(cache.name(), "nodes");
/// # Ok::<(), uslab::CacheError>(())
/// ```
#[must_use]
pub struct Builder<'a, T> {
    name: &'a str,
    align: usize,
    flags: Flags,
    engine: Option<Engine>,
    front: Option<Front>,
    capacity: u32,
    of: PhantomData<fn() -> T>,
}

impl<'a, T> Builder<'a, T> {
    /// The same as [`Cache::builder`].
    pub const fn new(name: &'a str) -> Self {
        Self {
            name,
            align: align_of::<T>(),
            flags: Flags(0),
            engine: None,
            front: None,
            capacity: 0,
            of: PhantomData,
        }
    }

    /// Objects are aligned to `bytes`, a power of two of at most a page; at least as `T` is.
    pub const fn align(mut self, bytes: usize) -> Self {
        self.align = if bytes > align_of::<T>() {
            bytes
        } else {
            align_of::<T>()
        };
        self
    }

    /// Flags. Those that the library refuses are [`CacheError::Refused`]; with `SLAB_PANIC`, which
    /// has no name here, the program ends.
    pub const fn flags(mut self, flags: Flags) -> Self {
        self.flags = flags;
        self
    }

    /// How objects are packed into pages.
    pub const fn engine(mut self, engine: Engine) -> Self {
        self.engine = Some(engine);
        self
    }

    /// What a CPU caches.
    pub const fn front(mut self, front: Front) -> Self {
        self.front = Some(front);
        self
    }

    /// How many objects a CPU's array holds: 1 to 31, with [`Front::Queues`] and
    /// [`Front::Sheaves`] to 1024. [`Cache::set_capacity`] changes it later.
    pub const fn capacity(mut self, objects: u32) -> Self {
        self.capacity = objects;
        self
    }

    /// Makes the cache.
    pub fn build(&self) -> Result<Cache<T>, CacheError> {
        // C++ and this have one byte for an object without bytes: so it is counted as others are.
        let size = core::cmp::max(size_of::<T>(), 1);
        let name = c_name(self.name)?;

        if size > sys::KMALLOC_MAX_SIZE {
            return Err(CacheError::Size);
        }
        if !self.align.is_power_of_two() || self.align > MAX_ALIGN {
            return Err(CacheError::Align);
        }
        let args = sys::kmem_cache_args {
            align: self.align as sys::c_uint,
            engine: engine_name(self.engine),
            front: front_name(self.front),
            capacity: self.capacity,
            ..sys::kmem_cache_args::new()
        };
        // SAFETY: strings that end with NUL, and arguments as C has them.
        let made = unsafe {
            sys::kmem_cache_create_args(
                name.as_ptr().cast(),
                size as sys::c_uint,
                &args,
                self.flags.0,
            )
        };
        // SAFETY: a cache for objects as T, which nobody else destroys.
        NonNull::new(made)
            .map(|handle| unsafe { Cache::from_raw(handle) })
            .ok_or_else(|| CacheError::Refused(sys::errno()))
    }
}

// Not derived: whether T is Clone or Debug does not matter.
impl<T> Clone for Builder<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Builder<'_, T> {}

impl<T> fmt::Debug for Builder<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("align", &self.align)
            .field("flags", &self.flags)
            .field("engine", &self.engine)
            .field("front", &self.front)
            .field("capacity", &self.capacity)
            .finish()
    }
}

/// The name with a NUL behind it.
fn c_name(name: &str) -> Result<[u8; sys::USLAB_MAX_NAME + 1], CacheError> {
    let mut text = [0; sys::USLAB_MAX_NAME + 1];

    if name.is_empty() || name.len() > sys::USLAB_MAX_NAME || name.contains('\0') {
        return Err(CacheError::Name);
    }
    text[..name.len()].copy_from_slice(name.as_bytes());
    Ok(text)
}

fn engine_name(engine: Option<Engine>) -> *const sys::c_char {
    let text: &[u8] = match engine {
        None => return core::ptr::null(),
        Some(Engine::Slub) => b"slub\0",
        Some(Engine::Slab) => b"slab\0",
        Some(Engine::Slobseg) => b"slobseg\0",
        Some(Engine::SlobsegPow2) => b"slobseg:pow2\0",
        Some(Engine::Slob) => b"slob\0",
        Some(Engine::Slob1991) => b"slob:1991\0",
    };

    text.as_ptr().cast()
}

fn front_name(front: Option<Front>) -> *const sys::c_char {
    let text: &[u8] = match front {
        None => return core::ptr::null(),
        Some(Front::Array) => b"array\0",
        Some(Front::Queues) => b"queues\0",
        Some(Front::Cpuslab) => b"cpuslab\0",
        Some(Front::Sheaves) => b"sheaves\0",
        Some(Front::None) => b"none\0",
        Some(Front::Historical) => b"historical\0",
    };

    text.as_ptr().cast()
}
