/* SPDX-License-Identifier: MIT */
/*
 * engine/slab/check.c - is every slab what it says it is; and who is still in use
 *
 * Data:       a byte for each object of a slab, on the stack.
 * Invariants: those of slab.h, index.c, node.c and of struct page; a violation ends in
 *             CHECK() if it is slab_check() that finds it. The others look at what a
 *             program may have overwritten.
 * Locks:      list_lock of each node in turn.
 * Flow:       called through slab_ops.check and .walk; for debug builds and reports.
 */
#include "base/assert.h"
#include "engine/slab/slab.h"

/* Is the index array where it has to be? */
static void check_home(const struct slab_cache *c, const struct page *slab)
{
	const struct slab_geometry *g = &c->geometry;
	const uint8_t *index = slab->freelist;
	const char *end = (const char *)page_address(slab) + (PAGE_SIZE << g->order);

	switch (g->placement) {
	case SLAB_INDEX_OBJECT:
		/* where else: slab_index_mark() */
		CHECK(!index == (engine_counters(slab).inuse == g->num));
		break;
	case SLAB_INDEX_OFF:
		CHECK(index && !page_in_arena(index));
		break;
	case SLAB_INDEX_ON:
		CHECK((const char *)index == end - g->num);
		break;
	}
}

static void check_slab(const struct engine *e, const struct page *slab, unsigned int node)
{
	const struct slab_cache *c = slab_cache_of(e);
	struct slab_counters counters = engine_counters(slab);
	bool is_free[SLAB_MAX_NUM];

	CHECK(slab->type == PAGE_SLAB);
	CHECK(slab->engine == e);
	CHECK(slab->layout == &c->layout);
	CHECK(slab->node == node);
	CHECK(slab->nr_pages == 1u << slab->order);
	CHECK(slab->order == c->geometry.order);
	CHECK(counters.objects == c->geometry.num);
	CHECK(slab_is_evacuated(counters) || (!counters.frozen && !counters.formatted));
	CHECK(!counters.colour || counters.colour < c->geometry.colour);
	check_home(c, slab);
	CHECK(slab_index_mark(c, slab, is_free));
	CHECK(!e->page_class || page_map.class[page_index(page_address(slab))] == e->page_class);
}

/* What a list must hold: slabs with an inuse of min to max. Returns how many, and adds *free. */
static unsigned long check_list(const struct engine *e, const struct list_head *list,
				unsigned int node, unsigned int min, unsigned int max,
				unsigned long *free)
{
	const struct slab_node *n = slab_cache_of(e)->node[node];
	const struct list_head *pos;
	unsigned long slabs = 0;

	list_for_each(pos, list) {
		const struct page *slab = list_entry(pos, const struct page, lru);
		struct slab_counters counters = engine_counters(slab);

		CHECK(pos->next->prev == pos && pos->prev->next == pos);
		check_slab(e, slab, node);
		CHECK(counters.inuse >= min && counters.inuse <= max);
		*free += counters.objects - counters.inuse;
		CHECK(++slabs <= n->total_slabs);
	}
	return slabs;
}

static void check_node(const struct engine *e, unsigned int nr)
{
	struct slab_node *node = slab_cache_of(e)->node[nr];
	unsigned int num = slab_cache_of(e)->geometry.num;
	unsigned long full;
	unsigned long evacuated;
	unsigned long free = 0;

	lock_acquire(&node->list_lock);
	full = check_list(e, &node->full, nr, num, num, &free);
	CHECK(check_list(e, &node->partial, nr, 1, num - 1, &free) == node->nr_partial);
	CHECK(check_list(e, &node->free, nr, 0, 0, &free) == node->free_slabs);
	evacuated = check_list(e, &node->evacuated, nr, 0, num, &free);
	CHECK(full + node->nr_partial + node->free_slabs + node->isolated + evacuated ==
	      node->total_slabs);
	CHECK(free == node->free_objects);
	lock_release(&node->list_lock);
}

void slab_check(struct engine *e)
{
	const struct slab_cache *c = slab_cache_of(e);
	const struct slab_geometry *g = &c->geometry;
	unsigned int index_size = g->placement == SLAB_INDEX_ON ? g->num : 0;
	unsigned int i;

	CHECK(e->size == g->size && g->size % e->align == 0);
	CHECK(g->num >= 1 && g->num <= SLAB_MAX_NUM);
	CHECK(g->num * g->size + index_size + g->left_over == PAGE_SIZE << g->order);
	for (i = 0; i < c->nr_nodes; i++)
		check_node(e, i);
}

static void walk_slab(const struct slab_cache *c, struct page *slab,
		      void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	bool is_free[SLAB_MAX_NUM];
	unsigned int i;

	slab_index_mark(c, slab, is_free); /* as far as it can be believed */
	for (i = 0; i < c->geometry.num; i++)
		if (!is_free[i])
			visit(page_address(slab),
			      slab_objects(c, slab) + (size_t)i * c->geometry.size, arg);
}

void slab_walk(struct engine *e, void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	const struct slab_cache *c = slab_cache_of(e);
	struct list_head *pos;
	unsigned int i;

	for (i = 0; i < c->nr_nodes; i++) {
		struct slab_node *node = c->node[i];

		lock_acquire(&node->list_lock);
		list_for_each(pos, &node->partial)
			walk_slab(c, list_entry(pos, struct page, lru), visit, arg);
		list_for_each(pos, &node->evacuated)
			walk_slab(c, list_entry(pos, struct page, lru), visit, arg);
		list_for_each(pos, &node->full)
			walk_slab(c, list_entry(pos, struct page, lru), visit, arg);
		lock_release(&node->list_lock);
	}
}

void slab_walk_slab(struct engine *e, struct page *slab,
		    void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	const struct slab_cache *c = slab_cache_of(e);
	struct slab_node *node = c->node[slab->node];
	struct slab_counters counters;

	lock_acquire(&node->list_lock);
	counters = engine_counters(slab);
	if (!counters.frozen || slab_is_evacuated(counters))
		walk_slab(c, slab, visit, arg);
	lock_release(&node->list_lock);
}

bool slab_is_free(struct engine *e, struct page *slab, const void *obj)
{
	const struct slab_cache *c = slab_cache_of(e);
	struct slab_node *node = c->node[slab->node];
	unsigned int number;
	bool is_free;

	lock_acquire(&node->list_lock);
	is_free = slab_home(c, obj, &number) == slab && slab_index_has(slab, number);
	lock_release(&node->list_lock);
	return is_free;
}
