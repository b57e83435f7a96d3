/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/ready_test.c - realtime: what CPUs' arrays have before the program begins
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 *
 * The mode is chosen by the environment, so the program starts itself anew with it.
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

#define CONF "realtime=64M"
#define READY (64ul << 20)
#define OWN (1ul << 20) /* bytes of the test's own */

/* What was taken before main(). */
static unsigned long used_at_start; /* pages */

static bool has_objects(unsigned int class, unsigned int cpu)
{
	const struct cache *c = cache_of(malloc_made[class]);
	uintptr_t top = load_relaxed(percpu_word(class, (int)cpu));

	return c && top && sheaf_count_at(top, c->front.capacity);
}

static unsigned int count_filled(unsigned int cpu)
{
	unsigned int filled = 0;

	for (unsigned int class = 1; class <= MALLOC_CLASSES; class += 1)
		filled += has_objects(class, cpu);
	return filled;
}

/* With few CPUs there is room for all classes; the test itself took objects of some. */
static void test_each_cpu_has_objects(void **state)
{
	unsigned int least = os_topology.nr_cpus <= 2 ? MALLOC_CLASSES - 4 : 1;
	cpu_set_t allowed;

	(void)state;
	if (!percpu_rseq)
		skip_because("without rseq the words of CPUs are elsewhere");
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	for (unsigned int cpu = 0; cpu < os_topology.nr_cpu_ids; cpu++) {
		if (CPU_ISSET(cpu, &allowed))
			assert_true(count_filled(cpu) >= least);
		else
			assert_int_equal(count_filled(cpu), 0);
	}
}

static void test_an_eighth_at_most(void **state)
{
	(void)state;
	assert_true(used_at_start > 0);
	assert_true(used_at_start << PAGE_SHIFT <= READY / 8 + OWN);
	assert_int_equal(realtime_counters.exceeded, 0);
	malloc_check();
}

static int start_with_conf(char **argv)
{
	setenv("USLAB_CONF", CONF, 1);
	execv("/proc/self/exe", argv);
	perror("execv");
	return 1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_cpu_has_objects),
		cmocka_unit_test(test_an_eighth_at_most),
	};
	const char *conf = getenv("USLAB_CONF");

	(void)argc;
	if (!conf || strcmp(conf, CONF) != 0)
		return start_with_conf(argv);
	used_at_start = buddy_used();
	if (realtime_counters.bytes < READY) {
		puts("skipped: there is no memory for " CONF);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
