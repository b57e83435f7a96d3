/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/config/topology_test.c - USLAB_CONF=topology=CPUSxNODES, right and wrong, and
 * nodes of mempolicy= that are not there
 */
#include "cache/cache.h"
#include "cache/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "os/cpu/cpu.h"
#include "os/cpu/nodes.h"
#include "os/cpu/rseq.h"
#include "page/buddy.h"

/*
 * In a child; the library of this program, which links no API, is made ready by cache_init() only.
 */
static void try(void *arg)
{
	setenv("USLAB_CONF", arg, 1);
	CHILD_CHECK(cache_init() == 0);
}

static void made_up(void *arg)
{
	try(arg);
	CHILD_CHECK(os_topology.made_up && !os_rseq_on);
	CHILD_CHECK(os_topology.nr_cpu_ids == 64 && os_topology.nr_nodes == 4);
	CHILD_CHECK(buddy_nr_nodes == 4);
	CHILD_CHECK(cache_topology_is("64x4") && !cache_topology_is("64x5"));
	CHILD_CHECK(cache_defaults.no_merge);
}

static void not_made_up(void *arg)
{
	try(arg);
	CHILD_CHECK(!os_topology.made_up);
	CHILD_CHECK(cache_defaults.no_merge);
}

static void right_values(void **state)
{
	static const char *const confs[] = { "topology=64x4,slab_nomerge",
					     "slab_nomerge,topology=64x4" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct child child = child_run(made_up, (void *)confs[i]);

		assert_true(child_passed(&child));
		assert_string_equal(child.text, "");
	}
}

static void wrong_values(void **state)
{
	static const char *const values[] = { "",      "64",	       "x",
					      "64x",   "x4",	       "4x8",
					      "0x0",   "64x4x",	       "a64",
					      "64x-1", "9999x1",       "64 x 4",
					      "8x0",   "1000000000x1", "99999999999999999999x1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		char conf[128];
		struct child child;
		const char *first;

		snprintf(conf, sizeof(conf), "slab_nomerge,topology=%s", values[i]);
		child = child_run(not_made_up, conf);
		assert_true(child_passed(&child));
		/* one line, which names the option, and what it takes */
		first = strstr(child.text, "topology");
		assert_non_null(first);
		assert_non_null(strstr(first, "\": topology takes CPUSxNODES"));
		assert_string_equal(strchr(child.text, '\n'), "\n");
	}
}

/* Nodes that are not there: the message names those that are. */
static void names_nodes(void *arg)
{
	static const struct {
		uint64_t memory;
		const char *value, *why;
	} v[] = {
		{ 0x01, "bind:1", "this machine has memory on node 0 only" },
		{ 0x01, "preferred:99", "this machine has memory on node 0 only" },
		{ 0x01, "interleave:0-3", "this machine has memory on node 0 only" },
		{ 0x0f, "interleave:0-4", "this machine has memory on nodes 0-3 only" },
		{ 0xad, "bind:1", "this machine has memory on nodes 0, 2-3, 5, 7 only" },
		{ 0x01, "bind", "mempolicy takes local, preferred:NODES, bind:NODES" },
		{ 0x01, "bund:0", "mempolicy takes local, preferred:NODES, bind:NODES" },
	};
	char why[OS_ENV_WHY_BYTES];

	try(arg);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		os_nodes.memory = v[i].memory;
		CHILD_CHECK(!cache_set_option("mempolicy", v[i].value, NULL));
		cache_explain_option(why, "mempolicy", v[i].value);
		if (strncmp(why, v[i].why, strlen(v[i].why)) != 0)
			dprintf(STDERR_FILENO, "%s: %s\n", v[i].value, why);
		CHILD_CHECK(!strncmp(why, v[i].why, strlen(v[i].why)));
	}
	os_nodes.memory = 0x0f;
	CHILD_CHECK(cache_set_option("mempolicy", "interleave:0-3", NULL));
}

static void absent_nodes(void **state)
{
	char conf[] = "topology=8x8";
	struct child child;

	(void)state;
	child = child_run(names_nodes, conf);
	assert_true(child_passed(&child));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_values),
		cmocka_unit_test(wrong_values),
		cmocka_unit_test(absent_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
