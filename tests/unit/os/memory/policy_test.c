/* SPDX-License-Identifier: MIT */
/*
 * unit/os/memory/policy_test.c - memory policies of a thread: spec 0.4
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "child.h"
#include "os/cpu/cpu.h"
#include "os/cpu/nodes.h"
#include "os/memory/policy.h"

static int set(int mode, unsigned long mask)
{
	return os_policy_set(mode, &mask, 64);
}

IN_CHILD(test_default)
{
	CHILD_CHECK(os_topology_set(8, 8) == 0);
	for (unsigned int local = 0; local < 8; local++)
		CHILD_CHECK(os_policy_node(local) == local);
	CHILD_CHECK(set(OS_POLICY_BIND, 4) == 0 && os_policy_node(5) == 2);
	CHILD_CHECK(set(OS_POLICY_DEFAULT, 0) == 0 && os_policy_node(5) == 5);
	CHILD_CHECK(set(OS_POLICY_BIND, 4) == 0 && os_policy_node(5) == 2);
	CHILD_CHECK(os_policy_set(OS_POLICY_LOCAL, NULL, 0) == 0 && os_policy_node(5) == 5);
}

IN_CHILD(test_preferred)
{
	CHILD_CHECK(os_topology_set(8, 8) == 0);
	CHILD_CHECK(set(OS_POLICY_PREFERRED, 0xa8) == 0);
	CHILD_CHECK(os_policy_node(0) == 3 && os_policy_node(7) == 3);
	CHILD_CHECK(set(OS_POLICY_PREFERRED, 0) == 0); /* local */
	CHILD_CHECK(os_policy_node(0) == 0 && os_policy_node(7) == 7);
}

IN_CHILD(test_interleave)
{
	CHILD_CHECK(os_topology_set(64, 64) == 0);
	CHILD_CHECK(set(OS_POLICY_INTERLEAVE, 0x8000000000000022) == 0);
	for (unsigned int round = 0; round < 3; round++) {
		CHILD_CHECK(os_policy_node(5) == 1);
		CHILD_CHECK(os_policy_node(0) == 5);
		CHILD_CHECK(os_policy_node(1) == 63);
	}
	CHILD_CHECK(os_policy_node(5) == 1);
	CHILD_CHECK(set(OS_POLICY_INTERLEAVE, 0x30) == 0); /* begins anew */
	CHILD_CHECK(os_policy_node(5) == 4 && os_policy_node(5) == 5 && os_policy_node(5) == 4);
}

/* The nearest to where the thread runs; of two the higher. */
IN_CHILD(test_nearest)
{
	static const int modes[] = { OS_POLICY_BIND, OS_POLICY_PREFERRED_MANY };

	CHILD_CHECK(os_topology_set(64, 64) == 0);
	for (unsigned int i = 0; i < 2; i++) {
		CHILD_CHECK(set(modes[i], 1ul << 63 | 0x109) == 0); /* 0, 3, 8, 63 */
		CHILD_CHECK(os_policy_node(0) == 0 && os_policy_node(3) == 3);
		CHILD_CHECK(os_policy_node(1) == 0 && os_policy_node(2) == 3);
		CHILD_CHECK(os_policy_node(5) == 3 && os_policy_node(6) == 8);
		CHILD_CHECK(os_policy_node(35) == 8 && os_policy_node(36) == 63);
		CHILD_CHECK(os_policy_node(63) == 63);
		CHILD_CHECK(set(modes[i], 5) == 0);
		CHILD_CHECK(os_policy_node(1) == 2);
		CHILD_CHECK(set(modes[i], 1) == 0);
		CHILD_CHECK(os_policy_node(63) == 0);
	}
}

