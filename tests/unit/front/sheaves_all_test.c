/* SPDX-License-Identifier: MIT */
/*
 * unit/front/sheaves_all_test.c - all CPUs at once: drain, held, check; and threads meanwhile
 */
#include "sheaves_fixture.h"

#include <pthread.h>

static void *objs[FAKE_OBJECTS];

/* Spec A8: spare and barns go, main stays, empty. */
BOTH_MODES(test_drain)
{
	make_fake(64, 0);
	take_out(objs, 400);
	put_many(objs, 400);
	STATS([FREE_FASTPATH] = 400, [SHEAF_ALLOC] = 7, [BARN_PUT] = 5);
	CHILD_CHECK(front.ops->held(&front) == 400);
	front.ops->drain(&front);
	STATS([SHEAF_FLUSH] = 400, [SHEAF_FREE] = 6);
	CHILD_CHECK(fake.nr_out == 0 && fake.last_flush <= 32);
	CHILD_CHECK(in_sheaf(cpu_state()->main) == 0 && in_sheaf(cpu_state()->spare) == -1);
	CHILD_CHECK(!this_barn()->full && !this_barn()->empty);
	put(get());
	end_fake();
	CHILD_CHECK(stat(SHEAF_ALLOC) == stat(SHEAF_FREE) - 1); /* the one that stayed */
}

static bool lies;

static void damaged(void *arg)
{
	floors_init(2, 1);
	make_fake(64, 0);
	put(get());
	lies = true;
	if (*(int *)arg == 0)
		cpu_state()->main->nr = 61;
	else if (*(int *)arg == 1)
		cpu_state()->spare = cpu_state()->main;
	else if (*(int *)arg == 2)
		cpu_state()->main->obj[3] = &lies;
	else if (*(int *)arg == 3)
		this_barn()->nr_objects = 1;
	else
		this_barn()->nr_empty = 1;
	front.ops->check(&front);
}

static void test_check_sees_damage(__attribute__((unused)) void **state)
{
	for (int how = 0; how < 5; how++) {
		struct child c = child_run(damaged, &how);

		assert_true(child_aborted(&c));
	}
}

static unsigned int churning;

static void *churn(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	unsigned int rounds = bare_process() ? 40000 : 10000;
	void *p[16];

	for (unsigned int round = 0; round < rounds; round++) {
		int node = round % 97 ? NUMA_NO_NODE : (int)(seed % os_topology.nr_nodes);
		void *obj = front.ops->alloc(&front, 0, node);

		obj = exchange_object(obj, EXCHANGE_SLOTS, &seed);
		if (obj)
			put(obj);
		if (round % 61 == 0) {
			unsigned int n = front.ops->alloc_bulk(&front, 0, 16, p);

			front.ops->free_bulk(&front, n, p);
		}
		if (round % 64 == 0)
			move_somewhere(&seed);
	}
	fetch_sub(&churning, 1);
	return NULL;
}

/* Objects go from thread to thread while drains and counts go over all CPUs. */
static void with_threads(const struct front_ops *ops)
{
	pthread_t threads[4];

	make_slub(ops, 128, 8);
	churning = ARRAY_SIZE(threads);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		CHILD_CHECK(!pthread_create(&threads[i], NULL, churn, (void *)(i + 1)));
	while (load_relaxed(&churning)) {
		front.ops->drain(&front);
		front.ops->held(&front);
		usleep(100);
	}
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	exchange_end();
	end_slub();
}

BOTH_MODES(test_threads)
{
	with_threads(&front_sheaves_ops);
}

BOTH_MODES(test_threads_over_cpu_slabs)
{
	with_threads(&front_sheaves_618_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_check_sees_damage),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_threads_over_cpu_slabs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
