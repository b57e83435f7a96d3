/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/cpu_test.c - slabs for a CPU and back: spec 4.8c, 4.9, 4.12
 */
#include "fixture.h"

static unsigned int length(struct engine *e, struct page *slab, void *obj)
{
	unsigned int n = 0;

	for (; obj; obj = freeptr_get(slub_of(e), slab->layout, obj))
		n++;
	return n;
}

/* nr partial slabs with one free object each; list[0] is the head's. */
static void make_partials(struct engine *e, void *objs[][64], struct page **list, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		list[i] = fill_slab(e, objs[i]);
	for (i = 0; i < nr; i++)
		free_one(e, objs[i][63]);
	events_reset();
}

static void end_partials(struct engine *e, void *objs[][64], unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		slub_flush(e, objs[i], 63);
	END_ENGINE(e);
}

static void a_new_slab_is_detached(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(64); /* also a pack cache's: the CPU wants all of it */
	void *freelist;
	struct page *slab = slub_cpu_new_slab(&e, 0, -1, &freelist);

	assert_int_equal(events[ALLOC_SLAB], 1);
	assert_null(slab->freelist);
	assert_int_equal(counters_of(slab).inuse, 64);
	assert_int_equal(counters_of(slab).frozen, 1);
	assert_int_equal(length(&e, slab, freelist), 64);
	assert_ptr_equal(freelist, page_address(slab));
	slub_cpu_deactivate(&e, slab, freelist);
	END_ENGINE(&e);
}

/*
 * The head becomes the CPU slab, further ones its partials: until they exceed cpu_partial_slabs/2.
 */
static void get_partial_takes_some_more(__attribute__((unused)) void **state)
{
	static void *objs[6][64];
	struct engine e = make_plain(64); /* cpu_partial_slabs 4 */
	struct page *list[6];
	struct page *partials;
	struct page *slab;
	void *freelist;

	make_partials(&e, objs, list, 6);
	slab = slub_cpu_get_partial(&e, -1, 0, &freelist, &partials);
	assert_ptr_equal(slab, list[0]);
	assert_ptr_equal(freelist, objs[0][63]);
	assert_int_equal(counters_of(slab).inuse, 64);
	assert_int_equal(counters_of(slab).frozen, 1);
	assert_null(slab->freelist);
	assert_int_equal(events[ALLOC_FROM_PARTIAL], 1);
	assert_int_equal(events[CPU_PARTIAL_NODE], 3); /* 3 > 4 / 2 */
	assert_ptr_equal(partials, list[3]);	       /* each is pushed in front */
	assert_int_equal(partials->slabs, 3);
	assert_ptr_equal(partials->next->next, list[1]);
	assert_null(list[1]->next);
	assert_int_equal(list[1]->slabs, 1);
	assert_ptr_equal(list[3]->freelist, objs[3][63]); /* kept */
	assert_int_equal(counters_of(list[3]).inuse, 63);
	assert_int_equal(counters_of(list[3]).frozen, 1);
	assert_int_equal(nr_partial(&e), 2);
	assert_ptr_equal(partial_at(&e, 0), list[4]);

	slub_cpu_deactivate(&e, slab, freelist);
	slub_cpu_unfreeze_partials(&e, partials);
	end_partials(&e, objs, 6);
}

/* Pitfall 14 of spec 15: at least one extra slab, even with cpu_partial 0. */
static void one_extra_without_cpu_partial(__attribute__((unused)) void **state)
{
	static void *objs[3][64];
	struct engine e = make_plain(64);
	struct page *list[3];
	struct page *partials;
	struct page *slab;
	void *freelist;

	slub_of(&e)->cpu_partial = 0;
	slub_of(&e)->cpu_partial_slabs = 0;
	make_partials(&e, objs, list, 3);
	slab = slub_cpu_get_partial(&e, -1, 0, &freelist, &partials);
	assert_ptr_equal(partials, list[1]);
	assert_null(partials->next);
	assert_int_equal(nr_partial(&e), 1);
	slub_cpu_deactivate(&e, slab, freelist);
	slub_cpu_unfreeze_partials(&e, partials);
	end_partials(&e, objs, 3);
}

static void get_partial_of_nothing(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	struct page *partials;
	void *freelist;

	assert_null(slub_cpu_get_partial(&e, -1, 0, &freelist, &partials));
	assert_null(partials);
	END_ENGINE(&e);
}

