/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/kmalloc/kmalloc_test.c - the kernel's size classes (spec 5.6, 5.7, vectors 7 and 8)
 */
#include "unit/cache/cache_fixture.h"

static void kmalloc_ready(void)
{
	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	CHILD_CHECK(uslab_kmalloc_handles == percpu_handle(USLAB_ID_KMALLOC));
}

static struct cache *by_name(const char *name)
{
	struct list_head *pos;

	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);

		if (!strcmp(c->name, name))
			return c;
	}
	return NULL;
}

/* In order of creation, for each of the two types. */
static const struct {
	const char *name;
	unsigned int size;
	unsigned int index;
} classes[] = {
	{ "8", 8, 3 },	    { "16", 16, 4 },	{ "32", 32, 5 },    { "64", 64, 6 },
	{ "96", 96, 1 },    { "128", 128, 7 },	{ "192", 192, 2 },  { "256", 256, 8 },
	{ "512", 512, 9 },  { "1k", 1024, 10 }, { "2k", 2048, 11 }, { "4k", 4096, 12 },
	{ "8k", 8192, 13 },
};

IN_CHILD(test_caches)
{
	struct list_head *pos;
	size_t i = 0;

	kmalloc_ready();
	for (pos = cache_list.prev; pos != &cache_list; pos = pos->prev, i++) {
		struct cache *c = list_entry(pos, struct cache, list);
		unsigned int type = i >= ARRAY_SIZE(classes);
		unsigned int n = (unsigned int)i % ARRAY_SIZE(classes);
		unsigned int size = classes[n].size;
		char name[CACHE_NAME_MAX];

		CHILD_CHECK(i < 2 * ARRAY_SIZE(classes));
		os_format(name, sizeof(name), "kmalloc-%s%s", type ? "rcl-" : "", classes[n].name);
		CHILD_CHECK(!strcmp(c->name, name));
		CHILD_CHECK(c->front.id == USLAB_ID_KMALLOC + type * 16 + classes[n].index);
		CHILD_CHECK(c->engine.object_size == size && c->engine.size == size);
		CHILD_CHECK(c->usersize == size && !cache_is_mergeable(c));
		CHILD_CHECK(c->engine.align == (is_pow2(size) ? size : 8));
		CHILD_CHECK(!!(c->flags & SLAB_RECLAIM_ACCOUNT) == type && c->flags & SLAB_KMALLOC);
	}
	CHILD_CHECK(i == 2 * ARRAY_SIZE(classes));
	cache_check_all();
}

/* Vector 7: the cache of each size, at every edge. */
IN_CHILD(test_edges)
{
	static const struct {
		size_t from;
		size_t to;
		const char *name;
	} v[] = {
		{ 1, 8, "kmalloc-8" },	      { 9, 16, "kmalloc-16" },
		{ 17, 32, "kmalloc-32" },     { 33, 64, "kmalloc-64" },
		{ 65, 96, "kmalloc-96" },     { 97, 128, "kmalloc-128" },
		{ 129, 192, "kmalloc-192" },  { 193, 256, "kmalloc-256" },
		{ 257, 512, "kmalloc-512" },  { 513, 1024, "kmalloc-1k" },
		{ 1025, 2048, "kmalloc-2k" }, { 2049, 4096, "kmalloc-4k" },
		{ 4097, 8192, "kmalloc-8k" },
	};

	kmalloc_ready();
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		for (size_t size = v[i].from; size <= v[i].to;
		     size += size == v[i].from ? MAX(v[i].to - v[i].from, 1ul) : 1) {
			void *p = kmalloc_alloc(size, GFP_KERNEL, NUMA_NO_NODE);
			void *r = kmalloc_alloc(size, GFP_KERNEL | __GFP_RECLAIMABLE, -1);

			CHILD_CHECK(cache_of_object(p) == by_name(v[i].name));
			CHILD_CHECK(kmalloc_size(p) == v[i].to && kmalloc_roundup(size) == v[i].to);
			CHILD_CHECK(!strncmp(cache_of_object(r)->name, "kmalloc-rcl-", 12));
			CHILD_CHECK(!strcmp(cache_of_object(r)->name + 12, v[i].name + 8));
			kmalloc_free(p, NULL);
			kmalloc_free(r, NULL);
		}
	CHILD_CHECK(kmalloc_alloc(0, GFP_KERNEL, -1) == ZERO_SIZE_PTR);
	CHILD_CHECK(ZERO_SIZE_PTR == (void *)16);
}

