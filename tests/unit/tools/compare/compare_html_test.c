/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/compare/compare_html_test.c - the page is whole, and no data can leave its element
 *
 * What a browser makes of the page is in tests/tools/compare_html_test.py.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compare/compare_html.h"
#include "html/files.h"

#define DATA_OPEN "<script type=\"application/json\" id=\"data\">"

static char *page_of(const char *json, size_t size)
{
	char *page = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&page, &length);

	assert_non_null(out);
	assert_int_equal(compare_html_write(out, json, size), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(page), length);
	return page;
}

static unsigned int count(const char *text, const char *what)
{
	unsigned int found = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		found++;
	}
	return found;
}

/* The data as the page has it, up to the end of its element; to be freed. */
static char *data_of(const char *page)
{
	const char *start = strstr(page, DATA_OPEN);
	const char *end;

	assert_non_null(start);
	start += strlen(DATA_OPEN);
	end = strstr(start, "</script");
	assert_non_null(end);
	return strndup(start, (size_t)(end - start));
}

static void check_data(const char *json, const char *expected)
{
	char *page = page_of(json, strlen(json));
	char *data = data_of(page);

	assert_string_equal(data, expected);
	free(data);
	free(page);
}

static void test_data(void **state)
{
	(void)state;
	check_data("", "");
	check_data("{\"version\": 1}", "{\"version\": 1}");
	check_data("\"</script><!--\"", "\"\\u003c/script>\\u003c!--\"");
	check_data("\"<\"", "\"\\u003c\"");
	check_data("[\"<<\", \"&lt; \\\"\\\\u\"]", "[\"\\u003c\\u003c\", \"&lt; \\\"\\\\u\"]");
	/* What looks like the template's own marks stays what it is. */
	check_data("\"{{page.css}} {{json}} {{\"", "\"{{page.css}} {{json}} {{\"");
}

static void test_size_bounds(void **state)
{
	char *page = page_of("12345<", 3);
	char *data = data_of(page);

	(void)state;
	assert_string_equal(data, "123");
	free(data);
	free(page);
}

/* Every file of the folder is in the page, once; no mark is left, and no element ends early. */
static void test_whole(void **state)
{
	char *page = page_of("{}", 2);

	(void)state;
	assert_true(html_nr_files > 8);
	for (size_t i = 0; i < html_nr_files; i++) {
		assert_int_equal(strlen(html_files[i].data), html_files[i].size);
		if (strcmp(html_files[i].name, "page.html"))
			assert_int_equal(count(page, html_files[i].data), 1);
	}
	assert_int_equal(count(page, "{{page"), 0);
	assert_int_equal(count(page, ".js}}"), 0);
	assert_int_equal(count(page, "<script"), count(page, "</script"));
	assert_int_equal(count(page, "<!--"), 0);
	assert_int_equal(count(page, "<style"), 1);
	assert_int_equal(count(page, "</style"), 1);
	assert_non_null(strstr(page, "</html>\n"));
	free(page);
}

static void test_write_failure(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	FILE *closed = fopen("/dev/null", "r");

	(void)state;
	assert_non_null(full);
	assert_non_null(closed);
	assert_int_equal(compare_html_write(full, "{}", 2), -ENOSPC);
	assert_int_equal(compare_html_write(closed, "{}", 2), -EBADF);
	fclose(full);
	fclose(closed);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_size_bounds),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_write_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
