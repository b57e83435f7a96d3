/* SPDX-License-Identifier: MIT */
/*
 * race/stepped_groups_test.c - uslab_group_enter() with a signal after each of its instructions
 *
 * ctest: sanitize=no
 *
 * The handler enters another group and goes back to the one that it found. What another thread may
 * do at the same moment happens there as well: the group that is being entered, or left, is
 * destroyed, and another one gets its number. Each count of threads must be right at the end, the
 * key that of the group, and the thread never in the other one.
 */
#include "groups.h"
#include "replaced.h"
#include "stepped.h"
#include "unit/cache/cache_fixture.h"

static struct uslab_group *top, *entered, *of_handlers;
static struct uslab_group *other; /* has the number of the one that was destroyed, if it was free */
static unsigned long at;	  /* the step from which on it is destroyed; 0: it is not */

/* A handler may come in between: then all is well if the thread is in another group now. */
static void check_key(void)
{
	uint32_t id = load_relaxed(&group_current);
	uint64_t key = load_relaxed(&uslab_group_key);

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	CHILD_CHECK(key == group_owner(id) || load_relaxed(&group_current) != id);
}

/* In each run but the first it does something once: the next time it would mend what is wrong. */
static void on_step(unsigned long step)
{
	if (at) {
		if (step < at || lock_is_inside() || other)
			return;
		group_destroy(entered);
		other = make_group("other", 0, NULL);
	}
	group_enter(group_enter(of_handlers));
	check_key();
}

static void use(void *arg)
{
	(void)arg;
	group_enter(entered);
	check_key();
	CHILD_CHECK(!other || group_of_thread() != other);
	group_enter(NULL);
	check_key();
}

/* Nobody is in a group, and no number is left taken once the next one was asked for. */
static void check_ended(void)
{
	group_destroy(make_group("next", 0, NULL));
	CHILD_CHECK(!groups_table->dying && groups_table->live == 2);
	for (uint32_t i = 1; i <= groups_table->nr; i++)
		CHILD_CHECK(!group_at(i)->threads);
	group_check();
}

/* Returns how many steps there were. */
static unsigned long run(unsigned long step)
{
	unsigned long steps;

	entered = make_group("entered", 0, top);
	other = NULL;
	at = step;
	steps = stepped_run(use, NULL, on_step);
	CHILD_CHECK(!group_current);
	check_key();
	group_destroy(other ? other : entered);
	check_ended();
	return steps;
}

IN_CHILD(test_stepped)
{
	unsigned long steps;

	ready();
	top = make_group("top", 0, NULL);
	of_handlers = make_group("handlers", 0, top);
	group_enter(top); /* outside of a handler, once */
	group_enter(NULL);
	alarm(200); /* who waits for a lock waits for ever */
	steps = run(0);
	CHILD_CHECK(steps > 100);
	for (unsigned long step = 1; step < steps; step++)
		run(step);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stepped),
	};

	if (!stepped_is_possible())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
