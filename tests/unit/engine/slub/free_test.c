/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/free_test.c - every row of the table of spec 4.11
 */
#include "fixture.h"

static bool free_as(struct engine *e, void *obj, bool cpu_partial)
{
	return slub_free_chain(e, slab_of(obj), obj, obj, 1, cpu_partial);
}

/* Row 1: a frozen slab takes the object and stays where it is, even when it becomes empty. */
static void frozen_push_only(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024);
	void *freelist;
	struct page *slab = slub_cpu_new_slab(&e, 0, -1, &freelist);
	void *objs[16];
	unsigned int i;

	for (i = 0; i < 16; i++) {
		objs[i] = freelist;
		freelist = freeptr_get(slub_of(&e), slab->layout, freelist);
	}
	events_reset();
	for (i = 0; i < 16; i++)
		assert_false(free_as(&e, objs[i], i % 2));
	assert_int_equal(events[FREE_SLOWPATH], 16);
	assert_int_equal(events[FREE_FROZEN], 16);
	assert_int_equal(counters_of(slab).inuse, 0);
	assert_int_equal(counters_of(slab).frozen, 1);
	assert_ptr_equal(slab->freelist, objs[15]);
	assert_int_equal(nr_partial(&e), 0);
	slub_cpu_deactivate(&e, slab, NULL);
	END_ENGINE(&e);
}

/* Row 1 in one straight line; any other row, and an empty slab, are left to slub_free_chain(). */
static void frozen_push_in_one_line(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024);
	void *freelist;
	struct page *slab = slub_cpu_new_slab(&e, 0, -1, &freelist);
	void *objs[16];
	void *other;

	for (unsigned int i = 0; i < 16; i++) {
		objs[i] = freelist;
		freelist = freeptr_get(slub_of(&e), slab->layout, freelist);
	}
	events_reset();
	for (unsigned int i = 0; i < 16; i++)
		assert_true(slub_push_frozen(&e, slab, objs[i]));
	assert_int_equal(events[FREE_SLOWPATH], 16);
	assert_int_equal(events[FREE_FROZEN], 16);
	assert_int_equal(counters_of(slab).inuse, 0);
	assert_int_equal(counters_of(slab).frozen, 1);
	assert_ptr_equal(slab->freelist, objs[15]);
	assert_ptr_equal(freeptr_get(slub_of(&e), slab->layout, objs[15]), objs[14]);
	assert_false(slub_push_frozen(&e, slab, objs[0])); /* nothing is in use */
	slub_cpu_deactivate(&e, slab, NULL);

	assert_int_equal(slub_refill(&e, &other, 1, 0, -1), 1);
	events_reset();
	assert_false(slub_push_frozen(&e, slab_of(other), other)); /* not frozen */
	assert_int_equal(events[FREE_SLOWPATH], 0);
	assert_int_equal(counters_of(slab_of(other)).inuse, 1);
	free_one(&e, other);
	END_ENGINE(&e);
}

/* Row 2: on the partial list already, not empty: no lock, no move. */
static void partial_push_only(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *objs[3];

	assert_int_equal(slub_refill(&e, objs, 3, 0, -1), 3);
	events_reset();
	lock_acquire(&slub_of(&e)->node[0]->list_lock); /* would hang if it were needed */
	assert_false(free_as(&e, objs[0], false));
	assert_false(free_as(&e, objs[1], true));
	lock_release(&slub_of(&e)->node[0]->list_lock);
	assert_int_equal(events[FREE_SLOWPATH], 2);
	assert_int_equal(events[FREE_ADD_PARTIAL] + events[FREE_FROZEN], 0);
	assert_int_equal(nr_partial(&e), 1);
	free_one(&e, objs[2]);
	END_ENGINE(&e);
}

