/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/act_test.c - a thread acts for the CPUs of a made-up topology
 */
#include "inspect/act.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uslab/slab.h>

#include <cmocka.h>

#include "os/cpu/cpu.h"
#include "replaced.h"

/* The program again, with the option: it is read before main(). */
static void start_again(char **argv)
{
	setenv("USLAB_CONF", "topology=6x3,front=none", 1);
	execv(argv[0], argv);
	if (errno != ENOEXEC)
		_exit(127);
	fprintf(stderr, "skipped: an emulated program cannot be executed here\n");
	_exit(TEST_SKIPPED);
}

static void says_what_there_is(void **state)
{
	struct act_topology topology;

	(void)state;
	act_topology(&topology);
	assert_true(topology.made_up);
	assert_int_equal(topology.cpus, 6);
	assert_int_equal(topology.nodes, 3);
	assert_true(act_max_cpus() >= 1024);
	assert_true(act_max_nodes() >= 8);
}

static void acts(void **state)
{
	(void)state;
	for (unsigned int cpu = 0; cpu < 6; cpu++) {
		void *p;

		act_as_cpu(cpu);
		assert_int_equal(os_current_cpu(), cpu);
		assert_int_equal(os_current_node(), cpu / 2);
		p = kmalloc(100, GFP_KERNEL);
		assert_non_null(p);
		kfree(p);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_there_is),
		cmocka_unit_test(acts),
	};

	(void)argc;
	if (!getenv("USLAB_CONF"))
		start_again(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
