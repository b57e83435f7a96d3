/* SPDX-License-Identifier: MIT */
/*
 * examples/redis/uslab_je.c - the functions of jemalloc that Redis and Valkey call for
 * activedefrag, on the drop-in malloc
 *
 * Linked into redis-server together with libuslab_malloc.so; scripts/defrag-redis does that. Redis
 * itself is not changed: it takes uslab for a jemalloc with its own patch.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uslab/malloc.h>

#include "jemalloc/jemalloc.h"

/* Redis has no other flag. */
void *mallocx(size_t size, int flags)
{
	return flags & MALLOCX_TCACHE_NONE ? uslab_malloc_direct(size)
					   : malloc(size);
}

void dallocx(void *p, int flags)
{
	if (flags & MALLOCX_TCACHE_NONE)
		uslab_free_direct(p);
	else
		free(p);
}

/* Bytes that a block of that size has. */
size_t nallocx(size_t size, int flags)
{
	void *p = malloc(size);
	size_t usable = malloc_usable_size(p);

	(void)flags;
	free(p);
	return usable;
}

int je_get_defrag_hint(void *p)
{
	return uslab_malloc_should_move(p);
}

/* ---- mallctl: what INFO MEMORY and activedefrag want to know ---- */

static size_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* MEMORY MALLOC-STATS */
void malloc_stats_print(void (*write)(void *, const char *), void *arg,
			const char *options)
{
	(void)options;
	write(arg, "see uslab info -p PID\n");
}

/* Of the allocator alone: what is in use, and the slabs and pages that it is in. */
static int get_stat(const char *name, size_t *value)
{
	struct mallinfo2 info = mallinfo2();

	if (!strcmp(name, "stats.allocated"))
		*value = info.uordblks + info.hblkhd;
	else if (!strcmp(name, "stats.active"))
		*value = info.arena - info.keepcost + info.hblkhd;
	else if (!strcmp(name, "stats.resident"))
		*value = resident();
	else
		return ENOENT;
	return 0;
}

int mallctl(const char *name, void *old, size_t *old_size, void *new_value,
	    size_t new_size)
{
	(void)new_value;
	(void)new_size;
	if (!strcmp(name, "epoch") || !strcmp(name, "background_thread"))
		return 0; /* numbers are of now; pages go back without a thread */
	if (!strcmp(name, "arenas.narenas") && old && old_size &&
	    *old_size == sizeof(unsigned)) {
		*(unsigned *)old = 1;
		return 0;
	}
	if (!strncmp(name, "arena.", 6) && strstr(name, ".purge")) {
		malloc_trim(0);
		return 0;
	}
	if (!old || !old_size || *old_size != sizeof(size_t))
		return EINVAL;
	return get_stat(name, old);
}
