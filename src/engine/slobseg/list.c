/* SPDX-License-Identifier: MIT */
/*
 * engine/slobseg/list.c - objects out of the pages of one size and back: the rules of spec 2.2
 *
 * Data:       struct slobseg; page.lru, freelist and counters of its pages.
 * Invariants: in one hold of the lock a page that fills leaves its list, one that was full comes
 *             back to the head, and one that empties leaves for good.
 * Locks:      slobseg.lock for a whole batch; dropped while a new page is made.
 * Flow:       called by slobseg.c and pow2.c; calls page.c.
 *
 * The page at the head of a list is used until it is full, the object freed last is the first to be
 * taken again, and no empty page is kept. There is no second look at the list after the lock was
 * dropped for a new page: two CPUs that meet there both add one.
 */
#include "engine/slobseg/slobseg.h"
#include "os/cpu.h"

static struct page *first_page(const struct slobseg *s, unsigned int node)
{
	struct list_head *first = s->first[node];

	return first ? list_entry(first, struct page, lru) : NULL;
}

static void link_page_locked(struct slobseg *s, struct page *page)
{
	struct list_head **first = &s->first[page->node];

	page->lru.next = *first;
	page->lru.prev = NULL;
	if (*first)
		(*first)->prev = &page->lru;
	*first = &page->lru;
	s->nr_partial++;
}

static void unlink_page_locked(struct slobseg *s, struct page *page)
{
	struct list_head *next = page->lru.next;
	struct list_head *prev = page->lru.prev;

	if (prev)
		prev->next = next;
	else
		s->first[page->node] = next;
	if (next)
		next->prev = prev;
	page->lru.next = NULL;
	page->lru.prev = NULL;
	s->nr_partial--;
}

unsigned int slobseg_node_slow(int node)
{
	if (node >= 0 && (unsigned int)node < os_topology.nr_nodes)
		return (unsigned int)node;
	return os_current_node();
}

static inline unsigned int start_node(int node)
{
	return likely(os_topology.nr_nodes <= 1) ? 0 : slobseg_node_slow(node);
}

/* A new page, on its list. NULL: out of memory. Drops the lock meanwhile. */
static struct page *new_page_locked(struct slobseg *s, unsigned int node, bool thisnode)
{
	struct page *page;

	lock_release(&s->lock);
	page = slobseg_page_new(s, node, thisnode);
	lock_acquire(&s->lock);
	if (likely(page)) {
		store_relaxed(&s->count->pages, s->count->pages + 1);
		link_page_locked(s, page);
	}
	return page;
}

/*
 * A page with free objects, on its list, when that of `node` is empty: a new one of the node; or, when
 * it has no memory, what other nodes have on their lists; or a new one of theirs. NULL: out of
 * memory. Drops the lock meanwhile.
 */
static noinline struct page *more_locked(struct slobseg *s, unsigned int node, bool thisnode)
{
	bool others = !thisnode && os_topology.nr_nodes > 1;
	struct page *page = new_page_locked(s, node, true);

	if (likely(page))
		return page;
	page = first_page(s, node); /* freed meanwhile */
	for (unsigned int i = 0; !page && others && i < os_topology.nr_nodes; i++)
		page = first_page(s, i);
	return page || !others ? page : new_page_locked(s, node, false);
}

/* Takes objects of a page of the list until it is full or `want` are there. Returns how many. */
static inline unsigned int pop_locked(struct slobseg *s, struct page *page, void **objs,
				      unsigned int want)
{
	uint64_t counters = page->counters;
	void *obj = page->freelist;
	unsigned int n = 0;

	do {
		objs[n++] = obj;
		obj = *slobseg_link(s, obj);
		counters += s->one;
	} while (n < want && counters != s->full);
	store_relaxed(&page->freelist, obj);
	store_relaxed(&page->counters, counters);
	if (unlikely(counters == s->full))
		unlink_page_locked(s, page);
	return n;
}

static inline void count_locked(struct slobseg *s, unsigned long n, unsigned long *users)
{
	struct engine_heap_counters *count = s->count;

	/* stores that tools may see at any time */
	store_relaxed(&count->objects, count->objects + n);
	store_relaxed(&count->bytes, count->bytes + n * s->layout.stride);
	store_relaxed(users, *users + n);
}

unsigned int slobseg_take(struct slobseg *s, void **objs, unsigned int want, gfp_t gfp, int node,
			  unsigned long *users)
{
	unsigned int home = start_node(node);
	unsigned int got = 0;

	lock_acquire(&s->lock);
	do {
		struct page *page = first_page(s, home);

		if (unlikely(!page)) {
			page = more_locked(s, home, gfp & __GFP_THISNODE);
			if (!page)
				break;
		}
		got += pop_locked(s, page, objs + got, want - got);
	} while (got < want);
	count_locked(s, got, users);
	lock_release(&s->lock);
	return got;
}

/* The page was full, or is empty now, or (a page of one object) both. Empty ones join *empties. */
static noinline void page_changed_locked(struct slobseg *s, struct page *page, bool was_full,
					 struct page **empties)
{
	if (page->counters != s->empty) {
		link_page_locked(s, page);
		return;
	}
	if (!was_full)
		unlink_page_locked(s, page);
	store_relaxed(&s->count->pages, s->count->pages - 1);
	page->next = *empties;
	*empties = page;
}

/*
 * Puts an object in front of its page's free list. What was freed just before, or lay in a page that
 * is gone, is a double free; to see that costs two comparisons.
 */
static inline void push_locked(struct slobseg *s, void *obj, struct page **empties)
{
	struct page *page = page_at(page_index(obj));
	uint64_t old = page->counters;
	void *next = page->freelist;

	if (unlikely(obj == next || page->type != s->type))
		slobseg_die_double_free(s, obj);
	*slobseg_link(s, obj) = next;
	store_relaxed(&page->freelist, obj);
	store_relaxed(&page->counters, old - s->one);
	if (unlikely(old == s->full || old - s->one == s->empty))
		page_changed_locked(s, page, old == s->full, empties);
}

void slobseg_put(struct slobseg *s, void **objs, unsigned int n, unsigned long *users)
{
	struct page *empties = NULL;
	unsigned int i;

	lock_acquire(&s->lock);
	for (i = 0; i < n; i++)
		push_locked(s, objs[i], &empties);
	count_locked(s, -(unsigned long)n, users);
	lock_release(&s->lock);
	if (unlikely(empties))
		slobseg_pages_free(empties);
}
