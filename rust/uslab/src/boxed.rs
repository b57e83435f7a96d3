// SPDX-License-Identifier: MIT
//! Boxes: a value in an object of a cache, which is dropped and freed with the box.
//!
//! Why a box has its cache in one of two ways: docs/adr/0054.

use alloc::sync::Arc;
use core::borrow::{Borrow, BorrowMut};
use core::cmp::Ordering;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::pin::Pin;
use core::ptr::NonNull;
use core::{fmt, ptr};

use crate::cache::{memory, Cache, CacheRef};
use crate::error::AllocError;
use crate::sys::kmem_cache;

/// A value in an object of a [`Cache`], which it borrows. Two words.
pub type SlabBox<'a, T> = BoxIn<T, CacheRef<'a, T>>;

/// A value in an object of a [`Cache`], which it shares: the last of them, and of the other
/// `Arc`s, ends the cache.
///
/// ```
/// use std::sync::Arc;
/// use uslab::{Cache, OwnedBox};
///
/// let cache = Arc::new(Cache::new("jobs").unwrap());
/// let job = OwnedBox::new(Arc::clone(&cache), String::from("sweep"));
/// drop(cache); // the box has it
/// assert_eq!(*job, "sweep");
/// ```
pub type OwnedBox<T> = BoxIn<T, Arc<Cache<T>>>;

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::CacheRef<'_, T> {}
    impl<T> Sealed for super::Arc<super::Cache<T>> {}
}

/// How a box has its cache: by a borrow or by an `Arc`. Nobody else implements it, so that it is
/// the same live cache whenever it is asked for.
pub trait Holder<T>: sealed::Sealed {
    #[doc(hidden)]
    fn handle(&self) -> NonNull<kmem_cache>;
}

impl<T> Holder<T> for CacheRef<'_, T> {
    #[inline]
    fn handle(&self) -> NonNull<kmem_cache> {
        CacheRef::handle(self)
    }
}

impl<T> Holder<T> for Arc<Cache<T>> {
    #[inline]
    fn handle(&self) -> NonNull<kmem_cache> {
        self.as_raw()
    }
}

/// A value in an object of a cache; [`SlabBox`] and [`OwnedBox`] are its two kinds.
///
/// As `Box` it owns the value: it is `Send` if `T` is and `Sync` if `T` is, whatever the cache is
/// (a cache always is both), and may be dropped by any thread. Its value does not move when the
/// box does.
///
/// ```compile_fail,E0277
/// # use {std::rc::Rc, uslab::StaticCache};
/// static COUNTED: StaticCache<Rc<u8>> = StaticCache::new("counted");
/// let shared = COUNTED.boxed(Rc::new(1));
/// std::thread::spawn(move || drop(shared)); // error: an Rc stays with its thread
/// ```
///
/// ```compile_fail,E0277
/// # use {std::cell::Cell, uslab::StaticCache};
/// static CELLS: StaticCache<Cell<u8>> = StaticCache::new("cells");
/// let cell = CELLS.boxed(Cell::new(1));
/// std::thread::scope(|scope| {
///     scope.spawn(|| cell.set(2)); // error: a Cell is for one thread at a time
/// });
/// ```
pub struct BoxIn<T, C: Holder<T>> {
    object: NonNull<T>,
    cache: C,
    owns: PhantomData<T>, // for the drop check
}

// SAFETY: an owned T, reachable through this box only, and its cache, which any thread may use.
unsafe impl<T: Send, C: Holder<T> + Send> Send for BoxIn<T, C> {}
// SAFETY: &BoxIn gives &T, and a Holder that is shared.
unsafe impl<T: Sync, C: Holder<T> + Sync> Sync for BoxIn<T, C> {}
// The value stays where it is.
impl<T, C: Holder<T>> Unpin for BoxIn<T, C> {}

/// An object without a value yet: freed when this is dropped, by a panic say.
struct Room<'c, T, C: Holder<T>> {
    object: NonNull<T>,
    cache: &'c C,
}

impl<T, C: Holder<T>> Drop for Room<'_, T, C> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it came from this cache, and no value is in it any more.
        unsafe { memory::free(self.cache.handle(), self.object) }
    }
}

impl<T, C: Holder<T>> BoxIn<T, C> {
    /// The value in an object of the cache. Without memory it ends the program.
    #[inline]
    pub fn new(cache: impl Into<C>, value: T) -> Self {
        let cache = cache.into();

        match memory::alloc(cache.handle()) {
            // SAFETY: memory for a T, that nobody else has.
            Some(object) => unsafe { Self::filled(object, cache, value) },
            None => memory::out_of_memory::<T>(),
        }
    }

    /// # Safety
    /// `object` is memory for a T, of this cache, that nobody else has.
    #[inline]
    unsafe fn filled(object: NonNull<T>, cache: C, value: T) -> Self {
        object.as_ptr().write(value);
        Self {
            object,
            cache,
            owns: PhantomData,
        }
    }

