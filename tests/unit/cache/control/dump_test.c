/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/control/dump_test.c - what is said of an address (spec 5.14): all kinds of
 * pages, all places in a slot
 */
#include <fcntl.h>

#include "unit/cache/cache_fixture.h"
#include "debug/kfence/kfence.h"
#include "debug/report/report.h"
#include "objects.h"

static char text[4096];

/* Asks, with stderr in text. The address in front of the answer is left out. */
static bool dump(const void *p)
{
	char path[] = "/tmp/uslab-dump-test-XXXXXX";
	int saved = dup(STDERR_FILENO);
	int fd = mkstemp(path);
	char line[40];
	bool known;
	ssize_t n;

	CHILD_CHECK(fd >= 0 && unlink(path) == 0 && dup2(fd, STDERR_FILENO) >= 0);
	known = cache_dump_obj(p);
	CHILD_CHECK(dup2(saved, STDERR_FILENO) >= 0 && close(saved) == 0);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(fd);
	dprintf(STDERR_FILENO, "%s", text); /* seen if something below fails */
	os_format(line, sizeof(line), "uslab: 0x%lx", (unsigned long)p);
	CHILD_CHECK(!strncmp(text, line, strlen(line)));
	memmove(text, text + strlen(line), strlen(text) - strlen(line) + 1);
	return known;
}

__attribute__((format(printf, 1, 2))) static void check_text(const char *fmt, ...)
{
	char expected[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(expected, sizeof(expected), fmt, args);
	va_end(args);
	CHILD_CHECK(!strcmp(text, expected));
}

static void check_plain(const char *engine)
{
	struct cache *c = made(&(struct cache_spec){ .name = engine,
						     .size = 100,
						     .engine = cache_engine_by_name(engine),
						     .no_merge = true });
	char *obj[4];

	for (int i = 0; i < 4; i++)
		obj[i] = get(c);
	for (int i = 0; i < 4; i++) {
		CHILD_CHECK(dump(obj[i]));
		check_text(" slab %s start %lx pointer offset 0\n", engine, (unsigned long)obj[i]);
		CHILD_CHECK(dump(obj[i] + 99));
		check_text(" slab %s start %lx pointer offset 99\n", engine, (unsigned long)obj[i]);
	}
}

IN_CHILD(test_engines)
{
	ready();
	check_plain("slub");
	check_plain("slab");
	check_plain("slobseg");
}

/* Colours: object 0 of a second slab of the engine slab lies behind some bytes of nothing. */
IN_CHILD(test_colour)
{
	struct cache *c;
	char *obj;
	char *start;

	ready();
	c = made(&(struct cache_spec){ .name = "coloured",
				       .size = 700,
				       .engine = cache_engine_by_name("slab"),
				       .no_merge = true });
	do {
		obj = get(c);
		start = page_address(page_head_of(obj));
	} while (start == obj || obj - start >= 700);
	CHILD_CHECK(dump(obj) && strstr(text, " pointer offset 0\n"));
	CHILD_CHECK(dump(start));
	check_text(" slab coloured (no object: unused bytes of a slab)\n");
}

/* On behalf of whoever calls. */
static noinline void *allocate(struct cache *c)
{
	return cache_alloc_for(c, GFP_KERNEL, NUMA_NO_NODE, 0, __builtin_return_address(0));
}

static noinline void release(struct cache *c, void *obj)
{
	cache_free_for(c, obj, __builtin_return_address(0));
}

IN_CHILD(test_tracks)
{
	struct cache *c;
	char *obj;
	char *slot;

	child_needs_objects();
	ready();
	c = made(&(struct cache_spec){
		.name = "tracked", .size = 64, .align = 32, .no_merge = true });
	CHILD_CHECK(cache_set_debug(c, SLAB_RED_ZONE | SLAB_STORE_USER) == 0);
	obj = allocate(c);
	slot = obj - 32; /* the left red zone, spec 4.4 */
	CHILD_CHECK(dump(obj + 3));
	CHILD_CHECK(strstr(text,
			   " data offset 32 pointer offset 3 allocated at test_tracks_in_child+"));
	CHILD_CHECK(strstr(text, "\n    test_tracks_in_child+") && !strstr(text, "Free path"));
	CHILD_CHECK(dump(slot) && strstr(text, " pointer offset -32 allocated at "));
	release(c, obj);
	CHILD_CHECK(dump(obj));
	CHILD_CHECK(strstr(text, "\n Free path:\n    test_tracks_in_child+"));
	allocate(c);
	/* Next to it lies one that was never allocated: it has no tracks. */
	CHILD_CHECK(dump(obj + page_head_of(obj)->layout->stride));
	CHILD_CHECK(strstr(text, " pointer offset 0\n") && !strstr(text, "allocated"));
}

IN_CHILD(test_blocks)
{
	struct cache *c;
	char *large;
	char *run;

	ready();
	run = run_alloc(3 * PAGE_SIZE, 0, -1, NULL);
	CHILD_CHECK(dump(run + 2 * PAGE_SIZE));
	check_text(" (large block) start %lx pointer offset 8192 size 12288\n", (unsigned long)run);
	CHILD_CHECK(run_free(run) && !dump(run));
	check_text(" (free page)\n");
	large = run_alloc(8ul << 20, 0, -1, NULL);
	CHILD_CHECK(dump(large));
	check_text(" (large block) start %lx pointer offset 0 size 8388608\n",
		   (unsigned long)large);
	CHILD_CHECK(!dump(large + 1)); /* only its start is known */
	check_text(" (not of uslab)\n");
	c = made(&(struct cache_spec){
		.name = "heap", .size = 64, .engine = cache_engine_by_name("slob") });
	CHILD_CHECK(dump(get(c)));
	check_text(" (page of the heap slob)\n");
}

IN_CHILD(test_nothing)
{
	ready();
	CHILD_CHECK(!dump(NULL));
	check_text(" (NULL pointer)\n");
	CHILD_CHECK(!dump(ZERO_SIZE_PTR));
	check_text(" (ZERO_SIZE_PTR)\n");
	CHILD_CHECK(!dump(text));
	check_text(" (not of uslab)\n");
	CHILD_CHECK(!dump((void *)UINTPTR_MAX));
	CHILD_CHECK(!dump(page_map.base - 1));
	CHILD_CHECK(!dump(page_map.base + (page_map.limit << PAGE_SHIFT)));
	CHILD_CHECK(!report_counters.reports);
}

IN_CHILD(test_guarded)
{
	struct cache *c;
	char *obj;

	CHILD_CHECK(kfence_set_option("sample", "1"));
	ready();
	CHILD_CHECK(kfence_start() == 0);
	c = made(&(struct cache_spec){ .name = "guarded", .size = 64, .no_merge = true });
	obj = kfence_alloc(&c->engine, 64, GFP_KERNEL, __builtin_return_address(0), 1);
	CHILD_CHECK(obj && dump(obj + 5));
	CHILD_CHECK(strstr(text, " slab guarded (kfence) start "));
	CHILD_CHECK(strstr(text, " pointer offset 5 allocated at "));
	CHILD_CHECK(!strstr(text, "Free path"));
	kfence_free(obj, __builtin_return_address(0));
	CHILD_CHECK(dump(obj)); /* of which nothing can be read any more */
	CHILD_CHECK(strstr(text, "\n Free path:\n    "));
	kfence_cache_gone(&c->engine);
	CHILD_CHECK(dump(obj) && strstr(text, " slab <destroyed> (kfence) start "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engines), cmocka_unit_test(test_colour),
		cmocka_unit_test(test_tracks),	cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_guarded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
