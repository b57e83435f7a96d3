/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/fronts_test.c - what CPUs and depots of a made-up process hold, and lies about it
 */

#include "fake_snapshot.h"

#define SHEAF 0x66660000ul /* an array of a CPU: only its address counts */

static const struct snapshot_cache *take(unsigned int id)
{
	fake_take();
	assert_non_null(fake_result(s, id));
	return fake_result(s, id);
}

/* The word of an array of that capacity that holds count objects. */
static uint64_t top(unsigned int capacity, unsigned int count)
{
	return SHEAF + (USLAB_SHEAF_CAPACITY - capacity + count) * sizeof(void *);
}

static void test_words(void **state)
{
	const struct snapshot_cache *c;

	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_slab(&f, 0, 192, 64, 64, false);
	*fake_word(&f, 192, 0, 0) = top(8, 8);
	*fake_word(&f, 192, 1, 0) = top(8, 0);
	*fake_word(&f, 192, 1, USLAB_WINDOW_SPARES) = top(8, 5);
	/* CPU 2 keeps the stop word, which looks like a full array */
	c = take(192);
	assert_int_equal(c->objects_cpu, 13);
	assert_int_equal(c->objects_held, 13);
	assert_int_equal(c->objects, 64 - 13);
	assert_int_equal(s->totals.inconsistent, 0);
}

static void test_generic_words(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 64, 31);
	fake_slab(&f, 0, 192, 64, 64, false);
	*fake_word(&f, 192, 0, USLAB_WINDOW_GENERIC) = top(31, 31);
	*fake_word(&f, 192, 1, USLAB_WINDOW_GENERIC) = FAKE_STOP + USLAB_SHEAF_SIZE;
	*fake_word(&f, 192, 2, USLAB_WINDOW_GENERIC) = FAKE_STOP;
	assert_int_equal(take(192)->objects, 64 - 31);
}

static void test_depots(void **state)
{
	struct depot *depot;
	const struct snapshot_cache *c;

	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_slab(&f, 0, 192, 64, 64, false);
	depot = fake_at(&f, fake_depot_addr(&f, 192));
	fake_lane(&f, 192, 0, 0)->nr_objects = 5;
	fake_lane(&f, 192, 0, DEPOT_LANES - 1)->nr_objects = 3;
	fake_lane(&f, 192, 1, 1)->nr_objects = 12;
	depot[0].max[DEPOT_FULL] = 4;
	depot[1].max[DEPOT_FULL] = 16;
	depot[0].nr_overflows = 5;
	depot[1].nr_underflows = 2;
	depot[0].nr_exchanges = 3;
	depot[1].nr_exchanges = 4;
	depot[2].max[DEPOT_FULL] = 1000; /* there are two nodes */
	c = take(192);
	assert_int_equal(c->objects_depot, 20);
	assert_int_equal(c->depot_limit, 20 * 8);
	assert_int_equal(c->depot_overflows, 5);
	assert_int_equal(c->depot_underflows, 2);
	assert_int_equal(c->depot_exchanges, 7);
	assert_int_equal(c->objects_held, 20);
	assert_int_equal(c->objects, 44);
}

static void test_stats(void **state)
{
	const struct snapshot_cache *c;

	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_cache(&f, 2047, "last", 64, 0);
	fake_state(&f, 192, 0)->stat[ALLOC_SLAB] = 5;
	fake_state(&f, 192, 2)->stat[ALLOC_SLAB] = 7;
	fake_state(&f, 2047, 1)->stat[CPU_PARTIAL_DRAIN] = 9;
	c = take(192);
	assert_int_equal(c->stat[ALLOC_SLAB], 12);
	assert_int_equal(c->stat[FREE_SLAB], 0);
	assert_int_equal(fake_result(s, 2047)->stat[CPU_PARTIAL_DRAIN], 9);
}

