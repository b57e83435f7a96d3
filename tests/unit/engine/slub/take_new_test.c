/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/take_new_test.c - new slabs that are handed out whole (spec 13.2, NEW)
 */
#include "fixture.h"

static void whole_slabs_ascending(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024); /* 16 in a slab */
	char *objs[60];

	assert_int_equal(slub_take_new(&e, (void **)objs, 15, 0), 0); /* fewer than a slab has */
	assert_int_equal(nr_slabs(&e), 0);
	assert_int_equal(slub_take_new(&e, (void **)objs, 60, 0), 48);
	assert_int_equal(events[ALLOC_SLAB], 3);
	for (unsigned int i = 0; i < 48; i++)
		assert_ptr_equal(objs[i], (char *)page_address(slab_of(objs[i / 16 * 16])) +
						  1024 * (i % 16));
	for (unsigned int i = 0; i < 48; i += 16) {
		struct page *slab = slab_of(objs[i]);

		/* full from the first moment, without a list, and on none */
		assert_null(slab->freelist);
		assert_null(slab->lru.next);
		assert_int_equal(counters_of(slab).inuse, 16);
		assert_int_equal(counters_of(slab).formatted, 16);
	}
	assert_int_equal(nr_partial(&e), 0);
	slub_check(&e);
	slub_flush(&e, (void **)objs, 1); /* as any full slab */
	assert_int_equal(nr_partial(&e), 1);
	assert_ptr_equal(take_one(&e), objs[0]);
	slub_flush(&e, (void **)objs, 48);
	END_ENGINE(&e);
}

static void exactly_one_slab(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024);
	void *objs[16];

	assert_int_equal(slub_take_new(&e, objs, 16, 0), 16);
	assert_int_equal(nr_slabs(&e), 1);
	slub_flush(&e, objs, 16);
	END_ENGINE(&e);
}

/* Nothing is written into them: a slab's pages are touched when its objects are. */
static void nothing_is_linked(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(64);
	unsigned char *objs[64];

	assert_int_equal(slub_take_new(&e, (void **)objs, 64, 0), 64);
	memset(objs[0], 0x5a, 64 * 64);
	slub_flush(&e, (void **)objs, 64);
	assert_int_equal(slub_shrink(&e), 0);
	assert_int_equal(slub_take_new(&e, (void **)objs, 64, 0), 64);
	for (unsigned int i = 1; i < 64; i++) /* the flush has linked them, this has not */
		assert_int_equal(objs[i][40], objs[0][40]);
	assert_int_equal(counters_of(slab_of(objs[0])).formatted, 64);
	slub_flush(&e, (void **)objs, 64);
	END_ENGINE(&e);
}

static unsigned int constructed;

static void ctor(void *obj)
{
	memset(obj, 0xc5, 40);
	constructed++;
}

static void each_is_constructed(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(40);
	unsigned int per_slab;
	unsigned char *objs[512];
	struct engine e;

	constructed = 0;
	params.ctor = ctor;
	e = make_engine(params);
	per_slab = e.layout->objects;
	assert_int_equal(slub_take_new(&e, (void **)objs, 2 * per_slab + 1, 0), 2 * per_slab);
	assert_int_equal(constructed, 2 * per_slab);
	for (unsigned int i = 0; i < 2 * per_slab; i++) {
		assert_int_equal(objs[i][0], 0xc5);
		assert_memory_equal(objs[i], objs[i] + 1, 39);
	}
	slub_flush(&e, (void **)objs, 2 * per_slab);
	END_ENGINE(&e);
}

/* Each has a link, which is looked at when the object is handed out. */
static void hardened_links_end(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(64);
	struct engine e;
	void *objs[64];

	params.hardened = true;
	e = make_engine(params);
	assert_int_equal(slub_take_new(&e, objs, 64, 0), 64);
	for (unsigned int i = 0; i < 64; i++)
		assert_null(freeptr_get(slub_of(&e), e.layout, objs[i]));
	slub_flush(&e, objs, 64);
	END_ENGINE(&e);
}

/* Each once, and not in the order of addresses. */
static void random_order(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(64);
	bool seen[64] = { 0 };
	bool ascending = true;
	struct engine e;
	char *objs[64];

	params.randomised = true;
	e = make_engine(params);
	assert_int_equal(slub_take_new(&e, (void **)objs, 64, 0), 64);
	for (unsigned int i = 0; i < 64; i++) {
		size_t at = (size_t)(objs[i] - (char *)page_address(slab_of(objs[0]))) / 64;

		assert_in_range(at, 0, 63);
		assert_false(seen[at]);
		seen[at] = true;
		ascending &= !i || objs[i] > objs[i - 1];
	}
	assert_false(ascending);
	slub_flush(&e, (void **)objs, 64);
	END_ENGINE(&e);
}

/* Where full slabs are listed, so are these. */
static void full_slabs_are_listed(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024);
	void *objs[16];

	e.flags |= SLAB_STORE_USER;
	assert_int_equal(slub_take_new(&e, objs, 16, 0), 16);
	assert_ptr_equal(listed_at(&slub_of(&e)->node[0]->full, 0), slab_of(objs[0]));
	slub_flush(&e, objs, 16);
	e.flags &= ~SLAB_STORE_USER;
	END_ENGINE(&e);
}

/* Memory in single pages only: slabs of the smallest order, whole, with fewer objects. */
IN_CHILD(fewer_objects_in_smaller_slabs)
{
	static struct page *pages[1 << 16];
	unsigned int count = 0;
	struct engine e;
	void *objs[40];

	limit_address_space(160ul << 20);
	slub_machine(2, 1);
	e = make_plain(1024); /* 16 in a slab, or 4 */
	while (count < ARRAY_SIZE(pages) && (pages[count] = buddy_alloc(-1, 0, true, NULL)))
		page_set_block(pages[count++], PAGE_RUN, 1);
	CHILD_CHECK(count > 1024 && count < ARRAY_SIZE(pages));
	for (unsigned int i = 0; i < 20; i += 2) /* ten slabs, of which seven leave 12 of 40 */
		buddy_free(pages[i], 0, true);
	CHILD_CHECK(slub_take_new(&e, objs, 40, 0) == 28);
	CHILD_CHECK(events[ORDER_FALLBACK] == 7 && events[ALLOC_SLAB] == 7);
	CHILD_CHECK(counters_of(slab_of(objs[27])).objects == 4);
	slub_check(&e);
	for (unsigned int i = 0; i < 20; i += 2) /* and now there is none at all */
		while (buddy_alloc(-1, 0, true, NULL)) {}
	CHILD_CHECK(slub_take_new(&e, objs + 28, 16, 0) == 0);
	slub_flush(&e, objs, 28);
	slub_check(&e);
	CHILD_CHECK(slub_ops.destroy(&e) == 0);
}

int main(void)
{
	const struct CMUnitTest before_there_is_an_arena[] = {
		cmocka_unit_test(fewer_objects_in_smaller_slabs),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_slabs_ascending), cmocka_unit_test(exactly_one_slab),
		cmocka_unit_test(nothing_is_linked),	 cmocka_unit_test(each_is_constructed),
		cmocka_unit_test(hardened_links_end),	 cmocka_unit_test(random_order),
		cmocka_unit_test(full_slabs_are_listed),
	};
	int failed = cmocka_run_group_tests(before_there_is_an_arena, NULL, NULL);

	return failed + cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
