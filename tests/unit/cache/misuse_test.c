/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/misuse_test.c - a free of what is free, or no object's start: found without letters, never by mistake
 */
#include "cache_fixture.h"

#include <pthread.h>

#include "arch/malloc_rseq.h"
#include "base/mark.h"
#include "debug/report.h"

#define NR 400

static const char *const engines[] = { "slub", "slab", "slobseg" };
static const char *const fronts[] = { "array", "queues", "cpuslab", "none" };

/* A cache that free() finds by address, as those of the drop-in malloc; NULL: the two do not go together. */
static struct cache *make_by_address(const char *engine, const char *front, unsigned int size,
				     unsigned int id)
{
	struct cache_spec spec = { .name = "c", .size = size, .id = id, .no_merge = true };
	struct kmem_cache *handle;

	spec.engine = cache_engine_by_name(engine);
	spec.front = cache_front_by_name(front);
	return cache_create(&spec, &handle) ? NULL : cache_of(handle);
}

static unsigned long reports(void)
{
	return load_relaxed(&report_counters.reports);
}

/* Frees p, which must be refused. */
static void refused(struct cache *c, void *p)
{
	unsigned long before = reports();
	unsigned long held = in_use(c);

	cache_free(c, p);
	CHILD_CHECK(reports() == before + 1);
	CHILD_CHECK(in_use(c) == held);
}

static void *free_it(void *arg)
{
	void **pair = arg;

	refused(pair[0], pair[1]);
	return NULL;
}

static void refused_elsewhere(struct cache *c, void *p)
{
	void *pair[] = { c, p };
	pthread_t other;

	CHILD_CHECK(!pthread_create(&other, NULL, free_it, pair));
	CHILD_CHECK(!pthread_join(other, NULL));
}

/* At any distance: in the array, in a depot, in its slab. */
static void free_twice(struct cache *c)
{
	static void *p[NR];

	for (unsigned int i = 0; i < NR; i++)
		p[i] = get(c);
	cache_free(c, p[1]);
	refused(c, p[1]);
	cache_free(c, p[2]);
	refused(c, p[1]);
	refused_elsewhere(c, p[2]);
	for (unsigned int i = 3; i < NR; i += 2)
		cache_free(c, p[i]);
	for (unsigned int i = 3; i < NR; i += 40)
		refused(c, p[i]);
	cache_shrink(c);
	refused(c, p[1]);
	refused(c, p[NR - 1]);
	cache_free(c, p[0]);
	for (unsigned int i = 4; i < NR; i += 2)
		cache_free(c, p[i]);
	cache_shrink(c);
	CHILD_CHECK(in_use(c) == 0);
}

static void free_wrong(struct cache *c, struct cache *other)
{
	char *p = get(c);
	char *q = get(other);
	unsigned long before;

	refused(c, p + 4);
	refused(c, p + 8);
	refused(c, p + 16);
	refused(c, &p);
	before = reports();
	cache_free(c, q); /* goes where it belongs */
	CHILD_CHECK(reports() == before + 1 && in_use(other) == 0);
	cache_free(c, p);
	CHILD_CHECK(in_use(c) == 0);
}

/* What is freed with others, and twice among them. */
static void free_bulk_twice(struct cache *c)
{
	void *p[8];
	unsigned long before = reports();

	for (unsigned int i = 0; i < 7; i++)
		p[i] = get(c);
	p[7] = p[2];
	cache_free_bulk(c, 8, p);
	CHILD_CHECK(reports() == before + 1);
	cache_shrink(c);
	CHILD_CHECK(in_use(c) == 0);
}

static void each_mistake(unsigned int size)
{
	unsigned int id = 1;

	for (size_t e = 0; e < ARRAY_SIZE(engines); e++)
		for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
			struct cache *c = make_by_address(engines[e], fronts[f], size, id++);
			struct cache *other = make_by_address(engines[e], fronts[f], size, id++);

			if (!c)
				continue;
			free_wrong(c, other);
			free_bulk_twice(c);
			free_twice(c);
			cache_check_all();
		}
}

static void quiet(const char *cache, const char *report, void *arg)
{
	(void)cache;
	(void)report;
	(void)arg;
}

IN_CHILD(test_small)
{
	ready();
	report_set_hook(quiet, NULL, true);
	each_mistake(48);
}

IN_CHILD(test_large)
{
	ready();
	report_set_hook(quiet, NULL, true);
	each_mistake(1200);
}

/* A program's bytes may look like a mark: such an object is freed like any other. */
IN_CHILD(test_looks_free)
{
	unsigned int id = 1;

	ready();
	for (size_t e = 0; e < ARRAY_SIZE(engines); e++)
		for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
			struct cache *c = make_by_address(engines[e], fronts[f], 64, id++);
			void *p;

			if (!c)
				continue;
			for (unsigned int i = 0; i < 100; i++) {
				p = get(c);
				CHILD_CHECK(!mark_is_set(p, c->engine.mark));
				mark_set(p, c->engine.mark);
				cache_free(c, p);
			}
			CHILD_CHECK(in_use(c) == 0);
		}
	CHILD_CHECK(reports() == 0);
}

/* Every object that is handed out has lost its mark, whichever way it came. */
IN_CHILD(test_unmarked)
{
	static void *p[NR];
	struct cache *c;

	ready();
	c = make_by_address("slub", "array", 32, 1);
	for (unsigned int round = 0; round < 3; round++) {
		CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, NR / 2, p) == NR / 2);
		for (unsigned int i = NR / 2; i < NR; i++)
			p[i] = get(c);
		for (unsigned int i = 0; i < NR; i++)
			CHILD_CHECK(!mark_is_set(p[i], c->engine.mark));
		cache_free_bulk(c, NR / 2, p);
		for (unsigned int i = NR / 2; i < NR; i++)
			cache_free(c, p[i]);
	}
	CHILD_CHECK(in_use(c) == 0 && reports() == 0);
}

/* Inlined hits know one place of a mark: there each engine has it, and its links elsewhere. */
IN_CHILD(test_unmarked_by_hits)
{
	unsigned int id = 1;

	ready();
	for (size_t e = 0; e < ARRAY_SIZE(engines); e++) {
		struct cache *c = make_by_address(engines[e], "array", 32, id++);
		void *p = get(c);
		void *hit;

		CHILD_CHECK(c->engine.mark == USLAB_MARK_OFFSET);
		cache_free(c, p);
		CHILD_CHECK(mark_is_set(p, c->engine.mark));
		if (arch_malloc_pop(page_map.base, c->front.id, uslab_rseq_offset, &hit)) {
			CHILD_CHECK(hit == p && !mark_is_set(p, c->engine.mark));
			cache_free(c, p);
		}
		cache_shrink(c);
		CHILD_CHECK(in_use(c) == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_looks_free),
		cmocka_unit_test(test_unmarked),
		cmocka_unit_test(test_unmarked_by_hits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
