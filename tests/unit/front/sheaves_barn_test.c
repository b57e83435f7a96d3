/* SPDX-License-Identifier: MIT */
/*
 * unit/front/sheaves_barn_test.c - sheaves by themselves, and the two lists of a barn
 */
#include "sheaves_fixture.h"

BOTH_MODES(test_fill_and_flush)
{
	struct sheaf *sheaf;

	make_fake(256, 0);
	sheaf = sheaves_new(&front);
	CHILD_CHECK(sheaf && sheaf->front == &front && !sheaf->nr);
	sheaf_push(sheaf, fake.memory);
	fake.out[0] = true;
	fake.nr_out = 1;
	CHILD_CHECK(sheaves_fill(&front, sheaf, GFP_KERNEL) && sheaf->nr == 28);
	CHILD_CHECK(sheaf->obj[0] == fake.memory && sheaf_pop(sheaf) != fake.memory);
	fake.budget = 0;
	CHILD_CHECK(!sheaves_fill(&front, sheaf, GFP_KERNEL) && sheaf->nr == 27);
	fake.budget = 1;
	fake.out[27] = false;
	fake.nr_out--;
	CHILD_CHECK(sheaves_fill(&front, sheaf, GFP_KERNEL) && sheaf->nr == 28);
	sheaves_flush(&front, sheaf);
	CHILD_CHECK(!sheaf->nr && fake.nr_out == 0);
	sheaves_flush(&front, sheaf);
	sheaves_delete(&front, sheaf);
	sheaves_delete(&front, NULL);
	STATS([SHEAF_ALLOC] = 1, [SHEAF_FREE] = 1, [SHEAF_REFILL] = 28, [SHEAF_FLUSH] = 28);
	end_fake();
}

static struct sheaf *filled(void)
{
	struct sheaf *sheaf = sheaves_new(&front);

	CHILD_CHECK(sheaf && sheaves_fill(&front, sheaf, GFP_KERNEL));
	return sheaf;
}

/* Spec A1.4, A1.5: last in, first out; and the answers of an exchange. */
BOTH_MODES(test_lists)
{
	unsigned int node;
	struct sheaf *full[3];
	struct sheaf *empty;
	struct sheaf *sheaf;
	struct barn *barn;

	make_fake(1024, 0);
	node = os_cpu_to_node((unsigned int)cpu);
	barn = this_barn();
	CHILD_CHECK(!barn_exchange_empty(barn, NULL) && !barn_get_empty(barn));
	for (int i = 0; i < 3; i++)
		full[i] = filled();
	sheaf = full[0];
	CHILD_CHECK(barn_exchange_full(barn, &sheaf) == BARN_NONE && sheaf == full[0]);
	sheaves_put_full(&front, node, full[0]);
	sheaves_put_full(&front, node, full[1]);
	CHILD_CHECK(barn->nr_full == 2 && barn->nr_objects == 24);
	empty = sheaves_new(&front);
	CHILD_CHECK(barn_exchange_empty(barn, empty) == full[1]);
	CHILD_CHECK(barn->nr_full == 1 && barn->nr_empty == 1 && barn->nr_objects == 12);
	sheaf = full[2];
	CHILD_CHECK(barn_exchange_full(barn, &sheaf) == BARN_DONE && sheaf == empty);
	CHILD_CHECK(barn_exchange_empty(barn, NULL) == full[2]);
	sheaves_put_empty(&front, node, empty);
	CHILD_CHECK(barn_get_empty(barn) == empty);
	sheaves_put_empty(&front, node, empty);
	for (unsigned int i = 1; i < BARN_MAX_FULL; i++)
		sheaves_put_full(&front, node, i < 3 ? full[i] : filled());
	sheaf = filled();
	CHILD_CHECK(barn_exchange_full(barn, &sheaf) == BARN_TOO_BIG);
	/* who undoes something is not refused */
	sheaves_put_full(&front, node, sheaf);
	CHILD_CHECK(barn->nr_full == 11 && front.ops->held(&front) == 11 * 12);
	front.ops->check(&front);
	end_fake();
}

/* Nothing comes into a barn that was closed. */
BOTH_MODES(test_closed)
{
	struct sheaf *sheaf;

	make_fake(64, 0);
	sheaf = filled();
	front_close(&front);
	sheaves_put_full(&front, 0, sheaf);
	CHILD_CHECK(fake.nr_out == 0 && !sheaves_barn(&front, 0)->full);
	sheaves_put_empty(&front, 0, sheaves_new(&front));
	CHILD_CHECK(!sheaves_barn(&front, 0)->empty);
	STATS([SHEAF_ALLOC] = 2, [SHEAF_FREE] = 2, [SHEAF_REFILL] = 60, [SHEAF_FLUSH] = 60);
	end_fake();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fill_and_flush),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
