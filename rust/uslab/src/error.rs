// SPDX-License-Identifier: MIT
//! Errors.

use core::fmt;

/// There is no memory. The value that was to be boxed is given back.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AllocError<T = ()>(pub T);

// Also for a T without Debug, so that unwrap() can be called.
impl<T> fmt::Debug for AllocError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AllocError(..)")
    }
}

impl<T> fmt::Display for AllocError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("out of memory")
    }
}

#[cfg(feature = "std")]
impl<T> std::error::Error for AllocError<T> {}

/// Why there is no cache. What the library refuses it also says on stderr, in more words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CacheError {
    /// The name is empty, has a NUL, or more than 63 bytes.
    Name,
    /// An object has more than 4 MiB.
    Size,
    /// The alignment is no power of two, or more than a page of 4096 bytes.
    Align,
    /// The library refuses engine, front, capacity or flags (`EINVAL`), flags with this size
    /// (`E2BIG`), a type-safe cache without RCU (`EOPNOTSUPP`), one more cache (`ENOSPC`), or has
    /// no memory (`ENOMEM`): `errno`.
    Refused(i32),
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("the name of a cache has 1 to 63 bytes, and no NUL"),
            Self::Size => f.write_str("an object has at most 4 MiB"),
            Self::Align => {
                f.write_str("an alignment is a power of two, of at most a page of 4096 bytes")
            }
            Self::Refused(error) => write!(f, "the cache could not be made: errno {}", error),
        }
    }
}

#[cfg(feature = "std")]
impl std::error::Error for CacheError {}

/// Why a capacity was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CapacityError {
    /// Such an array does not hold so many (`EINVAL`).
    Number,
    /// The front has no arrays (`EOPNOTSUPP`).
    Front,
    /// A CPU could not be reached (`EBUSY`).
    Cpu,
    /// There is no such cache (`ENOENT`), or the pattern has a NUL.
    Cache,
    /// Another `errno`: see *kmem_cache_set_capacity*(3).
    Other(i32),
}

impl CapacityError {
    /// Of what C returned, less than 0.
    pub(crate) fn of(error: i32) -> Self {
        match -error {
            2 => Self::Cache,
            16 => Self::Cpu,
            22 => Self::Number,
            95 => Self::Front,
            other => Self::Other(other),
        }
    }
}

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number => f.write_str("an array of this cache does not hold so many objects"),
            Self::Front => f.write_str("the front of this cache has no arrays"),
            Self::Cpu => f.write_str("a CPU could not be reached"),
            Self::Cache => f.write_str("no cache has such a name"),
            Self::Other(error) => write!(f, "the capacity could not be changed: errno {}", error),
        }
    }
}

#[cfg(feature = "std")]
impl std::error::Error for CapacityError {}

/// Why debug flags were not switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DebugError {
    /// There is no such flag (`EINVAL`), or the text has a NUL.
    Flag,
    /// There is no such cache (`ENOENT`).
    Cache,
    /// Another `errno`: see *uslab_set_debug*(3).
    Other(i32),
}

impl fmt::Display for DebugError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("no such debug flag; there are F Z P U T A"),
            Self::Cache => f.write_str("no cache has such a name"),
            Self::Other(error) => write!(f, "debug flags could not be switched: errno {}", error),
        }
    }
}

#[cfg(feature = "std")]
impl std::error::Error for DebugError {}
