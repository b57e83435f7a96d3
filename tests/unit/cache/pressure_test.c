/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/pressure_test.c - reclaim callbacks and the hook that is asked before memory is
 * refused: when they are called, what they may do, who waits for them
 */
#include <pthread.h>
#include <sys/wait.h>

#include "cache/pressure.h"
#include "debug/report/report.h"
#include "engine/limit.h"
#include "page/limit.h"
#include "refused.h"

#define NOWARN (GFP_KERNEL | __GFP_NOWARN)

struct owner {
	struct cache *c;
	unsigned int calls;
	void *list; /* objects to give back, linked by their first words */
};

static void reclaim(void *arg)
{
	struct owner *o = arg;
	void *obj;

	CHILD_CHECK(!lock_thread.nr);
	o->calls++;
	while ((obj = o->list)) {
		o->list = *(void **)obj;
		cache_free(o->c, obj);
	}
}

static void make_owner(struct owner *o, const char *name, unsigned int size,
		       void (*callback)(void *arg))
{
	*o = (struct owner){ 0 };
	o->c = made(&(struct cache_spec){
		.name = name, .size = size, .reclaim = callback, .reclaim_arg = o });
}

static unsigned long take_all(struct cache *c, void **list)
{
	unsigned long n = 0;
	void *obj;

	for (; (obj = cache_alloc(c, __GFP_NOWARN, NUMA_NO_NODE)); n++) {
		*(void **)obj = *list;
		*list = obj;
	}
	return n;
}

/* ---- reclaim ---- */

IN_CHILD(test_shrink_calls)
{
	struct owner a;
	struct owner b;
	struct cache *alias;

	ready();
	make_owner(&a, "a", 64, reclaim);
	make_owner(&b, "b", 64, reclaim);
	alias = make("alias", 64, 0, 0);
	CHILD_CHECK(a.c != b.c && alias != a.c && alias != b.c); /* they do not merge */
	a.list = get(a.c);
	*(void **)a.list = NULL;
	CHILD_CHECK(cache_shrink(a.c) == 0 && a.calls == 1 && b.calls == 0);
	cache_shrink_all();
	CHILD_CHECK(a.calls == 2 && b.calls == 1);
	cache_destroy(a.c->handle, NULL);
	cache_shrink_all();
	CHILD_CHECK(a.calls == 2 && b.calls == 2);
	cache_destroy(b.c->handle, NULL);
	meta_check();
}

static struct owner other;

/* Creates and destroys caches, allocates, shrinks: none of that calls callbacks again. */
static void do_all(void *arg)
{
	struct owner *o = arg;

	o->calls++;
	if (o->calls == 1)
		make_owner(&other, "other", 100, reclaim);
	cache_shrink_all();
	CHILD_CHECK(get(o->c));
}

IN_CHILD(test_callback_may_call)
{
	struct owner a;

	ready();
	make_owner(&a, "a", 64, do_all);
	cache_shrink_all();
	CHILD_CHECK(a.calls == 1 && in_use(a.c) == 1);
	cache_shrink_all();
	CHILD_CHECK(a.calls == 2 && other.calls >= 1);
	cache_check_all();
}

static void destroy_other(void *arg)
{
	struct owner *o = arg;

	o->calls++;
	if (other.c)
		cache_destroy(other.c->handle, NULL);
	other.c = NULL;
}

IN_CHILD(test_callback_may_destroy_others)
{
	struct owner a;

	ready();
	make_owner(&other, "other", 100, reclaim);
	make_owner(&a, "a", 64, destroy_other);
	cache_shrink_all();
	cache_shrink_all();
	CHILD_CHECK(a.calls == 2 && other.calls <= 1);
}

/* What one cache keeps serves another one, whichever way it is asked for. */
static void serve(const char *front)
{
	struct owner a;
	struct cache *b;
	void *list = NULL;
	void *p[100];

	make_owner(&a, "a", 512, reclaim);
	b = make_front("b", 2048, front);
	cache_free(b, get(b)); /* there is a chunk of pages */
	no_more_memory();
	CHILD_CHECK(take_all(a.c, &list) > 1000);
	a.calls = 0;
	a.list = list;
	CHILD_CHECK(cache_alloc_bulk(b, GFP_KERNEL, 100, p) == 100);
	CHILD_CHECK(a.calls == 1 && !a.list && in_use(a.c) == 0);
}

static void run_serve(void *front)
{
	ready();
	serve(front);
}

static void test_out_of_memory_calls(void **state)
{
	static const char *const fronts[] = { "array", "none", "cpuslab", "queues", "sheaves" };

	(void)state;
	if (!bare_process())
		skip();
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
		struct child c = child_run(run_serve, (void *)fronts[f]);

		assert_true(child_passed(&c));
	}
}

