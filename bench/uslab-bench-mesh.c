/* SPDX-License-Identifier: MIT */
/*
 * bench/uslab-bench-mesh.c - what it would release, and cost, if pages whose live objects do not
 * overlap shared one page of memory
 *
 * Flow:       by hand: uslab-bench-mesh heap [PERCENT] | process PID | costs
 *
 * Why, and what came out: docs/adr/0066. heap: caches of this program's own, of HEAP_BYTES of
 * objects each, of which PERCENT (70) are freed at random, with the engine and the options of
 * USLAB_CONF. process: the slabs of another one, which goes on meanwhile. Both are read as
 * `uslab info` reads a process; what CPUs hold counts as live there. costs: bench/mesh_costs.h.
 *
 * Three ways are compared, for each cache: pages that share, slabs that share, and objects that
 * move to as few slabs as they need (kmem_cache_defrag(3)). Pages without a live object are counted
 * by themselves: no sharing is needed to give them back.
 */
#include <uslab/slab.h>

#include "inspect/root.h"
#include "inspect/slab_map.h"
#include "mesh_costs.h"
#include "mesh_pairs.h"
#include "process/source.h"

#define HEAP_BYTES (8ul << 20)
#define MESH_MAX_PAGES 64u /* of a slab that is looked at */

/* All slabs of one cache. */
struct class
{
	char name[SNAPSHOT_NAME_MAX];
	unsigned int stride;
	unsigned int objects; /* in a slab */
	unsigned int pages;   /* likewise */
	size_t live;
	size_t slabs;
	size_t empty; /* pages without a live object, in slabs that have one */
	struct mesh_set page;
	struct mesh_set slab;
};

static struct class classes[SNAPSHOT_MAX_CACHES];
static struct snapshot *snapshot;
static struct slab_map map;

/* ---- the slabs of a process ---- */

static struct class *class_of(unsigned int cache)
{
	struct class *class = &classes[cache];

	if (!class->objects) {
		memcpy(class->name, snapshot->cache[cache].name, sizeof(class->name));
		class->stride = map.layout.stride;
		class->objects = map.objects;
		class->pages = 1u << map.page.order;
		class->page.words = MESH_PAGE_WORDS;
		class->slab.words = (size_t)MESH_PAGE_WORDS * class->pages;
	}
	/* of another order: made when memory was short */
	return class->pages == 1u << map.page.order ? class : NULL;
}

static void add_slab(struct class *class)
{
	uint64_t bits[MESH_MAX_PAGES * MESH_PAGE_WORDS] = { 0 };
	size_t live = 0;

	for (unsigned int i = 0; i < map.objects; i++) {
		size_t from = slab_map_object(&map, i) - map.base;

		if (slab_map_is_free(&map, i))
			continue;
		mesh_mark(bits, from, from + map.layout.stride);
		live++;
	}
	if (!live)
		return; /* such slabs go back as they are */
	class->live += live;
	class->slabs++;
	memcpy(mesh_set_add(&class->slab), bits, class->slab.words * sizeof(*bits));
	for (unsigned int i = 0; i < class->pages; i++) {
		const uint64_t *page = bits + (size_t)i * MESH_PAGE_WORDS;

		if (mesh_weight(page, MESH_PAGE_WORDS))
			memcpy(mesh_set_add(&class->page), page, MESH_PAGE_WORDS * sizeof(*page));
		else
			class->empty++;
	}
}

static void read_slabs(struct snapshot *s)
{
	slab_map_init(&map);
	for (unsigned long number = 0; number < s->nr_pages && !s->error;) {
		struct class *class;

		if (!slab_map_open(s, &map, number)) {
			number++;
			continue;
		}
		number += 1ul << map.page.order;
		if (map.page.order > 6 || !slab_map_fill(s, &map) || !map.known)
			continue;
		class = class_of(map.cache);
		if (class)
			add_slab(class);
	}
}

/* ---- what would be released ---- */

struct sums {
	size_t live;  /* bytes */
	size_t pages; /* all of the slabs */
	size_t empty, by_pages, by_slabs, by_moving;
};

