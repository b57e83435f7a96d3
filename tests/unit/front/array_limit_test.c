/* SPDX-License-Identifier: MIT */
/*
 * unit/front/array_limit_test.c - depots that grow after underflows, and shrink when idle
 */
#include "array_fixture.h"
#include "front/array_sheaf.h"
#include "threads.h"

#define OBJECTS 1000u
#define ONE_KIB 1024u /* 8 sheaves of CAP such objects are 64 KiB: what a depot holds at first */
#define AT_FIRST 8u

static uint64_t now = 1000ul * DEPOT_EPOCH_MS; /* atomic */

static uint64_t clock_of_test(void)
{
	return load_relaxed(&now);
}

static void next_epoch(void)
{
	__atomic_fetch_add(&now, DEPOT_EPOCH_MS, __ATOMIC_RELAXED);
}

static struct depot *depot_here(void)
{
	return &front.depot[os_current_node()];
}

static void make_of(unsigned int size)
{
	depot_clock = clock_of_test;
	fake_init(&fake, size);
	CHILD_CHECK(front_make(&front, &front_array_ops, &fake, ID, CAP) == 0);
}

/* nr objects out and back. */
static void burst(unsigned int nr)
{
	void *p[OBJECTS];

	for (unsigned int i = 0; i < nr; i++)
		CHILD_CHECK((p[i] = get()));
	for (unsigned int i = 0; i < nr; i++)
		put(p[i]);
}

static void bursts(unsigned int rounds, unsigned int nr)
{
	while (rounds--)
		burst(nr);
	balance(0);
}

/* After some bursts all objects of one fit: the engine is not called any more. */
BOTH_MODES(test_bursts)
{
	here();
	make_of(ONE_KIB);
	CHILD_CHECK(depot_here()->max[DEPOT_FULL] == AT_FIRST);
	bursts(1, OBJECTS);
	CHILD_CHECK(depot_here()->max[DEPOT_FULL] == AT_FIRST && depot_here()->nr_overflows > 0);
	bursts(1, OBJECTS);
	CHILD_CHECK(depot_here()->max[DEPOT_FULL] == 2 * AT_FIRST &&
		    depot_here()->nr_underflows == 1);
	bursts(3, OBJECTS);
	CHILD_CHECK(depot_here()->max[DEPOT_FULL] == 16 * AT_FIRST);
	fake.refills = fake.flushes = 0;
	bursts(10, OBJECTS);
	CHILD_CHECK(fake.refills == 0 && fake.flushes == 0);
	CHILD_CHECK(depot_here()->nr_underflows == 4);
}

/* A program that frees for good, or allocates again only after a while: no more space. */
BOTH_MODES(test_no_underflow)
{
	here();
	make_of(ONE_KIB);
	for (unsigned int i = 0; i < 5; i++) {
		burst(OBJECTS);
		next_epoch();
		next_epoch();
	}
	CHILD_CHECK(depot_here()->max[DEPOT_FULL] == AT_FIRST && depot_here()->nr_underflows == 0);
	CHILD_CHECK(depot_here()->nr_overflows > 0);
	balance(0);
}

static unsigned int steps_of_reap(void)
{
	unsigned int steps = 0;
	unsigned int flushes;

	do {
		flushes = fake.flushes;
		array_limit_reap();
		steps += fake.flushes != flushes;
		CHILD_CHECK(fake.flushes - flushes <= 4); /* a step is short */
		front.ops->check(&front);
	} while (fake.flushes != flushes);
	return steps;
}

/* What nobody took for an epoch goes back, a few sheaves at a time, and the space with it. */
BOTH_MODES(test_idle)
{
	size_t used;

	here();
	make_of(ONE_KIB);
	used = used_but_lanes(&front);
	bursts(6, OBJECTS);
	CHILD_CHECK(depot_count(depot_here(), DEPOT_FULL) > 100);
	next_epoch();
	CHILD_CHECK(steps_of_reap() == 0); /* in the epoch that ends it was empty once */
	next_epoch();
	CHILD_CHECK(steps_of_reap() > 20);
	CHILD_CHECK(depot_count(depot_here(), DEPOT_FULL) == AT_FIRST &&
		    depot_here()->max[DEPOT_FULL] < 2 * AT_FIRST);
	balance(0);
	for (unsigned int i = 0; i < 5; i++) {
		next_epoch();
		CHILD_CHECK(steps_of_reap() == 0);
	}
	CHILD_CHECK(depot_here()->max[DEPOT_FULL] == AT_FIRST && !depot_here()->growth);
	front.ops->drain(&front);
	CHILD_CHECK(used_but_lanes(&front) == used && fake.nr_out == 0);
}

