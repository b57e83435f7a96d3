/* SPDX-License-Identifier: MIT */
/*
 * race/depot_test.c - sheaves that go from lane to lane, with delays around each lock
 *
 * front/depot.c and its other files are compiled into this one with their locks and relaxed reads
 * wrapped: the thread may yield before it takes a lock, while it holds one, before it tries a
 * second one, and before it reads what others change. Each sheaf has a number, and one owner at a
 * time: a thread, or the depot. Other threads change limits, begin epochs, and take all locks as a
 * fork does: then every sheaf that no thread owns is in some lane. Where lanes are sorted each
 * object has one owner.
 */
#define depot_clock late_depot_clock
#define sheaf_new late_sheaf_new
#define sheaf_delete late_sheaf_delete
#define depot_init late_depot_init
#define depot_destroy late_depot_destroy
#define depot_renew late_depot_renew
#define depot_count late_depot_count
#define depot_objects late_depot_objects
#define depot_get late_depot_get
#define depot_take late_depot_take
#define depot_put late_depot_put
#define depot_has_room late_depot_has_room
#define depot_exchange late_depot_exchange
#define depot_underflows late_depot_underflows
#define depot_raise late_depot_raise
#define depot_shrink late_depot_shrink
#define depot_look late_depot_look
#define depot_unused late_depot_unused
#define depot_next_epoch late_depot_next_epoch
#define depot_lower late_depot_lower
#define depot_each_lock late_depot_each_lock
#define depot_check late_depot_check
#define depot_make_lanes late_depot_make_lanes
#define depot_take_from late_depot_take_from
#define depot_move_to late_depot_move_to
#define depot_more_quota late_depot_more_quota
#define depot_look_at_made late_depot_look_at_made
#define depot_note_made late_depot_note_made
#define depot_tell_slow late_depot_tell_slow
#define depot_take_unused late_depot_take_unused
#define depot_sort late_depot_sort
#include <pthread.h>
#include <sched.h>

#include "bare.h"
#include "unit/front/fake_engine.h"

static __thread unsigned int seed;

static void yield_sometimes(void)
{
	if (rand_r(&seed) % 8 == 0)
		sched_yield();
}

static void late_acquire(struct lock *l)
{
	yield_sometimes();
	lock_acquire(l);
	yield_sometimes();
}

static bool late_try(struct lock *l)
{
	yield_sometimes();
	if (!lock_try_beside(l))
		return false;
	yield_sometimes();
	return true;
}

/* What is read without a lock, or written without the one that is held, may change at each read. */
static void pause_at_read(void)
{
	if (rand_r(&seed) % 8 == 0)
		sched_yield();
}

#define lock_acquire late_acquire
#define lock_try_beside late_try
#undef load_relaxed
#define load_relaxed(p) (pause_at_read(), __atomic_load_n((p), __ATOMIC_RELAXED))
#include "front/depot.c"
#include "front/depot_lane.c"
#include "front/depot_limit.c"
#include "front/depot_sort.c"
#undef lock_acquire
#undef lock_try_beside
#undef load_relaxed
#define load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)

#define THREADS 4u
#define CPUS 4u
#define CAPACITY 20u
#define SHEAVES 400u
#define ROUNDS 30000u

static struct depot depot;
static const struct depot_limits limits = { CAPACITY, 64, 64 };
static pthread_mutex_t renewing = PTHREAD_MUTEX_INITIALIZER; /* limits: one thread at a time */
static uint8_t owner[SHEAVES];				     /* 1: a thread. Atomic */
static bool over;
static unsigned long moves; /* sheaves that came from another CPU than they were put by; atomic */
static uint8_t put_by[SHEAVES];

/* The number of a sheaf lies in its last entry; one with objects has made-up ones below. */
static unsigned int number_of(uintptr_t top)
{
	return (unsigned int)(uintptr_t)sheaf_base(top)[USLAB_SHEAF_CAPACITY];
}

/* All but the last entry, where the number is. */
static uintptr_t with_objects(uintptr_t top)
{
	void **entry = (void **)top;

	for (unsigned int i = 0; i < CAPACITY - 1; i++)
		*++entry = &depot;
	return (uintptr_t)entry;
}

static uintptr_t without_objects(uintptr_t top)
{
	return top - sheaf_count(top) * sizeof(void *);
}

static void own(uintptr_t top)
{
	unsigned int n = number_of(top);

	CHILD_CHECK(n < SHEAVES && sheaf_capacity(top) == CAPACITY);
	CHILD_CHECK(__atomic_exchange_n(&owner[n], 1, __ATOMIC_RELAXED) == 0);
	if (put_by[n] != os_current_cpu())
		fetch_add(&moves, 1);
}

