/* SPDX-License-Identifier: MIT */
/*
 * os/instrument/memcheck.h - valgrind and AddressSanitizer, if one of them runs this process
 *
 * Data:       which one does; const after os_memcheck_init().
 * Invariants: without such a tool nothing here is called but os_memcheck_init().
 * Locks:      none.
 * Flow:       called by cache/instrument/instrument.c, cache/instrument/instrument.h,
 *             engine/, page/buddy.c, page/buddy_range.c, page/fit.c and page/realtime.c; calls
 *             requests of <valgrind/memcheck.h>, and functions of the sanitizer, if the process has
 *             them.
 *
 * A library that is itself instrumented by AddressSanitizer looks into its own free objects, so it
 * leaves that part out. Built without valgrind's headers it does not see valgrind.
 */
#ifndef OS_MEMCHECK_H
#define OS_MEMCHECK_H

#include "base/compiler.h"

/* One of them, or a sanitizer of os/instrument/sanitizer.h, is there and was not declined. */
extern bool os_memcheck_on;

/* Set before os_memcheck_init() it declines both: for tests that look at fronts and slabs. */
extern bool os_memcheck_declined;

/* Asks for them; valgrind, asan (any sanitizer): shall it be notified of objects? */
void os_memcheck_init(bool valgrind, bool asan);

/* What lies in this range are pointers of the program (LeakSanitizer). */
void os_memcheck_add_roots(const void *p, size_t size);

/*
 * valgrind and the sanitizers report no errors of this thread until the matching leave. They nest.
 */
void os_memcheck_enter(void);
void os_memcheck_leave(void);

/* Who may not see the bytes of a free object. */
enum os_memcheck_hide {
	OS_HIDE_FROM_ALL,
	/* the library writes to them by functions that AddressSanitizer checks */
	OS_HIDE_FROM_VALGRIND,
	OS_HIDE_FROM_NOBODY, /* type-stable objects */
};

/*
 * Bytes between objects that let valgrind tell them apart: it looks for an address in
 * the neighbourhood of each block that was freed lately, which is 16 bytes on either
 * side, and takes the first.
 */
#define OS_MEMCHECK_GAP 32

/*
 * A pool of objects, named by any address. gap: OS_MEMCHECK_GAP, or 0; defined: objects hold
 * something as they are allocated.
 */
void os_memcheck_pool_create(const void *pool, unsigned int gap, bool defined);
void os_memcheck_pool_destroy(const void *pool);

/*
 * An object of size bytes in a place for full bytes, of which it holds something if it is defined;
 * later all of these are usable; it is freed.
 */
void os_memcheck_pool_alloc(const void *pool, void *obj, size_t size, size_t full, bool defined);
void os_memcheck_pool_whole(const void *pool, void *obj, size_t full);
void os_memcheck_pool_free(const void *pool, void *obj, size_t full, enum os_memcheck_hide hide);

/* The same for blocks that are in no pool; free ones are hidden from nobody. */
void os_memcheck_block_alloc(void *p, size_t size, size_t full, bool defined);
void os_memcheck_block_whole(void *p, size_t full);
void os_memcheck_block_free(void *p, size_t full);

/* A new slab: no byte of it is an object's as yet. */
void os_memcheck_close(void *p, size_t size, enum os_memcheck_hide hide);
/* Pages that change hands: whatever was said of their bytes is forgotten. */
void os_memcheck_forget(void *p, size_t size);

#endif /* OS_MEMCHECK_H */
