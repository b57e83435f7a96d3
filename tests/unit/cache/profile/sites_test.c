/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/profile/sites_test.c - call sites: numbers, texts, counters of a generation, modules
 */
#include "cache/profile/sites.h"
#include "unit/cache/cache_fixture.h"

static struct alloc_tag tags[] = {
	{ "a.c", "f", 1, 0, 0 }, { "a.c", "f", 2, 0, 0 },
	{ "a.c", "f", 1, 0, 0 }, /* as the first */
	{ "a.c", "g", 1, 0, 0 }, { "b.c", "f", 1, 0, 0 },
};

static void begin(void)
{
	ready();
	CHILD_CHECK(sites_begin() == 1);
}

static bool counts(uint32_t site, uint64_t bytes, uint64_t calls)
{
	struct alloc_tag_counters sum = sites_sum(site);

	return sum.bytes == bytes && sum.calls == calls;
}

IN_CHILD(test_numbers)
{
	begin();
	CHILD_CHECK(sites_find(&tags[0]) == 1 && tags[0].site == 1);
	CHILD_CHECK(sites_find(&tags[1]) == 2);
	CHILD_CHECK(sites_find(&tags[2]) == 1 && tags[2].site == 1);
	CHILD_CHECK(sites_find(&tags[3]) == 3);
	CHILD_CHECK(sites_find(&tags[4]) == 4);
	CHILD_CHECK(sites_find(&tags[0]) == 1 && sites_table->nr == 4);
	sites_check();
}

/* Of a long path the end is kept, of a long function the start. */
IN_CHILD(test_long_texts)
{
	static char file[1001];
	static char function[1001];
	struct alloc_tag tag = { file, function, 7, 0, 0 };
	const struct site *site;

	memset(file, 'x', 1000);
	memcpy(file + 1000 - 4, "/e.c", 4);
	memset(function, 'y', 1000);
	function[0] = 'b';
	begin();
	site = sites_table->site[sites_find(&tag)];
	CHILD_CHECK(site->file == SITE_FILE_MAX && site->function == SITE_FUNCTION_MAX);
	CHILD_CHECK(strlen(site->text) == SITE_FILE_MAX);
	CHILD_CHECK(!strcmp(site->text + SITE_FILE_MAX - 4, "/e.c"));
	CHILD_CHECK(site->text[SITE_FILE_MAX + 1] == 'b');
	CHILD_CHECK(strlen(site->text + SITE_FILE_MAX + 1) == SITE_FUNCTION_MAX);
	CHILD_CHECK(site->module == 0 && site->line == 7);
	sites_check();
}

IN_CHILD(test_generations)
{
	uint32_t site;

	begin();
	site = sites_find(&tags[0]);
	CHILD_CHECK(sites_count(site, 1, 100, 1) && sites_count(site, 1, 50, 1));
	CHILD_CHECK(counts(site, 150, 2));
	CHILD_CHECK(!sites_count(site, 2, 100, 1) && !sites_count(site, 0, 100, 1));
	sites_check();
	sites_end();
	CHILD_CHECK(!sites_count(site, 1, -100ul, -1ul));
	CHILD_CHECK(counts(site, 150, 2));
	CHILD_CHECK(sites_begin() == 2 && counts(site, 0, 0));
	CHILD_CHECK(!sites_count(site, 1, -100ul, -1ul)); /* late */
	CHILD_CHECK(sites_count(site, 2, 8, 1) && counts(site, 8, 1));
	CHILD_CHECK(sites_find(&tags[0]) == site);
	sites_check();
	sites_table->generation = SITES_GENERATIONS;
	CHILD_CHECK(sites_begin() == -EOVERFLOW);
}

/* The counters of one site on the CPUs, of which each may be less than 0. */
IN_CHILD(test_other_cpu)
{
	uint32_t site;

	CHILD_CHECK(os_topology_set(4, 1) == 0);
	begin();
	site = sites_find(&tags[0]);
	os_act_as_cpu(0);
	CHILD_CHECK(sites_count(site, 1, 100, 3));
	os_act_as_cpu(3);
	CHILD_CHECK(sites_count(site, 1, -100ul, -2ul));
	CHILD_CHECK(counts(site, 0, 1));
}

/* Tags of a module have numbers from the start; one that is gone is known again when it is back. */
IN_CHILD(test_modules)
{
	struct uslab_alloc_tags first = { tags, tags + 2, NULL };
	struct uslab_alloc_tags second = { tags + 2, tags + ARRAY_SIZE(tags), NULL };

	ready();
	sites_register(&first);
	CHILD_CHECK(!sites_table && !tags[0].site);
	CHILD_CHECK(sites_begin() == 1);
	CHILD_CHECK(tags[0].site == 1 && tags[1].site == 2);
	sites_register(&second);
	CHILD_CHECK(tags[2].site == 1 && tags[4].site == 4 && sites_table->nr == 4);
	sites_unregister(&first);
	CHILD_CHECK(sites_table->site[2]->gone && !sites_table->site[4]->gone);
	tags[1].site = 0; /* loaded again */
	sites_register(&first);
	CHILD_CHECK(tags[1].site == 2 && !sites_table->site[2]->gone);
	sites_unregister(&second);
	sites_unregister(&second);
	sites_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),	    cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_generations), cmocka_unit_test(test_other_cpu),
		cmocka_unit_test(test_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
