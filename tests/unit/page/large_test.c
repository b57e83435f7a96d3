/* SPDX-License-Identifier: MIT */
/*
 * unit/page/large_test.c - mappings of their own and the table that knows them
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/atomic.h"
#include "fixture.h"
#include "threads.h"

#define MANY_NOTES 500

IN_CHILD(a_block_is_known_by_its_start)
{
	char *p = large_alloc(5 * MIB - 3, 0, NULL);

	CHILD_CHECK(p && large_size(p) == 5 * MIB && large_count() == 1);
	CHILD_CHECK(large_bytes() == 5 * MIB);
	memset(p, 1, 5 * MIB);
	CHILD_CHECK(large_size(p + PAGE_SIZE) == 0 && large_size(NULL) == 0);
	CHILD_CHECK(large_size_around(p) == 5 * MIB &&
		    large_size_around(p + 5 * MIB - 1) == 5 * MIB);
	CHILD_CHECK(large_size_around(p - 1) == 0 && large_size_around(p + 5 * MIB) == 0);
	CHILD_CHECK(!large_free(p + PAGE_SIZE) && !large_free(NULL));
	CHILD_CHECK(!large_resize(p + PAGE_SIZE, MIB, true));
	large_check();
	CHILD_CHECK(large_free(p) && !large_free(p) && large_size(p) == 0);
	CHILD_CHECK(large_size_around(p + 16) == 0);
	CHILD_CHECK(large_count() == 0 && large_bytes() == 0);
	large_check();
}

/* Through all that moves entries, and not to the next block at the address. */
IN_CHILD(a_block_has_a_note)
{
	static char *p[MANY_NOTES];
	uint32_t old = 1;

	CHILD_CHECK(large_exchange_note(&old, PAGE_EXT_TAGS, 7, &old) == 0 && old == 1);
	for (uint32_t i = 0; i < MANY_NOTES; i++) {
		p[i] = large_alloc(PAGE_SIZE, 0, NULL);
		CHILD_CHECK(p[i] && large_exchange_note(p[i], PAGE_EXT_TAGS, i + 1, &old) &&
			    old == 0);
	}
	CHILD_CHECK(large_exchange_note(p[0] + 1, PAGE_EXT_TAGS, 7, &old) == 0);
	p[3] = large_resize(p[3], 64 * PAGE_SIZE, true);
	for (uint32_t i = 0; i < MANY_NOTES; i++) {
		CHILD_CHECK(large_exchange_note(p[i], PAGE_EXT_TAGS, 0, &old) && old == i + 1);
		CHILD_CHECK(large_exchange_note(p[i], PAGE_EXT_TAGS, i + 1, &old) && old == 0);
	}
	for (uint32_t i = 0; i < MANY_NOTES; i += 2)
		CHILD_CHECK(large_free(p[i]));
	large_check();
	for (uint32_t i = 0; i < MANY_NOTES; i += 2) {
		p[i] = large_alloc(PAGE_SIZE, 0, NULL);
		CHILD_CHECK(large_exchange_note(p[i], PAGE_EXT_TAGS, 0, &old) && old == 0);
		CHILD_CHECK(large_exchange_note(p[i + 1], PAGE_EXT_TAGS, 0, &old) && old == i + 2);
	}
}

IN_CHILD(alignment_is_kept_and_costs_nothing)
{
	size_t before = status_bytes("VmSize:");
	size_t align;

	NEEDS_BARE_PROCESS();
	keep_set_limit(0);
	for (align = 1; align <= 1ul << 32; align *= 4) {
		void *p = large_alloc(6 * MIB, align, NULL);

		CHILD_CHECK(p && ((uintptr_t)p & (align - 1)) == 0);
		CHILD_CHECK(status_bytes("VmSize:") - before <= 7 * MIB);
		CHILD_CHECK(large_free(p));
	}
}

#define MANY 3000

/* Enough to double the table several times, freed in another order. */
IN_CHILD(many_blocks_are_kept_apart)
{
	static char *p[MANY];
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		p[i] = large_alloc((i % 5 + 1) * PAGE_SIZE, 0, NULL);
		CHILD_CHECK(p[i]);
		*(unsigned int *)(void *)p[i] = i;
	}
	large_check();
	for (i = 0; i < MANY; i++) {
		unsigned int k = i * 1009 % MANY;

		CHILD_CHECK(large_size(p[k]) == (k % 5 + 1) * PAGE_SIZE);
		CHILD_CHECK(*(unsigned int *)(void *)p[k] == k);
		CHILD_CHECK(large_free(p[k]) && large_size(p[k]) == 0);
		if (i % 100 == 0)
			large_check();
	}
	CHILD_CHECK(large_count() == 0 && large_bytes() == 0);
	large_check();
}

