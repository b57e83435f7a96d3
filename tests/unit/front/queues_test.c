/* SPDX-License-Identifier: MIT */
/*
 * unit/front/queues_test.c - a CPU's array: spec 3.5, 3.6, 3.8, vectors 13 and 14
 *
 * Most tests run with sequences where this process has them, and on a made-up topology without.
 */
#include <sys/syscall.h>
#include <sys/wait.h>

#include "heard.h"
#include "queues_fixture.h"
#include "sys_rseq.h"

BOTH_MODES(test_limits)
{
	static const struct {
		unsigned int size, limit, batchcount, shared;
	} rows[] = {
		{ 8, 120, 60, 8 },   { 256, 120, 60, 8 }, { 257, 54, 27, 8 },
		{ 1024, 54, 27, 8 }, { 1025, 24, 12, 8 }, { 4096, 24, 12, 8 },
		{ 4097, 8, 4, 0 },   { 131072, 8, 4, 0 }, { 131073, 1, 1, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHILD_CHECK(make_fake(rows[i].size, 0) == 0);
		CHILD_CHECK(front.capacity == 0);
		CHILD_CHECK(queues()->limit == rows[i].limit);
		CHILD_CHECK(queues()->batchcount == rows[i].batchcount);
		CHILD_CHECK(queues()->shared == (os_topology.nr_cpu_ids > 1 ? rows[i].shared : 0));
		CHILD_CHECK(last_tune == rows[i].batchcount);
		end_fake();
	}
	/* as asked for */
	CHILD_CHECK(make_fake(64, 31) == 0);
	CHILD_CHECK(queues()->limit == 31 && queues()->batchcount == 16);
	end_fake();
}

IN_CHILD(test_one_cpu_shares_with_nobody)
{
	floors_init(1, 1);
	CHILD_CHECK(os_topology_set(1, 1) == 0);
	fake_init(&fake, 64);
	CHILD_CHECK(front_make(&front, &front_queues_ops, &fake, ID, 0) == 0);
	CHILD_CHECK(queues()->shared == 0 && queues()->limit == 120);
}

/* Spec 14 vector 13, as far as an engine without slabs can say. */
BOTH_MODES(test_batches)
{
	void *objs[100];

	CHILD_CHECK(make_fake(64, 0) == 0);
	for (unsigned int i = 0; i < 16; i++) {
		objs[i] = get();
		CHILD_CHECK(fake_number(&fake, objs[i]) == 15 - i);
		CHILD_CHECK(fake.refills == 1 && fake.last_want == 16);
	}
	objs[16] = get(); /* touched by now */
	CHILD_CHECK(fake.refills == 2 && fake.last_want == 60);
	CHILD_CHECK(fake_number(&fake, objs[16]) == 16 + 59);
	CHILD_CHECK(in_array(cpu) == 59 && front.ops->held(&front) == 59);
	for (unsigned int i = 0; i < 17; i++)
		put(objs[i]);
	CHILD_CHECK(fake.flushes == 0);
	end_fake();
}

/* Vector 13 to the letter: slabs of 64 objects. */
BOTH_MODES(test_vector_13)
{
	char *objs[65];
	struct engine_stats stats;

	make_real(&slab_ops, 64, 0);
	get_many((void **)objs, 16);
	for (unsigned int i = 1; i < 16; i++)
		CHILD_CHECK(objs[i] == objs[0] - 64 * i);
	get_many((void **)objs + 16, 48);
	for (unsigned int i = 1; i < 48; i++)
		CHILD_CHECK(objs[16 + i] == objs[16] - 64 * i);
	CHILD_CHECK(objs[16] == objs[0] + 64 * 48);
	CHILD_CHECK(in_array(cpu) == 0);
	engine.ops->stats(&engine, &stats);
	CHILD_CHECK(stats.nr_slabs == 1);
	objs[64] = get();
	engine.ops->stats(&engine, &stats);
	CHILD_CHECK(stats.nr_slabs == 2);
	for (unsigned int i = 0; i < 65; i++)
		put(objs[i]);
	end_real();
}

BOTH_MODES(test_vector_14)
{
	void *f[121];

	CHILD_CHECK(make_fake(64, 0) == 0);
	take_out(f, 121);
	for (unsigned int i = 0; i < 120; i++)
		put(f[i]);
	CHILD_CHECK(in_array(cpu) == 120 && shared_array()->avail == 0);
	put(f[120]);
	CHILD_CHECK(shared_array()->avail == 60 && shared_array()->limit == 480);
	for (unsigned int i = 0; i < 60; i++)
		CHILD_CHECK(shared_array()->entry[i] == f[i]);
	CHILD_CHECK(in_array(cpu) == 61);
	for (unsigned int i = 0; i < 61; i++)
		CHILD_CHECK(entry(i) == f[60 + i]);
	CHILD_CHECK(fake.flushes == 0);
	CHILD_CHECK(queues_held_cpus(&front) == 61 && queues_held_shared(&front) == 60);
	end_fake();
}

BOTH_MODES(test_last_in_first_out)
{
	void *objs[10];

	CHILD_CHECK(make_fake(64, 0) == 0);
	get_many(objs, 10);
	put(objs[4]);
	put(objs[1]);
	put(objs[8]);
	CHILD_CHECK(get() == objs[8]);
	CHILD_CHECK(get() == objs[1]);
	CHILD_CHECK(get() == objs[4]);
	for (unsigned int i = 0; i < 10; i++)
		put(objs[i]);
	CHILD_CHECK(fake.refills == 1);
	end_fake();
}

/*
 * The shared array takes what there is room for; only when it is full the engine gets the oldest.
 */
BOTH_MODES(test_full_shared)
{
	void *f[40];

	CHILD_CHECK(make_fake(64, 0) == 0);
	CHILD_CHECK(front.ops->tune(&front, 10, 4, 2) == 0); /* room for 8 */
	take_out(f, 40);
	for (unsigned int i = 0; i < 11; i++)
		put(f[i]);
	CHILD_CHECK(shared_array()->avail == 4 && shared_array()->limit == 8);
	shared_array()->limit = 6;
	for (unsigned int i = 11; i < 15; i++)
		put(f[i]); /* the last of them flushes */
	CHILD_CHECK(shared_array()->avail == 6 && in_array(cpu) == 9);
	CHILD_CHECK(shared_array()->entry[5] == f[5] && entry(0) == f[6]);
	put(f[15]);
	CHILD_CHECK(fake.flushes == 0 && in_array(cpu) == 10);
	put(f[16]);
	CHILD_CHECK(fake.flushes == 1 && fake.last_flush == 4 && in_array(cpu) == 7);
	for (unsigned int i = 6; i < 10; i++)
		CHILD_CHECK(!fake.out[fake_number(&fake, f[i])]);
	CHILD_CHECK(entry(0) == f[10] && entry(6) == f[16]);
	for (unsigned int i = 17; i < 40; i++)
		put(f[i]);
	shared_array()->limit = 8;
	end_fake();
}

/* The newest of the shared array, in their order. */
BOTH_MODES(test_refill_from_shared)
{
	unsigned int refills;
	void *f[121];
	void *rest[61];

	CHILD_CHECK(make_fake(64, 0) == 0);
	take_out(f, 121);
	for (unsigned int i = 0; i < 121; i++)
		put(f[i]);
	for (unsigned int i = 0; i < 61; i++)
		CHILD_CHECK((rest[i] = get()) == f[120 - i]);
	percpu_state(ID, cpu)->touched = 0;
	refills = fake.refills;
	CHILD_CHECK(get() == f[59]); /* 16 came: f44 .. f59 */
	CHILD_CHECK(in_array(cpu) == 15 && entry(0) == f[44] && shared_array()->avail == 44);
	CHILD_CHECK(shared_array()->touched == 1);
	for (unsigned int i = 0; i < 15; i++)
		CHILD_CHECK(get() == f[58 - i]);
	CHILD_CHECK(get() == f[43] && in_array(cpu) == 43 && shared_array()->avail == 0);
	CHILD_CHECK(fake.refills == refills);
	for (unsigned int i = 43; i < 60; i++)
		put(f[i]);
	for (unsigned int i = 0; i < 61; i++)
		put(rest[i]);
	end_fake();
}

BOTH_MODES(test_large_objects_share_nothing)
{
	void *f[9];

	CHILD_CHECK(make_fake(8192, 0) == 0);
	take_out(f, 9);
	for (unsigned int i = 0; i < 9; i++)
		put(f[i]);
	CHILD_CHECK(fake.flushes == 1 && fake.last_flush == 4 && in_array(cpu) == 5);
	CHILD_CHECK(shared_array()->limit == 0);
	end_fake();
}

BOTH_MODES(test_limit_of_one)
{
	void *a, *b;

	CHILD_CHECK(make_fake(200000, 0) == 0);
	a = get();
	b = get();
	CHILD_CHECK(fake.last_want == 1);
	put(a);
	CHILD_CHECK(in_array(cpu) == 1);
	put(b);
	CHILD_CHECK(fake.flushes == 1 && !fake.out[fake_number(&fake, a)] && entry(0) == b);
	end_fake();
}

BOTH_MODES(test_out_of_memory)
{
	void *objs[20];

	CHILD_CHECK(make_fake(64, 0) == 0);
	fake.budget = 5;
	get_many(objs, 5); /* one batch that was not complete */
	CHILD_CHECK(fake.refills == 1);
	CHILD_CHECK(!get() && !get());
	put(objs[3]);
	CHILD_CHECK(get() == objs[3]);
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 3, objs + 5) == 0);
	for (unsigned int i = 0; i < 5; i++)
		put(objs[i]);
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 9, objs) == 5);
	front.ops->free_bulk(&front, 5, objs);
	end_fake();
}