/* What is used in every epoch stays, whatever else lies there goes. */
BOTH_MODES(test_partly_idle)
{
	here();
	make_of(ONE_KIB);
	bursts(6, OBJECTS);
	for (unsigned int i = 0; i < 8; i++) {
		next_epoch();
		burst(400);
		steps_of_reap();
	}
	CHILD_CHECK(depot_count(depot_here(), DEPOT_FULL) >= 400 / CAP - 2 &&
		    depot_count(depot_here(), DEPOT_FULL) < 80);
	fake.refills = fake.flushes = 0;
	burst(400);
	CHILD_CHECK(fake.refills == 0 && fake.flushes == 0);
	balance(0);
}

/* A miss of another cache does the steps. */
BOTH_MODES(test_another_cache)
{
	static struct fake other_fake;
	static struct front other;
	unsigned int before;

	here();
	make_of(ONE_KIB);
	bursts(6, OBJECTS);
	next_epoch();
	array_limit_reap();
	next_epoch();
	before = depot_count(depot_here(), DEPOT_FULL);
	fake_init(&other_fake, ONE_KIB);
	CHILD_CHECK(front_make(&other, &front_array_ops, &other_fake, ID + 1, CAP) == 0);
	for (unsigned int i = 0; i < 5 * CAP; i++)
		CHILD_CHECK(other.ops->alloc(&other, GFP_KERNEL, NUMA_NO_NODE));
	CHILD_CHECK(depot_count(depot_here(), DEPOT_FULL) == before - 5 * 4);
	balance(0);
}

/* ---- many depots ---- */

#define MANY 20u /* more than one step looks at */
#define LOOKS 16u
#define SMALL 4u /* objects in a sheaf: depots hold 4 sheaves of pages at first */

static struct front many[MANY];

static struct depot *depot_of(unsigned int i)
{
	return &many[i].depot[os_current_node()];
}

/* Sheaves with objects, the fewest since the epoch began. */
static unsigned int low_of(const struct depot *d)
{
	unsigned int low = 0;

	for (unsigned int i = 0; d->lanes && i < d->nr_lanes; i++)
		low += d->lanes[i].stack[DEPOT_FULL].low;
	return low;
}

/*
 * The first nr of many, over one engine, of objects of that size: each depot has grown, is full and
 * not used any more.
 */
static void make_many(unsigned int size, unsigned int nr, unsigned int sheaves)
{
	unsigned int objects = (sheaves + 2) * SMALL; /* 2: the CPU's array and spare */
	void *p[OBJECTS];

	make_of(size);
	CHILD_CHECK(buddy_alloc(-1, BUDDY_MAX_ORDER, false, NULL)); /* in use: they may grow */
	for (unsigned int i = 0; i < nr; i++) {
		struct front *f = &many[i];

		CHILD_CHECK(front_make(f, &front_array_ops, &fake, ID + 1 + i, SMALL) == 0);
		while (depot_count(depot_of(i), DEPOT_FULL) < sheaves) {
			for (unsigned int k = 0; k < objects; k++) {
				store_relaxed(&array_limit_large, 0); /* nobody is looked at */
				CHILD_CHECK((p[k] = f->ops->alloc(f, GFP_KERNEL, NUMA_NO_NODE)));
			}
			for (unsigned int k = 0; k < objects; k++)
				f->ops->free(f, p[k]);
		}
		CHILD_CHECK(low_of(depot_of(i)) == 0 &&
			    depot_count(depot_of(i), DEPOT_FULL) == sheaves);
	}
}

/* Depots of the first nr whose epoch has begun: of these low is what they hold. */
static unsigned int looked_at(unsigned int nr)
{
	unsigned int looks = 0;

	for (unsigned int i = 0; i < nr; i++)
		looks += low_of(depot_of(i)) > 0;
	return looks;
}

