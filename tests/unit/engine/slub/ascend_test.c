/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/ascend_test.c - what was freed in any order comes out in that of the addresses
 */
#include "fixture.h"
#include "heard.h"

#define ARRAY 31 /* objects that a front asks for */

static unsigned int seed = 7;

static void shuffle(void **objs, unsigned int n)
{
	for (unsigned int i = n - 1; i; i--) {
		unsigned int other = (unsigned int)rand_r(&seed) % (i + 1);
		void *obj = objs[i];

		objs[i] = objs[other];
		objs[other] = obj;
	}
}

/* n objects of one slab are freed one by one, in any order. The engine keeps that slab alone. */
static void free_shuffled(struct engine *e, void **objs, unsigned int n)
{
	shuffle(objs, n);
	for (unsigned int i = 0; i < n; i++)
		free_one(e, objs[i]);
}

static bool ascends(void **objs, unsigned int n)
{
	for (unsigned int i = 1; i < n; i++)
		if (objs[i] <= objs[i - 1])
			return false;
	return true;
}

static void lowest_first_and_the_rest_sorted(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(64);
	void *objs[64];
	void *got[64];
	struct page *slab = fill_slab(&e, objs);
	void *keep = objs[0];
	char *last; /* the list's last one stays behind */

	free_shuffled(&e, objs + 1, 63);
	last = objs[1];
	assert_int_equal(slub_refill(&e, got, ARRAY, 0, -1), ARRAY);
	assert_true(ascends(got, ARRAY));
	assert_ptr_equal(got[0], (char *)keep + (last == (char *)keep + 64 ? 128 : 64));
	assert_in_range((char *)got[ARRAY - 1] - (char *)keep, ARRAY * 64, ARRAY * 64 + 64);
	assert_int_equal(counters_of(slab).inuse, 1 + ARRAY);
	assert_ptr_equal(partial_at(&e, 0), slab);
	slub_check(&e);

	/* what was linked is in order, but for the last one */
	assert_int_equal(slub_refill(&e, got + ARRAY, 10, 0, -1), 10);
	assert_true(ascends(got, ARRAY + 10));
	assert_int_equal(slub_refill(&e, got + ARRAY + 10, 22, 0, -1), 22);
	assert_true(ascends(got + ARRAY + 10, 22)); /* a whole list: all of it sorted */
	assert_int_equal(nr_partial(&e), 0);
	assert_int_equal(nr_slabs(&e), 1);
	slub_flush(&e, got, 63);
	free_one(&e, keep);
	END_ENGINE(&e);
}

static void lists_of_several_slabs(__attribute__((unused)) void **state)
{
	enum { SLABS = 4, HOLES = 9 };
	struct engine e = make_pack(64);
	void *objs[SLABS][64];
	void *got[SLABS * HOLES];

	for (unsigned int i = 0; i < SLABS; i++)
		fill_slab(&e, objs[i]);
	for (unsigned int i = 0; i < SLABS; i++)
		free_shuffled(&e, objs[i], HOLES);
	assert_int_equal(slub_refill(&e, got, SLABS * HOLES, 0, -1), SLABS * HOLES);
	for (unsigned int i = 0; i < SLABS; i++) {
		assert_true(ascends(got + i * HOLES, HOLES));
		assert_ptr_equal(slab_of(got[i * HOLES]), slab_of(got[i * HOLES + HOLES - 1]));
	}
	assert_int_equal(nr_partial(&e), 0);
	for (unsigned int i = 0; i < SLABS; i++)
		slub_flush(&e, objs[i], 64);
	END_ENGINE(&e);
}

