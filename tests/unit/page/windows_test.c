/* SPDX-License-Identifier: MIT */
/*
 * unit/page/windows_test.c - words at their places, nothing beside them, all or none
 *
 * ctest: sanitize=no (ThreadSanitizer ends a program that asks for a place that it does not like)
 */
#include "fixture.h"
#include "page/windows.h"

#define WORD 0x1f8ul

static const uintptr_t *words(const char *window0, int cpu)
{
	return (const uintptr_t *)(const void *)(window0 + ((unsigned long)(cpu + USLAB_WINDOW_CPU0)
							    << USLAB_WINDOW_SHIFT));
}

static void check_words(const char *window0)
{
	for (int cpu = -2; cpu < (int)os_topology.nr_windows; cpu++) {
		for (unsigned int i = 0; i < 16; i++)
			CHILD_CHECK(words(window0, cpu)[i] == WORD);
		CHILD_CHECK(words(window0, cpu)[16] == 0);
	}
}

IN_CHILD(words_for_all_cpus)
{
	char *window0;

	os_cpu_init();
	window0 = windows_alone(16, WORD);
	CHILD_CHECK(window0);
	check_words(window0);
	/* the handles are no memory */
	CHILD_CHECK(os_reserve_at(window0, os_page_size()));
	/* and again, elsewhere */
	CHILD_CHECK(windows_alone(16, WORD) != window0);
	check_words(window0);
}

/* A range of addresses that has room for few mappings: a page for each window, and no more. */
IN_CHILD(takes_a_page_for_each)
{
	size_t before;
	size_t taken;

	NEEDS_BARE_PROCESS();
	child_limit(RLIMIT_AS, &(const struct rlimit){ 1ul << 40, 1ul << 40 });
	os_cpu_init();
	before = os_address_space_left(0);
	CHILD_CHECK(windows_alone(16, WORD));
	taken = before - os_address_space_left(0);
	CHILD_CHECK(taken == (USLAB_WINDOW_CPU0 - 1 + os_topology.nr_windows) * os_page_size());
}

/* Room for all but one: none is left behind. */
IN_CHILD(all_or_none)
{
	struct rlimit limit = { 1ul << 40, 1ul << 40 };
	size_t used;

	NEEDS_BARE_PROCESS();
	child_limit(RLIMIT_AS, &limit);
	os_cpu_init();
	used = limit.rlim_cur - os_address_space_left(0);
	limit.rlim_cur = used + (USLAB_WINDOW_CPU0 - 2 + os_topology.nr_windows) * os_page_size();
	child_limit(RLIMIT_AS, &limit);
	CHILD_CHECK(!windows_alone(16, WORD));
	CHILD_CHECK(limit.rlim_cur - os_address_space_left(0) == used);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_for_all_cpus),
		cmocka_unit_test(takes_a_page_for_each),
		cmocka_unit_test(all_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
