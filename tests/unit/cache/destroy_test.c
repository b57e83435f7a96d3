/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/destroy_test.c - the last user's leave, and what is said when
 * objects remain (spec 5.5)
 */
#include "cache_fixture.h"
#include "debug/report/report.h"
#include "page/pcp.h"

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
	CHILD_CHECK(pcp_init()); /* of the first cache with the front cpuslab, and for good */
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

/* What was refused while there were objects goes when they are back. */
IN_CHILD(test_again)
{
	struct cache *c;
	size_t used;
	void *obj;

	ready();
	used = meta_counters.used;
	c = make("again", 64, 0, 0);
	obj = get(c);
	for (int i = 0; i < 2; i++) {
		destroy(c);
		CHILD_CHECK(c->handle->cache == c && !c->refcount);
	}
	cache_free(c, obj);
	destroy(c);
	CHILD_CHECK(list_empty(&cache_list) && meta_counters.used == used);
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

static const char *expect_line(const char *at, const char *line)
{
	CHILD_CHECK(!strncmp(at, line, strlen(line)));
	return at + strlen(line);
}

/* Banner, slab line and stack of a slab, then its objects. */
static const char *expect_slab(const char *at, const char *taint, void *const *obj, unsigned int n)
{
	char line[200];

	at = expect_line(strchr(at, '\n') + 1, "BUG leaky (");
	at = expect_line(at, taint);
	at = expect_line(at, "): Objects remaining in leaky on __kmem_cache_shutdown()\n");
	os_format(line, sizeof(line), "\nSlab %p objects=", (void *)page_head_of(*obj));
	at = expect_line(strchr(at, '\n') + 1, line);
	at = strstr(at, "\nCall Trace:\n") + 1;
	do
		at = strchr(at, '\n') + 1;
	while (*at == ' ');
	for (; n--; obj++) {
		os_format(line, sizeof(line), "Object %p @offset=%lu\n", *obj,
			  offset_in_slab(*obj));
		at = expect_line(at, line);
	}
	return at;
}

/* Its stderr into text, which is what the test compares. */
static void destroy_and_read(struct cache *c, char *text, size_t size)
{
	char path[] = "/tmp/uslab-destroy-test-XXXXXX";
	int saved = dup(STDERR_FILENO);
	int fd = mkstemp(path);
	ssize_t n;

	CHILD_CHECK(fd >= 0 && unlink(path) == 0 && dup2(fd, STDERR_FILENO) >= 0);
	CHILD_CHECK(report_set_time("0"));
	destroy(c);
	CHILD_CHECK(dup2(saved, STDERR_FILENO) >= 0 && close(saved) == 0);
	n = pread(fd, text, size - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(fd);
}

/* The report word for word: each partial slab with its live objects, then who destroyed. */
static void check_report(const char *front)
{
	struct leak leak = leak_some(front);
	struct cache *c = leak.cache;
	char first[40];
	const char *at;
	char text[8192];

	destroy_and_read(c, text, sizeof(text));
	dprintf(STDERR_FILENO, "%s", text); /* seen if something below fails */
	/* the order of the slabs is that of the partial list */
	os_format(first, sizeof(first), "Object %p", leak.obj[0]);
	at = strstr(text, first);
	CHILD_CHECK(at);
	if (at < strstr(text, "Tainted")) {
		at = expect_slab(text, "Not tainted", leak.obj, 1);
		at = expect_slab(at, "Tainted: G    B             ", leak.obj + 1, 2);
	} else {
		at = expect_slab(text, "Not tainted", leak.obj + 1, 2);
		at = expect_slab(at, "Tainted: G    B             ", leak.obj, 1);
	}
	CHILD_CHECK(!strcmp(at, "kmem_cache_destroy leaky: Slab cache still has objects when "
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

static unsigned int count(const char *text, const char *word)
{
	unsigned int n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

/*
 * Slabs of several nodes, plain and debug ones: no lock of theirs is taken
 * while the report is written.
 */
IN_CHILD(test_leak_nodes)
{
	struct cache *c;
	char text[16384];

	CHILD_CHECK(os_topology_set(4, 2) == 0);
	ready();
	c = make_front("leaky", 64, "array");
	for (int node = 0; node < 2; node++)
		CHILD_CHECK(cache_alloc(c, GFP_KERNEL, node));
	CHILD_CHECK(cache_set_debug(c, SLAB_RED_ZONE | SLAB_STORE_USER) == 0);
	for (int node = 0; node < 2; node++)
		CHILD_CHECK(cache_alloc(c, GFP_KERNEL, node));
	destroy_and_read(c, text, sizeof(text));
	dprintf(STDERR_FILENO, "%s", text);
	CHILD_CHECK(count(text, "\nBUG leaky (") == 4);
	CHILD_CHECK(count(text, "(slab|node=0)\n") == 2 && count(text, "(slab|node=1)\n") == 2);
	CHILD_CHECK(count(text, "\nObject 0x") == 4 && count(text, "\nAllocated in ") == 2);
	CHILD_CHECK(count(text, "\nkmem_cache_destroy leaky: ") == 1);
}

/* Full slabs are not listed: there is nothing but the last line. */
IN_CHILD(test_leak_full)
{
	static void *p[4096];
	struct cache *c;
	char text[1024];
	unsigned int n;

	ready();
	c = make_front("leaky", 64, "none");
	n = c->engine.layout->objects;
	CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, n, p) == n);
	destroy_and_read(c, text, sizeof(text));
	CHILD_CHECK(!strcmp(text, "kmem_cache_destroy leaky: Slab cache still has objects when "
				  "called from 0x1234abcd\n"));
}

/* More objects than a report has lines for. */
IN_CHILD(test_leak_many)
{
	enum { MANY = 5000 };
	static void *p[MANY];
	static char text[70000];
	struct cache *c;

	ready();
	c = make_front("leaky", 64, "none");
	CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, MANY, p) == MANY);
	for (int i = 0; i < MANY; i += 10)
		cache_free(c, p[i]);
	destroy_and_read(c, text, sizeof(text));
	CHILD_CHECK(strstr(text, "\n[the report is longer than 64 KiB"));
}

/* A second destroy has a message of its own. */
static void twice(void *arg)
{
	struct cache *c;
	struct kmem_cache *handle;

	ready();
	(void)arg;
	c = make("c", 64, 0, 0);
	handle = c->handle;
	destroy(c);
	cache_destroy(handle, CALLER);
}

static void test_twice(void **state)
{
	struct child c = child_run(twice, state);

	assert_true(child_aborted(&c));
	assert_non_null(strstr(c.text, "cache/destroy.c"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_goes), cmocka_unit_test(test_again),
		cmocka_unit_test(test_alias),		cmocka_unit_test(test_leak_array),
		cmocka_unit_test(test_leak_none),	cmocka_unit_test(test_leak_cpuslab),
		cmocka_unit_test(test_leak_nodes),	cmocka_unit_test(test_leak_full),
		cmocka_unit_test(test_leak_many),	cmocka_unit_test(test_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