/* Links objects first, first + 1, ... of a slab into the private free list of a CPU. */
static void fake_free_list(unsigned int id, int cpu, unsigned long page, unsigned int first,
			   unsigned int count)
{
	const struct slub *slub = fake_slub(&f, id);
	unsigned int stride = slub->layout.stride;
	uint64_t slab = FAKE_ARENA + page * PAGE_SIZE;
	struct kmem_cache_cpu *cpu_state = fake_state(&f, id, cpu);

	cpu_state->slab = FAKE_PAGES + page * sizeof(struct page);
	cpu_state->freelist = count ? slab + first * stride : 0;
	for (unsigned int i = 0; i < count; i++) {
		uint64_t slot = slab + (first + i) * stride + slub->layout.offset;
		uint64_t next = i + 1 < count ? slab + (first + i + 1) * stride : 0;

		if (slub->hardened)
			next ^= slub->random ^ __builtin_bswap64(slot);
		*(uint64_t *)fake_at(&f, slot) = next;
	}
}

static void check_cpuslab(bool hardened)
{
	const struct snapshot_cache *c;

	fake_cache(&f, 192, "a", 64, 0);
	fake_slub(&f, 192)->hardened = hardened;
	fake_slub(&f, 192)->random = 0x123456789abcdef0;
	fake_slub(&f, 192)->layout.offset = 32;
	fake_slab(&f, 10, 192, 64, 64, true);
	fake_slab(&f, 11, 192, 64, 64, true);
	fake_slab(&f, 12, 192, 64, 20, true); /* on CPU 1's partial list */
	fake_free_list(192, 0, 10, 4, 60);
	fake_free_list(192, 1, 11, 63, 1);
	c = take(192);
	assert_string_equal(c->front, "cpuslab");
	assert_int_equal(c->objects_cpu, 61);
	assert_int_equal(c->objects, 4 + 63 + 20);
	assert_int_equal(c->cpu_slabs, 3);
	assert_int_equal(s->totals.inconsistent, 0);
}

static void test_cpuslab(void **state)
{
	(void)state;
	check_cpuslab(false);
}

static void test_cpuslab_hardened(void **state)
{
	(void)state;
	check_cpuslab(true);
}

/* A slab larger than what is copied at once is followed word by word. */
static void test_cpuslab_large(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 4096, 0);
	fake_slab(&f, 16, 192, 16, 16, true)->order = 4;
	fake_free_list(192, 0, 16, 2, 14);
	assert_int_equal(take(192)->objects, 2);
	assert_int_equal(s->totals.inconsistent, 0);
}

/* A list that loops ends after as many steps as the slab has objects. */
static void test_loop(void **state)
{
	uint64_t slab = FAKE_ARENA + 10 * PAGE_SIZE;

	(void)state;
	fake_cache(&f, 192, "a", 64, 0);
	fake_slab(&f, 10, 192, 64, 64, true);
	fake_free_list(192, 0, 10, 0, 3);
	*(uint64_t *)fake_at(&f, slab + 2 * 64) = slab; /* back to the first */
	assert_int_equal(take(192)->objects_cpu, 64);
	assert_int_equal(fake_result(s, 192)->objects, 0);
}

static void test_wild_free_lists(void **state)
{
	static const uint64_t wild[] = {
		1,
		0xdeadbeef,
		FAKE_ARENA + 9 * PAGE_SIZE,	  /* the slab before */
		FAKE_ARENA + 11 * PAGE_SIZE - 63, /* sticks out of it */
		FAKE_ARENA + 11 * PAGE_SIZE,
		~0ul,
		~0ul - 63,
	};
	struct kmem_cache_cpu *cpu;

	(void)state;
	fake_cache(&f, 192, "a", 64, 0);
	fake_slab(&f, 10, 192, 64, 64, true);
	cpu = fake_state(&f, 192, 0);
	cpu->slab = FAKE_PAGES + 10 * sizeof(struct page);
	for (size_t i = 0; i < ARRAY_SIZE(wild); i++) {
		cpu->freelist = wild[i];
		assert_int_equal(take(192)->objects_cpu, 0);
		assert_int_equal(s->totals.inconsistent, 1);
	}
}

