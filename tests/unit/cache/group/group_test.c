/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/group/group_test.c - groups are made, entered and destroyed; handles, numbers, threads
 */
#include <pthread.h>
#include <signal.h>

#include "cache/group/group.h"
#include "unit/cache/cache_fixture.h"

static int error;

static struct uslab_group *make_group(struct uslab_group *parent)
{
	struct uslab_group *g = group_create("group", 0, parent, &error);

	CHILD_CHECK(g);
	return g;
}

static struct uslab_group_statistics stat_of(struct uslab_group *g)
{
	struct uslab_group_statistics stat;

	CHILD_CHECK(group_stat(g, &stat) == 0);
	return stat;
}

/* A number is used again, a handle never. */
IN_CHILD(test_handles)
{
	struct uslab_group *first, *second;

	ready();
	first = make_group(NULL);
	CHILD_CHECK(groups_table->nr == 1 && groups_table->live == 1);
	group_destroy(first);
	CHILD_CHECK(groups_table->live == 0 && groups_table->dying == 0);
	second = make_group(NULL);
	CHILD_CHECK(groups_table->nr == 1 && second != first);
	CHILD_CHECK(group_set_limit(first, 5) == -ENOENT && group_set_limit(second, 5) == 0);
	CHILD_CHECK(stat_of(second).limit == 5);
	group_destroy(first); /* says so, and nothing else */
	CHILD_CHECK(groups_table->live == 1);
	group_check();
}

IN_CHILD(test_names)
{
	static const char *const bad[] = { "", "a b", "a/b", "a\n", "\x7f", "\xc3\xa4" };

	ready();
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHILD_CHECK(!group_create(bad[i], 0, NULL, &error) && error == EINVAL);
	CHILD_CHECK(!group_create(NULL, 0, NULL, &error) && error == EINVAL);
	CHILD_CHECK(!group_create("x", 0, (struct uslab_group *)0x10001, &error));
	CHILD_CHECK(error == ENOENT);
	CHILD_CHECK(group_create("~!-_.", 0, NULL, &error));
}

static unsigned int told;

static void listen(void)
{
	told++;
}

/* Threads are counted; who listens is told of the first one, and of the end of the last group. */
IN_CHILD(test_enter)
{
	struct uslab_group *a, *b;

	ready();
	group_listener = listen;
	a = make_group(NULL);
	b = make_group(a);
	CHILD_CHECK(!told && !groups_entered);
	CHILD_CHECK(!group_enter(a) && told == 1 && groups_entered);
	CHILD_CHECK(group_enter(b) == a && told == 1);
	CHILD_CHECK(stat_of(a).threads == 0 && stat_of(b).threads == 1 && stat_of(a).groups == 1);
	CHILD_CHECK(group_enter(b) == b && stat_of(b).threads == 1);
	group_destroy(b);
	CHILD_CHECK(group_live(group_at(group_current)) == group_at(1));
	CHILD_CHECK(stat_of(a).groups == 1);			/* this thread is in it */
	CHILD_CHECK(group_enter(b) == a && group_current == 2); /* it stays */
	CHILD_CHECK(group_enter(NULL) == a && stat_of(a).groups == 0);
	CHILD_CHECK(!group_enter(b) &&
		    group_current == 1); /* nothing of it is left: the next above */
	CHILD_CHECK(group_enter(NULL) == a);
	group_destroy(a);
	CHILD_CHECK(told == 2 && !groups_entered);
	CHILD_CHECK(!group_enter(b) && !group_current);
	CHILD_CHECK(!group_enter(a) && !group_current);
	group_check();
}

/* Over several levels; not once the number is another's. */
IN_CHILD(test_enter_above)
{
	struct uslab_group *a, *b, *c;

	ready();
	a = make_group(NULL);
	b = make_group(a);
	c = make_group(b);
	group_enter(a);
	group_destroy(b);
	group_destroy(c);
	CHILD_CHECK(group_enter(c) == a && group_current == 1);
	CHILD_CHECK(stat_of(a).threads == 1 && stat_of(a).groups == 0);
	CHILD_CHECK(make_group(NULL) && make_group(NULL)); /* take the numbers of b and c */
	CHILD_CHECK(group_enter(c) == a && !group_current);
	group_check();
}

static void *enter_and_end(void *arg)
{
	return group_enter(arg) ? NULL : arg;
}

/* A destructor of a key that comes after the library's own has the thread enter once more. */
static struct uslab_group *late;
static pthread_key_t late_key;

static void enter_late(void *value)
{
	(void)value;
	group_enter(late);
}

static void *end_late(void *arg)
{
	group_enter(late);
	CHILD_CHECK(!pthread_setspecific(late_key, arg));
	return NULL;
}

