/* SPDX-License-Identifier: MIT */
/*
 * page/clear.h - clears blocks, and leaves memory that is not there where it is
 *
 * Why:        docs/adr/0072.
 * Data:       none.
 * Invariants: none of a block's counts change: it is in use, whatever of it is resident.
 * Locks:      none; the block is the caller's.
 * Flow:       called by cache/kmalloc/kmalloc.c and malloc/resize.c; calls os/memory/,
 *             os/process/filter.h.
 */
#ifndef PAGE_CLEAR_H
#define PAGE_CLEAR_H

#include <string.h>

#include "base/compiler.h"

#define CLEAR_LEAST (8ul << 20) /* bytes; of less all is written to: a look costs a microsecond */
#define CLEAR_UNASKED (32ul << 20) /* unasked so much is sparse: glibc's largest threshold */
#define CLEAR_PART (2ul << 20)	   /* what is looked at in one call: a huge page */
#define CLEAR_FEW 16ul /* a part of which fewer than one page in so many is there goes */
#define CLEAR_SKIP 8u  /* parts at most that are not looked at, behind dense ones */

void page_clear_large(void *p, size_t size);

/* size bytes at p, in memory of this library, are zero afterwards. */
static inline void page_clear(void *p, size_t size)
{
	if (likely(size < CLEAR_LEAST))
		memset(p, 0, size);
	else
		page_clear_large(p, size);
}

#endif /* PAGE_CLEAR_H */