/* Row 3: full, with CPU partials: frozen for the caller, on no list; no lock either. */
static void full_is_frozen_for_the_cpu(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *objs[64];
	struct page *slab = fill_slab(&e, objs);

	events_reset();
	lock_acquire(&slub_of(&e)->node[0]->list_lock);
	assert_true(free_as(&e, objs[9], true));
	lock_release(&slub_of(&e)->node[0]->list_lock);
	assert_int_equal(events[CPU_PARTIAL_FREE], 1);
	assert_int_equal(events[FREE_SLOWPATH], 1);
	assert_int_equal(counters_of(slab).frozen, 1);
	assert_int_equal(counters_of(slab).inuse, 63);
	assert_int_equal(nr_partial(&e), 0);
	/* The next one is row 1. */
	assert_false(free_as(&e, objs[10], true));
	assert_int_equal(events[FREE_FROZEN], 1);
	slab->next = NULL;
	slub_cpu_unfreeze_partials(&e, slab);
	objs[10] = objs[63];
	objs[9] = objs[62];
	slub_flush(&e, objs, 62);
	END_ENGINE(&e);
}

/* ... even when the chain is the whole slab. */
static void full_freed_at_once_is_frozen_too(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(4096); /* 8 in a slab */
	struct slub *s = slub_of(&e);
	void *objs[8];
	struct page *slab = fill_slab(&e, objs);
	unsigned int i;

	for (i = 1; i < 8; i++)
		freeptr_set(s, slab->layout, objs[i], objs[i - 1]);
	assert_true(slub_free_chain(&e, slab, objs[7], objs[0], 8, true));
	assert_int_equal(counters_of(slab).inuse, 0);
	assert_int_equal(counters_of(slab).frozen, 1);
	slab->next = NULL;
	slub_cpu_unfreeze_partials(&e, slab);
	END_ENGINE(&e);
}

/* Row 4: full, without CPU partials: to the tail. */
static void full_goes_to_the_tail(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *a[64];
	void *b[64];
	struct page *slab_a = fill_slab(&e, a);
	struct page *slab_b = fill_slab(&e, b);

	events_reset();
	assert_false(free_as(&e, b[0], false));
	assert_false(free_as(&e, a[0], false));
	assert_int_equal(events[FREE_ADD_PARTIAL], 2);
	assert_ptr_equal(partial_at(&e, 0), slab_b);
	assert_ptr_equal(partial_at(&e, 1), slab_a);
	slub_check(&e);
	slub_flush(&e, a + 1, 63);
	slub_flush(&e, b + 1, 63);
	END_ENGINE(&e);
}

/*
 * Rows 5 and 6, spec 14 vector 4: empty slabs stay while there are fewer than min_partial (5). A
 * slab on the list when it becomes empty is counted itself, so that here 4 of them stay.
 */
static void empty_stays_below_min_partial(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	static void *objs[8][64];
	unsigned int i;

	for (i = 0; i < 8; i++)
		fill_slab(&e, objs[i]);
	events_reset();
	for (i = 0; i < 8; i++)
		slub_flush(&e, objs[i], 64);
	assert_int_equal(nr_slabs(&e), 4);
	assert_int_equal(nr_partial(&e), 4);
	assert_int_equal(events[FREE_SLAB], 4);
	assert_int_equal(events[FREE_REMOVE_PARTIAL], 4);
	slub_check(&e);
	assert_int_equal(slub_shrink(&e), 0);
	assert_int_equal(nr_slabs(&e), 0);
	END_ENGINE(&e);
}

