/* SPDX-License-Identifier: MIT */
/*
 * page/pcp_runs.c - freed page runs that a CPU keeps for the next ones that are as long
 *
 * Data:       all_runs: an array of struct pcp_runs, by CPU number, in page/meta.h's memory; NULL
 *             until a page run is freed.
 * Invariants: see page/pcp_runs.h. A slot's word is 0, or names the page run that is in the slot.
 * Locks:      none for slots. Who changes a word owns what it named before: by cmpxchg, which takes
 *             a page run out or puts one into an empty slot, or by xchg, which does one or both. So
 *             it does not matter who it is: a thread of that CPU, one that was migrated since it
 *             asked for its number, a handler, a drain. A word that is the same again names a page
 *             run that is in the slot again, so ABA is no harm. Whoever takes one out sees what was
 *             stored before it was put in (acquire, release). All else in struct pcp_runs are
 *             hints. What leaves slots is given to the zone after that.
 * Flow:       take: the slots from the newest one on are looked through. put: what is too much
 *             leaves, the oldest first, then the next empty slot is filled, or the oldest one.
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
	uint64_t slot[PCP_RUNS_SLOTS]; /* the next empty one is filled, and around; atomic */
	/* hints, changed by load and store: */
	uint32_t newest;		  /* the slot that was filled last, or the one before it */
	uint32_t kept;			  /* pages in the slots; counted anew now and then */
	uint32_t room;			  /* pages that may be kept without a look at the zone */
	uint32_t puts;			  /* every 64th looks at the clock, see looks_at_clock() */
	uint32_t next;			  /* of asked: the oldest one */
	uint16_t asked[PCP_RUNS_LENGTHS]; /* 0: none */
} __attribute__((aligned(CACHE_LINE)));