/* However many depots have grown, a step looks at a bounded number. */
BOTH_MODES(test_looks_are_bounded)
{
	here();
	make_many(PAGE_SIZE, MANY, 8);
	next_epoch();
	array_limit_reap();
	CHILD_CHECK(looked_at(MANY) == LOOKS);
	array_limit_reap();
	CHILD_CHECK(looked_at(MANY) == MANY);
}

/* It gives back no more than the sheaves of one step in all, and all get their turn. */
BOTH_MODES(test_sheaves_are_bounded)
{
	here();
	make_many(PAGE_SIZE, 3, 16);
	next_epoch();
	array_limit_reap();
	next_epoch();
	for (unsigned int i = 0; i < 9; i++) {
		fake.flushes = 0;
		array_limit_reap();
		CHILD_CHECK(fake.flushes == 4);
		CHILD_CHECK(depot_count(depot_of(i % 3), DEPOT_FULL) == 16 - 4 * (i / 3 + 1));
	}
	for (unsigned int i = 0; i < 3; i++) {
		CHILD_CHECK(depot_count(depot_of(i), DEPOT_FULL) == 4); /* as at first */
		many[i].ops->check(&many[i]);
	}
}

/* What is still due when an epoch ends comes before what becomes due then. */
BOTH_MODES(test_late_steps)
{
	here();
	make_many(PAGE_SIZE, 2, 16);
	next_epoch();
	array_limit_reap();
	next_epoch();
	for (unsigned int i = 0; i < 6; i++) {
		array_limit_reap();
		next_epoch();
	}
	CHILD_CHECK(depot_count(depot_of(0), DEPOT_FULL) == 4 &&
		    depot_count(depot_of(1), DEPOT_FULL) == 4);
}

/*
 * All depots together get no more than what is in use, what has just overflowed included, and 1 MiB
 * while that is less.
 */
BOTH_MODES(test_share)
{
	const unsigned int sheaf = CAP * PAGE_SIZE;
	const unsigned int least = 2 + (1u << 20) / sheaf;
	unsigned int max;

	here();
	make_of(PAGE_SIZE);
	CHILD_CHECK(depot_here()->max[DEPOT_FULL] == 2);
	CHILD_CHECK(buddy_used() << PAGE_SHIFT < 1ul << 20);
	bursts(8, 40 * CAP); /* beyond what grows there overflow six sheaves */
	CHILD_CHECK(depot_here()->max[DEPOT_FULL] == least);
	bursts(8, OBJECTS);
	max = depot_here()->max[DEPOT_FULL];
	CHILD_CHECK(max > least);
	CHILD_CHECK((max - 2) * sheaf <= (buddy_used() << PAGE_SHIFT) + OBJECTS / CAP * sheaf);
	CHILD_CHECK(buddy_alloc(-1, 8, false, NULL)); /* 1 MiB */
	bursts(8, OBJECTS);
	CHILD_CHECK(depot_here()->max[DEPOT_FULL] > max);
}

/* Who only exchanges arrays gives back what nobody used, as well. */
BOTH_MODES(test_ages)
{
	unsigned int looks = 0;

	here();
	make_of(ONE_KIB);
	array_limit_age(0); /* nothing waits */
	bursts(6, OBJECTS);
	for (unsigned int i = 0; i < 2; i++) {
		next_epoch();
		for (unsigned int k = 0; k < 64; k++)
			array_limit_age(0);
	}
	for (; depot_count(depot_here(), DEPOT_FULL) > AT_FIRST; looks++) {
		unsigned int flushes = fake.flushes;

		CHILD_CHECK(looks < 100);
		array_limit_age(0);
		CHILD_CHECK(fake.flushes - flushes <= 8); /* two steps */
	}
	balance(0);
}

/* Objects of more than 32 KiB, which no class has, are fetched from their slabs. */
BOTH_MODES(test_large_objects)
{
	here();
	make_of(8 * PAGE_SIZE + 8);
	bursts(4, OBJECTS);
	CHILD_CHECK(depot_here()->nr_underflows > 0 && !depot_here()->growth);
}

