/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/create_test.c - what may be created, what comes of it, and that failures leave nothing
 */
#include "cache_fixture.h"

static int try(const struct cache_spec *spec)
{
	struct kmem_cache *s = NULL;
	int ret = cache_create(spec, &s);

	CHILD_CHECK(!ret == !!s);
	return ret;
}

/* Spec 5.1: the permitted flags, one by one; any other bit is -EINVAL. */
IN_CHILD(test_flags)
{
	const slab_flags_t permitted =
		SLAB_HWCACHE_ALIGN | SLAB_CACHE_DMA | SLAB_CACHE_DMA32 | SLAB_PANIC |
		SLAB_TYPESAFE_BY_RCU | SLAB_DEBUG_OBJECTS | SLAB_RED_ZONE | SLAB_POISON |
		SLAB_STORE_USER | SLAB_TRACE | SLAB_CONSISTENCY_CHECKS | SLAB_MEM_SPREAD |
		SLAB_NOLEAKTRACE | SLAB_NO_MERGE | SLAB_RECLAIM_ACCOUNT | SLAB_ACCOUNT |
		SLAB_NO_USER_FLAGS | SLAB_NO_OBJ_EXT | USLAB_ACCOUNT_INLINE; /* ours */

	ready();
	for (unsigned int bit = 0; bit < 32; bit++) {
		slab_flags_t flag = 1u << bit;
		struct cache_spec spec = { .name = "flag", .size = 100, .flags = flag };

		if (flag == SLAB_KMALLOC) /* internal: only api/ refuses it */
			continue;
		CHILD_CHECK(try(&spec) == (flag & permitted ? 0 : -EINVAL));
	}
	cache_check_all();
}

IN_CHILD(test_bad_specs)
{
	static const struct cache_spec bad[] = {
		{ .name = NULL, .size = 8 },
		{ .name = "no size", .size = 0 },
		{ .name = "too large", .size = KMALLOC_MAX_SIZE + 1 },
		{ .name = "align 3", .size = 8, .align = 3 },
		{ .name = "align 48", .size = 8, .align = 48 },
		{ .name = "align 8192", .size = 8, .align = 8192 },
		{ .name = "capacity", .size = 8, .capacity = USLAB_SHEAF_CAPACITY + 1 },
		{ .name = "id", .size = 8, .id = USLAB_ID_FIRST_FREE },
	};
	size_t used;

	ready();
	used = meta_counters.used;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHILD_CHECK(try(&bad[i]) == -EINVAL);
	/* no slab order holds an object and the free pointer behind it */
	CHILD_CHECK(try(&(struct cache_spec){ .name = "rcu",
					      .size = KMALLOC_MAX_SIZE,
					      .flags = SLAB_TYPESAFE_BY_RCU }) == -E2BIG);
	CHILD_CHECK(meta_counters.used == used && list_empty(&cache_list));
	CHILD_CHECK(percpu_handle(USLAB_ID_FIRST_FREE)->cache == NULL);
}

IN_CHILD(test_sizes)
{
	static const unsigned int sizes[] = {
		1, 7, 8, 9, 63, 64, 4095, 4096, 4097, 100000, KMALLOC_MAX_SIZE
	};

	ready();
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct cache_spec spec = { .name = "size", .size = sizes[i], .no_merge = true };
		struct cache *c = made(&spec);
		char *obj = get(c);

		CHILD_CHECK(c->engine.object_size == sizes[i]);
		CHILD_CHECK(c->engine.size >= sizes[i] && c->engine.size % 8 == 0);
		CHILD_CHECK(obj && ((uintptr_t)obj & 7) == 0);
		obj[0] = 1;
		obj[sizes[i] - 1] = 1;
		cache_free(c, obj);
		cache_destroy(c->handle, NULL);
	}
	cache_check_all();
}

/* Spec vector 17, first half: every pointer satisfies the cache's alignment. */
IN_CHILD(test_aligns)
{
	ready();
	for (unsigned int align = 1; align <= PAGE_SIZE; align *= 2)
		for (unsigned int size = 1; size <= 5000; size = size * 3 + 1) {
			struct cache_spec spec = {
				.name = "align", .size = size, .align = align, .no_merge = true
			};
			struct cache *c = made(&spec);
			void *p[12];

			CHILD_CHECK(c->engine.align == MAX(align, 8u));
			CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 12, p) == 12);
			for (unsigned int i = 0; i < 12; i++)
				CHILD_CHECK(((uintptr_t)p[i] & (MAX(align, 8u) - 1)) == 0);
			cache_free_bulk(c, 12, p);
			cache_destroy(c->handle, NULL);
		}
}

