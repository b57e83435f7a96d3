/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/slab_test.c - a new slab: descriptor, free list, constructors; and its end
 */
#include "fixture.h"

#define CLASS 77

static void a_new_slab_is_marked_and_ascending(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(1024);
	struct slab_counters counters;
	struct engine e;
	struct page *slab;
	char *obj;
	unsigned int i;

	params.page_class = CLASS;
	e = make_engine(params);
	slab = slub_new_slab(&e, 0, -1, SLUB_LINKED);
	assert_non_null(slab);
	assert_int_equal(slab->type, PAGE_SLAB);
	assert_int_equal(slab->order, 2);
	assert_int_equal(slab->nr_pages, 4);
	assert_ptr_equal(slab->engine, &e);
	assert_ptr_equal(slab->layout, e.layout);
	assert_null(slab->lru.next);
	counters = counters_of(slab);
	assert_int_equal(counters.objects, 16);
	assert_int_equal(counters.inuse, 0);
	assert_int_equal(counters.formatted, 16);
	assert_int_equal(counters.frozen, 0);

	obj = slab->freelist;
	for (i = 0; i < 16; i++) {
		assert_ptr_equal(obj, (char *)page_address(slab) + 1024 * i);
		assert_ptr_equal(slab_of(obj), slab);
		assert_int_equal(page_map.class[page_index(obj)], CLASS);
		obj = freeptr_get(slub_of(&e), slab->layout, obj);
	}
	assert_null(obj);
	assert_int_equal(nr_slabs(&e), 1);

	slub_unaccount(&e, slab);
	slub_free_pages(&e, slab);
	assert_int_equal(events[FREE_SLAB], 1);
	assert_null(page_head_of(page_address(slab)));
	assert_int_equal(page_map.class[page_index(page_address(slab))], 0);
	END_ENGINE(&e);
}

static void a_lazy_slab_has_no_list(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(64);
	struct page *slab = slub_new_slab(&e, 0, -1, SLUB_LAZY);

	assert_null(slab->freelist);
	assert_int_equal(counters_of(slab).formatted, 0);
	assert_int_equal(counters_of(slab).objects, 64);
	/* Somebody wants all of it: the rest in front of what there is. */
	slab->freelist = slub_object(slab, 0);
	freeptr_set(slub_of(&e), slab->layout, slab->freelist, NULL);
	slab->counters =
		engine_counters_word((struct slab_counters){ .objects = 64, .formatted = 1 });
	slub_format_rest_locked(&e, slab);
	assert_ptr_equal(slab->freelist, slub_object(slab, 1));
	assert_int_equal(counters_of(slab).formatted, 64);
	assert_ptr_equal(freeptr_get(slub_of(&e), slab->layout, slub_object(slab, 63)),
			 slub_object(slab, 0));
	slub_unaccount(&e, slab);
	slub_free_pages(&e, slab);
	END_ENGINE(&e);
}

static unsigned int constructed;

static void ctor(void *obj)
{
	memset(obj, 0xc5, 40);
	constructed++;
}

static void objects_are_constructed_once(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(40);
	unsigned char *objs[2];
	struct engine e;

	constructed = 0;
	params.ctor = ctor;
	params.pack = true; /* of no avail: a constructor may not run under list_lock */
	e = make_engine(params);
	assert_int_equal(slub_refill(&e, (void **)objs, 2, 0, -1), 2);
	assert_int_equal(constructed, e.layout->objects);
	/* The free pointer lies outside: what the constructor left survives a free. */
	slub_flush(&e, (void **)objs, 2);
	assert_int_equal(slub_refill(&e, (void **)objs, 2, 0, -1), 2);
	assert_int_equal(constructed, e.layout->objects);
	assert_int_equal(objs[0][0], 0xc5);
	assert_memory_equal(objs[0], objs[0] + 1, 39);
	slub_flush(&e, (void **)objs, 2);
	END_ENGINE(&e);
}

static void hardened_links_are_not_addresses(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(64);
	struct engine e;
	struct page *slab;
	uintptr_t last;
	uintptr_t first;

	params.hardened = true;
	e = make_engine(params);
	slab = slub_new_slab(&e, 0, -1, SLUB_LINKED);
	first = *freeptr_slot(slab->layout, slub_object(slab, 0));
	last = *freeptr_slot(slab->layout, slub_object(slab, 63));
	assert_int_not_equal(first, (uintptr_t)slub_object(slab, 1));
	assert_int_not_equal(last, 0); /* NULL is encoded too */
	assert_int_equal(last, slub_of(&e)->random ^ __builtin_bswap64((uintptr_t)freeptr_slot(
							     slab->layout, slub_object(slab, 63))));
	assert_ptr_equal(freeptr_get(slub_of(&e), slab->layout, slub_object(slab, 0)),
			 slub_object(slab, 1));
	slub_unaccount(&e, slab);
	slub_free_pages(&e, slab);
	END_ENGINE(&e);
}

/* Index of the object that the free list has at its head, and whether all are met once. */
static unsigned int walk_all(struct engine *e, struct page *slab, bool *ascending)
{
	unsigned char seen[512] = { 0 };
	unsigned int count = 0;
	unsigned int first = 0;
	long before = -1;
	void *obj;

	*ascending = true;
	for (obj = slab->freelist; obj; obj = freeptr_get(slub_of(e), slab->layout, obj)) {
		long i = ((char *)obj - (char *)page_address(slab)) / slab->layout->stride;

		assert_in_range(i, 0, slab->layout->objects - 1);
		assert_int_equal(seen[i]++, 0);
		if (count++ == 0)
			first = (unsigned int)i;
		if (i < before)
			*ascending = false;
		before = i;
	}
	assert_int_equal(count, counters_of(slab).objects);
	return first;
}

