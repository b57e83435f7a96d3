/* SPDX-License-Identifier: MIT */
/*
 * race/capacity_test.c - an install that takes long, while the front changes its capacity, moves
 * its words or closes
 *
 * ctest: timeout=500 serial sanitize=no
 *
 * One thread misses: it fills an array and installs it, with a delay in the sequence or in the C
 * code around it; and in half of the rounds it withdraws its arrays again, as when use falls,
 * before it frees. Another one changes the capacity, has the words moved to their other place, or
 * closes the front, at any moment of that. When both are done, no CPU may have an array of the old
 * capacity, nor one in the place that is not in use, nor any array if the front is closed, and no
 * array may have been taken by both. Without the fence that waits for installs, without the
 * capacity in what an install compares, if it replaces the word of a place that was left, or with
 * one word for both who take an array, the same rounds must find one.
 */
#include "inject.h"

#if !USLAB_HAVE_RSEQ
int main(void)
{
	return 77; /* no sequences in this build */
}
#else

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mix.h"
#include "cache/internal.h"
#include "child.h"
#include "front/array_sheaf.h"
#include "pair_up.h"

#define ROUNDS 3000

static struct kmem_cache *cache;
static struct front *front;
static uint64_t dice;

/*
 * The places of an install: 9 to 11 in the sequence, 0 before one of the loads around it; and that
 * before the commit of a run, which stores a stopped word again.
 */
static void delay_install(uint64_t r)
{
	int loops = (int)(r >> 8 & 511);

	if (race_broken & BROKEN_MOVED)
		r &= ~3ull; /* await_move() */
	race_delay[24] = (int)(r >> 33 & 1023);

	if (r & 3) {
		race_delay[9 + r % 3] = loops;
	} else {
		/* now and then longer than a whole change, with its fences, on a slow machine */
		race_delay[0] = (r >> 23 & 7 ? 20 : 400) * loops;
		race_skip = (int)(r >> 26 & 15);
	}
}

#define BURST 130u /* more than two arrays and their lane's first sheaf */

/* Twice: the first time brings sheaves into the lane. */
static void burst(uint64_t r)
{
	void *p[BURST];

	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int n = 0; n < BURST; n++)
			if (!(p[n] = kmem_cache_alloc(cache, GFP_KERNEL)))
				abort();
		if (i)
			delay_install(r);
		race_skip += (int)(r >> 36 & 31);
		for (unsigned int n = 0; n < BURST; n++)
			kmem_cache_free(cache, p[n]);
		if (r >> 41 & 1)
			delay_install(r);
		race_skip += (int)(r >> 36 & 31);
	}
}

/* Only misses: the words are stopped when a round begins. */
static void *miss(void *arg)
{
	void *p[40];

	pin(0);
	for (unsigned int n = 0;; n++) {
		uint64_t r = mix_bits(n + 1) ^ mix_multiply(n);

		meet();
		if (load_relaxed(&pair_ends))
			return arg;
		delay_install(r);
		p[0] = kmem_cache_alloc(cache, GFP_KERNEL);
		if (r >> 30 & 1) {
			if (!kmem_cache_alloc_bulk(cache, GFP_KERNEL, 39, p + 1))
				abort();
			kmem_cache_free_bulk(cache, 39, p + 1);
		}
		if (r >> 31 & 1) {
			if (!(r >> 32 & 3))
				delay_install(r >> 3); /* it is the same sequence */
			array_give_up(front);
		}
		kmem_cache_free(cache, p[0]);
		if (r >> 35 & 1)
			burst(r);
		memset(race_delay, 0, sizeof(race_delay));
		meet();
	}
}

static uint64_t draw(void)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return dice >> 8;
}