IN_CHILD(test_what_is_set)
{
	char text[100];
	struct cache *c;
	struct cache *d;

	ready();
	memset(text, 'n', sizeof(text));
	text[CACHE_NAME_MAX] = '\0';
	CHILD_CHECK(try(&(struct cache_spec){ .name = text, .size = 40 }) == -ENAMETOOLONG);
	text[CACHE_NAME_MAX - 1] = '\0';
	c = make(text, 40, 0, SLAB_ACCOUNT);
	text[0] = 'x'; /* the name was copied */
	CHILD_CHECK(strlen(c->name) == CACHE_NAME_MAX - 1 && c->name[0] == 'n');
	CHILD_CHECK(c->engine.name == c->name);
	CHILD_CHECK(c->flags == SLAB_ACCOUNT && c->engine.flags == SLAB_ACCOUNT);
	CHILD_CHECK(c->refcount == 1 && c->usersize == 0 && !c->aliases);
	CHILD_CHECK(c->front.id == USLAB_ID_FIRST_FREE && c->engine.id == USLAB_ID_FIRST_FREE);
	CHILD_CHECK(c->handle == percpu_handle(USLAB_ID_FIRST_FREE) && c->handle->cache == c);
	CHILD_CHECK(c->engine.page_class == 0);
	CHILD_CHECK(c->front.ops == &front_array_ops && c->engine.ops == &slub_ops);
	CHILD_CHECK(c->front.engine == &c->engine);
	CHILD_CHECK(c->front.capacity == 31);
	/* newest first */
	d = make("other", 48, 0, 0);
	CHILD_CHECK(d->front.id == USLAB_ID_FIRST_FREE + 1);
	CHILD_CHECK(list_first(&cache_list, struct cache, list) == d);
	CHILD_CHECK(list_last(&cache_list, struct cache, list) == c);
}

IN_CHILD(test_choices)
{
	struct cache *c;

	ready();
	c = made(&(struct cache_spec){ .name = "c",
				       .size = 64,
				       .engine = &slub_ops,
				       .capacity = 3,
				       .front = &front_array_ops });
	CHILD_CHECK(c->front.capacity == 3 && c->front.ops == &front_array_ops);
	c = make_front("n", 64, "none");
	CHILD_CHECK(c->front.ops == &front_none_ops);
	c = make_front("s", 64, "cpuslab");
	CHILD_CHECK(c->front.ops == &front_cpuslab_ops);
	c = made(&(struct cache_spec){ .name = "id", .size = 64, .id = 7, .no_merge = true });
	CHILD_CHECK(c->front.id == 7 && c->engine.page_class == 7);
	CHILD_CHECK(try(&(struct cache_spec){
			    .name = "id", .size = 64, .id = 7, .no_merge = true }) == -EEXIST);
	cache_check_all();
}

/* All numbers there are. Pages of caches of programs have no class. */
IN_CHILD(test_numbers)
{
	static struct cache *c[USLAB_NR_HANDLES];
	unsigned int room = USLAB_MAX_CACHES;
	struct cache_spec spec = { .name = "many", .size = 24, .no_merge = true };
	size_t used;
	void *obj;

	ready();
	used = meta_counters.used;
	for (unsigned int i = 0; i < room; i++) {
		c[i] = made(&spec);
		CHILD_CHECK(c[i]->front.id == USLAB_ID_FIRST_FREE + i);
		CHILD_CHECK(c[i]->engine.page_class == 0);
	}
	CHILD_CHECK(try(&spec) == -ENOSPC);
	obj = get(c[room - 1]);
	CHILD_CHECK(cache_of_object(obj) == c[room - 1]);
	CHILD_CHECK(page_map.class[page_index(obj)] == 0);
	cache_free(c[room - 1], obj);
	obj = get(c[0]);
	CHILD_CHECK(page_map.class[page_index(obj)] == 0);
	cache_free(c[0], obj);
	cache_check_all();
	/* the lowest free number is the next one */
	cache_destroy(c[100]->handle, NULL);
	cache_destroy(c[50]->handle, NULL);
	c[50] = made(&spec);
	CHILD_CHECK(c[50]->front.id == USLAB_ID_FIRST_FREE + 50);
	c[100] = made(&spec);
	for (unsigned int i = 0; i < room; i++)
		cache_destroy(c[i]->handle, NULL);
	CHILD_CHECK(meta_counters.used == used && list_empty(&cache_list));
}

