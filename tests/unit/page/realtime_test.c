/* SPDX-License-Identifier: MIT */
/*
 * unit/page/realtime_test.c - memory that is made ready ahead stays, and is what calls get
 */
#include "fixture.h"
#include "page/meta.h"
#include "page/realtime.h"
#include "page/zone.h"

static unsigned long minor_faults(void)
{
	struct rusage usage;

	CHILD_CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
	return (unsigned long)usage.ru_minflt;
}

/* With or without the right to lock memory. */
static void start(size_t bytes)
{
	int ret;

	os_cpu_init();
	CHILD_CHECK(arena_init(os_topology.nr_cpu_ids) == 0);
	buddy_init(1);
	ret = realtime_start(bytes);
	CHILD_CHECK(ret == 0 || ret == -EPERM);
	CHILD_CHECK(ret || realtime_counters.locked == realtime_counters.bytes);
}

IN_CHILD(whole_chunks_are_ready)
{
	start(9 * MIB);
	CHILD_CHECK(realtime_is_on() && realtime_counters.bytes == 12 * MIB);
	CHILD_CHECK(buddy_zones[0].stats.nr_free == 12 * MIB / PAGE_SIZE);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 12 * MIB / PAGE_SIZE);
	CHILD_CHECK(arena_size() == 12 * MIB);
	buddy_check();
	arena_check();
	meta_check();
}

IN_CHILD(nothing_is_off_without_a_start)
{
	fresh_arena();
	CHILD_CHECK(!realtime_is_on());
	CHILD_CHECK(take(BUDDY_MAX_ORDER) >= 0 && realtime_counters.exceeded == 0);
}

/* Page runs of all sizes are written, freed and allocated again: no page is new. */
IN_CHILD(no_page_is_faulted_in)
{
	static void *run[64];
	unsigned long faults;

	NEEDS_BARE_PROCESS();
	if (is_emulated())
		child_cannot("the emulator's own faults count");
	start(32 * MIB);
	run[0] = run_alloc(2 * MIB, 0, -1, NULL); /* code and stack */
	memset(run[0], 1, 2 * MIB);
	CHILD_CHECK(run_free(run[0]));
	run[0] = NULL;
	faults = minor_faults();
	for (unsigned int i = 0; i < 1000; i++) {
		size_t size = (i * 37 % 60 + 1) * 5000;
		void **p = &run[i % ARRAY_SIZE(run)];

		if (*p)
			CHILD_CHECK(run_free(*p));
		*p = run_alloc(size, 0, -1, NULL);
		CHILD_CHECK(*p && page_in_arena(*p));
		memset(*p, 1, size);
	}
	CHILD_CHECK(minor_faults() - faults <= 2); /* those of the loop itself */
	CHILD_CHECK(realtime_counters.exceeded == 0);
	buddy_check();
	run_check();
}

IN_CHILD(nothing_goes_back)
{
	void *p;

	start(16 * MIB);
	buddy_set_purge(0, 0);
	p = run_alloc(4 * MIB, 0, -1, NULL);
	CHILD_CHECK(page_in_arena(p)); /* without the mode a mapping */
	CHILD_CHECK(run_free(p));
	buddy_rebalance();
	CHILD_CHECK(buddy_trim(0) == 0);
	CHILD_CHECK(buddy_zones[0].stats.nr_dirty == 16 * MIB / PAGE_SIZE);
	CHILD_CHECK(buddy_zones[0].stats.nr_purged == 0);
}

IN_CHILD(what_it_does_not_serve_is_counted)
{
	start(4 * MIB);
	CHILD_CHECK(take(BUDDY_MAX_ORDER) == 0 && realtime_counters.exceeded == 0);
	CHILD_CHECK(take(0) >= 0 && realtime_counters.exceeded == 1);
	CHILD_CHECK(run_free(run_alloc(4 * MIB + 1, 0, -1, NULL)));
	CHILD_CHECK(realtime_counters.exceeded == 2);
	while (meta_alloc(32768) && realtime_counters.exceeded == 2) {}
	CHILD_CHECK(realtime_counters.exceeded == 3);
}

/* Metadata comes from what was made ready. */
IN_CHILD(metadata_is_ready)
{
	size_t mapped;

	start(4 * MIB);
	mapped = meta_bytes();
	for (unsigned int i = 0; i < 1024; i++)
		CHILD_CHECK(meta_alloc(512));
	CHILD_CHECK(meta_bytes() == mapped && realtime_counters.exceeded == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_chunks_are_ready),
		cmocka_unit_test(nothing_is_off_without_a_start),
		cmocka_unit_test(no_page_is_faulted_in),
		cmocka_unit_test(nothing_goes_back),
		cmocka_unit_test(what_it_does_not_serve_is_counted),
		cmocka_unit_test(metadata_is_ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