/* Nothing runs: is a word or a spare left that should not be? */
static bool is_wrong(bool closed)
{
	unsigned long unused = percpu_place(front->id) ^ USLAB_WINDOW_GENERIC;

	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		uintptr_t left = load_relaxed(percpu_word_at(front->id, cpu, unused));
		uintptr_t top[] = { load_relaxed(percpu_word(front->id, cpu)),
				    load_relaxed(percpu_spare(front->id, cpu)) };

		if (left != front_moved_word)
			return true;
		for (unsigned int i = 0; i < ARRAY_SIZE(top); i++)
			if (top[i] && !front_is_stopped(top[i]) &&
			    (closed || sheaf_capacity(top[i]) != front->capacity))
				return true;
	}
	return false;
}

/*
 * With the registry lock, as the library: a free that was interrupted finds its own mark, and then
 * drains the front to see whether the object is free (cache/debug/misuse.c).
 */
static void move_words(void)
{
	lock_acquire(&cache_lock);
	front_close(front);
	if (front_place_words(front, percpu_is_inline(front->id)))
		abort();
	front_open(front);
	cache_unlock();
	fetch_add(&race_moves, 1);
}

static void close_front(void)
{
	lock_acquire(&cache_lock);
	front_close(front);
	cache_unlock();
}

/* true: something was wrong. */
static bool one_round(void)
{
	unsigned int awaits = load_relaxed(&race_awaits);
	uint64_t r = draw();
	unsigned int what = race_broken & BROKEN_MOVED ? 1 : r & 3;
	bool close = what == 0;
	bool wrong;

	meet();
	spin((int)(r >> 8 & 4095));
	if (close) {
		close_front();
	} else if (what == 1) {
		if (race_broken & BROKEN_MOVED)
			await_change(&race_awaits, awaits, 10);
		move_words();
	} else if (kmem_cache_set_capacity(cache, front->capacity == 5 ? 31 : 5)) {
		abort();
	}
	meet();
	wrong = is_wrong(close);
	if (close)
		front_open(front);
	/* the next round begins with stopped words */
	front->ops->drain(front);
	return wrong;
}

/* *arg: what is broken. Ends with status 3 once something is wrong. */
static void rounds(void *arg)
{
	struct kmem_cache_args args = { .front = "array", .engine = "slub" };
	bool wrong = false;
	unsigned int n;

	race_broken = *(int *)arg;
	cache = kmem_cache_create_args("race", 64, &args, 0);
	front = &cache_of(cache)->front;
	move_words(); /* from now on one place is always left */
	dice = 88172645463325252ull;
	pair_start(miss);
	for (n = 0; !wrong && pair_goes_on(n, ROUNDS, race_broken); n++)
		wrong = one_round();
	if (wrong) {
		dprintf(STDERR_FILENO, "race: wrong in round %u\n", n);
		_exit(3);
	}
	pair_end();
	cache_check_all();
	CHILD_CHECK(front->ops->held(front) == 0 && kmem_cache_shrink(cache) == 0);
	kmem_cache_destroy(cache);
}

static void test_changes(void **state)
{
	(void)state;
	pair_run(rounds, 0);
}

static void test_no_settle_is_seen(void **state)
{
	(void)state;
	pair_run(rounds, BROKEN_SETTLE);
}

static void test_no_gate_is_seen(void **state)
{
	(void)state;
	pair_run(rounds, BROKEN_GATE);
}

static void test_taken_twice_is_seen(void **state)
{
	(void)state;
	pair_run(rounds, BROKEN_GONE);
}

static void test_no_fence_is_seen(void **state)
{
	(void)state;
	pair_run(rounds, BROKEN_FENCE);
}

static void test_moved_unseen_is_seen(void **state)
{
	(void)state;
	pair_run(rounds, BROKEN_MOVED);
}

static void test_closed_unseen_is_seen(void **state)
{
	(void)state;
	pair_run(rounds, BROKEN_CLOSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_no_settle_is_seen),
		cmocka_unit_test(test_no_gate_is_seen),
		cmocka_unit_test(test_closed_unseen_is_seen),
		cmocka_unit_test(test_moved_unseen_is_seen),
		cmocka_unit_test(test_no_fence_is_seen),
		cmocka_unit_test(test_taken_twice_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