static void random_lists_hold_everything_once(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(64);
	unsigned int firsts[8];
	struct page *slab[8];
	bool different = false;
	bool ascending;
	struct engine e;
	unsigned int i;

	params.randomised = true;
	e = make_engine(params);
	assert_non_null(slub_of(&e)->random_seq);
	for (i = 0; i < 8; i++) {
		slab[i] = slub_new_slab(&e, 0, -1, SLUB_LINKED);
		firsts[i] = walk_all(&e, slab[i], &ascending);
		assert_false(ascending);
		different |= firsts[i] != firsts[0];
	}
	assert_true(different); /* every slab enters the permutation elsewhere */
	for (i = 0; i < 8; i++) {
		slub_unaccount(&e, slab[i]);
		slub_free_pages(&e, slab[i]);
	}
	END_ENGINE(&e);
}

static void permutations_are_complete(__attribute__((unused)) void **state)
{
	unsigned int *a = slub_random_sequence(100, 1);
	unsigned int *b = slub_random_sequence(100, 2);
	unsigned int sum = 0;
	unsigned int i;
	unsigned int j;

	assert_memory_not_equal(a, b, 100 * sizeof(*a));
	for (i = 0; i < 100; i++) {
		sum += a[i];
		for (j = 0; j < i; j++)
			assert_int_not_equal(a[i], a[j]);
		assert_in_range(a[i], 0, 99);
	}
	assert_int_equal(sum, 4950);
}

/* A slab with another layout beside the cache's own: all code reads the slab's. */
static void a_slab_keeps_its_layout(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	const struct slab_layout *plain = e.layout;
	struct slab_layout wide = *plain;
	char *narrow[64];
	char *objs[2];

	fill_slab(&e, (void **)narrow);
	wide.stride = 256;
	wide.objects = 16;
	wide.min_objects = 16;
	wide.offset = 128;
	wide.red_left_pad = 64;
	e.layout = &wide;
	assert_int_equal(slub_refill(&e, (void **)objs, 2, 0, -1), 2);
	assert_int_equal((uintptr_t)objs[0] % PAGE_SIZE, 64);
	assert_ptr_equal(objs[1], objs[0] + 256);
	assert_ptr_equal(slab_of(narrow[0])->layout, plain);
	assert_ptr_equal(slab_of(objs[0])->layout, &wide);
	slub_flush(&e, (void **)objs, 2);
	slub_flush(&e, (void **)narrow, 33);
	slub_check(&e);
	slub_flush(&e, (void **)narrow + 33, 31);
	e.layout = plain;
	END_ENGINE(&e);
}

static void take_all_pages(struct page **list, unsigned int *count, unsigned int max)
{
	while (*count < max && (list[*count] = buddy_alloc(-1, 0, true, NULL))) {
		page_set_block(list[*count], PAGE_RUN, 1);
		(*count)++;
	}
}

/* Memory in single pages only: slabs of the smallest order, with fewer objects. */
static void falls_back_to_the_smallest_order(void *arg)
{
	static struct page *pages[1 << 16];
	struct engine_params params = plain_params(1024);
	unsigned int count = 0;
	struct engine e;
	void *objs[8];
	unsigned int i;

	limit_address_space(160ul << 20);
	slub_machine(2, 1);
	params.randomised = arg;
	e = make_engine(params);
	take_all_pages(pages, &count, ARRAY_SIZE(pages));
	CHILD_CHECK(count > 1024 && count < ARRAY_SIZE(pages));
	for (i = 0; i < count; i += 2)
		buddy_free(pages[i], 0, true);
	CHILD_CHECK(slub_refill(&e, objs, 8, 0, -1) == 8);
	CHILD_CHECK(events[ORDER_FALLBACK] == 2);
	CHILD_CHECK(events[ALLOC_SLAB] == 2);
	for (i = 0; i < 8; i++) {
		CHILD_CHECK(slab_of(objs[i])->order == 0);
		CHILD_CHECK(counters_of(slab_of(objs[i])).objects == 4);
	}
	slub_check(&e);
	slub_flush(&e, objs, 8);
	slub_check(&e);
	CHILD_CHECK(slub_ops.destroy(&e) == 0);
}

static void order_fallback(__attribute__((unused)) void **state)
{
	struct child c = child_run(falls_back_to_the_smallest_order, NULL);

	assert_true(child_passed(&c));
	/* The permutation is for 16 objects; these slabs have 4. */
	c = child_run(falls_back_to_the_smallest_order, (void *)1);
	assert_true(child_passed(&c));
}

int main(void)
{
	const struct CMUnitTest before_there_is_an_arena[] = { cmocka_unit_test(order_fallback) };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_slab_is_marked_and_ascending),
		cmocka_unit_test(a_lazy_slab_has_no_list),
		cmocka_unit_test(objects_are_constructed_once),
		cmocka_unit_test(hardened_links_are_not_addresses),
		cmocka_unit_test(random_lists_hold_everything_once),
		cmocka_unit_test(permutations_are_complete),
		cmocka_unit_test(a_slab_keeps_its_layout),
	};
	int failed = cmocka_run_group_tests(before_there_is_an_arena, NULL, NULL);

	return failed + cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