/* What left the slots of a CPU, for give_to_zone(). */
struct leaving {
	uint64_t word[PCP_RUNS_SLOTS];
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

/* ---- the word of a slot: the index of the first page, pages - 1, the zone's clock then ------- */

#define SLOT_PAGES_SHIFT 32
#define SLOT_STAMP_SHIFT 40
#define SLOT_STAMP_BITS 24 /* of units of 16 ms: three days, then the clock begins anew */
#define SLOT_AGES (1u << SLOT_STAMP_BITS)
#define SLOT_AHEAD 4096u /* another CPU may have looked at the clock since: so many units at most */

BUILD_ASSERT(PCP_RUNS_LEAST > 1); /* no such word is 0 */
BUILD_ASSERT(PCP_RUNS_MOST <= 1u << (SLOT_STAMP_SHIFT - SLOT_PAGES_SHIFT));

static inline uint64_t slot_of(const struct page *page, unsigned long nr_pages, uint32_t clock)
{
	return (uint64_t)clock << SLOT_STAMP_SHIFT | (nr_pages - 1) << SLOT_PAGES_SHIFT |
	       (uint32_t)(page - page_map.pages);
}

static inline struct page *slot_page(uint64_t word)
{
	return page_at((uint32_t)word);
}

static inline unsigned long slot_pages(uint64_t word)
{
	return word ? (uint8_t)(word >> SLOT_PAGES_SHIFT) + 1ul : 0;
}

/* Units since it came; 0 if its stamp is ahead of now. */
static uint32_t slot_age(uint64_t word, uint32_t now)
{
	uint32_t age = (now - (uint32_t)(word >> SLOT_STAMP_SHIFT)) % SLOT_AGES;

	return age < SLOT_AGES - SLOT_AHEAD ? age : 0;
}

/* A delay of more than three days is one of three days. */
static bool slot_is_old(uint64_t word, uint32_t now, uint32_t delay)
{
	return word && slot_age(word, now) >= MIN(delay, SLOT_AGES - SLOT_AHEAD - 1);
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* The i-th slot behind one, and around. */
static inline unsigned int slot_behind(unsigned int at, unsigned int i)
{
	return (at + i) % PCP_RUNS_SLOTS;
}

static noinline void give_to_zone(const struct leaving *leaving)
{
	for (unsigned int i = 0; i < leaving->nr; i++) {
		struct page *page = slot_page(leaving->word[i]);
		unsigned long nr_pages = slot_pages(leaving->word[i]);

		store_relaxed(&page->type, PAGE_NONE);
		run_count(nr_pages, -1);
		zone_give_run(page, nr_pages);
	}
}

/* word: what a slot named, 0: nothing. It is the caller's from now on. */
static void leave(struct leaving *leaving, uint64_t word)
{
	if (word)
		leaving->word[leaving->nr++] = word;
}

/*
 * The slot with the oldest page run, by its stamp; of those that came in one unit of the clock the
 * first behind the newest slot, which is the oldest where none was taken from the middle. If all
 * are empty, any.
 */
static unsigned int find_oldest(const struct pcp_runs *p, uint32_t now)
{
	const unsigned int newest = load_relaxed(&p->newest);
	unsigned int oldest = slot_behind(newest, 1);
	uint32_t age = 0; /* + 1; 0: of none */

	for (unsigned int i = 1; i <= PCP_RUNS_SLOTS; i++) {
		unsigned int at = slot_behind(newest, i);
		uint64_t word = load_relaxed(&p->slot[at]);

		if (word && slot_age(word, now) + 1 > age) {
			age = slot_age(word, now) + 1;
			oldest = at;
		}
	}
	return oldest;
}

/* The oldest ones go, until so many pages are left at most. Others may fill slots meanwhile. */
static void remove_oldest(struct pcp_runs *p, uint32_t now, unsigned long pages)
{
	struct leaving leaving = { .nr = 0 };
	unsigned long kept = 0;

	for (unsigned int i = 0; i < PCP_RUNS_SLOTS; i++)
		kept += slot_pages(load_relaxed(&p->slot[i]));
	for (unsigned int i = 0; i < PCP_RUNS_SLOTS && kept > pages; i++) {
		uint64_t word = xchg(&p->slot[find_oldest(p, now)], 0ul);

		kept -= MIN(slot_pages(word), kept);
		leave(&leaving, word);
	}
	store_relaxed(&p->kept, (uint32_t)kept);
	give_to_zone(&leaving);
}

/* In exchange for the oldest page run, since no slot was empty. Returns the slot. */
static noinline unsigned int replace_oldest(struct pcp_runs *p, uint32_t now, uint64_t word)
{
	const unsigned int at = find_oldest(p, now);
	struct leaving leaving = { .nr = 0 };

	leave(&leaving, xchg(&p->slot[at], word));
	give_to_zone(&leaving);
	return at;
}

/* Into the first empty slot behind the newest one. */
static inline void fill_slot(struct pcp_runs *p, uint32_t now, uint64_t word)
{
	const unsigned int newest = load_relaxed(&p->newest);
	unsigned int at = 0;
	unsigned int i = 1;

	for (; i <= PCP_RUNS_SLOTS; i++) {
		at = slot_behind(newest, i);
		if (!load_relaxed(&p->slot[at]) && cmpxchg(&p->slot[at], 0ul, word))
			break;
	}
	if (unlikely(i > PCP_RUNS_SLOTS))
		at = replace_oldest(p, now, word);
	store_relaxed(&p->newest, at);
}

/* ---- lengths --------------------------------------------------------------------------------- */

/* Of that length, once or more. It may miss what another thread notes just now. */
static unsigned int find_asked(const struct pcp_runs *p, unsigned long nr_pages)
{
	unsigned int i = 0;

	while (i < PCP_RUNS_LENGTHS && (load_relaxed(&p->asked[i]) & ~ASKED_AGAIN) != nr_pages)
		i++;
	return i; /* PCP_RUNS_LENGTHS: none */
}

static bool was_asked_again(const struct pcp_runs *p, unsigned long nr_pages)
{
	unsigned int at = find_asked(p, nr_pages);

	return at < PCP_RUNS_LENGTHS && load_relaxed(&p->asked[at]) & ASKED_AGAIN;
}

static void note_asked(struct pcp_runs *p, unsigned long nr_pages)
{
	unsigned int at = find_asked(p, nr_pages);
	unsigned int next;

	if (at < PCP_RUNS_LENGTHS) {
		store_relaxed(&p->asked[at], (uint16_t)(nr_pages | ASKED_AGAIN));
		return;
	}
	next = load_relaxed(&p->next);
	store_relaxed(&p->asked[next], (uint16_t)nr_pages);
	store_relaxed(&p->next, (next + 1) % PCP_RUNS_LENGTHS);
}

/* Pages that a CPU may keep, beside those that may stay in the zone. */
static unsigned long room_now(const struct buddy_zone *zone)
{
	unsigned long limit = load_relaxed(&zone_purge_limit);
	unsigned long part = load_relaxed(&zone->held) / PCP_RUNS_SHARE / nr_cpus;

	if (unlikely(limit != ZONE_LIMIT_AUTO))
		part = limit / PCP_RUNS_OF_LIMIT / nr_cpus;
	else
		part = MAX(part, PCP_RUNS_ROOM);
	return MIN(part, PCP_RUNS_SLOTS * PCP_RUNS_MOST);
}

/* false: so many are too much. */
static noinline bool make_room_slow(struct pcp_runs *p, const struct buddy_zone *zone,
				    unsigned long nr_pages)
{
	unsigned long most = room_now(zone);

	store_relaxed(&p->room, (uint32_t)most);
	if (nr_pages > most)
		return false;
	remove_oldest(p, load_relaxed(&zone->clock), most - nr_pages);
	return true;
}

static inline bool make_room(struct pcp_runs *p, const struct buddy_zone *zone,
			     unsigned long nr_pages)
{
	bool fits = 0ul + load_relaxed(&p->kept) + nr_pages <= load_relaxed(&p->room);

	return (likely(fits) && likely(load_relaxed(&zone_purge_limit) == ZONE_LIMIT_AUTO)) ||
	       make_room_slow(p, zone, nr_pages);
}

/* ---- take and put ---------------------------------------------------------------------------- */

static inline bool is_kept_length(unsigned long nr_pages)
{
	return nr_pages >= PCP_RUNS_LEAST && nr_pages <= PCP_RUNS_MOST;
}

struct page *pcp_runs_take(unsigned long nr_pages, bool note)
{
	unsigned int node;
	struct pcp_runs *p = runs_here(&node);
	unsigned int newest;

	if (!is_kept_length(nr_pages) || unlikely(!p))
		return NULL;
	newest = load_relaxed(&p->newest);
	for (unsigned int i = PCP_RUNS_SLOTS; i > 0; i--) {
		unsigned int at = slot_behind(newest, i);
		uint64_t word = load_relaxed(&p->slot[at]);
		struct page *page = slot_page(word);

		if (slot_pages(word) != nr_pages || unlikely(!cmpxchg(&p->slot[at], word, 0ul)))
			continue;
		if (likely(i == PCP_RUNS_SLOTS))
			store_relaxed(&p->newest, slot_behind(newest, PCP_RUNS_SLOTS - 1));
		store_relaxed(&p->kept, load_relaxed(&p->kept) - (uint32_t)nr_pages);
		store_relaxed(&page->type, PAGE_RUN);
		zone_notify_run(page, nr_pages);
		return page;
	}
	if (note)
		note_asked(p, nr_pages);
	return NULL;
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
	const struct buddy_zone *zone = &buddy_zones[page->node];
	uint32_t now;

	if (!is_kept_length(nr_pages))
		return false;
	if (unlikely(!p)) {
		make_all();
		return false;
	}
	if (page->node != node || !was_asked_again(p, nr_pages) || !make_room(p, zone, nr_pages))
		return false;
	zone_retire_run(page, nr_pages);
	if (unlikely(looks_at_clock(p, node))) { /* before the clock is read below */
		buddy_rebalance();
		store_relaxed(&p->room, 0); /* memory may be less by now */
	}
	store_relaxed(&page->type, PAGE_KEPT);
	now = load_relaxed(&zone->clock);
	fill_slot(p, now, slot_of(page, nr_pages, now));
	store_relaxed(&p->kept, load_relaxed(&p->kept) + (uint32_t)nr_pages);
	return true;
}

/* ---- all CPUs -------------------------------------------------------------------------------- */

static void drain(struct pcp_runs *p)
{
	struct leaving leaving = { .nr = 0 };

	for (unsigned int i = 0; i < PCP_RUNS_SLOTS; i++)
		if (load_relaxed(&p->slot[i]))
			leave(&leaving, xchg(&p->slot[i], 0ul));
	give_to_zone(&leaving);
}

static void drain_old(struct pcp_runs *p, uint32_t now, uint32_t delay)
{
	struct leaving leaving = { .nr = 0 };

	for (unsigned int i = 0; i < PCP_RUNS_SLOTS; i++) {
		uint64_t word = load_relaxed(&p->slot[i]);

		if (slot_is_old(word, now, delay) && cmpxchg(&p->slot[i], word, 0ul))
			leave(&leaving, word);
	}
	give_to_zone(&leaving);
}

cold void pcp_runs_drain(void)
{
	struct pcp_runs *all = load_acquire(&all_runs); /* pairs with make_all() */

	for (unsigned int cpu = 0; all && cpu < nr_cpus; cpu++)
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
		if (os_cpu_to_node(cpu) == node)
			drain_old(&all[cpu], now, delay);
}

struct pcp_runs_stats pcp_runs_stats(unsigned int node)
{
	const struct pcp_runs *all = load_acquire(&all_runs); /* pairs with make_all() */
	struct pcp_runs_stats stats = { 0 };

	for (unsigned int cpu = 0; all && cpu < nr_cpus; cpu++) {
		if (os_cpu_to_node(cpu) != node)
			continue;
		for (unsigned int i = 0; i < PCP_RUNS_SLOTS; i++) {
			uint64_t word = load_relaxed(&all[cpu].slot[i]);

			stats.count += word != 0;
			stats.pages += slot_pages(word);
		}
	}
	return stats;
}

void pcp_runs_each_lock(void (*act)(struct lock *l))
{
	act(&make_lock);
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
	CHECK(p->newest < PCP_RUNS_SLOTS && p->next < PCP_RUNS_LENGTHS);
	for (unsigned int i = 0; i < PCP_RUNS_SLOTS; i++) {
		uint64_t word = load_relaxed(&p->slot[i]);

		if (!word)
			continue;
		CHECK(is_kept_length(slot_pages(word)));
		CHECK(slot_page(word)->node == node);
		check_run(slot_page(word), slot_pages(word));
	}
}

void pcp_runs_check(void)
{
	for (unsigned int cpu = 0; all_runs && cpu < nr_cpus; cpu++)
		check_cpu(&all_runs[cpu], os_cpu_to_node(cpu));
}