/* Smaller ones are kept, also where a depot holds none at first. */
BOTH_MODES(test_buffers)
{
	here();
	make_of(8 * PAGE_SIZE);
	CHILD_CHECK(depot_here()->max[DEPOT_FULL] == 0);
	bursts(6, 5 * CAP);
	fake.refills = fake.flushes = 0;
	bursts(3, 5 * CAP);
	CHILD_CHECK(fake.refills == 0 && fake.flushes == 0);
	next_epoch();
	steps_of_reap();
	next_epoch();
	steps_of_reap();
	CHILD_CHECK(depot_count(depot_here(), DEPOT_FULL) == 0);
	balance(0);
}

/* Its arrays were taken away after an overflow: a depot that takes none gets no space. */
BOTH_MODES(test_without_capacity)
{
	here();
	make_of(ONE_KIB);
	bursts(1, OBJECTS);
	CHILD_CHECK(depot_may_underflow(depot_here()));
	depot_here()->capacity = 0;
	array_limit_underflow(&front, depot_here());
	CHILD_CHECK(depot_here()->nr_underflows == 1 && !depot_here()->growth);
}

/* ---- large objects are reaped as memory is taken ---- */

#define LARGE (4 * PAGE_SIZE)
#define LOOK_BYTES (64u << 10)
#define LARGES 8u

/* The objects of all of these sheaves, and of those of the CPU, are in use, and then not. */
static void use_all(struct front *f, unsigned int sheaves)
{
	unsigned int objects = (sheaves + 2) * SMALL;
	void *p[OBJECTS];

	for (unsigned int k = 0; k < objects; k++)
		CHILD_CHECK((p[k] = f->ops->alloc(f, GFP_KERNEL, NUMA_NO_NODE)));
	for (unsigned int k = 0; k < objects; k++)
		f->ops->free(f, p[k]);
}

/* Two fronts of large objects over one engine: the first one's depot has grown, to nr sheaves. */
static void make_two(unsigned int nr)
{
	make_of(LARGE);
	CHILD_CHECK(buddy_alloc(-1, BUDDY_MAX_ORDER, false, NULL)); /* in use: they may grow */
	for (unsigned int i = 0; i < 2; i++)
		CHILD_CHECK(front_make(&many[i], &front_array_ops, &fake, ID + 1 + i, SMALL) == 0);
	while (depot_count(depot_of(0), DEPOT_FULL) < nr)
		use_all(&many[0], nr);
	CHILD_CHECK(load_relaxed(&array_limit_large) == 1);
}

static unsigned int full_of(const struct depot *d)
{
	return depot_count(d, DEPOT_FULL);
}

/*
 * Who takes memory has what nobody used go back, within an epoch: a first look tells what lies
 * there, each later one gives back twice what is taken, but a quarter at most. Their space goes
 * with them, and no other.
 */
BOTH_MODES(test_large_objects_are_reaped)
{
	const unsigned int twice = 2 * LOOK_BYTES / (SMALL * LARGE);
	unsigned int max;

	here();
	make_two(16);
	max = depot_of(0)->max[DEPOT_FULL];
	array_limit_reap_large(LOOK_BYTES, NULL);
	CHILD_CHECK(full_of(depot_of(0)) == 16 && depot_of(0)->max[DEPOT_FULL] == max);
	for (unsigned int nr = 16, less; nr >= 4; nr -= less) {
		less = MIN(twice, nr / 4);
		for (unsigned int i = 0; i < 4; i++) {
			CHILD_CHECK(full_of(depot_of(0)) == nr); /* not yet */
			array_limit_reap_large(LOOK_BYTES / 4, NULL);
		}
		CHILD_CHECK(full_of(depot_of(0)) == nr - less);
		many[0].ops->check(&many[0]);
	}
	array_limit_reap_large(LOOK_BYTES, NULL);
	CHILD_CHECK(full_of(depot_of(0)) == 3 && depot_of(0)->max[DEPOT_FULL] == max - 13);
	CHILD_CHECK(fake.nr_out == many[0].ops->held(&many[0]));
}

/*
 * Depots that have grown; who grows last takes some of others. Then each is full, and was used
 * since anybody looked at it. Returns how many sheaves they have.
 */
