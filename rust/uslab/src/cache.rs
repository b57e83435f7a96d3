// SPDX-License-Identifier: MIT
//! A cache of its own for objects of one type.

use alloc::alloc::{handle_alloc_error, Layout};
use core::fmt;
use core::marker::PhantomData;
use core::mem::size_of;
use core::ops::Deref;
use core::ptr::NonNull;

use crate::batch::Batch;
use crate::boxed::SlabBox;
use crate::builder::Builder;
use crate::control::text_of;
use crate::error::{AllocError, CacheError, CapacityError};
use crate::sys;

/// Without memory the library says nothing: Rust does, or the program, which has the error.
const GFP: sys::gfp_t = sys::GFP_KERNEL | sys::__GFP_NOWARN;

/// A cache of its own for objects of type `T`, which ends with this.
///
/// It has memory, never a `T`: these are in boxes, which drop them. A [`SlabBox`] borrows its
/// cache, so that the compiler sees to it that the cache outlives its boxes:
///
/// ```compile_fail,E0505
/// # use uslab::{Cache, SlabBox};
/// let cache = Cache::new("short").unwrap();
/// let object = SlabBox::new(&cache, 1);
/// drop(cache); // error: it is borrowed
/// drop(object);
/// ```
///
/// An [`OwnedBox`](crate::OwnedBox) shares it by `Arc`, and a [`StaticCache`](crate::StaticCache)
/// never ends. What was leaked ([`SlabBox::leak`], `mem::forget`) stays valid for ever: the
/// library reports it when the cache ends, and keeps its memory.
///
/// A type without bytes has objects of one byte, which are counted as others are. The alignment is
/// at least that of `T`, up to a page. Unless [`Flags::NO_MERGE`](crate::Flags::NO_MERGE) is set
/// the library may have one cache for several of the same size: then numbers are of all of these.
///
/// # Send and Sync
///
/// A `Cache<T>` is both for every `T`, also for one that may not leave its thread. Its own state
/// is the library's, which any thread may use at any time, and `&Cache<T>` gives nobody a `T`: who
/// makes one has brought the value, and gets it in a box, which is `Send` only if `T` is. Bytes of
/// a dropped `T` that are left in a free object are nobody's value.
///
/// For the same reason it may be used after a panic: it has no state that a panic could leave half
/// done.
#[repr(transparent)] // StaticCache looks at one in a slot
pub struct Cache<T> {
    handle: NonNull<sys::kmem_cache>,
    // Neither Send nor drop check nor variance of a T that it has: it has none.
    of: PhantomData<fn() -> T>,
}

// SAFETY: see above.
unsafe impl<T> Send for Cache<T> {}
// SAFETY: see above.
unsafe impl<T> Sync for Cache<T> {}

impl<T> Cache<T> {
    /// A cache with that name, of 1 to 63 bytes. It need not be the only one.
    pub fn new(name: &str) -> Result<Self, CacheError> {
        Self::builder(name).build()
    }

