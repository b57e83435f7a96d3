/* SPDX-License-Identifier: MIT */
/*
 * page/pcp_runs.c - freed page runs that a CPU keeps for the next ones that are as long
 *
 * Data:       all_runs: an array of struct pcp_runs, by CPU number, in page/meta.h's memory; NULL
 *             until a page run is freed.
 * Invariants: see page/pcp_runs.h. The slots are ordered: the one that was freed first comes first.
 * Locks:      struct pcp_runs.lock (RANK_PCP). A thread locks those of the CPU that it runs on. If
 *             it is migrated before, it uses another CPU's, which costs speed and nothing else.
 *             What leaves is given to the zone when the lock is released.
 * Flow:       take: find_locked -> remove_locked, or the length is noted. put: what is too much is
 *             removed, the oldest first, append_locked, then give().
 */
#include "page/pcp_runs.h"

#include "base/assert.h"
#include "base/bits.h"
#include "os/cpu/cpu.h"
#include "os/time/clock.h"
#include "page/meta.h"
#include "page/pcp.h"
#include "page/zone.h"

#define ASKED_AGAIN 0x8000u /* in an entry of asked: more than once */

struct pcp_runs {
	struct lock lock;
	uint32_t nr;	   /* slots in use; this and the next are read without the lock */
	uint32_t nr_pages; /* in them */
	uint32_t puts;	   /* every 64th looks at the clock, see looks_at_clock() */
	uint32_t next;	   /* of asked: the oldest one */
	uint16_t asked[PCP_RUNS_LENGTHS]; /* read without the lock; 0: none */
	uint16_t pages[PCP_RUNS_SLOTS];
	uint32_t index[PCP_RUNS_SLOTS];
	uint32_t stamp[PCP_RUNS_SLOTS]; /* the zone's clock then; the first's is read without the lock */
} __attribute__((aligned(CACHE_LINE)));

/* What left the slots, for give(). */
struct leaving {
	struct page *page[PCP_RUNS_SLOTS];
	unsigned int nr;
};

static struct pcp_runs *all_runs;
static unsigned int nr_cpus; /* that it has; const once it is there */
static struct lock make_lock = LOCK_INIT(RANK_PCP);
static uint32_t aged[OS_MAX_NODES]; /* the clock when pcp_runs_age() last looked; atomic */

static cold void make_all(void)
{
	unsigned int nr = os_topology.nr_cpu_ids;
	struct pcp_runs *made;

	lock_acquire(&make_lock);
	made = all_runs ? NULL : meta_alloc(nr * sizeof(*made));
	if (made) {
		for (unsigned int cpu = 0; cpu < nr; cpu++)
			lock_init(&made[cpu].lock, RANK_PCP);
		nr_cpus = nr;
		store_release(&all_runs, made); /* pairs with runs_here() */
	}
	lock_release(&make_lock);
}

/* The running CPU's, and its node; NULL: there are none. */
static struct pcp_runs *runs_here(unsigned int *node)
{
	struct pcp_runs *all = load_acquire(&all_runs); /* pairs with make_all() */
	unsigned int cpu = os_current_cpu();

	*node = os_cpu_to_node(cpu);
	return all && cpu < nr_cpus ? &all[cpu] : NULL;
}

/* ---- slots; lock held ------------------------------------------------------------------------ */

static void count_locked(struct pcp_runs *p, int nr, long nr_pages)
{
	store_relaxed(&p->nr, p->nr + (uint32_t)nr);
	store_relaxed(&p->nr_pages, p->nr_pages + (uint32_t)nr_pages);
}

/* The newest one so long; p->nr: none. */
static unsigned int find_locked(const struct pcp_runs *p, unsigned long nr_pages)
{
	for (unsigned int i = p->nr; i-- > 0;)
		if (p->pages[i] == nr_pages)
			return i;
	return p->nr;
}

static struct page *remove_locked(struct pcp_runs *p, unsigned int at)
{
	struct page *page = page_at(p->index[at]);

	count_locked(p, -1, -(long)p->pages[at]);
	for (unsigned int i = at; i < p->nr; i++) {
		p->pages[i] = p->pages[i + 1];
		p->index[i] = p->index[i + 1];
		store_relaxed(&p->stamp[i], p->stamp[i + 1]);
	}
	store_relaxed(&page->type, PAGE_NONE);
	return page;
}

static void append_locked(struct pcp_runs *p, struct page *page, unsigned long nr_pages,
			  uint32_t clock)
{
	uint32_t index = (uint32_t)(page - page_map.pages);

	store_relaxed(&page->head, index);
	page->order = (uint8_t)fls(nr_pages - 1);
	page->nr_pages = (uint32_t)nr_pages;
	store_relaxed(&page->type, PAGE_KEPT);
	p->pages[p->nr] = (uint16_t)nr_pages;
	p->index[p->nr] = index;
	store_relaxed(&p->stamp[p->nr], clock);
	count_locked(p, 1, (long)nr_pages);
}