BOTH_MODES(test_bulk)
{
	void *objs[500];

	CHILD_CHECK(make_fake(64, 0) == 0);
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 500, objs) == 500);
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 0, objs) == 0);
	CHILD_CHECK(fake.nr_out == 500 + front.ops->held(&front));
	front.ops->free_bulk(&front, 500, objs);
	CHILD_CHECK(fake.nr_out == front.ops->held(&front));
	end_fake();
}

/* Spec 3.8 point 5: what lies on top already is not pushed again; each time that is reported. */
BOTH_MODES(test_double_free)
{
	void *a, *b;

	CHILD_CHECK(make_fake(64, 0) == 0);
	hear();
	a = get();
	put(a);
	put(a);
	CHILD_CHECK(heard_once(ENGINE_FREE_AGAIN, a, fake.e.name));
	put(a);
	CHILD_CHECK(heard_once(ENGINE_FREE_AGAIN, a, fake.e.name));
	CHILD_CHECK(in_array(cpu) == 16);
	b = get();
	CHILD_CHECK(a == b && get() != a);
	CHILD_CHECK(heard.nr == 0);
}

/* Each CPU has an array; what one has, another cannot take. */
IN_CHILD(test_cpus)
{
	void *objs[4];

	floors_init(4, 1);
	CHILD_CHECK(make_fake(64, 0) == 0);
	for (unsigned int i = 0; i < 4; i++) {
		os_act_as_cpu(i);
		objs[i] = get();
		CHILD_CHECK(fake_number(&fake, objs[i]) == 15 + 16 * i);
	}
	CHILD_CHECK(fake.refills == 4 && queues_held_cpus(&front) == 60);
	for (unsigned int i = 0; i < 4; i++) {
		os_act_as_cpu((i + 1) % 4);
		put(objs[i]);
		CHILD_CHECK(get() == objs[i]);
		put(objs[i]);
	}
	end_fake();
}

