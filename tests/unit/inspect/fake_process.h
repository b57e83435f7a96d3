/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/fake_process.h - a process made of plain memory, for snapshots to be taken of
 *
 * Addresses in it are made up and mean nothing to this process: whatever follows one without asking
 * the reader crashes. Tests fill in structures as the library would, or as a liar would.
 */
#ifndef UNIT_INSPECT_FAKE_PROCESS_H
#define UNIT_INSPECT_FAKE_PROCESS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"
#include "cache/control/control.h"
#include "debug/debug.h"
#include "front/depot.h"
#include "front/queues.h"
#include "front/sheaves.h"
#include "front/percpu.h"
#include "os/cpu/cpu.h"
#include "page/large.h"
#include "page/meta.h"
#include "page/page.h"
#include "inspect/snapshot.h"

#define FAKE_ROOT 0x10000ul
#define FAKE_GLOBALS 0x20000ul /* everything that root points at */
#define FAKE_CACHES 0x100000ul
#define FAKE_CACHE_STEP 0x1000ul
#define FAKE_PAGES 0x40000000ul
#define FAKE_ARENA 0x700000000000ul
#define FAKE_NR_PAGES 4096ul
#define FAKE_CPUS 3u
#define FAKE_STOP 0x55550000f8ul /* a word that misses both ways */

struct fake_region {
	uint64_t addr;
	size_t size;
	char *bytes;
};

struct fake_process {
	struct reader reader;
	struct fake_region region[16];
	unsigned int nr_regions;
	unsigned long reads;
	unsigned long bytes_read;
	unsigned long dies_after; /* reads; 0: lives */
	unsigned int nr_caches;
};

/* Our own address of len bytes at addr; NULL: not mapped there. */
static inline void *fake_find(const struct fake_process *f, uint64_t addr, size_t len)
{
	for (unsigned int i = 0; i < f->nr_regions; i++) {
		const struct fake_region *r = &f->region[i];

		if (addr >= r->addr && len <= r->size && addr - r->addr <= r->size - len)
			return r->bytes + (addr - r->addr);
	}
	return NULL;
}

static inline void *fake_at(const struct fake_process *f, uint64_t addr)
{
	void *p = fake_find(f, addr, 1);

	if (!p)
		abort();
	return p;
}

static inline int fake_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct fake_process *f = ctx;
	const void *from = fake_find(f, addr, len);

	f->reads++;
	f->bytes_read += len;
	if (f->dies_after && f->reads > f->dies_after)
		return -ESRCH;
	if (!from)
		return -EFAULT;
	memcpy(buf, from, len);
	return 0;
}

static inline void fake_map(struct fake_process *f, uint64_t addr, size_t size)
{
	struct fake_region *r = &f->region[f->nr_regions++];

	r->addr = addr;
	r->size = size;
	r->bytes = calloc(1, size);
	if (!r->bytes)
		abort();
}

static inline void fake_text(const struct fake_process *f, uint64_t addr, const char *text)
{
	strcpy(fake_at(f, addr), text);
}

/* Offsets in the region of globals. */
enum {
	FAKE_PAGE_MAP = 0,
	FAKE_TOPOLOGY = 0x1000,
	FAKE_LARGE = 0x2000,
	FAKE_META = 0x2100,
	FAKE_RSEQ = 0x2200,
	FAKE_LARGE_NAME = 0x2300,
	FAKE_SLUB_OPS = 0x2400,
	FAKE_ARRAY_OPS = 0x2500,
	FAKE_CPUSLAB_OPS = 0x2580,
	FAKE_QUEUES_OPS = 0x2640,
	FAKE_SHEAVES_OPS = 0x26c0,
	FAKE_NAMES = 0x2700,
	FAKE_ENGINES = 0x2800,
	FAKE_HEAP_OPS = 0x2900,
	FAKE_HEAP = 0x2b00,
	FAKE_HEAP_COUNTERS = 0x2c00,
	FAKE_GLOBALS_SIZE = 0x3000,
};

static inline struct uslab_root *fake_root(const struct fake_process *f)
{
	return fake_at(f, FAKE_ROOT);
}

static inline struct page_map *fake_page_map(const struct fake_process *f)
{
	return fake_at(f, FAKE_GLOBALS + FAKE_PAGE_MAP);
}

static inline void fake_ops(const struct fake_process *f, uint64_t at, uint64_t name,
			    const char *text)
{
	*(uint64_t *)fake_at(f, FAKE_GLOBALS + at) = FAKE_GLOBALS + FAKE_NAMES + name;
	fake_text(f, FAKE_GLOBALS + FAKE_NAMES + name, text);
}

