/* SPDX-License-Identifier: MIT */
/*
 * malloc/classes.h - size classes of the drop-in malloc
 *
 * Why:        docs/adr/0007.
 * Data:       none: 78 classes by arithmetic. 16, 32 .. 128 bytes, then eight to a doubling up to
 *             32 KiB; from 512 on one more in each doubling, a little above the power of two.
 * Invariants: class numbers start at 1 and are the numbers of the caches; sizes grow with them and
 *             are multiples of 16. A request is rounded up by at most 15 bytes or 1/8 of itself.
 * Locks:      none.
 * Flow:       used by the other files of malloc/.
 *
 * The additional classes hold a power of two and a header of up to 1/16 + 16 bytes, which is what
 * programs ask for more than for anything else: pages of databases, I/O buffers, strings of 1 KiB.
 * Without them 1032 bytes take 1152. Measured, bytes in classes by bytes asked for: sqlite3 1.08
 * without and 1.03 with them, redis-server 1.08 and 1.07; sixteen to a doubling gives 1.06 for
 * both, and costs every small program 30 more slabs that are never full.
 */
#ifndef MALLOC_CLASSES_H
#define MALLOC_CLASSES_H

#include "base/bits.h"
#include <uslab/layout.h>

#define MALLOC_ALIGN 16ul	 /* of every object */
#define MALLOC_FINE_CLASSES 8u	 /* steps of 16 bytes, up to 128 */
#define MALLOC_EIGHT_CLASSES 24u /* up to here eight to a doubling, up to 512; then nine */
#define MALLOC_CLASSES 78u	 /* numbers 1..78 */
#define MALLOC_MAX_SMALL 32768ul /* bytes; larger requests are page runs */
#define MALLOC_MAX_TABLE 8192ul	 /* bytes; requests up to this have their class in a table */
/* One byte for each size: saves a shift in malloc(). */
#define MALLOC_TABLE_SIZE (MALLOC_MAX_TABLE + 1)

/* Class numbers are cache numbers are page class bytes: no table translates between them. */
BUILD_ASSERT(USLAB_ID_MALLOC == 1 && MALLOC_CLASSES < USLAB_ID_KMALLOC);
BUILD_ASSERT(USLAB_WINDOW_TABLES + MALLOC_TABLE_SIZE <= USLAB_WINDOW_MASKS);

/* Bytes of the additional class above the power of two 1 << doubling. */
static inline size_t malloc_header_class(unsigned int doubling)
{
	return (1ul << doubling) + (1ul << doubling) / 16 + MALLOC_ALIGN;
}

/* Class of a request of at most MALLOC_MAX_SMALL bytes; 0 bytes count as 1. */
static inline unsigned int malloc_class_of(size_t size)
{
	unsigned int doubling;
	unsigned int eighth; /* 0..7 of the doubling */

	if (size <= MALLOC_FINE_CLASSES * MALLOC_ALIGN)
		return size ? (unsigned int)((size + MALLOC_ALIGN - 1) / MALLOC_ALIGN) : 1;
	doubling = ilog2(size - 1); /* 7: 129..256 */
	eighth = (unsigned int)((size - 1) >> (doubling - 3)) - 8;
	if (doubling < 9)
		return MALLOC_FINE_CLASSES + (doubling - 7) * 8 + eighth + 1;
	if (size > malloc_header_class(doubling))
		eighth++; /* the additional class is number 0 of the nine */
	return MALLOC_EIGHT_CLASSES + (doubling - 9) * 9 + eighth + 1;
}

/* Bytes of an object of class 1..MALLOC_CLASSES. */
static inline size_t malloc_class_size(unsigned int class)
{
	unsigned int doubling;
	unsigned int eighth;

	if (class <= MALLOC_FINE_CLASSES)
		return class * MALLOC_ALIGN;
	if (class <= MALLOC_EIGHT_CLASSES) {
		class -= MALLOC_FINE_CLASSES + 1;
		return (size_t)(class % 8 + 9) << (class / 8 + 4);
	}
	class -= MALLOC_EIGHT_CLASSES + 1;
	doubling = class / 9 + 9;
	eighth = class % 9;
	return eighth ? (size_t)(eighth + 8) << (doubling - 3) : malloc_header_class(doubling);
}

/*
 * Every object of a class lies at a multiple of this: the largest power of two in its size, up to a
 * page, the most that a cache guarantees.
 */
static inline size_t malloc_class_align(unsigned int class)
{
	size_t size = malloc_class_size(class);

	return MIN(size & -size, PAGE_SIZE);
}

/* Smallest class with objects of at least size bytes that are aligned to align; 0: none. */
static inline unsigned int malloc_class_aligned(size_t size, size_t align)
{
	unsigned int class;

	if (size > MALLOC_MAX_SMALL || align > PAGE_SIZE)
		return 0;
	for (class = malloc_class_of(MAX(size, align)); class <= MALLOC_CLASSES; class += 1)
		if (malloc_class_align(class) >= align)
			return class;
	return 0;
}

#endif /* MALLOC_CLASSES_H */
