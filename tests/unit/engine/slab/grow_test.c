/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slab/grow_test.c - a new slab: descriptor, colours, constructors; and its end
 */
#include <sys/syscall.h>

#include "fixture.h"

#define CLASS 77

static int setup(__attribute__((unused)) void **state)
{
	slab_machine(4, 2);
	return 0;
}

/* Of this node and no other. */
static struct page *grow(struct engine *e, unsigned int node)
{
	const struct os_place place = { .first = node, .nodes = 1ull << node };

	return slab_grow(e, &place, false);
}

static unsigned int colour_of(const struct page *slab)
{
	return engine_counters(slab).colour;
}

static void a_new_slab_is_marked(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(1088);
	struct slab_counters counters;
	struct engine e;
	struct page *slab;
	char *start;

	params.page_class = CLASS;
	e = make_engine(params);
	slab = grow(&e, 1);
	assert_non_null(slab);
	start = page_address(slab);
	assert_int_equal(slab->type, PAGE_SLAB);
	assert_int_equal(slab->order, 1);
	assert_int_equal(slab->nr_pages, 2);
	assert_int_equal(slab->node, 1);
	assert_ptr_equal(slab->engine, &e);
	assert_ptr_equal(slab->layout, e.layout);
	assert_null(slab->lru.next);
	counters = engine_counters(slab);
	assert_int_equal(counters.inuse, 0);
	assert_int_equal(counters.objects, 7);
	assert_int_equal(counters.frozen, 0);
	assert_int_equal(counters.formatted, 0);
	assert_ptr_equal(slab_of(start + 8191), slab);
	assert_int_equal(page_map.class[page_index(start)], CLASS);
	assert_int_equal(page_map.class[page_index(start + 4096)], CLASS);

	slab->next = NULL;
	slab_release(&e, slab);
	assert_null(page_head_of(start));
	assert_int_equal(page_map.class[page_index(start)], 0);
	assert_int_equal(page_map.class[page_index(start + 4096)], 0);
	END_ENGINE(&e);
}

/* Colour 1 before 0, and each node counts for itself. */
static void colours_take_turns(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(320); /* 4 colours */
	static const unsigned int turns[] = { 1, 2, 3, 0, 1, 2 };
	struct page *slabs = NULL;
	unsigned int i;

	assert_int_equal(geometry_of(&e)->colour, 4);
	for (i = 0; i < ARRAY_SIZE(turns); i++) {
		struct page *slab = grow(&e, 0);

		assert_int_equal(colour_of(slab), turns[i]);
		assert_ptr_equal(slab_objects(slab_cache_of(&e), slab),
				 (char *)page_address(slab) + 64 * turns[i]);
		slab->next = slabs;
		slabs = slab;
		slab = grow(&e, 1);
		assert_int_equal(colour_of(slab), turns[i]);
		slab->next = slabs;
		slabs = slab;
	}
	slab_release(&e, slabs);
	END_ENGINE(&e);
}

/* One colour is no colour. */
static void no_colour(__attribute__((unused)) void **state)
{
	static const unsigned int sizes[] = { 64, 72 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct engine e = make_plain(sizes[i]);
		unsigned int k;

		for (k = 0; k < 3; k++) {
			struct page *slab = grow(&e, 0);

			assert_int_equal(colour_of(slab), 0);
			slab->next = NULL;
			slab_release(&e, slab);
		}
		END_ENGINE(&e);
	}
}

/* Objects of all colours lie within the slab, and not where its index array is. */
static void every_colour_fits(__attribute__((unused)) void **state)
{
	static const unsigned int sizes[] = { 320, 640, 1088, 1536, 2112, 5120 };
	unsigned int ctor;
	unsigned int k;
	size_t i;

	for (i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		ctor = i & 1;
		struct engine_params params = plain_params(sizes[i / 2]);
		struct engine e;

		params.flags = ctor ? SLAB_TYPESAFE_BY_RCU : 0;
		e = make_engine(params);
		assert_true(geometry_of(&e)->colour > 2);
		for (k = 0; k < geometry_of(&e)->colour; k++) {
			struct page *slab = grow(&e, 0);
			char *end = (char *)object_at(slab, e.layout->objects - 1) + e.size;
			char *limit = (char *)page_address(slab) + (PAGE_SIZE << slab->order);

			assert_true(end <= (ctor ? (char *)slab->freelist : limit));
			slab->next = NULL;
			slab_release(&e, slab);
		}
		END_ENGINE(&e);
	}
}

static unsigned int constructed;

static void ctor(void *obj)
{
	memset(obj, 0x77, 8);
	constructed++;
}

/* Once for every object, when the slab is made: what the program leaves in it is found again. */
static void constructors_run_once(__attribute__((unused)) void **state)
{
	static const unsigned int sizes[] = { 64, 128, 192, 2048 };
	unsigned char *objs[SLAB_MAX_NUM];
	unsigned int round;
	unsigned int i;
	size_t s;

	for (s = 0; s < ARRAY_SIZE(sizes); s++) {
		struct engine e = make_with_ctor(sizes[s], ctor);
		unsigned int num = geometry_of(&e)->num;

		constructed = 0;
		assert_int_equal(slab_refill(&e, (void **)objs, 1, 0, -1), 1);
		assert_int_equal(constructed, num);
		slab_flush(&e, (void **)objs, 1);
		for (round = 0; round < 3; round++) {
			assert_int_equal(slab_refill(&e, (void **)objs, num, 0, -1), num);
			for (i = 0; i < num; i++) {
				assert_int_equal(objs[i][0], 0x77);
				assert_int_equal(objs[i][7], 0x77);
			}
			slab_flush(&e, (void **)objs, num);
		}
		assert_int_equal(constructed, num);
		END_ENGINE(&e);
	}
}

/* A slab without an index array is none: its pages go back. */
static void without_metadata(__attribute__((unused)) void *arg)
{
	struct engine e = make_with_ctor(128, ctor);
	struct buddy_stats before;
	struct buddy_stats after;
	void *obj;

	buddy_free(buddy_alloc(0, 0, true, NULL), 0, false);
	buddy_stats(0, &before);
	child_deny(SYS_mmap, ENOMEM);
	while (meta_alloc(32)) {}
	CHILD_CHECK(slab_refill(&e, &obj, 1, 0, -1) == 0);
	CHILD_CHECK(constructed == 0);
	buddy_stats(0, &after);
	CHILD_CHECK(after.nr_free == before.nr_free);
	slab_check(&e);
	buddy_check();
	CHILD_CHECK(slab_ops.destroy(&e) == 0);
}

static void no_memory_for_the_array(__attribute__((unused)) void **state)
{
	struct child c;

	if (getenv("USLAB_TEST_VALGRIND"))
		skip(); /* valgrind, which needs memory too, would get none */
	constructed = 0;
	c = child_run(without_metadata, NULL);
	assert_true(child_passed(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_slab_is_marked),
		cmocka_unit_test(colours_take_turns),
		cmocka_unit_test(no_colour),
		cmocka_unit_test(every_colour_fits),
		cmocka_unit_test(constructors_run_once),
		cmocka_unit_test(no_memory_for_the_array),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
