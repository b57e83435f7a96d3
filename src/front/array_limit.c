/* SPDX-License-Identifier: MIT */
/*
 * front/array_limit.c - how many sheaves depots may hold, by overflows and underflows
 *
 * Why:        docs/adr/0034, docs/adr/0077, docs/adr/0081, docs/adr/0089.
 * Data:       struct growth for each depot that may hold more than at first, in one of two lists:
 *             those that are still to be reaped in this epoch, and those that are done, and if it
 *             has large objects in one of two others: who may have some to give, soon, and larges;
 *             the bytes that all of them may hold beyond what they held at first; hints for misses.
 * Invariants: array_growth_bytes is the sum, over both lists, of what max is above base times the
 *             bytes of a full sheaf's objects; nr_soon is the length of soon. A depot of a front
 *             that is destroyed is on none.
 * Locks:      growth_lock (RANK_GROWTH) guards the lists and all of struct growth, and is held
 *             while sheaves go back to the engine, so that a drain can wait for these: lanes'
 *             locks and the engine's inside. Misses only try it.
 * Flow:       called by front/array.c, array.h, array_capacity.c and array_sheaf.h, cache/fork.c
 *             and cache/reap.c; calls depot.c, depot_limit.c, array.c, page/buddy.h, page/limit.h
 *             and page/meta.h.
 *
 * A depot overflows when a full sheaf finds no space, and its objects go back to their slabs one by
 * one. If the same depot is empty soon after (an underflow), it gets twice the space, if all depots
 * together are then within what the program has in use, or had before these objects were freed. So
 * a program that allocates and frees in bursts soon finds its objects in the depot, and one that
 * frees for good leaves nothing there.
 *
 * Once an epoch each depot of the lists is reaped. Sheaves that nobody took during the epoch go
 * back to the engine, and half of the space that was not used is taken away. This is done in steps,
 * by misses of any cache that go to the engine, so also when the program has turned to other sizes,
 * and before these get new slabs; and by misses of frees that exchange arrays with a depot, for
 * programs that seldom get to the engine (array_limit_age()). A step is short, however many depots
 * have grown; they take turns. A round of cache/reap.c does all steps that are due, for programs
 * that hardly miss any more.
 *
 * Of objects larger than a page a few are much memory, and a program may take 16 MiB of one size
 * after the other within an epoch. So as memory is taken their depots are looked at, one after the
 * other, and what nobody took since the last look goes back (array_limit_reap_large()).
 */
#include "base/atomic.h"
#include "base/bits.h"
#include "base/list.h"
#include "front/array_sheaf.h"
#include "os/cpu/cpu.h"
#include "page/buddy.h"
#include "page/limit.h"
#include "page/meta.h"
#include "page/realtime.h"

/*
 * All depots together may grow by as much as the program has in use, see program_use(). Peaks of
 * programs hardly show it (docs/adr/0034, docs/adr/0077). Small processes: by as much as a burst of
 * some thousand objects needs.
 */
#define GROWTH_SHARE 1
#define GROWTH_MIN (1ul << 20) /* bytes */

/* The largest class of the drop-in: its blocks are objects up to here, page runs above. */
#define GROWTH_MAX_OBJECT (8 * PAGE_SIZE)

/* Bounds of one step, in all, so of the time of the call that does it. */
#define REAP_SHEAVES 4u /* that go back, with objects or empty */
#define REAP_DEPOTS 16u /* that are looked at */

#define RAISE_LOOKS 64u /* at depots of either list, where one gets more space */

/*
 * So much that is taken from slabs or as page runs lets a thread look at depots of large objects;
 * twice as much may go back.
 */
#define LARGE_LEAST ((size_t)64 << 10)
#define LARGE_MOST ((size_t)1 << 30)
#define LARGE_TIMES 2u
#define LARGE_MUCH ((size_t)4 << 20) /* at once: as long as there is some */
#define LARGE_LOOKS 64u		     /* at depots of one list */
#define LARGE_SHEAVES 32u	     /* that go back, under one hold of the lock */
#define LARGE_SHARE 4u		     /* of a depot's sheaves no more than that part */
/*
 * Those that have none are each looked at once while so much is taken as is that part of what the
 * process holds. All of them for each 64 KiB took longer than all else that a page run of 256 KiB
 * takes: a look waits for some six lines.
 */
#define LARGE_PART 8u

/* The clock is read by one in so many misses of a thread. */
#define AGES_A_LOOK 16u

struct growth {
	struct list_head list;	/* due or done */
	struct list_head large; /* of those with large objects: soon or larges */
	struct front *front;
	struct depot *depot;
	bool is_reaped; /* in steps; surplus is still to go back */
	bool soon;	/* the next who takes memory looks at it: it is in soon */
	struct depot_surplus surplus;
};

