/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slab/evacuate_test.c - slabs that are emptied: which, and what becomes of them
 */
#include "engine/evacuation.h"
#include "fixture.h"

#define SLABS 4
#define SIZE 256

static void *objs[SLABS][SLAB_MAX_NUM];
static const unsigned int used[SLABS] = { 1, 12, 2, 0 };

static void make_list(struct engine *e, struct page **slabs)
{
	unsigned int num = geometry_of(e)->num;

	for (unsigned int i = 0; i < SLABS; i++)
		slabs[i] = fill_slab(e, objs[i]);
	for (unsigned int i = 0; i < SLABS; i++)
		slab_flush(e, objs[i] + used[i], num - used[i]);
}

static void is_emptied(__attribute__((unused)) void **state)
{
	struct evacuation_choice choice = { .use = EVACUATED_WHOLE / 4,
					    .look = 3,
					    .far = ULONG_MAX };
	struct engine e = make_plain(SIZE);
	struct evacuated set = { .nr = 0 };
	struct page *slabs[SLABS];
	void *taken[3];

	make_list(&e, slabs);
	assert_int_equal(slab_evacuation.listed(&e, 0), 3);
	assert_int_equal(slab_evacuation.choose(&e, &choice, &set), 3);
	assert_int_equal(set.nr, 2);
	assert_ptr_equal(set.slab[0], slabs[2]);
	assert_ptr_equal(set.slab[1], slabs[0]);
	slab_check(&e);

	/* of the partial slab, not of the free one */
	assert_int_equal(slab_evacuation.take(&e, 0, taken, 3, ULONG_MAX, false), 3);
	assert_ptr_equal(slab_of(taken[0]), slabs[1]);
	assert_ptr_equal(slab_of(taken[2]), slabs[1]);

	slab_flush(&e, objs[2], 1);
	slab_check(&e);
	slab_flush(&e, objs[2] + 1, 1);
	assert_int_equal(inuse_of(slabs[2]), 0);
	slab_check(&e);
	assert_int_equal(slab_evacuation.end(&e, &set, 0, true), 1ul << geometry_of(&e)->order);
	assert_null(page_head_of(page_address(slabs[2])));
	assert_int_equal(set.nr, 1);
	assert_int_equal(slab_evacuation.end(&e, &set, 0, true), 0);
	assert_ptr_equal(listed_at(&node_of(&e, 0)->partial, 1), slabs[0]);
	slab_check(&e);

	slab_flush(&e, taken, 3);
	slab_flush(&e, objs[0], 1);
	slab_flush(&e, objs[1], used[1]);
	END_ENGINE(&e);
}

/* An object that is freed twice is no object of an isolated slab. */
static void freed_twice(__attribute__((unused)) void **state)
{
	struct evacuation_choice choice = { .use = EVACUATED_WHOLE, .look = 1, .far = ULONG_MAX };
	struct engine e = make_plain(SIZE);
	struct evacuated set = { .nr = 0 };
	void *p;

	hear();
	assert_int_equal(slab_refill(&e, &p, 1, 0, -1), 1);
	assert_int_equal(slab_evacuation.choose(&e, &choice, &set), 1);
	slab_flush(&e, &p, 1);
	slab_flush(&e, &p, 1);
	assert_true(heard_once(ENGINE_FREE_AGAIN, p, e.name));
	hear_no_more();
	slab_check(&e);
	slab_evacuation.end(&e, &set, 0, true);
	END_ENGINE(&e);
}

static unsigned int visits;

static void visit_it(void *slab, void *obj, void *arg)
{
	(void)slab;
	assert_ptr_equal(obj, arg);
	visits++;
}

/* Walks see what is in use. */
static void is_walked(__attribute__((unused)) void **state)
{
	struct evacuation_choice choice = { .use = EVACUATED_WHOLE, .look = 1, .far = ULONG_MAX };
	struct engine e = make_plain(SIZE);
	struct evacuated set = { .nr = 0 };
	void *p;

	assert_int_equal(slab_refill(&e, &p, 1, 0, -1), 1);
	slab_evacuation.choose(&e, &choice, &set);
	visits = 0;
	slab_walk(&e, visit_it, p);
	slab_walk_slab(&e, slab_of(p), visit_it, p);
	assert_int_equal(visits, 2);
	assert_false(slab_is_free(&e, slab_of(p), p));
	slab_flush(&e, &p, 1);
	slab_evacuation.end(&e, &set, 0, true);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_emptied),
		cmocka_unit_test(freed_twice),
		cmocka_unit_test(is_walked),
	};

	return cmocka_run_group_tests(tests, slab_group_setup, NULL);
}
