/* SPDX-License-Identifier: MIT */
/*
 * malloc/early.c - memory for requests from before the allocator can be initialised
 *
 * Data:       64 KiB of zeroed memory in the library, allocated upward; a header of 16 bytes
 *             before each block holds its size.
 * Invariants: early_used only grows; blocks are never reused, so they are zero.
 * Locks:      none; early_used moves by compare and swap.
 * Flow:       called by init.c while the caches are not ready, and by slow.c.
 *
 * Requests that early come from a function resolver (IFUNC) of another library, which the dynamic
 * loader runs before it has relocated this one, so that not even libc can be called; and from
 * functions that malloc_init() itself calls. Nothing here needs a relocation.
 */
#include "malloc/internal.h"

#define EARLY_SIZE (64ul << 10)

struct early_header {
	size_t size; /* bytes of the block that follows */
	size_t unused;
};

BUILD_ASSERT(sizeof(struct early_header) == MALLOC_ALIGN);

static _Alignas(64) char early_area[EARLY_SIZE];
static size_t early_used; /* bytes; atomic */

void *early_alloc(size_t size, size_t align)
{
	size_t used = load_relaxed(&early_used);
	size_t start, end;
	struct early_header *header;

	if (size > EARLY_SIZE || align > EARLY_SIZE)
		return NULL;
	do {
		start = (size_t)early_area + used + sizeof(struct early_header);
		start = ALIGN_UP(start, MAX(align, MALLOC_ALIGN)) - (size_t)early_area;
		end = ALIGN_UP(start + MAX(size, 1ul), MALLOC_ALIGN);
		if (end > EARLY_SIZE)
			return NULL;
	} while (!__atomic_compare_exchange_n(&early_used, &used, end, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	header = (struct early_header *)(early_area + start) - 1;
	header->size = end - start;
	return early_area + start;
}

size_t early_size(const void *p)
{
	size_t offset = (size_t)((const char *)p - early_area);

	if (offset < sizeof(struct early_header) || offset >= EARLY_SIZE)
		return 0;
	return ((const struct early_header *)p - 1)->size;
}
