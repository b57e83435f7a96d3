/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/address_test.c - what addresses of a made-up process are
 */
#include <limits.h>

#include "cache/lent.h"
#include "fake_slabs.h"
#include "fake_snapshot.h"
#include "inspect/tracks.h"

#define SHEAF 0x66660000ul

static struct address_info info;

static int setup(void **state)
{
	fake_setup(state);
	fake_cache(&f, 192, "a", 100, 8);
	((struct cache *)fake_at(&f, fake_cache_addr(&f, 192)))->engine.size = 104;
	fake_slub(&f, 192)->layout.stride = 104;
	return 0;
}

static enum address_kind look(uint64_t address)
{
	fake_take();
	assert_int_equal(tracks_address(s, address, &info), 0);
	return info.kind;
}

static struct page *slab(unsigned long index)
{
	struct page *page = fake_slab(&f, index, 192, 32, 32, false);

	page->counters |= 32ull << 32; /* formatted */
	return page;
}

static void test_objects(void **state)
{
	uint64_t base = FAKE_ARENA + 3 * PAGE_SIZE;

	(void)state;
	slab(3);
	assert_int_equal(look(base + 2 * 104 + 99), ADDRESS_OBJECT);
	assert_int_equal(info.state, OBJECT_LIVE);
	assert_int_equal(info.index, 2);
	assert_int_equal(info.object, base + 208);
	assert_int_equal(info.object_size, 100);
	assert_int_equal(info.slab, base);
	assert_int_equal(info.slab_bytes, PAGE_SIZE);
	assert_int_equal(info.descriptor, FAKE_PAGES + 3 * sizeof(struct page));
	assert_int_equal(s->cache[info.cache].id, 192);
	assert_false(info.tracked);
	assert_int_equal(look(base + 2 * 104 + 100), ADDRESS_PADDING);
	assert_int_equal(info.index, 2);
	assert_int_equal(look(base + 32 * 104), ADDRESS_PADDING);
	assert_int_equal(info.object, 0);
}

static void test_free_objects(void **state)
{
	uint64_t base = FAKE_ARENA + 3 * PAGE_SIZE;

	(void)state;
	slab(3)->freelist = (void *)(base + 104);
	assert_int_equal(look(base + 104), ADDRESS_OBJECT);
	assert_int_equal(info.state, OBJECT_FREE);
	look(base);
	assert_int_equal(info.state, OBJECT_LIVE);
}

static void test_in_an_array(void **state)
{
	uint64_t base = FAKE_ARENA + 3 * PAGE_SIZE;
	uint64_t *entry;

	(void)state;
	slab(3);
	fake_map(&f, SHEAF, 512);
	entry = fake_at(&f, SHEAF);
	entry[24] = base; /* the bottom one of 8 */
	entry[25] = base + 104;
	entry[26] = base + 208; /* above the top */
	*fake_word(&f, 192, 1, 0) = SHEAF + 25 * 8;
	look(base);
	assert_int_equal(info.state, OBJECT_CACHED);
	look(base + 110);
	assert_int_equal(info.state, OBJECT_CACHED);
	look(base + 208);
	assert_int_equal(info.state, OBJECT_LIVE);
}

static void test_in_a_depot(void **state)
{
	uint64_t base = FAKE_ARENA + 3 * PAGE_SIZE;
	struct depot_stack *stack;
	uint64_t *entry;

	(void)state;
	slab(3);
	fake_map(&f, SHEAF, 512);
	entry = fake_at(&f, SHEAF);
	entry[31] = base;
	entry[0] = SHEAF + 256 + 31 * 8;
	entry[32 + 31] = base + 104;
	entry[32] = SHEAF + 31 * 8; /* and round again */
	stack = &fake_lane(&f, 192, 1, DEPOT_LANES - 1)->stack[DEPOT_FULL];
	stack->top = SHEAF + 31 * 8;
	stack->nr = UINT_MAX;
	look(base + 104);
	assert_int_equal(info.state, OBJECT_CACHED);
	look(base + 208);
	assert_int_equal(info.state, OBJECT_LIVE);
	stack->nr = 1;
	look(base + 104);
	assert_int_equal(info.state, OBJECT_LIVE);
}