static void disown(uintptr_t top)
{
	unsigned int n = number_of(top);

	CHILD_CHECK(__atomic_exchange_n(&owner[n], 0, __ATOMIC_RELAXED) == 1);
	put_by[n] = (uint8_t)os_current_cpu();
}

/* false: the thread has it still. */
static bool put(uintptr_t top)
{
	enum depot_kind kind = sheaf_count(top) ? DEPOT_FULL : DEPOT_EMPTY;

	disown(top);
	if (depot_put(&depot, kind, top))
		return true;
	CHILD_CHECK(!__atomic_exchange_n(&owner[number_of(top)], 1, __ATOMIC_RELAXED));
	return false;
}

static uintptr_t swap(uintptr_t top)
{
	enum depot_kind kind = sheaf_count(top) ? DEPOT_FULL : DEPOT_EMPTY;
	uintptr_t other;

	disown(top);
	other = depot_exchange(&depot, kind, top);
	if (!other) {
		CHILD_CHECK(!__atomic_exchange_n(&owner[number_of(top)], 1, __ATOMIC_RELAXED));
		return top;
	}
	CHILD_CHECK(!sheaf_count(other) == (kind == DEPOT_FULL));
	own(other);
	return other;
}

/* Producers bring sheaves with objects, consumers empty ones: CPU 0 and 1, 2 and 3. */
static void *work(void *arg)
{
	uintptr_t mine[SHEAVES];
	unsigned int nr = 0;
	unsigned int id = (unsigned int)(uintptr_t)arg;
	unsigned int rounds = is_emulated() ? ROUNDS / 20 : ROUNDS;

	seed = id + 1;
	for (unsigned int i = 0; i < rounds; i++) {
		bool producer = (id ^ i / 1000) % 2; /* by turns */
		enum depot_kind wanted = producer ? DEPOT_EMPTY : DEPOT_FULL;
		uintptr_t top = 0;

		os_act_as_cpu(rand_r(&seed) % 64 ? id : (unsigned int)rand_r(&seed) % CPUS);
		if (rand_r(&seed) % 2)
			top = rand_r(&seed) % 16 ? depot_get(&depot, wanted)
						 : depot_take(&depot, wanted);
		if (top) {
			own(top);
			mine[nr++] = producer ? with_objects(top) : without_objects(top);
		}
		if (nr && rand_r(&seed) % 4 == 0) {
			top = swap(mine[nr - 1]);
			if (top != mine[nr - 1])
				mine[nr - 1] = producer ? with_objects(without_objects(top))
							: without_objects(top);
		} else if (nr && put(mine[nr - 1])) {
			nr--;
		}
	}
	while (nr) { /* however full it is */
		pthread_mutex_lock(&renewing);
		depot_raise(&depot, SHEAVES);
		while (nr && put(mine[nr - 1]))
			nr--;
		pthread_mutex_unlock(&renewing);
	}
	return NULL;
}

/* What all lanes hold, with all their locks taken. */
static unsigned int count_locked(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < depot.nr_lanes; i++)
		for (unsigned int kind = 0; kind < DEPOT_KINDS; kind++)
			n += depot.lanes[i].stack[kind].nr;
	return n;
}

/* Nobody sees a sheaf whose owner is the depot in no lane, but for those that are on the way. */
static void look_as_a_fork(void)
{
	unsigned int in_lanes;
	unsigned int owned = 0;

	depot_each_lock(&depot, lock_fork_prepare);
	in_lanes = count_locked();
	for (unsigned int i = 0; i < SHEAVES; i++)
		owned += load_relaxed(&owner[i]);
	depot_each_lock(&depot, lock_fork_parent);
	/* each thread may have disowned one that it is about to put, or not owned one yet */
	CHILD_CHECK(in_lanes + owned <= SHEAVES && in_lanes + owned + 2 * THREADS >= SHEAVES);
}

static void *disturb(void *arg)
{
	(void)arg;
	seed = 1000;
	while (!load_relaxed(&over)) {
		struct depot_surplus surplus;
		uintptr_t top;

		look_as_a_fork();
		pthread_mutex_lock(&renewing);
		depot_raise(&depot, (uint32_t)rand_r(&seed) % 64);
		surplus = rand_r(&seed) % 2 ? depot_look(&depot) : depot_next_epoch(&depot);
		depot_lower(&depot, surplus.unused);
		top = depot_shrink(&depot, DEPOT_FULL);
		if (top) {
			own(top);
			while (!put(top))
				depot_raise(&depot, 1);
		}
		pthread_mutex_unlock(&renewing);
		sched_yield();
	}
	return NULL;
}