static void test_wild_slabs(void **state)
{
	static const uint64_t wild[] = {
		1, FAKE_PAGES - 64, FAKE_PAGES + 10 * 64 + 8, FAKE_PAGES + FAKE_NR_PAGES * 64, ~0ul,
	};
	struct kmem_cache_cpu *cpu;

	(void)state;
	fake_cache(&f, 192, "a", 64, 0);
	fake_slab(&f, 10, 192, 64, 64, true);
	fake_free_list(192, 0, 10, 0, 3);
	cpu = fake_state(&f, 192, 0);
	for (size_t i = 0; i < ARRAY_SIZE(wild); i++) {
		cpu->slab = wild[i];
		assert_int_equal(take(192)->objects_cpu, 0);
		assert_int_equal(s->totals.inconsistent, 1);
	}
	/* another cache's slab, or none any more: the CPU has just gone on */
	cpu->slab = FAKE_PAGES + 10 * sizeof(struct page);
	assert_int_equal(take(192)->objects_cpu, 3);
	fake_cache(&f, 193, "b", 64, 0);
	fake_slab(&f, 10, 193, 64, 64, true);
	assert_int_equal(take(192)->objects_cpu, 0);
	fake_slab(&f, 10, 192, 64, 64, true)->type = PAGE_BUDDY;
	assert_int_equal(take(192)->objects_cpu, 0);
	/* a slab in a part of the arena that is not in use yet */
	fake_slab(&f, 10, 192, 64, 64, true);
	fake_page_map(&f)->nr_pages = 10;
	assert_int_equal(take(192)->objects_cpu, 0);
}

static void test_wild_layouts(void **state)
{
	struct slab_layout *layout;

	(void)state;
	fake_cache(&f, 192, "a", 64, 0);
	fake_slab(&f, 10, 192, 64, 64, true);
	fake_free_list(192, 0, 10, 0, 3);
	layout = &fake_slub(&f, 192)->layout;
	layout->stride = 0;
	assert_int_equal(take(192)->objects_cpu, 0);
	layout->stride = ~0u;
	assert_int_equal(take(192)->objects_cpu, 0);
	layout->stride = 64;
	layout->offset = 57;
	assert_int_equal(take(192)->objects_cpu, 0);
	layout->offset = ~0u;
	assert_int_equal(take(192)->objects_cpu, 0);
	fake_page(&f, 10)->layout = (void *)0x13;
	assert_int_equal(take(192)->objects_cpu, 0);
}

static void test_wild_words(void **state)
{
	const struct snapshot_cache *c;

	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_slab(&f, 0, 192, 64, 64, false);
	*fake_word(&f, 192, 0, 0) = SHEAF + 3;			 /* not aligned */
	*fake_word(&f, 192, 1, 0) = SHEAF;			 /* below the bottom */
	*fake_word(&f, 192, 2, USLAB_WINDOW_SPARES) = SHEAF + 8; /* likewise */
	fake_lane(&f, 192, 0, 0)->nr_objects = ~0u;
	((struct depot *)fake_at(&f, fake_depot_addr(&f, 192)))->nr_lanes = ~0u;
	c = take(192);
	assert_int_equal(c->objects_cpu, 0);
	assert_int_equal(c->objects_depot, 64);
	assert_int_equal(c->objects, 0);
	assert_int_equal(s->totals.inconsistent, 3);
}

/* More CPUs than there are windows, as far as one can count. */
static void test_too_many_cpus(void **state)
{
	struct topology *topology = fake_at(&f, FAKE_GLOBALS + FAKE_TOPOLOGY);

	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_slab(&f, 0, 192, 64, 64, false);
	*fake_word(&f, 192, 0, 0) = top(8, 8);
	topology->nr_cpu_ids = ~0u;
	topology->nr_nodes = ~0u;
	assert_int_equal(take(192)->objects, 56);
	assert_int_equal(s->totals.cpus, USLAB_MAX_CPUS);
	assert_int_equal(s->totals.nodes, OS_MAX_NODES);
	assert_true(f.reads < 100000);
}

/* ---- queues ---- */

#define ENTRIES 0x77770000ul /* memory of queues: only addresses count */

static struct queues *queues;
static struct queue *aliens; /* of node 0 */

