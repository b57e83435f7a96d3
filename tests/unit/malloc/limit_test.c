/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/limit_test.c - a program that limits its own addresses while it runs
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "bare.h"
#include "child.h"
#include "layout.h"
#include "limit.h"
#include "malloc/internal.h"
#include "os/process/file.h"
#include "page/arena.h"
#include "page/page.h"
#include "replaced.h"

#define MIB (1ul << 20)

static void *(*volatile alloc)(size_t) = malloc;

static size_t addresses(void)
{
	char text[128];

	CHILD_CHECK(os_read_text("/proc/self/statm", text, sizeof(text)) > 0);
	return strtoul(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

static void *thread(void *arg)
{
	free(alloc(100));
	return arg;
}

static void start_thread(void)
{
	pthread_t id;

	CHILD_CHECK(pthread_create(&id, NULL, thread, NULL) == 0);
	CHILD_CHECK(pthread_join(id, NULL) == 0);
}

/* Blocks of size until there is none; how many bytes. Nothing is given back. */
static size_t take_all(size_t size)
{
	size_t bytes = 0;

	while (alloc(size))
		bytes += size;
	return bytes;
}

static int by_setrlimit(const struct rlimit *limit)
{
	return setrlimit(RLIMIT_AS, limit);
}

static int by_prlimit(const struct rlimit *limit)
{
	return prlimit(0, RLIMIT_AS, limit, NULL);
}

#ifdef __GLIBC__ /* others have no such names, or they are the same ones */
static int by_setrlimit64(const struct rlimit *limit)
{
	struct rlimit64 limit64 = { limit->rlim_cur, limit->rlim_max };

	return setrlimit64(RLIMIT_AS, &limit64);
}

static int by_prlimit64(const struct rlimit *limit)
{
	struct rlimit64 limit64 = { limit->rlim_cur, limit->rlim_max };

	return prlimit64(getpid(), RLIMIT_AS, &limit64, NULL);
}
#endif

static int (*const ways[])(const struct rlimit *) = {
	by_setrlimit,
	by_prlimit,
#ifdef __GLIBC__
	by_setrlimit64,
	by_prlimit64,
#endif
};

/*
 * Small blocks after the first way; after the others large ones, of which only
 * the first page is touched.
 */
static void live_with_a_limit(void *arg)
{
	int (*set)(const struct rlimit *) = *(int (*const *)(const struct rlimit *))arg;
	size_t size = set == by_setrlimit ? 1000 : 100000;
	size_t most = 400 * MIB + limit_of_cpus();
	struct rlimit limit = { most, RLIM_INFINITY };
	char *kept = alloc(MIB);

	memset(kept, 7, MIB);
	CHILD_CHECK(set(&limit) == 0);
	child_needs_limit(RLIMIT_AS, &limit);
	CHILD_CHECK(addresses() < most);
	start_thread();
	arena_check();
	malloc_check();
	CHILD_CHECK(kept[0] == 7 && kept[MIB - 1] == 7);
	/* Half of what the limit left is for others, and so is what large blocks do not take. */
	CHILD_CHECK(take_all(size) >= 80 * MIB);
	CHILD_CHECK(errno == ENOMEM);
	CHILD_CHECK(addresses() <= most);
	/* Without a limit there is room again, as far up as nobody else has mapped anything. */
	limit.rlim_cur = RLIM_INFINITY;
	CHILD_CHECK(set(&limit) == 0);
	arena_check();
	malloc_check();
	CHILD_CHECK(alloc(1000) && alloc(200 * MIB));
	for (size_t bytes = 0; bytes < 500 * MIB; bytes += size)
		CHILD_CHECK(alloc(size));
	start_thread();
}

static void test_limited(void **state)
{
	(void)state;
	if (!bare_process())
		skip();
	for (unsigned int i = 0; i < ARRAY_SIZE(ways); i++) {
		struct child c = child_run(live_with_a_limit, (void *)&ways[i]);

		if (!child_passed(&c))
			fail_msg("way %u: %s", i, c.text);
	}
}

static void lower_in_steps(void *arg)
{
	struct rlimit limit = { 0, RLIM_INFINITY };

	(void)arg;
	for (size_t mib = 1ul << 17; mib >= 256; mib /= 2) {
		limit.rlim_cur = mib * MIB + limit_of_cpus();
		child_limit(RLIMIT_AS, &limit);
		CHILD_CHECK(addresses() < limit.rlim_cur);
		start_thread();
		arena_check();
		free(alloc(6 * MIB));
	}
	/* Far below what is in use: nothing more to be had, and nothing breaks. */
	limit.rlim_cur = MIB;
	child_limit(RLIMIT_AS, &limit);
	CHILD_CHECK(page_map.limit == page_map.nr_pages);
	CHILD_CHECK(!alloc(64 * MIB) && errno == ENOMEM);
	free(alloc(100));
	arena_check();
}

static void test_lower_in_steps(void **state)
{
	struct child c;

	(void)state;
	if (!bare_process())
		skip();
	c = child_run(lower_in_steps, NULL);
	if (!child_passed(&c))
		fail_msg("%s", c.text);
}

/* Results and errors are the system's, for any resource. */
static void test_results(void **state)
{
	struct rlimit old = { 1, 1 };
	struct rlimit got = { 2, 2 };
	struct rlimit wrong = { 2, 1 };
	int error;
	long ret;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(prlimit(0, RLIMIT_NOFILE, NULL, &got), 0);
	assert_memory_equal(&old, &got, sizeof(old));
	errno = 77;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(errno, 77);
	ret = syscall(SYS_prlimit64, 0, RLIMIT_AS, &wrong, NULL); /* an emulator may not mind */
	error = errno;
	assert_int_equal(setrlimit(RLIMIT_AS, &wrong), ret);
	assert_int_equal(errno, error);
	assert_int_equal(prlimit(-1, RLIMIT_AS, NULL, &got), -1);
	assert_int_equal(errno, ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limited),
		cmocka_unit_test(test_lower_in_steps),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_legacy_layout),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