    /// For one with more to choose.
    pub const fn builder(name: &str) -> Builder<'_, T> {
        Builder::new(name)
    }

    /// Takes over a cache of C.
    ///
    /// # Safety
    /// It is live, nobody else destroys it, it has no constructor that cares for what is in a free
    /// object, and its objects are as large and as aligned as a `T`, and at least one byte.
    pub const unsafe fn from_raw(handle: NonNull<sys::kmem_cache>) -> Self {
        Self {
            handle,
            of: PhantomData,
        }
    }

    /// What functions of C take; it stays this cache's.
    pub const fn as_raw(&self) -> NonNull<sys::kmem_cache> {
        self.handle
    }

    /// The same as [`SlabBox::new`].
    #[inline]
    pub fn boxed(&self, value: T) -> SlabBox<'_, T> {
        SlabBox::new(self, value)
    }

    /// The same as [`SlabBox::try_new`].
    #[inline]
    pub fn try_boxed(&self, value: T) -> Result<SlabBox<'_, T>, AllocError<T>> {
        SlabBox::try_new(self, value)
    }

    /// The same as [`Batch::try_new`].
    pub fn try_batch(
        &self,
        count: usize,
        make: impl FnMut(usize) -> T,
    ) -> Result<Batch<'_, T>, AllocError> {
        Batch::try_new(self, count, make)
    }

    /// Its name; if it was merged that of its first creator. Of one that C made, what is UTF-8.
    pub fn name(&self) -> &str {
        // SAFETY: valid until the cache is destroyed, which this borrow excludes.
        unsafe { text_of(sys::kmem_cache_name(self.handle.as_ptr())) }
    }

    /// Bytes of an object; merging may have raised it.
    pub fn object_size(&self) -> usize {
        // SAFETY: a live cache.
        unsafe { sys::kmem_cache_size(self.handle.as_ptr()) as usize }
    }

    /// The cache in numbers. Exact if no thread uses it meanwhile. Walks its partial slabs.
    pub fn stats(&self) -> Stats {
        let mut stats = sys::kmem_cache_statistics {
            size: size_of::<sys::kmem_cache_statistics>(),
            ..Default::default()
        };
        // SAFETY: a live cache, and a structure that says its size.
        let failed = unsafe { sys::kmem_cache_stats(self.handle.as_ptr(), &mut stats) };

        debug_assert_eq!(failed, 0);
        Stats::from(stats)
    }

    /// Changes how many objects a CPU's array holds, while the cache is in use:
    /// *kmem_cache_set_capacity*(3).
    ///
    /// 1 to 31 with [`Front::Array`](crate::Front::Array), 1 to 1024 with
    /// [`Front::Queues`](crate::Front::Queues) and sheaves; other fronts have no arrays. 0: as the
    /// size of the objects gives. [`sys::USLAB_CAPACITY_NONE`]: none, every call goes to the slabs;
    /// with arrays only. Of several caches that were merged all get it. After an error it is as it was.
    ///
    /// ```
    /// let bursts = uslab::Cache::<u64>::builder("bursts").front(uslab::Front::Array);
    /// let cache = bursts.build()?;
    ///
    /// assert_eq!(cache.set_capacity(31), Ok(()));
    /// assert_eq!(cache.set_capacity(2000), Err(uslab::CapacityError::Number));
    /// # Ok::<(), uslab::CacheError>(())
    /// ```
    pub fn set_capacity(&self, objects: u32) -> Result<(), CapacityError> {
        // SAFETY: a live cache.
        match unsafe { sys::kmem_cache_set_capacity(self.handle.as_ptr(), objects) } {
            0 => Ok(()),
            error => Err(CapacityError::of(error)),
        }
    }

    /// Frees all cached objects and empty slabs. Returns whether no object is left.
    pub fn shrink(&self) -> bool {
        // SAFETY: a live cache.
        unsafe { sys::kmem_cache_shrink(self.handle.as_ptr()) == 0 }
    }
}

/// What boxes have of a cache they need not destroy: memory for a T.
pub(crate) mod memory {
    use super::*;

    /// Memory for a T, in which there is none yet.
    #[inline]
    pub(crate) fn alloc<T>(s: NonNull<sys::kmem_cache>) -> Option<NonNull<T>> {
        // SAFETY: callers have a live cache, by what they borrow or share.
        NonNull::new(unsafe { sys::kmem_cache_alloc(s.as_ptr(), GFP) }.cast())
    }

