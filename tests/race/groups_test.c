/* SPDX-License-Identifier: MIT */
/*
 * race/groups_test.c - a charge that takes long, while another CPU takes the stock away
 *
 * ctest: timeout=300 serial sanitize=no
 *
 * One thread charges and uncharges, with delays between its look at the stock and the sequence, and
 * in the sequence. Another one drains the stock, or destroys the group, at any moment of that. When
 * both are done, all that is charged must lie in stocks. Without the fence of the drain, or without
 * its second look, the same rounds must find that it does not.
 */
#include "inject.h"

#if !USLAB_HAVE_RSEQ
int main(void)
{
	return 77; /* no sequences in this build */
}
#else

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mix.h"
#include "cache/cache.h"
#include "child.h"

static void look_is_over(void);

#define GROUP_INJECT(step) look_is_over()
#include "cache/group/charge.c"
#include "pair_up.h"

#define ROUNDS 3000
#define PAIRS 20
#define BYTES 192

static struct uslab_group *handle;
static struct group *group;
static __thread int pause_after_look;

static void look_is_over(void)
{
	spin(pause_after_look);
	pause_after_look = 0;
}

static void charge_some(uint64_t r)
{
	uint32_t id = group->id;

	for (unsigned int i = 0; i < PAIRS; i++) {
		uint32_t charged;

		if (i == (r >> 16) % PAIRS)
			race_delay[9 + r % 3] = (int)(r >> 24 & 511);
		if (i == (r >> 40) % PAIRS)
			pause_after_look = (int)(r >> 48 & 2047);
		charged = group_charge(id, BYTES, GROUP_CHARGE);
		if (charged && charged != GROUP_REFUSED)
			group_uncharge(charged, BYTES);
	}
}

static void *charge_on(void *arg)
{
	pin(0);
	for (unsigned int n = 0;; n++) {
		meet();
		if (load_relaxed(&pair_ends))
			return arg;
		charge_some(mix_bits(n + 1) ^ mix_multiply(n));
		memset(race_delay, 0, sizeof(race_delay));
		meet();
	}
}

/* Nothing runs: is there a byte that is charged and in no stock, or the other way round? */
static bool is_wrong(void)
{
	return load_relaxed(&group->usage) != group_ahead_locked(group);
}

static void make(void)
{
	int error;

	handle = group_create("race", 0, NULL, &error);
	CHILD_CHECK(handle);
	group = group_at((uint32_t)((uintptr_t)handle & 0xffff));
	/* as a thread that is in it: its number stays while this one charges */
	store_relaxed(&group->threads, 1);
}

/* true: something was wrong. */
static bool one_round(unsigned int n)
{
	bool destroy = n % 8 == 0;
	bool wrong;

	meet();
	spin((int)(mix_bits(n) >> 8 & 4095));
	if (destroy)
		group_destroy(handle);
	else
		group_drain(group);
	meet();
	wrong = is_wrong() || (destroy && group->usage);
	if (destroy) {
		store_relaxed(&group->threads, 0);
		group_try_release(group->id);
		wrong |= !wrong && groups_table->dying;
		make();
	}
	return wrong;
}

/* *arg: what is broken. Ends with status 3 once something is wrong. */
static void rounds(void *arg)
{
	bool wrong = false;
	unsigned int n;

	CHILD_CHECK(cache_init() == 0);
	make();
	race_broken = *(int *)arg;
	pair_start(charge_on);
	for (n = 1; !wrong && pair_goes_on(n - 1, ROUNDS, race_broken); n++)
		wrong = one_round(n);
	if (wrong) {
		dprintf(STDERR_FILENO,
			"race: wrong in round %u: %lu bytes are charged, %lu ahead\n", n - 1,
			(unsigned long)group->usage, (unsigned long)group_ahead_locked(group));
		_exit(3);
	}
	pair_end();
	group_check();
}

static void test_drains(void **state)
{
	(void)state;
	pair_run(rounds, 0);
}

static void test_no_fence_is_seen(void **state)
{
	(void)state;
	pair_run(rounds, BROKEN_FENCE);
}

static void test_no_second_look_is_seen(void **state)
{
	(void)state;
	pair_run(rounds, BROKEN_RETRY);
}

/* ---- signals between any two instructions: sequences of one thread, nested ---- */

static volatile sig_atomic_t signals;
static volatile uint32_t held; /* by the handler: the group that is charged; 0: none */

/* Charges and uncharges in turn, so that the stock is another one afterwards. */
static void charge_in_handler(int signal)
{
	(void)signal;
	signals++;
	if (lock_is_inside())
		return;
	if (held)
		group_uncharge(held, BYTES / 2);
	held = held ? 0 : group_charge(group->id, BYTES / 2, GROUP_CHARGE);
}

/* Each time: at the end as many charges as uncharges may be lost, and nobody would see it. */
static void look_between_signals(void)
{
	sigset_t alarm, before;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, &before);
	CHILD_CHECK(load_relaxed(&group->usage) ==
		    group_ahead_locked(group) + (held ? BYTES / 2 : 0));
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void interrupted(void *arg)
{
	struct itimerval often = { { 0, 50 }, { 0, 50 } };

	CHILD_CHECK(cache_init() == 0);
	make();
	race_broken = *(int *)arg;
	signal(SIGALRM, charge_in_handler);
	CHILD_CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (uint64_t n = 1; signals < 2000; n++) {
		charge_some(mix_bits(n));
		memset(race_delay, 0, sizeof(race_delay));
		look_between_signals();
	}
	signal(SIGALRM, SIG_IGN);
	if (held)
		group_uncharge(held, BYTES / 2);
	CHILD_CHECK(!is_wrong());
}

static void test_signals(void **state)
{
	int broken = 0;
	struct child c = child_run(interrupted, &broken);

	(void)state;
	assert_true(child_passed(&c));
}

static void test_signals_without_restart_are_seen(void **state)
{
	int broken = BROKEN_RESTART;
	struct child c;

	(void)state;
	if (!os_rseq_on)
		skip();
	c = child_run_broken(interrupted, &broken);
	printf("race: broken on purpose (%d): status %#x, %.70s\n", broken, c.status, c.text);
	assert_int_not_equal(c.status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drains),
		cmocka_unit_test(test_no_fence_is_seen),
		cmocka_unit_test(test_no_second_look_is_seen),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_signals_without_restart_are_seen),
	};

	os_rseq_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