/* ---- waiting ---- */

static unsigned int entered;
static unsigned int go_on;

static void wait_inside(void *arg)
{
	(void)arg;
	store_release(&entered, 1);
	while (!load_acquire(&go_on))
		usleep(100);
	usleep(20000);
	store_release(&entered, 2);
}

static void *shrink_there(void *arg)
{
	cache_shrink(arg);
	return NULL;
}

/* It returns when nobody runs the callback any more. */
IN_CHILD(test_destroy_waits)
{
	struct owner a;
	struct owner last;
	pthread_t thread;

	ready();
	make_owner(&last, "last", 64, reclaim);
	make_owner(&a, "a", 64, wait_inside);
	CHILD_CHECK(!pthread_create(&thread, NULL, shrink_there, a.c));
	while (!load_acquire(&entered))
		usleep(100);
	/* others are not in its way */
	CHILD_CHECK(cache_shrink(last.c) == 0 && last.calls == 1);
	store_release(&go_on, 1);
	pressure_remove(a.c);
	CHILD_CHECK(load_acquire(&entered) == 2);
	pthread_join(thread, NULL);
}

/* In a child nobody runs what another thread of the parent did. */
IN_CHILD(test_forked)
{
	struct owner a;
	pthread_t thread;
	int status;
	pid_t pid;

	ready();
	make_owner(&a, "a", 64, wait_inside);
	CHILD_CHECK(!pthread_create(&thread, NULL, shrink_there, a.c));
	while (!load_acquire(&entered))
		usleep(100);
	pid = fork();
	if (!pid) {
		cache_destroy(a.c->handle, NULL);
		_exit(0);
	}
	store_release(&go_on, 1);
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	pthread_join(thread, NULL);
}

/* ---- the hook ---- */

static struct asked {
	unsigned int calls;
	unsigned int yes; /* times to say so */
	size_t size;
	struct owner *gives;
} asked;

static bool hook(size_t size, gfp_t gfp, void *arg)
{
	struct asked *a = arg;

	CHILD_CHECK(!lock_thread.nr && gfp & __GFP_DIRECT_RECLAIM);
	a->calls++;
	a->size = size;
	if (a->gives)
		reclaim(a->gives);
	return a->calls <= a->yes;
}

/* Its own cache has no callback: only the hook frees. */
IN_BARE_CHILD(test_hook)
{
	struct owner a = { 0 };
	struct cache *b;
	void *p;

	ready();
	pressure_set_hook(hook, &asked);
	a.c = make("a", 512, 0, SLAB_NO_MERGE);
	b = make("b", 2048, 0, SLAB_NO_MERGE);
	cache_free(b, get(b));
	no_more_memory();
	take_all(a.c, &a.list); /* flags that may not wait: it is not asked */
	CHILD_CHECK(asked.calls == 0);
	CHILD_CHECK(!cache_alloc(b, NOWARN | __GFP_NORETRY, NUMA_NO_NODE) && asked.calls == 0);
	CHILD_CHECK(!cache_alloc(b, NOWARN, NUMA_NO_NODE));
	CHILD_CHECK(asked.calls == 1 && asked.size == 2048);

	asked = (struct asked){ .yes = 3 };
	CHILD_CHECK(!cache_alloc(b, NOWARN, NUMA_NO_NODE) && asked.calls == 4);

	asked = (struct asked){ .yes = 1, .gives = &a };
	p = cache_alloc(b, NOWARN, NUMA_NO_NODE);
	CHILD_CHECK(p && asked.calls == 1);
	cache_free(b, p);

	pressure_set_hook(NULL, NULL);
	take_all(a.c, &a.list);
	CHILD_CHECK(!cache_alloc(b, NOWARN, NUMA_NO_NODE) && asked.calls == 1);
}

/* Whole pages, blocks of a heap, bulk calls, sheaves, caches with debug flags. */
IN_BARE_CHILD(test_hook_of_all)
{
	static void *p[8192];
	struct cache *c[3];

	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	pressure_set_hook(hook, &asked);
	c[0] = make_front("array", 1024, "array");
	c[1] = make("debugged", 1024, 0, SLAB_POISON);
	c[2] = made(&(struct cache_spec){ .name = "slob", .size = 1024, .engine = &slob_ops });
	no_more_memory();
	for (unsigned int i = 0; i < 3; i++) {
		asked = (struct asked){ .yes = 1 };
		CHILD_CHECK(!cache_alloc_bulk(c[i], NOWARN, 8192, p) && asked.calls == 2);
		CHILD_CHECK(asked.size == 1024);
		asked = (struct asked){ 0 };
		CHILD_CHECK(!lent_prefill(c[i], NOWARN, 8000, NULL) && asked.calls == 1);
	}
	asked = (struct asked){ 0 };
	CHILD_CHECK(!kmalloc_alloc(4ul << 20, NOWARN, NUMA_NO_NODE));
	CHILD_CHECK(asked.calls == 1 && asked.size == 4ul << 20);
	cache_check_all();
}