/* The oldest ones, until so many slots and pages are left at most. */
static void remove_oldest_locked(struct pcp_runs *p, unsigned long slots, unsigned long pages,
				 struct leaving *leaving)
{
	while (p->nr > slots || p->nr_pages > pages)
		leaving->page[leaving->nr++] = remove_locked(p, 0);
}

/* No lock held. */
static void give(const struct leaving *leaving)
{
	for (unsigned int i = 0; i < leaving->nr; i++) {
		struct page *page = leaving->page[i];

		run_count(page->nr_pages, -1);
		zone_give_run(page, page->nr_pages);
	}
}

/* ---- lengths --------------------------------------------------------------------------------- */

/* Without the lock it may miss what another thread notes just now. PCP_RUNS_LENGTHS: none. */
static unsigned int find_asked(const struct pcp_runs *p, unsigned long entry)
{
	unsigned int i = 0;

	while (i < PCP_RUNS_LENGTHS && load_relaxed(&p->asked[i]) != entry)
		i++;
	return i;
}

static bool was_asked_again(const struct pcp_runs *p, unsigned long nr_pages)
{
	return find_asked(p, nr_pages | ASKED_AGAIN) < PCP_RUNS_LENGTHS;
}

static void note_asked_locked(struct pcp_runs *p, unsigned long nr_pages)
{
	unsigned int at = find_asked(p, nr_pages);

	if (at < PCP_RUNS_LENGTHS) {
		store_relaxed(&p->asked[at], (uint16_t)(nr_pages | ASKED_AGAIN));
	} else if (!was_asked_again(p, nr_pages)) {
		store_relaxed(&p->asked[p->next], (uint16_t)nr_pages);
		p->next = (p->next + 1) % PCP_RUNS_LENGTHS;
	}
}

/* Pages that a CPU may keep, beside those that may stay in the zone. */
static unsigned long room(const struct buddy_zone *zone)
{
	unsigned long limit = load_relaxed(&zone_purge_limit);
	unsigned long part = load_relaxed(&zone->held) / PCP_RUNS_SHARE / nr_cpus;

	if (unlikely(limit != ZONE_LIMIT_AUTO))
		part = limit / PCP_RUNS_OF_LIMIT / nr_cpus;
	else
		part = MAX(part, PCP_RUNS_ROOM);
	return MIN(part, PCP_RUNS_SLOTS * PCP_RUNS_MOST);
}

/* ---- take and put ---------------------------------------------------------------------------- */

struct page *pcp_runs_take(unsigned long nr_pages)
{
	unsigned int node;
	struct pcp_runs *p = runs_here(&node);
	struct page *page = NULL;
	unsigned int at;

	if (nr_pages < PCP_RUNS_LEAST || nr_pages > PCP_RUNS_MOST || !p)
		return NULL;
	lock_acquire(&p->lock);
	at = find_locked(p, nr_pages);
	if (at < p->nr)
		page = remove_locked(p, at);
	else
		note_asked_locked(p, nr_pages);
	lock_release(&p->lock);
	if (page)
		zone_notify_run(page, nr_pages);
	return page;
}

static bool is_wanted(const struct pcp_runs *p, unsigned long nr_pages, unsigned long most)
{
	return nr_pages <= most && was_asked_again(p, nr_pages);
}

/* A unit of the zone's clock has passed since anybody looked. */
static noinline bool clock_is_behind(const struct buddy_zone *zone)
{
	return (uint32_t)(os_clock_ms() >> BUDDY_CLOCK_SHIFT) != load_relaxed(&zone->clock);
}

/*
 * Without locks, as an estimate: is this one of those that look at the clock? One of 64, and while
 * much is free each: a program that after a burst takes and gives back nothing else, now and then,
 * would come to no other look for minutes.
 */
static bool looks_at_clock(struct pcp_runs *p, unsigned int node)
{
	count_event(&p->puts);
	return load_relaxed(&p->puts) % CLOCK_EVERY == 0 ||
	       (unlikely(buddy_many_wait(node)) && clock_is_behind(&buddy_zones[node]));
}

bool pcp_runs_put(struct page *page, unsigned long nr_pages)
{
	unsigned int node;
	struct pcp_runs *p = runs_here(&node);
	struct leaving leaving = { .nr = 0 };
	const struct buddy_zone *zone = &buddy_zones[page->node];
	unsigned long most;

	if (nr_pages < PCP_RUNS_LEAST || nr_pages > PCP_RUNS_MOST)
		return false;
	if (unlikely(!p)) {
		make_all();
		return false;
	}
	if (page->node != node)
		return false;
	most = room(zone);
	if (!is_wanted(p, nr_pages, most))
		return false;
	zone_retire_run(page, nr_pages);
	if (unlikely(looks_at_clock(p, node))) /* before the clock is read below */
		buddy_rebalance();
	lock_acquire(&p->lock);
	remove_oldest_locked(p, PCP_RUNS_SLOTS - 1, most - nr_pages, &leaving);
	append_locked(p, page, nr_pages, load_relaxed(&zone->clock));
	lock_release(&p->lock);
	if (unlikely(leaving.nr))
		give(&leaving);
	return true;
}

