/* SPDX-License-Identifier: MIT */
/*
 * conformance/page_identity_test.c - which pages a cache's next slabs get, as
 * on one CPU of a 6.1 kernel
 *
 * Spec 0.3 and 4.12: pages of a CPU's lists come back last in, first out and do not
 * merge there; the empty slabs that one flush discards are freed in the reverse of the
 * order in which they were found.
 */
#include "conformance/books.h"
#include "engine/slub/slub.h"
#include "page/pcp.h"
#include "unit/cache/cache_fixture.h"

#define SIZE 1024
#define SLABS 4
#define MAX_OBJECTS 64

struct filled {
	struct page *slab;
	void *objs[MAX_OBJECTS];
	unsigned int nr;
};

static struct filled filled[SLABS];

static struct cache *make_as(const char *engine, const char *front, slab_flags_t flags)
{
	return made(&(struct cache_spec){ .name = "identity",
					  .size = SIZE,
					  .flags = flags,
					  .engine = cache_engine_by_name(engine),
					  .front = cache_front_by_name(front),
					  .no_merge = true });
}

static struct cache *on_one_cpu(const char *engine, const char *front, slab_flags_t flags)
{
	ready();
	stay_here();
	return make_as(engine, front, flags);
}

/* Takes objects until each of the slabs is full and the next object would be another one's. */
static void fill(struct cache *c, struct filled *f, unsigned int slabs)
{
	for (unsigned int i = 0; i < slabs; i++) {
		f[i].nr = c->engine.layout->objects;
		CHILD_CHECK(f[i].nr <= MAX_OBJECTS);
		for (unsigned int k = 0; k < f[i].nr; k++) {
			f[i].objs[k] = get(c);
			CHILD_CHECK(f[i].objs[k]);
			if (k == 0)
				f[i].slab = page_head_of(f[i].objs[k]);
			CHILD_CHECK(page_head_of(f[i].objs[k]) == f[i].slab);
		}
	}
}

static void empty(struct cache *c, struct filled *f)
{
	for (unsigned int k = 0; k < f->nr; k++)
		cache_free(c, f->objs[k]);
}

/* The slabs of three full ones, freed in turn, flushed, and those that the next objects get. */
static void refill_after_flush(struct cache *c, struct page **was, struct page **is)
{
	fill(c, filled, 3);
	for (unsigned int i = 0; i < 3; i++) {
		was[i] = filled[i].slab;
		empty(c, &filled[i]);
	}
	cache_shrink(c);
	CHILD_CHECK(stats_of(c).nr_slabs == 0);
	fill(c, filled, 3);
	for (unsigned int i = 0; i < 3; i++)
		is[i] = filled[i].slab;
	cache_check_all();
	buddy_check();
}

/*
 * The flush puts all three onto the node's list, the CPU's slab first; shrinking
 * finds them in that order.
 */
IN_CHILD(what_a_shrink_frees_comes_back_in_the_order_it_was_found)
{
	struct cache *c = on_one_cpu("slub", "cpuslab", 0);
	struct page *was[3];
	struct page *is[3];

	refill_after_flush(c, was, is);
	CHILD_CHECK(is[0] == was[2] && is[1] == was[1] && is[2] == was[0]);
}

/*
 * With min_partial 0 the flush itself frees: the CPU's slab, then of its partial slabs, which it
 * finds newest first, the one that was found last.
 */
IN_CHILD(a_flush_frees_what_it_found_last_first)
{
	struct cache *c = on_one_cpu("slub", "cpuslab", 0);
	struct page *was[3];
	struct page *is[3];

	slub_of(&c->engine)->min_partial = 0;
	refill_after_flush(c, was, is);
	CHILD_CHECK(is[0] == was[1] && is[1] == was[0] && is[2] == was[2]);
}

static void free_slab_and_flush(struct cache *c, struct filled *f)
{
	empty(c, f);
	cache_shrink(c);
}

IN_CHILD(slabs_freed_in_turn_come_back_last_one_first)
{
	struct cache *c = on_one_cpu("slub", "cpuslab", 0);
	struct page *was[3];

	fill(c, filled, 4);
	for (unsigned int i = 0; i < 3; i++)
		was[i] = filled[i].slab;
	free_slab_and_flush(c, &filled[1]);
	free_slab_and_flush(c, &filled[0]);
	free_slab_and_flush(c, &filled[2]);
	fill(c, filled, 3);
	CHILD_CHECK(filled[0].slab == was[2] && filled[1].slab == was[0] &&
		    filled[2].slab == was[1]);
}

/* Another cache of the same order gets them; not one whose pages are of another kind. */
IN_CHILD(lists_are_shared_by_caches_of_a_kind)
{
	struct cache *c = on_one_cpu("slub", "cpuslab", 0);
	struct cache *other = make_as("slub", "historical", 0);
	struct cache *reclaimable = make_as("slub", "cpuslab", SLAB_RECLAIM_ACCOUNT);
	struct page *was;

	fill(c, filled, 2);
	was = filled[0].slab;
	free_slab_and_flush(c, &filled[0]);
	CHILD_CHECK(page_head_of(get(reclaimable)) != was);
	CHILD_CHECK(page_head_of(get(other)) == was);
}

IN_CHILD(slab_as_it_was_has_lists_too)
{
	struct cache *c = on_one_cpu("slab", "historical", 0);
	void *obj = get(c);
	struct page *was = page_head_of(obj);

	CHILD_CHECK(pcp_stats(was->node).nr_pages > 0);
	cache_free(c, obj);
	cache_shrink(c);
	CHILD_CHECK(was->type == PAGE_LISTED && page_head_of(get(c)) == was);
}

IN_CHILD(other_fronts_have_none)
{
	struct cache *c = on_one_cpu("slub", "array", 0);
	struct cache *queues = make_as("slab", "queues", 0);

	CHILD_CHECK(get(c) && get(queues));
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++)
		CHILD_CHECK(pcp_stats(node).nr_pages == 0);
}

/* What is on lists is free, for whoever counts, and a trim leaves none. */
IN_CHILD(the_books_balance)
{
	struct cache *c = on_one_cpu("slub", "cpuslab", 0);
	unsigned int node;

	fill(c, filled, 3);
	CHILD_CHECK(pages_out() == pages_by_the_books());
	node = filled[0].slab->node;
	for (unsigned int i = 0; i < 3; i++)
		empty(c, &filled[i]);
	cache_shrink_all();
	CHILD_CHECK(pages_out() == 0 && pcp_stats(node).nr_pages > 0);
	buddy_trim(0);
	CHILD_CHECK(pages_out() == 0 && pcp_stats(node).nr_pages == 0);
	for (node = 0; node < os_topology.nr_nodes; node++)
		CHILD_CHECK(buddy_zones[node].stats.nr_free == buddy_zones[node].stats.nr_total);
	buddy_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_shrink_frees_comes_back_in_the_order_it_was_found),
		cmocka_unit_test(a_flush_frees_what_it_found_last_first),
		cmocka_unit_test(slabs_freed_in_turn_come_back_last_one_first),
		cmocka_unit_test(lists_are_shared_by_caches_of_a_kind),
		cmocka_unit_test(slab_as_it_was_has_lists_too),
		cmocka_unit_test(other_fronts_have_none),
		cmocka_unit_test(the_books_balance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
