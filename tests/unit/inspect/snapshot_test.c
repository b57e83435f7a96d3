/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/snapshot_test.c - identity of caches, versions, errors, and processes that lie
 */

#include "fake_snapshot.h"

static int setup(void **state)
{
	fake_setup(state);
	memset(s, 0xa5, sizeof(*s)); /* a snapshot needs no preparation */
	return 0;
}

static int take(void)
{
	return snapshot_take(s, &f.reader, FAKE_ROOT);
}

static void test_identity(void **state)
{
	struct cache *cache = fake_cache(&f, 200, "dentry", 192, 8);
	const struct snapshot_cache *c;

	(void)state;
	cache->flags = SLAB_RECLAIM_ACCOUNT | SLAB_ACCOUNT;
	cache->engine.ctor = (void *)0x1234;
	fake_cache(&f, 201, "plain", 64, 0);
	fake_cache(&f, 131, "kmalloc-8", 8, 31);
	assert_int_equal(take(), 0);
	assert_int_equal(s->nr_caches, 3 + SNAPSHOT_EXTRA_ROWS);
	c = fake_result(s, 200);
	assert_string_equal(c->name, "dentry");
	assert_string_equal(c->unique_id, ""); /* has a constructor */
	assert_string_equal(c->engine, "slub");
	assert_string_equal(c->front, "array");
	assert_true(c->ctor);
	assert_int_equal(c->object_size, 192);
	assert_int_equal(c->slab_size, 192);
	assert_int_equal(c->align, 8);
	assert_int_equal(c->objs_per_slab, 21);
	assert_int_equal(c->capacity, 8);
	assert_int_equal(c->min_partial, 5);
	assert_int_equal(c->cpu_partial, 120);
	assert_int_equal(c->flags, SLAB_RECLAIM_ACCOUNT | SLAB_ACCOUNT);
	c = fake_result(s, 201);
	assert_string_equal(c->unique_id, ":0000064");
	assert_string_equal(c->front, "cpuslab");
	/* numbers of kmalloc and malloc are never shared */
	assert_string_equal(fake_result(s, 131)->unique_id, "");
}

static void test_totals(void **state)
{
	(void)state;
	assert_int_equal(take(), 0);
	assert_string_equal(s->totals.version_text, "9.8.7");
	assert_true(s->totals.rseq);
	assert_int_equal(s->totals.cpus, FAKE_CPUS);
	assert_int_equal(s->totals.nodes, 2);
	assert_int_equal(s->totals.arena_base, FAKE_ARENA);
	assert_int_equal(s->totals.arena_end, FAKE_ARENA + FAKE_NR_PAGES * PAGE_SIZE);
	assert_int_equal(s->totals.arena_bytes, FAKE_NR_PAGES * PAGE_SIZE);
	assert_int_equal(s->totals.arena_limit, PAGE_SIZE << 20);
	assert_int_equal(s->totals.meta_bytes, 262144);
	assert_int_equal(s->totals.mapped, 3);
	assert_int_equal(s->totals.inconsistent, 0);
}

static void test_aliases(void **state)
{
	struct cache *cache = fake_cache(&f, 192, "first", 64, 8);
	struct cache_alias *alias = fake_at(&f, FAKE_CACHES + 0x80000);
	const struct snapshot_cache *c;

	(void)state;
	cache->refcount = 3;
	cache->aliases = (void *)(FAKE_CACHES + 0x80000);
	alias[0].next = (void *)(FAKE_CACHES + 0x80000 + sizeof(*alias));
	strcpy(alias[0].name, "third");
	strcpy(alias[1].name, "second");
	assert_int_equal(take(), 0);
	c = fake_result(s, 192);
	assert_int_equal(c->nr_aliases, 2);
	assert_string_equal(s->alias[c->first_alias], "third");
	assert_string_equal(s->alias[c->first_alias + 1], "second");

	/* a list that loops, with a reference count to match */
	alias[1].next = cache->aliases;
	cache->refcount = 0x7fffffff;
	assert_int_equal(take(), 0);
	assert_int_equal(s->nr_aliases, SNAPSHOT_MAX_ALIASES);
	/* one that leads nowhere */
	alias[1].next = (void *)0x1000;
	assert_int_equal(take(), 0);
	assert_int_equal(fake_result(s, 192)->nr_aliases, 2);
	assert_int_equal(s->totals.inconsistent, 1);
}

