/* SPDX-License-Identifier: MIT */
/*
 * unit/os/process/file_test.c - short text files: whole, cut, missing; lines for a log
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

#include "bare.h"
#include "child.h"
#include "os/process/file.h"
#include "temp_file.h"
#include "use_again.h"

static int make_file(void **state)
{
	return temp_file_make(state) || temp_file_fill("0-3,8\n", 6);
}

static void test_whole(void **state)
{
	char buf[64];

	(void)state;
	memset(buf, 'z', sizeof(buf));
	assert_int_equal(os_read_text(temp_file, buf, sizeof(buf)), 6);
	assert_string_equal(buf, "0-3,8\n");
	assert_int_equal(buf[7], 'z');
}

static void test_cut(void **state)
{
	char buf[8] = "zzzzzzz";

	(void)state;
	assert_int_equal(os_read_text(temp_file, buf, 4), 3);
	assert_memory_equal(buf, "0-3\0zzz", 8);
	assert_int_equal(os_read_text(temp_file, buf, 7), 6);
	assert_string_equal(buf, "0-3,8\n");
	assert_int_equal(os_read_text(temp_file, buf, 1), 0);
	assert_string_equal(buf, "");
}

static void test_append(void **state)
{
	char name[sizeof(temp_file) + 4];
	char buf[64];

	(void)state;
	snprintf(name, sizeof(name), "%s.log", temp_file);
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

/* Where a log's descriptor lies at least, of which 500 is asked. */
static int least_of_log(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur > 500)
		return 500;
	return limit.rlim_cur < limit.rlim_max ? (int)limit.rlim_cur : STDERR_FILENO + 1;
}

/* The descriptor is used while it is that file and the file has its name; else the path. */
static void test_log(void **state)
{
	char name[sizeof(temp_file) + 4];
	char other[sizeof(temp_file) + 8];
	struct os_log log;
	char buf[64];
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "%s.log", temp_file);
	snprintf(other, sizeof(other), "%s.1", name);
	errno = 77;
	assert_int_equal(os_log_open(&log, name, 500), 0);
	fd = log.fd_plus_1 - 1;
	assert_true(fd >= least_of_log());
	assert_int_equal(rename(name, other), 0);
	assert_int_equal(os_log_append(&log, "/nowhere/at/all", "one\n", 4), 0);
	assert_int_equal(os_read_text(other, buf, sizeof(buf)), 4);

	/* closed, and then used again for something else */
	close(fd);
	assert_int_equal(os_log_append(&log, "/nowhere/at/all", "two\n", 4), -ENOENT);
	use_again(fd);
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

static struct {
	char name[sizeof(temp_file) + 4];
	char old[sizeof(temp_file) + 8];
	struct os_log log;
} rotated;

static void append(const char *text)
{
	assert_int_equal(os_log_append(&rotated.log, rotated.name, text, strlen(text)), 0);
}

static void check_files(const char *new, const char *old)
{
	char buf[64];

	os_read_text(rotated.name, buf, sizeof(buf));
	assert_string_equal(buf, new);
	os_read_text(rotated.old, buf, sizeof(buf));
	assert_string_equal(buf, old);
}

static void start_log(void)
{
	snprintf(rotated.name, sizeof(rotated.name), "%s.log", temp_file);
	snprintf(rotated.old, sizeof(rotated.old), "%s.1", rotated.name);
	assert_int_equal(os_log_open(&rotated.log, rotated.name, 500), 0);
	append("one\n");
	assert_int_equal(rename(rotated.name, rotated.old), 0);
}

static void end_log(void)
{
	os_log_close(&rotated.log);
	unlink(rotated.name);
	unlink(rotated.old);
}

/* Logs are renamed, by who knows nothing of the program; a new one may be there, or not. */
static void test_rotation(void **state)
{
	int first, lowest = dup(0);

	(void)state;
	close(lowest);
	start_log();
	first = rotated.log.fd_plus_1 - 1;
	append("two\n");
	check_files("two\n", "one\n");
	assert_int_equal(fcntl(first, F_GETFD) < 0 || rotated.log.fd_plus_1 - 1 == first, 1);
	append("three\n");
	assert_int_equal(rename(rotated.name, rotated.old), 0);
	assert_int_equal(close(open(rotated.name, O_CREAT | O_WRONLY, 0640)), 0);
	append("four\n");
	append("five\n");
	check_files("four\nfive\n", "two\nthree\n");

	/* removed, and truncated */
	assert_int_equal(unlink(rotated.name), 0);
	append("six\n");
	assert_int_equal(truncate(rotated.name, 0), 0);
	append("seven\n");
	check_files("seven\n", "two\nthree\n");

	/* the descriptor was closed, and is another file's now */
	first = rotated.log.fd_plus_1 - 1;
	use_again(first);
	append("eight\n");
	check_files("seven\neight\n", "two\nthree\n");
	assert_int_equal(fcntl(first, F_GETFD), 0);
	close(first);
	end_log();
	assert_int_equal(dup(0), lowest); /* nothing is left open */
	close(lowest);
}

