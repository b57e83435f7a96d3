/* SPDX-License-Identifier: MIT */
/*
 * unit/front/depot_sort_test.c - objects of a lane in order of their addresses
 */
#include <sys/resource.h>

#include "bare.h"
#include "child.h"
#include "depot_fixture.h"
#include "page/run.h"

#define LEAST 64u  /* sheaves */
#define MOST 1024u /* at once */
#define UNIT 64u   /* bytes: objects of one cache line count as equal */
#define NEXT_MS 16u

static uint64_t now = 1000ul * NEXT_MS;
static const struct depot_limits many = { CAPACITY, 4 * MOST, 4 * MOST };

static uint64_t clock_of_test(void)
{
	return now;
}

static void start(void)
{
	depot_clock = clock_of_test;
	make();
	init_as(&many);
}

/* The i-th of n addresses, each of which comes once, in no order that shows. n is no multiple. */
static uintptr_t scattered(unsigned int i, unsigned int n)
{
	return UNIT * (1 + (uintptr_t)i * 7919 % n);
}

/* So many sheaves of this CPU, with all of the addresses. */
static void fill_scattered(struct depot *d, unsigned int sheaves)
{
	for (unsigned int i = 0; i < sheaves; i++) {
		uintptr_t top = sheaf_new(CAPACITY);

		for (unsigned int k = 0; k < CAPACITY; k++) {
			top += sizeof(void *);
			*(void **)top = (void *)scattered(i * CAPACITY + k, sheaves * CAPACITY);
		}
		CHILD_CHECK(depot_put(d, DEPOT_FULL, top));
	}
}

/* Takes a sheaf. Its objects, the first to go out first. */
static unsigned int take(uintptr_t objs[CAPACITY])
{
	uintptr_t top = depot_get(&depot, DEPOT_FULL);
	unsigned int nr = sheaf_count(top);

	for (unsigned int k = 0; k < nr; k++, top -= sizeof(void *))
		objs[k] = *(uintptr_t *)top;
	return nr;
}

/* The next sheaves have these addresses, one after the other. */
static void expect_ascending(unsigned int sheaves, uintptr_t first)
{
	uintptr_t objs[CAPACITY];

	for (unsigned int i = 0; i < sheaves; i++) {
		CHILD_CHECK(take(objs) == CAPACITY);
		for (unsigned int k = 0; k < CAPACITY; k++)
			CHILD_CHECK(objs[k] == first + UNIT * (i * CAPACITY + k));
	}
}

IN_CHILD(test_order)
{
	start();
	fill_scattered(&depot, LEAST);
	CHILD_CHECK(depot_sort(&depot));
	depot_check(&depot);
	CHILD_CHECK(depot_objects(&depot) == (unsigned long)LEAST * CAPACITY);
	expect_ascending(LEAST, UNIT);
}

IN_CHILD(test_few)
{
	uintptr_t objs[CAPACITY];

	start();
	CHILD_CHECK(!depot_sort(&depot));
	fill_scattered(&depot, LEAST - 1);
	CHILD_CHECK(!depot_sort(&depot));
	CHILD_CHECK(take(objs) == CAPACITY);
	CHILD_CHECK(objs[0] == scattered((LEAST - 1) * CAPACITY - 1, (LEAST - 1) * CAPACITY));
}

/* Once in a while, however often it is asked. */
IN_CHILD(test_seldom)
{
	start();
	fill_scattered(&depot, LEAST);
	CHILD_CHECK(depot_sort(&depot));
	fill_scattered(&depot, LEAST);
	CHILD_CHECK(!depot_sort(&depot));
	now += NEXT_MS;
	CHILD_CHECK(depot_sort(&depot));
	depot_check(&depot);
}

/* What is sorted in all depots together in that time is bounded. */
IN_CHILD(test_share)
{
	static struct depot others[2];

	start();
	fill_scattered(&depot, MOST);
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++) {
		depot_init(&others[i], &many);
		fill_scattered(&others[i], MOST);
	}
	CHILD_CHECK(depot_sort(&depot) && depot_sort(&others[0]) && !depot_sort(&others[1]));
	now += NEXT_MS;
	CHILD_CHECK(depot_sort(&others[1]));
}

