/* SPDX-License-Identifier: MIT */
/*
 * conformance/pairs.h - tests that run for every engine with every front
 *
 * Each test runs in a child of its own for each pair. Objects carry stamps, so that one handed out
 * twice, or written to by the allocator while it is in use, is seen; after each test the books of
 * engine and front must agree with what the test has.
 */
#ifndef CONFORMANCE_PAIRS_H
#define CONFORMANCE_PAIRS_H

#include <pthread.h>

#include "base/atomic.h"
#include "debug/report/report.h"
#include "unit/cache/cache_fixture.h"

/*
 * What else goes on in a suite: PAIRS_DEBUG_FLAGS, debug flags of all caches from the start; or,
 * where that is "switched", a thread that gives them other debug flags all the time.
 */
#ifndef PAIRS_DEBUG_FLAGS
#define PAIRS_DEBUG_FLAGS ""
#endif
static const bool pairs_switched = sizeof(PAIRS_DEBUG_FLAGS) == sizeof("switched");
static const bool pairs_debug = sizeof(PAIRS_DEBUG_FLAGS) > 1;

/* USLAB_CONF of all. */
#ifndef PAIRS_CONF
#define PAIRS_CONF ""
#endif

struct pair {
	const struct engine_ops *engine;
	const struct front_ops *front;
	void (*body)(const struct pair *pair);
	char name[64];
};

static inline struct cache *make_pair(const struct pair *pair, unsigned int size,
				      unsigned int align, void (*ctor)(void *))
{
	return made(&(struct cache_spec){ .name = "pair",
					  .size = size,
					  .align = align,
					  .ctor = ctor,
					  .engine = pair->engine,
					  .front = pair->front,
					  .sheaf_capacity = 28,
					  .no_merge = true });
}

/*
 * How often something is done: less where it is the same but slow, as with debug flags, which check
 * each byte of an object (all of it with USLAB_TEST_ALL=1: make test-all).
 */
static inline unsigned int rounds(unsigned int often)
{
	static int emulated = -1; /* atomic: threads ask as well */
	bool slow = THREAD_SANITIZED ||
		    (pairs_debug && !pairs_switched && !getenv("USLAB_TEST_ALL"));

	if (load_relaxed(&emulated) < 0)
		store_relaxed(&emulated, is_emulated());
	if (load_relaxed(&emulated) || (THREAD_SANITIZED && pairs_switched))
		return often / 6;
	return slow ? often / 3 : often;
}

static inline uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 11;
}

/* All of an object's bytes say whose it is. */
static inline void stamp(struct cache *c, void *obj)
{
	memset(obj, (int)((uintptr_t)obj >> 3 & 0xff) ^ 0x35, c->engine.object_size);
}

/* The first byte is right, and each is as the one before: by memcmp(), as quick with sanitizers. */
static inline void check_stamp(struct cache *c, const void *obj)
{
	const unsigned char *byte = obj;

	CHILD_CHECK(byte[0] == (((uintptr_t)obj >> 3 & 0xff) ^ 0x35));
	CHILD_CHECK(!memcmp(byte, byte + 1, c->engine.object_size - 1));
}

/* In pages of a heap, which all caches share, plain objects do not say whose they are. */
static inline bool is_of(const struct cache *c, const void *obj)
{
	return page_head_of(obj)->type == PAGE_HEAP || cache_of_object(obj) == c;
}

static inline void take(struct cache *c, void **slot)
{
	*slot = obj_alloc(c);
	CHILD_CHECK(*slot && is_of(c, *slot));
	stamp(c, *slot);
}

static inline void give(struct cache *c, void *obj)
{
	check_stamp(c, obj);
	obj_free(c, obj);
}

/* Held while debug flags change, and while somebody counts. */
static pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;

static inline void count(struct cache *c, unsigned long live)
{
	pthread_mutex_lock(&switching);
	CHILD_CHECK(in_use(c) == live);
	pthread_mutex_unlock(&switching);
}

static inline void balance(struct cache *c, unsigned long live)
{
	cache_check_all();
	count(c, live);
}

/* Nobody has an object: nothing is left, and the cache goes. */
static inline void finish(struct cache *c)
{
	balance(c, 0);
	CHILD_CHECK(cache_shrink(c) == 0);
	CHILD_CHECK(stats_of(c).nr_slabs == 0 && stats_of(c).slab_bytes == 0);
	cache_destroy(c->handle, NULL);
}

static const unsigned int sizes[] = { 1, 8, 24, 64, 100, 512, 2000, 5000, 20000 };

/* ---- all pairs ---- */

struct body {
	const char *name;
	void (*body)(const struct pair *pair);
	bool real;    /* on this machine's CPUs */
	bool made_up; /* on eight CPUs of four nodes */
};

/* Each engine, and each front, not each with each; but with USLAB_TEST_ALL=1. */
static bool pairs_each_once;

static bool switch_no_more;

static inline void *switch_debug_flags(void *arg)
{
	static const char *const debug_flags[] = {
		"FZPU", "-", "F", "U", "-", "ZP", "FP", "", "FZU"
	};

	for (unsigned int i = 0; !load_relaxed(&switch_no_more); i++) {
		int ret;

		pthread_mutex_lock(&switching);
		ret = cache_set_debug_pattern("pair", debug_flags[i % ARRAY_SIZE(debug_flags)]);
		pthread_mutex_unlock(&switching);
		CHILD_CHECK(ret == 1 || ret == -ENOENT);
		usleep(300);
	}
	return arg;
}