/* Some, the rest, and what comes in between: a slab has an owner as long as it has objects. */
static void take_some_of_a_frozen_slab(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *freelist;
	struct page *slab = slub_cpu_new_slab(&e, 0, -1, &freelist);
	char *first = freelist;
	char *got[64];
	bool empty;

	assert_int_equal(slub_cpu_take(&e, slab, 4, (void **)got, &empty), 0); /* all is detached */
	assert_true(empty);
	assert_int_equal(counters_of(slab).frozen, 0);
	assert_true(slub_free_chain(&e, slab, first, first + 63 * 64, 64, true)); /* frozen again */
	assert_int_equal(slub_cpu_take(&e, slab, 10, (void **)got, &empty), 10);
	assert_false(empty);
	for (unsigned int i = 0; i < 10; i++)
		assert_ptr_equal(got[i], first + 64 * i);
	assert_int_equal(counters_of(slab).inuse, 10);
	assert_int_equal(counters_of(slab).frozen, 1);
	assert_int_equal(length(&e, slab, slab->freelist), 54);
	assert_int_equal(slub_cpu_take(&e, slab, 54, (void **)got + 10, &empty), 54);
	assert_true(empty); /* no more than asked for, and no owner */
	assert_int_equal(counters_of(slab).inuse, 64);
	assert_int_equal(counters_of(slab).frozen, 0);
	slub_flush(&e, (void **)got, 64);
	END_ENGINE(&e);
}

static void get_freelist_takes_remote_frees(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *freelist;
	struct page *slab = slub_cpu_new_slab(&e, 0, -1, &freelist);
	void *a = freelist;
	void *b = freeptr_get(slub_of(&e), slab->layout, a);
	void *rest = freeptr_get(slub_of(&e), slab->layout, b);

	free_one(&e, a);
	free_one(&e, b);
	assert_int_equal(counters_of(slab).inuse, 62);
	assert_ptr_equal(slub_cpu_get_freelist(&e, slab), b);
	assert_int_equal(events[ALLOC_REFILL], 1);
	assert_int_equal(counters_of(slab).inuse, 64);
	assert_int_equal(counters_of(slab).frozen, 1);
	assert_ptr_equal(freeptr_get(slub_of(&e), slab->layout, b), a);

	/* Nothing there: unfrozen, full, forgotten. */
	assert_null(slub_cpu_get_freelist(&e, slab));
	assert_int_equal(events[DEACTIVATE_BYPASS], 1);
	assert_int_equal(counters_of(slab).frozen, 0);
	assert_int_equal(counters_of(slab).inuse, 64);
	assert_int_equal(nr_partial(&e), 0);

	slub_free_chain(&e, slab, b, a, 2, false);
	while (rest) {
		void *next = freeptr_get(slub_of(&e), slab->layout, rest);

		free_one(&e, rest);
		rest = next;
	}
	END_ENGINE(&e);
}

static void deactivate_to_head(__attribute__((unused)) void **state)
{
	static void *objs[1][64];
	struct engine e = make_plain(64);
	struct page *list[1];
	void *freelist;
	void *obj;
	struct page *slab;

	slab = slub_cpu_new_slab(&e, 0, -1, &freelist);
	obj = freelist;
	freelist = freeptr_get(slub_of(&e), slab->layout, obj);
	make_partials(&e, objs, list, 1);
	slub_cpu_deactivate(&e, slab, freelist);
	assert_int_equal(events[DEACTIVATE_TO_HEAD], 1);
	assert_int_equal(events[DEACTIVATE_REMOTE_FREES], 0);
	assert_ptr_equal(partial_at(&e, 0), slab);
	assert_ptr_equal(partial_at(&e, 1), list[0]);
	assert_int_equal(counters_of(slab).inuse, 1);
	slub_check(&e);
	free_one(&e, obj);
	end_partials(&e, objs, 1);
}

/* Remote frees send it to the tail; the CPU's own list is put in front of them. */
static void deactivate_to_tail(__attribute__((unused)) void **state)
{
	static void *objs[1][64];
	struct engine e = make_plain(64);
	struct page *list[1];
	struct page *slab;
	void *freelist;
	void *obj;

	slab = slub_cpu_new_slab(&e, 0, -1, &freelist);
	obj = freelist;
	freelist = freeptr_get(slub_of(&e), slab->layout, obj);
	make_partials(&e, objs, list, 1);
	free_one(&e, obj);
	slub_cpu_deactivate(&e, slab, freelist);
	assert_int_equal(events[DEACTIVATE_TO_TAIL], 1);
	assert_int_equal(events[DEACTIVATE_REMOTE_FREES], 1);
	assert_ptr_equal(partial_at(&e, 1), slab);
	assert_ptr_equal(slab->freelist, freelist);
	assert_int_equal(length(&e, slab, slab->freelist), 64);
	end_partials(&e, objs, 1);
}

