/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/slabinfo_test.c - order and tunables of the caches of a made-up process, and lies
 */

#include "fake_snapshot.h"
#include "inspect/slabinfo.h"

#define LIST (FAKE_GLOBALS + FAKE_HEAP_COUNTERS) /* head of the list of caches */
#define NODE(id) (fake_cache_addr(&f, id) + offsetof(struct cache, list))

static uint16_t order[SNAPSHOT_MAX_CACHES];

static int setup(void **state)
{
	fake_setup(state);
	fake_root(&f)->cache_list = LIST;
	return 0;
}

static void link_to(uint64_t from, uint64_t to)
{
	((struct list_head *)fake_at(&f, from))->next = (struct list_head *)to;
}

static void three_caches(void)
{
	fake_cache(&f, 192, "a", 64, 8);
	fake_cache(&f, 193, "b", 64, 8);
	fake_cache(&f, 194, "c", 64, 8);
}

/* Numbers of the caches in order, as text; rows that are no caches are 0. */
static const char *take_order(void)
{
	static char text[256];
	size_t used = 0;

	fake_take();
	memset(order, 0xff, sizeof(order));
	slabinfo_order(s, order);
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		assert_true(order[i] < s->nr_caches);
		used += (size_t)snprintf(text + used, sizeof(text) - used, i ? " %u" : "%u",
					 s->cache[order[i]].id);
	}
	assert_int_equal(order[s->nr_caches], 0xffff);
	return text;
}

/* 193 was made last: numbers are used again. */
static void test_order(void **state)
{
	(void)state;
	three_caches();
	link_to(LIST, NODE(193));
	link_to(NODE(193), NODE(194));
	link_to(NODE(194), NODE(192));
	link_to(NODE(192), LIST);
	assert_string_equal(take_order(), "193 194 192 0 0 0");
}

/* Without a list that can be read, by number. */
static void test_no_list(void **state)
{
	(void)state;
	three_caches();
	fake_root(&f)->cache_list = 0;
	assert_string_equal(take_order(), "194 193 192 0 0 0");
	fake_root(&f)->cache_list = 0x123456789;
	assert_string_equal(take_order(), "194 193 192 0 0 0");
}

static void test_loop(void **state)
{
	(void)state;
	three_caches();
	link_to(LIST, NODE(193));
	link_to(NODE(193), NODE(192));
	link_to(NODE(192), NODE(193));
	assert_string_equal(take_order(), "193 192 194 0 0 0");
	assert_true(f.reads < 10000);
}

/* Something that is no cache of the snapshot is passed over. */
static void test_stranger(void **state)
{
	(void)state;
	three_caches();
	link_to(LIST, FAKE_CACHES + 0x80000);
	link_to(FAKE_CACHES + 0x80000, NODE(192));
	link_to(NODE(192), 0x1234);
	assert_string_equal(take_order(), "192 194 193 0 0 0");
}

static void test_tunables(void **state)
{
	struct slabinfo_tunables t;
	struct queues *queues;
	struct cache *c = fake_cache(&f, 192, "a", 64, 0);

	(void)state;
	c->front.ops = (void *)(FAKE_GLOBALS + FAKE_QUEUES_OPS);
	c->front.state = (void *)(FAKE_CACHES + 0x80000);
	queues = fake_at(&f, FAKE_CACHES + 0x80000);
	*queues = (struct queues){ .limit = 120, .batchcount = 60, .shared = 8 };
	fake_cache(&f, 193, "b", 64, 8);
	fake_take();
	assert_true(slabinfo_tunables(s, 0, &t));
	assert_int_equal(t.limit, 120);
	assert_int_equal(t.batchcount, 60);
	assert_int_equal(t.shared, 8);
	assert_false(slabinfo_tunables(s, 1, &t));
	assert_int_equal(t.limit, 0);
	assert_false(slabinfo_tunables(s, 2, &t)); /* a row */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_no_list, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_loop, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_stranger, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_tunables, setup, fake_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
