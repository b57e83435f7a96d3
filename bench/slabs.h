/* SPDX-License-Identifier: MIT */
/*
 * bench/slabs.h - the slabs of this worker: their bytes, and whether they are of the engine and
 * front that are to be measured
 */
#ifndef BENCH_SLABS_H
#define BENCH_SLABS_H

#include <uslab/slab.h>

#include "harness.h"
#include "inspect/snapshot.h"
#include "inspect/usage.h"

/* Slabs, heaps and large kmallocs, in KiB. */
static inline double slabs_kib(void)
{
	struct usage usage;

	usage_read(&usage);
	return (double)(usage.slab_bytes + usage.large_bytes) / 1024;
}

/* Valid until the next call. */
static inline const struct snapshot *slabs_look(void)
{
	static struct snapshot snapshot;

	if (snapshot_take(&snapshot, &reader_local, (uintptr_t)&uslab_root))
		die("cannot look at the caches of this process");
	return &snapshot;
}

/* Of caches that are accounted as reclaimable. */
static inline double slabs_reclaimable_kib(void)
{
	const struct snapshot *s = slabs_look();
	double bytes = 0;

	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (s->cache[i].flags & SLAB_RECLAIM_ACCOUNT)
			bytes += (double)s->cache[i].slab_bytes;
	return bytes / 1024;
}

static void slabs_no_ctor(void *object)
{
	(void)object;
}

/*
 * The library only warns of an engine or front in USLAB_CONF that it does not know and takes
 * another: that must not pass for the contestant, given as ENGINE/FRONT.
 */
static inline void slabs_check_contestant(const char *contestant)
{
	const struct kmem_cache_args args = { .ctor = slabs_no_ctor }; /* never merges */
	struct kmem_cache *probe = kmem_cache_create_args("bench-probe", 64, &args, 0);
	const struct snapshot *s = slabs_look();
	char found[40] = "nothing";

	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (!strcmp(s->cache[i].name, "bench-probe"))
			snprintf(found, sizeof(found), "%s/%s", s->cache[i].engine,
				 s->cache[i].front);
	kmem_cache_destroy(probe);
	if (strcmp(found, contestant))
		die("USLAB_CONF gives %s, not %s", found, contestant);
}

#endif /* BENCH_SLABS_H */
