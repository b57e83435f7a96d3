/* SPDX-License-Identifier: MIT */
/*
 * bench/uslab-bench-load-cache.c - order book, table, server, bursts and groups on own caches
 *
 * Flow:       started by scripts/bench-malloc, for its contestant own-cache; calls the public API,
 *             inline, of libuslab.a. In: as uslab-bench-load.c; out: lines of metrics.
 *
 * A cache for each type of object, kmalloc for what has no type. The work is that of
 * uslab-bench-load.c, from the same headers.
 */
#include <uslab/account.h>
#include <uslab/group.h>
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

static inline void *account_alloc(struct kind *kind)
{
	void *p = kmem_cache_alloc_account(kind->cache, GFP_KERNEL);

	if (!p)
		die("out of memory");
	return p;
}

static inline void account_free(struct kind *kind, void *p)
{
	kmem_cache_free_account(kind->cache, p);
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

#include "load_back.h"
#include "load_groups.h"
#include "load_scatter.h"
#include "load_server.h"
#include "load_use.h"

/* One thread: what is linked is in use, and nothing else is. */
static int move_scattered(void *from, void *to, void *arg)
{
	const struct scatter_block *block = from;

	(void)arg;
	if (!block->link)
		return -1;
	scatter_move(block, to);
	return 0;
}

#define STEP_US 1000

static inline void kinds_defragment(struct scatter *s)
{
	for (size_t i = 0; i < SCATTER_KINDS; i++) {
		struct kmem_cache *cache = s->kinds[i].cache;

		if (uslab_cache_set_move(cache, move_scattered, NULL))
			die("objects of %u bytes cannot move", scatter_sizes[i]);
		while (kmem_cache_defrag(cache, NUMA_NO_NODE, STEP_US) > 0)
			usleep(STEP_US / 4);
	}
	uslab_trim();
}

/*
 * A cache of no group, one that belongs to a group, and those that groups share (SLAB_ACCOUNT, and
 * with keys), by a thread in a group and in none.
 */
static uint64_t load_groups(const struct load *l)
{
	struct uslab_group *group = uslab_group_create("one", 0, NULL);
	struct kind plain, owned, shared, keyed;
	uint64_t pairs;

	kind_init(&plain, "plain", GROUPS_SIZE);
	owned.cache = kmem_cache_create("owned", GROUPS_SIZE, 0, SLAB_NO_MERGE, NULL);
	shared.cache = kmem_cache_create("shared", GROUPS_SIZE, 0, SLAB_ACCOUNT, NULL);
	keyed.cache = kmem_cache_create("keyed", GROUPS_SIZE, 0, USLAB_ACCOUNT_INLINE, NULL);
	if (!group || !owned.cache || !shared.cache || !keyed.cache ||
	    kmem_cache_set_group(owned.cache, group))
		die("no accounting group");
	pairs = groups_measure(l, "groups_none", &plain, NULL);
	pairs += groups_measure(l, "groups_owned", &owned, NULL);
	pairs += groups_measure(l, "groups_shared_out", &shared, NULL);
	pairs +=
		groups_measure_by(l, "groups_keyed_out", &keyed, NULL, account_alloc, account_free);
	uslab_group_enter(group);
	pairs += groups_measure(l, "groups_shared", &shared, NULL);
	pairs += groups_measure_by(l, "groups_keyed", &keyed, NULL, account_alloc, account_free);
	uslab_group_enter(NULL);
	return pairs;
}

static const struct load_row rows[] = {
	{ "book", load_book, 1 },
	{ "table", load_table, 1 },
	{ "server", load_server, 1 },
	{ "burst-idle", load_back_idle, 1 },
	{ "burst-hits", load_back_hits, 1 },
	{ "burst-scattered", load_scattered, 1 },
	{ "groups", load_groups, 1 },
};

int main(int argc, char **argv)
{
	return load_main(argc, argv, rows, sizeof(rows) / sizeof(rows[0]));
}
