/* SPDX-License-Identifier: MIT */
/*
 * unit/front/array_bulk_test.c - many objects at once, over an engine that counts its calls
 */
#include "array_fixture.h"

static int by_address(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a;
	uintptr_t y = *(const uintptr_t *)b;

	return (x > y) - (x < y);
}

BOTH_MODES(test_bulk)
{
	void *p[100];

	here();
	make(CAP);
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 0, p) == 0);
	CHILD_CHECK(fake.refills == 0);
	/* whole sheaves' worths pass by the front, all at once; the rest comes through it */
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 3 * CAP + 2, p) == 3 * CAP + 2);
	CHILD_CHECK(fake.refills == 2 && front.ops->held(&front) == CAP - 2);
	for (unsigned int i = 0; i < 3 * CAP + 2; i++)
		CHILD_CHECK(number(p[i]) == i);
	balance(3 * CAP + 2);
	/* what is cached first */
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 4, p + 3 * CAP + 2) == 4);
	CHILD_CHECK(fake.refills == 2 && number(p[3 * CAP + 5]) == 3 * CAP + 5);
	front.ops->free_bulk(&front, 3 * CAP + 6, p);
	balance(0);
	front.ops->free_bulk(&front, 0, p);
	front.ops->drain(&front);
	CHILD_CHECK(fake.nr_out == 0);
}

/*
 * A run is as many single hits: the newest first, the last one on top, and no more than there is.
 */
BOTH_MODES(test_runs)
{
	int cpu = here();
	void *p[CAP + 2];
	void *q[CAP + 2];

	make(CAP);
	CHILD_CHECK(array_pop_run(ID, cpu, CAP, p) == 0); /* stopped */
	CHILD_CHECK(array_push_run(ID, cpu, CAP, p) == 0);
	CHILD_CHECK(*percpu_word(ID, cpu) == front_stop_word);
	for (unsigned int i = 0; i < CAP + 2; i++)
		p[i] = get();
	while (array_pop(ID, cpu)) {}
	CHILD_CHECK(array_push_run(ID, cpu, 3, p) == 3);
	CHILD_CHECK(array_push_run(ID, cpu, CAP - 1, p + 3) == CAP - 3); /* full */
	CHILD_CHECK(array_push_run(ID, cpu, 1, p + CAP) == 0);
	CHILD_CHECK(array_pop_run(ID, cpu, 2, q) == 2);
	CHILD_CHECK(q[0] == p[CAP - 1] && q[1] == p[CAP - 2]);
	CHILD_CHECK(array_pop_run(ID, cpu, CAP + 2, q) == CAP - 2); /* empty */
	for (unsigned int i = 0; i < CAP - 2; i++)
		CHILD_CHECK(q[i] == p[CAP - 3 - i]);
	CHILD_CHECK(array_pop_run(ID, cpu, 1, q) == 0 && !array_pop(ID, cpu));
}

/* Every size around the boundaries of sheaves, again and again: none is lost, none twice. */
BOTH_MODES(test_bulk_boundaries)
{
	static void *p[1000];

	here();
	make(CAP);
	for (unsigned int round = 0; round < 3; round++)
		for (unsigned int n = 1; n <= 45 * CAP; n += n < 5 * CAP ? 1 : 61) {
			CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, n, p) == n);
			for (unsigned int i = 0; i < n; i++)
				CHILD_CHECK(fake.out[number(p[i])]);
			balance(n);
			qsort(p, n, sizeof(p[0]), by_address);
			for (unsigned int i = 1; i < n; i++)
				CHILD_CHECK(p[i] != p[i - 1]);
			front.ops->free_bulk(&front, n, p);
			balance(0);
		}
	front.ops->drain(&front);
	CHILD_CHECK(fake.nr_out == 0);
}

/*
 * Steady use of more than the CPU's two sheaves: whole ones come from the
 * depot, none from the engine.
 */
BOTH_MODES(test_bulk_by_sheaves)
{
	void *p[5 * CAP];

	here();
	make(CAP);
	for (unsigned int round = 0; round < 20; round++) {
		if (round == 2)
			fake.refills = fake.flushes = 0;
		CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 5 * CAP, p) == 5 * CAP);
		front.ops->free_bulk(&front, 5 * CAP, p);
	}
	CHILD_CHECK(fake.refills == 0 && fake.flushes == 0);
	balance(0);
}

/* The CPU's two sheaves and nothing else: neither the depot nor the engine is asked. */
BOTH_MODES(test_take_local)
{
	void *p[10 * CAP];

	here();
	make(CAP);
	CHILD_CHECK(front.ops->take_local(&front, CAP, p) == 0); /* stopped */
	CHILD_CHECK(front.ops->alloc_bulk(&front, GFP_KERNEL, 10 * CAP, p) == 10 * CAP);
	front.ops->free_bulk(&front, 10 * CAP, p);
	fake.refills = 0;
	CHILD_CHECK(front.ops->take_local(&front, 0, p) == 0);
	CHILD_CHECK(front.ops->take_local(&front, 3, p) == 3);
	CHILD_CHECK(get() != p[2]);
	CHILD_CHECK(front.ops->take_local(&front, 10 * CAP, p + 3) <= 2 * CAP - 4);
	CHILD_CHECK(fake.refills == 0 && front.ops->held(&front) >= 8 * CAP); /* in the depot */
	CHILD_CHECK(front.ops->take_local(&front, 1, p) == 0);
	CHILD_CHECK(get());
	front.closed = FRONT_CLOSED;
	CHILD_CHECK(front.ops->take_local(&front, 1, p) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bulk),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_bulk_boundaries),
		cmocka_unit_test(test_bulk_by_sheaves),
		cmocka_unit_test(test_take_local),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
