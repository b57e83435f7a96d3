/* SPDX-License-Identifier: MIT */
/*
 * unit/os/file_test.c - short text files: whole, cut, missing; lines for a log
 *
 * Works on a temporary file and on real ones of /proc.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "os/file.h"

static char path[] = "/tmp/uslab-file-test-XXXXXX";

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd >= 0 && write(fd, "0-3,8\n", 6) == 6 && close(fd) == 0 ? 0 : -1;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void test_whole(void **state)
{
	char buf[64];

	(void)state;
	memset(buf, 'z', sizeof(buf));
	assert_int_equal(os_read_text(path, buf, sizeof(buf)), 6);
	assert_string_equal(buf, "0-3,8\n");
	assert_int_equal(buf[7], 'z');
}

static void test_cut(void **state)
{
	char buf[8] = "zzzzzzz";

	(void)state;
	assert_int_equal(os_read_text(path, buf, 4), 3);
	assert_memory_equal(buf, "0-3\0zzz", 8);
	assert_int_equal(os_read_text(path, buf, 7), 6);
	assert_string_equal(buf, "0-3,8\n");
	assert_int_equal(os_read_text(path, buf, 1), 0);
	assert_string_equal(buf, "");
}

static void test_append(void **state)
{
	char name[sizeof(path) + 4];
	char buf[64];

	(void)state;
	snprintf(name, sizeof(name), "%s.log", path);
	errno = 77;
	assert_int_equal(os_append(name, "one\n", 4), 0);
	assert_int_equal(os_append(name, "", 0), 0);
	assert_int_equal(os_append(name, "two\n", 4), 0);
	assert_int_equal(errno, 77);
	assert_int_equal(os_read_text(name, buf, sizeof(buf)), 8);
	assert_string_equal(buf, "one\ntwo\n");
	assert_int_equal(unlink(name), 0);
	assert_int_equal(os_append("/nowhere/at/all", "x", 1), -ENOENT);
	assert_int_equal(os_append("/dev/full", "x", 1), -ENOSPC);
}

/* The descriptor is used while it is that file and the file has its name; else the path. */
static void test_log(void **state)
{
	char name[sizeof(path) + 4];
	char other[sizeof(path) + 8];
	struct os_log log;
	char buf[64];
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "%s.log", path);
	snprintf(other, sizeof(other), "%s.1", name);
	errno = 77;
	assert_int_equal(os_log_open(&log, name, 500), 0);
	fd = log.fd_plus_1 - 1;
	assert_true(fd >= 500);
	assert_int_equal(rename(name, other), 0);
	assert_int_equal(os_log_append(&log, "/nowhere/at/all", "one\n", 4), 0);
	assert_int_equal(os_read_text(other, buf, sizeof(buf)), 4);

	/* closed, and then used again for something else */
	close(fd);
	assert_int_equal(os_log_append(&log, "/nowhere/at/all", "two\n", 4), -ENOENT);
	assert_int_equal(dup2(STDERR_FILENO, fd), fd);
	assert_int_equal(os_log_append(&log, other, "two\n", 4), 0);
	assert_int_equal(os_read_text(other, buf, sizeof(buf)), 8);
	os_log_close(&log);
	assert_int_equal(fcntl(fd, F_GETFD), 0); /* not ours: not closed */
	close(fd);

	assert_int_equal(os_log_open(&log, other, 500), 0);
	assert_int_equal(unlink(other), 0);
	assert_int_equal(os_log_append(&log, "/nowhere/at/all", "three\n", 6), -ENOENT);
	os_log_close(&log);
	assert_int_equal(fcntl(fd, F_GETFD), -1);

	errno = 77;
	assert_int_equal(os_log_open(&log, "/dev/full", 500), 0);
	assert_int_equal(log.fd_plus_1, 0);
	assert_int_equal(os_log_append(&log, "/dev/full", "x", 1), -ENOSPC);
	assert_int_equal(os_log_open(&log, "/nowhere/at/all", 500), -ENOENT);
	assert_int_equal(errno, 77);
}

