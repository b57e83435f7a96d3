/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/stacks_test.c - each stack once
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bare.h"
#include "base/bits.h"
#include "child.h"
#include "debug/stacks.h"
#include "os/lock/lock.h"

/* Stack number `number`, of nr frames. */
static const uintptr_t *make(unsigned long number, unsigned int nr)
{
	static __thread uintptr_t pcs[64];
	unsigned int i;

	for (i = 0; i < nr; i++)
		pcs[i] = 0x400000 + i * 0x100;
	pcs[number % nr] = 0x500000 + number;
	return pcs;
}

static bool has(uint32_t handle, const uintptr_t *pcs, unsigned int nr)
{
	const uint64_t *kept;

	return stacks_fetch(handle, &kept) == nr && !memcmp(kept, pcs, nr * sizeof(*pcs));
}

IN_CHILD(the_same_stack_is_kept_once)
{
	uint32_t handle[200];
	unsigned int i;

	CHILD_CHECK(!stacks_depot);
	for (i = 0; i < ARRAY_SIZE(handle); i++) {
		unsigned int nr = i % STACKS_DEPTH + 1;

		handle[i] = stacks_save(make(i, nr), nr);
		CHILD_CHECK(handle[i] && has(handle[i], make(i, nr), nr));
	}
	CHILD_CHECK(stacks_depot->nr_stacks == ARRAY_SIZE(handle));
	for (i = 0; i < ARRAY_SIZE(handle); i++) {
		unsigned int nr = i % STACKS_DEPTH + 1;

		CHILD_CHECK(stacks_save(make(i, nr), nr) == handle[i]);
		CHILD_CHECK(has(handle[i], make(i, nr), nr));
	}
	CHILD_CHECK(stacks_depot->nr_stacks == ARRAY_SIZE(handle));
	CHILD_CHECK(stacks_depot->lost == 0);
}

/* One is the beginning of the other: two stacks. */
IN_CHILD(length_counts)
{
	uint32_t part = stacks_save(make(1, 8), 7);
	uint32_t whole = stacks_save(make(1, 8), 8);

	CHILD_CHECK(part && whole && part != whole);
	CHILD_CHECK(has(part, make(1, 8), 7) && has(whole, make(1, 8), 8));
}

IN_CHILD(deep_stacks_are_cut)
{
	uint32_t handle = stacks_save(make(3, 40), 40);

	CHILD_CHECK(has(handle, make(3, 40), STACKS_DEPTH));
	CHILD_CHECK(stacks_save(make(3, 40), STACKS_DEPTH) == handle);
	CHILD_CHECK(stacks_save(make(3, 40), 0) == 0);
}

IN_CHILD(handles_never_given_out)
{
	/* read as the beginning of a record, each pair of them has 3 frames */
	static const uintptr_t likely_records[] = { 3, 3, 3, 3, 3 };
	const uint64_t *pcs;
	uint32_t handle;
	unsigned int i;

	CHILD_CHECK(stacks_fetch(1, &pcs) == 0); /* before there is anything */
	handle = stacks_save(likely_records, 5);
	CHILD_CHECK(stacks_fetch(0, &pcs) == 0);
	for (i = 1; i < 20000; i++)
		CHILD_CHECK(stacks_fetch(i, &pcs) == (i == handle ? 5 : 0));
	CHILD_CHECK(stacks_fetch(UINT32_MAX, &pcs) == 0);
	CHILD_CHECK(stacks_fetch(STACKS_CHUNKS * (STACKS_CHUNK / STACKS_UNIT), &pcs) == 0);
}

#define STACKS 3000u
#define THREADS 2u

static uint32_t given[THREADS][STACKS];
static _Atomic unsigned int nr_arrived;
static _Atomic unsigned int nr_wrong;

static void *save_all(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg;
	unsigned int i, spins;

	for (i = 0; i < STACKS; i++) {
		nr_arrived++;
		for (spins = 0; nr_arrived < (i + 1) * THREADS; spins++) /* so that they meet */
			if (spins > 1000)
				sched_yield();
		given[me][i] = stacks_save(make(i, 10), 10);
		if (!has(given[me][i], make(i, 10), 10))
			nr_wrong++;
	}
	return NULL;
}

IN_CHILD(threads_get_the_same_handles)
{
	pthread_t thread[THREADS];
	unsigned int i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, save_all, (void *)(uintptr_t)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHILD_CHECK(nr_wrong == 0);
	for (i = 1; i < THREADS; i++)
		CHILD_CHECK(!memcmp(given[i], given[0], sizeof(given[0])));
	CHILD_CHECK(stacks_depot->nr_stacks == STACKS);
}

static void save_in_grandchild(void *arg)
{
	uint32_t handle = *(uint32_t *)arg;

	stacks_each_lock(lock_fork_child);
	CHILD_CHECK(stacks_save(make(1, 6), 6) == handle);
	CHILD_CHECK(stacks_save(make(2, 6), 6) != handle);
	CHILD_CHECK(stacks_depot->nr_stacks == 2);
}

IN_CHILD(after_fork)
{
	uint32_t handle = stacks_save(make(1, 6), 6);
	struct child c;

	stacks_each_lock(lock_fork_prepare);
	c = child_run(save_in_grandchild, &handle);
	stacks_each_lock(lock_fork_parent);
	CHILD_CHECK(child_passed(&c));
	CHILD_CHECK(stacks_depot->nr_stacks == 1);
	CHILD_CHECK(stacks_save(make(3, 6), 6) != 0);
}

/* 64 MiB of stacks: then no more are kept, and those that were are still found. */
IN_CHILD(full_depot)
{
	unsigned long first_lost, i = 0;
	uint32_t first = stacks_save(make(0, STACKS_DEPTH), STACKS_DEPTH);

	while (stacks_save(make(++i, STACKS_DEPTH), STACKS_DEPTH))
		CHILD_CHECK(i < STACKS_CHUNKS * STACKS_CHUNK / sizeof(struct stack_record));
	first_lost = i;
	CHILD_CHECK(first_lost > 400000);
	CHILD_CHECK(stacks_depot->lost == 1 && stacks_depot->nr_stacks == first_lost);
	CHILD_CHECK(stacks_save(make(i, STACKS_DEPTH), STACKS_DEPTH) == 0);
	CHILD_CHECK(stacks_depot->lost == 2);
	CHILD_CHECK(stacks_save(make(0, STACKS_DEPTH), STACKS_DEPTH) == first);
	CHILD_CHECK(stacks_save(make(i - 1, STACKS_DEPTH), STACKS_DEPTH) != 0);
}

static void full_depot_natively(void **state)
{
	if (!bare_process())
		skip(); /* takes long */
	full_depot(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_stack_is_kept_once),
		cmocka_unit_test(length_counts),
		cmocka_unit_test(deep_stacks_are_cut),
		cmocka_unit_test(handles_never_given_out),
		cmocka_unit_test(threads_get_the_same_handles),
		cmocka_unit_test(after_fork),
		cmocka_unit_test(full_depot_natively),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
