/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/debug/misuse_test.c - a free of what is free, or no object's start: found without
 * debug flags, never by mistake
 */
#include "unit/cache/refused.h"

#include "base/mark.h"
#include "front/array.h"
#include "os/cpu/rseq.h"

#define NR 400

static const char *const engines[] = { "slub", "slab", "slobseg" };
static const char *const fronts[] = { "array", "queues", "cpuslab", "none", "sheaves" };

/*
 * A cache that free() finds by address, as those of the drop-in malloc; NULL:
 * the two do not go together.
 */
static struct cache *make_by_address(const char *engine, const char *front, unsigned int size,
				     unsigned int id)
{
	struct cache_spec spec = { .name = "c", .size = size, .id = id, .no_merge = true };
	struct kmem_cache *handle;

	spec.engine = cache_engine_by_name(engine);
	spec.front = cache_front_by_name(front);
	return cache_create(&spec, &handle) ? NULL : cache_of(handle);
}

/* At any distance: in the array, in a depot, in its slab. */
static void free_twice(struct cache *c)
{
	static void *p[NR];

	for (unsigned int i = 0; i < NR; i++)
		p[i] = get(c);
	cache_free(c, p[1]);
	refused(cache_free, c, p[1]);
	cache_free(c, p[2]);
	refused(cache_free, c, p[1]);
	refused_elsewhere(cache_free, c, p[2]);
	for (unsigned int i = 3; i < NR; i += 2)
		cache_free(c, p[i]);
	for (unsigned int i = 3; i < NR; i += 40)
		refused(cache_free, c, p[i]);
	cache_shrink(c);
	refused(cache_free, c, p[1]);
	refused(cache_free, c, p[NR - 1]);
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

	refused(cache_free, c, p + 4);
	refused(cache_free, c, p + 8);
	refused(cache_free, c, p + 16);
	refused(cache_free, c, &p);
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

/* ---- own caches: as programs do, inline where that hits ---- */

static struct cache *make_own(const char *engine, const char *front, unsigned int size,
			      void (*ctor)(void *obj), slab_flags_t flags)
{
	struct cache_spec spec = {
		.name = "own", .size = size, .ctor = ctor, .flags = flags, .no_merge = true
	};
	struct kmem_cache *handle;

	spec.engine = cache_engine_by_name(engine);
	spec.front = cache_front_by_name(front);
	return cache_create(&spec, &handle) ? NULL : cache_of(handle);
}

static void own_free_twice(struct cache *c)
{
	static void *p[NR];

	for (unsigned int i = 0; i < NR; i++)
		p[i] = obj_alloc(c);
	obj_free(c, p[1]);
	refused(obj_free, c, p[1]);
	obj_free(c, p[2]);
	refused(obj_free, c, p[1]);
	for (unsigned int i = 3; i < NR; i += 2)
		obj_free(c, p[i]);
	refused(obj_free, c, p[NR - 1]);
	CHILD_CHECK(obj_alloc(c) != obj_alloc(c));
}

/* Also where their bytes say nothing of what is free: nothing is reported, nothing is lost. */
static void own_sound(struct cache *c)
{
	static void *p[NR];

	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < NR; i++)
			p[i] = obj_alloc(c);
		for (unsigned int i = 0; i < NR; i++)
			obj_free(c, p[i]);
	}
	CHILD_CHECK(in_use(c) == 0);
	cache_check_all();
	cache_shrink(c);
	cache_check_all();
}

static const unsigned int own_sizes[] = { 1, 4, 8, 12, 16, 20, 24, 48, 60, 64, 100, 128, 192, 1200 };

IN_CHILD(test_own)
{
	unsigned long before;

	ready();
	report_set_hook(quiet, NULL, true);
	for (size_t e = 0; e < ARRAY_SIZE(engines); e++)
		for (size_t i = 0; i < ARRAY_SIZE(own_sizes); i++) {
			struct cache *c = make_own(engines[e], "array", own_sizes[i], NULL, 0);

			CHILD_CHECK(c && c->engine.mark);
			before = reports();
			own_sound(c);
			CHILD_CHECK(reports() == before);
			own_free_twice(c);
		}
}

static void construct(void *obj)
{
	memset(obj, 0x5a, 48);
}

/* They keep their bytes, and say that they are free behind these. */
static void own_constructed(struct cache *c)
{
	static char *p[NR];

	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < NR; i++) {
			p[i] = obj_alloc(c);
			for (unsigned int j = 0; j < 48; j++)
				CHILD_CHECK(p[i][j] == 0x5a);
		}
		for (unsigned int i = 0; i < NR; i++)
			obj_free(c, p[i]);
	}
	cache_check_all();
	CHILD_CHECK(in_use(c) == 0);
}

