/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/group/charge_test.c - charges, limits above one another, stocks
 */
#include <pthread.h>

#include "cache/group/group.h"
#include "front/percpu.h"
#include "unit/cache/cache_fixture.h"

static struct uslab_group *handle[3];
static struct group *g[3]; /* each below the one before it */

static void start(void)
{
	int error;

	ready();
	stay_here();
	for (unsigned int i = 0; i < 3; i++) {
		handle[i] = group_create("g", 0, i ? handle[i - 1] : NULL, &error);
		CHILD_CHECK(handle[i]);
		g[i] = group_at(i + 1);
	}
	group_enter(handle[2]);
}

static uint64_t usage(unsigned int i)
{
	struct uslab_group_statistics stat;

	CHILD_CHECK(group_stat(handle[i], &stat) == 0);
	return stat.usage;
}

static bool charge(unsigned int i, size_t bytes)
{
	return group_charge(g[i]->id, bytes, GROUP_CHARGE) != GROUP_REFUSED;
}

IN_CHILD(test_above)
{
	start();
	CHILD_CHECK(charge(2, 100) && charge(1, 50) && charge(0, 7));
	CHILD_CHECK(usage(2) == 100 && usage(1) == 150 && usage(0) == 157);
	group_uncharge(g[2]->id, 100);
	CHILD_CHECK(usage(2) == 0 && usage(1) == 50 && usage(0) == 57);
	group_uncharge(g[1]->id, 50);
	group_uncharge(g[0]->id, 7);
	CHILD_CHECK(usage(0) == 0);
	group_drain(g[0]);
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(g[i]->usage == 0);
	group_check();
}

/* The limit of each holds, to the byte, whatever is in stocks. */
IN_CHILD(test_limits)
{
	size_t sum = 0;

	start();
	CHILD_CHECK(group_set_limit(handle[1], 200000) == 0);
	CHILD_CHECK(charge(0, 500000)); /* another one's */
	while (charge(2, 1000))
		sum += 1000;
	CHILD_CHECK(sum == 200000 && usage(1) == 200000);
	CHILD_CHECK(g[1]->met == 1 && g[1]->failed == 1 && !g[2]->failed && !g[0]->failed);
	CHILD_CHECK(g[1]->peak == 200000);
	group_uncharge(g[2]->id, 1);
	CHILD_CHECK(!charge(2, 2) && charge(2, 1));
	CHILD_CHECK(group_charge(g[2]->id, 5, GROUP_CHARGE_FORCED) == g[2]->id);
	CHILD_CHECK(usage(1) == 200005 && usage(0) == 700005);
	CHILD_CHECK(group_set_limit(handle[1], 0) == 0 && charge(2, 1 << 20));
	CHILD_CHECK(!charge(2, SIZE_MAX) || !group_set_limit(handle[0], 1));
}

/* Who is refused far above leaves no trace in the groups between, not even for a moment. */
IN_CHILD(test_refused_above)
{
	start();
	CHILD_CHECK(group_set_limit(handle[0], 100000) == 0);
	CHILD_CHECK(group_set_limit(handle[1], 1 << 30) == 0);
	CHILD_CHECK(!charge(2, 1 << 20));
	CHILD_CHECK(g[0]->met == 1 && !g[1]->met && !g[1]->peak && !g[2]->peak && !g[1]->usage);
	group_check();
}

/* What one CPU holds ahead another one gets before its charge fails. */
static void *charge_elsewhere(void *arg)
{
	cpu_set_t all;

	sched_getaffinity(getpid(), sizeof(all), &all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		cpu_set_t one;

		if (!CPU_ISSET(cpu, (cpu_set_t *)arg) || cpu == sched_getcpu())
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		break;
	}
	return charge(2, 40000) ? arg : NULL;
}

