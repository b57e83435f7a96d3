/* SPDX-License-Identifier: MIT */
/*
 * examples/redis/jemalloc/jemalloc.h - what Redis includes and asks of jemalloc, served by uslab
 *
 * In front of a system's header of that name: cc -I examples/redis.
 */
#ifndef USLAB_REDIS_JEMALLOC_H
#define USLAB_REDIS_JEMALLOC_H

#include <malloc.h> /* malloc_usable_size() */
#include <stddef.h>

/* A version that Redis takes; INFO shows it as mem_allocator. */
#define JEMALLOC_VERSION_MAJOR 5
#define JEMALLOC_VERSION_MINOR 3
#define JEMALLOC_VERSION_BUGFIX 0

/* There is a function je_get_defrag_hint(): activedefrag is compiled. */
#define JEMALLOC_FRAG_HINT 1

/* The one flag that Redis passes: past what threads or CPUs hold. */
#define MALLOCX_TCACHE_NONE 1

void *mallocx(size_t size, int flags);
void dallocx(void *p, int flags);
size_t nallocx(size_t size, int flags);
int mallctl(const char *name, void *old, size_t *old_size, void *new_value,
	    size_t new_size);
void malloc_stats_print(void (*write)(void *, const char *), void *arg,
			const char *options);
int je_get_defrag_hint(void *p);

#endif /* USLAB_REDIS_JEMALLOC_H */
