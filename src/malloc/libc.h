/* SPDX-License-Identifier: MIT */
/*
 * malloc/libc.h - declarations of the drop-in's functions: the C library's, and those that it lacks
 *
 * Data:       the structs of mallinfo() and mallinfo2(), as glibc has them.
 * Invariants: none.
 * Locks:      none.
 * Flow:       included by malloc/ in place of <malloc.h>.
 *
 * musl declares neither; glibc has mallinfo2() since 2.33. The drop-in exports them everywhere:
 * programs look for them by name as well.
 */
#ifndef MALLOC_LIBC_H
#define MALLOC_LIBC_H

#include <malloc.h>
#include <stdio.h>

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
#define MALLOC_LIBC_HAS_INFO2 1
#else
#define MALLOC_LIBC_HAS_INFO2 0
#endif

#if !MALLOC_LIBC_HAS_INFO2
struct mallinfo2 {
	size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks,
		keepcost;
};
struct mallinfo2 mallinfo2(void);
#endif

#ifndef __GLIBC__
struct mallinfo {
	int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo mallinfo(void);
void *pvalloc(size_t size);
int mallopt(int parameter, int value);
int malloc_trim(size_t pad);
int malloc_info(int options, FILE *stream);
void malloc_stats(void);
#endif

#endif /* MALLOC_LIBC_H */
