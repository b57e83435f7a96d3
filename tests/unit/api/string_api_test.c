/* SPDX-License-Identifier: MIT */
/*
 * unit/api/string_api_test.c - copies of memory and strings, formatted strings, and variables whose
 * memory is freed with their scope
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <uslab/cleanup.h>
#include <uslab/kstring.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "child.h"
#include "debug/report/report.h"

static void test_kmemdup(void **state)
{
	static const char bytes[] = "ab\0cd";
	volatile size_t sizes[] = { KMALLOC_MAX_SIZE + 1, SIZE_MAX };
	volatile size_t huge = SIZE_MAX / 2 + 1;
	char *p = kmemdup(bytes, sizeof(bytes), GFP_KERNEL);
	char *q = kvmemdup(bytes, sizeof(bytes), GFP_KERNEL);
	char *r = kmemdup_array(bytes, 3, 2, GFP_KERNEL);
	char *text = kmemdup_nul(bytes, 4, GFP_KERNEL);

	(void)state;
	assert_memory_equal(p, bytes, sizeof(bytes));
	assert_memory_equal(q, bytes, sizeof(bytes));
	assert_memory_equal(r, bytes, 6);
	assert_memory_equal(text, "ab\0c", 5);
	kfree(p);
	kvfree(q);
	kfree(r);
	kfree(text);
	assert_ptr_equal(kmemdup(NULL, 0, GFP_KERNEL), ZERO_SIZE_PTR);
	assert_ptr_equal(kvmemdup(NULL, 0, GFP_KERNEL), ZERO_SIZE_PTR);
	assert_null(kmemdup_nul(NULL, 5, GFP_KERNEL));
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_null(kmemdup(bytes, sizes[i], GFP_KERNEL));
		assert_null(kmemdup_nul(bytes, sizes[i], GFP_KERNEL));
		assert_null(kmemdup_nul(bytes, sizes[i] - 1, GFP_KERNEL));
	}
	assert_null(kvmemdup(bytes, huge, GFP_KERNEL));
	assert_null(kmemdup_array(bytes, huge, 2, GFP_KERNEL));
	assert_null(kmemdup_array(bytes, 4, huge, GFP_KERNEL));
}

static void test_large_copy(void **state)
{
	const size_t size = 5ul << 20;
	unsigned char *from = kvzalloc(size, GFP_KERNEL);
	unsigned char *p;

	(void)state;
	assert_non_null(from);
	from[size - 1] = 9;
	assert_null(kmemdup(from, size, GFP_KERNEL));
	p = kvmemdup(from, size, GFP_KERNEL);
	assert_non_null(p);
	assert_memory_equal(p, from, size);
	kvfree(p);
	kvfree(from);
}

static void test_kstrdup(void **state)
{
	const char open[4] = { 'o', 'p', 'e', 'n' }; /* no NUL */
	char *p = kstrdup("words", GFP_KERNEL);
	char *q = kstrndup("words", 3, GFP_KERNEL);
	char *r = kstrndup("words", SIZE_MAX, GFP_KERNEL);
	char *s = kstrndup(open, sizeof(open), GFP_KERNEL);
	char *empty = kstrdup("", GFP_KERNEL);
	char *none = kstrndup("words", 0, GFP_KERNEL);

	(void)state;
	assert_string_equal(p, "words");
	assert_string_equal(q, "wor");
	assert_string_equal(r, "words");
	assert_string_equal(s, "open");
	assert_string_equal(empty, "");
	assert_string_equal(none, "");
	kfree(p);
	kfree(q);
	kfree(r);
	kfree(s);
	kfree(empty);
	kfree(none);
	assert_null(kstrdup(NULL, GFP_KERNEL));
	assert_null(kstrndup(NULL, 5, GFP_KERNEL));
}

/* With its NUL a string has KMALLOC_MAX_SIZE bytes at most. */
static void test_long_strings(void **state)
{
	char *s = kvmalloc(KMALLOC_MAX_SIZE + 1, GFP_KERNEL);
	char *p;

	(void)state;
	assert_non_null(s);
	memset(s, 'x', KMALLOC_MAX_SIZE);
	s[KMALLOC_MAX_SIZE] = '\0';
	assert_null(kstrdup(s, GFP_KERNEL));
	assert_null(kasprintf(GFP_KERNEL, "%s", s));
	p = kstrndup(s, KMALLOC_MAX_SIZE - 1, GFP_KERNEL);
	assert_non_null(p);
	assert_int_equal(strlen(p), KMALLOC_MAX_SIZE - 1);
	kfree(p);
	p = kasprintf(GFP_KERNEL, "%s", s + 1);
	assert_non_null(p);
	assert_int_equal(strlen(p), KMALLOC_MAX_SIZE - 1);
	kfree(p);
	kvfree(s);
}