IN_CHILD(test_stocks_of_others)
{
	pthread_t thread;
	cpu_set_t all;
	void *result;

	sched_getaffinity(0, sizeof(all), &all);
	start();
	CHILD_CHECK(charge(2, 10)); /* and as much ahead as a stock has */
	CHILD_CHECK(g[2]->usage > 30000 && usage(2) == 10);
	CHILD_CHECK(group_set_limit(handle[2], 40010) == 0);
	CHILD_CHECK(pthread_create(&thread, NULL, charge_elsewhere, &all) == 0);
	CHILD_CHECK(pthread_join(thread, &result) == 0 && result);
	CHILD_CHECK(usage(2) == 40010 && g[2]->usage == 40010 && !g[2]->met);
	group_check();
}

/* A stock is one group's; it never has more than it may. */
IN_CHILD(test_one_stock)
{
	start();
	for (unsigned int i = 0; i < 300; i++) {
		CHILD_CHECK(charge(i % 3, 700));
		CHILD_CHECK(usage(0) == (i + 1) * 700);
	}
	for (unsigned int i = 0; i < 300; i++)
		group_uncharge(g[i % 3]->id, 700);
	for (unsigned int cpu = 0; cpu < groups_table->nr_cpus; cpu++)
		CHILD_CHECK(STOCK_BYTES(groups_table->stock[cpu].word) <= STOCK_MOST);
	CHILD_CHECK(usage(0) == 0 && g[0]->usage <= STOCK_MOST);
	group_check();
}

/* To a destroyed one: to the nearest above; what is its own goes on being so. */
IN_CHILD(test_destroyed)
{
	start();
	CHILD_CHECK(charge(2, 100));
	group_destroy(handle[2]);
	CHILD_CHECK(g[2]->usage == 100);
	CHILD_CHECK(group_charge(g[2]->id, 30, GROUP_CHARGE) == g[1]->id);
	CHILD_CHECK(group_charge(g[2]->id, 5, GROUP_CHARGE_MORE) == g[2]->id);
	CHILD_CHECK(usage(1) == 135);
	group_uncharge(g[2]->id, 105);
	group_uncharge(g[1]->id, 30);
	group_destroy(handle[0]);
	group_destroy(handle[1]);
	CHILD_CHECK(group_charge(g[2]->id, 30, GROUP_CHARGE) == GROUP_NONE);
	group_enter(NULL);
	CHILD_CHECK(groups_table->dying == 0);
	group_check();
}

/* Freed twice by a program's mistake: never below 0. */
IN_CHILD(test_too_much)
{
	start();
	CHILD_CHECK(charge(2, 100000));
	group_uncharge(g[2]->id, 1000000);
	CHILD_CHECK(g[2]->usage == 0 && g[0]->usage == 0);
}

/* ---- the callback ---- */

static unsigned int calls;

static void raise_limit(struct uslab_group *group, size_t bytes, void *arg)
{
	CHILD_CHECK(group == handle[1] && bytes == 600 && arg == &calls);
	CHILD_CHECK(!charge(2, 5000)); /* does not call it again */
	if (calls++)
		CHILD_CHECK(group_set_limit(group, 2000) == 0);
}

IN_CHILD(test_callback)
{
	start();
	CHILD_CHECK(group_set_limit(handle[1], 1000) == 0);
	CHILD_CHECK(group_set_callback(handle[1], raise_limit, &calls) == 0);
	CHILD_CHECK(charge(2, 600) && !calls);
	CHILD_CHECK(!charge(2, 600) && calls == 1 && g[1]->failed == 2);
	CHILD_CHECK(charge(2, 600) && calls == 2 && g[1]->failed == 3);
	CHILD_CHECK(group_set_callback(handle[1], NULL, NULL) == 0);
	CHILD_CHECK(!charge(2, 10000) && calls == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_above),	      cmocka_unit_test(test_limits),
		cmocka_unit_test(test_refused_above), cmocka_unit_test(test_stocks_of_others),
		cmocka_unit_test(test_one_stock),     cmocka_unit_test(test_destroyed),
		cmocka_unit_test(test_too_much),      cmocka_unit_test(test_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
