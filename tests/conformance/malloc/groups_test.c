/* SPDX-License-Identifier: MIT */
/*
 * conformance/malloc/groups_test.c - what threads in accounting groups get of the drop-in is
 * charged exactly: malloc and its kin of all sizes, resized, freed by other threads, in handlers,
 * at fork
 *
 * ctest: timeout=300 sanitize=no (the sanitizers bring a malloc of their own)
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "cache/group/group.h"
#include "child.h"
#include "front/percpu.h"
#include "malloc/internal.h"
#include "page/page.h"
#include "replaced.h"

static const size_t sizes[] = { 0,    1,     40,    128,   1000,   5000,
				9000, 20000, 33000, 70000, 300000, 6ul << 20 };

static void *(*volatile alloc)(size_t) = malloc;
static void *(*volatile alloc_zero)(size_t, size_t) = calloc;
static void *(*volatile alloc_aligned)(size_t, size_t) = aligned_alloc;
static void *(*volatile resize)(void *, size_t) = realloc;
static void (*volatile give)(void *) = free;

static struct uslab_group *make(const char *name, size_t limit, struct uslab_group *parent)
{
	struct uslab_group *g = uslab_group_create(name, limit, parent);

	CHILD_CHECK(g);
	return g;
}

static size_t pages_of(size_t usable)
{
	return usable > MALLOC_MAX_SMALL ? ALIGN_UP(usable, PAGE_SIZE) : usable;
}

/* Charged: the usable bytes, of which large blocks may be whole pages. */
IN_CHILD(all_sizes)
{
	struct uslab_group *g = make("sizes", 0, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *outside = alloc(sizes[i]);
		void *p[3];
		size_t sum = 0;

		CHILD_CHECK(!uslab_group_enter(g) && uslab_group_current() == g);
		p[0] = alloc(sizes[i]);
		p[1] = alloc_zero(1, sizes[i]);
		p[2] = alloc_aligned(64, sizes[i]);
		CHILD_CHECK(uslab_group_enter(NULL) == g);
		for (int j = 0; j < 3; j++) {
			CHILD_CHECK(p[j] && malloc_usable_size(p[j]) >= sizes[i]);
			memset(p[j], 7, sizes[i]);
			sum += pages_of(malloc_usable_size(p[j]));
		}
		CHILD_CHECK(uslab_group_usage(g) == sum);
		give(outside);
		CHILD_CHECK(uslab_group_usage(g) == sum);
		for (int j = 0; j < 3; j++)
			give(p[j]);
		CHILD_CHECK(uslab_group_usage(g) == 0 && uslab_group_peak(g) >= sum);
	}
	uslab_group_destroy(g);
	malloc_check();
	cache_check_all();
}

/* In place and elsewhere: never more nor less than what there is; charged to the thread's group. */
IN_CHILD(resized)
{
	struct uslab_group *g = make("resized", 0, NULL);
	struct uslab_group *other = make("other", 0, NULL);

	for (size_t from = 0; from < ARRAY_SIZE(sizes); from++)
		for (size_t to = 1; to < ARRAY_SIZE(sizes); to++) {
			size_t usable;
			char *p;

			uslab_group_enter(g);
			p = alloc(sizes[from]);
			if (sizes[from])
				p[0] = p[sizes[from] - 1] = 5;
			uslab_group_enter(other);
			p = resize(p, sizes[to]);
			CHILD_CHECK(p && (!sizes[from] || p[0] == 5));
			usable = pages_of(malloc_usable_size(p));
			CHILD_CHECK(uslab_group_usage(g) + uslab_group_usage(other) == usable);
			CHILD_CHECK(!uslab_group_usage(g) || !uslab_group_usage(other));
			uslab_group_enter(NULL);
			give(p);
			CHILD_CHECK(!uslab_group_usage(g) && !uslab_group_usage(other));
		}
	cache_check_all();
}

