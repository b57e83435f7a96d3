// SPDX-License-Identifier: MIT
//! Raw bindings of libuslab, the Linux slab allocators in user space.
//!
//! The names are those of `<uslab/slab.h>`, `<uslab/mempool.h>`, `<uslab/kstring.h>`,
//! `<uslab/rcu.h>` and `<uslab/alloc_tag.h>`. What they do, their arguments, errors and what threads
//! and signal handlers may do is in these headers and in the manual pages of section 3
//! (`man 3 uslab`); each function here names its page. Rust programs want the crate `uslab`, which has none of the hazards.
//!
//! Which functions of the headers are inline in C is of no concern: `kmem_cache_alloc()` and its
//! three relatives are functions of a small C file that this crate's build script compiles, with
//! the same hit paths; the others are written in Rust. `kvasprintf()` and `kvasprintf_const()` are
//! left out, since Rust has no `va_list`.
//!
//! `--cfg uslab_fake` (`RUSTFLAGS`), or Miri, replaces the library by a few functions on the system
//! allocator, those that the crate `uslab` calls: so that Miri can follow every access. Then there
//! is nothing else here.

#![no_std]
#![allow(non_camel_case_types)]
#![allow(unknown_lints, unexpected_cfgs)] // uslab_fake; Rust 1.63 does not know the lint
#![warn(missing_docs)]

#[cfg(any(test, uslab_fake))]
extern crate std;

mod types;
pub use types::*;

#[cfg(not(uslab_fake))]
mod functions;
#[cfg(not(uslab_fake))]
mod group;
#[cfg(not(uslab_fake))]
mod inlines;
#[cfg(not(uslab_fake))]
mod mempool;
#[cfg(not(uslab_fake))]
mod profiling;
#[cfg(not(uslab_fake))]
mod shrinkers;
#[cfg(not(uslab_fake))]
pub use {functions::*, group::*, inlines::*, mempool::*, profiling::*, shrinkers::*};

#[cfg(uslab_fake)]
mod fake;
#[cfg(uslab_fake)]
pub use fake::*;

#[cfg(all(test, not(uslab_fake)))]
mod tests;

/// Is this not libuslab, but the replacement for Miri?
pub const FAKE: bool = cfg!(uslab_fake);

extern "C" {
    fn __errno_location() -> *mut c_int;
}

/// The calling thread's `errno`: why the last call failed.
pub fn errno() -> c_int {
    // SAFETY: libc's pointer to a word of this thread, valid as long as the thread.
    unsafe { *__errno_location() }
}
