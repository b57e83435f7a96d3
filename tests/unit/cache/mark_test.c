/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/mark_test.c - a free object bears a mark, one that is handed out none
 */
#include "refused.h"
#include "arch/malloc_rseq.h"
#include "base/mark.h"
#include "cache/internal.h"
#include "os/cpu/rseq.h"

#define NR 400

static const char *const engines[] = { "slub", "slab", "slobseg" };

/* A cache that free() finds by address, as those of the drop-in malloc. */
static struct cache *make_by_address(const char *engine, unsigned int id)
{
	return made(&(struct cache_spec){ .name = "c",
					  .size = 32,
					  .id = id,
					  .engine = cache_engine_by_name(engine),
					  .front = cache_front_by_name("array"),
					  .no_merge = true });
}

/* Every object that is handed out has lost its mark, whichever way it came. */
IN_CHILD(test_unmarked)
{
	static void *p[NR];
	struct cache *c;

	ready();
	c = make_by_address("slub", 1);
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
		struct cache *c = make_by_address(engines[e], id++);
		const unsigned char class = (unsigned char)c->front.id;
		void *p = get(c);
		void *hit;

		CHILD_CHECK(c->engine.mark == USLAB_MARK_OFFSET);
		cache_free(c, p);
		CHILD_CHECK(mark_is_set(p, c->engine.mark));
		if (arch_malloc_pop(page_map.base, &class, os_rseq_offset, &hit)) {
			CHILD_CHECK(hit == p && !mark_is_set(p, c->engine.mark));
			cache_free(c, p);
		}
		cache_shrink(c);
		CHILD_CHECK(in_use(c) == 0);
	}
}

static void construct(void *obj)
{
	memset(obj, 0, 48);
}

/* Behind the bytes that a constructor has made, and only where the engine has room there. */
IN_CHILD(test_behind)
{
	struct cache_spec spec = { .name = "c", .size = 48, .ctor = construct, .no_merge = true };
	struct cache *c;

	ready();
	c = made(&spec);
	CHILD_CHECK(c->engine.mark >= 48 && cache_marks_behind(c));
	spec.engine = cache_engine_by_name("slab");
	c = made(&spec);
	CHILD_CHECK(!c->engine.mark && !cache_marks_behind(c));
	spec = (struct cache_spec){ .name = "c", .size = 48, .no_merge = true };
	c = made(&spec);
	CHILD_CHECK(c->engine.mark && c->engine.mark + 4 <= 48 && !cache_marks_behind(c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unmarked),
		cmocka_unit_test(test_unmarked_by_hits),
		cmocka_unit_test(test_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