static void make_sheaves(void)
{
	for (uintptr_t i = 0; i < SHEAVES; i++) {
		uintptr_t top = sheaf_new(CAPACITY);

		CHILD_CHECK(top);
		sheaf_base(top)[USLAB_SHEAF_CAPACITY] = (void *)i;
		owner[i] = 1;
		os_act_as_cpu((unsigned int)i % CPUS);
		CHILD_CHECK(put(i % 2 ? with_objects(top) : top));
	}
}

/* Each sheaf is there once. */
static void count_all(void)
{
	unsigned int n = 0;
	uintptr_t top;

	depot_check(&depot);
	for (unsigned int kind = 0; kind < DEPOT_KINDS; kind++) {
		while ((top = depot_take(&depot, kind))) {
			own(top);
			CHILD_CHECK(!sheaf_count(top) == (kind == DEPOT_EMPTY));
			n++;
		}
	}
	CHILD_CHECK(n == SHEAVES);
}

/* The threads do their work, and one more disturbs them all that time. */
static void run_beside(void *(*disturber)(void *arg))
{
	pthread_t thread[THREADS];
	pthread_t other;

	CHILD_CHECK(!pthread_create(&other, NULL, disturber, NULL));
	for (uintptr_t i = 0; i < THREADS; i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, work, (void *)i));
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	store_relaxed(&over, true);
	pthread_join(other, NULL);
}

IN_CHILD(test_storm)
{
	floors_init(CPUS, 1);
	depot_init(&depot, &limits);
	depot_raise(&depot, SHEAVES);
	make_sheaves();
	depot_lower(&depot, SHEAVES);
	moves = 0;
	run_beside(disturb);
	CHILD_CHECK(moves > 100);
	count_all();
}

/* As a change of limits does, which takes no lane's lock. */
static void *change_batch(void *arg)
{
	(void)arg;
	seed = 3000;
	while (!load_relaxed(&over)) {
		store_relaxed(&depot.batch, 1 + (uint32_t)rand_r(&seed) % 16);
		sched_yield();
	}
	return NULL;
}

IN_CHILD(test_batch_changes)
{
	floors_init(CPUS, 1);
	depot_init(&depot, &limits);
	depot_raise(&depot, SHEAVES);
	make_sheaves();
	moves = 0;
	run_beside(change_batch);
	CHILD_CHECK(moves > 100);
	count_all();
}

/* The depot begins anew again and again, as when capacities change, while others use it. */
static void *renew(void *arg)
{
	(void)arg;
	seed = 2000;
	while (!load_relaxed(&over)) {
		struct depot_rest rest;
		uintptr_t top;

		pthread_mutex_lock(&renewing);
		depot_renew(&depot, &limits, &rest);
		depot_raise(&depot, SHEAVES);
		for (unsigned int kind = 0; kind < DEPOT_KINDS; kind++) {
			while ((top = depot_take(&rest.depot, kind))) {
				own(top);
				while (!put(top)) /* a lane that has quota left is busy */
					sched_yield();
			}
		}
		pthread_mutex_unlock(&renewing);
		sched_yield();
	}
	return NULL;
}

IN_CHILD(test_renew_meanwhile)
{
	floors_init(CPUS, 1);
	depot_init(&depot, &limits);
	depot_raise(&depot, SHEAVES);
	make_sheaves();
	run_beside(renew);
	count_all();
}

/*
 * All sheaves go to and fro between lanes; each thread has one at most, which it puts back into the
 * lane that it has it from, or has counted as a move. So whoever looks at the lanes one by one, and
 * sees no move, can have missed one of each thread in each lane, and one that is just about to be
 * counted. There is one more than that.
 */
#define MOVING ((CPUS + 1) * THREADS + 1)

static void *bounce(void *arg)
{
	unsigned int rounds = is_emulated() ? ROUNDS / 20 : ROUNDS;

	seed = (unsigned int)(uintptr_t)arg + 3000;
	for (unsigned int i = 0; i < rounds; i++) {
		uintptr_t top;

		os_act_as_cpu((unsigned int)rand_r(&seed) % CPUS);
		top = depot_get(&depot, DEPOT_FULL);
		while (top && !depot_put(&depot, DEPOT_FULL, top))
			sched_yield();
	}
	store_relaxed(&over, true);
	return NULL;
}

