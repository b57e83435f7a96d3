/* SPDX-License-Identifier: MIT */
/*
 * unit/front/array_near_test.c - arrays of scattered objects are exchanged for neighbours, those of
 * slabs of other CPUs for objects of own ones
 *
 * The fake engine's objects lie on 16 pages, 64 on each. By column: each object on another page.
 */
#include "array_fixture.h"
#include "front/array_sheaf.h"
#include "front/depot.h"
#include "page/realtime.h"
#include "threads.h"

#define FULL 31u
#define PAGES FAKE_PAGES
#define ON_PAGE (FAKE_OBJECTS / PAGES)
#define COLUMNS 12u /* that come back scattered: 192 objects, six arrays and some more */
#define SPARE 16u   /* columns that the engine has: neighbours for some eight arrays */

static uint64_t now = 1000ul * DEPOT_EPOCH_MS;
static unsigned int near_calls;
static bool near_is_scattered; /* the engine has but those that lie apart */
static void *objects[FAKE_OBJECTS];

static uint64_t clock_of_test(void)
{
	return load_relaxed(&now);
}

static void next_epoch(void)
{
	__atomic_fetch_add(&now, DEPOT_EPOCH_MS, __ATOMIC_RELAXED);
}

/* Free objects, column by column. */
static unsigned int take_by_column(struct fake *f, void **objs, unsigned int want)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < FAKE_OBJECTS && n < want; i++) {
		unsigned int at = i % PAGES * ON_PAGE + i / PAGES;

		if (f->out[at])
			continue;
		f->out[at] = true;
		f->nr_out++;
		objs[n++] = f->memory + (size_t)at * FAKE_SIZE;
	}
	return n;
}

static unsigned int fake_refill_near(struct engine *e, void **objs, unsigned int want)
{
	near_calls++;
	if (near_is_scattered)
		return take_by_column(fake_of(e), objs, want);
	return fake_refill(e, objs, want, GFP_KERNEL, NUMA_NO_NODE);
}

static const struct engine_ops near_ops = {
	.name = "near",
	.refill = fake_refill,
	.refill_near = fake_refill_near,
	.flush = fake_flush,
};

static struct depot *depot_here(void)
{
	return &front.depot[os_current_node()];
}

static void *object_at(unsigned int page, unsigned int column)
{
	return objects[page * ON_PAGE + column];
}

/*
 * All objects out; those of the last `spare` columns back in the engine, past the front; and those
 * of the first COLUMNS freed, column by column, or page by page.
 */
static void use(const struct engine_ops *ops, unsigned int spare, bool by_column)
{
	unsigned int nr = PAGES * COLUMNS;

	here();
	depot_clock = clock_of_test;
	make(FULL);
	fake.e.ops = ops;
	for (unsigned int i = 0; i < FAKE_OBJECTS; i++) {
		void *obj = get();

		objects[number(obj)] = obj;
	}
	for (unsigned int page = 0; page < PAGES; page++)
		for (unsigned int i = 0; i < spare; i++)
			fake_flush(&fake.e, &objects[page * ON_PAGE + ON_PAGE - 1 - i], 1);
	for (unsigned int i = 0; i < nr; i++)
		put(by_column ? object_at(i % PAGES, i / PAGES)
			      : object_at(i / COLUMNS, i % COLUMNS));
	CHILD_CHECK(depot_count(depot_here(), DEPOT_FULL) >= 3);
	balance(FAKE_OBJECTS - PAGES * (COLUMNS + spare));
	near_calls = fake.flushes = 0;
}

/* What the CPU's array has is handed out as it is. */
static unsigned int empty_the_array(void)
{
	unsigned int nr = 0;

	for (; sheaf_count_at(*percpu_word(ID, percpu_cpu()), FULL); nr++)
		CHILD_CHECK(get());
	return nr;
}

/* The objects of one array, as they are handed out; on how many pages they lie. */
static unsigned int pages_of_next(void **p)
{
	uint32_t pages = 0;

	for (unsigned int i = 0; i < FULL; i++) {
		CHILD_CHECK((p[i] = get()));
		pages |= 1u << number(p[i]) / ON_PAGE;
	}
	return (unsigned int)__builtin_popcount(pages);
}

