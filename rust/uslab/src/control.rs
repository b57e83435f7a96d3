// SPDX-License-Identifier: MIT
//! Functions of the whole library.

use alloc::vec::Vec;
use core::{slice, str};

use crate::error::{CapacityError, DebugError};
use crate::sys;

/// A string of C as far as it is UTF-8.
///
/// # Safety
/// `text` is a string that stays as it is during `'a`.
pub(crate) unsafe fn text_of<'a>(text: *const sys::c_char) -> &'a str {
    let length = (0..).take_while(|&i| *text.add(i) != 0).count();
    let bytes = slice::from_raw_parts(text as *const u8, length);

    match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => str::from_utf8_unchecked(&bytes[..error.valid_up_to()]),
    }
}

/// The version of the library that runs.
pub fn version() -> &'static str {
    // SAFETY: a constant string.
    unsafe { text_of(sys::uslab_version()) }
}

/// Shrinks every cache, and gives free pages back to the system. Returns how many bytes.
pub fn trim() -> usize {
    // SAFETY: may be called by any thread at any time.
    unsafe { sys::uslab_trim() }
}

/// The text as C has it, unless there is a NUL in it.
fn with_nul(text: &str) -> Option<Vec<u8>> {
    match text.contains('\0') {
        true => None,
        false => Some([text.as_bytes(), b"\0"].concat()),
    }
}

/// [`Cache::set_capacity`](crate::Cache::set_capacity) of all caches of a name, also those of
/// kmalloc and malloc. Returns of how many.
///
/// `pattern` is a shell pattern of names. If one refuses the others are changed; if all do, the
/// error is the first one's.
pub fn set_capacity(pattern: &str, objects: u32) -> Result<usize, CapacityError> {
    let pattern = with_nul(pattern).ok_or(CapacityError::Cache)?;
    // SAFETY: a string.
    let changed = unsafe { sys::uslab_set_capacity(pattern.as_ptr().cast(), objects) };

    match changed {
        n if n < 0 => Err(CapacityError::of(n)),
        n => Ok(n as usize),
    }
}

/// Switches debug flags of live caches: *uslab_set_debug*(3). Returns of how many.
///
/// `pattern` is a shell pattern of names; `flags` are of F Z P U T A, `""` is none, and `"+U"`
/// or `"-U"` changes these only. It holds for objects that are allocated from now on.
pub fn set_debug(pattern: &str, flags: &str) -> Result<usize, DebugError> {
    let pattern = with_nul(pattern).ok_or(DebugError::Flag)?;
    let flags = with_nul(flags).ok_or(DebugError::Flag)?;
    // SAFETY: two strings. Debug flags change what is checked, not what objects are.
    let switched = unsafe { sys::uslab_set_debug(pattern.as_ptr().cast(), flags.as_ptr().cast()) };

    match switched {
        -2 => Err(DebugError::Cache),
        -22 => Err(DebugError::Flag),
        n if n < 0 => Err(DebugError::Other(-n)),
        n => Ok(n as usize),
    }
}