/* ---- aliases ---- */

IN_CHILD(test_alias)
{
	struct cache *a;

	ready();
	a = make("A", 60, 0, 0);
	CHILD_CHECK(make("B", 64, 0, 0) == a && make("C", 57, 0, 0) == a);
	CHILD_CHECK(a->refcount == 3 && a->engine.object_size == 64);
	CHILD_CHECK(!strcmp(a->name, "A"));
	CHILD_CHECK(!strcmp(a->aliases->name, "C") && !strcmp(a->aliases->next->name, "B"));
	CHILD_CHECK(!a->aliases->next->next);
	cache_check_all();
}

/* A program that creates and destroys under the same names for ever must not grow. */
IN_CHILD(test_alias_again)
{
	struct cache *a;
	size_t used;

	ready();
	a = make("A", 64, 0, 0);
	make("B", 64, 0, 0);
	used = meta_counters.used;
	for (unsigned int i = 0; i < 1000; i++) {
		CHILD_CHECK(make(i & 1 ? "A" : "B", 64, 0, 0) == a);
		cache_destroy(a->handle, NULL);
	}
	CHILD_CHECK(meta_counters.used == used && a->refcount == 2);
	CHILD_CHECK(!strcmp(a->aliases->name, "B") && !a->aliases->next);
}

/* ---- failure half-way ---- */

static int front_says;

static int stubborn_init(struct front *f, unsigned int capacity)
{
	(void)f;
	(void)capacity;
	return front_says;
}

IN_CHILD(test_front_fails)
{
	struct front_ops stubborn = front_none_ops;
	struct cache_spec spec = { .name = "stubborn", .size = 64, .front = &stubborn };
	size_t used;

	ready();
	stubborn.init = stubborn_init;
	used = meta_counters.used;
	front_says = -ENOMEM;
	CHILD_CHECK(try(&spec) == -ENOMEM);
	front_says = -EINVAL;
	CHILD_CHECK(try(&spec) == -EINVAL);
	CHILD_CHECK(meta_counters.used == used && list_empty(&cache_list));
	spec.front = NULL;
	CHILD_CHECK(made(&spec)->front.id == USLAB_ID_FIRST_FREE);
}

/* Blocks that are kept back, to be given one at a time. */
#define HOARD 16

static const size_t hoard_size[] = { 64, 128, 256, 512, 1024 };

/* However far the memory reaches, a failure undoes what was done until then. */
IN_BARE_CHILD(test_no_memory)
{
	struct cache_spec spec = { .name = "later", .size = 64, .no_merge = true };
	void *hoard[HOARD];
	unsigned int failed = 0;
	struct cache *a;

	ready();
	a = make("A", 32, 0, 0);
	for (unsigned int i = 0; i < HOARD; i++)
		hoard[i] = meta_alloc(hoard_size[i % ARRAY_SIZE(hoard_size)]);
	no_more_memory();
	for (size_t size = 65536; size >= 16; size /= 2)
		while (meta_alloc(size)) {}
	CHILD_CHECK(try(&(struct cache_spec){ .name = "alias", .size = 32 }) == -ENOMEM);
	CHILD_CHECK(a->refcount == 1);
	for (;;) {
		size_t used = meta_counters.used;
		int ret = try(&spec);

		if (!ret)
			break;
		CHILD_CHECK(ret == -ENOMEM && meta_counters.used == used && failed < HOARD);
		cache_check_all();
		meta_free(hoard[failed], hoard_size[failed % ARRAY_SIZE(hoard_size)]);
		failed++;
	}
	CHILD_CHECK(failed > 2);
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags),	    cmocka_unit_test(test_bad_specs),
		cmocka_unit_test(test_sizes),	    cmocka_unit_test(test_aligns),
		cmocka_unit_test(test_what_is_set), cmocka_unit_test(test_choices),
		cmocka_unit_test(test_numbers),	    cmocka_unit_test(test_alias),
		cmocka_unit_test(test_alias_again), cmocka_unit_test(test_front_fails),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