/* The index function of the inline fast path is the same table. */
IN_CHILD(test_index)
{
	for (size_t size = 1; size <= 8192; size++) {
		size_t n = 0;

		while (classes[n].size < size)
			n++;
		CHILD_CHECK(uslab_kmalloc_index(size) == classes[n].index);
	}
}

IN_CHILD(test_large)
{
	static const struct {
		size_t size;
		unsigned int order;
	} v[] = { { 8193, 2 },	   { 16384, 2 },	   { 16385, 3 },    { 65536, 4 },
		  { 1u << 20, 8 }, { (1u << 21) + 1, 10 }, { 4u << 20, 10 } };
	unsigned long pages;

	kmalloc_ready();
	pages = pages_out();
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		size_t bytes = PAGE_SIZE << v[i].order;
		char *p = kmalloc_alloc(v[i].size, GFP_KERNEL, -1);

		CHILD_CHECK(p && ((uintptr_t)p & (bytes - 1)) == 0);
		CHILD_CHECK(kmalloc_size(p) == bytes && kmalloc_roundup(v[i].size) == bytes);
		CHILD_CHECK(pages_out() == pages + bytes / PAGE_SIZE);
		CHILD_CHECK(!cache_of_object(p));
		memset(p, 0xee, bytes);
		kmalloc_free(p, NULL);
		CHILD_CHECK(pages_out() == pages);
		/* used pages come back dirty: clearing is not left out */
		p = kmalloc_alloc(v[i].size, GFP_KERNEL | __GFP_ZERO, -1);
		for (size_t j = 0; j < bytes; j += 509)
			CHILD_CHECK(p[j] == 0);
		CHILD_CHECK(p[bytes - 1] == 0);
		kmalloc_free(p, NULL);
	}
	CHILD_CHECK(!kmalloc_alloc(KMALLOC_MAX_SIZE + 1, GFP_KERNEL, -1));
	CHILD_CHECK(!kmalloc_alloc(SIZE_MAX, GFP_KERNEL, -1));
	CHILD_CHECK(!kmalloc_alloc(SIZE_MAX - 4095, GFP_KERNEL, -1));
	run_check();
	buddy_check();
}

IN_CHILD(test_roundup)
{
	kmalloc_ready();
	CHILD_CHECK(kmalloc_roundup(0) == 0 && kmalloc_roundup(SIZE_MAX) == SIZE_MAX);
	CHILD_CHECK(kmalloc_roundup(KMALLOC_MAX_SIZE) == KMALLOC_MAX_SIZE);
	CHILD_CHECK(kmalloc_roundup(KMALLOC_MAX_SIZE + 1) == KMALLOC_MAX_SIZE + 1);
}

/* Vector 17: powers of two are aligned to themselves, the rest to 8. */
IN_CHILD(test_alignment)
{
	kmalloc_ready();
	for (size_t size = 1; size <= KMALLOC_MAX_SIZE; size *= 2)
		for (unsigned int i = 0; i < 9; i++) {
			void *p = kmalloc_alloc(size, GFP_KERNEL, -1);

			CHILD_CHECK(((uintptr_t)p & (MAX(size, 8ul) - 1)) == 0);
		}
	for (size_t size = 3; size <= 8192; size += 61)
		CHILD_CHECK(((uintptr_t)kmalloc_alloc(size, GFP_KERNEL, -1) & 7) == 0);
}

