/* SPDX-License-Identifier: MIT */
/*
 * unit/page/keep_test.c - which freed mappings wait, which are found again, when they go
 *
 * mincore() fails for addresses where nothing is mapped.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "fake_clock.h"
#include "fixture.h"

static char *map(size_t size)
{
	char *p = os_map(size, PAGE_SIZE);

	CHILD_CHECK(p);
	p[0] = p[size - 1] = 1;
	return p;
}

static bool is_mapped(char *p)
{
	unsigned char there;

	return mincore(p, PAGE_SIZE, &there) == 0;
}

IN_CHILD(the_best_fit_is_found)
{
	char *large = map(12 * MIB);
	char *small = map(9 * MIB);
	char *newer = map(9 * MIB);

	CHILD_CHECK(!keep_take(8 * MIB, PAGE_SIZE));
	CHILD_CHECK(keep_put(large, 12 * MIB) && keep_put(small, 9 * MIB) &&
		    keep_put(newer, 9 * MIB));
	CHILD_CHECK(keep_counters.count == 3 && keep_counters.bytes == 30 * MIB);
	keep_check();
	/* The newest of the closest; what is too much of it goes back. */
	CHILD_CHECK(keep_take(8 * MIB, PAGE_SIZE) == newer);
	CHILD_CHECK(is_mapped(newer + 8 * MIB - PAGE_SIZE) && !is_mapped(newer + 8 * MIB));
	CHILD_CHECK(keep_take(9 * MIB, PAGE_SIZE) == small);
	CHILD_CHECK(keep_take(12 * MIB, PAGE_SIZE) == large);
	CHILD_CHECK(keep_counters.count == 0 && keep_counters.bytes == 0);
	keep_check();
}

IN_CHILD(far_too_large_or_small_does_not_fit)
{
	CHILD_CHECK(keep_put(map(16 * MIB), 16 * MIB));
	CHILD_CHECK(!keep_take(8 * MIB, PAGE_SIZE));
	CHILD_CHECK(!keep_take(33 * MIB, PAGE_SIZE));
	CHILD_CHECK(keep_counters.bytes == 16 * MIB);
}

IN_CHILD(one_that_is_smaller_grows)
{
	char *p = map(6 * MIB);
	char *q;

	CHILD_CHECK(keep_put(p, 6 * MIB));
	q = keep_take(10 * MIB, PAGE_SIZE);
	CHILD_CHECK(q && q[6 * MIB - 1] == 1 && q[10 * MIB - 1] == 0);
	CHILD_CHECK(keep_counters.bytes == 0);
	keep_check();
}

IN_CHILD(alignment_is_looked_at)
{
	char *p = os_map(8 * MIB, 4 * MIB);

	/* Half a MiB past a multiple of 4. */
	CHILD_CHECK(keep_put(p + MIB / 2, 7 * MIB));
	CHILD_CHECK(!keep_take(7 * MIB, 4 * MIB));
	CHILD_CHECK(keep_take(7 * MIB, MIB / 2) == p + MIB / 2);
}

IN_CHILD(the_oldest_makes_room)
{
	char *p[KEEP_COUNT + 1];
	unsigned int i;

	for (i = 0; i <= KEEP_COUNT; i++) {
		p[i] = map(5 * MIB);
		CHILD_CHECK(keep_put(p[i], 5 * MIB));
	}
	CHILD_CHECK(keep_counters.count == KEEP_COUNT);
	CHILD_CHECK(!is_mapped(p[0]) && is_mapped(p[1]));
	/* 40 + 32 MiB are 8 too many: two of 5. */
	CHILD_CHECK(keep_put(map(32 * MIB), 32 * MIB));
	CHILD_CHECK(keep_counters.bytes <= KEEP_MAX_BYTES);
	CHILD_CHECK(!is_mapped(p[2]) && is_mapped(p[3]));
	keep_check();
	CHILD_CHECK(!keep_put(p[3], KEEP_MAX_BLOCK + PAGE_SIZE) && is_mapped(p[3]));
}