/* The spare, and then those of the depot: each in exchange for neighbours, ascending. */
BOTH_MODES(test_exchange)
{
	unsigned int nr;
	void *p[FULL];

	use(&near_ops, SPARE, true);
	nr = FAKE_OBJECTS - PAGES * (COLUMNS + SPARE) + empty_the_array();
	CHILD_CHECK(near_calls == 0);
	for (unsigned int i = 1; i <= 3; i++) {
		/* the fake gives what went back a moment ago as well, if it lies further down */
		CHILD_CHECK(pages_of_next(p) <= 8);
		CHILD_CHECK(near_calls == i && depot_here()->nr_exchanges == i);
		CHILD_CHECK(fake.flushes == i && fake.last_flush == FULL);
		for (unsigned int k = 1; k < FULL; k++)
			CHILD_CHECK(p[k] > p[k - 1]);
		balance(nr + i * FULL);
	}
}

/* Objects that came back page by page are handed out as they are. */
BOTH_MODES(test_neighbours_stay)
{
	void *p[FULL];

	use(&near_ops, SPARE, false);
	empty_the_array();
	for (unsigned int i = 0; i < 4; i++)
		CHILD_CHECK(pages_of_next(p) <= 4);
	CHILD_CHECK(near_calls == 0 && fake.flushes == 0 && depot_here()->nr_exchanges == 0);
}

/* The misses of a pause, of scattered arrays: puts and gets by turns. */
static void misses(unsigned int nr)
{
	void *p[2 * FULL];

	while (nr--) {
		for (unsigned int i = 0; i < 2 * FULL; i++)
			p[i] = get();
		for (unsigned int i = 0; i < 2 * FULL; i++)
			put(p[i]);
	}
}

static void finds_none(unsigned int spare)
{
	unsigned int in_use = FAKE_OBJECTS - PAGES * (COLUMNS + spare);
	void *p[FULL];

	use(&near_ops, spare, true);
	in_use += empty_the_array();
	CHILD_CHECK(pages_of_next(p) > 11); /* as they came back */
	CHILD_CHECK(near_calls == 1 && depot_here()->nr_exchanges == 0);
	balance(in_use + FULL);
	misses(64); /* nobody asks again in this epoch */
	CHILD_CHECK(near_calls == 1);
	next_epoch();
	misses(64);
	CHILD_CHECK(near_calls == 2 && depot_here()->nr_exchanges == 0);
	balance(in_use + FULL);
}

BOTH_MODES(test_none_free)
{
	finds_none(0);
	CHILD_CHECK(fake.flushes == 0);
}

/* What it has lies apart as well: that goes back, and the array is handed out. */
BOTH_MODES(test_none_together)
{
	near_is_scattered = true;
	finds_none(SPARE);
	CHILD_CHECK(fake.flushes == 2);
}

static unsigned int exchanges_of(unsigned int arrays)
{
	void *p[FULL];

	for (unsigned int i = 0; i < arrays; i++)
		pages_of_next(p);
	return depot_here()->nr_exchanges;
}

BOTH_MODES(test_most)
{
	array_near_most = 2;
	use(&near_ops, SPARE, true);
	empty_the_array();
	CHILD_CHECK(exchanges_of(4) == 2);
}

BOTH_MODES(test_most_in_each_epoch)
{
	array_near_most = 1;
	use(&near_ops, SPARE, true);
	empty_the_array();
	CHILD_CHECK(exchanges_of(1) == 1);
	next_epoch();
	CHILD_CHECK(exchanges_of(1) == 2);
	CHILD_CHECK(exchanges_of(1) == 2);
}

/* Neighbours, and the slab of all of them is that of another CPU, or of this one. */
static void use_slab_of(bool other)
{
	unsigned int own;

	use(&near_ops, SPARE, false);
	own = (unsigned int)percpu_cpu() % ENGINE_LANES;
	fake.e.lanes = true;
	engine_set_slab_lane(page_head_of(fake.memory), (own + other) % ENGINE_LANES);
	empty_the_array();
	fake.refills = 0;
}

BOTH_MODES(test_slab_of_another_cpu)
{
	use_slab_of(true);
	CHILD_CHECK(exchanges_of(2) == 2 && fake.refills == 2 && near_calls == 0);
}

BOTH_MODES(test_slab_of_this_cpu)
{
	use_slab_of(false);
	CHILD_CHECK(exchanges_of(2) == 0 && fake.refills == 0);
}

BOTH_MODES(test_slab_of_nobody)
{
	use_slab_of(true);
	page_head_of(fake.memory)->stamp = 0;
	CHILD_CHECK(exchanges_of(2) == 0 && fake.refills == 0);
}