IN_CHILD(test_own_constructed)
{
	static const slab_flags_t flags[] = { 0, SLAB_HWCACHE_ALIGN };
	struct cache *c;

	ready();
	report_set_hook(quiet, NULL, true);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		c = make_own("slub", "array", 48, construct, flags[i]);
		CHILD_CHECK(c->engine.mark >= 48);
		own_constructed(c);
		CHILD_CHECK(reports() == 3 * i);
		own_free_twice(c);
		CHILD_CHECK(reports() == 3 * i + 3);
	}
}

/* No byte of theirs is anybody else's: inline calls miss, and arrays serve them all the same. */
IN_CHILD(test_own_without_mark)
{
	static const char *const without[] = { "slab", "slobseg", "slob" };
	void *p;

	ready();
	for (size_t e = 0; e < ARRAY_SIZE(without); e++) {
		struct cache *c = make_own(without[e], "array", 48, construct, 0);

		CHILD_CHECK(c && !c->engine.mark);
		own_constructed(c);
#if USLAB_HAVE_RSEQ
		p = get(c);
		cache_free(c, p);
		CHILD_CHECK(c->front.ops->held(&c->front) > 0);
		CHILD_CHECK(!uslab_rseq_take(c->handle, os_rseq_offset, &p));
		CHILD_CHECK(!uslab_rseq_give(c->handle, p, os_rseq_offset));
#endif
		(void)p;
		cache_destroy(c->handle, NULL);
		/* the number is used again, by one with inline hits */
		c = make_own("slub", "array", 48, NULL, 0);
		own_sound(c);
		cache_destroy(c->handle, NULL);
	}
	CHILD_CHECK(reports() == 0);
}

#if USLAB_HAVE_RSEQ
/*
 * A run ends before an object that is free, also if it is so by this run; what
 * misses has changed nothing.
 */
IN_CHILD(test_own_run)
{
	struct cache *c;
	void *p[8];

	ready();
	report_set_hook(quiet, NULL, true);
	if (!percpu_rseq)
		return;
	stay_here();
	c = make_own("slub", "array", 48, NULL, 0);
	for (unsigned int i = 0; i < 7; i++)
		p[i] = get(c);
	p[7] = p[2];
	CHILD_CHECK(uslab_rseq_give_run(c->handle, os_rseq_offset, 8, p) == 7);
	for (unsigned int i = 0; i < 7; i++)
		CHILD_CHECK(mark_is_set(p[i], c->engine.mark));
	refused(cache_free, c, p[7]);
	CHILD_CHECK(uslab_rseq_take_run(c->handle, os_rseq_offset, 8, p) == 8);
	for (unsigned int i = 0; i < 8; i++)
		CHILD_CHECK(!mark_is_set(p[i], c->engine.mark));
	cache_shrink(c);
	CHILD_CHECK(!uslab_rseq_give(c->handle, p[0], os_rseq_offset));
	CHILD_CHECK(!mark_is_set(p[0], c->engine.mark));
	CHILD_CHECK(!uslab_rseq_give_run(c->handle, os_rseq_offset, 8, p));
	CHILD_CHECK(!mark_is_set(p[0], c->engine.mark));
	cache_free_bulk(c, 8, p);
	CHILD_CHECK(in_use(c) == 0);
}
#endif

/* Debug flags come and go: a mark behind an object is in no red zone. */
IN_CHILD(test_own_debug_flags)
{
	struct cache *c;
	void *p;
	void *q;

	ready();
	c = make_own("slub", "array", 48, construct, 0);
	q = obj_alloc(c);
	CHILD_CHECK(cache_set_debug(c, SLAB_RED_ZONE | SLAB_CONSISTENCY_CHECKS) == 0);
	p = obj_alloc(c);
	obj_free(c, q);
	q = obj_alloc(c);
	CHILD_CHECK(cache_set_debug(c, 0) == 0);
	obj_free(c, p);
	p = obj_alloc(c);
	CHILD_CHECK(cache_set_debug(c, SLAB_RED_ZONE | SLAB_CONSISTENCY_CHECKS) == 0);
	obj_free(c, p);
	obj_free(c, q);
	CHILD_CHECK(reports() == 0 && in_use(c) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_looks_free),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_own_constructed),
		cmocka_unit_test(test_own_without_mark),
#if USLAB_HAVE_RSEQ
		cmocka_unit_test(test_own_run),
#endif
		cmocka_unit_test(test_own_debug_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