static struct lock growth_lock = LOCK_INIT(RANK_GROWTH);
static struct list_head due = { &due, &due };
static struct list_head done = { &done, &done };
static struct list_head soon = { &soon, &soon };       /* those that may have some; in turn */
static struct list_head larges = { &larges, &larges }; /* the others of large objects; in turn */
static unsigned int nr_soon;			       /* a hint without the lock */
static uint32_t epoch;				       /* in which those of done became due last */
unsigned long array_growth_bytes;
unsigned int array_limit_large; /* those of soon and larges; a hint without the lock */
static uint32_t reaped_at;	/* the epoch in which none was due last; likewise */
static bool is_due;		/* some are; likewise */
bool (*array_limit_each_epoch)(void);

/*
 * Of a full sheaf's objects. What it takes itself is not counted: with it a depot had no space for
 * the last of the objects that were in use, and some overflowed in each burst. By the depot's
 * capacity, since the front's may change without growth_lock; 0: it takes none by now.
 */
static unsigned long sheaf_bytes(const struct front *f, const struct depot *d)
{
	return (unsigned long)d->capacity * f->engine->size;
}

static unsigned long bytes_beyond(const struct growth *g)
{
	return (g->depot->max[DEPOT_FULL] - g->depot->base[DEPOT_FULL]) *
	       sheaf_bytes(g->front, g->depot);
}

/* What array_limit_reap_large() is for. */
static inline bool is_large(const struct front *f)
{
	return f->engine->size > PAGE_SIZE;
}

/* Now; the clock is read with the lock, so that it never goes back. */
static uint32_t epoch_locked(void)
{
	uint32_t now = depot_epoch();

	if (epoch != now) {
		epoch = now;
		list_splice(&done, due.prev); /* behind those that are still due */
		list_init(&done);
	}
	return now;
}

/* ---- more ---- */

static struct growth *growth_of(struct front *f, struct depot *d)
{
	struct growth *g = d->growth;

	if (g)
		return g;
	g = meta_alloc(sizeof(*g));
	if (!g)
		return NULL;
	*g = (struct growth){ .front = f, .depot = d };
	epoch_locked(); /* it becomes due in the next one */
	list_add_tail(&g->list, &done);
	if (is_large(f)) {
		list_add_tail(&g->large, &larges);
		store_relaxed(&array_limit_large, array_limit_large + 1);
	}
	d->growth = g;
	return g;
}

/* Bytes of the objects that depots of a list hold, but for one; of no more than so many depots. */
static unsigned long held_in(const struct list_head *list, const struct depot *but)
{
	unsigned long bytes = 0;
	unsigned int looks = 0;
	const struct list_head *pos;

	for (pos = list->next; pos != list && looks < RAISE_LOOKS; pos = pos->next, looks++) {
		const struct growth *g = list_entry(pos, struct growth, list);

		if (g->depot != but)
			bytes += depot_objects(g->depot) * g->front->engine->size;
	}
	return bytes;
}

/*
 * Bytes that the program has in use when all objects of d are. Those that overflowed lately are in
 * use no more, but were a moment ago, and are about to be again. What other depots hold is not.
 */
static unsigned long program_use(struct front *f, struct depot *d, uint32_t overflows)
{
	unsigned long used = buddy_used() << PAGE_SHIFT;
	unsigned long others = held_in(&due, d) + held_in(&done, d);

	return used - MIN(used, others) + overflows * sheaf_bytes(f, d);
}

/* Twice the space, or what is left of the share. */
static void raise_locked(struct front *f, struct depot *d, uint32_t overflows)
{
	unsigned long bytes = sheaf_bytes(f, d);
	unsigned long most;
	unsigned long left;
	uint32_t more;

	if (!bytes || f->engine->size > GROWTH_MAX_OBJECT)
		return;
	most = MAX(program_use(f, d, overflows) / GROWTH_SHARE, GROWTH_MIN);
	left = most > array_growth_bytes ? most - array_growth_bytes : 0;
	more = (uint32_t)MIN(MAX(d->max[DEPOT_FULL], 1u), left / bytes);
	if (!more || !growth_of(f, d))
		return;
	depot_raise(d, more);
	store_relaxed(&array_growth_bytes, array_growth_bytes + more * bytes);
}

/* Nothing more than a hint is lost when another thread has the lock. */
void array_limit_underflow(struct front *f, struct depot *d)
{
	uint32_t overflows = realtime_is_on() ? 0 : depot_underflows(d);

	if (!overflows || !lock_try(&growth_lock))
		return;
	raise_locked(f, d, overflows);
	lock_release(&growth_lock);
}

/* ---- less ---- */