static inline void fake_globals(const struct fake_process *f)
{
	struct page_map *map = fake_page_map(f);
	struct topology *topology = fake_at(f, FAKE_GLOBALS + FAKE_TOPOLOGY);

	*map = (struct page_map){
		.base = (char *)FAKE_ARENA,
		.pages = (struct page *)FAKE_PAGES,
		.limit = 1ul << 20,
		.nr_pages = FAKE_NR_PAGES,
	};
	topology->nr_cpu_ids = FAKE_CPUS;
	topology->nr_cpus = FAKE_CPUS;
	topology->nr_nodes = 2;
	*(struct large_counters *)fake_at(f, FAKE_GLOBALS + FAKE_LARGE) =
		(struct large_counters){ .count = 3, .bytes = 30ul << 20 };
	*(struct meta_counters *)fake_at(f, FAKE_GLOBALS + FAKE_META) =
		(struct meta_counters){ .mapped = 262144 };
	*(bool *)fake_at(f, FAKE_GLOBALS + FAKE_RSEQ) = true;
	fake_text(f, FAKE_GLOBALS + FAKE_LARGE_NAME, "malloc-large");
	fake_ops(f, FAKE_SLUB_OPS, 0, "slub");
	fake_ops(f, FAKE_ARRAY_OPS, 16, "array");
	fake_ops(f, FAKE_CPUSLAB_OPS, 32, "cpuslab");
	fake_ops(f, FAKE_QUEUES_OPS, 64, "queues");
	fake_ops(f, FAKE_SHEAVES_OPS, 80, "sheaves");
	fake_ops(f, FAKE_HEAP_OPS, 48, "slob");
	for (unsigned int i = 0; i < CACHE_NR_ENGINES; i++)
		*(uint64_t *)fake_at(f, FAKE_GLOBALS + FAKE_ENGINES + i * 8) =
			FAKE_GLOBALS + FAKE_SLUB_OPS;
}

static inline uint64_t fake_window(int cpu)
{
	return FAKE_ARENA + (uint64_t)USLAB_WINDOWS_OFFSET +
	       ((uint64_t)(cpu + USLAB_WINDOW_CPU0) << USLAB_WINDOW_SHIFT);
}

static inline void fake_init(struct fake_process *f)
{
	struct uslab_root *root;

	memset(f, 0, sizeof(*f));
	f->reader = (struct reader){ .read = fake_read, .ctx = f };
	fake_map(f, FAKE_ROOT, sizeof(struct uslab_root));
	fake_map(f, FAKE_GLOBALS, FAKE_GLOBALS_SIZE);
	fake_map(f, FAKE_CACHES, 0x100000);
	fake_map(f, FAKE_PAGES, FAKE_NR_PAGES * sizeof(struct page));
	fake_map(f, FAKE_ARENA, FAKE_NR_PAGES * PAGE_SIZE);
	fake_map(f, fake_window(-3), (FAKE_CPUS + 3) * USLAB_WINDOW_SIZE);
	fake_map(f, fake_window(-3) + USLAB_WINDOW_STATE, (FAKE_CPUS + 3) * USLAB_WINDOW_SIZE);
	root = fake_root(f);
	/* versions and sizes as the library's, so that tests find out if it says them wrongly */
	memcpy(root, &uslab_root, offsetof(struct uslab_root, page_map));
	root->ready = 1;
	fake_text(f, FAKE_ROOT + offsetof(struct uslab_root, version_text), "9.8.7");
	root->page_map = FAKE_GLOBALS + FAKE_PAGE_MAP;
	root->topology = FAKE_GLOBALS + FAKE_TOPOLOGY;
	root->large_counters = FAKE_GLOBALS + FAKE_LARGE;
	root->meta_counters = FAKE_GLOBALS + FAKE_META;
	root->rseq_on = FAKE_GLOBALS + FAKE_RSEQ;
	root->engines = FAKE_GLOBALS + FAKE_ENGINES;
	root->large_name = FAKE_GLOBALS + FAKE_LARGE_NAME;
	fake_globals(f);
}

static inline void fake_exit(struct fake_process *f)
{
	for (unsigned int i = 0; i < f->nr_regions; i++)
		free(f->region[i].bytes);
}

/* Word of a cache on a CPU; place: 0, USLAB_WINDOW_GENERIC or USLAB_WINDOW_SPARES. */
static inline uint64_t *fake_word(const struct fake_process *f, unsigned int id, int cpu,
				  uint64_t place)
{
	return fake_at(f, fake_window(cpu) + place + id * sizeof(uint64_t));
}