static void deactivate_full_and_empty(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	struct page *slab;
	void *freelist;
	void *next;

	slab = slub_cpu_new_slab(&e, 0, -1, &freelist);
	slub_cpu_deactivate(&e, slab, NULL);
	assert_int_equal(events[DEACTIVATE_FULL], 1);
	assert_int_equal(counters_of(slab).frozen, 0);
	assert_int_equal(nr_partial(&e), 0);
	for (; freelist; freelist = next) {
		next = freeptr_get(slub_of(&e), slab->layout, freelist);
		free_one(&e, freelist);
	}
	assert_int_equal(nr_partial(&e), 1);

	/* Empty: kept while there are fewer than min_partial. */
	slub_of(&e)->min_partial = 1;
	events_reset();
	slab = slub_cpu_new_slab(&e, 0, -1, &freelist);
	slub_cpu_deactivate(&e, slab, freelist);
	assert_int_equal(events[DEACTIVATE_EMPTY], 1);
	assert_int_equal(events[FREE_SLAB], 1);
	assert_int_equal(nr_slabs(&e), 1);
	slub_of(&e)->min_partial = 2;
	slab = slub_cpu_new_slab(&e, 0, -1, &freelist);
	slub_cpu_deactivate(&e, slab, freelist);
	assert_int_equal(events[DEACTIVATE_TO_HEAD], 1);
	assert_int_equal(nr_slabs(&e), 2);
	END_ENGINE(&e);
}

/* To the tail in list order (spec 14 vector 3), the empty ones away when there are enough. */
static void unfreeze_in_list_order(__attribute__((unused)) void **state)
{
	static void *objs[4][64];
	struct engine e = make_plain(64);
	struct page *partials = NULL;
	struct page *list[4];
	unsigned int i;

	for (i = 0; i < 4; i++)
		list[i] = fill_slab(&e, objs[i]);
	for (i = 0; i < 4; i++) {
		assert_true(slub_free_chain(&e, list[i], objs[i][63], objs[i][63], 1, true));
		list[i]->next = partials;
		partials = list[i];
	}
	slub_flush(&e, objs[1], 63); /* list[1] is empty now, and nobody has noticed */
	slub_of(&e)->min_partial = 2;
	events_reset();
	slub_cpu_unfreeze_partials(&e, partials);
	assert_int_equal(events[FREE_ADD_PARTIAL], 3);
	assert_int_equal(events[DEACTIVATE_EMPTY], 1);
	assert_int_equal(events[FREE_SLAB], 1);
	assert_ptr_equal(partial_at(&e, 0), list[3]);
	assert_ptr_equal(partial_at(&e, 1), list[2]);
	assert_ptr_equal(partial_at(&e, 2), list[0]);
	slub_check(&e);
	slub_flush(&e, objs[0], 63);
	slub_flush(&e, objs[2], 63);
	slub_flush(&e, objs[3], 63);
	END_ENGINE(&e);
}

static void pack_slabs_are_formatted_when_taken(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(64);
	struct page *partials;
	struct page *slab;
	void *freelist;
	void *objs[4];

	assert_int_equal(slub_refill(&e, objs, 4, 0, -1), 4);
	free_one(&e, objs[1]);
	slab = slub_cpu_get_partial(&e, -1, 0, &freelist, &partials);
	assert_int_equal(length(&e, slab, freelist), 61);
	assert_int_equal(counters_of(slab).formatted, 64);
	slub_cpu_deactivate(&e, slab, freelist);
	objs[1] = objs[3];
	slub_flush(&e, objs, 3);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_slab_is_detached),
		cmocka_unit_test(get_partial_takes_some_more),
		cmocka_unit_test(one_extra_without_cpu_partial),
		cmocka_unit_test(get_partial_of_nothing),
		cmocka_unit_test(take_some_of_a_frozen_slab),
		cmocka_unit_test(get_freelist_takes_remote_frees),
		cmocka_unit_test(deactivate_to_head),
		cmocka_unit_test(deactivate_to_tail),
		cmocka_unit_test(deactivate_full_and_empty),
		cmocka_unit_test(unfreeze_in_list_order),
		cmocka_unit_test(pack_slabs_are_formatted_when_taken),
	};

	return cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
