/* SPDX-License-Identifier: MIT */
/*
 * unit/page/buddy_try_test.c - blocks without waiting, and the chunk that the next call fetches
 */
#include "fixture.h"
#include "page/nested.h"

/* Of what is free, as buddy_alloc() would; nothing is committed. */
IN_CHILD(of_what_is_free)
{
	struct page *page;
	long first;

	fresh_arena();
	CHILD_CHECK(!buddy_try_alloc(0, 0));
	CHILD_CHECK(page_map.nr_pages == 0);
	first = take(0); /* an ordinary call: a chunk */
	page = buddy_try_alloc(0, 2);
	CHILD_CHECK(page && (long)index_of(page) == first + 4);
	CHILD_CHECK(!buddy_try_alloc(0, BUDDY_MAX_ORDER) && !buddy_try_alloc(1, 0));
	CHILD_CHECK(!buddy_try_alloc(0, BUDDY_MAX_ORDER + 1));
	buddy_check();
	page_set_block(page, PAGE_SLAB, 4);
	CHILD_CHECK(buddy_try_free(page, 2));
	give((unsigned long)first, 0);
	CHILD_CHECK(buddy_zones[0].stats.nr_free == CHUNK && buddy_zones[0].stats.nr_dirty == 5);
	buddy_check();
}

IN_CHILD(while_it_is_locked)
{
	struct page *page;

	fresh_arena();
	page = page_at((unsigned long)take(3));
	lock_fork_prepare(&buddy_zones[0].lock); /* as if another thread held it */
	CHILD_CHECK(!buddy_try_alloc(0, 0) && !buddy_try_free(page, 3));
	lock_fork_parent(&buddy_zones[0].lock);
	CHILD_CHECK(buddy_try_free(page, 3));
	buddy_check();
}

/* What was missed is there after the next call of this thread that may wait. */
IN_CHILD(replenished)
{
	fresh_arena();
	CHILD_CHECK(!buddy_try_alloc(0, 4));
	CHILD_CHECK(!nested_call() && page_map.nr_pages == CHUNK);
	CHILD_CHECK(buddy_try_alloc(0, 4));
	CHILD_CHECK(!nested_call() && page_map.nr_pages == CHUNK);
	while (buddy_try_alloc(0, 4)) {}
	CHILD_CHECK(page_map.nr_pages == CHUNK);
	CHILD_CHECK(!nested_call() && page_map.nr_pages == 2 * CHUNK);
	buddy_provide(0, 0); /* there is some */
	CHILD_CHECK(page_map.nr_pages == 2 * CHUNK);
	buddy_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_what_is_free),
		cmocka_unit_test(while_it_is_locked),
		cmocka_unit_test(replenished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