IN_CHILD(test_wrong)
{
	unsigned long two[2] = { 0, 1 };

	CHILD_CHECK(os_topology_set(4, 4) == 0);
	CHILD_CHECK(set(OS_POLICY_BIND, 2) == 0);
	CHILD_CHECK(set(-1, 0) == -EINVAL && set(6, 1) == -EINVAL);
	CHILD_CHECK(set(OS_POLICY_DEFAULT, 1) == -EINVAL && set(OS_POLICY_LOCAL, 1) == -EINVAL);
	CHILD_CHECK(set(OS_POLICY_BIND, 0) == -EINVAL);
	CHILD_CHECK(set(OS_POLICY_INTERLEAVE, 0) == -EINVAL);
	CHILD_CHECK(set(OS_POLICY_PREFERRED_MANY, 0) == -EINVAL);
	/* nodes that are not there */
	CHILD_CHECK(set(OS_POLICY_BIND, 0xf0) == -EINVAL);
	CHILD_CHECK(set(OS_POLICY_PREFERRED, 0xf0) == -EINVAL);
	CHILD_CHECK(os_policy_set(OS_POLICY_BIND, two, 128) == -EINVAL);
	CHILD_CHECK(os_policy_set(OS_POLICY_DEFAULT, two, 128) == -EINVAL);
	CHILD_CHECK(os_policy_node(3) == 1); /* nothing changed */
	CHILD_CHECK(set(OS_POLICY_INTERLEAVE, 0xf8) == 0);
	CHILD_CHECK(os_policy_node(0) == 3 && os_policy_node(0) == 3);
	/* so many bits and no more */
	two[0] = 0xc;
	CHILD_CHECK(os_policy_set(OS_POLICY_INTERLEAVE, two, 3) == 0);
	CHILD_CHECK(os_policy_node(0) == 2 && os_policy_node(0) == 2);
	CHILD_CHECK(os_policy_set(OS_POLICY_BIND, two, 2) == -EINVAL);
	CHILD_CHECK(os_policy_set(OS_POLICY_BIND, NULL, 64) == -EINVAL);
}

static void *other_thread(__attribute__((unused)) void *arg)
{
	CHILD_CHECK(os_policy_node(3) == 3);
	CHILD_CHECK(set(OS_POLICY_BIND, 1) == 0 && os_policy_node(3) == 0);
	return NULL;
}

IN_CHILD(test_each_thread_its_own)
{
	pthread_t thread;

	CHILD_CHECK(os_topology_set(4, 4) == 0);
	CHILD_CHECK(set(OS_POLICY_BIND, 2) == 0);
	CHILD_CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0);
	pthread_join(thread, NULL);
	CHILD_CHECK(os_policy_node(3) == 1);
}

static bool is(struct os_place place, unsigned int first, uint64_t nodes)
{
	return place.first == first && place.nodes == nodes;
}

IN_CHILD(test_places)
{
	CHILD_CHECK(os_topology_set(8, 8) == 0);
	CHILD_CHECK(is(os_policy_place(3), 3, OS_ALL_NODES) && os_policy_stays(3));
	CHILD_CHECK(set(OS_POLICY_PREFERRED, 0x84) == 0);
	CHILD_CHECK(is(os_policy_place(3), 2, OS_ALL_NODES));
	CHILD_CHECK(!os_policy_stays(3) && os_policy_stays(2));
	CHILD_CHECK(set(OS_POLICY_PREFERRED_MANY, 0x84) == 0);
	CHILD_CHECK(is(os_policy_place(6), 7, OS_ALL_NODES));
	CHILD_CHECK(set(OS_POLICY_BIND, 0x84) == 0);
	CHILD_CHECK(is(os_policy_place(6), 7, 0x84) && os_policy_place(6).sure);
	CHILD_CHECK(set(OS_POLICY_INTERLEAVE, 0x84) == 0);
	CHILD_CHECK(os_policy_peek(0) == 2 && os_policy_peek(0) == 2);
	CHILD_CHECK(os_policy_place(0).interleaved && os_policy_peek(0) == 7);
	CHILD_CHECK(!os_policy_stays(7));
	for (unsigned int i = 0; i < 20; i++)
		CHILD_CHECK(is(os_policy_spread(), i % 8, OS_ALL_NODES));
	CHILD_CHECK(os_policy_peek(0) == 7);
}