/* Spec 5.6: also with whatever debug slabs have around the objects; ksize() is as promised. */
IN_CHILD(test_alignment_in_debug_slabs)
{
	static const char *const flags[] = { "Z", "P", "U", "ZP", "ZU", "PU", "FZPU" };

	kmalloc_ready();
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		CHILD_CHECK(cache_set_debug_pattern("kmalloc-*", flags[i]) > 0);
		for (size_t size = 1; size <= KMALLOC_MAX_CACHE_SIZE; size *= 2)
			for (unsigned int j = 0; j < 9; j++) {
				void *p = kmalloc_alloc(size, GFP_KERNEL, -1);

				CHILD_CHECK(((uintptr_t)p & (MAX(size, 8ul) - 1)) == 0);
				CHILD_CHECK(debug_is_slab(page_slab_of(p)));
			}
		for (size_t size = 1; size <= KMALLOC_MAX_CACHE_SIZE; size += 61) {
			size_t up = kmalloc_roundup(size);

			CHILD_CHECK(kmalloc_size(kmalloc_alloc(up, GFP_KERNEL, -1)) == up);
		}
	}
	cache_check_all();
}

/* Vector 8, and spec 5.7: what lies behind the object is not usable where metadata does. */
IN_CHILD(test_usable)
{
	struct cache *c;

	kmalloc_ready();
	CHILD_CHECK(kmalloc_size(kmalloc_alloc(100, GFP_KERNEL, -1)) == 128);
	c = make("plain", 60, 0, SLAB_HWCACHE_ALIGN);
	CHILD_CHECK(kmalloc_size(get(c)) == 64);
	c = make("Z", 100, 0, SLAB_RED_ZONE);
	CHILD_CHECK(kmalloc_size(get(c)) == 100);
	c = make("P", 100, 0, SLAB_POISON);
	CHILD_CHECK(kmalloc_size(get(c)) == 100);
	c = make("U", 100, 0, SLAB_STORE_USER);
	CHILD_CHECK(kmalloc_size(get(c)) == 104);
	c = make("rcu", 100, 0, SLAB_TYPESAFE_BY_RCU);
	CHILD_CHECK(kmalloc_size(get(c)) == 104 && c->engine.size == 112);
}

/* ---- other engines ---- */

static void kmalloc_ready_with(const char *conf)
{
	setenv("USLAB_CONF", conf, 1);
	kmalloc_ready();
}

static void *alloc(size_t size)
{
	return kmalloc_alloc(size, GFP_KERNEL, -1);
}

