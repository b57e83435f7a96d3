/* SPDX-License-Identifier: MIT */
/*
 * cache/group/charge.c - bytes are charged to a group and all above it, by way of the CPUs' stocks
 *
 * Why:        docs/adr/0061.
 * Data:       the usage of each group; the stock of each CPU.
 * Invariants: bytes are in the usage of a group and of all above it before they are in a stock or
 *             stand for an object, and until they are in neither. A usage never exceeds its limit,
 *             but by a forced charge or a limit that was lowered; it never falls below 0, whatever
 *             a program frees twice. A stock is never that of a dying group.
 * Locks:      the stock's lock for all steps here but those of charge_hit.h, so that fork finds no
 *             usage half changed; nothing is taken under it.
 * Flow:       called by array.c, cache.c, object.c, cache/charged.c, group.c and malloc/resize.c;
 *             calls array.c, cache.c, front/percpu.c.
 *
 * A stock's word has number and bytes of a group. Who changes the word of CPU c:
 *
 *                            charge or uncharge on c   slow step with c's lock   drain of c
 *   charge or uncharge on c  never: same CPU           see 1                     see 2
 *   slow step                see 1                     never: the lock           never: the lock
 *   drain                    see 2                     never: the lock           never: the lock
 *
 * 1. Both change the word by stock_change(), from the very value that they have looked at: the
 *    second one fails, and does its work without the stock. A value means the same whenever it is
 *    there (so many bytes of that group, all in its usage), so that a word which was changed and
 *    changed back in between does not matter. With restartable sequences both run on c.
 * 2. Without sequences the drain is an exchange. With them it is percpu_stop_xchg(), with an empty
 *    word to stop: no charge or uncharge goes on from that, and slow steps wait for the lock. A
 *    flag that sequences compare would not do instead: one that has looked at the word already, and
 *    at the flag only when the drain has cleared it again, would bring back what was taken.
 *    If c cannot be fenced the stock stays as it is, and is said to be ahead as before.
 *
 * The stock of a group may be empty, and yet have its number.
 *
 * A group is dying before group_destroy() drains all stocks, and a slow step looks under the lock
 * whether it is: what it puts there before that is drained, and after that it puts nothing there.
 *
 * The limit: only if there is not enough with all stocks and charged arrays of the group that has
 * it drained, the charge has met it. What misses of charged arrays have in their hands is not
 * found: up to 30 objects for each thread that is in one.
 */
#include "base/bits.h"
#include "cache/group/charge_hit.h"

#include "base/assert.h"

/* ---- the usage of a group, and of all above it ---- */

static bool has_room(const struct group *g, size_t bytes)
{
	uint64_t limit = load_relaxed(&g->limit);
	uint64_t usage = load_relaxed(&g->usage);

	return bytes <= limit && usage <= limit - bytes;
}

bool group_is_over(const struct group *g)
{
	while (g && likely(load_relaxed(&g->usage) <= load_relaxed(&g->limit)))
		g = g->parent;
	return g;
}

