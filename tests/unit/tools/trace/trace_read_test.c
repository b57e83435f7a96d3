/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/trace/trace_read_test.c - lines of plain and compressed files, whole, cut and damaged
 */
#include "trace/trace_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

#include "temp_file.h"

static char why[256];

static struct trace_reader *open_bytes(const void *bytes, size_t length)
{
	assert_int_equal(temp_file_fill(bytes, length), 0);
	why[0] = '\0';
	return trace_read_open(temp_file, why, sizeof(why));
}

static void assert_line(struct trace_reader *r, enum trace_read kind, const char *text)
{
	const char *line = NULL;
	size_t length = 0;

	assert_int_equal(trace_read_line(r, &line, &length), kind);
	if (text) {
		assert_int_equal(length, strlen(text));
		assert_memory_equal(line, text, length);
	}
}

/* size bytes of numbered lines, ended by a newline; the caller frees them. */
static char *numbered_lines(unsigned int nr, size_t *size)
{
	char *text = malloc(nr * 16u + 1);

	*size = 0;
	assert_non_null(text);
	for (unsigned int i = 1; i <= nr; i++)
		*size += (size_t)sprintf(text + *size, "line %u\n", i);
	return text;
}

static void assert_numbered(struct trace_reader *r, unsigned int nr)
{
	char text[32];

	for (unsigned int i = 1; i <= nr; i++) {
		snprintf(text, sizeof(text), "line %u", i);
		assert_line(r, TRACE_READ_LINE, text);
		assert_int_equal(trace_read_number(r), i);
	}
}

/* Compressed in frames of at most step bytes. */
static char *compress(const char *text, size_t size, size_t step, size_t *compressed)
{
	size_t bound = ZSTD_compressBound(size) + (size / step + 1) * 64;
	char *out = malloc(bound);

	assert_non_null(out);
	*compressed = 0;
	for (size_t at = 0; at < size; at += step) {
		size_t part = size - at < step ? size - at : step;
		size_t n =
			ZSTD_compress(out + *compressed, bound - *compressed, text + at, part, 3);

		assert_false(ZSTD_isError(n));
		*compressed += n;
	}
	return out;
}

static void plain_lines(void **state)
{
	struct trace_reader *r = open_bytes("a\n\nb c\n", 7);

	(void)state;
	assert_non_null(r);
	assert_line(r, TRACE_READ_LINE, "a");
	assert_line(r, TRACE_READ_LINE, "");
	assert_line(r, TRACE_READ_LINE, "b c");
	assert_int_equal(trace_read_number(r), 3);
	assert_line(r, TRACE_READ_END, NULL);
	assert_line(r, TRACE_READ_END, NULL);
	trace_read_close(r);
}

static void empty_file(void **state)
{
	struct trace_reader *r = open_bytes("", 0);

	(void)state;
	assert_non_null(r);
	assert_line(r, TRACE_READ_END, NULL);
	assert_int_equal(trace_read_number(r), 0);
	trace_read_close(r);
}

static void last_line_cut(void **state)
{
	struct trace_reader *r = open_bytes("a\nbc", 4);

	(void)state;
	assert_line(r, TRACE_READ_LINE, "a");
	assert_line(r, TRACE_READ_CUT, "bc");
	assert_int_equal(trace_read_number(r), 2);
	assert_line(r, TRACE_READ_END, NULL);
	trace_read_close(r);
}

static void many_lines_and_position(void **state)
{
	size_t size;
	char *text = numbered_lines(100000, &size);
	struct trace_reader *r = open_bytes(text, size);
	uint64_t done, whole;

	(void)state;
	assert_numbered(r, 50000);
	trace_read_position(r, &done, &whole);
	assert_int_equal(whole, size);
	assert_true(done > size / 3 && done < size);
	trace_read_close(r);
	free(text);
}

static void line_lengths_around_the_limit(void **state)
{
	char *text = malloc(4 * TRACE_LINE_MAX);

	(void)state;
	assert_non_null(text);
	for (size_t length = TRACE_LINE_MAX - 1; length <= TRACE_LINE_MAX + 1; length++) {
		bool fits = length <= TRACE_LINE_MAX;
		struct trace_reader *r;

		memset(text, 'x', length);
		memcpy(text + length, "\ny\n", 3);
		r = open_bytes(text, length + 3);
		assert_line(r, fits ? TRACE_READ_LINE : TRACE_READ_LONG, NULL);
		assert_line(r, TRACE_READ_LINE, "y");
		assert_int_equal(trace_read_number(r), 2);
		trace_read_close(r);
	}
	memset(text, 'x', 4 * TRACE_LINE_MAX);
	for (int newline = 0; newline < 2; newline++) {
		struct trace_reader *r;

		text[4 * TRACE_LINE_MAX - 1] = newline ? '\n' : 'x';
		r = open_bytes(text, 4 * TRACE_LINE_MAX);
		assert_line(r, TRACE_READ_LONG, NULL);
		assert_int_equal(trace_read_number(r), 1);
		assert_line(r, TRACE_READ_END, NULL);
		trace_read_close(r);
	}
	free(text);
}

