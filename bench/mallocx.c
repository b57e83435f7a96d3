/* SPDX-License-Identifier: MIT */
/*
 * bench/mallocx.c - jemalloc's calls with flags, by whichever malloc is preloaded beside this
 *
 * Redis 8 takes Lua's memory by mallocx() where it is linked to jemalloc, and asks
 * malloc_usable_size() about it: with another malloc in front of jemalloc's that is a block of
 * somebody else, and some crash. Preloaded too, this makes all of them serve the same blocks.
 *
 * Data:       none.
 * Locks:      none of its own.
 * Flow:       preloaded by scripts/malloc_redis.py and tests/programs/redis_test.py.
 *
 * Flags: the lower six bits are the alignment's logarithm. Arenas and caches of threads, in the
 * upper ones, are jemalloc's business.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LOG2_ALIGN(flags) ((unsigned int)(flags) % 64)
#define ZERO 0x40

__attribute__((visibility("default"))) void *mallocx(size_t size, int flags);
__attribute__((visibility("default"))) void *rallocx(void *p, size_t size, int flags);
__attribute__((visibility("default"))) void dallocx(void *p, int flags);

void *mallocx(size_t size, int flags)
{
	size_t align = (size_t)1 << LOG2_ALIGN(flags);
	void *p = NULL;

	if (align > _Alignof(max_align_t)) {
		if (posix_memalign(&p, align, size))
			return NULL;
		return flags & ZERO ? memset(p, 0, size) : p;
	}
	return flags & ZERO ? calloc(1, size) : malloc(size);
}

/* Redis asks for no more alignment than malloc() has here, nor for zeros. */
void *rallocx(void *p, size_t size, int flags)
{
	return LOG2_ALIGN(flags) > 4 || flags & ZERO ? NULL : realloc(p, size);
}

void dallocx(void *p, int flags)
{
	(void)flags;
	free(p);
}