/* A leak gets NULL and ENOMEM, and the group beside it all it wants. */
IN_CHILD(limited)
{
	struct uslab_group *both = make("both", 0, NULL);
	struct uslab_group *leaks = make("leaks", 4 << 20, both);
	struct uslab_group *good = make("good", 0, both);
	struct uslab_group_statistics stat = { .size = sizeof(stat) };
	void *list = NULL;
	size_t n = 0;
	void **p;

	uslab_group_enter(leaks);
	errno = 0;
	while ((p = alloc(1000))) {
		*p = list;
		list = p;
		n++;
	}
	CHILD_CHECK(errno == ENOMEM);
	CHILD_CHECK(n == (4 << 20) / malloc_usable_size(list));
	errno = 0;
	CHILD_CHECK(!alloc(5 << 20) && errno == ENOMEM);
	CHILD_CHECK(!alloc(100000) && !alloc_zero(10, 100) && !alloc_aligned(4096, 4096));
	CHILD_CHECK(resize(list, 500000) == NULL && errno == ENOMEM);
	uslab_group_enter(good);
	p = alloc(16 << 20);
	CHILD_CHECK(p);
	give(p);
	CHILD_CHECK(uslab_group_stat(leaks, &stat) == 0);
	CHILD_CHECK(stat.failed == 6 && stat.met == 6 && stat.limit == 4 << 20);
	CHILD_CHECK(stat.peak <= 4 << 20 && stat.usage <= stat.peak);
	uslab_group_enter(leaks);
	while ((p = list)) {
		list = *p;
		give(p);
	}
	CHILD_CHECK(uslab_group_usage(both) == 0);
	p = alloc(1000);
	CHILD_CHECK(p);
	give(p);
}

/* ---- a callback that frees ---- */

static void *spare[64];
static unsigned int called;

static void make_room(struct uslab_group *group, size_t bytes, void *arg)
{
	CHILD_CHECK(group == *(struct uslab_group **)arg && bytes >= 1000);
	called++;
	give(alloc(1)); /* does not call it again, though it may fail */
	for (size_t i = 0; i < ARRAY_SIZE(spare); i++) {
		give(spare[i]);
		spare[i] = NULL;
	}
}

IN_CHILD(called_back)
{
	struct uslab_group *g = make("called", 64 * 1024 + 100, NULL);
	void *p;

	CHILD_CHECK(uslab_group_set_callback(g, make_room, &g) == 0);
	uslab_group_enter(g);
	for (size_t i = 0; i < ARRAY_SIZE(spare); i++)
		CHILD_CHECK((spare[i] = alloc(1024)));
	CHILD_CHECK(!called);
	CHILD_CHECK((p = alloc(1024)) && called == 1);
	CHILD_CHECK(!alloc(100000) && called == 2);
	give(p);
	CHILD_CHECK(uslab_group_usage(g) == 0);
}

/* ---- others ---- */

/* Destroyed with blocks: they are its parent's, as they were, and the thread goes on there. */
IN_CHILD(destroyed)
{
	struct uslab_group *top = make("top", 0, NULL);
	struct uslab_group *g = make("below", 0, top);
	struct uslab_group_statistics stat = { .size = sizeof(stat) };
	void *p[2];

	uslab_group_enter(g);
	p[0] = alloc(100);
	uslab_group_destroy(g);
	CHILD_CHECK(uslab_group_usage(g) == 0 && uslab_group_usage(top) == 112);
	CHILD_CHECK(uslab_group_stat(g, &stat) == -ENOENT &&
		    uslab_group_set_limit(g, 1) == -ENOENT);
	p[1] = alloc(100);
	CHILD_CHECK(uslab_group_usage(top) == 224);
	CHILD_CHECK(uslab_group_stat(top, &stat) == 0 && stat.groups == 1);
	uslab_group_enter(NULL);
	CHILD_CHECK(uslab_group_stat(top, &stat) == 0 && stat.groups == 1);
	CHILD_CHECK(uslab_group_enter(g) == NULL && uslab_group_current() == top);
	CHILD_CHECK(uslab_group_enter(NULL) == top);
	give(p[0]); /* the last of it */
	CHILD_CHECK(uslab_group_stat(top, &stat) == 0 && stat.groups == 0);
	uslab_group_destroy(top);
	give(p[1]);
	CHILD_CHECK(groups_table->live == 0 && groups_table->dying == 0);
	group_check();
	CHILD_CHECK(make("again", 0, NULL) != g);
}

