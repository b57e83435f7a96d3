/* SPDX-License-Identifier: MIT */
/*
 * stress/rcu_test.c - kfree_rcu() and type-safe caches under readers who notice what is used again
 * too early
 *
 * ctest: timeout=120
 */
#include "rcu_own_storm.h"

static unsigned int run_ms(void)
{
	const char *soak = getenv("USLAB_SOAK");

	return RUN_MS * (soak ? (unsigned int)atoi(soak) : 1);
}

static void readers_see_nothing(const char *engine)
{
	CHILD_CHECK(uslab_set_rcu(&reader_rcu) == 0);
	reader_start();
	storm_make_caches(engine);
	CHILD_CHECK(storm_run(run_ms(), STORM_THREADS) == 0);
	CHILD_CHECK(storm.reads > 100 && storm.lives > 100);
	finish();
}

IN_CHILD(slub)
{
	readers_see_nothing("slub");
}

IN_CHILD(slab)
{
	readers_see_nothing("slab");
}

IN_CHILD(slobseg)
{
	readers_see_nothing("slobseg");
}

IN_CHILD(slob)
{
	readers_see_nothing("slob");
}

IN_CHILD(slabs_go_in_time)
{
	reader_start();
	run_only_safe(&reader_rcu, "slub", RUN_MS);
	CHILD_CHECK(storm.caught == 0 && storm.reads > 100);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slub),
		cmocka_unit_test(slab),
		cmocka_unit_test(slobseg),
		cmocka_unit_test(slob),
		cmocka_unit_test(slabs_go_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