static void test_in_a_lent_sheaf(void **state)
{
	uint64_t base = FAKE_ARENA + 3 * PAGE_SIZE;
	struct list_head *head;
	struct slab_sheaf *sheaf;

	(void)state;
	slab(3);
	fake_map(&f, SHEAF, 512);
	fake_root(&f)->lent = SHEAF;
	head = fake_at(&f, SHEAF);
	head->next = head->prev = (void *)(SHEAF + 256);
	sheaf = fake_at(&f, SHEAF + 256);
	sheaf->list.next = sheaf->list.prev = (void *)SHEAF;
	sheaf->cache = (void *)fake_cache_addr(&f, 192);
	sheaf->count = 1;
	sheaf->capacity = 4;
	sheaf->obj[0] = (void *)(base + 104);
	sheaf->obj[1] = (void *)base; /* was taken */
	look(base + 110);
	assert_int_equal(info.state, OBJECT_CACHED);
	look(base);
	assert_int_equal(info.state, OBJECT_LIVE);
}

static void test_in_queues(void **state)
{
	uint64_t base = FAKE_ARENA + 3 * PAGE_SIZE;
	uint64_t queues_at = fake_cache_addr(&f, 192) + 0x900;
	struct cache *c = fake_at(&f, fake_cache_addr(&f, 192));
	struct queues *queues = fake_at(&f, queues_at);
	uint64_t *entry;

	(void)state;
	slab(3);
	c->front.ops = (void *)(FAKE_GLOBALS + FAKE_QUEUES_OPS);
	c->front.capacity = 0;
	c->front.state = (void *)queues_at;
	fake_map(&f, SHEAF, 512);
	entry = fake_at(&f, SHEAF);
	entry[1] = base;
	fake_state(&f, 192, 0)->bottom = SHEAF;
	fake_state(&f, 192, 0)->top = SHEAF + 8;
	entry[40] = base + 104;
	queues->limit = 8;
	queues->nr_nodes = 2;
	queues->node[1].shared.avail = 1;
	queues->node[1].shared.entry = (void *)(SHEAF + 40 * 8);
	look(base);
	assert_int_equal(info.state, OBJECT_CACHED);
	look(base + 104);
	assert_int_equal(info.state, OBJECT_CACHED);
	look(base + 208);
	assert_int_equal(info.state, OBJECT_LIVE);
	fake_state(&f, 192, 0)->top = QUEUES_STOPPED;
	look(base);
	assert_int_equal(info.state, OBJECT_LIVE);
	queues->node[1].shared.avail = UINT_MAX; /* runs into what is not mapped */
	look(base + 208);
	assert_int_equal(info.state, OBJECT_LIVE);
}

/* In a CPU's sheaf, and in the second one of a barn. */
static void test_in_sheaves(void **state)
{
	uint64_t base = FAKE_ARENA + 3 * PAGE_SIZE;
	uint64_t sheaves_at = fake_cache_addr(&f, 192) + 0x900;
	struct cache *c = fake_at(&f, fake_cache_addr(&f, 192));
	struct sheaves *sheaves = fake_at(&f, sheaves_at);
	struct sheaf *sheaf;

	(void)state;
	slab(3);
	c->front.ops = (void *)(FAKE_GLOBALS + FAKE_SHEAVES_OPS);
	c->front.capacity = 0;
	c->front.state = (void *)sheaves_at;
	sheaves->capacity = 60;
	sheaves->nr_nodes = 2;
	fake_map(&f, SHEAF, 512);
	for (unsigned int i = 0; i < 3; i++) {
		sheaf = fake_at(&f, SHEAF + 64 * i);
		sheaf->nr = 1;
		sheaf->capacity = 60;
		sheaf->obj[0] = (void *)(base + 104 * i);
	}
	fake_state(&f, 192, 1)->main = (struct sheaf *)SHEAF;
	sheaves->barn[1].full = (struct sheaf *)(SHEAF + 64);
	sheaves->barn[1].nr_full = 2;
	((struct sheaf *)fake_at(&f, SHEAF + 64))->next = (struct sheaf *)(SHEAF + 128);
	look(base);
	assert_int_equal(info.state, OBJECT_CACHED);
	look(base + 208);
	assert_int_equal(info.state, OBJECT_CACHED);
	look(base + 312);
	assert_int_equal(info.state, OBJECT_LIVE);
	/* a circle, and more than there can be */
	sheaf->next = (struct sheaf *)(SHEAF + 64);
	sheaf->nr = UINT_MAX;
	sheaf->capacity = UINT16_MAX;
	sheaves->barn[1].nr_full = UINT_MAX;
	look(base + 312);
	assert_int_equal(info.state, OBJECT_LIVE);
}