static void forget(struct growth *g)
{
	g->depot->growth = NULL;
	list_del(&g->list);
	if (is_large(g->front)) {
		list_del(&g->large);
		store_relaxed(&nr_soon, nr_soon - g->soon);
		store_relaxed(&array_limit_large, array_limit_large - 1);
	}
	meta_free(g, sizeof(*g));
}

/* Up to most sheaves of the surplus back to where they came from. Returns how many. */
static unsigned int reap_sheaves(struct growth *g, unsigned int most)
{
	unsigned int n = 0;
	uintptr_t top;

	while (g->surplus.full && n < most) {
		top = depot_shrink(g->depot, DEPOT_FULL);
		g->surplus.full = top ? g->surplus.full - 1 : 0;
		if (!top)
			break;
		sheaf_delete(sheaf_flush(g->front, top));
		n++;
	}
	while (g->surplus.empty && n < most) {
		top = depot_shrink(g->depot, DEPOT_EMPTY);
		g->surplus.empty = top ? g->surplus.empty - 1 : 0;
		if (!top)
			break;
		sheaf_delete(top);
		n++;
	}
	return n;
}

/* All of the surplus of this epoch is back; the depot may be off the lists then. */
static void finish_locked(struct growth *g)
{
	struct depot *d = g->depot;

	g->is_reaped = false;
	list_del(&g->list);
	list_add_tail(&g->list, &done);
	if (d->max[DEPOT_FULL] == d->base[DEPOT_FULL] &&
	    d->max[DEPOT_EMPTY] == d->base[DEPOT_EMPTY])
		forget(g);
}

/* Up to most sheaves of one depot that is due. Returns how many went back. */
static unsigned int reap_locked(struct growth *g, unsigned int most)
{
	unsigned long before = bytes_beyond(g);
	unsigned int unused;
	unsigned int n;

	if (!g->is_reaped) {
		g->surplus = depot_next_epoch(g->depot);
		depot_lower(g->depot, (g->surplus.unused + 1) / 2);
		g->is_reaped = true;
	}
	unused = depot_unused(g->depot, DEPOT_FULL); /* some may have been taken since */
	g->surplus.full = MIN(g->surplus.full, unused);
	n = reap_sheaves(g, most);
	store_relaxed(&array_growth_bytes, array_growth_bytes - (before - bytes_beyond(g)));
	if (!g->surplus.full && !g->surplus.empty) {
		finish_locked(g);
	} else { /* it has had its turn */
		list_del(&g->list);
		list_add_tail(&g->list, &due);
	}
	return n;
}

/* One step. false: there is nothing more to do in this epoch. */
static bool step_locked(void)
{
	unsigned int left = REAP_SHEAVES;
	uint32_t now = epoch_locked();

	for (unsigned int i = 0; i < REAP_DEPOTS && left && !list_empty(&due); i++)
		left -= reap_locked(list_first(&due, struct growth, list), left);
	store_relaxed(&is_due, !list_empty(&due));
	if (is_due)
		return true;
	store_relaxed(&reaped_at, now);
	return false;
}

static noinline void reap_some(void)
{
	bool more;

	if (!lock_try(&growth_lock))
		return;
	more = step_locked();
	lock_release(&growth_lock);
	if (!more && array_has_many() && array_limit_each_epoch && array_limit_each_epoch())
		store_relaxed(&reaped_at, depot_epoch() - 1); /* the next miss goes on */
}

void array_limit_reap(void)
{
	if (unlikely(load_relaxed(&reaped_at) != depot_epoch()))
		reap_some();
}

/* ---- less of large objects, as memory is taken ---- */

/*
 * Of what nobody used since the last look up to so many bytes go back, but no more than a quarter:
 * a depot that is about to grow, turn by turn, would not get beyond a few. Returns how many bytes.
 */
static size_t look_locked(struct growth *g, size_t bytes)
{
	struct depot *d = g->depot;
	size_t each = sheaf_bytes(g->front, d);
	unsigned int unused = depot_unused(d, DEPOT_FULL);
	unsigned int share = depot_count(d, DEPOT_FULL) / LARGE_SHARE;
	unsigned int most = MIN(MIN(unused, share), LARGE_SHEAVES);
	unsigned long before = bytes_beyond(g);
	unsigned int n = 0;
	uintptr_t top;

	while (n < most && n * each < bytes && (top = depot_shrink(d, DEPOT_FULL))) {
		sheaf_delete(sheaf_flush(g->front, top));
		n++;
	}
	depot_look(d);
	store_relaxed(&array_growth_bytes, array_growth_bytes - (before - bytes_beyond(g)));
	return n * each;
}

/* May it have some at the next look? It had, or was used until now and may be no more. */
static bool may_give(const struct growth *g, size_t back)
{
	return back || (!g->soon && depot_count(g->depot, DEPOT_FULL) >= LARGE_SHARE);
}

