// SPDX-License-Identifier: MIT
//! Several objects that are allocated and freed together.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};
use core::ptr::{self, NonNull};

use crate::boxed::SlabBox;
use crate::cache::{memory, CacheRef};
use crate::error::AllocError;

/// Values in objects of a [`Cache`](crate::Cache) that were allocated by one call, and are freed by one: from
/// some eight on that takes about half the time of single ones.
///
/// ```
/// use uslab::Cache;
///
/// let cache = Cache::new("squares")?;
/// let mut batch = cache.try_batch(100, |i| i * i).unwrap();
/// assert_eq!(batch[9], 81);
/// let last = batch.pop().unwrap(); // a SlabBox
/// assert_eq!((*last, batch.len()), (9801, 99));
/// # Ok::<(), uslab::CacheError>(())
/// ```
pub struct Batch<'a, T> {
    objects: Vec<*mut T>, // each with a value, and owned
    cache: CacheRef<'a, T>,
    owns: PhantomData<T>, // for the drop check
}

// SAFETY: owned values, reachable through this only; as Vec<SlabBox<T>>.
unsafe impl<T: Send> Send for Batch<'_, T> {}
// SAFETY: &Batch gives &T only.
unsafe impl<T: Sync> Sync for Batch<'_, T> {}

/// Objects of which the first `made` have a value; what is not finished is dropped and freed.
struct Unfinished<'a, T> {
    objects: Vec<*mut T>,
    made: usize,
    cache: CacheRef<'a, T>,
}

impl<T> Drop for Unfinished<'_, T> {
    fn drop(&mut self) {
        // Frees all objects also if a value's drop panics.
        struct Free<'f, 'a, T>(&'f mut Unfinished<'a, T>);
        impl<T> Drop for Free<'_, '_, T> {
            fn drop(&mut self) {
                // SAFETY: they came from this cache, and no value is in them any more.
                unsafe { memory::free_bulk(self.0.cache.handle(), &mut self.0.objects) }
            }
        }
        let free = Free(self);
        let values: *mut [*mut T] = &mut free.0.objects[..free.0.made];

        // SAFETY: a Value is such a pointer, and each of these has a value that is not used any
        // more. A slice goes on with the others if one of them panics.
        unsafe { ptr::drop_in_place(values as *mut [Value<T>]) }
    }
}

/// A value that is dropped where it is.
#[repr(transparent)]
struct Value<T>(*mut T);

impl<T> Drop for Value<T> {
    fn drop(&mut self) {
        // SAFETY: who made this gave the value away.
        unsafe { ptr::drop_in_place(self.0) }
    }
}

impl<'a, T> Batch<'a, T> {
    /// `count` values, made by `make` from 0 on. All or none: without memory it is not called. If
    /// it panics, what it made so far is dropped, and all is freed.
    pub fn try_new(
        cache: impl Into<CacheRef<'a, T>>,
        count: usize,
        mut make: impl FnMut(usize) -> T,
    ) -> Result<Self, AllocError> {
        let cache = cache.into();
        let mut objects = Vec::new();

        objects
            .try_reserve_exact(count)
            .map_err(|_| AllocError(()))?;
        objects.resize(count, ptr::null_mut());
        if !memory::alloc_bulk(cache.handle(), &mut objects) {
            return Err(AllocError(()));
        }
        let mut batch = Unfinished {
            objects,
            made: 0,
            cache,
        };
        for i in 0..count {
            // SAFETY: memory for a T, that nobody else has.
            unsafe { batch.objects[i].write(make(i)) };
            batch.made += 1;
        }
        let objects = core::mem::take(&mut batch.objects);
        core::mem::forget(batch); // an empty list
        Ok(Self {
            objects,
            cache,
            owns: PhantomData,
        })
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// One value.
    pub fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: each has a value, which this owns.
        self.objects.get(index).map(|&p| unsafe { &*p })
    }

    /// One value.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        // SAFETY: each has a value, which this owns.
        self.objects.get(index).map(|&p| unsafe { &mut *p })
    }

    /// All values, in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator + '_ {
        // SAFETY: each has a value, which this owns.
        self.objects.iter().map(|&p| unsafe { &*p })
    }

    /// All values, in their order.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> + ExactSizeIterator + '_ {
        // SAFETY: each has a value, which this owns, and each is another one.
        self.objects.iter().map(|&p| unsafe { &mut *p })
    }

    /// The last value, in a box of its own.
    pub fn pop(&mut self) -> Option<SlabBox<'a, T>> {
        let last = NonNull::new(self.objects.pop()?)?;

        // SAFETY: the box owns it now.
        Some(unsafe { SlabBox::from_parts(last, self.cache) })
    }

    /// All values, each in a box of its own, the last one first.
    pub fn into_boxes(mut self) -> impl Iterator<Item = SlabBox<'a, T>> {
        core::iter::from_fn(move || self.pop())
    }
}

impl<T> Drop for Batch<'_, T> {
    fn drop(&mut self) {
        let objects = core::mem::take(&mut self.objects);

        drop(Unfinished {
            made: objects.len(),
            objects,
            cache: self.cache,
        });
    }
}

impl<T> Index<usize> for Batch<'_, T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        self.get(index).expect("index out of a batch")
    }
}

impl<T> IndexMut<usize> for Batch<'_, T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        self.get_mut(index).expect("index out of a batch")
    }
}

impl<T: fmt::Debug> fmt::Debug for Batch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