/* The kernel's order, one that nobody is to foretell, and more objects than are looked at. */
static void others_come_as_they_were_freed(__attribute__((unused)) void **state)
{
	struct engine_params params[3] = { plain_params(64), plain_params(64), plain_params(16) };

	params[1].pack = params[1].randomised = true;
	params[2].pack = true;
	for (unsigned int p = 0; p < 3; p++) {
		struct engine e = make_engine(params[p]);
		static void *objs[4096];
		void *got[ARRAY];
		unsigned int n = e.layout->objects;

		assert_in_range(n, 64, 4096);
		for (unsigned int i = 0; i < n; i++)
			objs[i] = take_one(&e);
		free_shuffled(&e, objs, n - 1);
		assert_int_equal(slub_refill(&e, got, ARRAY, 0, -1), ARRAY);
		for (unsigned int i = 0; i < ARRAY; i++)
			assert_ptr_equal(got[i], objs[n - 2 - i]);
		slub_flush(&e, got, ARRAY);
		free_one(&e, objs[n - 1]);
		END_ENGINE(&e);
	}
}

static void few_come_as_they_were_freed(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(64);
	void *objs[64];
	void *got[2];

	fill_slab(&e, objs);
	free_shuffled(&e, objs, 63);
	assert_int_equal(slub_refill(&e, got, 2, 0, -1), 2);
	assert_ptr_equal(got[0], objs[62]);
	assert_ptr_equal(got[1], objs[61]);
	slub_flush(&e, got, 2);
	free_one(&e, objs[63]);
	END_ENGINE(&e);
}

/* Two lists are taken whole, and one of them ends too early. */
IN_CHILD(the_other_list_is_whole)
{
	enum { HOLES = 9 };
	struct engine e = make_pack(64);
	void *objs[2][64];
	void *got[2 * HOLES];

	for (unsigned int i = 0; i < 2; i++)
		fill_slab(&e, objs[i]);
	for (unsigned int i = 0; i < 2; i++)
		free_shuffled(&e, objs[i], HOLES);
	freeptr_set(slub_of(&e), e.layout, objs[0][HOLES - 3], NULL);
	hear();
	CHILD_CHECK(slub_refill(&e, got, 2 * HOLES, 0, -1) == HOLES);
	CHILD_CHECK(heard_once(ENGINE_LIST_BROKEN, page_address(slab_of(objs[0][0])), "test"));
	CHILD_CHECK(ascends(got, HOLES) && slab_of(got[0]) == slab_of(objs[1][0]));
}

/* Twice in a list, or where no object starts: nothing is touched, those who take it report it. */
static void what_is_no_list_stays(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(64);
	struct engine_node *node = slub_of(&e)->node[0];
	void *objs[64];
	void *got[ARRAY];
	void *wrong[2];
	struct page *slab = fill_slab(&e, objs);
	void *was;

	free_shuffled(&e, objs, 63);
	was = freeptr_get(slub_of(&e), slab->layout, objs[10]);
	wrong[0] = objs[20];
	wrong[1] = (char *)objs[40] + 16;
	for (unsigned int i = 0; i < 2; i++) {
		struct slub_state before = slub_read(slab);
		struct slub_state after;

		freeptr_set(slub_of(&e), slab->layout, objs[10], wrong[i]);
		lock_acquire(&node->list_lock);
		assert_int_equal(slub_take_ascending_locked(&e, slab, got, ARRAY), 0);
		lock_release(&node->list_lock);
		after = slub_read(slab);
		assert_ptr_equal(after.freelist, before.freelist);
		assert_int_equal(after.counters.inuse, before.counters.inuse);
		got[0] = objs[3];
		got[1] = i ? wrong[1] : objs[3];
		slub_ascend(&e, slab, got, 2);
		assert_ptr_equal(got[0], objs[3]);
	}
	freeptr_set(slub_of(&e), slab->layout, objs[10], was);
	slub_check(&e);
	free_one(&e, objs[63]);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lowest_first_and_the_rest_sorted),
		cmocka_unit_test(lists_of_several_slabs),
		cmocka_unit_test(others_come_as_they_were_freed),
		cmocka_unit_test(few_come_as_they_were_freed),
		cmocka_unit_test(the_other_list_is_whole),
		cmocka_unit_test(what_is_no_list_stays),
	};

	return cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
