/* SPDX-License-Identifier: MIT */
/*
 * cache/mempool/elements.c - the elements that a memory pool keeps, and who waits for them
 *
 * Why:        docs/adr/0041.
 * Data:       locks, each for the pools whose address has its number.
 * Invariants: see elements.h.
 * Locks:      RANK_POOL; under it nothing is called but check.c.
 * Flow:       see elements.h.
 *
 * Who waits enters first, then looks for elements and tries to allocate, and then sleeps unless
 * wakeups has changed since that look. Who keeps an element while somebody waits changes wakeups
 * under the same lock, and wakes one thread that sleeps. One that is not asleep yet will not fall
 * asleep. So for each element that is kept one of the waiting threads comes and looks. One that
 * leaves with an element from elsewhere wakes another one in its place. Where a thread waits for
 * several, all are woken: one that needs fewer may go on.
 */
#include "cache/mempool/elements.h"

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "cache/mempool/check.h"
#include "os/lock/wait.h"

#define NR_LOCKS 16u

/* A cache line each: neighbours belong to pools that have nothing to do with each other. */
static struct {
	_Alignas(CACHE_LINE) struct lock lock;
} locks[NR_LOCKS] = { [0 ... NR_LOCKS - 1] = { { 0, RANK_POOL } } };

static struct lock *lock_of(const mempool_t *pool)
{
	return &locks[((uintptr_t)pool / sizeof(*pool)) % NR_LOCKS].lock;
}

static unsigned int missing(void *const *slots, unsigned int count)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < count; i++)
		nr += !slots[i];
	return nr;
}

static void *take_locked(mempool_t *pool)
{
	void *element = pool->elements[pool->curr_nr - 1];

	store_relaxed(&pool->curr_nr, pool->curr_nr - 1);
	if (pool->kind)
		element_leaves(element);
	return element;
}

bool elements_take(mempool_t *pool, void **slots, unsigned int count, unsigned int *wakeups)
{
	bool enough;

	lock_acquire(lock_of(pool));
	enough = (unsigned int)pool->curr_nr >= missing(slots, count);
	for (unsigned int i = 0; enough && i < count; i++)
		if (!slots[i])
			slots[i] = take_locked(pool);
	if (wakeups)
		*wakeups = pool->wait.wakeups;
	lock_release(lock_of(pool));
	report_deliver();
	return enough;
}

/*
 * The caller's element was taken before, so it sees a curr_nr that had become smaller by that. A
 * pool that keeps none wants one where somebody waits, which only the lock tells for certain.
 */
bool elements_wanted(const mempool_t *pool)
{
	int min_nr = load_relaxed(&pool->min_nr);

	return !min_nr || load_relaxed(&pool->curr_nr) < min_nr;
}

static bool is_wanted_locked(const mempool_t *pool)
{
	return pool->curr_nr < pool->min_nr || (pool->wait.threads && !pool->curr_nr);
}

static bool is_kept_locked(const mempool_t *pool, const void *element, unsigned int look)
{
	unsigned int nr = (unsigned int)pool->curr_nr;

	for (unsigned int i = 1; i <= MIN(nr, look); i++)
		if (pool->elements[nr - i] == element)
			return true;
	return false;
}

/* To be woken when the lock is released: how many threads. */
static unsigned int call_locked(mempool_t *pool)
{
	if (!pool->wait.threads)
		return 0;
	store_relaxed(&pool->wait.wakeups, pool->wait.wakeups + 1);
	return pool->wait.several ? OS_WAKE_ALL : 1;
}

static void release_and_wake(mempool_t *pool, unsigned int nr)
{
	lock_release(lock_of(pool));
	if (nr)
		os_wake(&pool->wait.wakeups, nr);
}

static enum elements_answer give_locked(mempool_t *pool, void *element, unsigned int look)
{
	if (is_kept_locked(pool, element, look))
		return ELEMENTS_TWICE;
	if (!is_wanted_locked(pool))
		return ELEMENTS_ENOUGH;
	if (pool->kind)
		element_enters(element);
	pool->elements[pool->curr_nr] = element;
	store_relaxed(&pool->curr_nr, pool->curr_nr + 1);
	return ELEMENTS_KEPT;
}

enum elements_answer elements_give(mempool_t *pool, void *element, unsigned int look)
{
	enum elements_answer answer;

	lock_acquire(lock_of(pool));
	answer = give_locked(pool, element, look);
	release_and_wake(pool, answer == ELEMENTS_KEPT ? call_locked(pool) : 0);
	return answer;
}

void elements_enter(mempool_t *pool, unsigned int count)
{
	lock_acquire(lock_of(pool));
	pool->wait.threads++;
	pool->wait.several += count > 1;
	lock_release(lock_of(pool));
}

void elements_leave(mempool_t *pool, unsigned int count)
{
	lock_acquire(lock_of(pool));
	pool->wait.threads--;
	pool->wait.several -= count > 1;
	release_and_wake(pool, pool->curr_nr ? call_locked(pool) : 0);
}

bool elements_resize(mempool_t *pool, int min_nr, void ***table)
{
	void **old;
	bool grows;

	lock_acquire(lock_of(pool));
	grows = min_nr > pool->min_nr;
	if (grows && !*table) {
		lock_release(lock_of(pool));
		return false;
	}
	if (grows) {
		old = pool->elements;
		for (int i = 0; i < pool->curr_nr; i++)
			(*table)[i] = old[i];
		store_relaxed(&pool->elements, *table);
		*table = old;
	}
	store_relaxed(&pool->min_nr, min_nr);
	lock_release(lock_of(pool));
	return true;
}

void *elements_take_surplus(mempool_t *pool)
{
	void *element = NULL;

	lock_acquire(lock_of(pool));
	if (pool->curr_nr > pool->min_nr)
		element = take_locked(pool);
	lock_release(lock_of(pool));
	report_deliver();
	return element;
}

void elements_each_lock(void (*act)(struct lock *l))
{
	for (unsigned int i = 0; i < NR_LOCKS; i++)
		act(&locks[i].lock);
}

void elements_check(const mempool_t *pool)
{
	CHECK(pool->min_nr >= 0 && pool->curr_nr >= 0);
	CHECK(pool->curr_nr <= MAX(pool->min_nr, 1));
	CHECK(pool->wait.several <= pool->wait.threads);
	for (int i = 0; i < pool->curr_nr; i++) {
		CHECK(pool->elements[i]);
		for (int j = 0; j < i; j++)
			CHECK(pool->elements[i] != pool->elements[j]);
	}
}
