/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/command/debug_flags_test.c - debug flags and their texts, both ways
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "command/debug_flags.h"

static void test_flags(void **unused)
{
	(void)unused;
	assert_int_equal(debug_flags_of('Z'), SLAB_RED_ZONE);
	assert_int_equal(debug_flags_of('a'), SLAB_FAILSLAB);
	assert_int_equal(debug_flags_of('x'), 0);
	assert_int_equal(debug_flags_of('O'), 0); /* of USLAB_DEBUG only */
	assert_int_equal(debug_flags_of('-'), 0);
	assert_true(debug_flags_all() & SLAB_TRACE && debug_flags_all() & SLAB_FAILSLAB);
}

static void test_texts(void **unused)
{
	char text[DEBUG_FLAGS_TEXT];

	(void)unused;
	assert_string_equal(debug_flags_text(text, 0), "-");
	assert_string_equal(debug_flags_text(text, SLAB_HWCACHE_ALIGN), "-");
	assert_string_equal(debug_flags_text(text, SLAB_POISON | SLAB_CONSISTENCY_CHECKS), "FP");
	assert_string_equal(debug_flags_text(text, ~0u), "FZPUTA");
	assert_string_equal(debug_flags_list(text, " ", " "), "F Z P U T A");
	assert_string_equal(debug_flags_list(text, ", ", " and "), "F, Z, P, U, T and A");
}

static void test_what_commands_take(void **unused)
{
	static const char *const none[] = { "", "+", "--", "x", "FX", "F-", "none", " F" };
	static const char *const some[] = { "-", "F", "fzput", "+A", "-U" };

	(void)unused;
	for (unsigned int i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(debug_flags_are(none[i]));
	for (unsigned int i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		assert_true(debug_flags_are(some[i]));
}

static void test_changes(void **unused)
{
	const slab_flags_t F = SLAB_CONSISTENCY_CHECKS, Z = SLAB_RED_ZONE, U = SLAB_STORE_USER;

	(void)unused;
	assert_int_equal(debug_flags_change("fz", U), F | Z);
	assert_int_equal(debug_flags_change("+Z", U), Z | U);
	assert_int_equal(debug_flags_change("-Zf", Z | U), U);
	assert_int_equal(debug_flags_change("-", Z | U), 0);
	/* what are no debug flags stay */
	assert_int_equal(debug_flags_change("U", Z | SLAB_HWCACHE_ALIGN), U | SLAB_HWCACHE_ALIGN);
	assert_int_equal(debug_flags_change("-", Z | SLAB_HWCACHE_ALIGN), SLAB_HWCACHE_ALIGN);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_what_commands_take),
		cmocka_unit_test(test_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