IN_CHILD(test_entered_at_the_end)
{
	pthread_t thread;

	ready();
	late = make_group(NULL);
	CHILD_CHECK(!pthread_key_create(&late_key, enter_late));
	for (unsigned int i = 0; i < 3; i++) {
		CHILD_CHECK(!pthread_create(&thread, NULL, end_late, &late));
		CHILD_CHECK(!pthread_join(thread, NULL));
	}
	CHILD_CHECK(stat_of(late).threads == 0);
	group_destroy(late);
	CHILD_CHECK(groups_table->dying == 0);
}

IN_CHILD(test_end_of_thread)
{
	struct uslab_group *g;
	pthread_t thread;
	void *result;

	ready();
	g = make_group(NULL);
	for (int i = 0; i < 20; i++) {
		CHILD_CHECK(pthread_create(&thread, NULL, enter_and_end, g) == 0);
		CHILD_CHECK(pthread_join(thread, &result) == 0 && result == g);
		CHILD_CHECK(stat_of(g).threads == 0);
	}
}

/* Of a chain that was destroyed from above all goes with the last of it. */
IN_CHILD(test_chain)
{
	struct uslab_group *g[20];

	ready();
	for (unsigned int i = 0; i < ARRAY_SIZE(g); i++)
		g[i] = make_group(i ? g[i - 1] : NULL);
	for (unsigned int i = 0; i < ARRAY_SIZE(g) - 1; i++)
		group_destroy(g[i]);
	CHILD_CHECK(groups_table->dying == ARRAY_SIZE(g) - 1);
	group_check();
	group_destroy(g[ARRAY_SIZE(g) - 1]);
	CHILD_CHECK(groups_table->dying == 0 && groups_table->live == 0);
	group_check();
}

/* There are 65535; each can be used. */
IN_CHILD(test_all_numbers)
{
	struct uslab_group *last = NULL;
	unsigned int nr = is_emulated() ? 2000 : GROUPS_MAX - 1;

	ready();
	for (unsigned int i = 0; i < nr; i++)
		last = make_group(NULL);
	if (nr == GROUPS_MAX - 1)
		CHILD_CHECK(!group_create("one", 0, NULL, &error) && error == ENOSPC);
	group_enter(last);
	CHILD_CHECK(group_current == nr && group_handle(group_at(nr)) == last);
	group_enter(NULL);
	group_destroy(last);
	CHILD_CHECK(make_group(NULL) != last);
}

/* ---- threads that enter what others destroy ---- */

static struct uslab_group *shared, *of_handlers;
static bool stop;

/* A handler may come in between. */
static void check_key(void)
{
	uint32_t id = load_relaxed(&group_current);
	uint64_t key = load_relaxed(&uslab_group_key);

	CHILD_CHECK(key == group_owner(id) || load_relaxed(&group_current) != id);
}

static void *enter_often(void *arg)
{
	while (!load_relaxed(&stop)) {
		group_enter(load_relaxed(&shared));
		check_key();
		group_enter(NULL);
	}
	return arg;
}

/* It comes between any two steps of those, and back to where they were, or above that. */
static void enter_in_handler(int signal)
{
	(void)signal;
	group_enter(group_enter(of_handlers));
}

static void run_while_destroyed(struct uslab_group *top)
{
	pthread_t thread[2];

	shared = make_group(top);
	for (int i = 0; i < 2; i++)
		CHILD_CHECK(pthread_create(&thread[i], NULL, enter_often, NULL) == 0);
	for (int i = 0; i < 3000; i++) {
		struct uslab_group *old = shared;

		store_relaxed(&shared, make_group(top));
		group_destroy(old);
		if (of_handlers)
			pthread_kill(thread[i % 2], SIGUSR1);
	}
	store_relaxed(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	group_destroy(shared);
	if (top) {
		group_destroy(of_handlers);
		group_destroy(top);
	}
	CHILD_CHECK(groups_table->live == 0 && groups_table->dying == 0);
	for (uint32_t i = 1; i <= groups_table->nr; i++)
		CHILD_CHECK(group_at(i)->threads == 0);
	group_check();
}

IN_CHILD(test_entered_while_destroyed)
{
	ready();
	run_while_destroyed(NULL);
}

IN_CHILD(test_entered_by_handlers)
{
	struct uslab_group *top;

	ready();
	signal(SIGUSR1, enter_in_handler);
	top = make_group(NULL);
	of_handlers = make_group(top);
	group_enter(top); /* outside of a handler, once */
	group_enter(NULL);
	run_while_destroyed(top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handles),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_enter),
		cmocka_unit_test(test_enter_above),
		cmocka_unit_test(test_entered_at_the_end),
		cmocka_unit_test(test_end_of_thread),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_all_numbers),
		cmocka_unit_test(test_entered_while_destroyed),
		cmocka_unit_test(test_entered_by_handlers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