static void test_names(void **state)
{
	struct cache *cache = fake_cache(&f, 192, "a", 64, 8);

	(void)state;
	memset(cache->name, 'x', sizeof(cache->name)); /* no NUL */
	memcpy(cache->name, "a\033[2J\n\x7f\xa9", 8);
	fake_text(&f, FAKE_GLOBALS + FAKE_NAMES + 16, "an engine with a long name");
	assert_int_equal(take(), 0);
	assert_int_equal(strlen(fake_result(s, 192)->name), SNAPSHOT_NAME_MAX - 1);
	assert_memory_equal(fake_result(s, 192)->name, "a?[2J???xxx", 11);
	assert_string_equal(fake_result(s, 192)->front, "an engine with ");
}

static void test_versions(void **state)
{
	struct uslab_root *root = fake_root(&f);

	(void)state;
	root->version = USLAB_ROOT_VERSION + 1;
	assert_int_equal(take(), -EPROTONOSUPPORT);
	assert_int_equal(s->root.version, USLAB_ROOT_VERSION + 1);
	assert_string_equal(s->root.version_text, "9.8.7");
	root->version = USLAB_ROOT_VERSION;
	root->cache_size++;
	assert_int_equal(take(), -EPROTONOSUPPORT);
	root->cache_size--;
	root->debug_size++;
	assert_int_equal(take(), -EPROTONOSUPPORT);
	root->debug_size--;
	root->control_size--;
	assert_int_equal(take(), -EPROTONOSUPPORT);
	root->control_size++;
	root->ready = 0;
	assert_int_equal(take(), -EAGAIN);
	root->magic++;
	assert_int_equal(take(), -EPROTO);
	assert_int_equal(snapshot_take(s, &f.reader, 0x13), -EFAULT);
}

/* Its library was loaded and never used. */
static void test_empty(void **state)
{
	(void)state;
	*fake_page_map(&f) = (struct page_map){ .base = (char *)1 };
	assert_int_equal(take(), 0);
	assert_int_equal(s->totals.arena_base, 0);
	assert_int_equal(s->totals.inconsistent, 0);
	assert_int_equal(s->nr_caches, SNAPSHOT_EXTRA_ROWS);
}

/* Death at each step of the way is an error, and the end of the reading. */
static void test_death(void **state)
{
	unsigned long all;

	(void)state;
	for (unsigned int id = 192; id < 200; id++)
		fake_cache(&f, id, "c", 64, id % 2 ? 8 : 0);
	fake_slab(&f, 0, 192, 64, 64, true);
	assert_int_equal(take(), 0);
	all = f.reads;
	for (unsigned long n = 1; n < all; n++) {
		f.reads = 0;
		f.dies_after = n;
		assert_int_equal(take(), -ESRCH);
		assert_int_equal(f.reads, n + 1);
	}
	f.reads = 0;
	f.dies_after = all;
	assert_int_equal(take(), 0);
}

static void test_wild_page_maps(void **state)
{
	const struct page_map good = *fake_page_map(&f);
	struct page_map wild[6];

	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	for (size_t i = 0; i < ARRAY_SIZE(wild); i++)
		wild[i] = good;
	wild[0].base += 4096;
	wild[1].nr_pages = good.limit + 1;
	wild[2].limit = wild[2].nr_pages = ~0ul;
	wild[3].pages = (struct page *)((char *)good.pages + 8);
	wild[4].base = NULL; /* windows are not where they ought to be */
	wild[5].pages = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(wild); i++) {
		*fake_page_map(&f) = wild[i];
		f.reads = 0;
		assert_int_equal(take(), 0);
		assert_true(s->totals.inconsistent > 0);
		assert_int_equal(s->totals.slab_bytes, 0);
		assert_int_equal(s->totals.arena_base != 0, i >= 4 && wild[i].base);
		assert_true(f.reads < 10000);
	}
}

static void test_wild_caches(void **state)
{
	struct cache *cache = fake_cache(&f, 192, "a", 64, 8);

	(void)state;
	*fake_word(&f, 193, -3, 0) = 0xdeadbeef;	       /* no memory */
	*fake_word(&f, 194, -3, 0) = fake_cache_addr(&f, 192); /* one cache twice */
	*fake_word(&f, 195, -3, 0) = FAKE_CACHES + 0x90000;    /* all zero */
	assert_int_equal(take(), 0);
	assert_int_equal(s->nr_caches, 1 + SNAPSHOT_EXTRA_ROWS);
	assert_int_equal(s->totals.inconsistent, 3);

	cache->refcount = -1;
	assert_int_equal(take(), 0);
	assert_null(fake_result(s, 192));
	cache->refcount = 1;
	cache->front.capacity = 32;
	assert_int_equal(take(), 0);
	assert_null(fake_result(s, 192));
	cache->front.capacity = 8;
	cache->front.id = 5000;
	assert_int_equal(take(), 0);
	assert_null(fake_result(s, 192));
	cache->front.id = 192;
	cache->handle++;
	assert_int_equal(take(), 0);
	assert_null(fake_result(s, 192));
	cache->handle--;
	assert_int_equal(take(), 0);
	assert_non_null(fake_result(s, 192));
}

