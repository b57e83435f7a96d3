/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/grace/batch_test.c - blocks gather by CPU, are handed over, and are found meanwhile
 */
#include "grace_fixture.h"

static void *released[200];
static unsigned int nr_released;

static void release(struct os_rcu_item *first)
{
	while (first) {
		struct grace_batch *b = container_of(first, struct grace_batch, item);

		first = first->next;
		for (unsigned int i = 0; i < b->nr; i++)
			released[nr_released++] = b->entry[i].p;
		meta_free(b, GRACE_BATCH_BYTES);
	}
}

static char blocks[200];

static void gather(unsigned int i, size_t size)
{
	CHILD_CHECK(grace_gather((struct grace_entry){ &blocks[i], NULL }, size, release));
	grace_check();
}

IN_CHILD(full_batches_are_handed_over)
{
	bound();
	stay_here();
	for (unsigned int i = 0; i < 2 * GRACE_BLOCKS + 3; i++) {
		gather(i, 1);
		os_rcu_submit();
		CHILD_CHECK(rcu.calls == (i + 1 >= GRACE_BLOCKS));
	}
	rcu_grace();
	CHILD_CHECK(nr_released == GRACE_BLOCKS && released[0] == &blocks[0]);
	rcu_grace();
	CHILD_CHECK(nr_released == 2 * GRACE_BLOCKS && rcu.calls == 2);
	grace_hand_over();
	rcu_grace();
	CHILD_CHECK(nr_released == 2 * GRACE_BLOCKS + 3);
	for (unsigned int i = 0; i < nr_released; i++)
		CHILD_CHECK(released[i] == &blocks[i]);
}

IN_CHILD(many_bytes_are_handed_over)
{
	bound();
	stay_here();
	gather(0, (256 << 10) - 1);
	os_rcu_submit();
	CHILD_CHECK(rcu.calls == 0);
	gather(1, 1);
	os_rcu_submit();
	CHILD_CHECK(rcu.calls == 1);
}

/* With the CPUs, in batches that wait, and in no other place. */
IN_CHILD(blocks_are_found)
{
	bound();
	stay_here();
	for (unsigned int i = 0; i < GRACE_BLOCKS + 1; i++)
		gather(i, 1);
	CHILD_CHECK(grace_holds(&blocks[0]) && grace_holds(&blocks[GRACE_BLOCKS]));
	CHILD_CHECK(!grace_holds(&blocks[GRACE_BLOCKS + 1]));
	os_rcu_submit();
	CHILD_CHECK(grace_holds(&blocks[0]) && grace_holds(&blocks[GRACE_BLOCKS]));
	rcu_grace();
	CHILD_CHECK(!grace_holds(&blocks[0]) && grace_holds(&blocks[GRACE_BLOCKS]));
}

/* All that was gathered before, whoever has it. */
IN_CHILD(who_waits_gets_all)
{
	bound();
	stay_here();
	for (unsigned int i = 0; i < GRACE_BLOCKS + 1; i++)
		gather(i, 1);
	grace_wait(NULL);
	CHILD_CHECK(nr_released == GRACE_BLOCKS + 1);
}

/* The CPUs of a larger machine gather for themselves. */
IN_CHILD(cpus_gather_apart)
{
	CHILD_CHECK(os_topology_set(4, 1) == 0);
	bound();
	for (unsigned int cpu = 0; cpu < 4; cpu++) {
		os_act_as_cpu(cpu);
		for (unsigned int i = 0; i < GRACE_BLOCKS / 2; i++)
			gather(cpu * 40 + i, 1);
	}
	os_rcu_submit();
	CHILD_CHECK(rcu.calls == 0);
	grace_hand_over();
	CHILD_CHECK(rcu.calls == 1);
	rcu_grace();
	CHILD_CHECK(nr_released == 4 * (GRACE_BLOCKS / 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_batches_are_handed_over),
		cmocka_unit_test(many_bytes_are_handed_over),
		cmocka_unit_test(blocks_are_found),
		cmocka_unit_test(who_waits_gets_all),
		cmocka_unit_test(cpus_gather_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
