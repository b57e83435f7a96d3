/* SPDX-License-Identifier: MIT */
/*
 * unit/front/sheaves_lent_test.c - what is lent, and where it goes when it comes back (spec A6)
 */
#include "sheaves_fixture.h"

static void *objs[FAKE_OBJECTS];

static struct sheaf *lend(unsigned int nr)
{
	struct sheaf *sheaf = sheaves_lend(&front, GFP_KERNEL, nr);

	CHILD_CHECK(sheaf && sheaf->nr >= nr);
	return sheaf;
}

BOTH_MODES(test_lend)
{
	struct sheaf *sheaf;
	struct sheaf *other;

	make_fake(64, 0);
	/* nothing anywhere: a new one, filled to its capacity */
	sheaf = lend(5);
	CHILD_CHECK(sheaf->nr == 60 && front.ops->held(&front) == 0);
	STATS([SHEAF_PREFILL_SLOW] = 1, [BARN_GET_FAIL] = 1, [SHEAF_ALLOC] = 1, [SHEAF_REFILL] = 60);
	/* a CPU without main gets no spare: to the barn */
	sheaves_take_back(&front, sheaf);
	STATS([SHEAF_RETURN_SLOW] = 1, [BARN_PUT] = 1);
	CHILD_CHECK(lend(60) == sheaf);
	STATS([SHEAF_PREFILL_SLOW] = 1, [BARN_GET] = 1);
	get_many(objs, 10);
	STATS([ALLOC_FASTPATH] = 10, [BARN_GET_FAIL] = 1, [SHEAF_ALLOC] = 1, [SHEAF_REFILL] = 60);
	sheaves_take_back(&front, sheaf);
	STATS([SHEAF_RETURN_FAST] = 1);
	CHILD_CHECK(cpu_state()->spare == sheaf);
	/* the spare, as it is if it has enough */
	CHILD_CHECK(lend(60) == sheaf && !cpu_state()->spare);
	STATS([SHEAF_PREFILL_FAST] = 1);
	put(sheaf_pop(sheaf));
	put(sheaf_pop(sheaf));
	sheaves_take_back(&front, sheaf);
	CHILD_CHECK(lend(58) == sheaf && sheaf->nr == 58);
	sheaves_take_back(&front, sheaf);
	CHILD_CHECK(lend(59) == sheaf && sheaf->nr == 60);
	/* there is a spare already: filled up, and to the barn */
	other = lend(1);
	put(sheaf_pop(other));
	sheaves_take_back(&front, sheaf);
	sheaves_take_back(&front, other);
	CHILD_CHECK(this_barn()->full == other && other->nr == 60);
	put_many(objs, 10);
	end_fake();
}

/* Without memory for it, and for one that comes back. */
BOTH_MODES(test_memory_is_short)
{
	struct sheaf *sheaf;

	make_fake(64, 0);
	fake.budget = 20;
	CHILD_CHECK(!sheaves_lend(&front, GFP_KERNEL, 30) && fake.nr_out == 0);
	fake.budget = 20;
	sheaf = lend(20); /* fewer than fit, and yet enough */
	CHILD_CHECK(sheaf->nr == 20);
	sheaves_take_back(&front, sheaf); /* cannot be filled: flushed, and freed */
	CHILD_CHECK(fake.nr_out == 0 && stat(SHEAF_ALLOC) == stat(SHEAF_FREE));
	end_fake();
}

/* A barn with ten takes no more. */
BOTH_MODES(test_barn_is_full)
{
	struct sheaf *sheaf;

	make_fake(64, 0);
	take_out(objs, 720);
	put_many(objs, 720);
	sheaf = lend(1);
	CHILD_CHECK(!cpu_state()->spare && this_barn()->nr_full == 10);
	sheaves_take_back(&front, sheaf);
	CHILD_CHECK(cpu_state()->spare == sheaf);
	sheaf = sheaves_new(&front);
	CHILD_CHECK(sheaf && sheaves_fill(&front, sheaf, GFP_KERNEL));
	STATS([FREE_FASTPATH] = 720, [SHEAF_ALLOC] = 13, [BARN_PUT] = 10, [SHEAF_REFILL] = 60,
	      [SHEAF_PREFILL_FAST] = 1, [SHEAF_RETURN_FAST] = 1);
	sheaves_take_back(&front, sheaf);
	STATS([SHEAF_RETURN_SLOW] = 1, [SHEAF_FLUSH] = 60, [SHEAF_FREE] = 1);
	end_fake();
}

BOTH_MODES(test_closed)
{
	struct sheaf *sheaf;

	make_fake(64, 0);
	sheaf = lend(3);
	front_close(&front);
	CHILD_CHECK(!sheaves_lend(&front, GFP_KERNEL, 3));
	sheaves_take_back(&front, sheaf);
	CHILD_CHECK(fake.nr_out == 0);
	end_fake();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lend),
		cmocka_unit_test(test_memory_is_short),
		cmocka_unit_test(test_barn_is_full),
		cmocka_unit_test(test_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
