/* SPDX-License-Identifier: MIT */
/*
 * conformance/manage_test.c - statistics, destructors and arenas, for every engine with every front
 */
#include <sys/mman.h>

#include "conformance/pairs.h"
#include "inspect/snapshot.h"

/* ---- statistics: the numbers that tools read from outside ---- */

static const struct snapshot_cache *seen_from_outside(const struct cache *c)
{
	static struct snapshot *s;

	if (!s) {
		s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
		CHILD_CHECK(s != MAP_FAILED);
		root_init("kmalloc-large");
	}
	CHILD_CHECK(!snapshot_take(s, &reader_local, (uintptr_t)&uslab_root));
	CHILD_CHECK(!s->totals.inconsistent);
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (s->cache[i].id == c->front.id)
			return &s->cache[i];
	CHILD_CHECK(!"the cache is there");
	return NULL;
}

static void agree(struct cache *c, unsigned long live)
{
	const struct snapshot_cache *seen = seen_from_outside(c);
	struct kmem_cache_statistics stats;

	cache_stats(c, &stats);
	CHILD_CHECK(stats.objects == live && seen->objects == live);
	CHILD_CHECK(stats.objects_free == seen->total_objects - seen->objects);
	CHILD_CHECK(stats.objects_lent == seen->objects_lent);
	CHILD_CHECK(stats.total_objects == seen->total_objects);
	CHILD_CHECK(stats.slabs == seen->slabs && stats.slab_bytes == seen->slab_bytes);
	CHILD_CHECK(stats.object_size == seen->object_size && stats.slab_size == seen->slab_size);
	CHILD_CHECK(stats.objs_per_slab == seen->objs_per_slab);
}

static void counted(const struct pair *pair)
{
	static void *p[700];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		unsigned int most = sizes[i] > 1000 ? 50 : rounds(700);
		struct cache *c = make_pair(pair, sizes[i], 0, NULL);
		struct slab_sheaf *sheaf;

		agree(c, 0);
		for (unsigned int j = 0; j < most; j++) {
			take(c, &p[j]);
			if (j == most / 2 || j < 3)
				agree(c, j + 1);
		}
		sheaf = lent_prefill(c, GFP_KERNEL, 5, NULL);
		agree(c, most);
		for (unsigned int j = 0; j < most; j++) {
			give(c, p[j * 11 % most]);
			if (j % (most / 4) == 0)
				agree(c, most - j - 1);
		}
		lent_return(c, sheaf, NULL);
		agree(c, 0);
		finish(c);
	}
}

/* ---- destructors ---- */

#define ALIVE 0xc7u
#define SIZE 56

static unsigned long constructed;
static unsigned long destructed;

static void a_ctor(void *obj)
{
	constructed++;
	memset(obj, ALIVE, SIZE);
}

/* What the constructor made, to the last byte, and each once. */
static void a_dtor(void *obj)
{
	for (unsigned int i = 0; i < SIZE; i++)
		CHILD_CHECK(((unsigned char *)obj)[i] == ALIVE);
	memset(obj, 0xdd, SIZE);
	destructed++;
}

static struct cache *make_destructed(const struct pair *pair)
{
	constructed = destructed = 0;
	return made(&(struct cache_spec){ .name = "pair",
					  .size = SIZE,
					  .ctor = a_ctor,
					  .dtor = a_dtor,
					  .engine = pair->engine,
					  .front = pair->front });
}

/* Heaps, and slobseg: at each allocation; the others once, with the slab. */
static bool constructs_each(const struct engine_ops *engine)
{
	return engine->heap || engine == &slobseg_ops;
}

static void destructors(const struct pair *pair)
{
	struct cache *c = make_destructed(pair);
	static void *p[600];

	for (unsigned int round = 0; round < 3; round++) {
		unsigned long in_slabs;

		for (unsigned int i = 0; i < 600; i++)
			CHILD_CHECK((p[i] = obj_alloc(c)));
		for (unsigned int i = 0; i < 600; i++)
			if (i % 3)
				obj_free(c, p[i]);
		CHILD_CHECK(constructed - destructed >= 200);
		cache_shrink(c);
		in_slabs = pairs_debug || !constructs_each(pair->engine) ? stats_of(c).total_objects
									 : 200;
		CHILD_CHECK(constructed - destructed == in_slabs);
		for (unsigned int i = 0; i < 600; i += 3)
			obj_free(c, p[i]);
		cache_check_all();
	}
	finish(c);
	CHILD_CHECK(constructed && destructed == constructed);
}

/* ---- arenas ---- */

static void fill(struct cache *c, void **p, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		take(c, &p[i]);
	for (unsigned int i = 0; i < nr; i += 3)
		give(c, p[i]);
}

static void cleared(const struct pair *pair)
{
	static void *p[900];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct cache *c = make_pair(pair, sizes[i], 0, NULL);
		unsigned int most = sizes[i] > 1000 ? 60 : rounds(900);

		for (unsigned int round = 0; round < 3; round++) {
			fill(c, p, most);
			if (pair->engine->heap) {
				CHILD_CHECK(cache_clear(c, NULL) == -EOPNOTSUPP);
				for (unsigned int j = 0; j < most; j++)
					if (j % 3)
						give(c, p[j]);
				continue;
			}
			CHILD_CHECK(cache_clear(c, NULL) == 0);
			balance(c, 0);
			CHILD_CHECK(stats_of(c).nr_slabs == 0);
			CHILD_CHECK(c->front.ops->held(&c->front) == 0);
		}
		finish(c);
	}
}

/* What is lent stays so, and may be used as before. */
static void cleared_beside_lent(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 100, 0, NULL);
	struct slab_sheaf *sheaf = lent_prefill(c, GFP_KERNEL, 40, NULL);
	void *p[300];

	if (!pair->engine->heap) {
		fill(c, p, 300);
		CHILD_CHECK(cache_clear(c, NULL) == 0);
		balance(c, 0);
	}
	for (unsigned int i = 0; i < 40; i++) {
		p[i] = lent_alloc(c, GFP_KERNEL, sheaf, NULL);
		CHILD_CHECK(p[i]);
		stamp(c, p[i]);
	}
	balance(c, 40);
	for (unsigned int i = 0; i < 40; i++)
		give(c, p[i]);
	lent_return(c, sheaf, NULL);
	finish(c);
}

static void cleared_constructed(const struct pair *pair)
{
	struct cache *c = make_destructed(pair);

	for (unsigned int i = 0; i < 500; i++)
		CHILD_CHECK(obj_alloc(c));
	if (pair->engine->heap)
		return;
	CHILD_CHECK(cache_clear(c, NULL) == 0);
	CHILD_CHECK(constructed >= 500 && destructed == constructed);
	finish(c);
}

int main(int argc, char **argv)
{
	static const struct body bodies[] = {
		{ "counted", counted, true, true },
		{ "destructors", destructors, true, true },
		{ "cleared", cleared, true, true },
		{ "cleared_beside_lent", cleared_beside_lent, true, false },
		{ "cleared_constructed", cleared_constructed, true, false },
		{ 0 },
	};

	return pairs_main(argc, argv, "manage" PAIRS_DEBUG_FLAGS, bodies);
}
