/* SPDX-License-Identifier: MIT */
/*
 * unit/page/buddy_check_test.c - the check sees damage of each kind
 */
#include "fixture.h"
#include "page/zone.h"

static void break_count(void *arg)
{
	(void)arg;
	fresh_arena();
	take(0);
	buddy_zones[0].stats.nr_free++;
	buddy_check();
}

static void break_type(void *arg)
{
	(void)arg;
	fresh_arena();
	take(0);
	page_at(5)->type = PAGE_SLAB;
	buddy_check();
}

static void break_dirty(void *arg)
{
	(void)arg;
	fresh_arena();
	take(0);
	page_map.dirty[3] = 2;
	buddy_check();
}

static void the_check_sees_damage(__attribute__((unused)) void **state)
{
	void (*const breaks[])(void *) = { break_count, break_type, break_dirty };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(breaks); i++) {
		struct child c = child_run(breaks[i], NULL);

		assert_true(child_aborted(&c));
		assert_non_null(strstr(c.text, "buddy_check.c"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_check_sees_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