/* Row 5: on the partial list, becomes empty, there are enough: off the list, gone. */
static void empty_goes_above_min_partial(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	static void *objs[6][64];
	unsigned int i;

	for (i = 0; i < 6; i++)
		fill_slab(&e, objs[i]);
	for (i = 0; i < 6; i++)
		free_one(&e, objs[i][0]);
	assert_int_equal(nr_partial(&e), 6);
	events_reset();
	slub_flush(&e, objs[3] + 1, 63);
	assert_int_equal(events[FREE_REMOVE_PARTIAL], 1);
	assert_int_equal(events[FREE_SLAB], 1);
	assert_int_equal(nr_partial(&e), 5);
	/* Now 5 are left, and 5 is enough too (it is counted itself). */
	slub_flush(&e, objs[0] + 1, 63);
	assert_int_equal(nr_partial(&e), 4);
	/* With 4 the next empty one is kept. */
	slub_flush(&e, objs[1] + 1, 63);
	assert_int_equal(nr_partial(&e), 4);
	assert_int_equal(events[FREE_SLAB], 2);
	slub_check(&e);
	slub_flush(&e, objs[2] + 1, 63);
	slub_flush(&e, objs[4] + 1, 63);
	slub_flush(&e, objs[5] + 1, 63);
	END_ENGINE(&e);
}

/* Row 6: one object in a slab, full and empty are one step: straight to the pages or the tail. */
static void full_to_empty(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(40000);
	void *objs[9];
	unsigned int i;

	assert_int_equal(e.layout->objects, 1);
	assert_int_equal(slub_refill(&e, objs, 9, 0, -1), 9);
	events_reset();
	for (i = 0; i < 9; i++)
		free_one(&e, objs[i]);
	assert_int_equal(events[FREE_ADD_PARTIAL], 7); /* min_partial of 40000 */
	assert_int_equal(events[FREE_SLAB], 2);
	assert_int_equal(events[FREE_REMOVE_PARTIAL], 0);
	END_ENGINE(&e);
}

/* What a front gives back without ever having handed it out is not written to. */
static void never_handed_out_is_not_touched(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(512);
	void *objs[8];
	void *back[8];
	unsigned int n = slub_refill(&e, objs, 8, 0, -1);
	struct page *slab = slab_of(objs[0]);

	assert_true(n >= 4 && slab_of(objs[n - 1]) == slab);
	for (unsigned int i = 0; i < n; i++)
		memset(objs[i], 0xa5, 512);
	for (unsigned int i = 0; i < n; i++) /* a sheaf: the first one on top, and in use */
		back[i] = objs[n - 1 - i];
	slub_flush(&e, back, n - 1);
	for (unsigned int i = 1; i < n; i++)
		for (unsigned int j = 0; j < 512; j++)
			assert_int_equal(((unsigned char *)objs[i])[j], 0xa5);
	assert_int_equal(counters_of(slab).formatted, 1);
	assert_int_equal(counters_of(slab).inuse, 1);
	slub_check(&e);
	assert_int_equal(slub_refill(&e, back, 2, 0, -1), 2);
	assert_ptr_equal(back[0], objs[1]);
	assert_ptr_equal(back[1], objs[2]);

	/* in another order they are linked, as ever */
	slub_flush(&e, back, 2);
	assert_int_equal(counters_of(slab).formatted, 3);
	slub_check(&e);
	slub_flush(&e, objs, 1);
	END_ENGINE(&e);
}

static void pack_keeps_16_kib_at_most(__attribute__((unused)) void **state)
{
	static const unsigned int sizes[] = { 16, 64, 1024, 2048, 4096, 8192, 32768 };
	struct engine_stats stats;
	void *objs[200];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct engine e = make_pack(sizes[i]);
		unsigned int n = 0;

		while (n < 200)
			n += slub_refill(&e, objs + n, 200 - n, 0, -1);
		slub_flush(&e, objs, 200);
		slub_ops.stats(&e, &stats);
		assert_in_range(stats.slab_bytes, 0, 16384);
		END_ENGINE(&e);
	}
}

/* A flush of objects of many slabs, in any order, puts each into its own. */
static void flush_sorts_by_slab(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024); /* 16 in a slab */
	static void *objs[320];
	static void *mixed[320];
	unsigned int i;

	assert_int_equal(slub_refill(&e, objs, 320, 0, -1), 320);
	for (i = 0; i < 320; i++)
		mixed[i] = objs[i * 37 % 320];
	events_reset();
	slub_flush(&e, mixed, 160);
	slub_check(&e);
	assert_int_equal(slub_ops.destroy(&e), 160); /* says how many are out, and does nothing */
	slub_flush(&e, mixed + 160, 160);
	assert_in_range(events[FREE_SLOWPATH], 20, 320);
	END_ENGINE(&e);
}

