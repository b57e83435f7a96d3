/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/cpu.c - slabs that belong to a CPU: taken, refilled, given back (spec 4.8 - 4.12)
 *
 * Data:       frozen slabs. A CPU slab has its free list detached into the CPU's private one; a
 *             slab of a per-CPU partial list keeps its own.
 * Invariants: a frozen slab is on no node list; inuse + length(freelist) == objects always, so that
 *             detached objects count as in use.
 * Locks:      list_lock to take a slab from its node or to give it back; the owner's exclusion
 *             (front/cpuslab.c) for the rest. Pushes by free.c run at any time.
 * Flow:       called by front/cpuslab.c and front/cpuslab_local.c; calls slab.c, node.c, free.c.
 */
#include "engine/placement.h"
#include "engine/slub/slab.h"

struct acquire {
	struct engine *e;
	struct page *slab;     /* the CPU slab to be */
	void *freelist;	       /* its detached free list */
	struct page *partials; /* further slabs, frozen, linked by page.next */
	unsigned long pushed;
};

/* Freezes a slab of the partial list, with its free list detached or kept. false: a push met us. */
static bool freeze_locked(struct engine *e, struct engine_node *node, struct page *slab,
			  bool detach, void **freelist)
{
	struct slub_state old;
	struct slub_state new;

	slub_format_rest_locked(e, slab);
	old = slub_read(slab);
	new = old;
	new.counters.frozen = 1;
	if (detach) {
		new.freelist = NULL;
		new.counters.inuse = old.counters.objects;
		*freelist = old.freelist;
	}
	if (!slub_exchange(e, slab, &old, &new))
		return false;
	engine_node_remove_partial_locked(node, slab);
	return true;
}

static void push_partial(struct acquire *a, struct page *slab)
{
	slab->next = a->partials;
	slab->slabs = ++a->pushed;
	a->partials = slab;
	engine_count(a->e, CPU_PARTIAL_NODE);
}

/* get_partial_node of spec 4.9. true: a->slab is set. */
static bool acquire_from_node(struct engine_node *node, void *arg)
{
	struct acquire *a = arg;
	unsigned long spare = slub_of(a->e)->cpu_partial_slabs / 2;
	struct list_head *pos;
	struct list_head *tmp;

	if (!load_relaxed(&node->nr_partial)) /* a hint; see refill_from_node() */
		return false;
	lock_acquire(&node->list_lock);
	list_for_each_safe(pos, tmp, &node->partial) {
		struct page *slab = list_entry(pos, struct page, lru);

		if (!freeze_locked(a->e, node, slab, !a->slab, &a->freelist))
			break;
		if (!a->slab) {
			a->slab = slab;
			engine_count(a->e, ALLOC_FROM_PARTIAL);
			continue;
		}
		/* Counted before it is compared: one more slab even when cpu_partial is 0. */
		push_partial(a, slab);
		if (a->pushed > spare)
			break;
	}
	lock_release(&node->list_lock);
	return a->slab;
}

struct page *slub_cpu_get_partial(struct engine *e, int node, gfp_t gfp, void **freelist,
				  struct page **partials)
{
	struct acquire a = { .e = e };
	struct slub *s = slub_of(e);
	unsigned int first = placement_search(e, s->nr_nodes, node);

	/* else __GFP_THISNODE matters for new slabs only: a node given is never left here */
	if (placement_refuses(e, gfp, node)) {
		*freelist = NULL;
		*partials = NULL;
		return NULL;
	}
	if (!acquire_from_node(s->node[first], &a) && node < 0)
		slub_node_try_others(e, first, acquire_from_node, &a);
	*freelist = a.freelist;
	*partials = a.partials;
	return a.slab;
}

struct page *slub_cpu_new_slab(struct engine *e, gfp_t gfp, int node, void **freelist)
{
	struct page *slab = slub_new_slab(e, gfp, node, SLUB_LINKED);
	struct slab_counters counters;

	if (!slab) {
		slub_warn_oom(e, gfp, node);
		return NULL;
	}
	engine_count(e, ALLOC_SLAB);
	/* Nobody knows an object of it yet: plain stores will do. */
	*freelist = slab->freelist;
	slab->freelist = NULL;
	counters = slub_read(slab).counters;
	counters.inuse = counters.objects;
	counters.frozen = 1;
	slab->counters = engine_counters_word(counters);
	return slab;
}

void *slub_cpu_get_freelist(struct engine *e, struct page *slab)
{
	struct slub_state old;
	struct slub_state new;

	do {
		old = slub_read(slab);
		new.freelist = NULL;
		new.counters = old.counters;
		new.counters.inuse = old.counters.objects;
		new.counters.frozen = old.freelist != NULL;
	} while (!slub_exchange(e, slab, &old, &new));
	engine_count(e, old.freelist ? ALLOC_REFILL : DEACTIVATE_BYPASS);
	return old.freelist;
}

