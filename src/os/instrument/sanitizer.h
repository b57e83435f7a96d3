/* SPDX-License-Identifier: MIT */
/*
 * os/instrument/sanitizer.h - ThreadSanitizer and MemorySanitizer, if the program was built with
 * one of them
 *
 * Data:       which one is there; const after os_sanitizer_init().
 * Invariants: without one of them nothing here is called but os_sanitizer_init().
 * Locks:      none.
 * Flow:       called by os/instrument/memcheck.c and cache/; calls functions of the sanitizer, if
 *             the process has them.
 *
 * The library itself is not instrumented: neither do they see that it hands an object from one
 * thread to another, nor what it writes. One that is instrumented by ThreadSanitizer shows it its
 * own locks, and leaves this out.
 */
#ifndef OS_SANITIZER_H
#define OS_SANITIZER_H

#include "base/compiler.h"

/* Is one of them there? wanted: shall it be notified of objects? */
bool os_sanitizer_init(bool wanted);

/* Would it end a child of a program with threads that makes a thread? */
bool os_sanitizer_forbids_threads(void);

/*
 * What this thread reads and writes until the matching leave is the library's business: zeros,
 * constructors. They nest.
 */
void os_sanitizer_enter(void);
void os_sanitizer_leave(void);

/*
 * An object, or a block, of size bytes in a place for full bytes, is the program's from now on; it
 * holds something if it is defined.
 */
void os_sanitizer_take(const void *p, size_t size, size_t full, bool defined);
/*
 * It is free: whoever takes it, or what lies beside it, comes after this. undefined: its bytes are.
 */
void os_sanitizer_give(const void *p, size_t full, bool undefined);

/* The library has written to memory of the program's. */
void os_sanitizer_wrote(const void *p, size_t size);

#endif /* OS_SANITIZER_H */
