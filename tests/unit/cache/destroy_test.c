/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/destroy_test.c - the last user's leave, and what is said when objects remain (spec 5.5)
 */
#include "cache_fixture.h"

#define CALLER ((const void *)0x1234abcd)

static void destroy(struct cache *c)
{
	cache_destroy(c->handle, CALLER);
}

IN_CHILD(test_everything_goes)
{
	static const char *const fronts[] = { "array", "none", "cpuslab" };
	unsigned long pages;
	size_t used;

	ready();
	pages = pages_out();
	used = meta_counters.used;
	for (unsigned int i = 0; i < 30; i++) {
		struct cache *c = make_front("c", 64 + 8 * i, fronts[i % 3]);
		struct kmem_cache *handle = c->handle;
		void *p[200];

		CHILD_CHECK(handle == percpu_handle(USLAB_ID_FIRST_FREE)); /* time and again */
		CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 200, p) == 200);
		cache_free_bulk(c, 200, p);
		destroy(c);
		CHILD_CHECK(!handle->cache && list_empty(&cache_list));
		CHILD_CHECK(pages_out() == pages && meta_counters.used == used);
		for (int cpu = -2; cpu < (int)os_topology.nr_cpu_ids; cpu++)
			CHILD_CHECK(*percpu_inline_word(percpu_id(handle), cpu) == front_stop_word);
	}
	meta_check();
	buddy_check();
}

IN_CHILD(test_alias)
{
	struct cache *a;
	size_t used;
	void *obj;

	ready();
	used = meta_counters.used;
	a = make("A", 64, 0, 0);
	CHILD_CHECK(make("B", 64, 0, 0) == a);
	obj = get(a);
	destroy(a);
	CHILD_CHECK(a->refcount == 1 && a->handle->cache == a);
	cache_free(a, obj);
	destroy(a);
	CHILD_CHECK(list_empty(&cache_list) && meta_counters.used == used);
}

/* ---- live objects ---- */

struct leak {
	void *obj[3];
	struct cache *cache;
};

/* Three slabs: one with a live object, one with two, one full (which is not listed). */
static struct leak leak_some(const char *front)
{
	struct leak leak = { .cache = make_front("leaky", 64, front) };
	struct cache *c = leak.cache;
	unsigned int per_slab = c->engine.layout->objects;
	static void *p[4096];
	unsigned int n = 3 * per_slab;
	unsigned int i;

	CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, n, p) == n);
	leak.obj[0] = p[3];
	leak.obj[1] = p[per_slab];
	leak.obj[2] = p[2 * per_slab - 1];
	CHILD_CHECK(page_head_of(leak.obj[1]) == page_head_of(leak.obj[2]));
	for (i = 0; i < 2 * per_slab; i++)
		if (p[i] != leak.obj[0] && p[i] != leak.obj[1] && p[i] != leak.obj[2])
			cache_free(c, p[i]);
	return leak;
}

static unsigned long offset_in_slab(const void *obj)
{
	return (unsigned long)((const char *)obj - (const char *)page_address(page_head_of(obj)));
}

static const char *expect_slab(const char *at, void *const *obj, unsigned int n)
{
	char line[200];

	os_format(line, sizeof(line),
		  "uslab: BUG leaky (Not tainted): Objects remaining in leaky on "
		  "__kmem_cache_shutdown()\n");
	CHILD_CHECK(!strncmp(at, line, strlen(line)));
	at += strlen(line);
	for (; n--; obj++) {
		os_format(line, sizeof(line), "uslab: Object %p @offset=%lu\n", *obj,
			  offset_in_slab(*obj));
		CHILD_CHECK(!strncmp(at, line, strlen(line)));
		at += strlen(line);
	}
	return at;
}

/* Its stderr into text, which is what the test compares. */
static void destroy_and_read(struct cache *c, char *text, size_t size)
{
	int pipes[2];
	int saved = dup(STDERR_FILENO);
	ssize_t n;

	CHILD_CHECK(pipe(pipes) == 0);
	dup2(pipes[1], STDERR_FILENO);
	destroy(c);
	dup2(saved, STDERR_FILENO);
	close(pipes[1]);
	n = read(pipes[0], text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	close(pipes[0]);
	close(saved);
}

/* The report word for word: each partial slab with its live objects, then who destroyed. */
static void check_report(const char *front)
{
	struct leak leak = leak_some(front);
	struct cache *c = leak.cache;
	char first[40];
	const char *at;
	char text[4096];

	destroy_and_read(c, text, sizeof(text));
	dprintf(STDERR_FILENO, "%s", text); /* seen if something below fails */
	/* the order of the slabs is that of the partial list */
	os_format(first, sizeof(first), "Object %p", leak.obj[0]);
	at = strstr(text, first);
	CHILD_CHECK(at);
	if (at < strstr(text, "offset")) {
		at = expect_slab(text, leak.obj, 1);
		at = expect_slab(at, leak.obj + 1, 2);
	} else {
		at = expect_slab(text, leak.obj + 1, 2);
		at = expect_slab(at, leak.obj, 1);
	}
	CHILD_CHECK(!strcmp(at,
			    "uslab: kmem_cache_destroy leaky: Slab cache still has objects when "
			    "called from 0x1234abcd\n"));
}

/* The cache stays registered, with no users; its objects stay valid and it can be used. */
static void check_usable(struct cache *c, void *const *obj)
{
	void *more;

	CHILD_CHECK(c->refcount == 0 && c->handle->cache == c && !list_empty(&cache_list));
	cache_check_all();
	for (unsigned int i = 0; i < 3; i++) {
		CHILD_CHECK(cache_of_object(obj[i]) == c);
		memset(obj[i], 0x11, 64);
	}
	more = get(c);
	CHILD_CHECK(more && more != obj[0] && more != obj[1] && more != obj[2]);
	cache_free(c, more);
	for (unsigned int i = 0; i < 3; i++)
		cache_free(c, obj[i]);
	cache_check_all();
	cache_shrink(c);
	CHILD_CHECK(in_use(c) == c->engine.layout->objects); /* the full slab */
}

static void leak_with(const char *front)
{
	struct leak leak;

	ready();
	check_report(front);
	leak = leak_some(front); /* another cache of that name */
	destroy(leak.cache);
	check_usable(leak.cache, leak.obj);
}

IN_CHILD(test_leak_array)
{
	leak_with("array");
}

IN_CHILD(test_leak_none)
{
	leak_with("none");
}

IN_CHILD(test_leak_cpuslab)
{
	leak_with("cpuslab");
}

/* One destroy too many is told apart from everything else. */
static void twice(void *arg)
{
	struct cache *c;
	struct kmem_cache *handle;

	ready();
	c = make("c", 64, 0, 0);
	handle = c->handle;
	if (arg)
		get(c);
	destroy(c);
	cache_destroy(handle, CALLER);
}

static void test_twice(void **state)
{
	struct child c = child_run(twice, NULL);

	assert_true(child_aborted(&c));
	assert_non_null(strstr(c.text, "cache/destroy.c"));
	c = child_run(twice, state); /* with an object left */
	assert_true(child_aborted(&c));
	assert_non_null(strstr(c.text, "cache/destroy.c"));
}

int main(void)
{
	static int something;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_goes),
		cmocka_unit_test(test_alias),
		cmocka_unit_test(test_leak_array),
		cmocka_unit_test(test_leak_none),
		cmocka_unit_test(test_leak_cpuslab),
		cmocka_unit_test_prestate(test_twice, &something),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
