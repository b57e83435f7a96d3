/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/stats_test.c - an event goes to who counts; if nobody does it is lost
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/stats.h"

static struct engine engine;
static unsigned int counted[NR_ENGINE_STATS];

static void count(const struct engine *e, enum engine_stat item)
{
	assert_ptr_equal(e, &engine);
	counted[item]++;
}

static void test_count(__attribute__((unused)) void **state)
{
	assert_false(engine_counts());
	engine_count(&engine, ALLOC_SLAB);
	engine_count_hook = count;
	assert_true(engine_counts());
	engine_count(&engine, ALLOC_SLAB);
	engine_count(&engine, CPU_PARTIAL_DRAIN);
	engine_count_hook = NULL;
	engine_count(&engine, CPU_PARTIAL_DRAIN);
	assert_int_equal(counted[ALLOC_SLAB], 1);
	assert_int_equal(counted[CPU_PARTIAL_DRAIN], 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(test_count) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
