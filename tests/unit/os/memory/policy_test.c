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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),	   cmocka_unit_test(test_preferred),
		cmocka_unit_test(test_interleave), cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_wrong),	   cmocka_unit_test(test_each_thread_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