BOTH_MODES(test_slab_of_another_cpu_most)
{
	array_near_most = 1;
	use_slab_of(true);
	CHILD_CHECK(exchanges_of(2) == 1);
}

/* No memory for others: it is handed out as it is. */
BOTH_MODES(test_slab_of_another_cpu_no_memory)
{
	use_slab_of(true);
	fake.budget = 0;
	CHILD_CHECK(exchanges_of(1) == 0 && fake.refills == 1 && fake.flushes == 0);
}

BOTH_MODES(test_off)
{
	array_near_most = 0;
	use(&near_ops, SPARE, true);
	empty_the_array();
	CHILD_CHECK(exchanges_of(4) == 0 && near_calls == 0);
}

/* Engines that cannot, and large objects. */
BOTH_MODES(test_engine_cannot)
{
	use(&fake_ops, SPARE, true);
	empty_the_array();
	CHILD_CHECK(exchanges_of(4) == 0 && fake.flushes == 0);
}

BOTH_MODES(test_large_objects)
{
	use(&near_ops, SPARE, true);
	fake.e.size = 1024;
	empty_the_array();
	CHILD_CHECK(exchanges_of(4) == 0 && near_calls == 0);
}

/* ---- together with others ---- */

static unsigned int locked_by_column(struct engine *e, void **objs, unsigned int want,
				     __attribute__((unused)) gfp_t gfp,
				     __attribute__((unused)) int node)
{
	unsigned int n;

	pthread_mutex_lock(&shared.lock);
	n = take_by_column(fake_of(e), objs, want);
	pthread_mutex_unlock(&shared.lock);
	return n;
}

static unsigned int locked_refill_near(struct engine *e, void **objs, unsigned int want)
{
	unsigned int n;

	pthread_mutex_lock(&shared.lock);
	n = fake_refill_near(e, objs, want);
	pthread_mutex_unlock(&shared.lock);
	usleep(100); /* between the two steps, in which this thread has both */
	return n;
}

static const struct engine_ops near_locked_ops = {
	.name = "near and locked",
	.refill = locked_by_column,
	.refill_near = locked_refill_near,
	.flush = locked_flush,
};

#define EACH 150u

/* On CPUs in turn; what comes from the engine is scattered. */
static void *churn(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg;
	void *p[EACH];

	for (unsigned int round = 0; round < 200; round++) {
		if (os_topology.made_up)
			os_act_as_cpu((round + me) % 4);
		for (unsigned int i = 0; i < EACH; i++) {
			p[i] = get_in_time();
			CHILD_CHECK(cmpxchg(&shared.owner[number(p[i])], 0u, me));
		}
		for (unsigned int i = 0; i < EACH; i++) {
			CHILD_CHECK(cmpxchg(&shared.owner[number(p[i])], me, 0u));
			put(p[i]);
		}
	}
	return NULL;
}

static void *drain(void *arg)
{
	for (unsigned int i = 0; !load_relaxed(&shared.stop); i++) {
		next_epoch();
		if (i % 4 == 0)
			front.ops->drain(&front);
		if (i % 16 == 8)
			CHILD_CHECK(front.ops->set_capacity(&front, i % 32 == 8 ? 20 : FULL) == 0);
		usleep(200);
	}
	return arg;
}

/* Each object has one owner at a time, while the front is drained and its capacity changes. */
BOTH_MODES(test_threads)
{
	depot_clock = clock_of_test;
	make(FULL);
	fake.e.ops = &near_locked_ops;
	threads_run_beside(4, churn, drain, &shared.stop);
	balance(0);
	CHILD_CHECK(near_calls > 0);
	front.ops->drain(&front);
	CHILD_CHECK(fake.nr_out == 0);
	front.ops->destroy(&front);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exchange),
		cmocka_unit_test(test_neighbours_stay),
		cmocka_unit_test(test_none_free),
		cmocka_unit_test(test_none_together),
		cmocka_unit_test(test_most),
		cmocka_unit_test(test_most_in_each_epoch),
		cmocka_unit_test(test_slab_of_another_cpu),
		cmocka_unit_test(test_slab_of_this_cpu),
		cmocka_unit_test(test_slab_of_nobody),
		cmocka_unit_test(test_slab_of_another_cpu_most),
		cmocka_unit_test(test_slab_of_another_cpu_no_memory),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_engine_cannot),
		cmocka_unit_test(test_large_objects),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