/* The next one of a list, unless it is the one that asks. Returns how many bytes went back. */
static size_t look_at_next_locked(struct list_head *list, const struct depot *but, size_t bytes)
{
	struct growth *g;
	size_t back = 0;
	bool again = false;

	if (list_empty(list))
		return 0;
	g = list_first(list, struct growth, large);
	if (g->depot != but) {
		back = look_locked(g, bytes);
		again = may_give(g, back);
	}
	store_relaxed(&nr_soon, nr_soon - g->soon + again);
	g->soon = again;
	list_del(&g->large);
	list_add_tail(&g->large, again ? &soon : &larges);
	return back;
}

/* Up to so many bytes, by so many looks at those of a list. Returns what is left of the bytes. */
static size_t reap_list(struct list_head *list, size_t bytes, unsigned int looks,
			const struct depot *but)
{
	while (bytes && looks-- && lock_try(&growth_lock)) {
		size_t back = look_at_next_locked(list, but, bytes);

		lock_release(&growth_lock);
		bytes -= MIN(bytes, back);
	}
	return bytes;
}

/* Likewise, of those of soon, and of so many others: a look at each at most, whatever it says. */
static size_t reap_larges(size_t bytes, unsigned int looks, const struct depot *but)
{
	unsigned int all = load_relaxed(&array_limit_large);
	unsigned int first = load_relaxed(&nr_soon);

	first = MIN(first, all);
	bytes = reap_list(&soon, bytes, MIN(first, LARGE_LOOKS), but);
	return reap_list(&larges, bytes, MIN(looks, all - first), but);
}

/*
 * Of all, as long as one of them has some. Each is looked at twice at least: what was used just
 * before would come on top of what is taken.
 */
static void reap_all_larges(size_t bytes, const struct depot *but)
{
	size_t left = reap_larges(bytes, LARGE_LOOKS, but);

	do {
		bytes = left;
		left = reap_larges(bytes, LARGE_LOOKS, but);
	} while (left && left < bytes);
}

/* How many depots, beside those of soon, are looked at for so many bytes. */
static unsigned int looks_for(size_t bytes)
{
	size_t round = (limit_held() << PAGE_SHIFT) / LARGE_PART;
	size_t looks = load_relaxed(&array_limit_large);

	if (bytes < round)
		looks = bytes * looks / round + 1;
	return (unsigned int)MIN(looks, (size_t)LARGE_LOOKS);
}

static size_t taken; /* bytes since a look; some may be lost when two threads add theirs */

noinline void array_limit_reap_large_slow(size_t bytes, const struct depot *d)
{
	size_t now = load_relaxed(&taken) + MIN(bytes, LARGE_MOST);

	store_relaxed(&taken, now < LARGE_LEAST ? now : 0);
	if (now < LARGE_LEAST)
		return;
	if (bytes >= LARGE_MUCH)
		reap_all_larges(now * LARGE_TIMES, d);
	else
		reap_larges(now * LARGE_TIMES, looks_for(now), d);
}

static __thread uint8_t ages __attribute__((tls_model("initial-exec")));

noinline void array_limit_age_slow(void)
{
	static uint32_t aged_at; /* epoch */
	uint32_t now;

	if (realtime_is_on())
		return;
	if (load_relaxed(&is_due)) {
		reap_some();
		return;
	}
	if (++ages % AGES_A_LOOK)
		return;
	array_limit_reap();
	now = depot_epoch();
	if (load_relaxed(&aged_at) == now)
		return;
	store_relaxed(&aged_at, now); /* if two threads do it, no harm is done */
	buddy_rebalance();
}

/* No longer than an epoch, in which others may make more due. */
void array_limit_reap_all(void)
{
	uint32_t begun = depot_epoch();
	bool more;

	do {
		lock_acquire(&growth_lock);
		more = step_locked();
		lock_release(&growth_lock);
	} while (more && depot_epoch() == begun);
}

/* ---- drain, the end of a front, fork ---- */

void array_limit_wait(void)
{
	lock_acquire(&growth_lock);
	lock_release(&growth_lock);
}

static void forget_locked(struct depot *d)
{
	if (!d->growth)
		return;
	store_relaxed(&array_growth_bytes, array_growth_bytes - bytes_beyond(d->growth));
	forget(d->growth);
}

void array_limit_renew(struct depot *d, const struct depot_limits *limits, struct depot_rest *old)
{
	lock_acquire(&growth_lock);
	forget_locked(d);
	depot_renew(d, limits, old);
	lock_release(&growth_lock);
}

void array_limit_forget(struct front *f)
{
	lock_acquire(&growth_lock);
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++)
		forget_locked(&f->depot[node]);
	lock_release(&growth_lock);
}

void array_limit_each_lock(void (*act)(struct lock *l))
{
	act(&growth_lock);
}
