/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/alloc_test.c - zeroing, constructors, nodes, bursts, and what happens when memory runs
 * out
 */
#include "bare.h"
#include "bytes.h"
#include "cache_fixture.h"
#include "front/depot.h"
#include "refused.h"

static const char *const fronts[] = { "array", "none", "cpuslab", "sheaves" };

#define ZERO (GFP_KERNEL | __GFP_ZERO)

IN_CHILD(test_zero)
{
	ready();
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
		struct cache *c = make_front("c", 100, fronts[f]);
		void *p[50];

		for (unsigned int round = 0; round < 3; round++) {
			for (unsigned int i = 0; i < 50; i++) {
				p[i] = cache_alloc(c, ZERO, NUMA_NO_NODE);
				CHILD_CHECK(all_bytes(p[i], 100, 0));
				memset(p[i], 0x55, 100);
			}
			cache_free_bulk(c, 50, p);
			CHILD_CHECK(cache_alloc_bulk(c, ZERO, 50, p) == 50);
			for (unsigned int i = 0; i < 50; i++) {
				CHILD_CHECK(all_bytes(p[i], 100, 0));
				memset(p[i], 0x55, 100);
			}
			cache_free_bulk(c, 50, p);
		}
	}
}

/*
 * Without being asked nothing is cleared: what lies away from the free pointer and
 * the mark is as it was left.
 */
IN_CHILD(test_no_zero)
{
	struct cache *c;
	char *obj;

	ready();
	stay_here();
	c = make("c", 64, 0, 0);
	obj = get(c);
	memset(obj, 0x55, 64);
	cache_free(c, obj);
	CHILD_CHECK(get(c) == obj);
	CHILD_CHECK(all_bytes(obj, 4, 0x55) && all_bytes(obj + 8, 24, 0x55) &&
		    all_bytes(obj + 40, 24, 0x55));
}

static unsigned int constructed;

static void ctor(void *obj)
{
	constructed++;
	memset(obj, 0xc7, 72);
}

/* Once per object, when its slab is made; free and alloc leave the object alone (spec 4.6). */
IN_CHILD(test_ctor)
{
	ready();
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
		struct cache *c = made(&(struct cache_spec){ .name = "ctor",
							     .size = 72,
							     .front = front_by_name(fronts[f]),
							     .ctor = ctor });
		static void *p[300];
		void *kept[3 * 19];
		unsigned int nr_kept = 0;

		constructed = 0;
		for (unsigned int round = 0; round < 3; round++) {
			for (unsigned int i = 0; i < 300; i++) {
				p[i] = get(c);
				CHILD_CHECK(all_bytes(p[i], 72, 0xc7));
			}
			CHILD_CHECK(constructed == stats_of(c).total_objects);
			/* one object of each slab stays, and with it the slab */
			for (unsigned int i = 0; i < 300; i++)
				if (i % 16)
					cache_free(c, p[i]);
				else
					kept[nr_kept++] = p[i];
			CHILD_CHECK(constructed == stats_of(c).total_objects);
		}
		cache_free_bulk(c, nr_kept, kept);
		CHILD_CHECK(cache_shrink(c) == 0);
		CHILD_CHECK(get(c) && constructed > stats_of(c).total_objects);
	}
}

/* ---- nodes ---- */

IN_CHILD(test_nodes)
{
	CHILD_CHECK(os_topology_set(4, 2) == 0);
	ready();
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
		struct cache *c = make_front("c", 64, fronts[f]);

		for (unsigned int i = 0; i < 400; i++) {
			unsigned int cpu = i % 4;
			int node = (int)(i / 4 % 2);
			void *p;
			void *q;

			os_act_as_cpu(cpu);
			p = cache_alloc(c, GFP_KERNEL | __GFP_THISNODE, node);
			CHILD_CHECK(p && page_head_of(p)->node == node);
			q = cache_alloc(c, GFP_KERNEL, 77); /* no such node: any */
			CHILD_CHECK(q);
			/* freed far away, so that every CPU comes to hold objects of both nodes */
			os_act_as_cpu(3 - cpu);
			if (i % 3)
				cache_free(c, p);
			cache_free(c, q);
		}
		CHILD_CHECK(in_use(c) == DIV_ROUND_UP(400, 3));
	}
	cache_check_all();
}

/* ---- out of memory ---- */

/* Takes objects until there are none; returns how many. Links them through their first word. */
static unsigned long take_all(struct cache *c, void **list)
{
	unsigned long n = 0;
	void **obj;

	while ((obj = cache_alloc(c, GFP_KERNEL | __GFP_NOWARN, NUMA_NO_NODE))) {
		*obj = *list;
		*list = obj;
		n++;
	}
	return n;
}

