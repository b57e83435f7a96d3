/* SPDX-License-Identifier: MIT */
/*
 * unit/os/cpu/dword_test.c - compare and swap of two words: by the CPU, and by locks
 *
 * Both ways are tried wherever there are both. Threads take turns at a pair whose second
 * word is always a function of the first; a pair that is torn, or lost, shows. A child
 * forked in their midst can go on.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "child.h"
#include "os/cpu/dword.h"
#include "os/lock/lock.h"

#define THREADS 4
#define TURNS 20000ul

typedef bool (*cas_function)(struct dword *p, struct dword expect, struct dword update);

static bool by_cpu(struct dword *p, struct dword expect, struct dword update)
{
	return dword_cas(p, expect, update);
}

static const cas_function ways[] = { by_cpu, dword_cas_locked };

static struct dword pair_of(uint64_t n)
{
	return (struct dword){ n, ~n * 3 };
}

static void one_thread(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct dword p = { 1, 2 };
		struct dword other_lo = { 0, 2 };
		struct dword other_hi = { 1, 0 };

		assert_false(ways[i](&p, other_lo, pair_of(5)));
		assert_false(ways[i](&p, other_hi, pair_of(5)));
		assert_int_equal(p.lo, 1);
		assert_int_equal(p.hi, 2);
		assert_true(ways[i](&p, p, (struct dword){ UINT64_MAX, 1ull << 63 }));
		assert_true(p.lo == UINT64_MAX && p.hi == 1ull << 63);
	}
}

struct turns {
	struct dword pair;
	cas_function cas;
	bool wrong;
};

static void *take_turns(void *arg)
{
	struct turns *t = arg;

	for (unsigned long done = 0; done < TURNS;) {
		struct dword now = { load_acquire(&t->pair.lo), load_relaxed(&t->pair.hi) };

		if (!t->cas(&t->pair, now, pair_of(now.lo + 1)))
			continue;
		/* what was exchanged was the pair that belongs together */
		if (now.hi != pair_of(now.lo).hi)
			store_relaxed(&t->wrong, true);
		done++;
	}
	return NULL;
}

static void threads(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct turns t = { pair_of(0), ways[i], false };
		pthread_t thread[THREADS];

		for (int n = 0; n < THREADS; n++)
			assert_int_equal(pthread_create(&thread[n], NULL, take_turns, &t), 0);
		for (int n = 0; n < THREADS; n++)
			pthread_join(thread[n], NULL);
		assert_false(t.wrong);
		assert_int_equal(t.pair.lo, THREADS * TURNS);
		assert_int_equal(t.pair.hi, pair_of(THREADS * TURNS).hi);
	}
}

static struct turns shared;
static bool stop;

static void *turn_until_stop(void *arg)
{
	while (!load_relaxed(&stop)) {
		struct dword now = { load_acquire(&shared.pair.lo), load_relaxed(&shared.pair.hi) };

		dword_cas(&shared.pair, now, pair_of(now.lo + 1));
	}
	return arg;
}

/* A lock that another thread held at that instant would be held in the child for ever. */
static void fork_in_the_midst(void **state)
{
	pthread_t thread[2];

	(void)state;
	shared = (struct turns){ pair_of(0), by_cpu, false };
	for (size_t n = 0; n < ARRAY_SIZE(thread); n++)
		assert_int_equal(pthread_create(&thread[n], NULL, turn_until_stop, NULL), 0);
	for (int i = 0; i < 200; i++) {
		int status;
		pid_t pid;

		dword_each_lock(lock_fork_prepare);
		pid = fork();
		if (pid == 0) {
			dword_each_lock(lock_fork_child);
			alarm(60);
			_exit(dword_cas(&shared.pair, shared.pair, pair_of(7)) ? 0 : 1);
		}
		dword_each_lock(lock_fork_parent);
		assert_true(pid > 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	store_relaxed(&stop, true);
	for (size_t n = 0; n < ARRAY_SIZE(thread); n++)
		pthread_join(thread[n], NULL);
}

/* base/atomic.h: of four threads that each count in a byte of one word none loses a step. */
static union {
	uint32_t word;
	uint8_t byte[4];
} bytes;

static void *count_byte(void *arg)
{
	uint8_t *byte = arg;

	for (unsigned int i = 0; i < TURNS; i++) {
		if (!cmpxchg_byte(byte, (uint8_t)i, (uint8_t)(i + 1)))
			return "somebody changed my byte";
	}
	return cmpxchg_byte(byte, (uint8_t)(TURNS + 1), 0) ? "the wrong byte was exchanged" : NULL;
}

static void neighbour_bytes(void **state)
{
	pthread_t thread[4];
	void *wrong;

	(void)state;
	for (int n = 0; n < 4; n++)
		assert_int_equal(pthread_create(&thread[n], NULL, count_byte, &bytes.byte[n]), 0);
	for (int n = 0; n < 4; n++) {
		pthread_join(thread[n], &wrong);
		assert_null(wrong);
	}
	for (int n = 0; n < 4; n++)
		assert_int_equal(bytes.byte[n], (uint8_t)TURNS);
}

static struct dword tried_pair;

static void try_pair(void)
{
	const struct dword old = { 1, 2 };
	const struct dword new = { 3, 4 };

	tried_pair = old;
	assert_false(dword_try_cas(&tried_pair, new, old));
	assert_true(dword_try_cas(&tried_pair, old, new));
	assert_true(tried_pair.lo == 3 && tried_pair.hi == 4);
}

/* By locks: not while another thread compares. */
static void tries(void **state)
{
	const struct dword old = { 3, 4 };

	(void)state;
	try_pair();
	dword_each_lock(lock_fork_prepare);
	assert_int_equal(dword_try_cas(&tried_pair, old, old), ARCH_HAS_DWCAS);
	dword_each_lock(lock_fork_parent);
	try_pair();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread),
		cmocka_unit_test(threads),
		cmocka_unit_test(fork_in_the_midst),
		cmocka_unit_test(neighbour_bytes),
		cmocka_unit_test(tries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
