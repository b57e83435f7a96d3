/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/init_test.c - made ready once, whoever comes first
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/atomic.h"
#include "cache/internal.h"
#include "cache_fixture.h"
#include "os/cpu/rseq.h"
#include "smaps.h"

IN_CHILD(test_once)
{
	char *base;

	errno = 77;
	CHILD_CHECK(cache_init() == 0);
	base = page_map.base;
	CHILD_CHECK(cache_init() == 0 && page_map.base == base);
	CHILD_CHECK(errno == 77);
	CHILD_CHECK(percpu_rseq == os_rseq_on);
	/* page class 0 is nobody's: its words miss */
	for (int cpu = -2; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		CHILD_CHECK(*percpu_inline_word(USLAB_ID_NONE, cpu) == front_stop_word);
	CHILD_CHECK(list_empty(&cache_list)); /* kmalloc caches are made apart */
	CHILD_CHECK(cache_defaults.engine == &slub_ops);
	CHILD_CHECK(cache_defaults.front == &front_array_ops);
	cache_check_all();
}

static bool go;

static void *init_now(void *arg)
{
	while (!load_acquire(&go)) {}
	if (cache_init() == 0)
		*(char **)arg = page_map.base;
	return NULL;
}

IN_CHILD(test_all_at_once)
{
	pthread_t thread[8];
	char *base[8] = { NULL };

	for (unsigned int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, init_now, &base[i]);
	store_release(&go, true); /* pairs with init_now */
	for (unsigned int i = 0; i < 8; i++) {
		pthread_join(thread[i], NULL);
		CHILD_CHECK(base[i] && base[i] == page_map.base);
	}
	CHILD_CHECK(get(make("c", 64, 0, 0)));
}

/* Without addresses it fails, each time, and says so by its result. */
IN_BARE_CHILD(test_no_memory)
{
	const struct rlimit none = { 0, 0 };

	child_limit(RLIMIT_AS, &none);
	CHILD_CHECK(cache_init() == -ENOMEM);
	CHILD_CHECK(cache_init() == -ENOMEM);
}

/* No /sys and no /proc, as in a chroot: there is room for the CPUs that there may be. */
IN_BARE_CHILD(test_no_files)
{
	const struct rlimit limit = { 160 << 20, 160 << 20 };

	if (sysconf(_SC_NPROCESSORS_CONF) > 64)
		return;
	child_limit(RLIMIT_AS, &limit);
	child_deny(SYS_openat, ENOENT);
	CHILD_CHECK(cache_init() == 0);
	CHILD_CHECK(get(make("c", 64, 0, 0)));
}

/* What USLAB_CONF says of huge pages is done, and said where there are none for this process. */
static void start_with_huge_pages(void *arg)
{
	(void)arg;
	if (!smaps_has(&go, "VmFlags:") ||
	    access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0 || is_emulated() ||
	    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0)
		child_cannot("this system has no huge pages");
	setenv("USLAB_CONF", "thp=never,thp=all", 1);
	ready();
	CHILD_CHECK(smaps_has_flag(page_map.base, "hg"));
}

static void test_huge_pages(void **state)
{
	struct child c = child_run(start_with_huge_pages, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, "USLAB_CONF: thp: huge pages seem to be switched off"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),	   cmocka_unit_test(test_all_at_once),
		cmocka_unit_test(test_no_memory),  cmocka_unit_test(test_no_files),
		cmocka_unit_test(test_huge_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
