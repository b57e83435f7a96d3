/* SPDX-License-Identifier: MIT */
/*
 * unit/page/meta_test.c - blocks for the allocator's own data
 */
#include <pthread.h>
#include <sys/wait.h>

#include "base/atomic.h"
#include "fixture.h"
#include "os/cpu/cpu.h"
#include "page/meta.h"
#include "threads.h"

IN_CHILD(blocks_are_zero_aligned_and_apart)
{
	static char *p[4000];
	size_t size[4000];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(p); i++) {
		size_t align;

		size[i] = (i * 37) % 3000 + 1;
		if (i % 100 == 0)
			size[i] = 1ul << (i / 100 % 17);
		align = MIN(1ul << fls(size[i] - 1), 4096ul);
		p[i] = meta_alloc(size[i]);
		CHILD_CHECK(p[i] && ((uintptr_t)p[i] & (align - 1)) == 0);
		CHILD_CHECK(all_bytes(p[i], size[i], 0));
		memset(p[i], (int)(i % 255 + 1), size[i]);
	}
	meta_check();
	for (i = 0; i < ARRAY_SIZE(p); i++) {
		CHILD_CHECK(p[i][0] == (char)(i % 255 + 1));
		CHILD_CHECK(memcmp(p[i], p[i] + 1, size[i] - 1) == 0);
		meta_free(p[i], size[i]);
	}
	meta_check();
	CHILD_CHECK(meta_counters.used == 0);
}

IN_CHILD(a_freed_block_is_used_again)
{
	size_t size;

	for (size = 1; size <= 4 * MIB; size = size * 3) {
		char *p = meta_alloc(size);
		size_t mapped = meta_bytes();

		memset(p, 5, size);
		meta_free(p, size);
		CHILD_CHECK(meta_alloc(size) == p && all_bytes(p, size, 0));
		CHILD_CHECK(meta_bytes() == mapped);
		meta_check();
	}
	meta_free(NULL, 100);
}

/* CPUs do not share a page, as long as nothing was freed; nothing is lost when sizes differ. */
IN_CHILD(blocks_of_cpus_lie_apart)
{
	char *p[2][40];
	size_t used = meta_counters.used;

	CHILD_CHECK(os_topology_set(2, 1) == 0);
	for (unsigned int i = 0; i < 80; i++) {
		os_act_as_cpu(i % 2);
		p[i % 2][i / 2] = meta_alloc_apart(256);
		CHILD_CHECK(p[i % 2][i / 2] && (uintptr_t)p[i % 2][i / 2] % 256 == 0);
		CHILD_CHECK(all_bytes(p[i % 2][i / 2], 256, 0));
	}
	meta_check();
	for (unsigned int i = 0; i < 1600; i++)
		CHILD_CHECK((uintptr_t)p[0][i / 40] >> 12 != (uintptr_t)p[1][i % 40] >> 12);
	for (unsigned int i = 1; i < 16; i++)
		CHILD_CHECK(p[0][i] == p[0][0] + 256 * i);
	/* what was freed is used before a new page, by either */
	meta_free(p[0][0], 256);
	for (unsigned int i = 0; i < 8; i++)
		CHILD_CHECK(meta_alloc_apart(256) == p[1][39] + 256 * (i + 1));
	CHILD_CHECK(meta_alloc_apart(256) == p[0][0]);
	CHILD_CHECK(meta_alloc_apart(48) && meta_alloc_apart(1024) && meta_alloc_apart(16384));
	meta_check();
	CHILD_CHECK(meta_counters.used - used == 88 * 256 + 64 + 1024 + 16384);
}

/* What must be skipped for alignment is not lost: chunks fill up to the last byte. */
IN_CHILD(alignment_wastes_nothing)
{
	size_t used = 0;
	unsigned int i;

	for (i = 0; i < 40; i++) {
		CHILD_CHECK(meta_alloc(16) && meta_alloc(4096) && meta_alloc(65536));
		used += 16 + 4096 + 65536;
		CHILD_CHECK(meta_counters.used == used);
	}
	while (used < meta_bytes()) {
		CHILD_CHECK(meta_alloc(16));
		used += 16;
		CHILD_CHECK(used <= meta_bytes());
	}
	meta_check();
}

