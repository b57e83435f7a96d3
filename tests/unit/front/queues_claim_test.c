/* SPDX-License-Identifier: MIT */
/*
 * unit/front/queues_claim_test.c - a CPU's array claimed, and what others find meanwhile
 */
#include "queues_fixture.h"

static struct kmem_cache_cpu *state(void)
{
	return percpu_state(ID, cpu);
}

/* Made when first needed; claimed it is nobody else's. */
BOTH_MODES(test_take)
{
	struct queue_claim claim;
	void *objs[3];

	CHILD_CHECK(make_fake(64, 5) == 0);
	CHILD_CHECK(!state()->bottom && state()->top == QUEUES_STOPPED);
	CHILD_CHECK(!queues_claim_seize(&front, cpu, &claim)); /* there is none yet */
	CHILD_CHECK(queues_claim_take(&front, &claim));
	CHILD_CHECK(claim_avail(&claim) == 0 && claim_space(&claim) == 5 && claim.cpu == cpu);
	CHILD_CHECK(state()->top == QUEUES_STOPPED && !lock_try(&state()->lock));
	CHILD_CHECK(queues_held_cpus(&front) == 0);
	take_out(objs, 3);
	queues_claim_put(&claim, objs, 3);
	CHILD_CHECK(state()->top == QUEUES_STOPPED);
	queues_claim_release(&claim);
	CHILD_CHECK(queues_held_cpus(&front) == 3 && get() == objs[2]);
	put(objs[2]);
	end_fake();
}

BOTH_MODES(test_oldest)
{
	struct queue_claim claim;
	void *objs[5];
	void *got[5];

	CHILD_CHECK(make_fake(64, 5) == 0);
	take_out(objs, 5);
	for (unsigned int i = 0; i < 5; i++)
		put(objs[i]);
	CHILD_CHECK(queues_claim_seize(&front, cpu, &claim));
	CHILD_CHECK(claim_avail(&claim) == 5 && claim_space(&claim) == 0);
	queues_claim_oldest(&claim, got, 2);
	CHILD_CHECK(got[0] == objs[0] && got[1] == objs[1]);
	CHILD_CHECK(claim_avail(&claim) == 3 && claim.bottom[1] == objs[2] &&
		    claim.bottom[3] == objs[4]);
	queues_claim_put(&claim, got, 2);
	queues_claim_release(&claim);
	CHILD_CHECK(entry(0) == objs[2] && entry(3) == objs[0] && get() == objs[1]);
	put(objs[1]);
	end_fake();
}

/* The next array is of the new limit, and in the old one's place if that is large enough. */
BOTH_MODES(test_retire)
{
	struct queue_claim claim;
	uintptr_t bottom;

	CHILD_CHECK(make_fake(64, 12) == 0);
	CHILD_CHECK(queues_claim_take(&front, &claim));
	bottom = state()->bottom;
	queues_claim_retire(&front, &claim);
	CHILD_CHECK(!state()->bottom && !state()->end && state()->top == QUEUES_STOPPED);
	CHILD_CHECK(lock_try(&state()->lock));
	lock_release(&state()->lock);
	CHILD_CHECK(queues()->retired && !queues()->retired->next);

	queues_set_limits(&front, 9, 9, 0);
	CHILD_CHECK(queues_claim_take(&front, &claim));
	CHILD_CHECK(claim_space(&claim) == 9 && state()->bottom == bottom && !queues()->retired);
	queues_claim_retire(&front, &claim);
	queues_set_limits(&front, 100, 9, 0);
	CHILD_CHECK(queues_claim_take(&front, &claim));
	CHILD_CHECK(claim_space(&claim) == 100 && state()->bottom != bottom && queues()->retired);
	queues_claim_release(&claim);
	end_fake();
}

/* Who comes while the array is cached waits for it. */
static void *allocate(void *arg)
{
	if (os_topology.made_up)
		os_act_as_cpu((unsigned int)cpu);
	store_release((void **)arg, get()); /* pairs with the loads of test_wait */
	return NULL;
}

BOTH_MODES(test_wait)
{
	struct queue_claim claim;
	pthread_t thread;
	void *obj;
	void *got = NULL;

	CHILD_CHECK(make_fake(64, 5) == 0);
	CHILD_CHECK(queues_claim_take(&front, &claim));
	pthread_create(&thread, NULL, allocate, &got); /* on this CPU as well */
	usleep(20000);
	CHILD_CHECK(!load_acquire(&got));
	take_out(&obj, 1);
	queues_claim_put(&claim, &obj, 1);
	queues_claim_release(&claim);
	pthread_join(thread, NULL);
	CHILD_CHECK(got == obj && fake.refills == 1); /* take_out's */
	put(got);
	end_fake();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_oldest),
		cmocka_unit_test(test_retire),
		cmocka_unit_test(test_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
