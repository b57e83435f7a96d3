/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/memory_test.c - resident pages of a made-up process: each is of the right kind, once
 */

#include "fake_snapshot.h"
#include "inspect/memory.h"
#include "page/buddy.h"

/* Pages of the arena that are not as the others, and an error; see states(). */
static struct {
	uint8_t arena[FAKE_NR_PAGES];
	uint8_t others; /* state of each page outside */
	int error;
	uint64_t asked; /* pages outside */
} machine;

static struct memory *m;

static int states(void *ctx, uint64_t addr, size_t nr, uint8_t *state)
{
	assert_ptr_equal(ctx, &machine);
	assert_in_range(nr, 1, MEMORY_PIECE);
	assert_int_equal(addr % PAGE_SIZE, 0);
	for (size_t i = 0; i < nr; i++) {
		uint64_t page = (addr - FAKE_ARENA) / PAGE_SIZE + i;

		state[i] = page < FAKE_NR_PAGES ? machine.arena[page] : machine.others;
		machine.asked += page >= FAKE_NR_PAGES;
	}
	return machine.error;
}

static int setup(void **state)
{
	fake_setup(state);
	memset(&machine, 0, sizeof(machine));
	m = malloc(sizeof(*m));
	if (!m)
		abort();
	memset(m, 0xa5, sizeof(*m));
	return 0;
}

static int teardown(void **state)
{
	free(m);
	return fake_teardown(state);
}

static const struct memory_pages pages = { .states = states, .ctx = &machine };

/* Pages first .. first + nr are resident. */
static void touch(unsigned long first, unsigned long nr)
{
	memset(machine.arena + first, MEMORY_RESIDENT, nr);
}

static void take(void)
{
	unsigned long arena = 0;

	fake_take();
	assert_int_equal(memory_take(m, s, &pages), 0);
	for (enum memory_kind kind = 0; kind <= MEMORY_BETWEEN; kind++)
		arena += m->kind[kind];
	assert_int_equal(arena, m->arena_bytes);
}

static const struct memory_cache *of(unsigned int id)
{
	return &m->cache[fake_result(s, id) - s->cache];
}

static void test_slabs(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_slab(&f, 0, 192, 64, 64, false);
	fake_slab(&f, 1, 192, 64, 10, false);
	fake_slab(&f, 2, 192, 64, 0, false); /* never touched */
	touch(0, 2);
	take();
	assert_int_equal(m->arena_bytes, 2 * PAGE_SIZE);
	assert_int_equal(m->kind[MEMORY_LIVE], 74 * 64);
	assert_int_equal(m->kind[MEMORY_FREE], 54 * 64);
	assert_int_equal(m->kind[MEMORY_TAILS], 0);
	assert_int_equal(m->estimated, 0);
	assert_int_equal(of(192)->live, 74 * 64);
	assert_int_equal(of(192)->free, 54 * 64);
	assert_int_equal(m->bytes, m->arena_bytes);
}

/* What is beside objects; what is behind the last one. */
static void test_padding_and_tails(void **state)
{
	struct cache *cache = fake_cache(&f, 192, "a", 300, 8);

	(void)state;
	cache->engine.object_size = 260;
	fake_slab(&f, 0, 192, 13, 13, false);
	touch(0, 1);
	take();
	assert_int_equal(m->kind[MEMORY_LIVE], 13 * 260);
	assert_int_equal(m->kind[MEMORY_PADDING], 13 * 40);
	assert_int_equal(m->kind[MEMORY_TAILS], PAGE_SIZE - 13 * 300);
	assert_int_equal(of(192)->padding, 13 * 40);
}

/* Objects in use are taken for resident first, and it is said how wrong that may be. */
static void test_partly_resident(void **state)
{
	struct page *slab;

	(void)state;
	fake_cache(&f, 192, "a", 1024, 8);
	slab = fake_slab(&f, 8, 192, 16, 5, false);
	slab->order = 2;
	for (int i = 1; i < 4; i++)
		slab[i].type = PAGE_TAIL;
	touch(8, 2);
	take();
	assert_int_equal(m->kind[MEMORY_LIVE], 5 * 1024);
	assert_int_equal(m->kind[MEMORY_FREE], 3 * 1024);
	/* all 8 KiB could be of the 11 free objects */
	assert_int_equal(m->estimated, 5 * 1024);
	touch(10, 1);
	take(); /* of 12 KiB at least one is in use */
	assert_int_equal(m->kind[MEMORY_LIVE], 5 * 1024);
	assert_int_equal(m->estimated, 4 * 1024);
	touch(11, 1);
	take();
	assert_int_equal(m->kind[MEMORY_FREE], 11 * 1024);
	assert_int_equal(m->estimated, 0);
}

static void test_held(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_slab(&f, 0, 192, 64, 64, false);
	touch(0, 1);
	/* three objects of a CPU; seven in the depot */
	*fake_word(&f, 192, 0, 0) = 0x10000 + (USLAB_SHEAF_CAPACITY - 8 + 3) * sizeof(void *);
	fake_lane(&f, 192, 0, 0)->nr_objects = 7;
	take();
	assert_int_equal(m->kind[MEMORY_HELD_CPU], fake_result(s, 192)->objects_cpu * 64);
	assert_int_equal(m->kind[MEMORY_HELD_NODE], 7 * 64);
	assert_int_equal(m->kind[MEMORY_LIVE], fake_result(s, 192)->objects * 64);
	assert_int_equal(m->kind[MEMORY_LIVE] + m->kind[MEMORY_HELD_CPU] + 7 * 64, PAGE_SIZE);
	/* more than there is: no count is below 0 */
	fake_lane(&f, 192, 0, 0)->nr_objects = 1000;
	take();
	assert_int_equal(m->kind[MEMORY_LIVE] + m->kind[MEMORY_HELD_CPU] +
				 m->kind[MEMORY_HELD_NODE],
			 PAGE_SIZE);
}