/*
 * Gives a slab to its node if `new` is still what becomes of it: unfrozen, on the partial list,
 * or, when it is empty and the node has enough, at the head of *discard. false: a push
 * intervened, nothing was done.
 */
static bool give_back(struct engine *e, struct page *slab, const struct slub_state *old,
		      const struct slub_state *new, enum engine_stat where, struct page **discard)
{
	struct engine_node *node = slub_node_of(e, slab);
	bool listed = new->counters.inuse < new->counters.objects;
	bool empty;

	lock_acquire(&node->list_lock);
	empty = !new->counters.inuse && node->nr_partial >= load_relaxed(&slub_of(e)->min_partial);
	if (!slub_exchange(e, slab, old, new)) {
		lock_release(&node->list_lock);
		return false;
	}
	if (empty)
		slub_unaccount(e, slab);
	else if (listed) /* full: on no list; debug caches, which link them, have no CPU slabs */
		engine_node_add_partial_locked(node, slab, where != DEACTIVATE_TO_HEAD);
	lock_release(&node->list_lock);

	engine_count(e, empty ? DEACTIVATE_EMPTY : listed ? where : DEACTIVATE_FULL);
	if (empty) {
		slab->next = *discard;
		*discard = slab;
	}
	return true;
}

void *slub_list_end(struct engine *e, struct page *slab, void *list, unsigned int *count)
{
	unsigned int most = slub_read(slab).counters.objects;
	void *obj = list;
	void *tail = NULL;

	for (*count = 0; obj; (*count)++) {
		if (unlikely(*count == most || !freeptr_is_inside(slab, obj))) {
			engine_mistake_now(e, page_address(slab), ENGINE_LIST_BROKEN);
			*count = 0;
			return NULL;
		}
		tail = obj;
		obj = freeptr_get(slub_of(e), slab->layout, obj);
	}
	return tail;
}

unsigned int slub_cpu_take(struct engine *e, struct page *slab, unsigned int nr, void **objs,
			   bool *empty)
{
	unsigned int n = 0;
	unsigned int cnt;
	void *list;
	void *tail;

	for (;;) {
		list = slub_cpu_get_freelist(e, slab);
		*empty = !list;
		if (*empty)
			return n;
		tail = slub_list_end(e, slab, list, &cnt);
		if (unlikely(!tail)) /* broken and reported: its objects count as in use */
			continue;
		for (; cnt && n < nr; cnt--) {
			objs[n++] = list;
			list = freeptr_get(slub_of(e), slab->layout, list);
		}
		if (cnt) {
			slub_free_chain(e, slab, list, tail, cnt, true);
			return n;
		}
	}
}

void slub_cpu_deactivate(struct engine *e, struct page *slab, void *freelist)
{
	enum engine_stat where = DEACTIVATE_TO_HEAD;
	struct page *discard = NULL;
	struct slub_state old;
	struct slub_state new;
	unsigned int count;
	void *tail = slub_list_end(e, slab, freelist, &count);

	slab->lru.next = NULL; /* of a per-CPU partial list; not on any list now */
	slab->lru.prev = NULL;
	if (slub_read(slab).freelist) {
		engine_count(e, DEACTIVATE_REMOTE_FREES);
		where = DEACTIVATE_TO_TAIL;
	}
	do {
		old = slub_read(slab);
		/* freed twice: so many are not in use any more */
		if (unlikely(tail && count > old.counters.inuse)) {
			engine_mistake_now(e, page_address(slab), ENGINE_LIST_BROKEN);
			count = 0;
			tail = NULL;
		}
		new = old;
		new.counters.inuse -= count;
		new.counters.frozen = 0;
		if (tail) {
			freeptr_set(slub_of(e), slab->layout, tail, old.freelist);
			new.freelist = freelist;
		}
	} while (!give_back(e, slab, &old, &new, where, &discard));
	slub_free_slabs(e, discard);
}

void slub_cpu_unfreeze_partials(struct engine *e, struct page *partials)
{
	struct page *discard = NULL;

	while (partials) {
		struct page *slab = partials;
		struct slub_state old;
		struct slub_state new;

		partials = slab->next;
		slab->lru.next = NULL;
		slab->lru.prev = NULL;
		do {
			old = slub_read(slab);
			new = old;
			new.counters.frozen = 0;
		} while (!give_back(e, slab, &old, &new, FREE_ADD_PARTIAL, &discard));
	}
	slub_free_slabs(e, discard); /* the last one first, as in the kernel (spec 0.3) */
}