static unsigned int make_larges(void)
{
	unsigned int sheaves = 0;

	make_many(2 * PAGE_SIZE, LARGES, 8);
	store_relaxed(&array_limit_large, 0); /* nobody is looked at */
	for (unsigned int i = 0; i < LARGES; i++) {
		use_all(&many[i], depot_of(i)->max[DEPOT_FULL]);
		CHILD_CHECK(full_of(depot_of(i)) == depot_of(i)->max[DEPOT_FULL]);
		CHILD_CHECK(full_of(depot_of(i)) >= 4);
		sheaves += full_of(depot_of(i));
	}
	CHILD_CHECK(looked_at(LARGES) == 0);
	store_relaxed(&array_limit_large, LARGES);
	return sheaves;
}

static unsigned int full_of_larges(void)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < LARGES; i++)
		nr += full_of(depot_of(i));
	return nr;
}

/*
 * 4 MiB are held and some, an eighth of which is taken in eight calls: each looks at one more, and
 * again at the one that was in use when the last call looked. All get a turn, nothing goes back.
 */
BOTH_MODES(test_few_looks)
{
	bool had_turn[LARGES] = { false };
	unsigned int nr;

	here();
	nr = make_larges();
	for (unsigned int i = 0; i <= LARGES; i++) {
		array_limit_reap_large(LOOK_BYTES, NULL);
		/* the first call looks at those, too, that were looked at when others grew */
		CHILD_CHECK(i == 0 || looked_at(LARGES) == 2);
		CHILD_CHECK(full_of_larges() == nr);
		for (unsigned int k = 0; k < LARGES; k++) {
			had_turn[k] |= low_of(depot_of(k)) > 0;
			use_all(&many[k], full_of(depot_of(k)));
		}
	}
	/* four times as much, and again at the one of the last call */
	array_limit_reap_large(4 * LOOK_BYTES, NULL);
	CHILD_CHECK(looked_at(LARGES) == 5);
	for (unsigned int k = 0; k < LARGES; k++)
		CHILD_CHECK(had_turn[k]);
}

/*
 * Who has some is looked at until it has none, by each call, so that memory comes back nearly as if
 * all were looked at: more than two sheaves for each call, of four at most.
 */
BOTH_MODES(test_soon)
{
	const unsigned int twice = 2 * LOOK_BYTES / (SMALL * 2 * PAGE_SIZE);
	unsigned int calls;
	unsigned int nr;

	here();
	nr = make_larges();
	for (calls = (nr - 3 * LARGES) / 2; nr > 3 * LARGES; calls--) {
		CHILD_CHECK(calls > 0);
		array_limit_reap_large(LOOK_BYTES, NULL);
		CHILD_CHECK(full_of_larges() <= nr && full_of_larges() + twice >= nr);
		nr = full_of_larges();
	}
	for (unsigned int i = 0; i < LARGES; i++) {
		CHILD_CHECK(full_of(depot_of(i)) == 3);
		many[i].ops->check(&many[i]);
	}
}

/* A front that goes is looked at no more, in whichever list it was, and others are as before. */
BOTH_MODES(test_forgotten)
{
	struct front *last = &many[LARGES - 1];

	here();
	make_larges();
	for (unsigned int i = 0; i < 4; i++) /* some are to be looked at soon */
		array_limit_reap_large(LOOK_BYTES, NULL);
	for (unsigned int i = 0; i < LARGES - 1; i++) {
		CHILD_CHECK(load_relaxed(&array_limit_large) == LARGES - i);
		front.ops->drain(&many[i]);
		array_limit_forget(&many[i]);
	}
	use_all(last, full_of(depot_of(LARGES - 1)));
	for (unsigned int i = 0; i < 4 * LARGES; i++)
		array_limit_reap_large(LOOK_BYTES, NULL);
	CHILD_CHECK(full_of(depot_of(LARGES - 1)) == 3);
	front.ops->drain(last);
	array_limit_forget(last);
	CHILD_CHECK(load_relaxed(&array_limit_large) == 0);
	array_limit_reap_large_slow(LOOK_BYTES, NULL);
	array_limit_reap_large_slow(4ul << 20, NULL);
}

/* Of much at once all that it needs, although it was used just before. */
BOTH_MODES(test_much_at_once)
{
	here();
	make_two(16);
	array_limit_reap_large(4ul << 20, NULL);
	CHILD_CHECK(full_of(depot_of(0)) == 3);
}

/* Of all that have some. */
BOTH_MODES(test_much_of_many)
{
	here();
	make_larges();
	array_limit_reap_large(4ul << 20, NULL);
	CHILD_CHECK(full_of_larges() == 3 * LARGES);
}