IN_CHILD(resizing_keeps_the_contents)
{
	char *first = large_alloc(5 * MIB, 0, NULL);
	char *p = first;
	char *moved;

	memset(p, 9, 5 * MIB);
	CHILD_CHECK(large_resize(p, 5 * MIB - 100, false) == p && large_size(p) == 5 * MIB);
	CHILD_CHECK(large_resize(p, 3 * MIB, false) == p && large_size(p) == 3 * MIB);
	CHILD_CHECK(large_bytes() == 3 * MIB);
	/* A wall right behind it: growth without moving is impossible. */
	CHILD_CHECK(os_reserve_at(p + 3 * MIB, PAGE_SIZE));
	CHILD_CHECK(!large_resize(p, 4 * MIB, false));
	CHILD_CHECK(large_size(p) == 3 * MIB && p[3 * MIB - 1] == 9);
	moved = large_resize(p, 64 * MIB, true);
	CHILD_CHECK(moved && moved != p && large_size(moved) == 64 * MIB);
	CHILD_CHECK(moved[0] == 9 && moved[3 * MIB - 1] == 9 && moved[3 * MIB] == 0);
	CHILD_CHECK(large_size(p) == 0 && large_count() == 1 && large_bytes() == 64 * MIB);
	CHILD_CHECK(!large_resize(moved, SIZE_MAX, true) && large_size(moved) == 64 * MIB);
	CHILD_CHECK(!large_resize(moved, 1ul << 50, true) && large_size(moved) == 64 * MIB);
	large_check();
	CHILD_CHECK(large_free(moved));
}

/* Its pages came from elsewhere: it is of several mappings, which mremap() does not grow. */
IN_CHILD(a_block_of_moved_pages_grows)
{
	char *old[8];
	char *p;
	size_t at;

	for (unsigned int i = 0; i < ARRAY_SIZE(old); i++) {
		old[i] = large_alloc(3 * MIB, 0, NULL);
		memset(old[i], (int)i + 1, 3 * MIB);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(old); i += 2)
		CHILD_CHECK(large_free(old[i]));
	p = large_alloc(10 * MIB, 0, NULL);
	for (at = 0; at < 10 * MIB; at += PAGE_SIZE)
		*(size_t *)(p + at) = at;
	for (unsigned int size = 11; size <= 33; size += 11) {
		p = large_resize(p, size * MIB + PAGE_SIZE, true);
		CHILD_CHECK(p && large_size(p) == size * MIB + PAGE_SIZE);
		for (at = 0; at < 10 * MIB; at += PAGE_SIZE)
			CHILD_CHECK(*(size_t *)(p + at) == at);
		memset(p + 10 * MIB, 1, (size - 10) * MIB);
		/* Something behind it, so that the next time it moves. */
		os_reserve_at(p + size * MIB + PAGE_SIZE, PAGE_SIZE);
	}
	for (unsigned int i = 1; i < ARRAY_SIZE(old); i += 2)
		CHILD_CHECK(old[i][0] == (char)(i + 1) && old[i][3 * MIB - 1] == (char)(i + 1));
	large_check();
}

/* A part of the new block is lost while its pages move: the old one is whole again. */
IN_CHILD(a_block_of_several_mappings_that_cannot_move)
{
	size_t size = 8 * KEEP_UNIT;
	char *p = large_alloc(size, KEEP_BIG_UNIT, NULL);

	NEEDS_BARE_PROCESS();
	for (size_t at = 0; at < size; at += PAGE_SIZE)
		*(size_t *)(p + at) = at;
	/* Several mappings for good: the system does not merge these. */
	for (size_t at = KEEP_UNIT; at < size; at += 2 * KEEP_UNIT)
		CHILD_CHECK(madvise(p + at, KEEP_UNIT, MADV_DONTDUMP) == 0);
	child_deny_from(SYS_mremap, p + 3 * KEEP_UNIT, ENOMEM);
	errno = 0;
	CHILD_CHECK(!large_resize(p, 9 * KEEP_UNIT, true) && errno == 0);
	CHILD_CHECK(large_size(p) == size);
	for (size_t at = 0; at < size; at += PAGE_SIZE)
		CHILD_CHECK(*(size_t *)(p + at) == at);
	large_check();
}

