/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/mempool/check_test.c - elements that come to a pool: what is poisoned, and free
 */
#include "unit/cache/cache_fixture.h"

#include "bytes.h"
#include "cache/mempool/check.h"

static char text[8192];

static void keep_text(const char *cache, const char *report, void *arg)
{
	(void)cache;
	(void)arg;
	snprintf(text, sizeof(text), "%s", report);
}

static struct cache *make_listened(slab_flags_t flags)
{
	ready();
	report_set_hook(keep_text, NULL, true);
	return make("elements", 64, 0, flags);
}

/* Addresses that are none of ours, or of no debug slab: nothing is done. */
IN_CHILD(test_plain)
{
	struct cache *c = make_listened(0);
	char *p = cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE);
	char local[64];

	memset(p, 7, 64);
	memset(local, 7, 64);
	element_enters(p);
	element_leaves(p);
	element_enters(local);
	element_leaves(local);
	CHILD_CHECK(all_bytes(p, 64, 7) && all_bytes(local, 64, 7));
	CHILD_CHECK(!cache_has_checks(p) && !cache_has_checks(local));
	CHILD_CHECK(!element_is_free(p) && !element_is_free(local) && !element_is_free(NULL));
	cache_free(c, p);
	CHILD_CHECK(!text[0] && element_is_free(p));
	CHILD_CHECK(strstr(text, " is a free object\n") && strstr(text, " not freed"));
}

IN_CHILD(test_debug)
{
	struct cache *c = make_listened(SLAB_POISON | SLAB_CONSISTENCY_CHECKS);
	char *p = cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE);

	CHILD_CHECK(cache_has_checks(p) && !element_is_free(p));
	element_enters(p);
	CHILD_CHECK(all_bytes(p, 63, 0x6b));
	element_leaves(p);
	CHILD_CHECK(all_bytes(p, 64, 0x5a) && !text[0]);
	element_report_kept(p);
	CHILD_CHECK(strstr(text, "is kept by its pool already\n"));
	cache_free(c, p);
	text[0] = '\0';
	CHILD_CHECK(element_is_free(p) && strstr(text, "Object already free"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_debug),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