/* What is used between two calls stays, and so does the depot that asks. */
BOTH_MODES(test_what_is_used_stays)
{
	here();
	make_two(16);
	use_all(&many[0], 16);
	fake.refills = fake.flushes = 0;
	for (unsigned int i = 0; i < 20; i++) {
		array_limit_reap_large(LOOK_BYTES, i % 2 ? depot_of(1) : NULL);
		CHILD_CHECK(full_of(depot_of(0)) == 16);
		use_all(&many[0], 16);
	}
	for (unsigned int i = 0; i < 20; i++)
		array_limit_reap_large(LOOK_BYTES, depot_of(0));
	CHILD_CHECK(full_of(depot_of(0)) == 16 && fake.refills == 0 && fake.flushes == 0);
}

/* A refill asks. */
BOTH_MODES(test_refills_reap)
{
	here();
	make_two(16);
	for (unsigned int i = 0; i < 40 * SMALL; i++)
		CHILD_CHECK(many[1].ops->alloc(&many[1], GFP_KERNEL, NUMA_NO_NODE));
	CHILD_CHECK(full_of(depot_of(0)) == 3);
	front.ops->drain(&many[0]);
	array_limit_forget(&many[0]);
	CHILD_CHECK(load_relaxed(&array_limit_large) == 0);
}

BOTH_MODES(test_destroyed)
{
	size_t used;

	here();
	make_of(ONE_KIB);
	front.ops->drain(&front);
	front.ops->destroy(&front);
	used = meta_counters.used;
	for (unsigned int i = 0; i < 3; i++) {
		make_of(ONE_KIB);
		bursts(6, OBJECTS);
		front.ops->drain(&front);
		front.ops->destroy(&front);
		CHILD_CHECK(meta_counters.used == used);
		next_epoch();
		array_limit_reap(); /* it knows nothing of the front any more */
	}
}

/* ---- threads ---- */

/* Epochs pass, all is reaped and drained meanwhile. */
static void *let_time_pass(void *arg)
{
	for (unsigned int i = 0; !load_relaxed(&shared.stop); i++) {
		next_epoch();
		for (unsigned int k = 0; k < 10; k++)
			array_limit_reap();
		if (i % 16 == 0)
			front.ops->drain(&front);
		usleep(i % 8 * 100);
	}
	return arg;
}

static void *reap_slowly(void *arg)
{
	store_relaxed(&shared.slow, pthread_self());
	while (!load_relaxed(&shared.is_flushing)) {
		next_epoch();
		array_limit_reap();
	}
	return arg;
}

/* When a drain has ended all is with the engine, also what a reap was about to return. */
BOTH_MODES(test_drain_beside_a_reap)
{
	pthread_t reaper;

	here();
	make_of(ONE_KIB);
	make_shared();
	bursts(6, OBJECTS);
	CHILD_CHECK(!pthread_create(&reaper, NULL, reap_slowly, NULL));
	while (!load_relaxed(&shared.is_flushing))
		usleep(100);
	front.ops->drain(&front);
	CHILD_CHECK(load_relaxed(&fake.nr_out) == 0);
	pthread_join(reaper, NULL);
	balance(0);
}

BOTH_MODES(test_threads)
{
	make_of(ONE_KIB);
	make_shared();
	threads_run_beside(4, burst_together, let_time_pass, &shared.stop);
	balance(0);
	front.ops->drain(&front);
	CHILD_CHECK(fake.nr_out == 0);
	front.ops->destroy(&front);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_no_underflow),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_partly_idle),
		cmocka_unit_test(test_another_cache),
		cmocka_unit_test(test_looks_are_bounded),
		cmocka_unit_test(test_sheaves_are_bounded),
		cmocka_unit_test(test_late_steps),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_ages),
		cmocka_unit_test(test_large_objects),
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_without_capacity),
		cmocka_unit_test(test_large_objects_are_reaped),
		cmocka_unit_test(test_few_looks),
		cmocka_unit_test(test_soon),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_much_at_once),
		cmocka_unit_test(test_much_of_many),
		cmocka_unit_test(test_what_is_used_stays),
		cmocka_unit_test(test_refills_reap),
		cmocka_unit_test(test_destroyed),
		cmocka_unit_test(test_drain_beside_a_reap),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
