/* SPDX-License-Identifier: MIT */
/*
 * engine/slobseg/list.c - objects out of the pages of one size and back: the rules of spec 2.2
 *
 * Data:       struct slobseg; page.lru, freelist and counters of its pages.
 * Invariants: in one hold of the lock a page that fills leaves its list, one that was full comes
 *             back to the head, and one that empties leaves for good.
 * Locks:      slobseg.lock for a whole batch; dropped while a new page is made.
 * Flow:       called by slobseg.c, direct.c and pow2.c; calls page.c.
 *
 * The page at the head of a list is used until it is full, the object freed last is the first to be
 * taken again, and no empty page is kept. There is no second look at the list after the lock was
 * dropped for a new page: two CPUs that meet there both add one.
 */
#include "engine/placement.h"
#include "engine/slobseg/slobseg.h"
#include "os/cpu/cpu.h"

/* Returns false. */
static cold bool say_locked(struct engine *e, struct slobseg *s, void *obj,
			    enum engine_mistake what)
{
	engine_mistake(e, obj, what);
	s->said = true;
	return false;
}

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

static void add_page_locked(struct slobseg *s, struct page *page)
{
	store_relaxed(&s->count->pages, s->count->pages + 1);
	store_relaxed(&page->counters, s->empty);
	link_page_locked(s, page);
}

/* A new page, on its list. NULL: out of memory. Drops the lock meanwhile. */
static struct page *new_page_locked(struct slobseg *s, const struct os_place *place)
{
	struct page *page;

	engine_unlock(&s->lock, &s->said);
	page = slobseg_page_new(s, place);
	lock_acquire(&s->lock);
	if (likely(page))
		add_page_locked(s, page);
	return page;
}

/*
 * A page with free objects, on its list, when that of the home node is empty: a new one of the
 * place's first node; or, when that has no memory, what its other nodes have on their lists; or a
 * new one of theirs. NULL: out of memory. Drops the lock meanwhile.
 */
static noinline struct page *more_locked(struct slobseg *s, gfp_t gfp, int node)
{
	const struct os_place place = placement_next(slobseg_engine(s), gfp, node);
	const struct os_place first = placement_first(&place);
	bool others = !(gfp & __GFP_THISNODE) && os_topology.nr_nodes > 1;
	struct page *page = new_page_locked(s, &first);

	if (likely(page))
		return page;
	/* freed meanwhile */
	page = first.nodes ? first_page(s, place.first) : NULL;
	for (unsigned int i = 0; !page && others && i < os_topology.nr_nodes; i++)
		if (place.nodes >> i & 1)
			page = first_page(s, i);
	return page || !others ? page : new_page_locked(s, &place);
}

/*
 * What the page's list says of its free objects cannot be. They count as in use from now on, by
 * nobody, and what comes back to the page later is not used again.
 */
static cold void isolate_locked(struct slobseg *s, struct page *page)
{
	unsigned int lost = 0;

	say_locked(slobseg_owner(s), s, page_address(page), ENGINE_LIST_BROKEN);
	while (lost < s->layout.objects && page->counters != slobseg_used(s, lost))
		lost++;
	unlink_page_locked(s, page);
	store_relaxed(&page->freelist, NULL);
	store_relaxed(&page->counters,
		      s->full | SLOBSEG_OFF | SLOBSEG_LEFT_ONE * (s->layout.objects - lost));
	store_relaxed(&s->count->objects, s->count->objects + lost);
	store_relaxed(&s->count->bytes, s->count->bytes + (size_t)lost * s->layout.stride);
	s->isolated++;
}

/*
 * Takes objects of a page of the list until it is full or `want` are there. Returns how many; 0:
 * its list, which the program may have overwritten, led elsewhere, or ended too early or too late.
 */
static inline unsigned int pop_sound_locked(struct slobseg *s, struct page *page, void **objs,
					    unsigned int want)
{
	uint64_t first = (uint64_t)page_address(page);
	uint64_t counters = page->counters;
	void *obj = page->freelist;
	unsigned int n = 0;

	do {
		void *next;

		if (unlikely(!slobseg_starts(s, (uint64_t)obj - first)))
			return 0;
		next = *slobseg_link(s, obj);
		if (unlikely(next == obj))
			return 0;
		objs[n++] = obj;
		obj = next;
		counters += s->one;
	} while (n < want && counters != s->full);
	if (unlikely(!obj != (counters == s->full)))
		return 0;
	store_relaxed(&page->freelist, obj);
	store_relaxed(&page->counters, counters);
	if (unlikely(counters == s->full))
		unlink_page_locked(s, page);
	return n;
}

/* The same, and isolates that page. */
static inline unsigned int pop_locked(struct slobseg *s, struct page *page, void **objs,
				      unsigned int want)
{
	unsigned int n = pop_sound_locked(s, page, objs, want);

	if (unlikely(!n))
		isolate_locked(s, page);
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
	unsigned int home = placement_search(slobseg_engine(s), os_topology.nr_nodes, node);
	unsigned int got = 0;

	if (placement_refuses(slobseg_engine(s), gfp, node))
		return 0;
	lock_acquire(&s->lock);
	do {
		struct page *page = first_page(s, home);

		if (unlikely(!page)) {
			const struct os_policy *policy = placement_policy(slobseg_engine(s));

			page = more_locked(s, gfp, node);
			if (!page && placement_changed(slobseg_engine(s), policy))
				continue;
			if (!page)
				break;
		}
		got += pop_locked(s, page, objs + got, want - got);
	} while (got < want);
	count_locked(s, got, users);
	engine_unlock(&s->lock, &s->said);
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
	store_relaxed(&page->counters, s->empty | SLOBSEG_OFF);
	page->next = *empties;
	*empties = page;
}