    /// The same; without memory the value comes back.
    #[inline]
    pub fn try_new(cache: impl Into<C>, value: T) -> Result<Self, AllocError<T>> {
        let cache = cache.into();

        match memory::alloc::<T>(cache.handle()) {
            Some(object) => {
                // SAFETY: memory for a T, that nobody else has.
                unsafe { object.as_ptr().write(value) };
                Ok(Self {
                    object,
                    cache,
                    owns: PhantomData,
                })
            }
            None => Err(AllocError(value)),
        }
    }

    /// What `make` returns, which is called only if there is memory. If it panics that is freed.
    #[inline]
    pub fn try_new_with(cache: impl Into<C>, make: impl FnOnce() -> T) -> Result<Self, AllocError> {
        let cache = cache.into();
        let object = memory::alloc::<T>(cache.handle()).ok_or(AllocError(()))?;
        let room = Room {
            object,
            cache: &cache,
        };

        // SAFETY: memory for a T, that nobody else has.
        unsafe { object.as_ptr().write(make()) };
        core::mem::forget(room);
        Ok(Self {
            object,
            cache,
            owns: PhantomData,
        })
    }

    /// The value, moved out; the object is freed.
    pub fn into_inner(boxed: Self) -> T {
        let (object, cache) = Self::into_parts(boxed);
        let room = Room {
            object,
            cache: &cache,
        };

        // SAFETY: the value is read once, and its memory only freed.
        unsafe { room.object.as_ptr().read() }
    }

    /// The box pinned: the value stays where it is until it is dropped. Also if the box is leaked
    /// and its cache ends: then the cache keeps the memory.
    pub fn into_pin(boxed: Self) -> Pin<Self> {
        // SAFETY: nobody can move the value out of it, nor free its memory without dropping it.
        unsafe { Pin::new_unchecked(boxed) }
    }

    /// Pointer and cache, to be given to [`BoxIn::from_parts`]; until then it is leaked.
    pub fn into_parts(boxed: Self) -> (NonNull<T>, C) {
        let boxed = ManuallyDrop::new(boxed);

        // SAFETY: the box is not used any more.
        (boxed.object, unsafe { ptr::read(&boxed.cache) })
    }

    /// A box again.
    ///
    /// # Safety
    /// `object` is one of this cache that the caller owns, with a value in it.
    pub unsafe fn from_parts(object: NonNull<T>, cache: impl Into<C>) -> Self {
        Self {
            object,
            cache: cache.into(),
            owns: PhantomData,
        }
    }

    /// How it has its cache.
    pub fn holder(boxed: &Self) -> &C {
        &boxed.cache
    }
}

impl<'a, T> BoxIn<T, CacheRef<'a, T>> {
    /// The value, for as long as the cache is borrowed; never dropped nor freed. A cache that ends
    /// reports it, and keeps its memory.
    pub fn leak(boxed: Self) -> &'a mut T {
        // SAFETY: nobody else has it any more, and its memory stays.
        unsafe { &mut *Self::into_parts(boxed).0.as_ptr() }
    }
}

impl<T, C: Holder<T>> Drop for BoxIn<T, C> {
    #[inline]
    fn drop(&mut self) {
        // Frees the object also if the value's drop panics.
        let room = Room {
            object: self.object,
            cache: &self.cache,
        };

        // SAFETY: the value is this box's, and nobody uses it any more.
        unsafe { ptr::drop_in_place(room.object.as_ptr()) }
    }
}

impl<T, C: Holder<T>> Deref for BoxIn<T, C> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: a value that this box owns.
        unsafe { self.object.as_ref() }
    }
}

impl<T, C: Holder<T>> DerefMut for BoxIn<T, C> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: a value that this box owns.
        unsafe { self.object.as_mut() }
    }
}

// ---- what a Box has, too --------------------------------------------------------------------------

impl<T: Clone, C: Holder<T> + Clone> Clone for BoxIn<T, C> {
    fn clone(&self) -> Self {
        match Self::try_new_with(self.cache.clone(), || (**self).clone()) {
            Ok(object) => object,
            Err(_) => memory::out_of_memory::<T>(),
        }
    }
}

impl<T, C: Holder<T>> AsRef<T> for BoxIn<T, C> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T, C: Holder<T>> AsMut<T> for BoxIn<T, C> {
    fn as_mut(&mut self) -> &mut T {
        self
    }
}

impl<T, C: Holder<T>> Borrow<T> for BoxIn<T, C> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T, C: Holder<T>> BorrowMut<T> for BoxIn<T, C> {
    fn borrow_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: fmt::Debug, C: Holder<T>> fmt::Debug for BoxIn<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Display, C: Holder<T>> fmt::Display for BoxIn<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T, C: Holder<T>> fmt::Pointer for BoxIn<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

impl<T: PartialEq, C: Holder<T>, D: Holder<T>> PartialEq<BoxIn<T, D>> for BoxIn<T, C> {
    fn eq(&self, other: &BoxIn<T, D>) -> bool {
        **self == **other
    }
}

impl<T: Eq, C: Holder<T>> Eq for BoxIn<T, C> {}

impl<T: PartialOrd, C: Holder<T>> PartialOrd for BoxIn<T, C> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: Ord, C: Holder<T>> Ord for BoxIn<T, C> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: Hash, C: Holder<T>> Hash for BoxIn<T, C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state)
    }
}