/* A cursor of its own. */
IN_CHILD(test_place_by)
{
	const struct os_policy in_turn = { .mode = OS_POLICY_INTERLEAVE, .mask = 0x92 };
	static const unsigned int nodes[] = { 1, 4, 7 };
	uint32_t cursor = 0;

	CHILD_CHECK(os_topology_set(8, 8) == 0);
	for (unsigned int i = 0; i < 12; i++)
		CHILD_CHECK(os_policy_place_by(&in_turn, &cursor, 3).first == nodes[i % 3]);
	CHILD_CHECK(cursor == 12 && os_policy_node(3) == 3);
}

/* Of threads that have none. */
IN_CHILD(test_process)
{
	struct os_policy policy;

	CHILD_CHECK(os_topology_set(8, 8) == 0);
	CHILD_CHECK(!os_policy_parse(&policy, "bind:6"));
	os_policy_set_process(&policy);
	CHILD_CHECK(os_policy_node(1) == 6);
	CHILD_CHECK(set(OS_POLICY_PREFERRED, 8) == 0 && os_policy_node(1) == 3);
	CHILD_CHECK(set(OS_POLICY_DEFAULT, 0) == 0 && os_policy_node(1) == 6);
	CHILD_CHECK(set(OS_POLICY_LOCAL, 0) == 0 && os_policy_node(1) == 1);
	os_policy_read_kernel(); /* not on made-up machines */
	CHILD_CHECK(set(OS_POLICY_DEFAULT, 0) == 0 && os_policy_node(1) == 6);
}

IN_CHILD(test_parse)
{
	static const struct {
		const char *text;
		int mode;
		uint64_t mask;
	} good[] = {
		{ "local", OS_POLICY_LOCAL, 0 },
		{ "default", OS_POLICY_DEFAULT, 0 },
		{ "preferred", OS_POLICY_LOCAL, 0 },
		{ "preferred:7", OS_POLICY_PREFERRED, 0x80 },
		{ "bind:0-2:5", OS_POLICY_BIND, 0x27 },
		{ "interleave:0-7", OS_POLICY_INTERLEAVE, 0xff },
		{ "interleave:3:3", OS_POLICY_INTERLEAVE, 8 },
		{ "preferred-many:1:2", OS_POLICY_PREFERRED_MANY, 6 },
	};
	static const char *const bad[] = {
		"",	   "bin:0",   "bind",	      "bind:",	  "bind:0:",  "bind:0-",
		"bind:x",  "local:0", "local:9",      "bind:0,1", "bind:3-1", "default:0",
		"binding", "BIND:0",  "interleave:-", "bind 0",	  "bind:0 ",  "bind:0-99999999999",
	};
	static const char *const absent[] = {
		/* none of these, or not all */
		"bind:8",	   "bind:0-8", "preferred:99",	       "interleave:0-63",
		"interleave:3:50", "bind:64",  "preferred-many:0:999",
	};
	struct os_policy policy;

	CHILD_CHECK(os_topology_set(8, 8) == 0);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHILD_CHECK(!os_policy_parse(&policy, good[i].text) &&
			    policy.mode == good[i].mode && policy.mask == good[i].mask);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHILD_CHECK(os_policy_parse(&policy, bad[i]) == -EINVAL);
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		CHILD_CHECK(os_policy_parse(&policy, absent[i]) == -ENODEV);
}

/* Nodes without memory count as if they were not there; a text may not name them. */
IN_CHILD(test_without_memory)
{
	struct os_policy policy;

	CHILD_CHECK(os_topology_set(8, 8) == 0);
	os_nodes.memory = 0x0f;
	CHILD_CHECK(set(OS_POLICY_BIND, 0x30) == -EINVAL);
	CHILD_CHECK(os_policy_parse(&policy, "interleave:2-4") == -ENODEV);
	CHILD_CHECK(set(OS_POLICY_INTERLEAVE, 0x38) == 0);
	CHILD_CHECK(os_policy_node(0) == 3 && os_policy_node(0) == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),	       cmocka_unit_test(test_preferred),
		cmocka_unit_test(test_interleave),     cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_wrong),	       cmocka_unit_test(test_each_thread_its_own),
		cmocka_unit_test(test_places),	       cmocka_unit_test(test_place_by),
		cmocka_unit_test(test_process),	       cmocka_unit_test(test_parse),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