static void *use_and_end(void *arg)
{
	uslab_group_enter(arg);
	return alloc(5000);
}

IN_CHILD(by_threads_that_end)
{
	struct uslab_group *g = make("ends", 0, NULL);
	struct uslab_group_statistics stat = { .size = sizeof(stat) };

	for (int i = 0; i < 50; i++) {
		pthread_t thread;
		void *p;

		CHILD_CHECK(pthread_create(&thread, NULL, use_and_end, g) == 0);
		CHILD_CHECK(pthread_join(thread, &p) == 0);
		CHILD_CHECK(uslab_group_usage(g) == malloc_usable_size(p));
		give(p);
	}
	CHILD_CHECK(uslab_group_stat(g, &stat) == 0 && !stat.threads && !stat.usage);
	uslab_group_destroy(g);
	CHILD_CHECK(groups_table->dying == 0);
}

IN_CHILD(forked)
{
	struct uslab_group *g = make("forked", 0, NULL);
	void *p;
	int status;
	pid_t pid;

	uslab_group_enter(g);
	p = alloc(3000);
	pid = fork();
	CHILD_CHECK(pid >= 0 && uslab_group_usage(g) == malloc_usable_size(p));
	give(p);
	CHILD_CHECK(uslab_group_usage(g) == 0);
	give(alloc(100));
	uslab_group_destroy(g);
	uslab_group_enter(NULL);
	CHILD_CHECK(groups_table->dying == 0);
	if (!pid)
		_exit(0);
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void is_refused(const char *name, struct uslab_group *parent, int error)
{
	errno = 0;
	CHILD_CHECK(!uslab_group_create(name, 0, parent) && errno == error);
}

IN_CHILD(bad_input)
{
	char name[80] = "";
	struct uslab_group_statistics stat = { .size = 8 };
	struct uslab_group *g;

	uslab_group_destroy(NULL);
	CHILD_CHECK(!uslab_group_enter((struct uslab_group *)12345) && !uslab_group_current());
	CHILD_CHECK(uslab_group_usage(NULL) == 0);
	g = make("good", 0, NULL);
	is_refused(NULL, NULL, EINVAL);
	is_refused("", NULL, EINVAL);
	is_refused("a/b", NULL, EINVAL);
	is_refused("a b", NULL, EINVAL);
	memset(name, 'x', 64);
	is_refused(name, NULL, EINVAL);
	name[63] = '\0';
	CHILD_CHECK(uslab_group_create(name, 0, g));
	is_refused("x", (struct uslab_group *)77, ENOENT);
	CHILD_CHECK(uslab_group_stat(g, &stat) == -EINVAL);
	CHILD_CHECK(!uslab_group_enter((struct uslab_group *)~0ul));
	uslab_group_destroy((struct uslab_group *)~0ul);
}

/* ---- classes that are used much: caches of the group ---- */

#define MANY 4000

static const size_t hot_sizes[] = { 24, 100, 1000 };

/* In the CPU's cache of that group by now, where there are restartable sequences and arrays. */
static bool is_own(const void *p)
{
	return page_map.class[page_index(p)] > MALLOC_CLASSES;
}

static void *free_all(void *list)
{
	while (list) {
		void *next = *(void **)list;

		give(list);
		list = next;
	}
	return NULL;
}

static void *take_many(size_t size, size_t *sum)
{
	void *list = NULL;

	for (int i = 0; i < MANY; i++) {
		void **p = alloc(size);

		CHILD_CHECK(p);
		*p = list;
		list = p;
		*sum += malloc_usable_size(p);
	}
	return list;
}

static bool has_own(void)
{
	const struct cache *c = cache_of(percpu_handle(1));

	return malloc_hot.page_limit && front_has_arrays(&c->front) && c->engine.mark && !c->watch;
}

/* Exact, whoever frees; what is free in the group's slabs is nobody's. */
IN_CHILD(much_used)
{
	struct uslab_group *g[2] = { make("one", 0, NULL), make("two", 0, NULL) };
	size_t sum[2] = { 0, 0 };
	pthread_t thread;
	void *list[2][3];
	char *p;

	give(alloc(1));
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 2; j++) {
			uslab_group_enter(g[j]);
			list[j][i] = take_many(hot_sizes[i], &sum[j]);
			CHILD_CHECK(!has_own() || is_own(list[j][i]));
			CHILD_CHECK(uslab_group_usage(g[j]) == sum[j]);
		}
	p = resize(alloc(100), 200);
	CHILD_CHECK(p && malloc_usable_size(p) >= 200);
	p = resize(p, 20);
	CHILD_CHECK(p && malloc_usable_size(p) >= 20);
	give(p);
	p = alloc_zero(1, 100);
	for (int i = 0; i < 100; i++)
		CHILD_CHECK(!p[i]);
	give(p);
	CHILD_CHECK(uslab_group_usage(g[1]) == sum[1]);
	uslab_group_enter(NULL);
	free_all(list[0][0]);
	CHILD_CHECK(uslab_group_usage(g[0]) == sum[0] - MANY * malloc_usable_size(list[1][0]));
	for (int i = 0; i < 6; i++) {
		if (!i)
			continue;
		CHILD_CHECK(!pthread_create(&thread, NULL, free_all, list[i / 3][i % 3]));
		CHILD_CHECK(!pthread_join(thread, NULL));
	}
	CHILD_CHECK(uslab_group_usage(g[0]) == 0 && uslab_group_usage(g[1]) == 0);
	malloc_check();
	group_check();
	cache_check_all();
}