/* Constants of the program stay, all else is copied; what stayed is not freed. */
IN_CHILD(test_constants)
{
	static const char constant[] = "constant";
	char variable[] = "variable";
	const char *p = kstrdup_const(constant, GFP_KERNEL);
	const char *q = kstrdup_const(variable, GFP_KERNEL);

	CHILD_CHECK(p == constant);
	CHILD_CHECK(q != variable && !strcmp(q, "variable"));
	CHILD_CHECK(!kstrdup_const(NULL, GFP_KERNEL));
	kfree_const(p);
	kfree_const(q);
	kfree_const(NULL);
	CHILD_CHECK(load_relaxed(&report_counters.reports) == 0);
	kfree_const(variable); /* was never allocated */
	CHILD_CHECK(load_relaxed(&report_counters.reports) == 1);
}

__attribute__((__format__(__printf__, 1, 2))) static char *formatted(const char *format, ...)
{
	va_list args;
	char *p;

	va_start(args, format);
	p = kvasprintf(GFP_KERNEL, format, args);
	va_end(args);
	return p;
}

__attribute__((__format__(__printf__, 1, 2))) static const char *constant(const char *format, ...)
{
	va_list args;
	const char *p;

	va_start(args, format);
	p = kvasprintf_const(GFP_KERNEL, format, args);
	va_end(args);
	return p;
}

static void test_formats(void **state)
{
	char variable[] = "variable";
	const char *literal = "literal";
	const char *format = "no number";
	char *p = kasprintf(GFP_KERNEL, "%s %d %5.2f%%", "pi", -3, 3.14159);
	char *q = formatted("%0*d", 40, 7);
	char *empty = kasprintf(GFP_KERNEL, "%s", "");
	const char *r = constant("%s", literal);
	const char *s = constant("%s", variable);
	const char *t = constant("%s%d", literal, 1);

	(void)state;
	assert_string_equal(p, "pi -3  3.14%");
	assert_string_equal(q, "0000000000000000000000000000000000000007");
	assert_string_equal(empty, "");
	assert_ptr_equal(r, literal);
	assert_ptr_not_equal(s, variable);
	assert_string_equal(s, "variable");
	assert_string_equal(t, "literal1");
	assert_ptr_equal(constant(format, 0), format);
	kfree(p);
	kfree(q);
	kfree(empty);
	kfree_const(r);
	kfree_const(s);
	kfree_const(t);
}

/* A wide character that the locale does not have: there is no such string. */
static void test_bad_format(void **state)
{
	const wchar_t none[] = { 0x7fffffff, 0 };

	(void)state;
	assert_null(kasprintf(GFP_KERNEL, "%ls", none));
}

/* ---- <uslab/cleanup.h> ---- */

static unsigned int freed;

DEFINE_FREE(count, char *, if (_T) freed++)

static char *passes_on(bool fails)
{
	char *p __free(kfree) = kmalloc(64, GFP_KERNEL);
	char *counted __free(count) = p;

	if (fails)
		return NULL;
	return_ptr(p);
}

IN_CHILD(test_scopes)
{
	char *kept = passes_on(false);
	char *other = kept;
	char *given;

	CHILD_CHECK(kept && freed == 1);
	CHILD_CHECK(!passes_on(true) && freed == 2);
	given = no_free_ptr(kept);
	CHILD_CHECK(given == other && !kept);
	retain_and_null_ptr(other);
	CHILD_CHECK(!other);
	kfree(given);
	for (unsigned int i = 0; i < 3; i++) {
		void *error __free(kfree) = (void *)-12l;
		void *nothing __free(kvfree) = NULL;
		void *empty __free(kfree_sensitive) = kmalloc(0, GFP_KERNEL);
		char *secret __free(kfree_sensitive) = kstrdup("secret", GFP_KERNEL);
		char *large __free(kvfree) = kvmalloc(100000, GFP_KERNEL);
		const char *name __free(kfree_const) = kstrdup_const("name", GFP_KERNEL);

		CHILD_CHECK(error && !nothing && empty && secret && large && name);
		if (i == 1)
			continue;
	}
	CHILD_CHECK(load_relaxed(&report_counters.reports) == 0);
}

/* The block is free behind its scope: once more is a mistake, and it is handed out again. */
IN_CHILD(test_freed_once)
{
	void *volatile p;

	{
		void *inner __free(kfree) = kmalloc(64, GFP_KERNEL);

		p = inner;
	}
	kfree(p);
	CHILD_CHECK(load_relaxed(&report_counters.reports) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kmemdup),	   cmocka_unit_test(test_large_copy),
		cmocka_unit_test(test_kstrdup),	   cmocka_unit_test(test_long_strings),
		cmocka_unit_test(test_constants),  cmocka_unit_test(test_formats),
		cmocka_unit_test(test_bad_format), cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_freed_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
