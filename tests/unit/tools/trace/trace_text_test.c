/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/trace/trace_text_test.c - numbers in a piece of a line, copies of it, and the cursor
 */
#include "trace/trace_text.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct trace_text text_of(const char *text)
{
	return (struct trace_text){ text, strlen(text) };
}

static void copied_text_is_cut(void **state)
{
	char buf[4];

	(void)state;
	trace_copy_text(buf, sizeof(buf), text_of("abcdef"));
	assert_string_equal(buf, "abc");
	trace_copy_text(buf, sizeof(buf), text_of("a\n"));
	assert_string_equal(buf, "a?");
}

static void digits(void **state)
{
	static const char *const wrong[] = { "", "-1", " 1", "1 ", "12g", "18446744073709551616" };
	uint64_t value = 0;

	(void)state;
	assert_true(text_digits(text_of("18446744073709551615"), 10, &value));
	assert_true(value == UINT64_MAX);
	assert_true(text_digits(text_of("Fff0"), 16, &value));
	assert_int_equal(value, 0xfff0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(text_digits(text_of(wrong[i]), 10, &value));
	assert_false(text_digits(text_of("f"), 10, &value));
}

static void cursor(void **state)
{
	struct trace_text t = text_of(" \tone two \t");

	(void)state;
	t = text_trim_end(text_skip_spaces(t));
	assert_int_equal(t.length, 7);
	assert_int_equal(text_last(t), 'o');
	assert_true(text_starts_with(t, "one"));
	assert_true(text_equals(text_token(t), "one"));
	assert_true(text_equals(text_skip_spaces(text_skip(t, text_span(t, text_is_word))), "two"));
	assert_int_equal(text_last(text_of("")), 0);
	assert_int_equal(text_trim_end(text_of("  ")).length, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copied_text_is_cut),
		cmocka_unit_test(digits),
		cmocka_unit_test(cursor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