/*
 * Nobody waits: neither for a reader, nor for room in a pipe; and none that
 * goes away ends the program.
 */
static void test_fifo(void **state)
{
	static char large[1 << 17]; /* more than a pipe holds */
	char name[sizeof(path) + 5];
	struct os_log log;
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "%s.fifo", path);
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_int_equal(os_log_open(&log, name, 500), 0);
	assert_int_equal(os_log_append(&log, name, "x", 1), -ENXIO);
	fd = open(name, O_RDONLY | O_NONBLOCK);
	assert_int_equal(os_log_append(&log, name, "x", 1), 0);
	assert_int_equal(read(fd, large, sizeof(large)), 1);
	assert_int_equal(os_log_append(&log, name, large, sizeof(large)), -EAGAIN);
	close(fd);
	os_log_close(&log);
	unlink(name);
	assert_int_equal(os_log_open(&log, "/tmp", 500), -EINVAL);
}

/* A daemon's loop of close() does not get to it. */
static void test_above_limit(void **state)
{
	struct rlimit before;
	struct rlimit after;
	struct os_log log;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	if (getenv("USLAB_TEST_VALGRIND") || before.rlim_max <= 300)
		skip(); /* valgrind keeps that limit for itself */
	after = (struct rlimit){ 300, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &after), 0);
	assert_int_equal(os_log_open(&log, path, 100), 0);
	assert_int_equal(log.fd_plus_1 - 1, 300);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
	assert_int_equal(after.rlim_cur, 300);
	os_log_close(&log);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void test_absolute_path(void **state)
{
	char buf[32];

	(void)state;
	assert_int_equal(chdir("/proc"), 0);
	assert_int_equal(os_absolute_path(buf, sizeof(buf), "a/b"), 0);
	assert_string_equal(buf, "/proc/a/b");
	assert_int_equal(os_absolute_path(buf, sizeof(buf), "/a"), 0);
	assert_string_equal(buf, "/a");
	assert_int_equal(os_absolute_path(buf, 9, "a/b"), -ENAMETOOLONG);
	assert_int_equal(os_absolute_path(buf, 10, "a/b"), 0);
	assert_int_equal(os_absolute_path(buf, 2, "/a"), -ENAMETOOLONG);
	assert_int_equal(os_absolute_path(buf, 3, "a"), -ERANGE);
}

static void test_missing(void **state)
{
	char buf[8] = "zzzzzzz";

	(void)state;
	errno = 77;
	assert_int_equal(os_read_text("/nonexistent/file", buf, sizeof(buf)), -ENOENT);
	assert_string_equal(buf, "");
	assert_int_equal(os_read_text("/proc", buf, sizeof(buf)), -EISDIR);
	assert_string_equal(buf, "");
	assert_int_equal(errno, 77);
}

/* /proc hands out text in pieces of a page at most. */
static void test_pieces(void **state)
{
	static char buf[1 << 17];
	long len;

	(void)state;
	len = os_read_text("/proc/self/smaps", buf, sizeof(buf));
	assert_true(len > 8192);
	assert_int_equal(strlen(buf), len);
}

/* The lowest free descriptor is the same after success and after failure. */
static void test_closes(void **state)
{
	char buf[8];
	int before = dup(0);
	int after;

	(void)state;
	close(before);
	os_read_text(path, buf, sizeof(buf));
	os_read_text("/proc", buf, sizeof(buf));
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	cmocka_unit_test(test_cut),
		cmocka_unit_test(test_missing), cmocka_unit_test(test_append),
		cmocka_unit_test(test_log),	cmocka_unit_test(test_absolute_path),
		cmocka_unit_test(test_pieces),	cmocka_unit_test(test_closes),
		cmocka_unit_test(test_fifo),	cmocka_unit_test(test_above_limit),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