/* Cache 192 with 64 objects in use, as its only slab sees it; two nodes, a limit of 16. */
static void with_queues(void)
{
	uint64_t addr;
	struct cache *c = fake_cache(&f, 192, "q", 64, 0);

	fake_slab(&f, 0, 192, 64, 64, false);
	addr = fake_cache_addr(&f, 192);
	c->front.ops = (void *)(FAKE_GLOBALS + FAKE_QUEUES_OPS);
	c->front.state = (void *)(addr + 0x800);
	queues = fake_at(&f, addr + 0x800);
	aliens = fake_at(&f, addr + 0xc00);
	queues->limit = 16;
	queues->nr_nodes = 2;
	queues->node[0].alien = (void *)(addr + 0xc00);
	for (int cpu = 0; cpu < (int)FAKE_CPUS; cpu++)
		fake_state(&f, 192, cpu)->top = QUEUES_STOPPED;
}

static void queue_of_cpu(int cpu, unsigned int count)
{
	fake_state(&f, 192, cpu)->bottom = ENTRIES;
	fake_state(&f, 192, cpu)->top = ENTRIES + count * sizeof(void *);
}

static void test_queues(void **state)
{
	const struct snapshot_cache *c;

	(void)state;
	with_queues();
	queue_of_cpu(0, 7);
	queue_of_cpu(1, 0);
	queues->node[0].shared.avail = 4;
	queues->node[1].shared.avail = 5;
	aliens[1].avail = 3;
	fake_state(&f, 192, 0)->stat[ALLOC_FASTPATH] = 11;
	c = take(192);
	assert_string_equal(c->front, "queues");
	assert_int_equal(c->capacity, 16);
	assert_int_equal(c->objects_cpu, 7);
	assert_int_equal(c->objects_shared, 9);
	assert_int_equal(c->objects_alien, 3);
	assert_int_equal(c->objects_held, 19);
	assert_int_equal(c->objects, 64 - 19);
	assert_int_equal(c->stat[ALLOC_FASTPATH], 11);
	assert_int_equal(s->totals.inconsistent, 0);
}

/* As many as QUEUES_MAX_LIMIT allows. */
static void test_largest_queues(void **state)
{
	const struct snapshot_cache *c;

	(void)state;
	with_queues();
	for (unsigned long i = 0; i < 35; i++)
		fake_slab(&f, i, 192, 32767, 32767, false);
	queue_of_cpu(0, QUEUES_MAX_LIMIT);
	queues->node[0].shared.avail = 16 * QUEUES_MAX_LIMIT;
	c = take(192);
	assert_int_equal(c->objects_cpu, QUEUES_MAX_LIMIT);
	assert_int_equal(c->objects_shared, 16 * QUEUES_MAX_LIMIT);
	assert_int_equal(c->objects, 35 * 32767 - 17 * QUEUES_MAX_LIMIT);
	assert_int_equal(s->totals.inconsistent, 0);
}

static void test_wild_queues(void **state)
{
	const struct snapshot_cache *c;

	(void)state;
	with_queues();
	queue_of_cpu(0, 7);
	fake_state(&f, 192, 0)->top += 3;
	queue_of_cpu(1, 1u << 20);
	queue_of_cpu(2, 0);
	fake_state(&f, 192, 2)->top -= 8;
	queues->node[0].shared.avail = ~0u;
	aliens[0].avail = ~0u;
	queues->nr_nodes = ~0u;
	queues->node[1].alien = (void *)8;
	c = take(192);
	assert_int_equal(c->objects_cpu, 0);
	assert_int_equal(c->objects_shared, 64); /* never more than there are */
	assert_int_equal(c->objects_alien, 64);
	assert_int_equal(c->objects, 0);
	assert_int_equal(s->totals.inconsistent, 3 + 2);
	/* a front of that name without its structure */
	((struct cache *)fake_at(&f, fake_cache_addr(&f, 192)))->front.state = NULL;
	assert_int_equal(take(192)->objects_shared, 0);
}

/* ---- sheaves ---- */

#define SHEAVES 0x77780000ul /* memory of sheaves */

static struct sheaves *sheaves;

