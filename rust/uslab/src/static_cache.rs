// SPDX-License-Identifier: MIT
//! A cache for the whole program, in a static.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::builder::Builder;
use crate::cache::Cache;
use crate::error::CacheError;
use crate::sys;

/// A [`Cache`] in a static, made at its first use. Its boxes are `SlabBox<'static, T>`.
///
/// ```
/// use uslab::{SlabBox, StaticCache};
///
/// static POINTS: StaticCache<(f64, f64)> = StaticCache::new("points");
///
/// let point: SlabBox<'static, _> = POINTS.boxed((1.0, 2.0));
/// std::thread::spawn(move || assert_eq!(point.0, 1.0)).join().unwrap();
/// ```
///
/// It is a `Cache` where one is wanted, by `Deref`; if it cannot be made this panics. [`get`] has
/// the error. It ends with a variable that is no static.
///
/// [`get`]: StaticCache::get
pub struct StaticCache<T> {
    // The cache, or null; set once. Also the place of a Cache<T>, see get().
    slot: AtomicPtr<sys::kmem_cache>,
    how: Builder<'static, T>,
    of: PhantomData<Cache<T>>,
}

impl<T> StaticCache<T> {
    /// A cache with that name.
    pub const fn new(name: &'static str) -> Self {
        Self::with(Builder::new(name))
    }

    /// One as the builder says.
    pub const fn with(how: Builder<'static, T>) -> Self {
        Self {
            slot: AtomicPtr::new(ptr::null_mut()),
            how,
            of: PhantomData,
        }
    }

    /// The cache, which is made if it is not there.
    #[inline]
    pub fn get(&self) -> Result<&Cache<T>, CacheError> {
        // Pairs with the exchange in make(): who finds a cache finds it whole.
        if self.slot.load(Ordering::Acquire).is_null() {
            self.make()?;
        }
        // SAFETY: a Cache<T> is a pointer that is not null, and so is what is in the slot from now
        // on: an exchange succeeds only once, and one that fails writes nothing.
        Ok(unsafe { &*(&self.slot as *const AtomicPtr<sys::kmem_cache> as *const Cache<T>) })
    }

    /// Of several threads that make it at once the first one's stays; the others end theirs.
    #[cold]
    fn make(&self) -> Result<(), CacheError> {
        let made = self.how.build()?;
        let handle = made.as_raw().as_ptr();

        if self
            .slot
            .compare_exchange(ptr::null_mut(), handle, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
        {
            core::mem::forget(made);
        }
        Ok(())
    }
}

// get() looks at one as the other.
const _: () = assert!(
    core::mem::size_of::<Cache<u8>>() == core::mem::size_of::<AtomicPtr<u8>>()
        && core::mem::align_of::<Cache<u8>>() == core::mem::align_of::<AtomicPtr<u8>>()
);

impl<T> Deref for StaticCache<T> {
    type Target = Cache<T>;

    #[inline]
    fn deref(&self) -> &Cache<T> {
        #[cold]
        fn failed(error: CacheError) -> ! {
            panic!("{}", error)
        }
        match self.get() {
            Ok(cache) => cache,
            Err(error) => failed(error),
        }
    }
}

impl<T> Drop for StaticCache<T> {
    fn drop(&mut self) {
        if let Some(handle) = NonNull::new(*self.slot.get_mut()) {
            // SAFETY: made by make(), and nobody borrows it.
            drop(unsafe { Cache::<T>::from_raw(handle) });
        }
    }
}

impl<T> fmt::Debug for StaticCache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StaticCache").field(&self.how).finish()
    }
}
