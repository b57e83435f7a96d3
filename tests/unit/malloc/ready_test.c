/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/ready_test.c - realtime: what a CPU's arrays have before the program begins
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 *
 * The mode is chosen by the environment, so the program starts itself anew with it, on one CPU:
 * once with memory for all classes, and then with less.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "bare.h"
#include "front/array.h"
#include "front/depot.h"
#include "front/percpu.h"
#include "malloc/internal.h"
#include "page/buddy.h"
#include "page/realtime.h"
#include "replaced.h"

#define MIB (1ul << 20)
#define ENOUGH "realtime=64M"
#define LITTLE "realtime=4M" /* half a MiB for the arrays; all of them take some 3 */
#define OWN (MIB / 2)	     /* bytes of the program itself, and of the last class */

/* What was taken before main(). */
static unsigned long used_at_start; /* pages */

static bool has_objects(unsigned int class, const uintptr_t *word)
{
	const struct cache *c = cache_of(malloc_made[class]);
	uintptr_t top = load_relaxed(word);

	return c && top && !front_is_stopped(top) && sheaf_count_at(top, c->front.capacity);
}

static unsigned int count_filled(unsigned int cpu)
{
	unsigned int filled = 0;

	for (unsigned int class = 1; class <= MALLOC_CLASSES; class += 1)
		filled += has_objects(class, percpu_word(class, (int)cpu));
	return filled;
}

/* Does one of the smallest classes, of which 18 objects were used, have some in the spare, too? */
static bool has_spares(unsigned int cpu)
{
	bool found = false;

	for (unsigned int class = 1; class <= 8; class += 1)
		found |= has_objects(class, percpu_spare(class, (int)cpu));
	return found;
}

/*
 * On this CPU all but, maybe, what the program itself has used up, if the node's share is enough;
 * on others nothing.
 */
static void test_all_classes(void **state)
{
	unsigned int here = (unsigned int)sched_getcpu();
	bool enough = realtime_counters.bytes / buddy_nr_nodes >= 32 * MIB;

	(void)state;
	if (!percpu_rseq)
		skip_because("without rseq the words of CPUs are elsewhere");
	for (unsigned int cpu = 0; cpu < os_topology.nr_cpu_ids; cpu++)
		assert_true(cpu == here ? count_filled(cpu) >= (enough ? MALLOC_CLASSES - 4 : 1)
					: count_filled(cpu) == 0);
	assert_true(has_spares(here));
	assert_int_equal(realtime_counters.exceeded, 0);
	malloc_check();
}

/* Some classes, and about an eighth of what the node has. */
static void test_as_far_as_there_is_room(void **state)
{
	size_t part = realtime_counters.bytes / buddy_nr_nodes / 8;

	(void)state;
	assert_true(used_at_start << PAGE_SHIFT >= part);
	assert_true(used_at_start << PAGE_SHIFT <= part + OWN);
	assert_int_equal(realtime_counters.exceeded, 0);
	malloc_check();
	if (percpu_rseq)
		assert_in_range(count_filled((unsigned int)sched_getcpu()), 1,
				MALLOC_CLASSES * 3 / 4);
}

static int start_with(char **argv, const char *conf)
{
	setenv("USLAB_CONF", conf, 1);
	execv("/proc/self/exe", argv);
	perror("execv");
	return 1;
}

/* false: there are more CPUs than fit. */
static bool stay_on_cpu(void)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return false;
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest enough[] = { cmocka_unit_test(test_all_classes) };
	const struct CMUnitTest little[] = { cmocka_unit_test(test_as_far_as_there_is_room) };
	const char *conf = getenv("USLAB_CONF");

	(void)argc;
	if (malloc_is_replaced())
		return TEST_SKIPPED;
	used_at_start = buddy_used();
	if (conf && !strcmp(conf, LITTLE))
		return cmocka_run_group_tests(little, NULL, NULL);
	if (!conf || strcmp(conf, ENOUGH) != 0) {
		if (!is_emulated() && stay_on_cpu())
			return start_with(argv, ENOUGH);
		puts("skipped: the program cannot be kept on one CPU, or started anew");
		return TEST_SKIPPED;
	}
	if (realtime_counters.bytes < 64 * MIB) {
		puts("skipped: there is no memory for " ENOUGH);
		return TEST_SKIPPED;
	}
	if (cmocka_run_group_tests(enough, NULL, NULL))
		return 1;
	return start_with(argv, LITTLE);
}