/* Parts that lead nowhere leave the rest of the cache as it is. */
static void test_wild_parts(void **state)
{
	struct cache *cache = fake_cache(&f, 192, "a", 64, 8);
	const struct snapshot_cache *c;

	(void)state;
	fake_slab(&f, 0, 192, 64, 5, false);
	cache->engine.ops = (void *)0x13;
	cache->engine.state = (void *)0x13;
	cache->engine.layout = (void *)0x13;
	cache->front.ops = NULL;
	cache->front.depot = (void *)~0ul;
	assert_int_equal(take(), 0);
	c = fake_result(s, 192);
	assert_string_equal(c->name, "a");
	assert_string_equal(c->engine, "");
	assert_string_equal(c->front, "");
	assert_int_equal(c->objects, 5);
	assert_true(s->totals.inconsistent >= 4);
}

/* Every handle points somewhere else, all of it the same nonsense. */
static void test_full_table(void **state)
{
	(void)state;
	for (unsigned int id = 1; id < USLAB_NR_HANDLES; id++)
		*fake_word(&f, id, -3, 0) = FAKE_CACHES + id * 8;
	assert_int_equal(take(), 0);
	assert_int_equal(s->nr_caches, SNAPSHOT_EXTRA_ROWS);
	assert_int_equal(s->totals.inconsistent, USLAB_NR_HANDLES - 1);
}

static void test_large_names(void **state)
{
	(void)state;
	fake_text(&f, FAKE_GLOBALS + FAKE_LARGE_NAME, "kmalloc-large");
	assert_int_equal(take(), 0);
	assert_string_equal(s->cache[1].name, "kmalloc-large");
	assert_string_equal(s->cache[2].name, "kmalloc-mapped");
	fake_text(&f, FAKE_GLOBALS + FAKE_LARGE_NAME, "odd");
	assert_int_equal(take(), 0);
	assert_string_equal(s->cache[1].name, "pages-large");
	assert_string_equal(s->cache[2].name, "pages-mapped");
	fake_root(&f)->large_name = 0x13;
	assert_int_equal(take(), 0);
	assert_string_equal(s->cache[1].name, "pages-large");
}

/* What random bytes everywhere lead to: an end. */
static void test_noise(void **state)
{
	uint64_t x = 88172645463325252ull;

	(void)state;
	for (unsigned int id = 192; id < 212; id++)
		fake_cache(&f, id, "c", 64, id % 2 ? 8 : 0);
	for (unsigned long i = 0; i < FAKE_NR_PAGES; i++)
		fake_slab(&f, i, 192 + i % 20, 64, i % 65, i % 3 == 0);
	for (int round = 0; round < 200; round++) {
		for (int change = 0; change < 50; change++) {
			const struct fake_region *r;

			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			/* all but root, so that the reading begins */
			r = &f.region[1 + (x >> 8) % (f.nr_regions - 1)];
			r->bytes[(x >> 16) % r->size] = (char)x;
			/* where it hurts most */
			*(char *)fake_at(&f, FAKE_CACHES + (x >> 20) % 0x14000) ^= (char)x;
		}
		f.reads = 0;
		f.bytes_read = 0;
		assert_int_equal(take(), 0);
		assert_true(f.reads < 200000);
		assert_true(s->nr_caches <= SNAPSHOT_MAX_CACHES);
		assert_true(s->nr_aliases <= SNAPSHOT_MAX_ALIASES);
		for (unsigned int i = 0; i < s->nr_caches; i++) {
			const struct snapshot_cache *c = &s->cache[i];

			assert_true(strlen(c->name) < SNAPSHOT_NAME_MAX);
			assert_true(c->first_alias + c->nr_aliases <= s->nr_aliases);
			assert_true(c->partial + c->cpu_slabs <= c->slabs);
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_identity),   TEST(test_totals),	  TEST(test_aliases),
		TEST(test_names),      TEST(test_versions),	  TEST(test_empty),
		TEST(test_death),      TEST(test_wild_page_maps), TEST(test_wild_caches),
		TEST(test_wild_parts), TEST(test_full_table),	  TEST(test_large_names),
		TEST(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
