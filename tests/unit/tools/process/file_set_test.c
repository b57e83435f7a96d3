/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/process/file_set_test.c - files that were added, by whatever name, until they change
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "process/file_set.h"

static int temporary(char path[32])
{
	int fd;

	snprintf(path, 32, "/tmp/uslab-set-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	return fd;
}

static void test_names(void **state)
{
	struct file_set set = { .tree = NULL };
	char path[32], other_path[32], link_path[40];
	int fd = temporary(path), other = temporary(other_path), again;

	(void)state;
	assert_false(file_set_has(&set, fd));
	file_set_add(&set, fd);
	file_set_add(&set, fd);
	assert_true(file_set_has(&set, fd));
	assert_false(file_set_has(&set, other));
	snprintf(link_path, sizeof(link_path), "%s-link", path);
	assert_int_equal(link(path, link_path), 0);
	again = open(link_path, O_RDONLY);
	assert_true(file_set_has(&set, again));
	close(again);
	unlink(link_path);
	unlink(path);
	unlink(other_path);
	close(fd);
	close(other);
	file_set_free(&set);
	assert_null(set.tree);
}

/* A file that is written to, as by a package's upgrade in place. */
static void test_changed(void **state)
{
	struct file_set set = { .tree = NULL };
	char path[32];
	int fd = temporary(path);

	(void)state;
	file_set_add(&set, fd);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_false(file_set_has(&set, fd));
	file_set_add(&set, fd);
	assert_true(file_set_has(&set, fd));
	unlink(path);
	close(fd);
	file_set_free(&set);
}

static void test_no_file(void **state)
{
	struct file_set set = { .tree = NULL };

	(void)state;
	file_set_add(&set, -1);
	assert_false(file_set_has(&set, -1));
	assert_null(set.tree);
	file_set_free(&set);
}

static void test_many(void **state)
{
	struct file_set set = { .tree = NULL };
	char path[64][32];
	int fd[64];

	(void)state;
	for (int i = 0; i < 64; i++) {
		fd[i] = temporary(path[i]);
		unlink(path[i]);
		if (i % 2)
			file_set_add(&set, fd[i]);
	}
	for (int i = 0; i < 64; i++) {
		assert_int_equal(file_set_has(&set, fd[i]), i % 2);
		close(fd[i]);
	}
	file_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