/* What others may have put there is not written to. */
static void test_planted(void **state)
{
	char victim[sizeof(temp_file) + 7];
	char buf[8];

	(void)state;
	snprintf(victim, sizeof(victim), "%s.victim", temp_file);
	start_log();
	assert_int_equal(close(open(victim, O_CREAT | O_WRONLY, 0600)), 0);
	assert_int_equal(symlink(victim, rotated.name), 0);
	append("two\n");
	assert_int_equal(unlink(rotated.name), 0);
	assert_int_equal(link(victim, rotated.name), 0);
	append("three\n");
	assert_int_equal(unlink(rotated.name), 0);
	assert_int_equal(mkfifo(rotated.name, 0600), 0);
	append("four\n");
	assert_int_equal(unlink(rotated.name), 0);
	assert_int_equal(os_read_text(victim, buf, sizeof(buf)), 0);
	if (geteuid() == 0) { /* else nobody can make a file of another one */
		assert_int_equal(chown(victim, 65534, 65534), 0);
		assert_int_equal(rename(victim, rotated.name), 0);
		append("five\n");
		check_files("", "one\ntwo\nthree\nfour\nfive\n");
	}
	unlink(victim);
	end_log();
}

/* A name that is a link from the start stays one. */
static void test_link(void **state)
{
	char name[sizeof(temp_file) + 5];

	(void)state;
	snprintf(rotated.name, sizeof(rotated.name), "%s.log", temp_file);
	snprintf(rotated.old, sizeof(rotated.old), "%s.1", rotated.name);
	snprintf(name, sizeof(name), "%s.link", temp_file);
	assert_int_equal(symlink(rotated.name, name), 0);
	assert_int_equal(os_log_open(&rotated.log, name, 500), 0);
	assert_int_equal(os_log_append(&rotated.log, name, "one\n", 4), 0);
	assert_int_equal(rename(rotated.name, rotated.old), 0);
	assert_int_equal(os_log_append(&rotated.log, name, "two\n", 4), 0);
	check_files("two\n", "one\n");
	unlink(name);
	end_log();
}

static void in_another_root(void *arg)
{
	CHILD_CHECK(chroot(arg) == 0 && chdir("/") == 0);
	CHILD_CHECK(os_log_append(&rotated.log, rotated.name, "two\n", 4) == 0);
	CHILD_CHECK(access(rotated.name, F_OK) != 0);
}

/* There the same path leads to something else. */
static void test_root(void **state)
{
	char jail[sizeof(temp_file) + 5];
	char inside[2 * sizeof(temp_file) + 20];
	struct child c;

	(void)state;
	if (geteuid() != 0 || is_emulated())
		skip(); /* chroot() is root's, and takes an emulator's own files away */
	start_log();
	snprintf(jail, sizeof(jail), "%s.jail", temp_file);
	snprintf(inside, sizeof(inside), "%s/tmp", jail);
	assert_int_equal(mkdir(jail, 0700) || mkdir(inside, 0700), 0);
	c = child_run(in_another_root, jail);
	assert_true(child_passed(&c));
	check_files("", "one\ntwo\n");
	end_log();
	assert_int_equal(rmdir(inside), 0);
	assert_int_equal(rmdir(jail), 0);
}

/*
 * Nobody waits: neither for a reader, nor for room in a pipe; and none that
 * goes away ends the program.
 */
static void test_fifo(void **state)
{
	static char large[1 << 17]; /* more than a pipe holds */
	char name[sizeof(temp_file) + 5];
	struct os_log log;
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "%s.fifo", temp_file);
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
	assert_int_equal(os_log_open(&log, temp_file, 100), 0);
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
	os_read_text(temp_file, buf, sizeof(buf));
	os_read_text("/proc", buf, sizeof(buf));
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	 cmocka_unit_test(test_cut),
		cmocka_unit_test(test_missing),	 cmocka_unit_test(test_append),
		cmocka_unit_test(test_log),	 cmocka_unit_test(test_absolute_path),
		cmocka_unit_test(test_pieces),	 cmocka_unit_test(test_closes),
		cmocka_unit_test(test_fifo),	 cmocka_unit_test(test_above_limit),
		cmocka_unit_test(test_rotation), cmocka_unit_test(test_planted),
		cmocka_unit_test(test_link),	 cmocka_unit_test(test_root),
	};

	return cmocka_run_group_tests(tests, make_file, temp_file_remove);
}
