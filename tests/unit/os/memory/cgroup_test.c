/* SPDX-License-Identifier: MIT */
/*
 * unit/os/memory/cgroup_test.c - lines of /proc/self/cgroup and mountinfo; numbers of a cgroup's
 * files; this process' own, where it has one
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "os/memory/cgroup.c"
#include "use_again.h"

static void test_words(void **state)
{
	(void)state;
	assert_true(has_word("cpu,memory,pids", "memory"));
	assert_true(has_word("memory:/x", "memory"));
	assert_true(has_word("rw,memory", "memory"));
	assert_false(has_word("rw,memory_recursiveprot", "memory"));
	assert_false(has_word("name=memory", "memory"));
}

static void test_mounts(void **state)
{
	char v1[] = "35 31 0:32 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory";
	char v2[] =
		"41 31 0:38 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";
	char other[] = "35 31 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu";
	char bad[] = "cgroup2";
	char *root;
	char *point;

	(void)state;
	assert_true(is_mount(v1, false, &root, &point));
	assert_string_equal(root, "/docker/x");
	assert_string_equal(point, "/sys/fs/cgroup/memory");
	assert_true(is_mount(v2, true, &root, &point));
	assert_string_equal(root, "/");
	assert_string_equal(point, "/sys/fs/cgroup");
	assert_false(is_mount(other, false, &root, &point));
	assert_false(is_mount(bad, true, &root, &point));
}

static void test_numbers(void **state)
{
	static const char stat[] =
		"cache 1\ninactive_file 22\nactive_file 3\ntotal_inactive_file 77\n";

	(void)state;
	assert_int_equal(number_of(stat, "inactive_file "), 22);
	assert_int_equal(number_of(stat, "total_inactive_file "), 77);
	assert_int_equal(number_of(stat, "cache "), 1);
	assert_int_equal(number_of(stat, "file "), 0);
	assert_int_equal(number_of("", "file "), 0);
}

/* Whatever the machine has: numbers that can be. */
static void test_own(void **state)
{
	struct os_cgroup group;
	struct os_cgroup_use use;

	(void)state;
	if (os_cgroup_open(&group)) {
		print_message("this process is in no memory cgroup\n");
		skip();
	}
	assert_true(os_cgroup_look(&group, &use));
	assert_true(use.most > 0 && use.used < 1ul << 60);
	close_all(&group);
	assert_false(os_cgroup_look(&group, &use));
}

static void test_psi(void **state)
{
	struct os_kept psi = { 0 };
	int ret = os_psi_open(&psi, OS_PSI_MACHINE, 150000, 1000000);

	(void)state;
	if (ret == -ENOENT) {
		print_message("this system has no /proc/pressure/memory\n");
		skip();
	}
	assert_true(os_psi_total(&psi) > 0);
	os_kept_close(&psi);
	assert_int_equal(os_psi_total(&psi), 0);
}

/* A descriptor that the program closed and uses again is no file of ours. */
static void test_kept(void **state)
{
	struct os_kept kept;
	char text[64];
	int fd;

	(void)state;
	assert_int_equal(os_kept_open(&kept, "/proc/self/stat", O_RDONLY), 0);
	assert_true(os_kept_read(&kept, text, sizeof(text)) > 0);
	fd = os_kept_fd(&kept);
	assert_true(fd > 2);
	use_again(fd);
	assert_int_equal(os_kept_fd(&kept), -1);
	assert_int_equal(os_kept_read(&kept, text, sizeof(text)), -EBADF);
	os_kept_close(&kept);
	assert_true(fcntl(fd, F_GETFD) >= 0); /* it is still open, for it is not ours */
	close(fd);
}

/* Debian's limit is 1024, and what the program may raise that to is far more. */
static void test_kept_above_limit(void **state)
{
	struct rlimit before;
	struct rlimit low;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	if (getenv("USLAB_TEST_VALGRIND") || before.rlim_max <= 300)
		skip(); /* valgrind keeps that limit for itself */
	low = (struct rlimit){ 300, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	test_kept(state);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_psi),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_kept_above_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
