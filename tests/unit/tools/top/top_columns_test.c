/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/top/top_columns_test.c - the table of `uslab top` on screens of all
 * widths: whole numbers or none
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "top/top.h"

/* Numbers as long as they get, and a short row. */
static struct top_table *two_rows(struct snapshot_cache *caches)
{
	struct top_table *table = calloc(1, sizeof(*table));

	memset(caches, 0, 2 * sizeof(*caches));
	snprintf(caches[0].name, sizeof(caches[0].name), "a-name-of-thirty-characters-12345");
	caches[0].objects = 12345678901;
	caches[0].object_size = 2147483648;
	caches[0].object_bytes = 98765432109;
	caches[0].slab_bytes = 123456789012;
	caches[0].slabs = 1234567;
	caches[0].partial = 234567;
	caches[0].cpu_slabs = 12;
	caches[0].flags = SLAB_POISON | SLAB_STORE_USER;
	snprintf(caches[1].name, sizeof(caches[1].name), "tiny");
	table->row[0] = (struct top_row){ &caches[0], NULL, 24691356903, -1234567.0 };
	table->row[1] = (struct top_row){ &caches[1], NULL, 0, 0 };
	table->count = 2;
	return table;
}

static void test_all(void **state)
{
	struct snapshot_cache caches[2];
	struct top_table *table = two_rows(caches);
	struct top_layout layout;
	char text[512];

	(void)state;
	top_make_layout(&layout, table, TOP_BY_BYTES, 4000);
	top_header_text(text, sizeof(text), &layout);
	assert_string_equal(
		text, "Name                                  Objects    Objsize      Held     "
		      "Space     Waste     Growth    Slabs/Part/Cpu Flg");
	top_row_text(text, sizeof(text), &table->row[0], &layout);
	assert_string_equal(text,
			    "a-name-of-thirty-characters-12345 12345678901 2147483648     98.7G    "
			    "123.4G     24.6G    -1.2M/s 1234555/234567/12 PU");
	top_row_text(text, sizeof(text), &table->row[1], &layout);
	assert_string_equal(
		text, "tiny                                        0          0         0     "
		      "    0         0          0             0/0/0 ");
	free(table);
}

static bool is_word_of(const char *word, const char *text)
{
	size_t len = strlen(word);

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		if ((at == text || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

/* Every word of a narrow line but the name is a whole one of the wide line, and the line fits. */
static void check_width(const struct top_table *table, unsigned int row, enum top_order order,
			unsigned int width, const char *wide)
{
	struct top_layout layout;
	char text[512], *save = NULL;

	top_make_layout(&layout, table, order, width);
	top_row_text(text, sizeof(text), &table->row[row], &layout);
	assert_in_range(strlen(text), 0, width);
	for (char *word = strtok_r(text + layout.width[TOP_NAME], " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		assert_true(is_word_of(word, wide));
	top_header_text(text, sizeof(text), &layout);
	assert_in_range(strlen(text), 0, width);
}

static void test_widths(void **state)
{
	struct snapshot_cache caches[2];
	struct top_table *table = two_rows(caches);
	struct top_layout layout;
	char wide[512];

	(void)state;
	top_make_layout(&layout, table, TOP_BY_BYTES, 4000);
	for (unsigned int row = 0; row < table->count; row++) {
		top_row_text(wide, sizeof(wide), &table->row[row], &layout);
		for (unsigned int width = 1; width < 200; width++)
			for (enum top_order order = TOP_BY_BYTES; order <= TOP_BY_NAME; order++)
				check_width(table, row, order, width, wide);
	}
	free(table);
}

static bool has(const struct top_table *table, enum top_order order, unsigned int width,
		const char *title)
{
	struct top_layout layout;
	char text[512];

	top_make_layout(&layout, table, order, width);
	top_header_text(text, sizeof(text), &layout);
	return is_word_of(title, text);
}

/* What goes first, and what stays. */
static void test_choice(void **state)
{
	struct snapshot_cache caches[2];
	struct top_table *table = two_rows(caches);

	(void)state;
	table->row[0] = table->row[1];
	assert_true(has(table, TOP_BY_BYTES, 100, "Slabs/Part/Cpu"));
	assert_false(has(table, TOP_BY_BYTES, 80, "Slabs/Part/Cpu"));
	assert_true(has(table, TOP_BY_BYTES, 80, "Growth"));
	assert_false(has(table, TOP_BY_BYTES, 40, "Waste"));
	assert_true(has(table, TOP_BY_WASTE, 40, "Waste"));
	assert_true(has(table, TOP_BY_GROWTH, 20, "Growth"));
	assert_false(has(table, TOP_BY_GROWTH, 20, "Space"));
	free(table);
}

static void test_name_is_cut(void **state)
{
	struct snapshot_cache caches[2];
	struct top_table *table = two_rows(caches);
	struct top_layout layout;
	char text[512];

	(void)state;
	top_make_layout(&layout, table, TOP_BY_BYTES, 30);
	top_row_text(text, sizeof(text), &table->row[0], &layout);
	assert_string_equal(text, "a-name-of-thirty-ch+    123.4G");
	top_make_layout(&layout, table, TOP_BY_BYTES, 4);
	top_row_text(text, sizeof(text), &table->row[0], &layout);
	assert_string_equal(text, "a-n+");
	free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_name_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
