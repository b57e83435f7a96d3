/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/charged_test.c - hits of caches that are charged: words, zeroing, limits, marks
 */
#include "cache/extension.h"
#include "cache/group/group.h"
#include "debug/report/report.h"
#include "unit/cache/cache_fixture.h"

static struct uslab_group *handle;
static struct cache *c;

static void start(void)
{
	int error;

	ready();
	handle = group_create("g", 0, NULL, &error);
	CHILD_CHECK(handle);
	c = make("charged", 80, 0, SLAB_ACCOUNT | SLAB_NO_MERGE);
	CHILD_CHECK(c->watch == WATCH_GROUPS);
}

static uint32_t word(const void *p)
{
	struct ext_place place = ext_find(PAGE_EXT_GROUPS, c, p, false);

	return place.word ? *place.word : 0;
}

/*
 * Each object has the number of its group as long as it lives, and neighbours have their own. One
 * that lies in a charged array keeps it.
 */
IN_CHILD(test_words)
{
	void *p[200];

	start();
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++) {
		group_enter(i % 3 ? handle : NULL);
		CHILD_CHECK((p[i] = group_cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE)));
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		CHILD_CHECK(word(p[i]) == (i % 3 ? 1 : 0));
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i += 2)
		group_cache_free(c, p[i], NULL);
	for (unsigned int i = 1; i < ARRAY_SIZE(p); i += 2)
		CHILD_CHECK(word(p[i]) == (i % 3 ? 1 : 0));
	c->front.ops->drain(&c->front);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		CHILD_CHECK(word(p[i]) == (i % 2 && i % 3 ? 1 : 0));
	cache_check_all();
}

IN_CHILD(test_zeroed)
{
	char *p;

	start();
	group_enter(handle);
	for (unsigned int i = 0; i < 100; i++) {
		p = group_cache_alloc(c, GFP_KERNEL | __GFP_ZERO, NUMA_NO_NODE);
		for (unsigned int j = 0; j < 80; j++)
			CHILD_CHECK(p[j] == 0);
		memset(p, 7, 80);
		group_cache_free(c, p, NULL);
	}
}

/* What is freed twice is reported, and given back once. */
IN_CHILD(test_twice)
{
	struct uslab_group_statistics stat;
	void *p, *q;

	setenv("USLAB_CONF", "report=quiet", 1);
	start();
	group_enter(handle);
	p = group_cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE);
	q = group_cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE);
	group_cache_free(c, p, NULL);
	if (c->engine.mark)
		group_cache_free(c, p, NULL);
	CHILD_CHECK(group_stat(handle, &stat) == 0 && stat.usage == c->engine.size);
	group_cache_free(c, q, NULL);
	CHILD_CHECK(group_stat(handle, &stat) == 0 && stat.usage == 0);
}

/*
 * With keys: one to four bytes behind an object are its mark. They are reported, and the charge is
 * found all the same; more than that, and nobody knows whose it was.
 */
IN_CHILD(test_overflows)
{
	static const struct {
		unsigned int bytes;
		unsigned char value;
		unsigned int reports;
		bool is_lost;
	} cases[] = {
		{ 1, 0, 0, false },   { 1, 1, 1, false },   { 4, 0x41, 1, false },
		{ 5, 0x41, 1, true }, { 8, 0x41, 1, true }, { 6, 0, 1, true },
		{ 8, 0, 0, true },
	};
	struct uslab_group_statistics stat;
	size_t lost = 0;

	setenv("USLAB_CONF", "report=quiet", 1);
	start();
	c = make("keyed", 80, 0, USLAB_ACCOUNT_INLINE);
	group_enter(handle);
	for (size_t i = 0; group_has_keys(c) && i < ARRAY_SIZE(cases); i++) {
		char *p = group_cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE);
		unsigned long before = report_counters.reports;

		memset(p + 80, cases[i].value, cases[i].bytes);
		kmem_cache_free_account(c->handle, p);
		lost += cases[i].is_lost ? c->engine.size : 0;
		CHILD_CHECK(report_counters.reports == before + cases[i].reports);
		CHILD_CHECK(group_stat(handle, &stat) == 0 && stat.usage == lost);
	}
	cache_check_all();
}

IN_CHILD(test_refused)
{
	void *p;

	start();
	CHILD_CHECK(group_set_limit(handle, c->engine.size) == 0);
	group_enter(handle);
	p = group_cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(p && !group_cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE));
	CHILD_CHECK(in_use(c) == 1);
	group_cache_free(c, p, NULL);
	p = group_cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(p);
	group_cache_free(c, p, NULL);
	CHILD_CHECK(in_use(c) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),	cmocka_unit_test(test_zeroed),
		cmocka_unit_test(test_twice),	cmocka_unit_test(test_overflows),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
