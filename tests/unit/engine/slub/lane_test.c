/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/lane_test.c - CPUs take small objects from slabs of their own, and large ones
 * and the last ones from any
 */
#include "engine/descriptor.h"
#include "engine/limit.h"
#include "fixture.h"

#define FEW 10 /* objects at a time: less than a slab */

static struct engine e;

static void make(unsigned int cpus, unsigned int size)
{
	struct engine_params params = plain_params(size);

	slub_machine(cpus, 1);
	params.pack = true;
	CHILD_CHECK(slub_ops.init(&e, &params) == 0);
}

/* The slab that the last of a few objects lies in; a slab that is nearly empty gives fewer. */
static struct page *take_as(unsigned int cpu)
{
	void *objs[FEW];
	unsigned int n;

	os_act_as_cpu(cpu);
	n = slub_refill(&e, objs, FEW, 0, -1);
	CHILD_CHECK(n >= FEW / 2);
	return slab_of(objs[n - 1]);
}

IN_CHILD(test_two_cpus)
{
	struct page *slab[2];

	make(2, 16);
	slab[0] = take_as(0);
	slab[1] = take_as(1);
	CHILD_CHECK(slab[0] != slab[1]);
	for (unsigned int i = 0; i < 10; i++) {
		CHILD_CHECK(take_as(0) == slab[0]);
		CHILD_CHECK(take_as(1) == slab[1]);
	}
	CHILD_CHECK(nr_slabs(&e) == 2);
	slub_check(&e);
}

/* Prefetchers bring the next lines of objects of some lines. */
IN_CHILD(test_some_lines)
{
	make(2, 256);
	CHILD_CHECK(take_as(0) != take_as(1) && nr_slabs(&e) == 2 && e.lanes);
}

IN_CHILD(test_large_objects)
{
	struct page *slab;
	void *obj;

	make(2, 264);
	slab = take_as(0);
	os_act_as_cpu(1);
	CHILD_CHECK(slub_refill(&e, &obj, 1, 0, -1) == 1 && slab_of(obj) == slab && !e.lanes);
	CHILD_CHECK(engine_slab_lane(slab) == ENGINE_NO_LANE);
}

IN_CHILD(test_one_cpu)
{
	make(1, 16);
	take_as(0);
	CHILD_CHECK(!e.lanes && nr_slabs(&e) == 1);
}

/* The kernel's fronts place objects where the kernel does. */
IN_CHILD(test_not_lazy)
{
	struct engine_params params = plain_params(16);

	slub_machine(2, 1);
	CHILD_CHECK(slub_ops.init(&e, &params) == 0 && !e.lanes);
}

/* What an idle CPU took from is in time anybody's: the program has moved to another CPU. */
IN_CHILD(test_patience)
{
	struct page *slab;

	make(2, 16);
	slab = take_as(0);
	for (unsigned int i = 0; take_as(1) != slab; i++)
		CHILD_CHECK(i < 10000);
	CHILD_CHECK(nr_slabs(&e) > 10 && engine_slab_lane(slab) == 1);
	CHILD_CHECK(take_as(0) != slab); /* it is the other one's now */
}

/* As long as a CPU takes objects its slabs are its own. */
IN_CHILD(test_no_end_of_patience)
{
	void *objs[FEW];
	struct page *slab;

	make(2, 16);
	slab = take_as(0);
	for (unsigned int i = 0; i < 2000; i++) {
		os_act_as_cpu(0);
		CHILD_CHECK(slub_refill(&e, objs, FEW, 0, -1) == FEW && slab_of(objs[0]) == slab);
		slub_flush(&e, objs, FEW);
		CHILD_CHECK(take_as(1) != slab);
	}
}

/* CPUs with congruent numbers are one lane. */
IN_CHILD(test_many_cpus)
{
	struct page *slab[2 * ENGINE_LANES];

	make(2 * ENGINE_LANES, 16);
	for (unsigned int cpu = 0; cpu < 2 * ENGINE_LANES; cpu++)
		slab[cpu] = take_as(cpu);
	for (unsigned int cpu = 0; cpu < ENGINE_LANES; cpu++)
		CHILD_CHECK(slab[cpu] == slab[cpu + ENGINE_LANES]);
	CHILD_CHECK(nr_slabs(&e) == ENGINE_LANES);
}

/* Where there is no memory for another slab, another CPU's is better than nothing. */
IN_CHILD(test_no_memory)
{
	struct page *slab;

	make(2, 16);
	slab = take_as(0);
	engine_limits[e.id].most = 1;
	CHILD_CHECK(take_as(1) == slab && nr_slabs(&e) == 1);
	engine_limits[e.id].most = 0;
}

/* Half of nr slabs that CPU 0 filled are free again. */
static void free_halves(unsigned int nr)
{
	static void *objs[100 * 256];

	os_act_as_cpu(0);
	for (unsigned int i = 0; i < nr * 256; i++)
		CHILD_CHECK(slub_refill(&e, &objs[i], 1, 0, -1) == 1);
	CHILD_CHECK(nr_partial(&e) == 0 && nr_slabs(&e) == nr);
	for (unsigned int i = 0; i < nr * 256; i += 2)
		free_one(&e, objs[i]);
	CHILD_CHECK(nr_partial(&e) == nr);
}

/* Slabs that come back to the list are the CPU's that took from them. */
IN_CHILD(test_slabs_that_come_back)
{
	make(2, 16);
	free_halves(8);
	take_as(1);
	CHILD_CHECK(nr_slabs(&e) == 9);
	for (unsigned int i = 0; i < 8; i++)
		CHILD_CHECK(engine_slab_lane(take_as(0)) == 0);
	CHILD_CHECK(nr_slabs(&e) == 9);
	slub_check(&e);
}

/* Of an empty slab nobody holds any line. */
IN_CHILD(test_empty_slab)
{
	void *objs[FEW];
	struct page *slab;

	make(2, 16);
	os_act_as_cpu(0);
	CHILD_CHECK(slub_refill(&e, objs, FEW, 0, -1) == FEW);
	slab = slab_of(objs[0]);
	slub_flush(&e, objs, FEW);
	CHILD_CHECK(nr_partial(&e) == 1 && engine_slab_lane(slab) == 0);
	CHILD_CHECK(take_as(1) == slab && engine_slab_lane(slab) == 1);
}

/* If much memory lies in others' slabs, it is used. */
IN_CHILD(test_many_partial_slabs)
{
	make(2, 16);
	free_halves(70);
	for (unsigned int i = 0; i < 100; i++)
		take_as(1);
	CHILD_CHECK(nr_slabs(&e) < 75);
	slub_check(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_cpus),
		cmocka_unit_test(test_some_lines),
		cmocka_unit_test(test_large_objects),
		cmocka_unit_test(test_one_cpu),
		cmocka_unit_test(test_not_lazy),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_no_end_of_patience),
		cmocka_unit_test(test_many_cpus),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_slabs_that_come_back),
		cmocka_unit_test(test_empty_slab),
		cmocka_unit_test(test_many_partial_slabs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
