/* SPDX-License-Identifier: MIT */
/*
 * race/charged_engine_test.c - the group of a cache changes while others take objects and give them
 * back
 *
 * ctest: timeout=300 serial
 *
 * engine/charged.c is compiled into this program, with delays where others may come between. One
 * thread takes objects, of slabs that are counted and not there, and gives them back; the other one
 * changes the group whenever it can. When both are done and all is back, each group must have got
 * what it was charged. With a look that comes before the taker is counted, or a change that is said
 * after the look, the same rounds must find that this is not so.
 */
static void inject(int step);
#define CHARGED_INJECT(step) inject(step)
#include "engine/charged.c"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mix.h"
#include "pair_up.h"

#define ROUNDS 50000u
#define SLABS 8
#define GROUPS 3u
#define ID 7u

enum { BROKEN_LOOK = 1, BROKEN_CHANGE = 2 };

static int broken;
static __thread int delay[5];
static long balance[GROUPS + 1]; /* bytes by group; atomic */
static struct engine engine = { .id = ID, .size = 96 };

static void inject(int step)
{
	for (volatile int i = 0; i < delay[step]; i++) {}
	delay[step] = 0;
}

static bool charge(unsigned long group, size_t bytes, enum engine_charge_how how)
{
	(void)how;
	CHILD_CHECK(group && group <= GROUPS);
	fetch_add(&balance[group], (long)bytes);
	return true;
}

static void uncharge(unsigned long group, size_t bytes)
{
	CHILD_CHECK(group && group <= GROUPS);
	fetch_sub(&balance[group], (long)bytes);
}

static const struct engine_charges charges = { charge, uncharge };

/* BROKEN_LOOK: the group is looked at before the taker is counted. */
static struct engine_charge begin(unsigned int nr)
{
	struct engine_charge c = { .group = load_relaxed(&engine_groups[ID].group), .nr = nr };

	if (!(broken & BROKEN_LOOK))
		return engine_charge_begin(&engine, nr, false);
	if (c.group & ENGINE_GROUP_CHANGES)
		return (struct engine_charge){ 0 };
	inject(1);
	fetch_add(&engine_groups[ID].users, 1);
	if (c.group)
		charge(c.group, nr * (size_t)engine.size, false);
	return c;
}

/* Some of what is wanted, in a slab of their own. */
static unsigned int take(unsigned int nr, uint64_t r)
{
	struct engine_charge c = begin(nr);
	unsigned int got = c.nr ? (unsigned int)(r % (c.nr + 1)) : 0;

	if (!c.nr)
		return 0;
	if (got)
		fetch_add(&engine_limits[ID].pages, 1);
	return engine_charge_end(&engine, &c, got);
}

static void give(unsigned int nr)
{
	engine_uncharge(&engine, nr);
	fetch_sub(&engine_limits[ID].pages, 1);
}

static void make_some(uint64_t r)
{
	unsigned int slab[SLABS];
	unsigned int n = 0;

	for (unsigned int i = 0; i < 12; i++) {
		delay[1 + i % 2] = (int)(mix_bits(r + i) & 255);
		if (n == SLABS || (n && mix_bits(r ^ i) & 1)) {
			give(slab[--n]);
			continue;
		}
		slab[n] = take(1 + (unsigned int)(mix_bits(r * 3 + i) % 31), mix_bits(r + 7 * i));
		n += slab[n] != 0;
	}
	while (n)
		give(slab[--n]);
}

static void *make_on(void *arg)
{
	pin(0);
	for (unsigned int n = 1;; n++) {
		meet();
		if (load_relaxed(&pair_ends))
			return arg;
		make_some(mix_bits(n));
		meet();
	}
}

/* BROKEN_CHANGE: others are looked at before it is said that the group changes. */
static void change(unsigned long group)
{
	if (!(broken & BROKEN_CHANGE)) {
		engine_set_group(&engine, group);
	} else if (is_idle(&engine)) {
		inject(3);
		store_relaxed(&engine_groups[ID].group, group);
	}
}

static const char *wrong(void)
{
	if (engine_limits[ID].pages || engine_groups[ID].users)
		return "pages of no slab, or users that are gone";
	for (unsigned int i = 1; i <= GROUPS; i++)
		if (balance[i])
			return "a group was charged for what it did not get back, or the other way round";
	return NULL;
}

/* *arg: what is broken. Ends with status 3 once something is wrong. */
static void rounds(void *arg)
{
	const char *what = NULL;
	unsigned int n;

	broken = *(int *)arg;
	engine_charges = &charges;
	pair_start(make_on);
	for (n = 1; !what && pair_goes_on(n - 1, ROUNDS, broken); n++) {
		meet();
		for (unsigned int i = 0; i < 6; i++) {
			uint64_t r = mix_bits(n * 8 + i);

			delay[3] = (int)(r & 127);
			delay[4] = (int)(r >> 8 & 127);
			change((r >> 16) % (GROUPS + 1));
		}
		meet();
		what = wrong();
	}
	if (what) {
		dprintf(STDERR_FILENO, "race: wrong in round %u: %s\n", n - 1, what);
		_exit(3);
	}
	pair_end();
}

static void test_changes(void **state)
{
	(void)state;
	pair_run(rounds, 0);
}

static void test_early_look_is_seen(void **state)
{
	(void)state;
	pair_run(rounds, BROKEN_LOOK);
}

static void test_early_change_is_seen(void **state)
{
	(void)state;
	pair_run(rounds, BROKEN_CHANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_early_look_is_seen),
		cmocka_unit_test(test_early_change_is_seen),
	};

	os_rseq_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
