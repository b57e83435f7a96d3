/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/reclaim/ahead_test.c - the option reclaim; what a cgroup's files make it do, whose
 * text the test writes
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "../cache_fixture.h"

#include "cache/reclaim/ahead.c"

static void test_option(void **state)
{
	static const char *const good[] = {
		"0", "cgroup", "psi", "psi:1000", "psi:150000:1000000", "psi:1:10000000"
	};
	static const char *const bad[] = { "",	      "1",	"psi:",		"psi:0",
					   "psi:x",   "psi:1:", "psi:1:499999", "psi:1:10000001",
					   "psi:2:1", "psi1",	"cgroup:1",	"psi:1:1000000:1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(reclaim_set_option(good[i]));
	assert_int_equal(option.stall_us, 1);
	assert_int_equal(option.window_us, 10000000);
	assert_true(option.psi && option.cgroup);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(reclaim_set_option(bad[i]));
	assert_true(reclaim_set_option("0"));
	assert_false(option.psi || option.cgroup);
}

/* ---- a cgroup of plain files ---- */

static char folder[] = "/tmp/uslab-ahead-XXXXXX";

static void write_file(const char *name, const char *text)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHILD_CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void write_number(const char *name, unsigned long number)
{
	char text[64];

	snprintf(text, sizeof(text), "%lu\n", number);
	write_file(name, text);
}

static int open_files(const char *where)
{
	static const char *const files[] = { "current", "high", "max", "stat" };
	struct os_kept *kept[] = { &group.used, &group.high, &group.max, &group.stat };
	char path[128];

	for (unsigned int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", where, files[i]);
		if (os_kept_open(kept[i], path, O_RDONLY))
			return -ENOENT;
	}
	has_group = true;
	return 0;
}

static unsigned long scanned;
static unsigned long in_use_bytes;

static unsigned long count(struct shrinker *s, struct shrink_control *sc)
{
	(void)s, (void)sc;
	return in_use_bytes >> 20;
}

/* A MiB for each object: the cgroup's usage falls with it. */
static unsigned long scan(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long n = MIN(sc->nr_to_scan, in_use_bytes >> 20);

	(void)s;
	scanned += n;
	in_use_bytes -= n << 20;
	write_number("current", in_use_bytes);
	return n;
}

static void start(void)
{
	static struct shrinker s = {
		.count_objects = count, .scan_objects = scan, .seeks = DEFAULT_SEEKS, .batch = 1
	};

	ready();
	CHILD_CHECK(mkdtemp(folder));
	write_file("high", "max\n");
	write_number("max", 256ul << 20);
	write_file("stat", "anon 1\ninactive_file 4194304\nactive_file 0\n");
	in_use_bytes = 100ul << 20;
	write_number("current", in_use_bytes);
	CHILD_CHECK(open_files(folder) == 0 && shrinker_add(&s) == 0);
}

static void remove_files(void)
{
	static const char *const files[] = { "current", "high", "max", "stat" };
	char path[128];

	for (unsigned int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		unlink(path);
	}
	rmdir(folder);
}

static unsigned long room(void)
{
	return (limit_counters.mark - limit_held()) << PAGE_SHIFT;
}

IN_CHILD(test_mark)
{
	start();
	CHILD_CHECK(try_look(GFP_KERNEL) && !reclaim_counters.cgroup);
	/* 256 - 32 that are the margin - 100, of which 4 are of files */
	CHILD_CHECK(room() == 128ul << 20);
	write_number("high", 200ul << 20);
	CHILD_CHECK(try_look(GFP_KERNEL) && room() == (200ul - 25 - 96) << 20);
	write_file("high", "max");
	write_file("max", "max");
	CHILD_CHECK(try_look(GFP_KERNEL) && limit_counters.mark == LIMIT_NONE);
	write_file("current", ""); /* it cannot be read */
	CHILD_CHECK(try_look(GFP_KERNEL) && limit_counters.mark == LIMIT_NONE);
	remove_files();
}

IN_CHILD(test_reclaims)
{
	start();
	in_use_bytes = 240ul << 20;
	write_number("current", in_use_bytes);
	CHILD_CHECK(try_look(GFP_KERNEL) && reclaim_counters.cgroup == 1 && scanned);
	CHILD_CHECK(in_use_bytes <= (256ul - 48 + 4) << 20 && limit_counters.mark != LIMIT_NONE);
	/* who may not wait runs no shrinker, and the mark moves up a bit */
	scanned = 0;
	in_use_bytes = 240ul << 20;
	write_number("current", in_use_bytes);
	CHILD_CHECK(try_look(GFP_NOWAIT) && !scanned && room() == 4ul << 20);
	remove_files();
}

/* The allocation that passes the mark reclaims, by the next slow path. */
IN_CHILD(test_due)
{
	struct cache *c;

	start();
	c = make("grows", 4096, 0, SLAB_NO_MERGE);
	write_number("max", (100ul << 20) + (100ul << 17) + (1ul << 20));
	CHILD_CHECK(try_look(GFP_KERNEL) && limit_counters.mark != LIMIT_NONE);
	write_number("max", 100ul << 20);
	for (unsigned int i = 0; i < 4096 && !reclaim_counters.cgroup; i++)
		CHILD_CHECK(get(c));
	CHILD_CHECK(reclaim_counters.cgroup == 1 && scanned && !busy);
	CHILD_CHECK(!load_relaxed(&limit_counters.due));
	remove_files();
}

/* While another thread is at it others wait, but not for ever. */
IN_CHILD(test_busy)
{
	start();
	busy = 1;
	CHILD_CHECK(!try_look(GFP_KERNEL));
	reclaim_due(GFP_KERNEL);
	CHILD_CHECK(reclaim_counters.waits == 1 && !reclaim_counters.cgroup);
	reclaim_forked(); /* in a child nobody else is at it */
	CHILD_CHECK(try_look(GFP_KERNEL));
	CHILD_CHECK(begin() && !begin());
	reclaim_forked();
	CHILD_CHECK(busy);
	end();
	CHILD_CHECK(!busy);
	remove_files();
}

/* No trigger: what tasks waited is read, as it is in any file. */
IN_CHILD(test_polled)
{
	start();
	option.stall_us = 1000;
	option.window_us = 500000;
	sources[0].polled = true;
	write_file("stat", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\nfull total=0\n");
	sources[0].file = group.stat;
	poll_source(&sources[0]);
	CHILD_CHECK(!reclaim_counters.psi);
	write_file("stat", "some avg10=0.00 avg60=0.00 avg300=0.00 total=900\n");
	poll_source(&sources[0]);
	CHILD_CHECK(!reclaim_counters.psi);
	write_file("stat", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000\n");
	poll_source(&sources[0]);
	CHILD_CHECK(reclaim_counters.psi == 1 && scanned);
	remove_files();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_option),	 cmocka_unit_test(test_mark),
		cmocka_unit_test(test_reclaims), cmocka_unit_test(test_due),
		cmocka_unit_test(test_busy),	 cmocka_unit_test(test_polled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