/* ---- all CPUs -------------------------------------------------------------------------------- */

/* Signed: another CPU may have looked at the clock since. */
static bool is_old(const struct pcp_runs *p, uint32_t now, uint32_t delay)
{
	return load_relaxed(&p->nr) &&
	       (int32_t)(now - load_relaxed(&p->stamp[0])) >= (int32_t)delay;
}

static void drain(struct pcp_runs *p)
{
	struct leaving leaving = { .nr = 0 };

	lock_acquire(&p->lock);
	remove_oldest_locked(p, 0, 0, &leaving);
	lock_release(&p->lock);
	give(&leaving);
}

static void drain_old(struct pcp_runs *p, uint32_t now, uint32_t delay)
{
	struct leaving leaving = { .nr = 0 };

	lock_acquire(&p->lock);
	while (is_old(p, now, delay))
		leaving.page[leaving.nr++] = remove_locked(p, 0);
	lock_release(&p->lock);
	give(&leaving);
}

cold void pcp_runs_drain(void)
{
	struct pcp_runs *all = load_acquire(&all_runs); /* pairs with make_all() */

	for (unsigned int cpu = 0; all && cpu < nr_cpus; cpu++)
		if (load_relaxed(&all[cpu].nr))
			drain(&all[cpu]);
}

/*
 * Looks at most four times in the time after which page runs go, and once at each time: what is
 * given to the zone here may set off a purge, which comes here again.
 */
cold void pcp_runs_age(unsigned int node)
{
	struct pcp_runs *all = load_acquire(&all_runs); /* pairs with make_all() */
	uint32_t now = load_relaxed(&buddy_zones[node].clock);
	uint32_t delay = load_relaxed(&zone_purge_delay);
	uint32_t last = load_relaxed(&aged[node]);

	if (!all || now - last < MAX(delay / 4, 1u) || !cmpxchg(&aged[node], last, now))
		return;
	for (unsigned int cpu = 0; cpu < nr_cpus; cpu++)
		if (os_cpu_to_node(cpu) == node && is_old(&all[cpu], now, delay))
			drain_old(&all[cpu], now, delay);
}

struct pcp_runs_stats pcp_runs_stats(unsigned int node)
{
	const struct pcp_runs *all = load_acquire(&all_runs); /* pairs with make_all() */
	struct pcp_runs_stats stats = { 0 };

	for (unsigned int cpu = 0; all && cpu < nr_cpus; cpu++) {
		if (os_cpu_to_node(cpu) != node)
			continue;
		stats.count += load_relaxed(&all[cpu].nr);
		stats.pages += load_relaxed(&all[cpu].nr_pages);
	}
	return stats;
}

/* make_lock first: who holds it allocates metadata. */
void pcp_runs_each_lock(void (*act)(struct lock *l))
{
	act(&make_lock);
	for (unsigned int cpu = 0; all_runs && cpu < nr_cpus; cpu++)
		act(&all_runs[cpu].lock);
}

/* ---- check ----------------------------------------------------------------------------------- */

static void check_run(const struct page *page, unsigned long nr_pages)
{
	unsigned long index = (unsigned long)(page - page_map.pages);

	CHECK(page->type == PAGE_KEPT && page->head == index && page->nr_pages == nr_pages);
	CHECK(page->order == fls(nr_pages - 1));
	for (unsigned long i = 0; i < nr_pages; i++) {
		CHECK(i == 0 || page[i].type == PAGE_NONE);
		CHECK(page_map.class[index + i] == USLAB_ID_NONE && !page[i].classed);
	}
}

static void check_cpu(const struct pcp_runs *p, unsigned int node)
{
	unsigned long nr_pages = 0;

	CHECK(p->nr <= PCP_RUNS_SLOTS && p->next < PCP_RUNS_LENGTHS);
	for (unsigned int i = 0; i < p->nr; i++) {
		CHECK(p->pages[i] >= PCP_RUNS_LEAST && p->pages[i] <= PCP_RUNS_MOST);
		CHECK(page_at(p->index[i])->node == node);
		check_run(page_at(p->index[i]), p->pages[i]);
		nr_pages += p->pages[i];
	}
	CHECK(nr_pages == p->nr_pages);
}

void pcp_runs_check(void)
{
	for (unsigned int cpu = 0; all_runs && cpu < nr_cpus; cpu++) {
		lock_acquire(&all_runs[cpu].lock);
		check_cpu(&all_runs[cpu], os_cpu_to_node(cpu));
		lock_release(&all_runs[cpu].lock);
	}
}
