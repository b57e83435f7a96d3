/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slab/index_test.c - the order of objects in a slab, and where its index array lives
 */
#include "fixture.h"

static void no_ctor(__attribute__((unused)) void *obj)
{
}

/* One slab of n objects, all taken. */
static struct page *full_slab(struct engine *e, void **objs)
{
	struct page *slab = fill_slab(e, objs);

	assert_int_equal(inuse_of(slab), geometry_of(e)->num);
	return slab;
}

static void fresh_slabs_ascend(__attribute__((unused)) void **state)
{
	static const unsigned int sizes[] = { 24, 64, 320, 1088, 4096 };
	void *objs[SLAB_MAX_NUM];
	unsigned int i;
	size_t k;

	for (k = 0; k < ARRAY_SIZE(sizes); k++) {
		struct engine e = make_plain(sizes[k]);
		struct page *slab = full_slab(&e, objs);

		for (i = 0; i < geometry_of(&e)->num; i++)
			assert_ptr_equal(objs[i], object_at(slab, i));
		slab_check(&e);
		slab_flush(&e, objs, i);
		END_ENGINE(&e);
	}
}

/* What came back last goes out first. */
static void reuse_is_last_in_first_out(__attribute__((unused)) void **state)
{
	static const unsigned int freed[] = { 4, 1, 8, 63, 0 };
	struct engine e = make_plain(64);
	void *objs[64];
	struct page *slab = full_slab(&e, objs);
	void *again[5];
	unsigned int i;

	for (i = 0; i < 5; i++)
		free_one(&e, objs[freed[i]]);
	assert_int_equal(inuse_of(slab), 59);
	assert_int_equal(slab_refill(&e, again, 5, 0, -1), 5);
	for (i = 0; i < 5; i++)
		assert_ptr_equal(again[i], objs[freed[4 - i]]);
	slab_flush(&e, objs, 64);
	END_ENGINE(&e);
}

static void an_array_in_an_object(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *objs[64];
	struct page *slab;

	/* In the last object, which goes out last. */
	assert_int_equal(slab_refill(&e, objs, 63, 0, -1), 63);
	slab = slab_of(objs[0]);
	assert_ptr_equal(slab->freelist, object_at(slab, 63));
	objs[63] = take_one(&e);
	assert_ptr_equal(objs[63], object_at(slab, 63));
	assert_null(slab->freelist);
	slab_check(&e);

	/* In the first object that comes back, for as long as the slab is not full again. */
	free_one(&e, objs[7]);
	assert_ptr_equal(slab->freelist, objs[7]);
	free_one(&e, objs[3]);
	free_one(&e, objs[50]);
	assert_ptr_equal(slab->freelist, objs[7]);
	assert_ptr_equal(take_one(&e), objs[50]);
	assert_ptr_equal(take_one(&e), objs[3]);
	slab_check(&e);
	assert_ptr_equal(take_one(&e), objs[7]);
	assert_null(slab->freelist);
	free_one(&e, objs[20]);
	assert_ptr_equal(slab->freelist, objs[20]);
	slab_check(&e);

	/* Kept when the slab is empty and used again: object 20 is the last one now. */
	objs[20] = objs[63];
	slab_flush(&e, objs, 63);
	assert_int_equal(inuse_of(slab), 0);
	assert_int_equal(slab_refill(&e, objs, 64, 0, -1), 64);
	assert_ptr_equal(objs[63], object_at(slab, 20));
	slab_flush(&e, objs, 64);
	END_ENGINE(&e);
}

/*
 * A drain brings the first object back: its page may never have been touched. The order of objects
 * is what it is else.
 */
static void a_drain_writes_to_no_page_of_a_slab(__attribute__((unused)) void **state)
{
	static const unsigned int sizes[] = { 700, 1088, 2504, 4096 / 2 * 3 };
	static const unsigned char zero[8];

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		struct engine e = make_plain(sizes[k]);
		unsigned int num = geometry_of(&e)->num;
		void *objs[SLAB_MAX_NUM];
		void *again[SLAB_MAX_NUM];
		struct page *slab = full_slab(&e, objs);

		assert_true(geometry_of(&e)->order > 0 && num <= sizeof(slab->spare));
		for (unsigned int i = 0; i < num; i++)
			memset(objs[i], 0, e.size);
		e.verify_frees = true;
		slab_flush(&e, objs, num - 1);
		e.verify_frees = false;
		slab_check(&e);
		for (unsigned int i = 0; i < num; i++)
			assert_memory_equal(objs[i], zero, sizeof(zero));
		if (num > 1) {
			assert_int_equal(inuse_of(slab), 1);
			assert_int_equal(slab_refill(&e, again, num - 1, 0, -1), num - 1);
		}
		for (unsigned int i = 0; i + 1 < num; i++)
			assert_ptr_equal(again[i], objs[num - 2 - i]);
		slab_check(&e);

		/* full again: as ever */
		assert_null(slab->freelist);
		free_one(&e, objs[0]);
		assert_ptr_equal(slab->freelist, objs[0]);
		slab_flush(&e, objs + 1, num - 1);
		END_ENGINE(&e);
	}
}

