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
	heard[0] = '\0';
	engine_mistake_now(&e, heard, ENGINE_NO_OBJECT);
	assert_non_null(strstr(heard, "Invalid object pointer 0x"));
	assert_non_null(strstr(heard, " is no object of test\n"));
	assert_non_null(strstr(heard, "FIX test: Object at 0x"));
	heard[0] = '\0';
	engine_mistake_now(&e, obj, ENGINE_LIST_BROKEN);
	assert_non_null(strstr(heard, "Freechain corrupt"));
	assert_non_null(strstr(heard, "FIX test: Isolate corrupted freechain"));
	assert_int_equal(report_counters.isolated, 1);
	heard[0] = '\0';
	engine_mistake_now(&e, obj, ENGINE_NO_HEADER);
	assert_non_null(strstr(heard, "Invalid object pointer 0x"));
	assert_non_null(strstr(heard, " was freed twice, starts no object, or its header was"));
	heard[0] = '\0';
	engine_mistake_now(&e, heard, ENGINE_FREE_AGAIN); /* its page is gone: no offset */
	assert_non_null(strstr(heard, "Object already free"));
	assert_non_null(strstr(heard, "Pointer 0x"));
	assert_null(strstr(heard, "@offset"));
	assert_int_equal(report_counters.isolated, 1);
	report_set_hook(NULL, NULL, false);
	engine_listener = NULL;
}

/* Spec 3.11, in the report that all engines have. */
static void the_words_of_slab(__attribute__((unused)) void **state)
{
	struct engine e = { .ops = &slab_ops, .name = "test" };

	heard[0] = '\0';
	report_set_hook(keep, NULL, true);
	mistake_listen();
	engine_mistake_now(&e, heard, ENGINE_FREE_AGAIN);
	assert_non_null(strstr(heard, "): Object already free\n"));
	assert_non_null(strstr(heard, "\nslab: double free detected in cache 'test', objp 0x"));
	assert_non_null(strstr(heard, "FIX test: Object at 0x"));
	heard[0] = '\0';
	engine_mistake_now(&e, heard, ENGINE_LIST_BROKEN);
	assert_non_null(strstr(heard, "): Freechain corrupt\n"));
	assert_non_null(strstr(heard, "\nslab error in slab_get_obj(): cache `test': "));
	assert_non_null(strstr(heard, "double free, or memory outside object was overwritten\n"));
	assert_non_null(strstr(heard, "FIX test: Isolate corrupted freechain"));
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
