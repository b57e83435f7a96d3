/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/free_test.c - objects back to debug slabs: bytes (vector 10),
 * lists (spec 4.13), mistakes (spec 7.4)
 */
#include "fixture.h"

/* Vector 10: left pad bb*8, 6b*63 a5, bb*8, free pointer, two tracks (64), 5a*8; 160 in all. */
static void bytes_of_a_freed_object(__attribute__((unused)) void **state)
{
	struct engine e;
	unsigned char *obj;
	void *head;

	make(&e, 64, FZPU);
	obj = get(&e);
	head = slab_of(obj)->freelist;
	memset(obj, 0, 64);
	put(&e, obj);
	assert_true(all_bytes(obj - 8, 8, 0xbb));
	assert_true(all_bytes(obj, 63, 0x6b));
	assert_int_equal(obj[63], 0xa5);
	assert_true(all_bytes(obj + 64, 8, 0xbb));
	assert_ptr_equal(*(void **)(obj + 72), head);
	assert_int_equal(debug_track(e.debug->layout, obj, TRACK_ALLOC)->addr, (uintptr_t)here);
	assert_int_equal(debug_track(e.debug->layout, obj, TRACK_FREE)->addr, (uintptr_t)here);
	assert_ptr_equal(debug_track(e.debug->layout, obj, TRACK_ALLOC), obj + 80);
	assert_true(all_bytes(obj + 144, 8, 0x5a));
	assert_int_equal(e.debug->layout->stride, 160);
	END_ENGINE(&e);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void full_goes_to_the_tail(__attribute__((unused)) void **state)
{
	struct engine e;
	void *objs[3][25];

	make(&e, 64, FZPU);
	for (unsigned int i = 0; i < 3; i++)
		fill_slab(&e, objs[i]);
	events_reset();
	put(&e, objs[1][0]);
	put(&e, objs[0][0]);
	put(&e, objs[2][0]);
	put(&e, objs[1][1]); /* stays where it is */
	assert_int_equal(events[FREE_SLOWPATH], 4);
	assert_int_equal(events[FREE_ADD_PARTIAL], 3);
	assert_ptr_equal(partial_at(&e, 0), slab_of(objs[1][0]));
	assert_ptr_equal(partial_at(&e, 1), slab_of(objs[0][0]));
	assert_ptr_equal(partial_at(&e, 2), slab_of(objs[2][0]));
	assert_true(list_empty(&node0(&e)->full));
	e.ops->check(&e);
	for (unsigned int i = 0; i < 3; i++)
		for (unsigned int n = i == 1 ? 2 : 1; n < 25; n++)
			put(&e, objs[i][n]);
	assert_int_equal(errors(), 0);
	END_ENGINE(&e);
}

/* Empty slabs stay while there are fewer than min_partial, and go from then on. */
static void empty_ones_stay_or_go(__attribute__((unused)) void **state)
{
	struct engine e;
	void *objs[8];

	make(&e, 3000, F); /* one in a slab of 4096, by the rules of 4.3 two or more */
	e.debug->min_partial = 2;
	for (unsigned int i = 0; i < 8; i++)
		objs[i] = get(&e);
	events_reset();
	for (unsigned int i = 0; i < 8; i++)
		put(&e, objs[i]);
	assert_true(node0(&e)->nr_partial <= 2);
	assert_int_equal(nr_slabs(&e), node0(&e)->nr_partial);
	e.ops->check(&e);
	e.debug->min_partial = 0;
	objs[0] = get(&e);
	put(&e, objs[0]);
	assert_true(events[FREE_SLAB] >= 1);
	assert_true(events[FREE_REMOVE_PARTIAL] >= 1);
	END_ENGINE(&e);
}

/* One object in a slab: was full, is empty: never on the partial list when there are enough. */
static void full_and_empty_at_once(__attribute__((unused)) void **state)
{
	struct engine e;
	void *a;
	void *b;

	make(&e, 4u << 20, F);
	e.debug->min_partial = 1;
	a = get(&e);
	b = get(&e);
	assert_int_equal(e.debug->layout->objects, 1);
	events_reset();
	put(&e, a);
	assert_int_equal(events[FREE_ADD_PARTIAL], 1);
	put(&e, b);
	assert_int_equal(events[FREE_ADD_PARTIAL], 1);
	assert_int_equal(events[FREE_REMOVE_PARTIAL], 0);
	assert_int_equal(events[FREE_SLAB], 1);
	assert_int_equal(nr_slabs(&e), 1);
	END_ENGINE(&e);
}

/* With F the last look at a slab finds what was written into its free objects. */
static void last_look(__attribute__((unused)) void **state)
{
	struct engine e;
	char *obj;

	make(&e, 64, F | P);
	e.debug->min_partial = 0;
	obj = get(&e);
	obj[72 + 3] = 1; /* the next object, which is free */
	put(&e, obj);
	assert_int_equal(nr_slabs(&e), 0);
	assert_true(said("Poison overwritten"));
	assert_int_equal(errors(), 2);
	END_ENGINE(&e);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static void double_free(__attribute__((unused)) void **state)
{
	struct engine e;
	char line[80];
	void *keep;
	void *a;
	void *b;

	make(&e, 64, FZPU);
	keep = get(&e);
	a = get(&e);
	b = get(&e);
	put(&e, a);
	put(&e, b);
	put(&e, b); /* head of the list */
	assert_true(said("Object already free"));
	snprintf(line, sizeof(line), "FIX test: Object at %p not freed", b);
	assert_true(said(line));
	assert_int_equal(errors(), 2);
	put(&e, a); /* deep */
	assert_true(said("Object already free"));
	assert_int_equal(errors(), 2);
	assert_int_equal(engine_counters(slab_of(a)).inuse, 1);
	put(&e, keep);
	put(&e, keep); /* 6.1 looks at the number first */
	assert_true(said("Slab has 0 allocated objects but 1 are to be freed"));
	assert_int_equal(errors(), 2);
	END_ENGINE(&e);
}

static void never_freed(struct engine *e, void *obj, const char *what, unsigned long n)
{
	unsigned int inuse = engine_counters(slab_of(obj)).inuse;
	char line[80];

	put(e, obj);
	assert_true(said(what));
	snprintf(line, sizeof(line), "FIX test: Object at %p not freed", obj);
	assert_true(said(line));
	assert_int_equal(errors(), n);
	assert_int_equal(engine_counters(slab_of(obj)).inuse, inuse);
	e->ops->check(e);
}

static void no_object(__attribute__((unused)) void **state)
{
	struct engine e;
	char line[80];
	char *obj;

	make(&e, 64, FZPU);
	obj = get(&e);
	snprintf(line, sizeof(line), "Invalid object pointer %p", (void *)(obj + 8));
	never_freed(&e, obj + 8, line, 2);
	never_freed(&e, obj - 8, "Invalid object pointer", 2);
	never_freed(&e, obj + 25 * 160, "Invalid object pointer", 2);
	put(&e, obj);
	assert_int_equal(errors(), 0);
	END_ENGINE(&e);
}

/*
 * The report, the repair, and the object is lost (6.1); the second try
 * succeeds, as all is well now.
 */
static void damaged_red_zone(__attribute__((unused)) void **state)
{
	struct engine e;
	char *obj;

	make(&e, 64, FZPU);
	obj = get(&e);
	obj[64] = 0x12;
	never_freed(&e, obj, "Right Redzone overwritten", 3);
	obj[-1] = 0x12;
	never_freed(&e, obj, "Left Redzone overwritten", 3);
	*(uintptr_t *)(obj + 72) = 1;
	never_freed(&e, obj, "Freepointer corrupt", 2);
	put(&e, obj);
	assert_int_equal(errors(), 0);
	END_ENGINE(&e);
}

/* Without P the free pointer lies inside, where the kmalloc red zone may be. */
static void free_pointer_in_the_red_zone(__attribute__((unused)) void **state)
{
	static const slab_flags_t flags[] = { F | Z | U, F | Z, F | U, FZPU };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct engine e;
		unsigned char *obj;

		make_kmalloc(&e, 64, flags[i]);
		for (size_t size = 1; size <= 64; size++) {
			obj = get_size(&e, size);
			memset(obj, 0x77, size);
			put(&e, obj);
			assert_int_equal(errors(), 0);
		}
		if (flags[i] != (F | Z | U)) {
			END_ENGINE(&e);
			continue;
		}
		obj = get_size(&e, 20);
		obj[34] = 0; /* in the free pointer */
		put(&e, obj);
		assert_true(said("kmalloc Redzone overwritten"));
		assert_int_equal(errors(), 3);
	}
}

/* Repaired, and no reason to lose the object. */
static void damaged_padding(__attribute__((unused)) void **state)
{
	struct engine e;
	char *obj;

	make(&e, 64, FZPU);
	obj = get(&e);
	obj[144] = 1;
	((char *)page_address(slab_of(obj)))[4095] = 1;
	put(&e, obj);
	assert_true(said("Object padding overwritten"));
	assert_true(said("Padding overwritten. "));
	assert_int_equal(errors(), 4);
	assert_int_equal(engine_counters(slab_of(obj)).inuse, 0);
	END_ENGINE(&e);
}

static void wrong_cache(__attribute__((unused)) void **state)
{
	struct engine_params params = params_of(64);
	struct engine a;
	struct engine b;
	void *keep;
	void *obj;

	params.name = "other";
	make_with(&b, &slub_ops, params, FZPU, false);
	make(&a, 64, FZPU);
	keep = get(&a);
	obj = get(&a);
	put(&b, obj);
	assert_true(said("cache_from_obj: Wrong slab cache. other but object is from test"));
	assert_int_equal(errors(), 1);
	assert_int_equal(engine_counters(slab_of(keep)).inuse, 1);
	put(&a, keep);
	END_ENGINE(&a);
	END_ENGINE(&b);
}

/* A free list that was damaged is mended while the object is looked for; lists follow. */
static void list_mended_by_a_free(__attribute__((unused)) void **state)
{
	struct engine e;
	struct page *slab;
	void *obj;

	make(&e, 64, F);
	obj = get(&e);
	slab = slab_of(obj);
	slab->freelist = (char *)slab->freelist + 1;
	put(&e, obj);
	assert_true(said("Freelist cleared"));
	assert_int_equal(errors(), 2); /* and the object was freed all the same */
	assert_ptr_equal(slab->freelist, obj);
	assert_int_equal(engine_counters(slab).inuse, 63);
	LEAVE_ENGINE(&e, 63);
}

/* ---- without F ------------------------------------------------------------------------------- */

static void quiet_without_f(__attribute__((unused)) void **state)
{
	struct engine e;
	char *keep;
	char *obj;

	make(&e, 64, Z | P | U);
	keep = get(&e);
	obj = get(&e);
	obj[64] = 0x12;
	put(&e, obj);
	assert_int_equal(errors(), 0);
	assert_true(all_bytes(obj + 64, 8, 0xbb));
	VALIDATED(&e, 0);
	put(&e, keep);
	END_ENGINE(&e);
}

static void mistake_without_f(void *arg)
{
	struct engine e;
	char *keep;
	char *obj;

	make(&e, 64, Z);
	keep = get(&e);
	obj = get(&e);
	put(&e, obj);
	switch (*(int *)arg) {
	case 0:
		put(&e, obj);
		break;
	case 1:
		put(&e, keep + 8);
		break;
	case 2:
		put(&e, keep);
		put(&e, obj);
		break;
	}
}

static void mistakes_end_the_program(__attribute__((unused)) void **state)
{
	static const char *const words[] = { "slub: double free of",
					     "slub: free of what is no object",
					     "slub: double free of" };

	for (int i = 0; i < 3; i++) {
		struct child c = child_run(mistake_without_f, &i);

		assert_true(child_aborted(&c));
		assert_non_null(strstr(c.text, words[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_of_a_freed_object),
		cmocka_unit_test(full_goes_to_the_tail),
		cmocka_unit_test(empty_ones_stay_or_go),
		cmocka_unit_test(full_and_empty_at_once),
		cmocka_unit_test(last_look),
		cmocka_unit_test(double_free),
		cmocka_unit_test(no_object),
		cmocka_unit_test(damaged_red_zone),
		cmocka_unit_test(free_pointer_in_the_red_zone),
		cmocka_unit_test(damaged_padding),
		cmocka_unit_test(wrong_cache),
		cmocka_unit_test(list_mended_by_a_free),
		cmocka_unit_test(quiet_without_f),
		cmocka_unit_test(mistakes_end_the_program),
	};

	return cmocka_run_group_tests(tests, debug_group_setup, NULL);
}
