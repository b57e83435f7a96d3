/* SPDX-License-Identifier: MIT */
/*
 * unit/page/thp_test.c - which mappings ask for huge pages, by what the system says of them
 */
#include <sys/mman.h>

#include "fixture.h"
#include "page/thp.h"
#include "smaps.h"

#define LARGE (6 * MIB)

/* The arena's first and last MiB, and a large block, before and after it has moved. */
static void check(const char *flag, bool arena, bool large)
{
	char *p;

	CHILD_CHECK(smaps_has_flag(page_map.base, flag) == arena);
	CHILD_CHECK(smaps_has_flag(page_map.base + (page_map.limit << PAGE_SHIFT) - MIB, flag) ==
		    arena);
	p = large_alloc(LARGE, 0, NULL);
	CHILD_CHECK(p && smaps_has_flag(p, flag) == large);
	p = large_resize(p, 4 * LARGE, true);
	CHILD_CHECK(p && smaps_has_flag(p + 4 * LARGE - 1, flag) == large);
	CHILD_CHECK(large_free(p));
	p = large_alloc(LARGE, 0, NULL); /* that was kept */
	CHILD_CHECK(p && smaps_has_flag(p, flag) == large);
	CHILD_CHECK(large_free(p));
}

/* Descriptors and windows are sparse. */
static void tables_have_small_pages(void)
{
	CHILD_CHECK(smaps_has_flag(page_map.pages, "nh") && smaps_has_flag(page_map.free, "nh"));
	CHILD_CHECK(smaps_has_flag(page_map.class, "nh") && smaps_has_flag(page_windows(), "nh"));
}

static void start(enum thp_policy policy)
{
	fresh_arena();
	if (!smaps_has(page_map.base, "VmFlags:") ||
	    access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0 || is_emulated())
		child_cannot("this system has no huge pages");
	thp_set(policy);
	CHILD_CHECK(arena_grow(0));
	tables_have_small_pages();
}

IN_CHILD(as_the_system_is_set)
{
	start(THP_SYSTEM);
	check("hg", false, false);
	CHILD_CHECK(smaps_has_flag(page_map.base, "nh"));
	CHILD_CHECK(!smaps_has_flag(page_map.base + 64 * MIB, "nh"));
}

IN_CHILD(large_blocks_only)
{
	start(THP_LARGE);
	check("hg", false, true);
	CHILD_CHECK(smaps_has_flag(page_map.base, "nh"));
}

IN_CHILD(all)
{
	start(THP_ALL);
	check("hg", true, true);
}

IN_CHILD(never)
{
	start(THP_NEVER);
	check("nh", true, true);
}

/* It is of several mappings, which mremap() does not grow: its pages go to a new one. */
IN_CHILD(a_block_of_several_mappings)
{
	char *p;
	char *moved;

	start(THP_LARGE);
	p = large_alloc(LARGE, KEEP_BIG_UNIT, NULL);
	CHILD_CHECK(p && madvise(p + LARGE / 2, KEEP_UNIT, MADV_DONTDUMP) == 0);
	moved = large_resize(p, 2 * LARGE, true);
	CHILD_CHECK(moved && moved != p);
	CHILD_CHECK(smaps_has_flag(moved + 2 * LARGE - 1, "hg"));
}

static void limit_is(unsigned long pages)
{
	(void)pages;
}

/* All but some MiB of the arena is given back under a limit, and reserved again when that ends. */
static void give_back_and_reserve(void)
{
	unsigned long limit = page_map.limit;
	struct rlimit few;

	CHILD_CHECK(getrlimit(RLIMIT_AS, &few) == 0);
	for (few.rlim_cur = status_bytes("VmSize:"); page_map.limit << PAGE_SHIFT >= 32 * MIB;
	     few.rlim_cur -= few.rlim_cur / 4) {
		CHILD_CHECK(few.rlim_cur > MIB && setrlimit(RLIMIT_AS, &few) == 0);
		arena_fit(limit_is);
	}
	few.rlim_cur = few.rlim_max;
	CHILD_CHECK(setrlimit(RLIMIT_AS, &few) == 0);
	arena_fit(limit_is);
	CHILD_CHECK(page_map.limit == limit);
	CHILD_CHECK(smaps_has_flag(page_at(limit - 1), "nh"));
	CHILD_CHECK(smaps_has_flag(page_map.class + limit - 1, "nh"));
}

IN_CHILD(addresses_that_come_back)
{
	NEEDS_BARE_PROCESS();
	start(THP_ALL);
	give_back_and_reserve();
	check("hg", true, true);
}

IN_CHILD(addresses_that_come_back_as_the_system_is_set)
{
	NEEDS_BARE_PROCESS();
	start(THP_SYSTEM);
	give_back_and_reserve();
	CHILD_CHECK(smaps_has_flag(page_map.base, "nh"));
	CHILD_CHECK(smaps_has_flag(page_map.base + 60 * MIB, "nh"));
	CHILD_CHECK(!smaps_has_flag(page_map.base + 64 * MIB, "nh"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_system_is_set),
		cmocka_unit_test(large_blocks_only),
		cmocka_unit_test(all),
		cmocka_unit_test(never),
		cmocka_unit_test(a_block_of_several_mappings),
		cmocka_unit_test(addresses_that_come_back),
		cmocka_unit_test(addresses_that_come_back_as_the_system_is_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
