/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/mobility/auto_test.c - what USLAB_CONF=defrag takes; a thread that does it by itself
 */
#include "cache/control/control.h"
#include "conformance/store.h"

IN_CHILD(test_values)
{
	static const char *const taken[] = { "1", "30", "100", "30:5", "1:100" };
	static const char *const refused[] = { "",  "0",   "101",   "30:", "30:0",   "30:101", ":5",
					       "a", "30a", "30:5a", "-1",  "30:5:5", "0030" };

	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		CHILD_CHECK(mobility_set_option(taken[i]));
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		CHILD_CHECK(!mobility_set_option(refused[i]));
}

static bool wait_for_few_slabs(void)
{
	for (unsigned int i = 0; i < 3000; i++) {
		if (stats_of(store.c).nr_slabs <= 14)
			return true;
		usleep(10000);
	}
	return false;
}

/*
 * 400 of 4000 objects stay: 70 slabs, of which eight would do. The thread starts when they are all
 * thin: a round among the frees would leave some that are not worth another one.
 */
IN_CHILD(test_by_itself)
{
	unsigned long settled;

	setenv("USLAB_CONF", "defrag=30:50", 1);
	ready();
	open_store(made(&(struct cache_spec){ .name = "store", .size = 64, .ctor = store_ctor }),
		   MOST);
	for (unsigned int i = 0; i < store.nr; i++) {
		pthread_mutex_lock(&store.lock[i]);
		put(i);
		pthread_mutex_unlock(&store.lock[i]);
	}
	for (unsigned int i = 0; i < store.nr; i++) {
		pthread_mutex_lock(&store.lock[i]);
		if (i % 10)
			drop(i);
		pthread_mutex_unlock(&store.lock[i]);
	}
	cache_shrink(store.c);
	cache_start_threads();
	CHILD_CHECK(wait_for_few_slabs());
	/* and then it lets go: the same would come of it */
	do {
		settled = counters().defrag_moved;
		usleep(500000);
	} while (counters().defrag_moved != settled);
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
