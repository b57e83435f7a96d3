/* SPDX-License-Identifier: MIT */
/*
 * unit/front/none_test.c - nothing cached: each call goes through, nothing is kept
 */
#include "fake_engine.h"

#define ID 301u

static struct fake fake;
static struct front front;

static void make(void)
{
	floors_init(0, 0);
	fake_init(&fake, FAKE_SIZE);
	CHILD_CHECK(front_make(&front, &front_none_ops, &fake, ID, 7) == 0);
}

IN_CHILD(test_init)
{
	make();
	CHILD_CHECK(!strcmp(front.ops->name, "none"));
	CHILD_CHECK(front.capacity == 0);
	for (int cpu = -2; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		CHILD_CHECK(*percpu_inline_word(ID, cpu) == front_stop_word);
	CHILD_CHECK(fake.refills == 0);
}

IN_CHILD(test_one)
{
	void *a;
	void *b;

	make();
	a = front.ops->alloc(&front, GFP_KERNEL, -1);
	CHILD_CHECK(fake_number(&fake, a) == 0 && fake.refills == 1 && fake.last_want == 1);
	CHILD_CHECK(fake.last_node == -1);
	b = front.ops->alloc(&front, GFP_KERNEL, 3);
	CHILD_CHECK(fake_number(&fake, b) == 1 && fake.last_node == 3);
	CHILD_CHECK(fake.nr_out == 2 && front.ops->held(&front) == 0);
	front.ops->free(&front, a);
	CHILD_CHECK(fake.flushes == 1 && fake.last_flush == 1 && fake.nr_out == 1);
	front.ops->free(&front, b);
	CHILD_CHECK(fake.nr_out == 0 && front.ops->held(&front) == 0);
	fake.budget = 0;
	CHILD_CHECK(!front.ops->alloc(&front, GFP_KERNEL, -1));
}

IN_CHILD(test_bulk)
{
	void *p[200];

	make();
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 0, p) == 0);
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 200, p) == 200);
	CHILD_CHECK(fake.nr_out == 200);
	for (unsigned int i = 0; i < 200; i++)
		CHILD_CHECK(fake_number(&fake, p[i]) == i);
	fake.flushes = 0;
	front.ops->free_bulk(&front, 200, p);
	CHILD_CHECK(fake.nr_out == 0);
	/* batches of 31 */
	CHILD_CHECK(fake.flushes == DIV_ROUND_UP(200u, (unsigned int)USLAB_SHEAF_CAPACITY));
	CHILD_CHECK(fake.last_flush == 200 % USLAB_SHEAF_CAPACITY);
	front.ops->free_bulk(&front, 0, p);
	CHILD_CHECK(fake.flushes == DIV_ROUND_UP(200u, (unsigned int)USLAB_SHEAF_CAPACITY));
}

/* Part of what was wanted is for the caller to give back: the cache floor makes it all or none. */
IN_CHILD(test_bulk_short)
{
	void *p[10];

	make();
	fake.budget = 6;
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 10, p) == 6);
	CHILD_CHECK(fake.nr_out == 6);
}

/* An engine may give less than it has; then there is more to be had. */
static unsigned int stingy_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp,
				  int node)
{
	return fake_refill(e, objs, MIN(want, 3u), gfp, node);
}

IN_CHILD(test_bulk_bit_by_bit)
{
	static const struct engine_ops stingy = { .name = "stingy",
						  .refill = stingy_refill,
						  .flush = fake_flush };
	void *p[20];

	make();
	fake.e.ops = &stingy;
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 20, p) == 20);
	CHILD_CHECK(fake.refills == 7 && fake.nr_out == 20);
}

IN_CHILD(test_the_rest_does_nothing)
{
	make();
	front.ops->alloc(&front, GFP_KERNEL, -1);
	front.ops->drain(&front);
	CHILD_CHECK(!front.ops->each_lock && !front.ops->take_local);
	front.ops->check(&front);
	CHILD_CHECK(fake.nr_out == 1 && fake.flushes == 0);
	front.ops->destroy(&front);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_init),
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_bulk),
		cmocka_unit_test(test_bulk_short),
		cmocka_unit_test(test_bulk_bit_by_bit),
		cmocka_unit_test(test_the_rest_does_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
