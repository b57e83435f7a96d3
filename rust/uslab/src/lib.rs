// SPDX-License-Identifier: MIT
//! The Linux slab allocators in user space, for Rust: a global allocator, and caches of a type.
//!
//! ```
//! use uslab::{Cache, SlabBox, Uslab};
//!
//! #[global_allocator]
//! static GLOBAL: Uslab = Uslab; // Box, Vec, ... are kmalloc's
//!
//! struct Point {
//!     x: f64,
//!     y: f64,
//! }
//!
//! let points = Cache::new("points")?; // a cache of its own, by name in `uslab info`
//! let point = SlabBox::new(&points, Point { x: 1.0, y: 2.0 });
//! assert_eq!(point.x + point.y, 3.0);
//! assert_eq!(points.stats().objects, 1);
//! # Ok::<(), uslab::CacheError>(())
//! ```
//!
//! | want | take |
//! | --- | --- |
//! | all of a program's `Box`, `Vec`, ... | [`Uslab`], as `#[global_allocator]` |
//! | objects that live shorter than a cache, on the stack say | [`Cache`] and [`SlabBox`] |
//! | a cache for the whole program | [`StaticCache`], whose boxes are `SlabBox<'static, T>` |
//! | a cache that its last object, or last user ends | `Arc<Cache<T>>` and [`OwnedBox`] |
//! | many objects at once | [`Batch`] |
//! | all the rest | [`sys`], the functions of C |
//!
//! # Threads, signals, fork
//!
//! Any thread may allocate from a cache and free to it; see [`Cache`] for why. A child of `fork()`
//! may go on with all that there is, also of a parent with threads (fork handlers of the library
//! see to that), as far as what else is in the program allows it. Signal handlers may allocate and
//! free where a cache has been made: in one that interrupted the library where it holds a lock an
//! allocation fails, so that [`SlabBox::new`] and the global allocator end the program, and
//! `try_new` is an error; frees are deferred. Nothing else here is for signal handlers.
//!
//! # Memory
//!
//! What is out of memory is an error of the functions called `try_`; the others end in
//! [`alloc::alloc::handle_alloc_error`]. `uslab_set_failslab()`, `USLAB_FAILSLAB` make allocations
//! fail on purpose, and `USLAB_DEBUG=FZPU` finds what unsafe code does with freed objects.
//!
//! # Without std
//!
//! `default-features = false` leaves `core` and `alloc`. Then an error is no
//! `std::error::Error`, and the global allocator has no blocks of more than 2 GiB.

#![cfg_attr(not(feature = "std"), no_std)]
#![warn(missing_docs)]

extern crate alloc;

mod batch;
mod boxed;
mod builder;
mod cache;
mod control;
mod error;
mod global;
mod static_cache;

pub use batch::Batch;
pub use boxed::{BoxIn, Holder, OwnedBox, SlabBox};
pub use builder::{Builder, Engine, Flags, Front};
pub use cache::{Cache, CacheRef, Stats};
pub use control::{set_capacity, set_debug, trim, version};
pub use error::{AllocError, CacheError, CapacityError, DebugError};
pub use global::Uslab;
pub use static_cache::StaticCache;
/// The functions of C.
pub use uslab_sys as sys;
