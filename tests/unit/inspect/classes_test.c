/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/classes_test.c - what tools read of kmalloc()'s caches, for each engine
 */
#include "inspect/classes.h"

#include "unit/cache/cache_fixture.h"

static void look(const char *conf, bool heap, unsigned int min, unsigned int flags)
{
	struct classes classes;

	setenv("USLAB_CONF", conf, 1);
	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	classes_look(&classes);
	CHILD_CHECK(classes.heap == heap);
	CHILD_CHECK(heap || classes.min == min);
	CHILD_CHECK(classes.flags == flags);
}

IN_CHILD(test_slub)
{
	look("engine=slub,front=array", false, 8, 0);
}

/* Spec 3.12 and 5.6: lines, and none of fewer than 32 bytes. */
IN_CHILD(test_slab)
{
	look("engine=slab,front=queues", false, 32, SLAB_HWCACHE_ALIGN);
}

IN_CHILD(test_slobseg)
{
	look("engine=slobseg,front=none", false, 8, 0);
}

/* Also where CPUs hold objects. */
IN_CHILD(test_heaps)
{
	look("engine=slob,front=array", true, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slub),
		cmocka_unit_test(test_slab),
		cmocka_unit_test(test_slobseg),
		cmocka_unit_test(test_heaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