/* The same, with a capacity of 28, and three sheaves with so many objects. */
static void with_sheaves(unsigned int main, unsigned int spare, unsigned int other)
{
	struct cache *c = fake_cache(&f, 192, "s", 256, 0);
	uint64_t addr = fake_cache_addr(&f, 192) + 0x800;
	const unsigned int nr[] = { main, spare, other };

	fake_slab(&f, 0, 192, 64, 64, false);
	c->front.ops = (void *)(FAKE_GLOBALS + FAKE_SHEAVES_OPS);
	c->front.state = (void *)addr;
	sheaves = fake_at(&f, addr);
	sheaves->capacity = 28;
	sheaves->nr_nodes = 2;
	fake_map(&f, SHEAVES, 3 * sizeof(struct sheaf));
	for (unsigned int i = 0; i < 3; i++)
		((struct sheaf *)fake_at(&f, SHEAVES))[i] =
			(struct sheaf){ .nr = nr[i], .capacity = 28 };
	fake_state(&f, 192, 0)->main = (struct sheaf *)SHEAVES;
	fake_state(&f, 192, 0)->spare = (struct sheaf *)SHEAVES + 1;
	fake_state(&f, 192, 1)->main = (struct sheaf *)SHEAVES + 2;
}

static void test_sheaves(void **state)
{
	const struct snapshot_cache *c;

	(void)state;
	with_sheaves(5, 28, 0);
	sheaves->barn[0].nr_objects = 2;
	sheaves->barn[1].nr_objects = 1;
	fake_state(&f, 192, 1)->stat[SHEAF_RETURN_SLOW] = 3;
	c = take(192);
	assert_string_equal(c->front, "sheaves");
	assert_int_equal(c->capacity, 28);
	assert_int_equal(c->objects_cpu, 33);
	assert_int_equal(c->objects_depot, 3);
	assert_int_equal(c->depot_limit, 2 * 10 * 28);
	assert_int_equal(c->objects, 64 - 36);
	assert_int_equal(c->stat[SHEAF_RETURN_SLOW], 3);
	assert_int_equal(s->totals.inconsistent, 0);
}

/* Counts, capacities, nodes and addresses that cannot be. */
static void test_wild_sheaves(void **state)
{
	const struct snapshot_cache *c;

	(void)state;
	with_sheaves(29, 1, ~0u);
	sheaves->barn[0].nr_objects = ~0ul;
	c = take(192);
	assert_int_equal(c->objects_cpu, 1);
	assert_int_equal(c->objects_depot, 64);
	assert_int_equal(s->totals.inconsistent, 2);
	/* a sheaf of another capacity than the cache has is none of these */
	((struct sheaf *)fake_at(&f, SHEAVES))->capacity = 29;
	assert_int_equal(take(192)->objects_cpu, 30);
	assert_int_equal(s->totals.inconsistent, 1);
	((struct sheaf *)fake_at(&f, SHEAVES))[2].capacity = UINT16_MAX;
	((struct sheaf *)fake_at(&f, SHEAVES))[2].nr = SHEAVES_MAX_CAPACITY + 1;
	sheaves->capacity = ~0u;
	sheaves->nr_nodes = ~0u;
	fake_state(&f, 192, 0)->spare = (struct sheaf *)8;
	c = take(192);
	assert_int_equal(c->capacity, SHEAVES_MAX_CAPACITY);
	assert_int_equal(c->objects_cpu, 29);
	assert_int_equal(s->totals.inconsistent, 2);
	((struct cache *)fake_at(&f, fake_cache_addr(&f, 192)))->front.state = (void *)8;
	c = take(192);
	assert_int_equal(c->objects_depot, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(test_words),		 FAKE_TEST(test_generic_words),
		FAKE_TEST(test_depots),		 FAKE_TEST(test_stats),
		FAKE_TEST(test_cpuslab),	 FAKE_TEST(test_cpuslab_hardened),
		FAKE_TEST(test_cpuslab_large),	 FAKE_TEST(test_loop),
		FAKE_TEST(test_wild_free_lists), FAKE_TEST(test_wild_slabs),
		FAKE_TEST(test_wild_layouts),	 FAKE_TEST(test_wild_words),
		FAKE_TEST(test_too_many_cpus),	 FAKE_TEST(test_queues),
		FAKE_TEST(test_largest_queues),	 FAKE_TEST(test_wild_queues),
		FAKE_TEST(test_sheaves),	 FAKE_TEST(test_wild_sheaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