    /// Memory for `room.len()` objects; all or none.
    pub(crate) fn alloc_bulk<T>(s: NonNull<sys::kmem_cache>, room: &mut [*mut T]) -> bool {
        let places = room.as_mut_ptr().cast();

        // SAFETY: as alloc(), and as many places as are asked for.
        room.is_empty()
            || unsafe { sys::kmem_cache_alloc_bulk(s.as_ptr(), GFP, room.len(), places) } != 0
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// It came from this cache, and nobody uses it any more.
    #[inline]
    pub(crate) unsafe fn free<T>(s: NonNull<sys::kmem_cache>, p: NonNull<T>) {
        sys::kmem_cache_free(s.as_ptr(), p.as_ptr().cast());
    }

    /// The same for several.
    ///
    /// # Safety
    /// As for one.
    pub(crate) unsafe fn free_bulk<T>(s: NonNull<sys::kmem_cache>, objects: &mut [*mut T]) {
        if !objects.is_empty() {
            sys::kmem_cache_free_bulk(s.as_ptr(), objects.len(), objects.as_mut_ptr().cast());
        }
    }

    #[cold]
    pub(crate) fn out_of_memory<T>() -> ! {
        handle_alloc_error(Layout::new::<T>())
    }
}

impl<T> Drop for Cache<T> {
    fn drop(&mut self) {
        // SAFETY: a live cache, which nobody borrows. Objects that were leaked stay valid.
        unsafe { sys::kmem_cache_destroy(self.handle.as_ptr()) }
    }
}

impl<T> fmt::Debug for Cache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("name", &self.name())
            .field("object_size", &self.object_size())
            .finish()
    }
}

/// A borrowed [`Cache`], as a [`SlabBox`] has it: the cache itself, not the place of its owner.
///
/// It is `Send` and `Sync` since `&Cache<T>` is.
pub struct CacheRef<'a, T> {
    handle: NonNull<sys::kmem_cache>,
    cache: PhantomData<&'a Cache<T>>,
}

// SAFETY: it is a &Cache<T>.
unsafe impl<T> Send for CacheRef<'_, T> {}
// SAFETY: it is a &Cache<T>.
unsafe impl<T> Sync for CacheRef<'_, T> {}

impl<T> Clone for CacheRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for CacheRef<'_, T> {}

impl<T> CacheRef<'_, T> {
    pub(crate) fn handle(&self) -> NonNull<sys::kmem_cache> {
        self.handle
    }
}

impl<'a, T> From<&'a Cache<T>> for CacheRef<'a, T> {
    #[inline]
    fn from(cache: &'a Cache<T>) -> Self {
        Self {
            handle: cache.handle,
            cache: PhantomData,
        }
    }
}

// A static one, so that SlabBox::new(&POINTS, ...) is as short as with a Cache.
impl<'a, T> From<&'a crate::StaticCache<T>> for CacheRef<'a, T> {
    #[inline]
    fn from(cache: &'a crate::StaticCache<T>) -> Self {
        cache.deref().into()
    }
}

/// A cache in numbers; bytes or counts. See *kmem_cache_stats*(3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes of an object that a user may use.
    pub object_size: usize,
    /// Bytes from one object to the next, in new slabs.
    pub slab_size: usize,
    /// Objects in a new slab.
    pub objs_per_slab: usize,
    /// Objects that the program has.
    pub objects: usize,
    /// Objects of all slabs that the program does not have.
    pub objects_free: usize,
    /// Of these, objects in lent sheaves.
    pub objects_lent: usize,
    /// Objects that all slabs have room for.
    pub total_objects: usize,
    /// Slabs; 0 where objects lie in a heap.
    pub slabs: usize,
    /// Bytes of all slabs.
    pub slab_bytes: usize,
    /// Slabs that *kmem_cache_defrag*(3) gave back.
    pub defrag_slabs: usize,
    /// Bytes of these.
    pub defrag_bytes: usize,
    /// Objects that it moved.
    pub defrag_moved: usize,
    /// Objects that the program did not move.
    pub defrag_refused: usize,
}

impl From<sys::kmem_cache_statistics> for Stats {
    fn from(stats: sys::kmem_cache_statistics) -> Self {
        Self {
            object_size: stats.object_size,
            slab_size: stats.slab_size,
            objs_per_slab: stats.objs_per_slab,
            objects: stats.objects,
            objects_free: stats.objects_free,
            objects_lent: stats.objects_lent,
            total_objects: stats.total_objects,
            slabs: stats.slabs,
            slab_bytes: stats.slab_bytes,
            defrag_slabs: stats.defrag_slabs,
            defrag_bytes: stats.defrag_bytes,
            defrag_moved: stats.defrag_moved,
            defrag_refused: stats.defrag_refused,
        }
    }
}