static bool add_to(struct group *g, size_t bytes, bool forced)
{
	uint64_t usage = load_relaxed(&g->usage);

	do {
		uint64_t limit = load_relaxed(&g->limit);

		if (!forced && (bytes > limit || usage > limit - bytes))
			return false;
	} while (!__atomic_compare_exchange_n(&g->usage, &usage, usage + bytes, 1, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return true;
}

static uint64_t take_from(struct group *g, size_t bytes)
{
	uint64_t usage = load_relaxed(&g->usage);
	uint64_t left;

	do
		left = usage - MIN(usage, (uint64_t)bytes);
	while (!__atomic_compare_exchange_n(&g->usage, &usage, left, 1, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED)); /* pairs with release_locked() */
	return left;
}

static void note_peak(struct group *g)
{
	uint64_t usage = load_relaxed(&g->usage);
	uint64_t peak = load_relaxed(&g->peak);

	while (usage > peak && !__atomic_compare_exchange_n(&g->peak, &peak, usage, 1,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/*
 * NULL: done. Else the group whose limit is met, and nothing is charged. All limits are looked at
 * before anything is charged: else one who is refused far above, again and again, would have the
 * groups between look full to others for a moment.
 */
static struct group *charge(struct group *g, size_t bytes, bool forced)
{
	struct group *at;

	for (at = g; at && !forced; at = at->parent)
		if (unlikely(!has_room(at, bytes)))
			return at;
	for (at = g; at && add_to(at, bytes, forced); at = at->parent)
		;
	if (unlikely(at)) {
		for (; g != at; g = g->parent)
			take_from(g, bytes);
		return at;
	}
	for (; g; g = g->parent)
		note_peak(g);
	return NULL;
}

/* From above, so that g is there until the last step: with nothing left it may be another's. */
static void uncharge_above(struct group *g, size_t bytes)
{
	for (struct group *at = g->parent; at; at = at->parent)
		take_from(at, bytes);
}

/*
 * true: g was destroyed, and this was the last of it; or it is another one by now. Whoever destroys
 * it sets dying first, and then looks at the usage: one of both sees the other.
 */
static bool uncharge(struct group *g, size_t bytes)
{
	uncharge_above(g, bytes);
	return !take_from(g, bytes) && __atomic_load_n(&g->dying, __ATOMIC_SEQ_CST);
}

/* ---- stocks ---- */

static struct group_stock *stock_of(int *cpu)
{
	*cpu = percpu_cpu();
	return &groups_table->stock[*cpu < 0 ? 0 : *cpu];
}

/*
 * What was charged ahead goes to the stock of this CPU in place of what it has. What has no place
 * there is uncharged. Never the last of a group that is dying: these have no stocks.
 */
static void stock_fill_locked(struct group_stock *stock, int cpu, struct group *g, size_t bytes)
{
	uintptr_t word = load_relaxed(&stock->word);
	bool same = STOCK_ID(word) == g->id;
	size_t more = same ? STOCK_BYTES(word) : 0;

	if (cpu < 0 || more + bytes > STOCK_MOST ||
	    !stock_change(stock, cpu, word, STOCK_WORD(g->id, more + bytes)))
		uncharge(g, bytes);
	else if (!same && STOCK_BYTES(word))
		uncharge(group_at(STOCK_ID(word)), STOCK_BYTES(word));
}

/* Takes the word away from any CPU, and leaves 0; 0: it was that, or cannot be taken. */
static uintptr_t stock_empty_locked(struct group_stock *stock, int cpu)
{
	uintptr_t word;

	if (!percpu_rseq)
		return xchg(&stock->word, 0);
	return percpu_stop_xchg(cpu, &stock->word, 0, &word) ? 0 : word;
}

bool group_is_below(const struct group *g, const struct group *above)
{
	while (g && g != above)
		g = g->parent;
	return g;
}

void group_drain(const struct group *above)
{
	for (uint32_t cpu = 0; cpu < groups_table->nr_cpus; cpu++) {
		struct group_stock *stock = &groups_table->stock[cpu];
		uintptr_t word;

		/* a dying one: a slow step may be under way that has not filled it yet */
		if (!load_relaxed(&stock->word) && !load_relaxed(&above->dying))
			continue;
		lock_acquire(&stock->lock);
		word = load_relaxed(&stock->word);
		if (word && group_is_below(group_at(STOCK_ID(word)), above))
			word = stock_empty_locked(stock, (int)cpu);
		else
			word = 0;
		if (word)
			uncharge(group_at(STOCK_ID(word)), STOCK_BYTES(word));
		lock_release(&stock->lock);
	}
}

struct ahead {
	const struct group *g;
	uint64_t bytes;
};

static void add_array(unsigned int id, int cpu, uint32_t owner, size_t bytes, void *arg)
{
	struct ahead *ahead = arg;

	(void)id, (void)cpu;
	if (group_is_below(group_at(owner), ahead->g))
		ahead->bytes += bytes;
}

uint64_t group_ahead_locked(const struct group *g)
{
	struct ahead ahead = { g, 0 };

	for (uint32_t cpu = 0; cpu < groups_table->nr_cpus; cpu++) {
		uintptr_t word = load_relaxed(&groups_table->stock[cpu].word);

		if (word && group_is_below(group_at(STOCK_ID(word)), g))
			ahead.bytes += STOCK_BYTES(word);
	}
	group_arrays_each(add_array, &ahead);
	return ahead.bytes + group_caches_ahead_locked(g);
}

/* ---- charges ---- */

/*
 * One try, with as much ahead as the limits allow. NULL: done, *id is the group that was charged.
 * Else the group whose limit was met.
 */
static struct group *try_charge(uint32_t *id, size_t bytes, unsigned int how)
{
	int cpu;
	struct group_stock *stock = stock_of(&cpu);
	struct group *g = group_at(*id);
	struct group *met = NULL;

	lock_acquire(&stock->lock);
	if (!(how & GROUP_CHARGE_MORE))
		g = group_live(g);
	*id = g ? g->id : GROUP_NONE;
	if (g && bytes < STOCK_BATCH && how == GROUP_CHARGE &&
	    !charge(g, bytes + STOCK_BATCH, false))
		stock_fill_locked(stock, cpu, g, STOCK_BATCH);
	else if (g)
		met = charge(g, bytes, how & GROUP_CHARGE_FORCED);
	lock_release(&stock->lock);
	return met;
}

/* Stocks again: what is uncharged by a drain may go there. */
void group_drain_all(struct group *g, size_t bytes)
{
	group_arrays_drain(g);
	group_drain(g);
	group_caches_drain(g, bytes);
	group_drain(g);
}

uint32_t group_charge_slow(uint32_t id, size_t bytes, unsigned int how)
{
	struct group *met = try_charge(&id, bytes, how);

	if (likely(!met))
		return id;
	group_drain_all(met, bytes);
	met = try_charge(&id, bytes, how);
	if (!met)
		return id;
	fetch_add(&met->met, 1);
	if (group_call_back(met, bytes)) {
		group_drain_all(met, bytes);
		met = try_charge(&id, bytes, how);
	}
	if (!met)
		return id;
	fetch_add(&met->failed, 1);
	return GROUP_REFUSED;
}

void group_replace_end(void)
{
	struct group *g = group_current ? group_at(group_current) : NULL;

	group_visits = false;
	if (g && unlikely(group_is_over(g)))
		group_drain_all(g, 0);
}

void group_uncharge_slow(uint32_t id, size_t bytes)
{
	int cpu;
	struct group_stock *stock = stock_of(&cpu);
	struct group *g = group_at(id);
	bool last;

	lock_acquire(&stock->lock);
	last = uncharge(g, bytes);
	lock_release(&stock->lock);
	if (unlikely(last))
		group_try_release(id);
}

uint32_t group_charge(uint32_t id, size_t bytes, unsigned int how)
{
	return likely(stock_take(id, bytes)) ? id : group_charge_slow(id, bytes, how);
}

bool group_charge_ahead(uint32_t id, size_t bytes)
{
	struct group *g = group_at(id);
	int cpu;
	struct group_stock *stock = stock_of(&cpu);
	bool done;

	if (likely(stock_take(id, bytes)))
		return true;
	lock_acquire(&stock->lock);
	done = !load_relaxed(&g->dying) && !charge(g, bytes + STOCK_BATCH, false);
	if (done)
		stock_fill_locked(stock, cpu, g, STOCK_BATCH);
	lock_release(&stock->lock);
	return done;
}

void group_uncharge(uint32_t id, size_t bytes)
{
	if (unlikely(!stock_give(id, bytes)))
		group_uncharge_slow(id, bytes);
}

/* ---- objects of caches of a group ---- */

/*
 * Who only tries locks (lock_tries_begin()) takes none: a fork meanwhile would leave the child some
 * bytes too much or too little in the usage of some group, which is the lesser evil.
 */
static bool lock_stock(struct group_stock *stock)
{
	if (lock_thread.flags & LOCK_TRYING)
		return false;
	lock_acquire(&stock->lock);
	return true;
}

bool group_charge_objects(unsigned long id, size_t bytes, enum engine_charge_how how)
{
	struct group_stock *stock;
	struct group *met;
	bool locked;
	int cpu;

	if (likely(stock_take((uint32_t)id, bytes)))
		return true;
	stock = stock_of(&cpu);
	locked = lock_stock(stock);
	met = charge(group_at((uint32_t)id), bytes,
		     how == ENGINE_CHARGE_FORCED || (how == ENGINE_CHARGE_ONE && group_visits));
	if (locked)
		lock_release(&stock->lock);
	return !met;
}

/* Never the last of it: the group has the cache. */
void group_uncharge_objects(unsigned long id, size_t bytes)
{
	struct group_stock *stock;
	bool locked;
	int cpu;

	if (likely(stock_give((uint32_t)id, bytes)))
		return;
	stock = stock_of(&cpu);
	locked = lock_stock(stock);
	uncharge(group_at((uint32_t)id), bytes);
	if (locked)
		lock_release(&stock->lock);
}
