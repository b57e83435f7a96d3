/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/merge_test.c - alignments, who merges with whom (spec 5.3, 5.4, vector 6)
 */
#include "cache_fixture.h"
#include "cache/internal.h"

static void a_ctor(void *obj)
{
	(void)obj;
}

static void other_ctor(void *obj)
{
	(void)obj;
}

/* Spec 5.3. */
static void test_alignment(void **state)
{
	static const struct {
		slab_flags_t flags;
		unsigned int align;
		unsigned int size;
		unsigned int expected;
	} v[] = {
		{ SLAB_HWCACHE_ALIGN, 0, 20, 32 },
		{ SLAB_HWCACHE_ALIGN, 0, 16, 16 },
		{ SLAB_HWCACHE_ALIGN, 0, 8, 8 },
		{ SLAB_HWCACHE_ALIGN, 0, 1, 8 },
		{ SLAB_HWCACHE_ALIGN, 0, 17, 32 },
		{ SLAB_HWCACHE_ALIGN, 0, 32, 32 },
		{ SLAB_HWCACHE_ALIGN, 0, 33, 64 },
		{ SLAB_HWCACHE_ALIGN, 0, 64, 64 },
		{ SLAB_HWCACHE_ALIGN, 0, 5000, 64 },
		{ SLAB_HWCACHE_ALIGN, 128, 20, 128 },
		{ SLAB_HWCACHE_ALIGN, 16, 20, 32 },
		{ 0, 0, 20, 8 },
		{ 0, 1, 20, 8 },
		{ 0, 4, 20, 8 },
		{ 0, 16, 20, 16 },
		{ 0, 4096, 20, 4096 },
		{ SLAB_RECLAIM_ACCOUNT, 0, 64, 8 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		assert_int_equal(cache_calculate_alignment(v[i].flags, v[i].align, v[i].size),
				 v[i].expected);
}

/* Spec vector 6, A to G. */
IN_CHILD(test_vector_6)
{
	char id[32];
	struct cache *a;
	char *obj;

	ready();
	stay_here();
	a = make("A", 60, 0, 0);
	CHILD_CHECK(a->engine.size == 64 && a->engine.object_size == 60);
	cache_unique_id(a, id);
	CHILD_CHECK(!strcmp(id, ":0000064"));
	CHILD_CHECK(make("B", 64, 0, SLAB_HWCACHE_ALIGN) == a);
	CHILD_CHECK(a->engine.object_size == 64);
	/* clearing covers the largest user */
	obj = get(a);
	memset(obj, 0xff, 64);
	cache_free(a, obj);
	CHILD_CHECK(cache_alloc(a, GFP_KERNEL | __GFP_ZERO, NUMA_NO_NODE) == obj);
	for (unsigned int i = 0; i < 64; i++)
		CHILD_CHECK(obj[i] == 0);

	CHILD_CHECK(make("C", 57, 0, 0) == a);
	CHILD_CHECK(make("D", 56, 0, 0) != a);
	CHILD_CHECK(make("E", 64, 0, SLAB_RECLAIM_ACCOUNT) != a);
	CHILD_CHECK(made(&(struct cache_spec){ .name = "F", .size = 64, .ctor = a_ctor }) != a);
	CHILD_CHECK(make("G", 64, 0, SLAB_TYPESAFE_BY_RCU) != a);
	CHILD_CHECK(a->refcount == 3 && a->engine.object_size == 64);
	cache_check_all();
}

/* One flag of NEVER_MERGE on either side is enough; consistency checks (F) alone are not. */
IN_CHILD(test_never_merge)
{
	static const slab_flags_t never[] = {
		SLAB_RED_ZONE,	      SLAB_POISON,	SLAB_STORE_USER, SLAB_TRACE,
		SLAB_TYPESAFE_BY_RCU, SLAB_NOLEAKTRACE, SLAB_NO_MERGE,
	};
	struct cache *plain;

	ready();
	plain = make("plain", 64, 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		struct cache *c = make("never", 64, 0, never[i]);

		CHILD_CHECK(c != plain && !cache_is_mergeable(c));
		CHILD_CHECK(make("never", 64, 0, never[i]) != c);
	}
	CHILD_CHECK(make("F", 64, 0, SLAB_CONSISTENCY_CHECKS) == plain);
	CHILD_CHECK(make("P", 64, 0, SLAB_PANIC) == plain);
	CHILD_CHECK(make("N", 64, 0, SLAB_NO_USER_FLAGS) == plain);
	CHILD_CHECK(cache_is_mergeable(plain));
}

/* Flags of SAME must agree; the others need not. */
IN_CHILD(test_same_flags)
{
	static const slab_flags_t same[] = { 0,
					     SLAB_RECLAIM_ACCOUNT,
					     SLAB_CACHE_DMA,
					     SLAB_CACHE_DMA32,
					     SLAB_ACCOUNT,
					     SLAB_ACCOUNT | SLAB_RECLAIM_ACCOUNT };
	struct cache *c[ARRAY_SIZE(same)];

	ready();
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		c[i] = make("first", 64, 0, same[i]);
		for (size_t j = 0; j < i; j++)
			CHILD_CHECK(c[i] != c[j]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		CHILD_CHECK(make("second", 64, 0, same[i] | SLAB_HWCACHE_ALIGN | SLAB_PANIC) ==
			    c[i]);
}

/* Constructors, kmalloc's size region, and whoever does not want to. */
IN_CHILD(test_not_merged)
{
	struct cache_spec ctor = { .name = "ctor", .size = 64, .ctor = a_ctor };
	struct cache_spec kmalloc = {
		.name = "kmalloc-64", .size = 64, .flags = SLAB_KMALLOC, .no_merge = true
	};
	struct cache *first;

	ready();
	first = made(&ctor);
	CHILD_CHECK(made(&ctor) != first);
	ctor.ctor = other_ctor;
	CHILD_CHECK(made(&ctor) != first);
	made(&kmalloc);
	CHILD_CHECK(list_first(&cache_list, struct cache, list)->usersize == 64);
	first = make("plain", 64, 0, 0);
	CHILD_CHECK(first->engine.ctor == NULL && first->usersize == 0);
	CHILD_CHECK(made(&(struct cache_spec){ .name = "alone", .size = 64, .no_merge = true }) !=
		    first);
	CHILD_CHECK(made(&(struct cache_spec){ .name = "user", .size = 64, .usersize = 8 }) !=
		    first);
	CHILD_CHECK(make("plain", 64, 0, 0) == first);
}

/* Size and alignment: strides less than a word apart, and a multiple of what was asked. */
IN_CHILD(test_sizes)
{
	struct cache *c;
	struct cache *d;

	ready();
	c = make("96", 96, 0, 0);
	CHILD_CHECK(make("89", 89, 0, 0) == c);
	CHILD_CHECK(make("88", 88, 0, 0) != c);
	CHILD_CHECK(make("97", 97, 0, 0) != c);
	CHILD_CHECK(make("96-32", 96, 32, 0) ==
		    c); /* 96 is a multiple of 32: SLUB looks no further */
	CHILD_CHECK(make("90-16", 90, 16, 0) == c);
	CHILD_CHECK(make("96-64", 96, 64, 0) != c);
	CHILD_CHECK(c->engine.object_size == 96);
	d = make("65-128", 65, 128, 0);
	CHILD_CHECK(d->engine.size == 128);
	CHILD_CHECK(make("128", 128, 0, 0) == d && d->engine.object_size == 128);
	CHILD_CHECK(make("120-HW", 120, 0, SLAB_HWCACHE_ALIGN) == d);
	CHILD_CHECK(make("120", 120, 0, 0) != d);
}

/* The oldest of those that fit. */
IN_CHILD(test_oldest)
{
	struct cache *first;
	struct cache_spec alone = { .name = "alone", .size = 64, .no_merge = true };

	ready();
	first = made(&alone); /* merges with nobody, but others may merge with it */
	made(&alone);
	CHILD_CHECK(make("new", 64, 0, 0) == first);
}

/* Beyond the kernel: engine, front and capacity must be what both asked for. */
IN_CHILD(test_choices)
{
	struct cache_spec three = { .name = "three", .size = 64, .capacity = 3 };
	struct cache_spec none = { .name = "none", .size = 64, .front = &front_none_ops };
	struct cache_spec none3 = {
		.name = "none3", .size = 64, .front = &front_none_ops, .capacity = 3
	};
	struct cache *a;
	struct cache *b;

	ready();
	a = made(&three);
	CHILD_CHECK(make("default", 64, 0, 0) != a);
	CHILD_CHECK(made(&three) == a);
	b = made(&none);
	CHILD_CHECK(b != a && b->front.ops == &front_none_ops);
	CHILD_CHECK(made(&none) == b);
	CHILD_CHECK(made(&none3) != b);
	CHILD_CHECK(make("default", 64, 0, 0)->front.ops == &front_array_ops);
}

static void switched_off(const char *conf)
{
	struct cache *a;

	setenv("USLAB_CONF", conf, 1);
	ready();
	a = make("A", 64, 0, 0);
	CHILD_CHECK(make("B", 64, 0, 0) != a);
	CHILD_CHECK(a->refcount == 1);
}

IN_CHILD(test_nomerge)
{
	switched_off("slab_nomerge");
}

IN_CHILD(test_nomerge_old_name)
{
	switched_off("slab_merge,slub_nomerge=1");
}

IN_CHILD(test_merge_again)
{
	struct cache *a;

	setenv("USLAB_CONF", "slab_nomerge,slab_merge", 1);
	ready();
	a = make("A", 64, 0, 0);
	CHILD_CHECK(make("B", 64, 0, 0) == a);
}

/* Spec 5.4, of SLAB only: its colours keep no more alignment than the first user asked for. */
IN_CHILD(test_slab_keeps_alignment)
{
	struct cache *a;
	struct cache *b;

	setenv("USLAB_CONF", "engine=slab", 1);
	ready();
	a = make("A", 384, 8, 0);
	b = make("B", 384, 128, 0);
	CHILD_CHECK(b != a && b->engine.size == 384);
	for (unsigned int i = 0; i < 100; i++)
		CHILD_CHECK((uintptr_t)get(b) % 128 == 0);
	CHILD_CHECK(make("C", 384, 64, 0) == b && make("D", 384, 8, 0) == a);
	a = make("E", 64, 0, 0);
	CHILD_CHECK(make("F", 64, 0, SLAB_HWCACHE_ALIGN) != a);
	/* of SLUB's caches the stride says it all */
	CHILD_CHECK(made(&(struct cache_spec){ .name = "G", .size = 384, .engine = &slub_ops }) ==
		    made(&(struct cache_spec){
			    .name = "H", .size = 384, .align = 128, .engine = &slub_ops }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_vector_6),
		cmocka_unit_test(test_never_merge),
		cmocka_unit_test(test_same_flags),
		cmocka_unit_test(test_not_merged),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_oldest),
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_slab_keeps_alignment),
		cmocka_unit_test(test_nomerge),
		cmocka_unit_test(test_nomerge_old_name),
		cmocka_unit_test(test_merge_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