IN_CHILD(stale_pointers_never_fault)
{
	static const size_t sizes[] = { 16, 3000, 65536, 65537, 3 * MIB };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		volatile char *p = meta_alloc(sizes[i]);

		p[sizes[i] - 1] = 1;
		meta_free((void *)p, sizes[i]);
		CHILD_CHECK(p[sizes[i] - 1] == 0);
	}
}

IN_CHILD(large_blocks_give_their_memory_back)
{
	char *p = meta_alloc(16 * MIB);
	size_t rss;

	NEEDS_BARE_PROCESS();
	memset(p, 1, 16 * MIB);
	rss = status_bytes("VmRSS:");
	meta_free(p, 16 * MIB);
	CHILD_CHECK(status_bytes("VmRSS:") + 15 * MIB <= rss);
	meta_check();
}

IN_CHILD(out_of_memory_is_null)
{
	unsigned int i;

	CHILD_CHECK(!meta_alloc(SIZE_MAX) && !meta_alloc(1ul << 60) && !meta_alloc(1ul << 47));
	NEEDS_BARE_PROCESS();
	limit_to(RLIMIT_AS, 2 * MIB);
	CHILD_CHECK(!meta_alloc(4 * MIB));
	errno = 0;
	for (i = 0; meta_alloc(1000); i++)
		;
	CHILD_CHECK(errno == 0 && i >= 1024 && i <= 2048);
	CHILD_CHECK(!meta_alloc(16) || i > 0);
	meta_check();
}

IN_CHILD(little_is_mapped_at_first)
{
	CHILD_CHECK(meta_bytes() == 0);
	meta_alloc(100);
	CHILD_CHECK(meta_bytes() == 256 * 1024);
}

static unsigned int running; /* until it is 0, or for a fixed number of rounds */

static void *churn(void *arg)
{
	uint64_t mark = (uintptr_t)arg;
	uint64_t seed = mark;
	uint64_t *p[32] = { NULL };
	size_t size[32];
	unsigned int i;

	for (i = 0; i < 40000 || load_relaxed(&running); i++) {
		unsigned int k = (seed = seed * 6364136223846793005ul + 12345) >> 59;

		if (p[k]) {
			CHILD_CHECK(*p[k] == mark);
			meta_free(p[k], size[k]);
			p[k] = NULL;
			continue;
		}
		size[k] = (seed >> 40 & 2047) + 8;
		p[k] = meta_alloc(size[k]);
		CHILD_CHECK(p[k] && *p[k] == 0);
		*p[k] = mark;
	}
	for (i = 0; i < 32; i++)
		meta_free(p[i], size[i]);
	return NULL;
}

IN_CHILD(threads_get_different_blocks)
{
	threads_run(3, churn);
	CHILD_CHECK(meta_counters.used == 0);
	meta_check();
}

IN_CHILD(a_fork_finds_the_lists_whole)
{
	pthread_t thread;
	unsigned int i;

	store_relaxed(&running, 1);
	CHILD_CHECK(pthread_create(&thread, NULL, churn, (void *)9) == 0);
	for (i = 0; i < 20; i++) {
		int status;
		pid_t pid;

		meta_each_lock(lock_fork_prepare);
		pid = fork();
		if (pid == 0) {
			meta_each_lock(lock_fork_child);
			meta_check();
			CHILD_CHECK(meta_alloc(50));
			_exit(0);
		}
		meta_each_lock(lock_fork_parent);
		CHILD_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	}
	store_relaxed(&running, 0);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_zero_aligned_and_apart),
		cmocka_unit_test(a_freed_block_is_used_again),
		cmocka_unit_test(blocks_of_cpus_lie_apart),
		cmocka_unit_test(alignment_wastes_nothing),
		cmocka_unit_test(stale_pointers_never_fault),
		cmocka_unit_test(large_blocks_give_their_memory_back),
		cmocka_unit_test(out_of_memory_is_null),
		cmocka_unit_test(little_is_mapped_at_first),
		cmocka_unit_test(threads_get_different_blocks),
		cmocka_unit_test(a_fork_finds_the_lists_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
