/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/process/sysroot_test.c - paths in a folder as if it were the root, also without
 * openat2()
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "child.h"
#include "process/sysroot.h"

static char folder[] = "/tmp/uslab-sysroot-XXXXXX";
static char outside[64]; /* a file beside it */

static void make_file(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);

	assert_true(fd >= 0);
	close(fd);
}

static int make_tree(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(outside, sizeof(outside), "%s.outside", folder);
	make_file(outside);
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(mkdir("usr", 0755), 0);
	make_file("usr/file");
	make_file("usr/a..b");
	assert_int_equal(mkfifo("usr/pipe", 0644), 0);
	assert_int_equal(symlink("usr", "relative"), 0);
	assert_int_equal(symlink("/usr", "absolute"), 0);
	assert_int_equal(symlink("/usr/file", "usr/link"), 0);
	assert_int_equal(symlink("../../../../usr/file", "usr/up"), 0);
	assert_int_equal(symlink(outside, "out"), 0);
	return chdir("/");
}

static int remove_tree(void **state)
{
	static const char *const files[] = { "usr/file", "usr/a..b", "usr/pipe", "usr/link",
					     "usr/up",	 "relative", "absolute", "out" };

	(void)state;
	assert_int_equal(chdir(folder), 0);
	for (unsigned int i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(files[i]);
	rmdir("usr");
	rmdir(folder);
	return unlink(outside);
}

/* 0: the very file of the folder; or -errno. */
static int open_file(const char *path)
{
	char wanted[128];
	struct stat st, want;
	int root = sysroot_open(folder);
	int fd = sysroot_open_regular(root, path);
	int error = fd < 0 ? fd : 0;

	snprintf(wanted, sizeof(wanted), "%s/usr/file", folder);
	if (fd >= 0 && (fstat(fd, &st) || stat(wanted, &want) || st.st_ino != want.st_ino))
		error = 1;
	if (fd >= 0)
		close(fd);
	close(root);
	return error;
}

static void test_plain(void **state)
{
	(void)state;
	assert_int_equal(open_file("/usr/file"), 0);
	assert_int_equal(open_file("//usr///file"), 0);
	assert_int_equal(open_file("usr/file"), 0);
	assert_int_equal(open_file("/relative/file"), 0);
	assert_int_equal(open_file("/no"), -ENOENT);
	assert_int_equal(open_file(""), -ENOENT);
	assert_int_equal(open_file("/usr"), -ENXIO);
	assert_int_equal(open_file("/usr/pipe"), -ENXIO);
	assert_int_equal(open_file(folder), -ENOENT);
}

static bool has_openat2(void)
{
#if defined(SYS_openat2) && __has_include(<linux/openat2.h>)
	return syscall(SYS_openat2, -1, NULL, NULL, 0) < 0 && errno != ENOSYS && errno != EPERM;
#else
	return false;
#endif
}

static void test_links(void **state)
{
	(void)state;
	if (!has_openat2())
		skip();
	assert_int_equal(open_file("/absolute/file"), 0);
	assert_int_equal(open_file("/absolute/link"), 0);
	assert_int_equal(open_file("/usr/up"), 0);
	assert_int_equal(open_file("/../../usr/file"), 0);
	assert_int_equal(open_file("/out"), -ENOENT);
	assert_int_equal(open_file("/../../proc/self/exe"), -ENOENT);
}

static void without_openat2(void *arg)
{
	const int *error = arg;

#ifdef SYS_openat2
	child_deny(SYS_openat2, *error);
#endif
	CHILD_CHECK(open_file("/usr/file") == 0);
	CHILD_CHECK(open_file("usr/file") == 0);
	CHILD_CHECK(open_file("/relative/file") == 0);
	CHILD_CHECK(open_file("/no") == -ENOENT);
	CHILD_CHECK(open_file("/usr/pipe") == -ENXIO);
	CHILD_CHECK(open_file("/usr/a..b") == 1);
	CHILD_CHECK(open_file("/../usr/file") == -EXDEV);
	CHILD_CHECK(open_file("usr/..") == -EXDEV);
	CHILD_CHECK(open_file("..") == -EXDEV);
}

static void test_without_openat2(void **state)
{
	static int errors[] = { ENOSYS, EPERM };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct child c = child_run(without_openat2, &errors[i]);

		assert_true(child_passed(&c));
	}
}

static void test_no_folder(void **state)
{
	(void)state;
	assert_int_equal(sysroot_open("/no/such"), -ENOENT);
	assert_int_equal(sysroot_open(""), -ENOENT);
	assert_int_equal(sysroot_open(outside), -ENOTDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_without_openat2),
		cmocka_unit_test(test_no_folder),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