/* To the byte, although CPUs hold charged objects; what one class has free another one gets. */
IN_CHILD(much_used_to_the_limit)
{
	const size_t limit = 4 << 20;
	struct uslab_group *g = make("limited", limit, NULL);
	void *list = NULL;
	size_t n = 0;
	void **p;

	uslab_group_enter(g);
	for (int round = 0; round < 3; round++) {
		size_t size = hot_sizes[round];

		for (n = 0; (p = alloc(size)); n++) {
			*p = list;
			list = p;
		}
		CHILD_CHECK(errno == ENOMEM && n == limit / malloc_usable_size(list));
		CHILD_CHECK(uslab_group_peak(g) <= limit);
		free_all(list);
		list = NULL;
		CHILD_CHECK(uslab_group_usage(g) == 0);
	}
	group_check();
	cache_check_all();
}

/* Groups come and go, with objects that others free later. */
#define STORM_THREADS 4
#define STORM_ROUNDS 60

static void *handed_on[64];

static void *come_and_go(void *arg)
{
	uint64_t seed = (uintptr_t)arg;

	for (int round = 0; round < STORM_ROUNDS; round++) {
		struct uslab_group *g = make("storm", round % 3 ? 0 : 40000, NULL);

		uslab_group_enter(g);
		for (int i = 0; i < 3000; i++) {
			size_t size = hot_sizes[i % 3];
			void *p = alloc(size);

			CHILD_CHECK(p || round % 3 == 0);
			if (p)
				memset(p, (int)size, size);
			seed = seed * 6364136223846793005u + 1;
			give(xchg(&handed_on[seed >> 58], p));
		}
		uslab_group_destroy(g);
		if (round % 2)
			uslab_group_enter(NULL);
	}
	return NULL;
}

