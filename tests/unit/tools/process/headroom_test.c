/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/process/headroom_test.c - the headroom of processes in made-up trees of cgroups
 *
 * Each test has a folder: proc/cgroup, proc/root (the process' own files), mounts, meminfo, and
 * here/, where this tool would have cgroups mounted.
 */
#define _GNU_SOURCE
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "process/headroom.h"

#define MB (1ull << 20)

static char base[64];
static char text[HEADROOM_TEXT];

static const char *at(const char *name)
{
	static char path[4][512];
	static unsigned int turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", base, name);
	return path[turn];
}

static void make_folders(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s", at(name));
	for (char *p = path + strlen(base) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
}

static void write_file(const char *name, const char *content)
{
	FILE *file;

	make_folders(name);
	file = fopen(at(name), "w");
	assert_non_null(file);
	fputs(content, file);
	assert_int_equal(fclose(file), 0);
}

/* Files of one cgroup; NULL: it has not got that one. */
static void group2(const char *folder, const char *current, const char *max, const char *high,
		   const char *inactive)
{
	const char *const files[] = { "memory.current", "memory.max", "memory.high" };
	const char *const texts[] = { current, max, high };
	char name[256], stat[128];

	for (unsigned int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s/%s", folder, files[i]);
		if (texts[i])
			write_file(name, texts[i]);
	}
	snprintf(name, sizeof(name), "%s/memory.stat", folder);
	snprintf(stat, sizeof(stat), "anon 1\nactive_file 0\ninactive_file %s\nfile 77\n",
		 inactive ? inactive : "0");
	write_file(name, stat);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int setup(void **state)
{
	char mounts[1024];

	(void)state;
	strcpy(base, "/tmp/uslab-headroom-XXXXXX");
	if (!mkdtemp(base))
		return -1;
	snprintf(mounts, sizeof(mounts),
		 "31 23 0:28 / %s rw - tmpfs tmpfs rw,mode=755\n"
		 "32 31 0:29 / %s/here/cpu rw,relatime - cgroup cgroup rw,cpu\n"
		 "33 31 0:30 / %s/here/v1 rw,relatime shared:9 - cgroup cgroup rw,memory\n"
		 "34 31 0:31 / %s/here/v2 rw,relatime shared:10 - cgroup2 cgroup2 rw\n",
		 base, base, base, base);
	write_file("mounts", mounts);
	write_file("meminfo", "MemTotal: 8000000 kB\nMemFree: 1 kB\nMemAvailable:    4194304 kB\n");
	write_file("proc/cgroup", "0::/\n");
	make_folders("proc/root/x");
	make_folders("here/v1/x");
	make_folders("here/v2/x");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct headroom read_headroom(void)
{
	char process[80], mounts[80], machine[80];
	const struct headroom_files files = { process, mounts, machine, true };
	struct headroom headroom;

	snprintf(process, sizeof(process), "%s/proc", base);
	snprintf(mounts, sizeof(mounts), "%s/mounts", base);
	snprintf(machine, sizeof(machine), "%s/meminfo", base);
	headroom_read(&headroom, &files);
	headroom_text(text, &headroom);
	return headroom;
}

#define CHECK(headroom, whose_, left_)                      \
	do {                                                \
		assert_int_equal((headroom).whose, whose_); \
		assert_int_equal((headroom).left, left_);   \
	} while (0)

/* No cgroup has a limit: the machine has. */
static void test_machine(void **state)
{
	struct headroom headroom = read_headroom();

	(void)state;
	CHECK(headroom, HEADROOM_MACHINE, 4096 * MB);
	assert_string_equal(text, "the machine has 4.0 GiB available");
	write_file("meminfo", "MemTotal: 8000000 kB\n"); /* kernels before 3.14 */
	headroom = read_headroom();
	CHECK(headroom, HEADROOM_UNKNOWN, UINT64_MAX);
	assert_string_equal(text, "");
	unlink(at("meminfo"));
	unlink(at("mounts"));
	unlink(at("proc/cgroup"));
	CHECK(read_headroom(), HEADROOM_UNKNOWN, UINT64_MAX);
}

static void test_version_2(void **state)
{
	struct headroom headroom;

	(void)state;
	write_file("proc/cgroup", "3:cpu:/elsewhere\n0::/pods/x\n");
	group2("here/v2/pods/x", "471859200\n", "536870912\n", "max\n", "20971520");
	headroom = read_headroom();
	CHECK(headroom, HEADROOM_CGROUP, 82 * MB); /* 512 less 450, with 20 of unused files */
	assert_int_equal(headroom.limit, 512 * MB);
	assert_string_equal(text, "its memory limit (cgroup /pods/x, 512.0 MiB) leaves 82.0 MiB");
	assert_string_equal(headroom_risk(&headroom), "it may be killed for that");
	write_file("here/v2/pods/x/memory.stat", "active_file 10485760\ninactive_file 20971520\n");
	CHECK(read_headroom(), HEADROOM_CGROUP, 92 * MB);
	/* more files than memory: nothing is used */
	group2("here/v2/pods/x", "471859200\n", "536870912\n", "max\n", "999999999999");
	CHECK(read_headroom(), HEADROOM_CGROUP, 512 * MB);
	/* over the limit for a moment */
	group2("here/v2/pods/x", "600000000\n", "536870912\n", "max\n", "0");
	CHECK(read_headroom(), HEADROOM_CGROUP, 0);
	group2("here/v2/pods/x", "471859200\n", "536870912\n", "472907776\n", "0");
	headroom = read_headroom();
	CHECK(headroom, HEADROOM_HIGH, MB);
	assert_string_equal(text, "its memory limit (memory.high of cgroup /pods/x, 451.0 MiB) "
				  "leaves 1.0 MiB");
	assert_string_equal(headroom_risk(&headroom), "it may stand still for that");
	group2("here/v2/pods/x", "471859200\n", "max\n", "max\n", "0");
	CHECK(read_headroom(), HEADROOM_MACHINE, 4096 * MB);
}

/* Each above it may be the one that leaves the least, that of the mount as well. */
static void test_ancestors(void **state)
{
	(void)state;
	write_file("proc/cgroup", "0::/a/b/c\n");
	group2("here/v2/a/b/c", "1048576", "max", NULL, NULL);
	group2("here/v2/a/b", "2097152", "10485760", NULL, NULL);
	group2("here/v2/a", "9437184", "12582912", NULL, NULL);
	CHECK(read_headroom(), HEADROOM_CGROUP, 3 * MB);
	assert_non_null(strstr(text, "(cgroup /a, 12.0 MiB)"));
	group2("here/v2", "9437184", "10485760", NULL, NULL);
	CHECK(read_headroom(), HEADROOM_CGROUP, MB);
	assert_non_null(strstr(text, "(cgroup /, 10.0 MiB)"));
}

static void test_version_1(void **state)
{
	(void)state;
	write_file("proc/cgroup", "5:cpu:/y\n4:hugetlb,memory:/y/z\n0::/\n");
	write_file("here/v1/y/z/memory.usage_in_bytes", "104857600\n");
	write_file("here/v1/y/z/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
	CHECK(read_headroom(), HEADROOM_MACHINE, 4096 * MB);
	write_file("here/v1/y/memory.usage_in_bytes", "104857600\n");
	write_file("here/v1/y/memory.limit_in_bytes", "157286400\n");
	write_file("here/v1/y/memory.soft_limit_in_bytes", "1\n");
	write_file("here/v1/y/memory.stat", "inactive_file 1\ntotal_inactive_file 10485760\n");
	CHECK(read_headroom(), HEADROOM_CGROUP, 60 * MB);
	assert_non_null(strstr(text, "(cgroup /y, 150.0 MiB)"));
	/* and both versions: the least */
	group2("here/v2", "0", "52428800", NULL, NULL);
	CHECK(read_headroom(), HEADROOM_CGROUP, 50 * MB);
}

/* A part of the hierarchy is mounted, as in a container without a namespace of cgroups. */
static void test_part(void **state)
{
	char mounts[256];

	(void)state;
	snprintf(mounts, sizeof(mounts), "34 31 0:31 /docker/ab %s/here/v2 rw - cgroup2 c rw\n",
		 base);
	write_file("mounts", mounts);
	write_file("proc/cgroup", "0::/docker/ab/in\n");
	group2("here/v2", "0", "20971520", NULL, NULL);
	group2("here/v2/in", "0", "10485760", NULL, NULL);
	CHECK(read_headroom(), HEADROOM_CGROUP, 10 * MB);
	assert_non_null(strstr(text, "(cgroup /docker/ab/in, "));
	write_file("proc/cgroup", "0::/docker/abc\n"); /* another one, which is not mounted here */
	CHECK(read_headroom(), HEADROOM_MACHINE, 4096 * MB);
}

/* In another namespace of cgroups: what the process has mounted counts. */
static void test_elsewhere(void **state)
{
	(void)state;
	write_file("proc/cgroup", "0::/not/here\n");
	group2("here/v2", "0", "1048576", NULL, NULL); /* not one of its own */
	group2("proc/root/sys/fs/cgroup", "0", "20971520", NULL, NULL);
	CHECK(read_headroom(), HEADROOM_CGROUP, 20 * MB);
	assert_non_null(strstr(text, "(cgroup /, 20.0 MiB)"));
	group2("proc/root/sys/fs/cgroup/not/here", "0", "10485760", NULL, NULL);
	CHECK(read_headroom(), HEADROOM_CGROUP, 10 * MB);
	write_file("proc/cgroup", "0::/../../outside\n");
	CHECK(read_headroom(), HEADROOM_CGROUP, 20 * MB);
	write_file("proc/cgroup", "4:memory:/../x\n");
	write_file("proc/root/sys/fs/cgroup/memory/memory.usage_in_bytes", "1048576");
	write_file("proc/root/sys/fs/cgroup/memory/memory.limit_in_bytes", "6291456");
	CHECK(read_headroom(), HEADROOM_CGROUP, 5 * MB);
}

/* Links below the root of the process lead nowhere, and only regular files are opened. */
static void test_traps(void **state)
{
	(void)state;
	write_file("proc/cgroup", "0::/not/here\n");
	group2("trap", "0", "1048576", NULL, NULL);
	make_folders("proc/root/sys/fs/x");
	assert_int_equal(symlink(at("trap"), at("proc/root/sys/fs/cgroup")), 0);
	CHECK(read_headroom(), HEADROOM_MACHINE, 4096 * MB);
	assert_int_equal(unlink(at("proc/root/sys/fs/cgroup")), 0);
	write_file("proc/root/sys/fs/cgroup/memory.current", "0");
	assert_int_equal(symlink(at("trap/memory.max"), at("proc/root/sys/fs/cgroup/memory.max")),
			 0);
	assert_int_equal(mkfifo(at("proc/root/sys/fs/cgroup/memory.high"), 0600), 0);
	CHECK(read_headroom(), HEADROOM_MACHINE, 4096 * MB);
}

static void test_garbage(void **state)
{
	static const char *const words[] = { "",
					     "\n",
					     "x",
					     "-5",
					     "0x10",
					     " 7",
					     "5 MB",
					     "12.5",
					     "1e3",
					     "5\x01",
					     "99999999999999999999999" };
	static const char *const cgroups[] = { "",    "::", "0:",     "0::",	    "0::x",
					       "a:b", ":",  "0::/\n", "1:memory\n", "0::/" };
	static char many[70000];

	(void)state;
	write_file("proc/cgroup", "0::/g\n");
	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		group2("here/v2/g", "1", words[i], words[i], words[i]);
		if (strcmp(words[i], "5 MB") != 0)
			CHECK(read_headroom(), HEADROOM_MACHINE, 4096 * MB);
		group2("here/v2/g", words[i], "1048576", "1048576", "1");
		read_headroom();
	}
	for (unsigned int i = 0; i < sizeof(cgroups) / sizeof(cgroups[0]); i++) {
		write_file("proc/cgroup", cgroups[i]);
		CHECK(read_headroom(), HEADROOM_MACHINE, 4096 * MB);
	}
	memset(many, 'a', sizeof(many) - 1);
	write_file("proc/cgroup", many);
	write_file("here/v2/memory.max", many);
	write_file("mounts", many);
	CHECK(read_headroom(), HEADROOM_MACHINE, 4096 * MB);
	write_file("meminfo", "MemAvailable: lots\n");
	CHECK(read_headroom(), HEADROOM_UNKNOWN, UINT64_MAX);
}

/* Of a folder that is none of the kernel's nothing is taken. */
/* ulimit -d */
static void test_data(void **state)
{
	(void)state;
	write_file("proc/status", "Name:\tx\nVmData:\t   1024 kB\n");
	write_file("proc/limits",
		   "Limit  Soft Limit  Hard Limit  Units\n"
		   "Max data size             unlimited            unlimited  bytes\n");
	CHECK(read_headroom(), HEADROOM_MACHINE, 4096 * MB);
	write_file("proc/limits", "Max data size             3145728   9999999  bytes\n");
	CHECK(read_headroom(), HEADROOM_DATA, 2 * MB);
	assert_string_equal(text, "its data limit (ulimit -d, 3.0 MiB) leaves 2.0 MiB");
}

/* A place with a blank in it. */
static void test_blank(void **state)
{
	char mounts[512];

	(void)state;
	snprintf(mounts, sizeof(mounts), "1 2 0:3 / %s rw - cgroup2 none rw\n",
		 at("here/v2\\040x"));
	write_file("mounts", mounts);
	write_file("proc/cgroup", "0::/pod\n");
	make_folders("here/v2 x/pod");
	group2("here/v2 x/pod", "1048576", "4194304", NULL, NULL);
	CHECK(read_headroom(), HEADROOM_CGROUP, 3 * MB);
}

static void test_no_cgroup(void **state)
{
	char process[80], mounts[80], machine[80];
	const struct headroom_files files = { process, mounts, machine, false };
	struct headroom headroom;

	(void)state;
	snprintf(process, sizeof(process), "%s/proc", base);
	snprintf(mounts, sizeof(mounts), "%s/mounts", base);
	snprintf(machine, sizeof(machine), "%s/meminfo", base);
	write_file("proc/cgroup", "0::/pods\n");
	group2("here/v2/pods", "0", "1048576", NULL, NULL);
	group2("proc/root/sys/fs/cgroup", "0", "1048576", NULL, NULL);
	headroom_read(&headroom, &files);
	CHECK(headroom, HEADROOM_MACHINE, 4096 * MB);
}

/* This process, with a limit of its own. */
static void test_limit(void **state)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	struct headroom headroom;

	(void)state;
	assert_non_null(s);
	headroom_find(&headroom, getpid(), s);
	assert_int_not_equal(headroom.whose, HEADROOM_LIBRARY);
	s->totals.limit = MB;
	s->totals.held_bytes = MB / 4;
	headroom_find(&headroom, getpid(), s);
	CHECK(headroom, HEADROOM_LIBRARY, MB / 4 * 3);
	headroom_text(text, &headroom);
	assert_string_equal(text, "its limit of uslab (1.0 MiB) leaves 768.0 KiB");
	assert_string_equal(headroom_risk(&headroom), "its allocations may fail for that");
	s->totals.held_bytes = 2 * MB;
	headroom_find(&headroom, getpid(), s);
	CHECK(headroom, HEADROOM_LIBRARY, 0);
	free(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_machine),   TEST(test_version_2), TEST(test_ancestors),
		TEST(test_version_1), TEST(test_part),	    TEST(test_elsewhere),
		TEST(test_traps),     TEST(test_garbage),   TEST(test_no_cgroup),
		TEST(test_limit),     TEST(test_data),	    TEST(test_blank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
