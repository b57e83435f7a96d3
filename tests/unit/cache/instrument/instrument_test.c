/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/instrument/instrument_test.c - who listens puts all caches on the slow
 * paths, and gets them off again
 *
 * That tools see what happens to objects is tested from outside, tests/tools/instrument_test.py.
 */
#include "unit/cache/cache_fixture.h"

#include "base/atomic.h"
#include "cache/instrument/instrument.h"

static bool is_watched(const struct cache *c)
{
	return c->watch & WATCH_PROBES;
}

IN_CHILD(listeners_are_noticed_on_a_slow_path)
{
	struct cache *before;
	struct cache *after;
	void *p;

	setenv("USLAB_CONF", "valgrind=0", 1);
	ready();
	before = make("before", 64, 0, SLAB_NOLEAKTRACE);
	CHILD_CHECK(!is_watched(before) && !instrument_listening);
	uslab_kmalloc_semaphore = 1;
	CHILD_CHECK(!is_watched(before)); /* nobody has looked */
	p = cache_alloc(before, 0, -1);
	CHILD_CHECK(p && instrument_listening && is_watched(before));
	CHILD_CHECK(before->front.closed & FRONT_CLOSED);
	after = make("after", 128, 0, SLAB_NOLEAKTRACE);
	CHILD_CHECK(is_watched(after));
	cache_check_all();
	uslab_kmalloc_semaphore = 0;
	cache_free(before, p);
	CHILD_CHECK(!instrument_listening && !is_watched(before) && !is_watched(after));
	CHILD_CHECK(!before->watch && !before->front.closed);
	cache_check_all();
}

/* Several begin and end at once; what counts is what is so in the end. */
IN_CHILD(a_second_look_changes_nothing)
{
	struct cache *c;

	setenv("USLAB_CONF", "valgrind=0", 1);
	ready();
	c = make("c", 64, 0, SLAB_NOLEAKTRACE);
	instrument_listen();
	CHILD_CHECK(!is_watched(c));
	uslab_kmalloc_semaphore = 3;
	instrument_listen();
	instrument_listen();
	CHILD_CHECK(is_watched(c));
	uslab_kmalloc_semaphore = 0;
	instrument_poll();
	instrument_poll();
	CHILD_CHECK(!is_watched(c));
}

/* Only the semaphores of objects take caches off the fast path. */
IN_CHILD(pages_have_probes_of_their_own)
{
	struct cache *c;

	setenv("USLAB_CONF", "valgrind=0", 1);
	ready();
	uslab_mm_page_alloc_semaphore = 1;
	uslab_mm_page_free_semaphore = 1;
	c = make("c", 64, 0, SLAB_NOLEAKTRACE);
	cache_free(c, cache_alloc(c, 0, -1));
	cache_shrink(c);
	CHILD_CHECK(!is_watched(c) && !instrument_listening);
}

IN_CHILD(options_are_flags)
{
	CHILD_CHECK(instrument_set_valgrind("0") && instrument_set_valgrind("1"));
	CHILD_CHECK(instrument_set_asan("0") && instrument_set_asan("1"));
	CHILD_CHECK(!instrument_set_valgrind("") && !instrument_set_asan("yes"));
}

/* Without a tool there is no gap and no pool; with one that was declined neither. */
IN_CHILD(a_tool_may_be_declined)
{
	struct cache *c;

	setenv("USLAB_CONF", "valgrind=0,asan=0", 1);
	ready();
	c = make("c", 64, 0, SLAB_NOLEAKTRACE);
	CHILD_CHECK(!os_memcheck_on && !(c->watch & WATCH_TOOL));
	CHILD_CHECK(instrument_gap(&slub_ops, 64) == 0 && c->engine.size == 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listeners_are_noticed_on_a_slow_path),
		cmocka_unit_test(a_second_look_changes_nothing),
		cmocka_unit_test(pages_have_probes_of_their_own),
		cmocka_unit_test(options_are_flags),
		cmocka_unit_test(a_tool_may_be_declined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