/* One page is resident since its array was made, if not since later. */
static void a_drain_of_single_pages_is_no_exception(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *objs[64];
	struct page *slab = full_slab(&e, objs);

	e.verify_frees = true;
	slab_flush(&e, objs, 63);
	e.verify_frees = false;
	assert_ptr_equal(slab->freelist, objs[0]);
	free_one(&e, objs[63]);
	END_ENGINE(&e);
}

static void holds(const unsigned char *obj, unsigned int size, unsigned int byte)
{
	unsigned int i;

	for (i = 0; i < size; i++)
		assert_int_equal(obj[i], byte);
}

/*
 * Every other object comes back and goes out again; those in use stay as
 * they are, to the last byte.
 */
static void free_every_other(struct engine *e)
{
	unsigned char *objs[SLAB_MAX_NUM];
	unsigned int num = geometry_of(e)->num;
	unsigned int i;

	full_slab(e, (void **)objs);
	for (i = 0; i < num; i++)
		memset(objs[i], (int)i, e->size);
	for (i = 0; i < num; i += 2)
		free_one(e, objs[i]);
	slab_check(e);
	for (i = 1; i < num; i += 2)
		holds(objs[i], e->size, i);
	for (i = 0; i < num; i += 2)
		objs[i] = take_one(e);
	for (i = 1; i < num; i += 2)
		holds(objs[i], e->size, i);
	slab_flush(e, (void **)objs, num);
	END_ENGINE(e);
}

static void objects_in_use_are_left_alone(__attribute__((unused)) void **state)
{
	static const unsigned int sizes[] = { 16, 64, 128, 1088 };
	struct engine e;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		e = make_plain(sizes[i]);
		free_every_other(&e);
		e = make_with_ctor(sizes[i], no_ctor);
		free_every_other(&e);
	}
}

static void an_array_at_the_end(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(32);
	void *objs[124];
	struct page *slab = full_slab(&e, objs);

	assert_ptr_equal(slab->freelist, (char *)page_address(slab) + 4096 - 124);
	assert_true((char *)objs[123] + 32 <= (char *)slab->freelist);
	free_one(&e, objs[5]);
	assert_ptr_equal(slab->freelist, (char *)page_address(slab) + 4096 - 124);
	objs[5] = take_one(&e);
	slab_flush(&e, objs, 124);
	END_ENGINE(&e);
}

static void an_array_of_its_own_goes_with_the_slab(__attribute__((unused)) void **state)
{
	struct engine e = make_with_ctor(128, no_ctor);
	unsigned long before = meta_counters.used;
	void *objs[64];
	struct page *slab = full_slab(&e, objs);

	assert_false(page_in_arena(slab->freelist));
	assert_int_equal(meta_counters.used, before + 32);
	full_slab(&e, objs + 32);
	assert_int_equal(meta_counters.used, before + 64);
	slab_check(&e);
	slab_flush(&e, objs, 64);
	assert_int_equal(slab_shrink(&e), 0);
	assert_int_equal(meta_counters.used, before);
	END_ENGINE(&e);
}

static void one_object_in_a_slab(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(5000);
	void *obj = take_one(&e);
	struct page *slab = slab_of(obj);

	assert_null(slab->freelist);
	memset(obj, 0xff, 5000);
	free_one(&e, obj);
	assert_ptr_equal(slab->freelist, obj);
	assert_ptr_equal(take_one(&e), obj);
	free_one(&e, obj);
	END_ENGINE(&e);
}

/* ---- mistakes of programs ---- */

struct mistake {
	long offset; /* from object 1 */
	unsigned int size;
};

static void what_is_no_object_has_no_home(__attribute__((unused)) void **state)
{
	static struct mistake mistakes[] = {
		{ 1, 64 },
		{ 8, 64 },
		{ 63, 64 },
		{ -1, 64 },
		{ 62 * 64 + 32, 64 },
		{ 24, 1088 },
		{ 6 * 1088, 1088 },   /* behind the last one */
		{ -1088 - 64, 1088 }, /* before the first one: colour 1 */
		{ 123 * 32, 32 },
		{ 1, 5000 / 2 }, /* in the index array; in a rest */
	};
	unsigned int number = 77;
	struct engine other = make_plain(64);
	void *of_other = take_one(&other);

	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		struct engine e = make_plain(mistakes[i].size);
		const struct slab_cache *c = slab_cache_of(&e);
		char *objs[2];

		assert_int_equal(slab_refill(&e, (void **)objs, 2, 0, -1), 2);
		assert_null(slab_home(c, objs[1] + mistakes[i].offset, &number));
		assert_null(slab_home(c, &number, &number));
		assert_null(slab_home(c, of_other, &number));
		assert_int_equal(number, 77);
		assert_ptr_equal(slab_home(c, objs[1], &number), slab_of(objs[1]));
		assert_int_equal(number, 1);
		number = 77;
		slab_flush(&e, (void **)objs, 2);
		END_ENGINE(&e);
	}
	free_one(&other, of_other);
	END_ENGINE(&other);
}