/* Spec 3.2 and 3.12: nothing below 32 bytes, and objects on cache lines. */
IN_CHILD(test_slab)
{
	kmalloc_ready_with("engine=slab,front=historical");
	CHILD_CHECK(!by_name("kmalloc-8") && !by_name("kmalloc-16") && !by_name("kmalloc-rcl-16"));
	for (size_t size = 1; size <= 32; size++)
		CHILD_CHECK(cache_of_object(alloc(size)) == by_name("kmalloc-32"));
	CHILD_CHECK(by_name("kmalloc-32")->engine.size == 32);
	CHILD_CHECK(by_name("kmalloc-96")->engine.size == 128);
	CHILD_CHECK(by_name("kmalloc-192")->engine.size == 192);
	CHILD_CHECK(kmalloc_size(alloc(90)) == 96 && kmalloc_roundup(3) == 32);
	CHILD_CHECK(!strcmp(by_name("kmalloc-64")->front.ops->name, "queues"));
	/* the words of those that are not there miss, on every CPU */
	for (int cpu = -2; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		CHILD_CHECK(*percpu_inline_word(USLAB_ID_KMALLOC + 3, cpu) == front_stop_word);
}

/* One class of SLAB's among SLUB's: only it is missing. */
IN_CHILD(test_slab_in_part)
{
	kmalloc_ready_with("engine:kmalloc-8=slab");
	CHILD_CHECK(!by_name("kmalloc-8") && by_name("kmalloc-rcl-8"));
	CHILD_CHECK(cache_of_object(alloc(8)) == by_name("kmalloc-32"));
	CHILD_CHECK(cache_of_object(alloc(9)) == by_name("kmalloc-16"));
}

/* Spec 1.6 and 1.8: what was asked for, behind 8 bytes, in the first gap. */
IN_CHILD(test_slob)
{
	static const unsigned int offsets[] = { 8, 32, 56, 96, 192, 264, 136, 384 };
	static const size_t sizes[] = { 8, 16, 24, 32, 64, 100, 8, 128 };

	kmalloc_ready_with("engine=slob,front=historical");
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		CHILD_CHECK(((uintptr_t)alloc(sizes[i]) & 4095) == offsets[i]);
	CHILD_CHECK(kmalloc_size(alloc(101)) == 102 && kmalloc_size(alloc(100)) == 100);
	CHILD_CHECK(kmalloc_roundup(101) == 104 && kmalloc_roundup(1) == 8);
	CHILD_CHECK(kmalloc_roundup(4080) == 4080 && kmalloc_roundup(5000) == 8192);
	/* from a page less the header on: whole pages; spec 1.6 would have 4088 for 4087 */
	CHILD_CHECK(kmalloc_roundup(4087) == 4096);
	CHILD_CHECK(page_head_of(alloc(4087))->type == PAGE_HEAP);
	CHILD_CHECK(page_head_of(alloc(4088))->type == PAGE_RUN);
	CHILD_CHECK(kmalloc_size(alloc(4088)) == 4096 && kmalloc_size(alloc(4097)) == 8192);
}

/* Vector 15: a page never survives empty. */
IN_CHILD(test_slob_empty)
{
	kmalloc_ready_with("engine=slob:1991,front=none");
	for (unsigned int i = 0; i < 100; i++) {
		kmalloc_free(alloc(200), NULL);
		CHILD_CHECK(pages_out() == 0);
	}
}

/* With a front the classes come back: a CPU holds objects, not blocks of any size. */
IN_CHILD(test_slob_array)
{
	void *p;

	kmalloc_ready_with("engine=slob,front=array");
	p = alloc(101);
	CHILD_CHECK(cache_of_object(p) == by_name("kmalloc-128") && kmalloc_size(p) == 128);
	CHILD_CHECK(kmalloc_roundup(101) == 128);
	kmalloc_free(p, NULL);
	CHILD_CHECK(in_use(by_name("kmalloc-128")) == 0);
}

/* Spec 2.2: pages of one size, the table of classes, no header. */
IN_CHILD(test_slobseg)
{
	kmalloc_ready_with("engine=slobseg,front=historical");
	CHILD_CHECK(kmalloc_size(alloc(100)) == 128 && kmalloc_size(alloc(3000)) == 4096);
	CHILD_CHECK(((uintptr_t)alloc(3000) & 4095) == 0);
	CHILD_CHECK(kmalloc_size(alloc(5000)) == 8192);
	kmalloc_free(alloc(70), NULL);
	CHILD_CHECK(stats_of(by_name("kmalloc-96")).nr_slabs == 0);
}

IN_CHILD(test_slobseg_pow2)
{
	kmalloc_ready_with("engine=slobseg:pow2,front=historical");
	CHILD_CHECK(kmalloc_size(alloc(65)) == 128 && kmalloc_size(alloc(129)) == 256);
	CHILD_CHECK(kmalloc_roundup(17) == 32 && kmalloc_roundup(4096) == 4096);
	CHILD_CHECK(page_head_of(alloc(4096))->type == PAGE_HEAP);
	CHILD_CHECK(page_head_of(alloc(4097))->type == PAGE_RUN);
}

/* kfree finds the cache of any object, kmalloc's or not. */
IN_CHILD(test_free_any)
{
	static const char *const fronts[] = { "array", "none", "cpuslab", "sheaves" };

	kmalloc_ready();
	stay_here();
	for (unsigned int i = 0; i < 3; i++) {
		struct cache *c = make_front("c", 64, fronts[i]);
		void *p = get(c);

		kmalloc_free(p, NULL);
		CHILD_CHECK(in_use(c) == 0);
		/* onto the CPU's own array, from where it comes back first */
		CHILD_CHECK(c->front.ops->held(&c->front) == 0 || get(c) == p);
	}
}

IN_CHILD(test_nodes)
{
	static const size_t sizes[] = { 1, 100, 8192, 8193, 1u << 20 };

	CHILD_CHECK(os_topology_set(4, 2) == 0);
	kmalloc_ready();
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (int node = 0; node < 2; node++)
			for (unsigned int cpu = 0; cpu < 4; cpu++) {
				void *p;

				os_act_as_cpu(cpu);
				p = kmalloc_alloc(sizes[i], GFP_KERNEL | __GFP_THISNODE, node);
				CHILD_CHECK(p && page_head_of(p)->node == node);
				kmalloc_free(p, NULL);
				/* no such node: from any, and from the arena like all others */
				p = kmalloc_alloc(sizes[i], GFP_KERNEL, 63);
				CHILD_CHECK(p && page_head_of(p));
				kmalloc_free(p, NULL);
			}
	cache_check_all();
}

/* Large requests, too, get back what caches hold before they fail. */
IN_BARE_CHILD(test_pressure)
{
	void *list = NULL;
	void **p;
	unsigned int n = 0;

	kmalloc_ready();
	kmalloc_free(kmalloc_alloc(4096, GFP_KERNEL, -1), NULL);
	no_more_memory();
	while ((p = kmalloc_alloc(4096, GFP_KERNEL | __GFP_NOWARN, -1))) {
		*p = list;
		list = p;
		n++;
	}
	CHILD_CHECK(n > 800);
	CHILD_CHECK(!kmalloc_alloc(1u << 20, GFP_KERNEL, -1));
	while (list) {
		p = list;
		list = *p;
		kmalloc_free(p, NULL);
	}
	CHILD_CHECK(kmalloc_alloc(2u << 20, GFP_KERNEL, -1));
}

/* ---- pointers that are none ---- */

static char somewhere[8192];

static void bad_pointer(void *arg)
{
	char *p;

	kmalloc_ready();
	p = kmalloc_alloc(1u << 20, GFP_KERNEL, -1);
	switch (*(int *)arg) {
	case 0:
		kmalloc_free(somewhere, (void *)0x77);
		break;
	case 1: /* inside of a run */
		kmalloc_free(p + 4096, (void *)0x77);
		break;
	case 2: /* twice */
		kmalloc_free(p, NULL);
		kmalloc_free(p, (void *)0x77);
		break;
	case 3:
		CHILD_CHECK(kmalloc_size(somewhere) == 0);
		break;
	case 4:
		CHILD_CHECK(kmalloc_size(p + 1) == 0);
		break;
	}
}

static void test_bad_pointers(void **state)
{
	(void)state;
	for (int what = 0; what <= 4; what++) {
		struct child c = child_run(bad_pointer, &what);
		char expected[100];

		assert_true(child_passed(&c));
		assert_non_null(
			strstr(c.text, what < 3 ? "uslab: kfree(): 0x" : "uslab: ksize(): 0x"));
		if (what == 0) {
			os_format(expected, sizeof(expected),
				  "uslab: kfree(): 0x%lx was not allocated by uslab",
				  (unsigned long)somewhere);
			assert_non_null(strstr(c.text, expected));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caches),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_roundup),
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_alignment_in_debug_slabs),
		cmocka_unit_test(test_usable),
		cmocka_unit_test(test_free_any),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_bad_pointers),
		cmocka_unit_test(test_slab),
		cmocka_unit_test(test_slab_in_part),
		cmocka_unit_test(test_slob),
		cmocka_unit_test(test_slob_empty),
		cmocka_unit_test(test_slob_array),
		cmocka_unit_test(test_slobseg),
		cmocka_unit_test(test_slobseg_pow2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