/* A thread that the kernel has no area of has no CPU: the engine serves it. */
static void *without_cpu(__attribute__((unused)) void *arg)
{
	void *objs[10];

	if (!sys_rseq_unregister())
		return NULL;
	get_many(objs, 10);
	CHILD_CHECK(!percpu_rseq || fake.last_want == 1);
	for (unsigned int i = 0; i < 10; i++)
		put(objs[i]);
	return NULL;
}

IN_CHILD(test_thread_without_cpu)
{
	pthread_t thread;

	floors_init(0, 0);
	CHILD_CHECK(make_fake(64, 0) == 0);
	CHILD_CHECK(pthread_create(&thread, NULL, without_cpu, NULL) == 0);
	pthread_join(thread, NULL);
	CHILD_CHECK(!percpu_rseq || front.ops->held(&front) == 0);
	end_fake();
}

/* What was in the CPU's window before: another cache of that number. */
BOTH_MODES(test_number_again)
{
	for (unsigned int round = 0; round < 3; round++) {
		void *obj;

		CHILD_CHECK(make_fake(64, 0) == 0);
		obj = get();
		CHILD_CHECK(in_array(cpu) == 15);
		put(obj);
		end_fake();
		CHILD_CHECK(!percpu_state(ID, cpu)->bottom);
		CHILD_CHECK(*percpu_inline_word(ID, cpu) == front_stop_word);
	}
}