/* Who gives up at the first mistake is told of it at once. */
static void line_without_end(void **state)
{
	char error[256];
	struct trace_reader *r = trace_read_open("/dev/zero", error, sizeof(error));

	(void)state;
	assert_non_null(r);
	assert_line(r, TRACE_READ_LONG, NULL);
	assert_int_equal(trace_read_number(r), 1);
	trace_read_close(r);
}

static void compressed_lines(void **state)
{
	static const size_t steps[] = { 1000000000, 100001, 777 };
	size_t size;
	char *text = numbered_lines(30000, &size);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		size_t compressed;
		char *bytes = compress(text, size, steps[i], &compressed);
		struct trace_reader *r = open_bytes(bytes, compressed);

		assert_numbered(r, 30000);
		assert_line(r, TRACE_READ_END, NULL);
		trace_read_close(r);
		free(bytes);
	}
	free(text);
}

static void skippable_frame_first(void **state)
{
	char bytes[128] = { 0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c' };
	size_t n = ZSTD_compress(bytes + 11, sizeof(bytes) - 11, "x\n", 2, 1);
	struct trace_reader *r;

	(void)state;
	assert_false(ZSTD_isError(n));
	r = open_bytes(bytes, 11 + n);
	assert_line(r, TRACE_READ_LINE, "x");
	assert_line(r, TRACE_READ_END, NULL);
	trace_read_close(r);
}

/* Whole lines before the place, then an error; never anything else. */
static void compressed_and_cut(void **state)
{
	size_t size, compressed;
	char *text = numbered_lines(3000, &size);
	char *bytes = compress(text, size, size, &compressed);

	(void)state;
	for (size_t cut = 4; cut < compressed; cut += cut < 40 ? 1 : 97) {
		struct trace_reader *r = open_bytes(bytes, cut);
		enum trace_read got;
		const char *line;
		size_t length;

		assert_non_null(r);
		do
			got = trace_read_line(r, &line, &length);
		while (got == TRACE_READ_LINE);
		assert_int_equal(got, TRACE_READ_ERROR);
		assert_non_null(strstr(trace_read_error(r), "the zstd data ends early"));
		assert_line(r, TRACE_READ_ERROR, NULL);
		trace_read_close(r);
	}
	free(bytes);
	free(text);
}

static void garbage_behind_the_last_frame(void **state)
{
	char bytes[128];
	size_t n = ZSTD_compress(bytes, sizeof(bytes), "x\n", 2, 1);
	struct trace_reader *r;

	(void)state;
	assert_false(ZSTD_isError(n));
	memcpy(bytes + n, "garbage", 7);
	r = open_bytes(bytes, n + 7);
	assert_line(r, TRACE_READ_LINE, "x");
	assert_line(r, TRACE_READ_ERROR, NULL);
	assert_non_null(strstr(trace_read_error(r), "damaged"));
	trace_read_close(r);
}

static void foreign_files(void **state)
{
	(void)state;
	assert_null(open_bytes("\x17\x08\x44tracing6\0", 12));
	assert_non_null(strstr(why, "1: expected the text of a trace, found a trace.dat file"));
	assert_null(open_bytes("PERFILE2", 8));
	assert_non_null(strstr(why, "perf script"));
	assert_null(open_bytes("\x1f\x8b", 2));
	assert_non_null(strstr(why, "gzip"));
	assert_null(trace_read_open("/does/not/exist", why, sizeof(why)));
	assert_string_equal(why, " cannot open: No such file or directory");
	assert_null(trace_read_open("/", why, sizeof(why)));
	assert_string_equal(why, " cannot read: Is a directory");
	trace_read_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_lines),
		cmocka_unit_test(empty_file),
		cmocka_unit_test(last_line_cut),
		cmocka_unit_test(many_lines_and_position),
		cmocka_unit_test(line_lengths_around_the_limit),
		cmocka_unit_test(line_without_end),
		cmocka_unit_test(compressed_lines),
		cmocka_unit_test(skippable_frame_first),
		cmocka_unit_test(compressed_and_cut),
		cmocka_unit_test(garbage_behind_the_last_frame),
		cmocka_unit_test(foreign_files),
	};

	return cmocka_run_group_tests(tests, temp_file_make, temp_file_remove);
}