static struct page *block(unsigned long index, unsigned int type, unsigned int order,
			  unsigned int nr_pages)
{
	struct page *page = fake_page(&f, index);

	page->type = (uint8_t)type;
	page->order = (uint8_t)order;
	page->nr_pages = nr_pages;
	return page;
}

static void test_whole_pages_and_free_ones(void **state)
{
	uint32_t delay = 10;

	(void)state;
	f.reader.still = true; /* the zone's clock counts */
	fake_map(&f, 0x50000000, 2 * sizeof(struct buddy_zone));
	((struct buddy_zone *)fake_at(&f, 0x50000000))->clock = 1000;
	fake_map(&f, 0x51000000, sizeof(delay));
	memcpy(fake_at(&f, 0x51000000), &delay, sizeof(delay));
	fake_root(&f)->zones = 0x50000000;
	fake_root(&f)->purge_delay = 0x51000000;
	block(0, PAGE_RUN, 4, 11);
	touch(0, 9);
	block(16, PAGE_BUDDY, 3, 5)->stamp = 995;
	touch(16, 7); /* two of them clean */
	block(24, PAGE_BUDDY, 3, 8)->stamp = 990;
	touch(24, 8);
	block(32, PAGE_LISTED, 0, 1);
	touch(32, 2); /* and one of no block */
	block(41, PAGE_KEPT, 4, 10);
	touch(41, 10);
	/* across the end of a piece */
	block(MEMORY_PIECE - 3, PAGE_RUN, 4, 10);
	touch(MEMORY_PIECE - 3, 10);
	take();
	assert_int_equal(m->kind[MEMORY_RUNS], 19 * PAGE_SIZE);
	assert_int_equal(m->kind[MEMORY_FRESH], 5 * PAGE_SIZE);
	assert_int_equal(m->kind[MEMORY_CLEAN], 2 * PAGE_SIZE);
	assert_int_equal(m->kind[MEMORY_DUE], 8 * PAGE_SIZE);
	assert_int_equal(m->kind[MEMORY_LISTED], 11 * PAGE_SIZE);
	assert_int_equal(m->kind[MEMORY_BETWEEN], PAGE_SIZE);
}

static void test_states(void **state)
{
	(void)state;
	block(0, PAGE_RUN, 2, 4);
	machine.arena[0] = MEMORY_RESIDENT;
	machine.arena[1] = MEMORY_RESIDENT | MEMORY_HUGE;
	machine.arena[2] = MEMORY_SWAPPED;
	take();
	assert_int_equal(m->kind[MEMORY_RUNS], 2 * PAGE_SIZE);
	assert_int_equal(m->huge, PAGE_SIZE);
	assert_int_equal(m->swapped, PAGE_SIZE);
	machine.error = -ESRCH;
	assert_int_equal(memory_take(m, s, &pages), -ESRCH);
}

/* A block ends where the next one begins, and unknown slabs are one kind. */
static void test_changing_blocks(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	block(0, PAGE_RUN, 5, 32);
	fake_slab(&f, 4, 192, 64, 64, false);
	block(8, PAGE_SLAB, 0, 1)->engine = (void *)0x1234;
	touch(0, 9);
	take();
	assert_int_equal(m->kind[MEMORY_RUNS], 4 * PAGE_SIZE);
	assert_int_equal(m->kind[MEMORY_LIVE], PAGE_SIZE);
	assert_int_equal(m->kind[MEMORY_UNKNOWN], PAGE_SIZE);
	assert_int_equal(m->kind[MEMORY_BETWEEN], 3 * PAGE_SIZE);
}

/* A heap's pages have their free bytes in their descriptors; its caches hold objects of it. */
static void test_heaps(void **state)
{
	(void)state;
	block(0, PAGE_HEAP, 0, 1)->counters = 1000;
	touch(0, 1);
	take();
	assert_int_equal(m->kind[MEMORY_LIVE], PAGE_SIZE - 1000);
	assert_int_equal(m->kind[MEMORY_FREE], 1000);
}

/* Sizes, orders and layouts that cannot be. */
static void test_lies(void **state)
{
	struct page *slab;

	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	slab = fake_slab(&f, 0, 192, 64, 64, false);
	slab->order = 200;
	slab->layout = (void *)0x10;
	fake_slab(&f, 1, 192, 10, 60, false); /* more in use than there are */
	fake_slub(&f, 192)->layout.stride = 0x80000000u;
	block(FAKE_NR_PAGES - 1, PAGE_RUN, 0, UINT32_MAX);
	block(2, PAGE_RUN, 0, 0);
	block(3, 77, 0, 0);
	block(4, PAGE_BUDDY, 0, UINT32_MAX)->node = 255;
	memset(machine.arena, MEMORY_RESIDENT, sizeof(machine.arena));
	take();
	assert_int_equal(m->arena_bytes, FAKE_NR_PAGES * PAGE_SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_slabs),
		TEST(test_padding_and_tails),
		TEST(test_partly_resident),
		TEST(test_held),
		TEST(test_whole_pages_and_free_ones),
		TEST(test_states),
		TEST(test_changing_blocks),
		TEST(test_heaps),
		TEST(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