static struct cache *starved;

/* What the hook itself is refused asks nobody. */
static bool hungry(size_t size, gfp_t gfp, void *arg)
{
	(void)size, (void)gfp;
	++*(unsigned int *)arg;
	CHILD_CHECK(!cache_alloc(starved, NOWARN, NUMA_NO_NODE));
	return false;
}

IN_BARE_CHILD(test_hook_is_not_nested)
{
	unsigned int calls = 0;
	void *list = NULL;

	ready();
	starved = make("starved", 1024, 0, 0);
	pressure_set_hook(hungry, &calls);
	no_more_memory();
	take_all(starved, &list);
	CHILD_CHECK(!calls && !cache_alloc(starved, NOWARN, NUMA_NO_NODE) && calls == 1);
	CHILD_CHECK(!cache_alloc(starved, NOWARN, NUMA_NO_NODE) && calls == 2);
}

/* ---- at a limit ---- */

#define LIMIT (4ul << 20)

static unsigned long held(struct cache *c)
{
	return c->front.ops->held(&c->front);
}

/* Who asks again and again takes away what others hold, but not each time. */
static void ask_again(void *front)
{
	struct cache *eater;
	struct cache *other;
	unsigned int kept = 0;
	void *list = NULL;

	ready();
	stay_here();
	eater = make_front("eater", 2000, front);
	other = make_front("other", 64, front);
	CHILD_CHECK(get(other)); /* its slab stays */
	limit_set(LIMIT);
	take_all(eater, &list);
	for (unsigned int i = 0; i < 1000 && kept < 5; i++) {
		cache_free(other, get(other));
		CHILD_CHECK(held(other));
		CHILD_CHECK(!cache_alloc(eater, NOWARN, NUMA_NO_NODE));
		kept = held(other) ? kept + 1 : 0;
	}
	CHILD_CHECK(kept == 5);
	/* but for smaller ones, and in 10 ms */
	usleep(30000);
	cache_free(other, get(other));
	CHILD_CHECK(!cache_alloc(eater, NOWARN, NUMA_NO_NODE) && !held(other));
	cache_check_all();
}

static void test_ask_again(void **state)
{
	static char fronts[][8] = { "array", "cpuslab", "queues" };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(fronts); i++) {
		struct child c = child_run(ask_again, fronts[i]);

		assert_true(child_passed(&c));
	}
}

/* Who frees one after the other until he gets what he wants: he frees no more than that. */
IN_CHILD(test_free_and_ask)
{
	struct cache *a;
	struct cache *b;
	void *list = NULL;

	ready();
	stay_here();
	a = made(&(struct cache_spec){ .name = "a", .size = 4096, .no_merge = true });
	b = made(&(struct cache_spec){ .name = "b", .size = 3000, .no_merge = true });
	limit_set(LIMIT);
	take_all(a, &list);
	for (unsigned int i = 0; i < 30; i++) {
		unsigned int n = 0;
		void *p = NULL;

		while (!(p = cache_alloc(b, NOWARN, NUMA_NO_NODE))) {
			void *obj = list;

			CHILD_CHECK(n++ < 9); /* one slab */
			list = *(void **)obj;
			cache_free(a, obj);
		}
	}
}

#define SMALL_LIMIT (1ul << 20)

static struct cache *caches[6];
static const unsigned int sizes[] = { 16, 64, 200, 1000, 3000, 8000 };

static void make_sizes(void)
{
	ready();
	stay_here();
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++)
		caches[i] = make("c", sizes[i], 0, SLAB_NO_MERGE);
	limit_set(SMALL_LIMIT);
}

static void give(struct cache *c, void **list, unsigned long n)
{
	while (n-- && *list) {
		void *obj = *list;

		*list = *(void **)obj;
		cache_free(c, obj);
	}
}

/* What is freed can be had again, in whatever sizes: no idle slabs of others keep it. */
IN_CHILD(test_freed_is_had)
{
	void *list = NULL;

	make_sizes();
	for (unsigned int i = 0; i < 4 * ARRAY_SIZE(sizes); i++) {
		struct cache *c = caches[i % ARRAY_SIZE(sizes)];
		unsigned long n = take_all(c, &list);

		CHILD_CHECK(n * c->engine.size > SMALL_LIMIT / 8 * 7);
		give(c, &list, n);
	}
	cache_check_all();
}

