/* SPDX-License-Identifier: MIT */
/*
 * page/pcp.c - per-CPU lists of free pages in front of the zones
 *
 * Data:       lists_of[node]: an array of struct pcp, by CPU number, in
 *             page/meta.h's memory; NULL: none.
 * Invariants: see page/pcp.h. The arrays made by pcp_init() are never freed.
 * Locks:      struct pcp.lock (RANK_PCP), in it zone.lock (RANK_PAGE). A thread locks the lists of
 *             the CPU that it runs on. If it is migrated before, it uses another CPU's, which costs
 *             speed and nothing else. No purge under it: a purge that is due waits for its release.
 * Flow:       alloc: take -> refill_locked -> zone_take_batch(). free: put_locked, then
 *             give_locked() when there are too many -> zone_give_batch().
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/cpu/cpu.h"
#include "os/rcu/rcu.h"
#include "page/meta.h"
#include "page/pcp.h"
#include "page/zone.h"

#define NR_LISTS (2 * (PCP_MAX_ORDER + 1))

struct pcp {
	struct lock lock;
	unsigned long nr_pages; /* on all lists; written under the lock, read without it */
	unsigned long nr_dirty; /* likewise */
	unsigned long nr_alloc; /* likewise: blocks handed out since start */
	unsigned long nr_taken; /* likewise: blocks taken from the zone since start */
	struct list_head lists[NR_LISTS]; /* struct page.lru, by kind within order */
} __attribute__((aligned(CACHE_LINE)));

static struct pcp *lists_of[OS_MAX_NODES];
static unsigned int nr_cpus; /* that each of them has; const once one is there */

static unsigned int list_index(unsigned int order, enum pcp_kind kind)
{
	return 2 * order + (kind == PCP_RECLAIMABLE);
}

static struct pcp *make_lists(void)
{
	struct pcp *lists = meta_alloc(nr_cpus * sizeof(*lists));

	for (unsigned int cpu = 0; lists && cpu < nr_cpus; cpu++) {
		lock_init(&lists[cpu].lock, RANK_PCP);
		for (unsigned int i = 0; i < NR_LISTS; i++)
			list_init(&lists[cpu].lists[i]);
	}
	return lists;
}

bool pcp_init(void)
{
	nr_cpus = nr_cpus ? nr_cpus : os_topology.nr_cpu_ids;
	for (unsigned int node = 0; node < buddy_nr_nodes; node++) {
		struct pcp *lists = lists_of[node] ? lists_of[node] : make_lists();

		if (!lists)
			return false;
		store_release(&lists_of[node], lists); /* pairs with lists_here() */
	}
	return true;
}

/* The running CPU's lists of a node, or NULL. */
static struct pcp *lists_here(unsigned int node)
{
	struct pcp *lists = load_acquire(&lists_of[node]); /* pairs with pcp_init() */
	unsigned int cpu = os_current_cpu();

	return lists && cpu < nr_cpus ? &lists[cpu] : NULL;
}

/* ---- blocks on and off a list; lock held ----------------------------------------------------- */

static void count_locked(struct pcp *p, long nr_pages, long nr_dirty)
{
	store_relaxed(&p->nr_pages, p->nr_pages + (unsigned long)nr_pages);
	store_relaxed(&p->nr_dirty, p->nr_dirty + (unsigned long)nr_dirty);
}

/* The block's order and nr_pages (those that are dirty) are set. */
static void mark_locked(struct pcp *p, struct page *page)
{
	store_relaxed(&page->head, (uint32_t)(page - page_map.pages));
	store_relaxed(&page->type, PAGE_LISTED);
	count_locked(p, 1l << page->order, page->nr_pages);
}

static void remove_locked(struct pcp *p, struct page *page)
{
	list_del(&page->lru);
	store_relaxed(&page->type, PAGE_NONE);
	count_locked(p, -(1l << page->order), -(long)page->nr_pages);
}

/* A batch from the zone, to the tail of a list that is empty. Returns whether a purge is due. */
static bool refill_locked(struct pcp *p, struct list_head *list, unsigned int node,
			  unsigned int order)
{
	bool purge = zone_take_batch(node, order, MAX(PCP_BATCH >> order, 2), list);
	struct list_head *pos;

	list_for_each(pos, list) {
		mark_locked(p, list_entry(pos, struct page, lru));
		store_relaxed(&p->nr_taken, p->nr_taken + 1);
	}
	return purge;
}

/*
 * Gives nr_pages back to the zone, or a few more, each list's oldest blocks first, beginning with
 * that list. Returns whether a purge is due.
 */
static bool give_locked(struct pcp *p, unsigned int node, unsigned int list, unsigned long nr_pages)
{
	unsigned long left = p->nr_pages - MIN(nr_pages, p->nr_pages);
	struct list_head batch;

	list_init(&batch);
	for (; p->nr_pages > left; list = (list + 1) % NR_LISTS) {
		while (p->nr_pages > left && !list_empty(&p->lists[list])) {
			struct page *page = list_last(&p->lists[list], struct page, lru);

			remove_locked(p, page);
			list_add_tail(&page->lru, &batch);
		}
	}
	return zone_give_batch(node, &batch);
}

/* ---- alloc and free -------------------------------------------------------------------------- */

struct page *pcp_alloc(int node, unsigned int order, enum pcp_kind kind, bool thisnode)
{
	unsigned int home = node < 0 ? os_current_node() : (unsigned int)node;
	struct page *page = NULL;
	struct list_head *list;
	bool purge = false;
	struct pcp *p;