/* The oldest lie as they did. */
IN_CHILD(test_newest)
{
	uintptr_t objs[CAPACITY];

	start();
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_of(CAPACITY, 5 * UNIT)));
	fill_scattered(&depot, MOST);
	CHILD_CHECK(depot_sort(&depot));
	depot_check(&depot);
	expect_ascending(MOST, UNIT);
	CHILD_CHECK(take(objs) == CAPACITY && objs[0] == 5 * UNIT + CAPACITY - 1);
}

/* Sheaves that are not full keep their place and their objects. */
IN_CHILD(test_not_full)
{
	uintptr_t objs[CAPACITY];

	start();
	fill_scattered(&depot, LEAST);
	CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_of(3, 1)));
	CHILD_CHECK(depot_sort(&depot));
	depot_check(&depot);
	CHILD_CHECK(take(objs) == 3 && objs[0] == 3 && objs[2] == 1);
	expect_ascending(LEAST, UNIT);
	for (unsigned int i = 0; i < 2 * LEAST; i++)
		CHILD_CHECK(depot_put(&depot, DEPOT_FULL, sheaf_of(3, 1)));
	now += NEXT_MS;
	CHILD_CHECK(!depot_sort(&depot));
}

/* Addresses farther apart than the digits tell: each object is there once all the same. */
IN_CHILD(test_far_apart)
{
	static bool seen[LEAST * CAPACITY];
	uintptr_t objs[CAPACITY];

	start();
	for (unsigned int i = 0; i < LEAST; i++) {
		uintptr_t top = sheaf_new(CAPACITY);

		for (unsigned int k = 0; k < CAPACITY; k++) {
			top += sizeof(void *);
			*(uintptr_t *)top = (1ul << 47) - ((uintptr_t)(i * CAPACITY + k) << 30);
		}
		CHILD_CHECK(depot_put(&depot, DEPOT_FULL, top));
	}
	CHILD_CHECK(depot_sort(&depot));
	for (unsigned int i = 0; i < LEAST; i++) {
		CHILD_CHECK(take(objs) == CAPACITY);
		for (unsigned int k = 0; k < CAPACITY; k++) {
			uintptr_t at = ((1ul << 47) - objs[k]) >> 30;

			CHILD_CHECK(at < ARRAY_SIZE(seen) && !seen[at]);
			seen[at] = true;
		}
	}
}

/* Another CPU's objects are not looked at. */
IN_CHILD(test_own_lane)
{
	start();
	fill_scattered(&depot, LEAST);
	os_act_as_cpu(1);
	CHILD_CHECK(!depot_sort(&depot));
	os_act_as_cpu(0);
	CHILD_CHECK(depot_sort(&depot));
}

/* Without memory for it, nothing happens. */
IN_CHILD(test_no_memory)
{
	const struct rlimit none = { 0, 0 };
	uintptr_t objs[CAPACITY];

	if (is_emulated())
		child_cannot("limits do not hold for what an emulator maps");
	start();
	fill_scattered(&depot, MOST);
	child_limit(RLIMIT_DATA, &none);
	for (size_t size = 4ul << 20; size >= PAGE_SIZE; size /= 2)
		while (run_alloc(size, 0, NUMA_NO_NODE, NULL))
			;
	CHILD_CHECK(!depot_sort(&depot));
	depot_check(&depot);
	CHILD_CHECK(take(objs) == CAPACITY);
	CHILD_CHECK(objs[0] == scattered(MOST * CAPACITY - 1, MOST * CAPACITY));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),	  cmocka_unit_test(test_few),
		cmocka_unit_test(test_seldom),	  cmocka_unit_test(test_share),
		cmocka_unit_test(test_newest),	  cmocka_unit_test(test_not_full),
		cmocka_unit_test(test_far_apart), cmocka_unit_test(test_own_lane),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