static void give_all(struct cache *c, void **list)
{
	while (*list) {
		void **obj = *list;

		*list = *obj;
		cache_free(c, obj);
	}
}

/* What other caches cache or keep empty is got back before NULL is the answer. */
static void check_pressure(const char *front)
{
	struct cache *a = make_front("a", 512, front);
	struct cache *b = make_front("b", 4096, front);
	void *of_a = NULL;
	void *of_b = NULL;
	unsigned long bytes;
	static void *p[1024];
	unsigned long most;

	cache_free(b, get(b));
	no_more_memory();
	bytes = take_all(a, &of_a) * 512;
	CHILD_CHECK(bytes > 3 << 20); /* most of a chunk of 4 MiB */
	CHILD_CHECK(!get(a));
	take_all(b, &of_b); /* the rest of what it had */
	CHILD_CHECK(!get(b) && !get(a));
	give_all(a, &of_a);
	most = take_all(b, &of_b);
	CHILD_CHECK(most * 4096 > bytes - bytes / 8 && most <= ARRAY_SIZE(p));
	CHILD_CHECK(a->front.ops->held(&a->front) == 0);
	CHILD_CHECK(stats_of(a).nr_slabs <= 2);
	cache_check_all();
	give_all(b, &of_b);
	CHILD_CHECK(take_all(a, &of_a) * 512 > bytes - bytes / 8);
	give_all(a, &of_a);
	/* all of it in one call */
	CHILD_CHECK(cache_alloc_bulk(b, GFP_KERNEL, (unsigned int)most, p) == most);
	cache_free_bulk(b, (unsigned int)most, p);
}

IN_BARE_CHILD(test_pressure_array)
{
	ready();
	check_pressure("array");
}

IN_BARE_CHILD(test_pressure_none)
{
	ready();
	check_pressure("none");
}

IN_BARE_CHILD(test_pressure_cpuslab)
{
	ready();
	check_pressure("cpuslab");
}

/* All or none: a bulk call that fails gives back what it got. */
IN_BARE_CHILD(test_bulk_all_or_none)
{
	ready();
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++)
		get(make_front(fronts[f], 1024, fronts[f]));
	no_more_memory();
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
		struct cache *c = list_entry(cache_list.next, struct cache, list);
		static void *p[8192];
		void *list = NULL;
		unsigned long most;

		while (strcmp(c->name, fronts[f]))
			c = list_entry(c->list.next, struct cache, list);
		CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL | __GFP_NOWARN, 8192, p) == 0);
		CHILD_CHECK(in_use(c) == 1);
		CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 1000, p) == 1000);
		CHILD_CHECK(in_use(c) == 1001);
		cache_free_bulk(c, 1000, p);
		most = take_all(c, &list);
		give_all(c, &list);
		/* and nothing is lost by failing */
		CHILD_CHECK(take_all(c, &list) == most);
		give_all(c, &list);
		cache_check_all();
	}
}

/* What a bulk call gives back, a hit had taken: it is free again, and a second free is noticed. */
IN_BARE_CHILD(test_bulk_gives_hits_back)
{
	static void *p[8192];
	struct cache *c;
	void *hit[2];

	ready();
	c = make("c", 1024, 0, 0);
	p[0] = hit[0] = obj_alloc(c);
	p[1] = hit[1] = obj_alloc(c);
	no_more_memory();
	report_set_hook(quiet, NULL, true);
	CHILD_CHECK(!cache_alloc_bulk_for(c, GFP_KERNEL | __GFP_NOWARN, 8192, p, 2, NULL));
	CHILD_CHECK(in_use(c) == 0);
	refused(obj_free, c, hit[0]);
	refused(obj_free, c, hit[1]);
}

IN_CHILD(test_bulk_of_none)
{
	struct cache *c;
	void *p = &p;

	ready();
	c = make("c", 64, 0, 0);
	CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 0, &p) == 0);
	CHILD_CHECK(p == &p && stats_of(c).nr_slabs == 0);
}

/* ---- bursts ---- */

#define BURST_BYTES (16ul << 20)

static uint64_t no_time_passes(void)
{
	return 1000 * DEPOT_EPOCH_MS;
}

/* How many objects so large that is; fewer of the small ones where a tool makes each call slow. */
static unsigned int burst_of(unsigned int size)
{
	unsigned long nr = BURST_BYTES / size;

	return (unsigned int)(bare_process() && !is_emulated() ? nr : MIN(nr, 1ul << 15));
}

/* So many of them out and back, of all that the process has. */
static void burst(struct cache *c, void **p, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		p[i] = get(c);
	for (unsigned int i = 0; i < nr; i++)
		cache_free(c, p[i]);
}

/*
 * Until nothing overflows any more, and no slab comes or goes. That takes some ten rounds, and more
 * on a slow machine, where the program seems to fall for a while (buddy_falls()).
 */