	if (kind == PCP_NONE || order > PCP_MAX_ORDER || home >= buddy_nr_nodes ||
	    !(p = lists_here(home)))
		return buddy_alloc(node, order, thisnode, NULL);
	list = &p->lists[list_index(order, kind)];
	lock_acquire(&p->lock);
	if (list_empty(list))
		purge = refill_locked(p, list, home, order);
	if (!list_empty(list)) {
		page = list_first(list, struct page, lru);
		remove_locked(p, page);
		store_relaxed(&p->nr_alloc, p->nr_alloc + 1);
	}
	lock_release(&p->lock);
	if (unlikely(purge))
		zone_purge_slow(&buddy_zones[home]);
	if (unlikely(!page)) /* other nodes, and other CPUs' lists */
		return buddy_alloc((int)home, order, thisnode, NULL);
	zone_notify_alloc(page, order);
	return page;
}

void pcp_free(struct page *page, unsigned int order, enum pcp_kind kind)
{
	unsigned int node = page->node;
	bool purge = false;
	unsigned int list;
	struct pcp *p;

	if (kind == PCP_NONE || order > PCP_MAX_ORDER || !(p = lists_here(node))) {
		buddy_free(page, order, true);
		return;
	}
	ASSERT(!page_is_free(page));
	zone_retire(page, 1ul << order);
	list = list_index(order, kind);
	lock_acquire(&p->lock);
	page->order = (uint8_t)order;
	page->nr_pages = 1u << order;
	mark_locked(p, page);
	list_add(&page->lru, &p->lists[list]);
	if (unlikely(p->nr_pages >= PCP_HIGH))
		purge = give_locked(p, node, list, PCP_BATCH);
	lock_release(&p->lock);
	if (unlikely(purge))
		zone_purge_slow(&buddy_zones[node]);
}

static void release(struct os_rcu_item *first)
{
	while (first) {
		struct page *page = container_of(first, struct page, waits);

		first = first->next;
		pcp_free(page, page->order, (enum pcp_kind)page->counters);
	}
}

void pcp_free_later(struct page *page, unsigned int order, enum pcp_kind kind)
{
	page_forget_block(page, 1ul << order);
	page->order = (uint8_t)order;
	page->counters = kind;
	os_rcu_defer(OS_RCU_PAGES, &page->waits, release);
}

/* ---- all lists ------------------------------------------------------------------------------- */

static void drain_node(unsigned int node)
{
	bool purge = false;

	for (unsigned int cpu = 0; cpu < nr_cpus; cpu++) {
		struct pcp *p = &lists_of[node][cpu];

		if (!load_relaxed(&p->nr_pages)) /* what comes a moment later has come too late */
			continue;
		lock_acquire(&p->lock);
		purge |= give_locked(p, node, 0, p->nr_pages);
		lock_release(&p->lock);
	}
	if (purge)
		zone_purge_slow(&buddy_zones[node]);
}

cold void pcp_drain(void)
{
	for (unsigned int node = 0; node < buddy_nr_nodes; node++)
		if (load_acquire(&lists_of[node])) /* pairs with pcp_init() */
			drain_node(node);
}

struct pcp_stats pcp_stats(unsigned int node)
{
	const struct pcp *lists = load_acquire(&lists_of[node]); /* pairs with pcp_init() */
	struct pcp_stats stats = { 0 };

	for (unsigned int cpu = 0; lists && cpu < nr_cpus; cpu++) {
		stats.nr_pages += load_relaxed(&lists[cpu].nr_pages);
		stats.nr_dirty += load_relaxed(&lists[cpu].nr_dirty);
		stats.nr_alloc += load_relaxed(&lists[cpu].nr_alloc);
		stats.nr_taken += load_relaxed(&lists[cpu].nr_taken);
	}
	return stats;
}

void pcp_each_lock(void (*act)(struct lock *l))
{
	for (unsigned int node = 0; node < buddy_nr_nodes; node++)
		for (unsigned int cpu = 0; lists_of[node] && cpu < nr_cpus; cpu++)
			act(&lists_of[node][cpu].lock);
}

/* ---- check ----------------------------------------------------------------------------------- */

static void check_block(const struct page *page, unsigned int node, unsigned int order)
{
	unsigned long index = (unsigned long)(page - page_map.pages);

	CHECK(page->type == PAGE_LISTED && page->order == order && page->node == node);
	CHECK(page->head == index && index % (1ul << order) == 0);
	CHECK(page->nr_pages <= 1u << order);
	for (unsigned long i = 0; i < 1ul << order; i++) {
		CHECK(i == 0 || page[i].type == PAGE_NONE);
		CHECK(page_map.class[index + i] == USLAB_ID_NONE && !page[i].classed);
	}
}

static void check_cpu(struct pcp *p, unsigned int node)
{
	unsigned long nr_pages = 0;
	unsigned long nr_dirty = 0;
	struct list_head *pos;

	for (unsigned int i = 0; i < NR_LISTS; i++) {
		list_for_each(pos, &p->lists[i]) {
			const struct page *page = list_entry(pos, struct page, lru);

			CHECK(pos->next->prev == pos && pos->prev->next == pos);
			check_block(page, node, i / 2);
			nr_pages += 1ul << page->order;
			nr_dirty += page->nr_pages;
		}
	}
	CHECK(nr_pages == p->nr_pages && nr_dirty == p->nr_dirty);
	CHECK(nr_pages <
	      PCP_HIGH + NR_LISTS * PCP_BATCH); /* an empty list takes a batch at any time */
}

void pcp_check(void)
{
	for (unsigned int node = 0; node < buddy_nr_nodes; node++) {
		for (unsigned int cpu = 0; lists_of[node] && cpu < nr_cpus; cpu++) {
			struct pcp *p = &lists_of[node][cpu];

			lock_acquire(&p->lock);
			check_cpu(p, node);
			lock_release(&p->lock);
		}
	}
}
