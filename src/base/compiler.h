/* SPDX-License-Identifier: MIT */
/*
 * base/compiler.h - words for the compiler
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       included by everything.
 */
#ifndef BASE_COMPILER_H
#define BASE_COMPILER_H

#if !defined(__LP64__)
#error "uslab: this is for machines with pointers and longs of 64 bits"
#elif __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "uslab: this is for little-endian machines; on others nobody has tried it"
#endif

#include <limits.h> /* musl: PAGE_SIZE, which means another thing there */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define noinline __attribute__((__noinline__))
#define cold __attribute__((__cold__, __noinline__))
/*
 * The linker may take another one; compilers believe nothing of this one's. Clang
 * never does, of what is weak.
 */
#ifdef __clang__
#define replaceable __attribute__((weak, __noinline__))
#else
#define replaceable __attribute__((weak, noipa))
#endif
#define always_inline inline __attribute__((always_inline))

/*
 * The text in memory that may be written, which core files have: what is constant lies in the
 * library's file only, which may be gone when somebody looks at the core. Outside of functions.
 */
#define TEXT_IN_CORES(text) ((char[]){ text })

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define BUILD_ASSERT(expr) _Static_assert(expr, #expr)

#define CACHE_LINE 64
#define PAGE_SHIFT 12
#undef PAGE_SIZE
#define PAGE_SIZE 4096ul /* of the arena; the system's own may be larger, see os/memory/vm.h */

#endif /* BASE_COMPILER_H */
