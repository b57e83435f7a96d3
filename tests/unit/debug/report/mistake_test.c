/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/report/mistake_test.c - what engines notice is reported with the cache's name,
 * and delivered when they say
 */
#include "unit/debug/fixture.h"

#include "debug/report/mistake.h"
#include "debug/report/report.h"
#include "engine/mistake.h"

static char heard[4096];

static void keep(const char *cache, const char *report, void *arg)
{
	(void)arg;
	assert_string_equal(cache, "test");
	strncat(heard, report, sizeof(heard) - strlen(heard) - 1);
}

/* The mistake is reported in these words. */
#define assert_reports(e, obj, what, ...)                                      \
	do {                                                                   \
		static const char *const words[] = { __VA_ARGS__ };            \
                                                                               \
		heard[0] = '\0';                                               \
		engine_mistake_now(e, obj, what);                              \
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)                 \
			if (!strstr(heard, words[i]))                          \
				fail_msg("no \"%s\" in: %s", words[i], heard); \
	} while (0)

static void reports(__attribute__((unused)) void **state)
{
	struct engine e;
	char *obj;

	make(&e, 64, SLAB_POISON);
	obj = get(&e);
	report_set_hook(keep, NULL, true);
	mistake_listen();
	engine_mistake(&e, obj, ENGINE_FREE_AGAIN);
	assert_string_equal(heard, "");
	engine_mistakes_deliver();
	assert_non_null(strstr(heard, "BUG test"));
	assert_non_null(strstr(heard, "Object already free"));
	assert_non_null(strstr(heard, "FIX test: Object at 0x"));
	assert_reports(&e, heard, ENGINE_NO_OBJECT, "Invalid object pointer 0x",
		       " is no object of test\n", "FIX test: Object at 0x");
	assert_reports(&e, obj, ENGINE_LIST_BROKEN, "Freechain corrupt",
		       "FIX test: Isolate corrupted freechain");
	assert_int_equal(report_counters.isolated, 1);
	assert_reports(&e, obj, ENGINE_NO_HEADER, "Invalid object pointer 0x",
		       " was freed twice, starts no object, is one of a cache (kfree() takes none");
	/* its page is gone: no offset */
	assert_reports(&e, heard, ENGINE_FREE_AGAIN, "Object already free", "Pointer 0x");
	assert_null(strstr(heard, "@offset"));
	assert_int_equal(report_counters.isolated, 1);
	report_set_hook(NULL, NULL, false);
	engine_listener = NULL;
}

/* Spec 3.11, in the report that all engines have. */
static void the_words_of_slab(__attribute__((unused)) void **state)
{
	struct engine e = { .ops = &slab_ops, .name = "test" };

	report_set_hook(keep, NULL, true);
	mistake_listen();
	assert_reports(&e, heard, ENGINE_FREE_AGAIN, "): Object already free\n",
		       "\nslab: double free detected in cache 'test', objp 0x",
		       "FIX test: Object at 0x");
	assert_reports(&e, heard, ENGINE_LIST_BROKEN, "): Freechain corrupt\n",
		       "\nslab error in slab_get_obj(): cache `test': ",
		       "double free, or memory outside object was overwritten\n",
		       "FIX test: Isolate corrupted freechain");
	report_set_hook(NULL, NULL, false);
	engine_listener = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports),
		cmocka_unit_test(the_words_of_slab),
	};

	return cmocka_run_group_tests(tests, debug_group_setup, NULL);
}