IN_CHILD(out_of_memory_is_null)
{
	void *p;

	CHILD_CHECK(!large_alloc(SIZE_MAX, 0, NULL) && !large_alloc(PTRDIFF_MAX, 0, NULL));
	CHILD_CHECK(!large_alloc(1ul << 50, 0, NULL) && !large_alloc(PAGE_SIZE, 1ul << 55, NULL));
	NEEDS_BARE_PROCESS();
	p = large_alloc(5 * MIB, 0, NULL);
	limit_to(RLIMIT_AS, 20 * MIB);
	errno = 0;
	CHILD_CHECK(!large_alloc(30 * MIB, 0, NULL) && !large_resize(p, 40 * MIB, true));
	CHILD_CHECK(errno == 0);
	CHILD_CHECK(large_size(p) == 5 * MIB && large_count() == 1);
	CHILD_CHECK(large_alloc(15 * MIB, 0, NULL));
	large_check();
}

/* ---- threads, fork --------------------------------------------------------------------------- */

#define ROUNDS 1500

static unsigned int running; /* until it is 0, or for a fixed number of rounds */

/* Moves blocks about, so that addresses left by one thread are mapped anew by another. */
static void *churn(void *arg)
{
	char mark = (char)(uintptr_t)arg;
	uint64_t seed = (uintptr_t)arg;
	char *p[8] = { NULL };
	size_t size[8];
	unsigned int round;

	for (round = 0; round < ROUNDS || load_relaxed(&running); round++) {
		unsigned int i = (seed = seed * 6364136223846793005ul + 12345) >> 61;
		size_t pages = (seed >> 40 & 63) + 1;

		if (!p[i]) {
			p[i] = large_alloc(pages * PAGE_SIZE, 0, NULL);
			CHILD_CHECK(p[i]);
			size[i] = pages * PAGE_SIZE;
			*p[i] = mark;
		} else if (seed & 1ul << 50) {
			char *moved = large_resize(p[i], pages * PAGE_SIZE, true);

			CHILD_CHECK(moved && *moved == mark);
			p[i] = moved;
			size[i] = pages * PAGE_SIZE;
		} else {
			CHILD_CHECK(*p[i] == mark && large_size(p[i]) == size[i]);
			CHILD_CHECK(large_free(p[i]));
			p[i] = NULL;
		}
	}
	for (round = 0; round < 8; round++)
		CHILD_CHECK(!p[round] || large_free(p[round]));
	return NULL;
}

IN_CHILD(threads_may_reuse_each_others_addresses)
{
	threads_run(4, churn);
	CHILD_CHECK(large_count() == 0 && large_bytes() == 0);
	large_check();
}

IN_CHILD(a_fork_finds_the_table_whole)
{
	pthread_t thread;
	char *mine = large_alloc(5 * MIB, 0, NULL);
	unsigned int i;

	*mine = 77;
	store_relaxed(&running, 1);
	CHILD_CHECK(pthread_create(&thread, NULL, churn, (void *)5) == 0);
	for (i = 0; i < 20; i++) {
		int status;
		pid_t pid;

		large_each_lock(lock_fork_prepare);
		pid = fork();
		if (pid == 0) {
			void *p;

			large_each_lock(lock_fork_child);
			large_check();
			p = large_alloc(6 * MIB, 0, NULL);
			CHILD_CHECK(p && large_free(p) && *mine == 77 && large_free(mine));
			large_check();
			_exit(0);
		}
		large_each_lock(lock_fork_parent);
		CHILD_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	}
	store_relaxed(&running, 0);
	pthread_join(thread, NULL);
	CHILD_CHECK(large_count() == 1 && large_free(mine));
}

/* A child counts what is in the table, not what another thread was about to map or to unmap. */
IN_CHILD(counts_of_a_child)
{
	void *p;

	fresh_arena();
	p = large_alloc(3 * MIB, 0, NULL);
	CHILD_CHECK(p && large_alloc(2 * MIB, 0, NULL));
	fetch_add(&large_counters.bytes, 7 * MIB);
	fetch_add(&large_counters.count, 1);
	fetch_add(&keep_leaving, MIB);
	large_forked();
	CHILD_CHECK(large_bytes() == 5 * MIB && large_count() == 2 && !keep_leaving);
	CHILD_CHECK(large_free(p) && large_bytes() == 2 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_of_a_child),
		cmocka_unit_test(a_block_is_known_by_its_start),
		cmocka_unit_test(a_block_has_a_note),
		cmocka_unit_test(alignment_is_kept_and_costs_nothing),
		cmocka_unit_test(many_blocks_are_kept_apart),
		cmocka_unit_test(resizing_keeps_the_contents),
		cmocka_unit_test(a_block_of_moved_pages_grows),
		cmocka_unit_test(a_block_of_several_mappings_that_cannot_move),
		cmocka_unit_test(out_of_memory_is_null),
		cmocka_unit_test(threads_may_reuse_each_others_addresses),
		cmocka_unit_test(a_fork_finds_the_table_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