static void test_tracked(void **state)
{
	(void)state;
	fake_debug(&f, 192, SLAB_STORE_USER | SLAB_RED_ZONE, false);
	fake_debug_slab(&f, 3, 192);
	fake_track(&f, 3, 192, 1)->addr = 0x4242;
	assert_int_equal(look(fake_object(&f, 3, 192, 1)), ADDRESS_OBJECT);
	assert_true(info.tracked);
	assert_int_equal(info.track.alloc.addr, 0x4242);
	assert_true(info.track.live);
	assert_int_equal(info.debug, SLAB_STORE_USER | SLAB_RED_ZONE);
	/* its left red zone */
	assert_int_equal(look(info.object - 1), ADDRESS_PADDING);
	assert_int_equal(info.index, 1);
	fake_free(&f, 3, 192, 1);
	look(fake_object(&f, 3, 192, 1));
	assert_int_equal(info.state, OBJECT_FREE);
	assert_false(info.track.live);
}

static void test_other_pages(void **state)
{
	struct page *page = fake_page(&f, 8);

	(void)state;
	page->type = PAGE_RUN;
	page->nr_pages = 3;
	assert_int_equal(look(FAKE_ARENA + 10 * PAGE_SIZE + 5), ADDRESS_PAGES);
	assert_int_equal(info.slab, FAKE_ARENA + 8 * PAGE_SIZE);
	assert_int_equal(info.slab_bytes, 3 * PAGE_SIZE);
	assert_int_equal(info.cache, UINT_MAX);
	assert_int_equal(look(FAKE_ARENA + 8 * PAGE_SIZE), ADDRESS_PAGES);
	assert_int_equal(look(FAKE_ARENA + 11 * PAGE_SIZE), ADDRESS_FREE); /* behind it */
	page->nr_pages = ~0u; /* a lie: as far as to the next head */
	assert_int_equal(look(FAKE_ARENA + 15 * PAGE_SIZE), ADDRESS_PAGES);
	page->nr_pages = 3;

	fake_page(&f, 16)->type = PAGE_BUDDY;
	fake_page(&f, 16)->order = 3;
	assert_int_equal(look(FAKE_ARENA + 21 * PAGE_SIZE), ADDRESS_FREE);
	assert_int_equal(info.slab, FAKE_ARENA + 16 * PAGE_SIZE);
	assert_int_equal(info.slab_bytes, 8 * PAGE_SIZE);

	fake_page(&f, 26)->type = PAGE_LISTED;
	fake_page(&f, 26)->order = 1;
	assert_int_equal(look(FAKE_ARENA + 27 * PAGE_SIZE), ADDRESS_FREE);
	assert_int_equal(info.slab, FAKE_ARENA + 26 * PAGE_SIZE);
	assert_int_equal(info.slab_bytes, 2 * PAGE_SIZE);

	/* a page run that a CPU keeps lies anywhere, and is as long as it is */
	fake_page(&f, 33)->type = PAGE_KEPT;
	fake_page(&f, 33)->order = 4;
	fake_page(&f, 33)->nr_pages = 10;
	for (unsigned int i = 33; i < 43; i++) {
		assert_int_equal(look(FAKE_ARENA + i * PAGE_SIZE), ADDRESS_FREE);
		assert_int_equal(info.slab, FAKE_ARENA + 33 * PAGE_SIZE);
		assert_int_equal(info.slab_bytes, 10 * PAGE_SIZE);
	}
	assert_int_equal(look(FAKE_ARENA + 43 * PAGE_SIZE), ADDRESS_FREE); /* behind it */
	assert_int_equal(info.slab, FAKE_ARENA + 43 * PAGE_SIZE);

	fake_page(&f, 30)->type = PAGE_HEAP;
	assert_int_equal(look(FAKE_ARENA + 30 * PAGE_SIZE), ADDRESS_HEAP);
	fake_page(&f, 31)->type = 77;
	assert_int_equal(look(FAKE_ARENA + 31 * PAGE_SIZE), ADDRESS_UNKNOWN);
}

static void test_elsewhere(void **state)
{
	(void)state;
	assert_int_equal(look(FAKE_ARENA - 8), ADDRESS_METADATA);
	assert_int_equal(look(FAKE_PAGES + 100), ADDRESS_METADATA);
	assert_int_equal(look(FAKE_ARENA + FAKE_NR_PAGES * PAGE_SIZE), ADDRESS_UNKNOWN);
	assert_int_equal(look(0), ADDRESS_UNKNOWN);
	assert_int_equal(look(~0ull), ADDRESS_UNKNOWN);
	fake_page_map(&f)->limit = 0; /* not used so far */
	assert_int_equal(look(FAKE_ARENA), ADDRESS_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_objects, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_free_objects, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_in_an_array, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_in_a_depot, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_in_a_lent_sheaf, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_in_queues, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_in_sheaves, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_tracked, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_other_pages, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_elsewhere, setup, fake_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