/* Also after failures of many sizes, where only the CPU's array has it. */
IN_CHILD(test_freed_is_had_after_failures)
{
	void *list = NULL;

	make_sizes();
	take_all(caches[4], &list);
	for (unsigned int i = 0; i < 40; i++) {
		give(caches[4], &list, 1);
		CHILD_CHECK(!cache_alloc(caches[i % 3], NOWARN, NUMA_NO_NODE));
		take_all(caches[4], &list);
	}
	give(caches[4], &list, 30);
	CHILD_CHECK(held(caches[4]) == 30);
	CHILD_CHECK(cache_alloc(caches[3], NOWARN, NUMA_NO_NODE));
}

#define OF_PROCESS "uslab: limit of 4.0 MiB met: 4.0 MiB held, 1000 bytes refused to c\n"
#define OF_CACHE "uslab: limit of 256.0 KiB of cache d met: 256.0 KiB held, 1000 bytes refused\n"
#define LEFT_OUT "uslab: 3 reports were suppressed; USLAB_CONF=report.burst=0 shows all\n"

static unsigned int count_of(const char *text, const char *line)
{
	unsigned int n = 0;

	for (; (text = strstr(text, line)); text++)
		n++;
	return n;
}

static void refuse(struct cache *c, gfp_t gfp, unsigned int times)
{
	while (times--)
		CHILD_CHECK(!cache_alloc(c, gfp, NUMA_NO_NODE));
}

/* One line in an interval; none for who wants none. */
static void refuse_many(void *seconds)
{
	struct cache *c;
	void *list = NULL;

	ready();
	c = make("c", 1000, 0, SLAB_NO_MERGE);
	CHILD_CHECK(report_set_interval(seconds));
	limit_set(LIMIT);
	take_all(c, &list);
	refuse(c, NOWARN, 2);
	CHILD_CHECK(!report_counters.suppressed);
	refuse(c, GFP_KERNEL, 4);
	if (*(char *)seconds == '0')
		return;
	CHILD_CHECK(report_counters.suppressed == 3);
	usleep(1100000);
	refuse(c, GFP_NOWAIT, 1);
	CHILD_CHECK(report_counters.suppressed == 3 && !report_counters.reports);
}

static void refuse_in_cache(void *arg)
{
	struct cache *d;
	void *list = NULL;

	(void)arg;
	ready();
	d = make("d", 1000, 0, SLAB_NO_MERGE);
	CHILD_CHECK(!cache_set_limit(d, 256ul << 10));
	take_all(d, &list);
	refuse(d, NOWARN, 1);
	refuse(d, GFP_KERNEL, 2);
	CHILD_CHECK(report_counters.suppressed == 1);
}

/* Out of memory without a limit is the engine's to say. */
static void refuse_without(void *arg)
{
	struct cache *c;
	void *list = NULL;

	(void)arg;
	ready();
	c = make("c", 1000, 0, SLAB_NO_MERGE);
	cache_free(c, get(c));
	no_more_memory();
	take_all(c, &list);
	refuse(c, GFP_KERNEL, 1);
}

static void test_lines(void **state)
{
	char one[] = "1";
	char none[] = "0";
	struct child c = child_run(refuse_many, one);

	(void)state;
	assert_true(child_passed(&c));
	assert_int_equal(count_of(c.text, "uslab: limit"), 2);
	assert_int_equal(count_of(c.text, OF_PROCESS), 2);
	assert_int_equal(count_of(c.text, LEFT_OUT OF_PROCESS), 1);
	c = child_run(refuse_many, none);
	assert_true(child_passed(&c));
	assert_int_equal(count_of(c.text, OF_PROCESS), 4);
	c = child_run(refuse_in_cache, NULL);
	assert_true(child_passed(&c));
	assert_int_equal(count_of(c.text, "uslab: limit"), 1);
	assert_int_equal(count_of(c.text, OF_CACHE), 1);
	if (bare_process()) {
		c = child_run(refuse_without, NULL);
		assert_true(child_passed(&c));
		assert_int_equal(count_of(c.text, "uslab: limit"), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shrink_calls),
		cmocka_unit_test(test_callback_may_call),
		cmocka_unit_test(test_callback_may_destroy_others),
		cmocka_unit_test(test_out_of_memory_calls),
		cmocka_unit_test(test_destroy_waits),
		cmocka_unit_test(test_forked),
		cmocka_unit_test(test_hook),
		cmocka_unit_test(test_hook_of_all),
		cmocka_unit_test(test_hook_is_not_nested),
		cmocka_unit_test(test_ask_again),
		cmocka_unit_test(test_free_and_ask),
		cmocka_unit_test(test_freed_is_had),
		cmocka_unit_test(test_freed_is_had_after_failures),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