/* Who takes from any lane finds one, as there is always one, wherever it is just then. */
IN_CHILD(test_take_finds_what_moves)
{
	const struct depot_limits few = { CAPACITY, MOVING + 2, MOVING + 2 };
	pthread_t thread[THREADS];
	unsigned int takes = 0;

	floors_init(CPUS, 1);
	depot_init(&depot, &few);
	os_act_as_cpu(0);
	for (unsigned int i = 0; i < MOVING; i++)
		CHILD_CHECK(depot_put(&depot, DEPOT_FULL, with_objects(sheaf_new(CAPACITY))));
	for (uintptr_t i = 0; i < THREADS; i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, bounce, (void *)i));
	while (!load_relaxed(&over) || takes <= 10) {
		uintptr_t top = depot_take(&depot, DEPOT_FULL);

		CHILD_CHECK(top);
		takes++;
		while (!depot_put(&depot, DEPOT_FULL, top))
			sched_yield();
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHILD_CHECK(depot.nr_moves > 10);
	depot_check(&depot);
}

/* ---- lanes are sorted while others use them: each object has one owner ---- */

#define SORTED_CPUS 2u
#define SORTED_SHEAVES 300u
#define NR_OBJECTS (SORTED_SHEAVES * CAPACITY)

static uint8_t held[NR_OBJECTS]; /* 1: by a thread. Atomic */
static uint64_t ms;		 /* each look at the clock is in another unit of time. Atomic */
static unsigned long sorts;	 /* atomic */

static uint64_t clock_that_runs(void)
{
	return __atomic_add_fetch(&ms, SORT_MS, __ATOMIC_RELAXED);
}

static void hold_objects(uintptr_t top, bool hold)
{
	for (; *(void **)top; top -= sizeof(void *)) {
		size_t at = *(uintptr_t *)top / CACHE_LINE - 1;

		CHILD_CHECK(at < NR_OBJECTS);
		CHILD_CHECK(__atomic_exchange_n(&held[at], hold, __ATOMIC_RELAXED) == !hold);
	}
}

/* A sheaf with the objects of its number. */
static uintptr_t sheaf_of_own(unsigned int number)
{
	uintptr_t top = sheaf_new(CAPACITY);

	CHILD_CHECK(top);
	for (unsigned int i = 0; i < CAPACITY; i++) {
		top += sizeof(void *);
		*(uintptr_t *)top = CACHE_LINE * (1 + number + (uintptr_t)i * SORTED_SHEAVES);
	}
	return top;
}

static void *take_and_sort(void *arg)
{
	unsigned int rounds = is_emulated() ? ROUNDS / 20 : ROUNDS / 4;

	seed = (unsigned int)(uintptr_t)arg + 4000;
	for (unsigned int i = 0; i < rounds; i++) {
		uintptr_t top;

		os_act_as_cpu((unsigned int)rand_r(&seed) % SORTED_CPUS);
		if (rand_r(&seed) % 16 == 0 && depot_sort(&depot))
			fetch_add(&sorts, 1);
		top = depot_take(&depot, DEPOT_FULL);
		if (!top)
			continue;
		hold_objects(top, true);
		yield_sometimes();
		hold_objects(top, false);
		while (!depot_put(&depot, DEPOT_FULL, top))
			sched_yield();
	}
	return NULL;
}

IN_CHILD(test_sorts)
{
	const struct depot_limits wide = { CAPACITY, 2 * SORTED_SHEAVES, 2 * SORTED_SHEAVES };
	pthread_t thread[THREADS];
	unsigned int n = 0;
	uintptr_t top;

	floors_init(SORTED_CPUS, 1);
	depot_clock = clock_that_runs;
	depot_init(&depot, &wide);
	for (unsigned int i = 0; i < SORTED_SHEAVES; i++) {
		os_act_as_cpu(i % SORTED_CPUS);
		CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_of_own(i)));
	}
	for (uintptr_t i = 0; i < THREADS; i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, take_and_sort, (void *)i));
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHILD_CHECK(sorts > 10);
	depot_check(&depot);
	for (; (top = depot_take(&depot, DEPOT_FULL)); n++)
		hold_objects(top, true);
	CHILD_CHECK(n == SORTED_SHEAVES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_batch_changes),
		cmocka_unit_test(test_renew_meanwhile),
		cmocka_unit_test(test_take_finds_what_moves),
		cmocka_unit_test(test_sorts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
