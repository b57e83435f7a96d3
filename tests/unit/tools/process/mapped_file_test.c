/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/process/mapped_file_test.c - files of this process that were deleted, replaced, or
 * are none
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "process/mapped_file.h"

static void test_length(void **state)
{
	bool deleted;

	(void)state;
	assert_int_equal(mapped_file_length("/bin/a", &deleted), 6);
	assert_false(deleted);
	assert_int_equal(mapped_file_length("/bin/a (deleted)", &deleted), 6);
	assert_true(deleted);
	assert_int_equal(mapped_file_length(" (deleted)", &deleted), 10);
	assert_false(deleted);
	assert_int_equal(mapped_file_length("", &deleted), 0);
	assert_false(deleted);
}

static bool same_file(int fd, const struct stat *wanted)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == wanted->st_dev && st.st_ino == wanted->st_ino;
}

/* By its path, and as a deleted one by /proc/PID/exe: any other of that name is not asked for. */
static void test_program(void **state)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
	struct stat st;

	(void)state;
	assert_true(n > 0 && n < (ssize_t)sizeof(path));
	path[n] = '\0';
	assert_int_equal(stat(path, &st), 0);
	for (int deleted = 0; deleted < 2; deleted++) {
		int fd = mapped_file_open(getpid(), path, (size_t)n, deleted, 0, 0);

		assert_true(fd >= 0 && same_file(fd, &st));
		close(fd);
	}
	/* not of that name: neither this program's, nor mapped there */
	assert_true(mapped_file_open(getpid(), path, (size_t)n - 1, true, 0, 4096) < 0);
}

/* One that is gone: by map_files, or not at all. */
static void test_deleted(void **state)
{
	char path[] = "/tmp/uslab-mapped-XXXXXX";
	int fd = mkstemp(path), other;
	struct stat st;
	char *at;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(fstat(fd, &st), 0);
	at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	unlink(path);
	other = open(path, O_CREAT | O_EXCL | O_RDWR, 0600); /* in its place */
	assert_true(other >= 0);
	close(fd);
	fd = mapped_file_open(getpid(), path, strlen(path), true, (uintptr_t)at,
			      (uintptr_t)at + 4096);
	if (fd >= 0) {
		assert_true(same_file(fd, &st));
		close(fd);
	} else {
		assert_true(fd == -EPERM || fd == -EACCES);
	}
	unlink(path);
	close(other);
	munmap(at, 4096);
}

static void test_no_files(void **state)
{
	char path[] = "/tmp/uslab-mapped-XXXXXX";

	(void)state;
	assert_int_equal(mapped_file_open_regular("/dev/null"), -ENXIO);
	assert_int_equal(mapped_file_open_regular("/nonexistent"), -ENOENT);
	assert_non_null(mkdtemp(path));
	assert_int_equal(mapped_file_open_regular(path), -ENXIO);
	rmdir(path);
	assert_true(mapped_file_open(0x7fffffff, "/bin/sh", 7, false, 0, 4096) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_deleted),
		cmocka_unit_test(test_no_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
