/* SPDX-License-Identifier: MIT */
/*
 * bench/uslab-bench-load-cache.c - order book, table and server on caches of their own
 *
 * Flow:       started by scripts/bench-malloc, for its contestant own-cache; calls the public API,
 *             inline, of libuslab.a. In: as uslab-bench-load.c; out: lines of metrics.
 *
 * A cache for each type of object, kmalloc for what has no type. The work is that of
 * uslab-bench-load.c, from the same headers.
 */
#include <uslab/slab.h>

#include "load_main.h"

struct kind {
	struct kmem_cache *cache;
};

static inline void kind_init(struct kind *kind, const char *name, size_t size)
{
	kind->cache = kmem_cache_create(name, (unsigned int)size, 0, 0, NULL);
	if (!kind->cache)
		die("no cache for %zu bytes", size);
}

static inline void *kind_alloc(struct kind *kind)
{
	void *p = kmem_cache_alloc(kind->cache, GFP_KERNEL);

	if (!p)
		die("out of memory");
	return p;
}

static inline void kind_free(struct kind *kind, void *p)
{
	kmem_cache_free(kind->cache, p);
}

static inline void *any_alloc(size_t size)
{
	void *p = kmalloc(size, GFP_KERNEL);

	if (!p)
		die("out of memory");
	return p;
}

static inline void any_free(void *p)
{
	kfree(p);
}

#include "load_server.h"
#include "load_use.h"

static const struct load_row rows[] = {
	{ "book", load_book, 1 },
	{ "table", load_table, 1 },
	{ "server", load_server, 1 },
};

int main(int argc, char **argv)
{
	return load_main(argc, argv, rows, sizeof(rows) / sizeof(rows[0]));
}