/*
 * Nothing is put into that page: it is isolated, and the object is the program's no
 * more; or it is free already.
 */
static cold bool put_off_locked(struct engine *e, struct slobseg *s, struct page *page, void *obj)
{
	if (!(page->counters & SLOBSEG_LEFT_MASK))
		return say_locked(e, s, obj, ENGINE_FREE_AGAIN);
	/* it stays in use, by nobody */
	store_relaxed(&page->counters, page->counters - SLOBSEG_LEFT_ONE);
	store_relaxed(&s->count->objects, s->count->objects + 1);
	store_relaxed(&s->count->bytes, s->count->bytes + s->layout.stride);
	return true;
}

/* Is it an object of these pages? */
static inline bool is_ours(const struct slobseg *s, const void *obj)
{
	const struct page *page = page_at(page_index(obj));

	return page_in_arena(obj) && page->type == s->type && page->layout == &s->layout &&
	       slobseg_starts(s, (uintptr_t)obj % PAGE_SIZE);
}

static inline void put_in_front_locked(struct slobseg *s, struct page *page, void *obj)
{
	*slobseg_link(s, obj) = page->freelist;
	store_relaxed(&page->freelist, obj);
	store_relaxed(&page->counters, page->counters - s->one);
}

/*
 * Puts an object in front of its page's free list. What lies in no page of ours, starts no object,
 * was freed just before, or lay in a page that is gone is reported: false. verify: so is what was
 * freed at any time.
 */
static inline bool push_locked(struct engine *e, struct slobseg *s, void *obj, bool verify,
			       struct page **empties)
{
	struct page *page;
	uint64_t old;
	void *next;

	if (unlikely(!is_ours(s, obj)))
		return say_locked(e, s, obj, slobseg_what(s, obj));
	page = page_at(page_index(obj));
	old = page->counters;
	next = page->freelist;
	if (unlikely(old & SLOBSEG_OFF))
		return put_off_locked(e, s, page, obj);
	if (unlikely(obj == next || (verify && slobseg_is_listed(s, page, obj))))
		return say_locked(e, s, obj, ENGINE_FREE_AGAIN);
	put_in_front_locked(s, page, obj);
	if (unlikely(old == s->full || old - s->one == s->empty))
		page_changed_locked(s, page, old == s->full, empties);
	return true;
}

void slobseg_put(struct engine *e, struct slobseg *s, void **objs, unsigned int n,
		 unsigned long *users)
{
	bool verify = load_relaxed(&e->verify_frees);
	struct page *empties = NULL;
	unsigned long taken = 0;
	unsigned int i;

	lock_acquire(&s->lock);
	for (i = 0; i < n; i++)
		taken += push_locked(e, s, objs[i], verify, &empties);
	count_locked(s, -taken, users);
	engine_unlock(&s->lock, &s->said);
	if (unlikely(empties))
		slobseg_pages_free(s, empties);
}

/* ---- without waiting ---- */

/* Of the node's pages, or of a new one. NULL: that page's list leads elsewhere, as well. */
static void *try_node(struct slobseg *s, unsigned int node, unsigned long *users)
{
	struct page *page;
	void *obj = NULL;

	if (!lock_try(&s->lock))
		return NULL;
	page = first_page(s, node);
	if (!page) {
		page = slobseg_page_try_new(s, node);
		if (page)
			add_page_locked(s, page);
	}
	if (page)
		count_locked(s, pop_sound_locked(s, page, &obj, 1), users);
	lock_release(&s->lock);
	return obj;
}

void *slobseg_try_take(struct slobseg *s, int node, unsigned long *users)
{
	unsigned int home = slobseg_node_slow(node);
	void *obj = try_node(s, home, users);

	for (unsigned int i = 1; !obj && i < os_topology.nr_nodes; i++)
		obj = try_node(s, (home + i) % os_topology.nr_nodes, users);
	return obj;
}

/* May it be put in front of its page's list, and does the page stay? */
static bool may_put_locked(const struct slobseg *s, const struct page *page, const void *obj)
{
	return !(page->counters & SLOBSEG_OFF) && obj != page->freelist &&
	       page->counters - s->one != s->empty;
}

bool slobseg_try_put(struct slobseg *s, void *obj, unsigned long *users)
{
	struct page *page;
	bool done = false;

	if (!page_in_arena(obj) || !lock_try(&s->lock))
		return false;
	page = page_at(page_index(obj));
	if (is_ours(s, obj) && may_put_locked(s, page, obj)) {
		if (page->counters == s->full)
			link_page_locked(s, page);
		put_in_front_locked(s, page, obj);
		count_locked(s, -1ul, users);
		done = true;
	}
	lock_release(&s->lock);
	return done;
}

void slobseg_verify(struct slobseg *s)
{
	unsigned int node;

	lock_acquire(&s->lock);
	for (node = 0; node < s->nr_nodes; node++) {
		struct list_head *next;

		for (struct list_head *pos = s->first[node]; pos; pos = next) {
			struct page *page = list_entry(pos, struct page, lru);

			next = pos->next;
			if (!slobseg_list_is_whole(s, page))
				isolate_locked(s, page);
		}
	}
	engine_unlock(&s->lock, &s->said);
}