IN_CHILD(much_used_by_some)
{
	pthread_t thread[STORM_THREADS];
	size_t sum = 0;

	for (uintptr_t i = 0; i < STORM_THREADS; i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, come_and_go, (void *)(i + 1)));
	for (int i = 0; i < STORM_THREADS; i++)
		CHILD_CHECK(!pthread_join(thread[i], NULL));
	for (size_t i = 0; i < ARRAY_SIZE(handed_on); i++)
		give(handed_on[i]);
	uslab_group_enter(make("last", 0, NULL));
	free_all(take_many(100, &sum)); /* looks after those that were destroyed */
	uslab_group_destroy(uslab_group_enter(NULL));
	usleep(150000);
	uslab_group_destroy(make("very-last", 0, NULL));
	CHILD_CHECK(groups_table->live == 0 && groups_table->dying == 0);
	malloc_check();
	group_check();
	cache_check_all();
}

/* ---- handlers at any place ---- */

static volatile sig_atomic_t handled;
static struct uslab_group *handlers_group;

static void handle(int signal)
{
	struct uslab_group *before = uslab_group_enter(signal == SIGALRM ? handlers_group : NULL);
	void *p = alloc(200);

	give(p);
	give(alloc(50000));
	uslab_group_enter(before);
	handled++;
}

IN_CHILD(in_handlers)
{
	struct itimerval often = { { 0, 300 }, { 0, 300 } };
	struct uslab_group *g = make("interrupted", 0, NULL);
	void *p[32] = { NULL };

	handlers_group = make("handlers", 0, NULL);
	uslab_group_enter(g);
	signal(SIGALRM, handle);
	CHILD_CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (unsigned int i = 0; handled < 300; i++) {
		give(p[i % 32]);
		p[i % 32] = alloc(i % 2 ? hot_sizes[i % 3] : sizes[i % 11]);
	}
	often = (struct itimerval){ { 0, 0 }, { 0, 0 } };
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 32; i++)
		give(p[i]);
	give(alloc(1 << 20)); /* what handlers deferred is done */
	CHILD_CHECK(uslab_group_usage(g) == 0 && uslab_group_usage(handlers_group) == 0);
	group_check();
	cache_check_all();
}

/*
 * A handler that enters a group and comes back to one that was destroyed is in none: also in the
 * middle of a malloc() that had begun in it.
 */
IN_CHILD(taken_out_of_groups)
{
	struct itimerval often = { { 0, 100 }, { 0, 100 } }, never = { 0 };
	struct uslab_group *g = NULL;

	handlers_group = make("handlers", 0, NULL);
	uslab_group_enter(handlers_group);
	signal(SIGALRM, handle);
	for (int round = 0; round < 300; round++) {
		int before;

		g = make("gone", 0, NULL);
		uslab_group_enter(g);
		for (int i = 0; i < 3000; i++)
			give(alloc(hot_sizes[i % 3]));
		uslab_group_destroy(g);
		before = handled;
		CHILD_CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
		for (int i = 0; handled == before; i++)
			give(alloc(hot_sizes[i % 3]));
		setitimer(ITIMER_REAL, &never, NULL);
		uslab_group_enter(handlers_group);
	}
	uslab_group_enter(NULL);
	give(alloc(1 << 20));
	CHILD_CHECK(uslab_group_usage(handlers_group) == 0);
	group_check();
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_sizes),
		cmocka_unit_test(resized),
		cmocka_unit_test(limited),
		cmocka_unit_test(called_back),
		cmocka_unit_test(destroyed),
		cmocka_unit_test(by_threads_that_end),
		cmocka_unit_test(forked),
		cmocka_unit_test(bad_input),
		cmocka_unit_test(much_used),
		cmocka_unit_test(much_used_to_the_limit),
		cmocka_unit_test(much_used_by_some),
		cmocka_unit_test(in_handlers),
		cmocka_unit_test(taken_out_of_groups),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