/* The chain of a slab is in the order of single frees: last freed, first out. */
static void flush_is_last_in_first_out(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *objs[64];
	void *got[3];
	void *back[3];

	fill_slab(&e, objs);
	memcpy(back, objs + 10, sizeof(back));
	slub_flush(&e, back, 3);
	assert_int_equal(slub_refill(&e, got, 3, 0, -1), 3);
	assert_ptr_equal(got[0], objs[12]);
	assert_ptr_equal(got[2], objs[10]);
	slub_flush(&e, objs, 64);
	END_ENGINE(&e);
}

/* Caches that track users can list their full slabs. */
static void full_list_with_store_user(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(64);
	struct engine e;
	void *objs[64];
	struct page *slab;

	params.flags = SLAB_STORE_USER;
	e = make_engine(params);
	assert_int_equal(slub_of(&e)->cpu_partial, 0);
	slab = fill_slab(&e, objs);
	assert_ptr_equal(list_first(&slub_of(&e)->node[0]->full, struct page, lru), slab);
	slub_check(&e);
	free_one(&e, objs[0]);
	assert_true(list_empty(&slub_of(&e)->node[0]->full));
	assert_ptr_equal(partial_at(&e, 0), slab);
	slub_flush(&e, objs + 1, 63);
	END_ENGINE(&e);
}

enum crime { TWICE_IN_A_ROW, TWICE_IN_ONE_FLUSH, MORE_THAN_THERE_ARE };

static void double_free(void *arg)
{
	struct engine_params params = plain_params(64);
	enum crime crime = *(enum crime *)arg;
	struct engine e;
	void *objs[4];

	params.hardened = crime == TWICE_IN_A_ROW;
	e = make_engine(params);
	CHILD_CHECK(slub_refill(&e, objs, 4, 0, -1) == 4);
	switch (crime) {
	case TWICE_IN_A_ROW:
		free_one(&e, objs[2]);
		free_one(&e, objs[2]);
		break;
	case TWICE_IN_ONE_FLUSH:
		objs[3] = objs[2];
		slub_flush(&e, objs, 4);
		break;
	case MORE_THAN_THERE_ARE:
		slub_flush(&e, objs, 4);
		slub_flush(&e, objs, 3);
		break;
	}
}

static void double_frees_are_fatal(__attribute__((unused)) void **state)
{
	enum crime crime;

	for (crime = TWICE_IN_A_ROW; crime <= MORE_THAN_THERE_ARE; crime++) {
		struct child c = child_run(double_free, &crime);

		assert_true(child_aborted(&c));
		assert_non_null(strstr(c.text, "slub: double free of 0x"));
		assert_non_null(strstr(c.text, "in cache test\n"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frozen_push_only),
		cmocka_unit_test(frozen_push_in_one_line),
		cmocka_unit_test(partial_push_only),
		cmocka_unit_test(full_is_frozen_for_the_cpu),
		cmocka_unit_test(full_freed_at_once_is_frozen_too),
		cmocka_unit_test(full_goes_to_the_tail),
		cmocka_unit_test(empty_stays_below_min_partial),
		cmocka_unit_test(empty_goes_above_min_partial),
		cmocka_unit_test(full_to_empty),
		cmocka_unit_test(pack_keeps_16_kib_at_most),
		cmocka_unit_test(never_handed_out_is_not_touched),
		cmocka_unit_test(flush_sorts_by_slab),
		cmocka_unit_test(flush_is_last_in_first_out),
		cmocka_unit_test(full_list_with_store_user),
		cmocka_unit_test(double_frees_are_fatal),
	};

	return cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
