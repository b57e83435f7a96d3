/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/try.c - one object, out of a slab and back, without waiting
 *
 * Why:        docs/adr/0048.
 * Data:       none of its own.
 * Invariants: as in refill.c and free.c. A slab that the program damaged is left as it is, for an
 *             ordinary call to report.
 * Locks:      list_lock, which is tried. In the table at the head of free.c take_one() is the row
 *             take_objects, push_one() the rows chain_push and chain_push, locked. Where words are
 *             exchanged by locks (os/cpu/dword.c), these are tried as well.
 * Flow:       called through slub_ops; calls slab.c, node.c.
 *
 * A new slab is made under list_lock, so that none has to be given back because that could not be
 * had. To follow a list is left to ordinary calls: one object is one link.
 */
#include "engine/slub/slab.h"

/* A word that others exchange all the time is given up. */
#define MAX_EXCHANGES 16

static bool exchange(struct page *slab, const struct slub_state *old, const struct slub_state *new)
{
	struct dword expect = { (uintptr_t)old->freelist, engine_counters_word(old->counters) };
	struct dword update = { (uintptr_t) new->freelist, engine_counters_word(new->counters) };

	return dword_try_cas(&slab->both, expect, update);
}

/* The slab without its next object, which is returned; NULL: it cannot be right. */
static void *plan_take(const struct slub *s, const struct page *slab, const struct slub_state *old,
		       struct slub_state *new)
{
	void *obj = old->freelist;

	*new = *old;
	new->counters.inuse++;
	if (obj)
		new->freelist = freeptr_get(s, slab->layout, obj);
	else if (old->counters.formatted < old->counters.objects)
		obj = slub_object(slab, new->counters.formatted++);
	if (!obj || (new->freelist && !freeptr_is_inside(slab, new->freelist)) ||
	    slub_ends_wrong(old, new, 1))
		return NULL;
	return obj;
}

/* Of a slab on the partial list, whose lock is held. */
static void *take_one_locked(struct engine *e, struct engine_node *node, struct page *slab)
{
	struct slub_state old;
	struct slub_state new;
	bool listed = true;
	void *obj = NULL;

	for (unsigned int i = 0; !obj && i < MAX_EXCHANGES; i++) {
		old = slub_read(slab);
		obj = plan_take(slub_of(e), slab, &old, &new);
		if (!obj)
			break;
		/* before the exchange, as in take_objects() */
		if (listed && new.counters.inuse == new.counters.objects) {
			engine_node_remove_partial_locked(node, slab);
			listed = false;
		}
		if (!exchange(slab, &old, &new))
			obj = NULL;
	}
	if (obj && new.counters.inuse == new.counters.objects)
		slub_node_add_full_locked(e, node, slab);
	else if (!listed)
		engine_node_add_partial_locked(node, slab, false);
	return obj;
}

/* Makes the node one slab richer, if it has pages. */
static bool add_new_locked(struct engine *e, unsigned int nr)
{
	struct page *slab = slub_try_new_slab(e, nr);

	if (!slab)
		return false;
	engine_count(e, ALLOC_SLAB);
	engine_node_add_partial_locked(slub_node_of(e, slab), slab, false);
	return true;
}

static void *take_from_node(struct engine *e, unsigned int nr)
{
	struct engine_node *node = slub_of(e)->node[nr];
	void *obj = NULL;

	if (!lock_try(&node->list_lock))
		return NULL;
	if (!list_empty(&node->partial) || add_new_locked(e, nr))
		obj = take_one_locked(e, node, list_first(&node->partial, struct page, lru));
	lock_release(&node->list_lock);
	return obj;
}

void *slub_try_alloc(struct engine *e, int node)
{
	unsigned int nr_nodes = slub_of(e)->nr_nodes;
	unsigned int first = engine_first_node(nr_nodes, node);
	void *obj = take_from_node(e, first);

	engine_count(e, ALLOC_SLOWPATH);
	for (unsigned int i = 1; !obj && i < nr_nodes; i++)
		obj = take_from_node(e, (first + i) % nr_nodes);
	return obj;
}

/* ---- free ---- */

/* The slab with one more free object. false: that is not for us to do. */
static bool plan_push(struct engine *e, const struct engine_node *node, struct page *slab,
		      void *obj, bool locked, const struct slub_state *old, struct slub_state *new)
{
	bool was_full = old->counters.inuse == old->counters.objects;

	*new = *old;
	if (!old->counters.inuse || obj == old->freelist) /* it is free already */
		return false;
	new->counters.inuse--;
	new->freelist = obj;
	if (!old->counters.frozen && (was_full || !new->counters.inuse) && !locked)
		return false;
	/* its pages would have to go */
	if (!old->counters.frozen && !new->counters.inuse &&
	    load_relaxed(&node->nr_partial) >= load_relaxed(&slub_of(e)->min_partial))
		return false;
	freeptr_set(slub_of(e), slab->layout, obj, old->freelist);
	return true;
}

static bool push_one(struct engine *e, struct engine_node *node, struct page *slab, void *obj,
		     bool locked)
{
	struct slub_state old;
	struct slub_state new;
	unsigned int i = 0;

	do {
		old = slub_read(slab);
		if (i++ == MAX_EXCHANGES || !plan_push(e, node, slab, obj, locked, &old, &new))
			return false;
	} while (!exchange(slab, &old, &new));
	if (old.counters.frozen || old.counters.inuse != old.counters.objects)
		return true;
	slub_node_remove_full_locked(slab);
	engine_node_add_partial_locked(node, slab, !slub_of(e)->pack);
	return true;
}

bool slub_try_free(struct engine *e, void *obj)
{
	struct page *slab = page_slab_of(obj);
	struct engine_node *node;
	bool locked;
	bool done;

	if (!slab || load_relaxed(&slab->engine) != e || !slub_starts_object(e, slab, obj) ||
	    load_relaxed(&e->verify_frees))
		return false;
	node = slub_node_of(e, slab);
	locked = lock_try(&node->list_lock);
	done = push_one(e, node, slab, obj, locked);
	if (locked)
		lock_release(&node->list_lock);
	return done;
}