static void what_is_free_is_not_put(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	const struct slab_cache *c = slab_cache_of(&e);
	void *objs[64];
	struct page *slab = full_slab(&e, objs);

	free_one(&e, objs[5]);
	free_one(&e, objs[9]);
	assert_false(slab_index_put(c, slab, 9, false)); /* what came last */
	assert_false(slab_index_put(c, slab, 5, true));
	assert_true(slab_index_has(slab, 5) && slab_index_has(slab, 9));
	assert_false(slab_index_has(slab, 6));
	assert_int_equal(inuse_of(slab), 62);
	if (ASSERT_ENABLED) /* else as in a kernel without debugging */
		assert_false(slab_index_put(c, slab, 5, false));
	objs[5] = take_one(&e);
	objs[9] = take_one(&e);
	slab_flush(&e, objs, 64);
	assert_false(slab_index_put(c, slab, 3, false)); /* all are free */
	END_ENGINE(&e);
}

/* What an array says is not believed: a number that is none, or one twice, wherever in it. */
static void a_broken_array_gives_nothing(__attribute__((unused)) void **state)
{
	static const struct {
		unsigned int at; /* entry */
		uint8_t value;
		unsigned int want; /* so many at once notice it */
	} harms[] = { { 10, 64, 1 },  { 10, 255, 1 },  { 10, 11, 1 },  { 12, 10, 3 },
		      { 63, 20, 54 }, { 63, 200, 54 }, { 40, 39, 30 }, { 63, 62, 53 } };
	bool is_free[SLAB_MAX_NUM];

	for (size_t i = 0; i < ARRAY_SIZE(harms); i++) {
		struct engine e = make_plain(64);
		const struct slab_cache *c = slab_cache_of(&e);
		void *out[64];
		void *objs[64];
		struct page *slab;
		uint8_t *entry;
		uint8_t before;

		assert_int_equal(slab_refill(&e, objs, 10, 0, -1), 10);
		slab = slab_of(objs[0]);
		assert_true(slab_index_mark(c, slab, is_free));
		entry = (uint8_t *)slab->freelist + harms[i].at;
		before = *entry;
		*entry = harms[i].value;
		assert_false(slab_index_mark(c, slab, is_free));
		assert_int_equal(slab_index_take(c, slab, out, harms[i].want), 0);
		assert_int_equal(inuse_of(slab), 10);
		*entry = before;
		assert_true(slab_index_mark(c, slab, is_free));
		slab_flush(&e, objs, 10);
		END_ENGINE(&e);
	}
}

/* Its last entry names the object that it lies in: nothing else may go out last. */
static void a_home_that_is_another(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	const struct slab_cache *c = slab_cache_of(&e);
	bool is_free[SLAB_MAX_NUM];
	void *objs[64];
	void *out[2];
	struct page *slab;
	uint8_t *index;

	assert_int_equal(slab_refill(&e, objs, 62, 0, -1), 62);
	slab = slab_of(objs[0]);
	index = slab->freelist;
	index[63] = 3; /* in use */
	assert_false(slab_index_mark(c, slab, is_free));
	assert_int_equal(slab_index_take(c, slab, out, 2), 0);
	index[63] = 63;
	slab_flush(&e, objs, 62);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fresh_slabs_ascend),
		cmocka_unit_test(reuse_is_last_in_first_out),
		cmocka_unit_test(an_array_in_an_object),
		cmocka_unit_test(a_drain_writes_to_no_page_of_a_slab),
		cmocka_unit_test(a_drain_of_single_pages_is_no_exception),
		cmocka_unit_test(objects_in_use_are_left_alone),
		cmocka_unit_test(an_array_at_the_end),
		cmocka_unit_test(an_array_of_its_own_goes_with_the_slab),
		cmocka_unit_test(one_object_in_a_slab),
		cmocka_unit_test(what_is_no_object_has_no_home),
		cmocka_unit_test(what_is_free_is_not_put),
		cmocka_unit_test(a_broken_array_gives_nothing),
		cmocka_unit_test(a_home_that_is_another),
	};

	return cmocka_run_group_tests(tests, slab_group_setup, NULL);
}