IN_CHILD(the_limit_is_kept)
{
	char *p[3] = { map(5 * MIB), map(5 * MIB), map(5 * MIB) };

	CHILD_CHECK(keep_put(p[0], 5 * MIB) && keep_put(p[1], 5 * MIB));
	keep_set_limit(6 * MIB);
	CHILD_CHECK(keep_counters.bytes == 5 * MIB && !is_mapped(p[0]) && is_mapped(p[1]));
	keep_set_limit(0);
	CHILD_CHECK(keep_counters.bytes == 0 && !is_mapped(p[1]));
	CHILD_CHECK(!keep_put(p[2], 5 * MIB) && is_mapped(p[2]));
	keep_set_limit(SIZE_MAX);
	CHILD_CHECK(keep_put(p[2], 5 * MIB));
}

IN_CHILD(the_old_ones_go)
{
	char *old = map(5 * MIB);
	char *young = map(5 * MIB);

	CHILD_CHECK(keep_put(old, 5 * MIB));
	fake_clock_pass(120);
	CHILD_CHECK(keep_put(young, 5 * MIB));
	keep_release_old(80);
	CHILD_CHECK(!is_mapped(old) && is_mapped(young));
	CHILD_CHECK(keep_release(1) == 5 * MIB && !is_mapped(young));
	CHILD_CHECK(keep_release(SIZE_MAX) == 0);
	keep_check();
}

/* By the ways that all free memory goes. */
IN_CHILD(it_obeys_the_purge_settings_and_trim)
{
	char *p;

	fresh_arena();
	p = map(8 * MIB);
	CHILD_CHECK(keep_put(p, 8 * MIB));
	CHILD_CHECK(buddy_trim(8 * MIB) == 0 && is_mapped(p));
	CHILD_CHECK(buddy_trim(0) == 8 * MIB && !is_mapped(p));
	buddy_set_purge(SIZE_MAX, 0);
	p = map(8 * MIB);
	CHILD_CHECK(!keep_put(p, 8 * MIB));
	buddy_set_purge(SIZE_MAX >> 1, 64);
	CHILD_CHECK(keep_put(p, 8 * MIB));
	fake_clock_pass(150);
	buddy_rebalance();
	CHILD_CHECK(keep_counters.bytes == 0 && !is_mapped(p));
}

/*
 * Every range belongs to one thread at a time. Under a sanitizer all have one size: ThreadSanitizer
 * does not follow mremap, and takes a range that grew to where another one moved away for shared.
 */
static void *churn(void *arg)
{
	char mark = (char)(uintptr_t)arg;
	unsigned int i;

	for (i = 0; i < rounds(3000); i++) {
		size_t size = (SANITIZED ? 4 : i % 7 + 2) * PAGE_SIZE;
		char *p = keep_take(size, PAGE_SIZE);

		if (!p)
			p = map(size);
		p[0] = p[size - 1] = mark;
		if (i % 16 == 0)
			keep_release(2 * PAGE_SIZE);
		CHILD_CHECK(p[0] == mark && p[size - 1] == mark);
		CHILD_CHECK(keep_put(p, size));
	}
	return NULL;
}

IN_CHILD(threads_get_different_ranges)
{
	pthread_t threads[3];
	uintptr_t i;

	for (i = 0; i < ARRAY_SIZE(threads); i++)
		CHILD_CHECK(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	keep_check();
	keep_release(SIZE_MAX);
	CHILD_CHECK(keep_counters.count == 0 && keep_counters.bytes == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_fit_is_found),
		cmocka_unit_test(far_too_large_or_small_does_not_fit),
		cmocka_unit_test(one_that_is_smaller_grows),
		cmocka_unit_test(alignment_is_looked_at),
		cmocka_unit_test(the_oldest_makes_room),
		cmocka_unit_test(the_limit_is_kept),
		cmocka_unit_test(the_old_ones_go),
		cmocka_unit_test(it_obeys_the_purge_settings_and_trim),
		cmocka_unit_test(threads_get_different_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