static inline struct kmem_cache_cpu *fake_state(const struct fake_process *f, unsigned int id,
						int cpu)
{
	return fake_at(f, fake_window(cpu) + USLAB_WINDOW_STATE + id * USLAB_CPU_STATE_SIZE);
}

/* Where the parts of cache number id lie. */
static inline uint64_t fake_cache_addr(const struct fake_process *f, unsigned int id)
{
	return *fake_word(f, id, -3, 0);
}

static inline uint64_t fake_slub_addr(const struct fake_process *f, unsigned int id)
{
	return fake_cache_addr(f, id) + 0x400;
}

static inline uint64_t fake_depot_addr(const struct fake_process *f, unsigned int id)
{
	return fake_cache_addr(f, id) + 0x800;
}

/* A lane of the depot of a node, which has lanes from now on. */
static inline struct depot_lane *fake_lane(const struct fake_process *f, unsigned int id,
					   unsigned int node, unsigned int lane)
{
	uint64_t lanes = fake_cache_addr(f, id) + 0xc00 + node * DEPOT_LANES * CACHE_LINE;
	struct depot *depot = fake_at(f, fake_depot_addr(f, id));

	depot[node].lanes = (void *)lanes;
	depot[node].nr_lanes = DEPOT_LANES;
	return fake_at(f, lanes + lane * sizeof(struct depot_lane));
}

static inline struct slub *fake_slub(const struct fake_process *f, unsigned int id)
{
	return fake_at(f, fake_slub_addr(f, id));
}

/* A cache with the array front (capacity > 0) or the cpuslab front (capacity 0). */
static inline struct cache *fake_cache(struct fake_process *f, unsigned int id, const char *name,
				       unsigned int size, unsigned int capacity)
{
	uint64_t addr = FAKE_CACHES + f->nr_caches++ * FAKE_CACHE_STEP;
	uint64_t slub = addr + 0x400;
	struct cache *c = fake_at(f, addr);

	BUILD_ASSERT(sizeof(struct cache) <= 0x400 && sizeof(struct slub) <= 0x400);
	*fake_word(f, id, -3, 0) = addr;
	for (int cpu = -2; cpu < (int)FAKE_CPUS; cpu++)
		*fake_word(f, id, cpu, 0) = FAKE_STOP;
	*(struct slub *)fake_at(f, slub) = (struct slub){
		.min_partial = 5,
		.cpu_partial = 120,
		.layout = { .stride = size, .object_size = size, .objects = 4096 / size },
	};
	c->handle = (struct kmem_cache *)(fake_window(-3) + id * sizeof(uint64_t));
	c->refcount = 1;
	c->front.id = id;
	c->front.capacity = capacity;
	c->front.ops = (void *)(FAKE_GLOBALS + (capacity ? FAKE_ARRAY_OPS : FAKE_CPUSLAB_OPS));
	c->front.depot = capacity ? (void *)(addr + 0x800) : NULL;
	c->engine.ops = (void *)(FAKE_GLOBALS + FAKE_SLUB_OPS);
	c->engine.state = (void *)slub;
	c->engine.layout = (void *)(slub + offsetof(struct slub, layout));
	c->engine.size = size;
	c->engine.object_size = size;
	c->engine.align = 8;
	strcpy(c->name, name);
	return c;
}

static inline struct page *fake_page(const struct fake_process *f, unsigned long index)
{
	return fake_at(f, FAKE_PAGES + index * sizeof(struct page));
}

/* A slab of order 0 of that cache. */
static inline struct page *fake_slab(const struct fake_process *f, unsigned long index,
				     unsigned int id, unsigned int objects, unsigned int inuse,
				     bool frozen)
{
	struct page *page = fake_page(f, index);
	struct slab_counters counters = { .inuse = inuse, .objects = objects, .frozen = frozen };

	memset(page, 0, sizeof(*page));
	page->type = PAGE_SLAB;
	page->engine = (void *)(fake_cache_addr(f, id) + offsetof(struct cache, engine));
	page->layout = (void *)(fake_slub_addr(f, id) + offsetof(struct slub, layout));
	page->head = (uint32_t)index;
	page->nr_pages = 1;
	memcpy(&page->counters, &counters, sizeof(counters));
	return page;
}

/* The snapshot of a cache by its number; NULL: it is not there. */
static inline const struct snapshot_cache *fake_result(const struct snapshot *s, unsigned int id)
{
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (s->cache[i].id == id)
			return &s->cache[i];
	return NULL;
}

#endif /* UNIT_INSPECT_FAKE_PROCESS_H */