BOTH_MODES(test_fork)
{
	void *objs[100];
	int status;
	pid_t pid;

	make_real(&slub_ops, 64, 0);
	get_many(objs, 100);
	put(objs[99]);
	front.ops->each_lock(&front, lock_fork_prepare);
	engine.ops->each_lock(&engine, lock_fork_prepare);
	CHILD_CHECK(!lock_try(&percpu_state(ID, cpu)->lock));
	CHILD_CHECK(!lock_try(&shared_array()->lock));
	pid = fork();
	if (pid == 0) {
		alarm(120);
		engine.ops->each_lock(&engine, lock_fork_child);
		front.ops->each_lock(&front, lock_fork_child);
		for (unsigned int i = 0; i < 99; i++)
			put(objs[i]);
		end_real();
		_exit(0);
	}
	engine.ops->each_lock(&engine, lock_fork_parent);
	front.ops->each_lock(&front, lock_fork_parent);
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	for (unsigned int i = 0; i < 99; i++)
		put(objs[i]);
	end_real();
}

BOTH_MODES(test_threads)
{
	make_real(&slub_ops, 64, 0);
	churn_with(NULL);
}

BOTH_MODES(test_threads_with_small_arrays)
{
	make_real(&slub_ops, 64, 3);
	churn_with(NULL);
}

static void drain_now(__attribute__((unused)) unsigned int turn)
{
	front.ops->drain(&front);
	engine.ops->shrink(&engine);
}

/* From here, while others hit on all CPUs. */
BOTH_MODES(test_threads_and_drain)
{
	make_real(&slub_ops, 64, 0);
	churn_with(drain_now);
}

/* Spec 13.2, LOCAL: the CPU's array, the newest first; not the node's shared one. */
BOTH_MODES(test_take_local)
{
	unsigned int refills;
	void *f[121];
	void *got[121];

	CHILD_CHECK(make_fake(64, 0) == 0);
	CHILD_CHECK(front.ops->take_local(&front, 5, got) == 0);
	CHILD_CHECK(!percpu_state(ID, cpu)->bottom); /* none was made for that */
	take_out(f, 121);
	for (unsigned int i = 0; i < 121; i++)
		put(f[i]);
	CHILD_CHECK(in_array(cpu) == 61 && shared_array()->avail == 60);
	refills = fake.refills;
	CHILD_CHECK(front.ops->take_local(&front, 2, got) == 2);
	CHILD_CHECK(got[0] == f[120] && got[1] == f[119]);
	CHILD_CHECK(front.ops->take_local(&front, 100, got + 2) == 59);
	for (unsigned int i = 0; i < 61; i++)
		CHILD_CHECK(got[i] == f[120 - i]);
	CHILD_CHECK(front.ops->take_local(&front, 1, got) == 0);
	CHILD_CHECK(fake.refills == refills && shared_array()->avail == 60);
	for (unsigned int i = 0; i < 61; i++)
		put(got[i]);
	end_fake();
}

/* Many at once are copied: in the order of many single ones, and what moves is the same. */
BOTH_MODES(test_bulk_is_many_singles)
{
	void *f[300];
	void *bulk[300];

	CHILD_CHECK(make_fake(64, 0) == 0);
	take_out(f, 130);
	front.ops->free_bulk(&front, 130, f);
	CHILD_CHECK(in_array(cpu) == 70 && shared_array()->avail == 60 && entry(0) == f[60]);
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 100, bulk) == 100);
	for (unsigned int i = 0; i < 70; i++)
		CHILD_CHECK(bulk[i] == f[129 - i]);
	for (unsigned int i = 70; i < 100; i++) /* then those of the shared array, all at once */
		CHILD_CHECK(bulk[i] == f[129 - i]);
	CHILD_CHECK(in_array(cpu) == 30 && shared_array()->avail == 0);
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 200, bulk + 100) == 200);
	front.ops->free_bulk(&front, 300, bulk);
	end_fake();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_one_cpu_shares_with_nobody),
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_vector_13),
		cmocka_unit_test(test_vector_14),
		cmocka_unit_test(test_last_in_first_out),
		cmocka_unit_test(test_full_shared),
		cmocka_unit_test(test_refill_from_shared),
		cmocka_unit_test(test_large_objects_share_nothing),
		cmocka_unit_test(test_limit_of_one),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_bulk),
		cmocka_unit_test(test_double_free),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_thread_without_cpu),
		cmocka_unit_test(test_number_again),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_threads_with_small_arrays),
		cmocka_unit_test(test_threads_and_drain),
		cmocka_unit_test(test_take_local),
		cmocka_unit_test(test_bulk_is_many_singles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