static void print_row(const char *name, unsigned int stride, const struct sums *s)
{
	double pages = s->pages ? (double)s->pages : 1;

	printf("%-24s %6u %8zu %5.0f %6.1f %6.1f %6.1f %6.1f\n", name, stride, s->pages * 4,
	       100 * (double)s->live / (pages * 4096), 100 * (double)s->empty / pages,
	       100 * (double)s->by_pages / pages, 100 * (double)s->by_slabs / pages,
	       100 * (double)s->by_moving / pages);
}

static struct sums sums_of(struct class *class)
{
	size_t needed = (class->live + class->objects - 1) / class->objects;
	struct sums s = {
		.live = class->live * class->stride,
		.pages = class->slabs * class->pages,
		.empty = class->empty,
		.by_pages = mesh_pairs(&class->page),
		.by_slabs = mesh_pairs(&class->slab) * class->pages,
		.by_moving = (class->slabs - needed) * class->pages,
	};

	return s;
}

static void print_all(void)
{
	struct sums all = { 0 };

	printf("%-24s %6s %8s %5s %6s %6s %6s %6s\n", "", "", "KiB", "live", "empty", "pages",
	       "slabs", "move");
	printf("%-24s %6s %8s %5s %6s %6s %6s %6s\n", "cache", "size", "in use", "%", "%",
	       "share %", "share %", "%");
	for (size_t i = 0; i < SNAPSHOT_MAX_CACHES; i++) {
		struct class *class = &classes[i];
		struct sums s;

		if (!class->slabs)
			continue;
		s = sums_of(class);
		all.live += s.live;
		all.pages += s.pages;
		all.empty += s.empty;
		all.by_pages += s.by_pages;
		all.by_slabs += s.by_slabs;
		all.by_moving += s.by_moving;
		if (s.pages >= 16)
			print_row(class->name, class->stride, &s);
		mesh_set_free(&class->page);
		mesh_set_free(&class->slab);
	}
	print_row("all", 0, &all);
}

static int of_process(pid_t pid)
{
	struct source_options options = { .command = "mesh", .kind = SOURCE_PROCESS, .pid = pid };
	static struct source source;
	int status = source_open(&source, &options);

	if (status)
		return status;
	snapshot = calloc(1, sizeof(*snapshot));
	if (!snapshot)
		die("out of memory");
	status = source_snapshot(&source, snapshot);
	if (!status) {
		read_slabs(snapshot);
		print_all();
	}
	source_close(&source);
	free(snapshot);
	return status;
}

/* ---- a heap of its own ---- */

static void fill_and_free(struct kmem_cache *cache, size_t nr, unsigned int percent)
{
	struct rng rng = { 88172645463325252ull };
	void **object = malloc(nr * sizeof(*object));

	if (!object)
		die("out of memory");
	for (size_t i = 0; i < nr; i++) {
		object[i] = kmem_cache_alloc(cache, GFP_KERNEL);
		if (!object[i])
			die("out of memory");
	}
	for (size_t i = 0; i < nr; i++)
		if (rng_below(&rng, 100) < percent)
			kmem_cache_free(cache, object[i]);
	free(object);
	kmem_cache_shrink(cache); /* what CPUs hold */
}

static int of_heap(unsigned int percent)
{
	static const unsigned int sizes[] = { 16,  32,	48,  64,   96,	 128,
					      192, 256, 512, 1024, 2048, 4096 };
	char name[32];

	if (!uslab_root.version) /* it is linked in, to be found */
		die("no entry point");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct kmem_cache *cache;

		snprintf(name, sizeof(name), "mesh-%u", sizes[i]);
		cache = kmem_cache_create(name, sizes[i], 0, SLAB_NO_MERGE, NULL);
		if (!cache)
			die("no cache of %u bytes", sizes[i]);
		fill_and_free(cache, HEAP_BYTES / sizes[i], percent);
	}
	return of_process(getpid());
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long number = argc > 2 ? strtol(argv[2], NULL, 10) : -1;

	if (!strcmp(what, "heap") && argc <= 3 && number <= 99 && (argc == 2 || number > 0))
		return of_heap(number > 0 ? (unsigned int)number : 70);
	if (!strcmp(what, "process") && argc == 3 && number > 0)
		return of_process((pid_t)number);
	if (!strcmp(what, "costs") && argc == 2) {
		cost_print();
		return 0;
	}
	fprintf(stderr, "usage: uslab-bench-mesh heap [PERCENT] | process PID | costs\n");
	return 2;
}