static inline void run(const struct pair *pair)
{
	pthread_t thread;

	if (pairs_debug && !pairs_switched)
		setenv("USLAB_DEBUG", PAIRS_DEBUG_FLAGS, 1);
	if (sizeof(PAIRS_CONF) > 1)
		setenv("USLAB_CONF", PAIRS_CONF, 1);
	ready();
	if (pairs_switched)
		CHILD_CHECK(!pthread_create(&thread, NULL, switch_debug_flags, NULL));
	pair->body(pair);
	if (pairs_switched) {
		store_relaxed(&switch_no_more, true);
		pthread_join(thread, NULL);
	}
	CHILD_CHECK(report_counters.reports == 0); /* but those that the body asked for */
}

static inline void run_real(void *arg)
{
	run(arg);
}

static inline void run_made_up(void *arg)
{
	CHILD_CHECK(os_topology_set(8, 4) == 0);
	run(arg);
}

static inline void test_real(void **state)
{
	struct child c = child_run(run_real, *state);

	assert_true(child_passed(&c));
}

static inline void test_made_up(void **state)
{
	struct child c = child_run(run_made_up, *state);

	assert_true(child_passed(&c));
}

/* Those that count what only quiet caches do, or fork. */
static inline bool needs_quiet(const char *body)
{
	return !strcmp(body, "ping_pong") || !strcmp(body, "constructors") ||
	       !strncmp(body, "destroyed_", 10) || !strcmp(body, "forked");
}

/* Those of several threads have a name that ends so. */
static inline bool has_threads(const char *body)
{
	const char *end = strstr(body, "threads");

	return end && !end[strlen("threads")];
}

/* A body of one thread has no races, unless debug flags are switched meanwhile. */
static inline bool has_something_to_see(const char *body)
{
	if (pairs_switched)
		return !needs_quiet(body);
	return !THREAD_SANITIZED || has_threads(body);
}

/* Debug slabs know no CPUs; and races with one thread are the same on whichever it is. */
static inline bool once_is_enough(const char *body)
{
	if (pairs_debug && !pairs_switched)
		return true;
	return THREAD_SANITIZED && !has_threads(body);
}

#define MAX_TESTS 1000

static struct pair pairs[MAX_TESTS];
static struct CMUnitTest tests[MAX_TESTS];
static size_t nr_tests;

static inline void add(const struct engine_ops *engine, const struct front_ops *front,
		       const struct body *body, bool made_up)
{
	struct pair *pair = &pairs[nr_tests];

	pair->engine = engine;
	pair->front = front;
	pair->body = body->body;
	snprintf(pair->name, sizeof(pair->name), "%s/%s: %s%s", engine->name, front->name,
		 body->name, made_up ? " (made-up CPUs)" : "");
	tests[nr_tests].name = pair->name;
	tests[nr_tests].test_func = made_up ? test_made_up : test_real;
	tests[nr_tests].initial_state = pair;
	nr_tests++;
}

static inline bool is_left_out(const struct engine_ops *engine, const struct front_ops *front,
			       const struct body *body)
{
	if (!has_something_to_see(body->name))
		return true;
	return pairs_each_once && engine != &slub_ops && front != &front_array_ops &&
	       !getenv("USLAB_TEST_ALL");
}

static inline void add_pair(const struct engine_ops *engine, const struct front_ops *front,
			    const struct body *bodies)
{
	for (size_t b = 0; bodies[b].name; b++) {
		if (is_left_out(engine, front, &bodies[b]))
			continue;
		if (bodies[b].real)
			add(engine, front, &bodies[b], false);
		if (bodies[b].made_up && !(bodies[b].real && once_is_enough(bodies[b].name)))
			add(engine, front, &bodies[b], true);
	}
}

/* bodies: ends with a name of NULL. With an argument only the pairs of that engine. */
static inline int pairs_main(int argc, char **argv, const char *name, const struct body *bodies)
{
	static const struct front_ops *const fronts[] = {
		&front_none_ops,    &front_array_ops,	&front_queues_ops,
		&front_cpuslab_ops, &front_sheaves_ops, &front_sheaves_618_ops,
	};

	for (unsigned int e = 0; e < CACHE_NR_ENGINES; e++)
		for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
			const struct engine_ops *engine = cache_engines[e];

			/* cpuslab, also below sheaves, needs slabs that a CPU can own */
			if ((fronts[f] == &front_cpuslab_ops ||
			     fronts[f] == &front_sheaves_618_ops) &&
			    engine != &slub_ops)
				continue;
			if (argc < 2 || !strcmp(argv[1], engine->name))
				add_pair(engine, fronts[f], bodies);
		}
	if (!nr_tests) {
		printf("skipped: none of them has something to see in this build\n");
		return 77;
	}
	return _cmocka_run_group_tests(name, tests, nr_tests, NULL, NULL);
}

#endif /* CONFORMANCE_PAIRS_H */
