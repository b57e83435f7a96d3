/* SPDX-License-Identifier: MIT */
/*
 * liar.c - a program whose allocator's data lie: for tests of the tools that look from outside
 *
 * usage: liar SEED
 *
 * Uses caches of every engine, front and kind of debugging, says "ready", and then writes nonsense
 * over the structures that tools read: wild and misaligned pointers, loops, huge counts, texts
 * without an end. Which, and how many, the seed says; seed 0 leaves everything as it is. From then
 * on it allocates nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mix.h"
#include "cache/cache.h"
#include "cache/control/control.h"
#include "debug/debug.h"
#include "debug/stacks.h"
#include "engine/slub/slub.h"
#include "front/front.h"
#include "page/buddy.h"
#include "inspect/root.h"

static uint64_t state;

static uint64_t draw(void)
{
	return mix_bits(state += MIX_GOLDEN);
}

/* ---- where lies can be put ---- */

#define MAX_AREAS 4096

static struct area {
	char *start;
	size_t bytes;
} areas[MAX_AREAS];
static unsigned int nr_areas;

static void add(const void *start, size_t bytes)
{
	if (start && bytes && nr_areas < MAX_AREAS)
		areas[nr_areas++] = (struct area){ (char *)start, bytes };
}

static void add_debug(const struct debug *d)
{
	add(d, sizeof(*d) + d->nr_nodes * sizeof(d->node[0]));
	for (unsigned int i = 0; i < d->nr_nodes; i++)
		add(d->node[i], sizeof(*d->node[i]));
}

static void add_caches(void)
{
	const struct list_head *head = (const struct list_head *)uslab_root.cache_list;

	for (const struct list_head *pos = head->next; pos != head; pos = pos->next) {
		const struct cache *c = list_entry(pos, struct cache, list);

		add(c, sizeof(*c));
		add(c->handle, sizeof(*c->handle));
		add(c->engine.layout, sizeof(*c->engine.layout));
		if (c->engine.debug)
			add_debug(c->engine.debug);
		if (c->front.depot)
			add(c->front.depot, 64);
		if (c->front.state)
			add(c->front.state, 256);
		for (const struct cache_alias *a = c->aliases; a; a = a->next)
			add(a, sizeof(*a));
	}
}

static void add_pages(void)
{
	const struct page_map *map = (const struct page_map *)uslab_root.page_map;

	for (unsigned long i = 0; i < map->nr_pages && nr_areas < MAX_AREAS / 2; i++) {
		const struct page *page = &map->pages[i];

		if (page->type == PAGE_SLAB) {
			add(page, sizeof(*page));
			add(map->base + i * PAGE_SIZE, PAGE_SIZE);
		}
	}
	add(map, sizeof(*map));
}

static void add_stacks(void)
{
	const struct stacks *stacks = *(struct stacks **)uslab_root.stacks;

	if (!stacks)
		return;
	add(stacks, sizeof(*stacks));
	add((void *)stacks->chunk[0], 4096);
}

/* ---- the lies ---- */

static uint64_t lie(const struct area *area)
{
	const struct area *other = &areas[draw() % nr_areas];

	switch (draw() % 8) {
	case 0:
		return 0;
	case 1:
		return ~0ull;
	case 2:
		return draw();
	case 3: /* a loop */
		return (uint64_t)area->start + (draw() % area->bytes & ~7ul);
	case 4: /* something else, misaligned now and then */
		return (uint64_t)other->start + draw() % other->bytes;
	case 5:
		return 0x7fffffffffffffffull >> draw() % 32;
	case 6:
		return draw() % 4096;
	default: /* text without an end */
		return 0x4141414141414141ull;
	}
}

static void tell_lies(void)
{
	unsigned int count = 1u << draw() % 12;

	for (unsigned int i = 0; i < count; i++) {
		const struct area *area = &areas[draw() % nr_areas];
		size_t at = draw() % area->bytes & ~7ul;
		uint64_t value = lie(area);

		if (at + 8 <= area->bytes)
			memcpy(area->start + at, &value, 8);
	}
}

/* ---- the program ---- */

static void use(struct kmem_cache *s)
{
	void *objects[300];

	for (int i = 0; i < 300; i++)
		objects[i] = kmem_cache_alloc(s, GFP_KERNEL);
	for (int i = 0; i < 300; i += 2)
		kmem_cache_free(s, objects[i]);
}

static void use_all(void)
{
	static const char *const engines[] = { "slub", "slab", "slobseg", "slobseg:pow2", "slob" };
	static const char *const fronts[] = { "array", "queues", "none" };
	static const slab_flags_t flags[] = { 0, SLAB_STORE_USER,
					      SLAB_STORE_USER | SLAB_POISON | SLAB_RED_ZONE |
						      SLAB_CONSISTENCY_CHECKS };
	char name[32];

	for (int e = 0; e < 5; e++)
		for (int f = 0; f < 3; f++)
			for (int d = 0; d < 3; d++) {
				struct kmem_cache_args args = { .engine = engines[e],
								.front = fronts[f] };

				snprintf(name, sizeof(name), "liar-%d%d%d", e, f, d);
				use(kmem_cache_create_args(name, 40 + 8 * (unsigned int)f, &args,
							   flags[d]));
			}
	use(kmem_cache_create("an-alias", 40, 0, 0, NULL));
	for (size_t size = 1; size < 1 << 20; size = size * 3 + 1)
		*(volatile char *)kmalloc(size, GFP_KERNEL) = 1;
}

int main(int argc, char **argv)
{
	static const char ready[] = "ready\n";

	use_all();
	state = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	if (state) {
		/* caches and what belongs to them weigh more than the many pages */
		for (int i = 0; i < 4; i++)
			add_caches();
		add_stacks();
		add_pages();
		add((void *)uslab_root.zones, sizeof(struct buddy_zone));
		if (state % 3 == 0)
			add(&uslab_root, sizeof(uslab_root));
		if (state % 4 == 0)
			add((void *)uslab_root.control, sizeof(struct control));
		tell_lies();
	}
	if (write(STDOUT_FILENO, ready, sizeof(ready) - 1) < 0)
		_exit(1);
	for (;;)
		pause();
}