static bool burst_until_they_fit(struct cache *c, void **p, unsigned int nr)
{
	const struct depot *d = &c->front.depot[os_current_node()];

	for (unsigned int round = 0; round < 100; round++) {
		uint32_t overflows = d->nr_overflows;
		unsigned long slabs = stats_of(c).nr_slabs;

		burst(c, p, nr);
		if (d->nr_overflows == overflows && stats_of(c).nr_slabs == slabs &&
		    c->front.ops->held(&c->front) >= nr)
			return overflows > 0;
	}
	return false;
}

/* Small ones, whose arrays are much beside them, and buffers: the depot has all of them. */
IN_CHILD(test_bursts_fit)
{
	static const unsigned int sizes[] = { 16, 64, 4096, 16384, 32768 };
	static void *p[BURST_BYTES / 16];

	ready();
	stay_here();
	depot_clock = no_time_passes;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct cache *c = make("c", sizes[i], 0, 0);

		CHILD_CHECK(burst_until_they_fit(c, p, burst_of(sizes[i])));
		cache_check_all();
		cache_destroy(c->handle, NULL);
	}
}

#define SHUFFLED 30000u

static uint64_t shuffled_ms = 1000 * DEPOT_EPOCH_MS;

static uint64_t clock_of_shuffled(void)
{
	return shuffled_ms;
}

/* How often one that is allocated lies on another page than the one before it. */
static unsigned int shuffled_burst(struct cache *c, void **p)
{
	unsigned int changes = 0;

	for (unsigned int i = 0; i < SHUFFLED; i++) {
		p[i] = get(c);
		changes += i && ((uintptr_t)p[i] ^ (uintptr_t)p[i - 1]) >> PAGE_SHIFT;
	}
	for (unsigned int i = 0; i < SHUFFLED; i++)
		cache_free(c, p[(uintptr_t)i * 7919 % SHUFFLED]);
	return changes;
}

/* A depot whose objects were freed in any order gives neighbours, but for the first arrays. */
IN_CHILD(test_shuffled_bursts)
{
	static void *p[SHUFFLED];
	struct cache *c;

	ready();
	stay_here();
	depot_clock = clock_of_shuffled;
	c = make("c", 64, 0, 0);
	for (unsigned int round = 0; round < 20; round++)
		shuffled_burst(c, p);
	CHILD_CHECK(shuffled_burst(c, p) > SHUFFLED / 2); /* in this time it was sorted before */
	shuffled_ms += DEPOT_EPOCH_MS;
	CHILD_CHECK(shuffled_burst(c, p) < SHUFFLED / 20);
	cache_check_all();
}

/* Buffers that nobody uses go back for what is taken as page runs, or past the front. */
IN_CHILD(test_buffers_are_reaped)
{
	static void *p[BURST_BYTES / 64];
	struct cache *c, *other;

	ready();
	stay_here();
	depot_clock = no_time_passes;
	c = make("c", 16384, 0, 0);
	other = make("other", 64, 0, 0);
	for (unsigned int way = 0; way < 2; way++) {
		unsigned long held;

		CHILD_CHECK(burst_until_they_fit(c, p, BURST_BYTES / 16384));
		held = c->front.ops->held(&c->front);
		/* those, and what refills left in the CPU's arrays */
		CHILD_CHECK(held <= BURST_BYTES / 16384 + 2 * c->front.capacity);
		if (way) {
			CHILD_CHECK(cache_alloc_bulk(other, GFP_KERNEL, ARRAY_SIZE(p), p) ==
				    ARRAY_SIZE(p));
			cache_free_bulk(other, ARRAY_SIZE(p), p);
		} else {
			for (unsigned int i = 0; i < 4; i++) {
				p[i] = kmalloc_alloc(BURST_BYTES / 4, GFP_KERNEL, NUMA_NO_NODE);
				CHILD_CHECK(p[i]);
			}
			for (unsigned int i = 0; i < 4; i++)
				kmalloc_free(p[i], NULL);
		}
		CHILD_CHECK(c->front.ops->held(&c->front) < held / 8);
	}
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zero),
		cmocka_unit_test(test_no_zero),
		cmocka_unit_test(test_ctor),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_pressure_array),
		cmocka_unit_test(test_pressure_none),
		cmocka_unit_test(test_pressure_cpuslab),
		cmocka_unit_test(test_bulk_all_or_none),
		cmocka_unit_test(test_bulk_gives_hits_back),
		cmocka_unit_test(test_bulk_of_none),
		cmocka_unit_test(test_bursts_fit),
		cmocka_unit_test(test_shuffled_bursts),
		cmocka_unit_test(test_buffers_are_reaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
