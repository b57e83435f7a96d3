/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/control/control_test.c - the mailbox: every command, and what no tool should write
 */
#include "unit/cache/cache_fixture.h"

#include <pthread.h>
#include <sys/wait.h>

#include "base/atomic.h"
#include "cache/control/control.h"
#include "cache/instrument/instrument.h"
#include "cache/internal.h"
#include "debug/pages/blocks.h"
#include "debug/kfence/kfence.h"
#include "debug/report/report.h"
#include "engine/slub/slub.h"
#include "front/queues.h"
#include "os/time/clock.h"

/*
 * As a tool does it; who carries it out is the caller's next slow path. Commas stand between
 * patterns.
 */
static void post(enum control_command command, const char *pattern, const char *argument,
		 uint64_t value)
{
	CHILD_CHECK(load_acquire(&control.state) == CONTROL_IDLE);
	CHILD_CHECK(control.size == sizeof(control));
	store_relaxed(&control.state, CONTROL_CLAIMED);
	control_poll(); /* not yet */
	CHILD_CHECK(load_relaxed(&control.state) == CONTROL_CLAIMED);
	store_relaxed(&control.command, (uint32_t)command); /* read before it is PENDING, too */
	control.value = value;
	control.result = 77;
	control.matched = control.failed = 77;
	memset(control.failed_name, 'x', CONTROL_TEXT);
	memset(control.patterns, 0, CONTROL_PATTERNS);
	for (char *to = control.patterns; *pattern; to++, pattern++)
		*to = *pattern == ',' ? '\0' : *pattern;
	snprintf(control.argument, CONTROL_TEXT, "%s", argument);
	store_release(&control.state, CONTROL_PENDING);
}

static int answer(void)
{
	CHILD_CHECK(control.state == CONTROL_DONE);
	store_relaxed(&control.state, CONTROL_IDLE);
	return control.result;
}

static int send(enum control_command command, const char *pattern, const char *argument,
		uint64_t value)
{
	uint64_t serial = control.serial;

	post(command, pattern, argument, value);
	control_poll();
	CHILD_CHECK(control.serial == serial + 1);
	return answer();
}

/* ---- commands ---- */

IN_CHILD(test_nothing)
{
	ready();
	CHILD_CHECK(send(CONTROL_NOTHING, "*", "", 5) == 0);
	CHILD_CHECK(control.matched == 0 && control.failed == 0 && !control.failed_name[0]);
}

IN_CHILD(test_debug)
{
	struct cache *a;
	struct cache *b;
	struct cache *big;

	ready();
	CHILD_CHECK(send(CONTROL_DEBUG, "*", "FZPU", 0) == -ENOENT);
	a = make("a", 64, 0, 0);
	big = make("big", 4 << 20, 0, 0);
	b = make("b", 128, 0, 0);
	CHILD_CHECK(send(CONTROL_DEBUG, "a", "FZPU", 0) == 0);
	CHILD_CHECK(control.matched == 1 && a->flags == DEBUG_DEFAULT && b->flags == 0);
	CHILD_CHECK(send(CONTROL_DEBUG, "*", "+T", 0) == 0 && control.matched == 3);
	CHILD_CHECK(a->flags == (DEBUG_DEFAULT | SLAB_TRACE) && b->flags == SLAB_TRACE);
	/* the others are switched, and the one that cannot be is named */
	CHILD_CHECK(send(CONTROL_DEBUG, "*", "Z", 0) == -E2BIG);
	CHILD_CHECK(control.matched == 3 && control.failed == 1);
	CHILD_CHECK(!strcmp(control.failed_name, "big") && big->flags == SLAB_TRACE);
	CHILD_CHECK(a->flags == SLAB_RED_ZONE && b->flags == SLAB_RED_ZONE);
	CHILD_CHECK(send(CONTROL_DEBUG, "*", "Q", 0) == -EINVAL && control.failed == 3);
	CHILD_CHECK(a->flags == SLAB_RED_ZONE);
	CHILD_CHECK(send(CONTROL_DEBUG, "*", "-", 0) == 0 && !a->flags && !b->flags);
	cache_check_all();
}

/* All that any of them names, each once, whole pages among them. */
IN_CHILD(test_patterns)
{
	struct cache *a;
	struct cache *b;
	struct cache *c;

	ready();
	a = make("a", 64, 0, 0);
	b = make("b", 128, 0, 0);
	c = make("c", 256, 0, 0);
	CHILD_CHECK(send(CONTROL_DEBUG, "a,none,b,a*", "+U", 0) == 0);
	CHILD_CHECK(control.matched == 2 && control.failed == 0);
	CHILD_CHECK(a->flags == SLAB_STORE_USER && b->flags == SLAB_STORE_USER && !c->flags);
	CHILD_CHECK(send(CONTROL_DEBUG, "c,kmalloc-large", "+U", 0) == 0 && control.matched == 2);
	CHILD_CHECK(c->flags == SLAB_STORE_USER && blocks_debug_flags() == SLAB_STORE_USER);
	/* debug flags that only caches have */
	CHILD_CHECK(send(CONTROL_DEBUG, "c,kmalloc-large", "T", 0) == -EOPNOTSUPP);
	CHILD_CHECK(control.matched == 2 && control.failed == 1 && c->flags == SLAB_TRACE);
	CHILD_CHECK(!strcmp(control.failed_name, "kmalloc-large"));
	CHILD_CHECK(send(CONTROL_VALIDATE, "a,kmalloc-large", "", 0) == 0 && control.matched == 2);
	CHILD_CHECK(send(CONTROL_DEBUG, "none,nor this", "U", 0) == -ENOENT && !control.matched);
	CHILD_CHECK(send(CONTROL_DEBUG, "*,kmalloc-large", "-", 0) == 0 && control.matched == 4);
	CHILD_CHECK(!a->flags && !b->flags && !c->flags && !blocks_debug_flags());
	cache_check_all();
}

IN_CHILD(test_sample)
{
	struct cache *c;
	void *p;

	ready();
	c = make_front("c", 64, "none");
	CHILD_CHECK(send(CONTROL_SAMPLE, "c", "", 3) == 0 && c->watch & WATCH_SAMPLE);
	p = get(c); /* nobody sampled it */
	CHILD_CHECK(!debug_is_slab(page_head_of(p)));
	cache_free(c, p);
	p = cache_alloc_sampled(c, 64, NULL, GFP_KERNEL, DEBUG_SAMPLE(80, 9));
	CHILD_CHECK(page_head_of(p)->layout->debug == SLAB_STORE_USER);
	cache_free(c, p);
	CHILD_CHECK(send(CONTROL_SAMPLE, "c", "", 0) == 0 && !(c->watch & WATCH_SAMPLE));
	make("inline", 64, 0, 0);
	CHILD_CHECK(send(CONTROL_SAMPLE, "inline", "", 1) == -EOPNOTSUPP);
	CHILD_CHECK(!strcmp(control.failed_name, "inline"));
}

/* Caches that a tool left, which died: they do not go on with the next one's lease. */
IN_CHILD(test_sample_left)
{
	uint64_t now = os_clock_ms();
	uint64_t before = now - CONTROL_SAMPLING_LEASE_MS - 1000;
	struct cache *a, *b;
	uint64_t *since_a, *since_b;

	ready();
	a = make_front("a", 64, "none");
	b = make_front("b", 128, "none");
	CHILD_CHECK(send(CONTROL_SAMPLE, "*", "", 1) == 0);
	since_a = &a->engine.debug->tracking_since;
	since_b = &b->engine.debug->tracking_since;
	/* two commands before the first lease */
	CHILD_CHECK(send(CONTROL_SAMPLE, "b", "", 1) == 0 && a->watch & WATCH_SAMPLE);
	/* the lease runs: one that is sampled already goes on */
	*since_a = *since_b = before;
	control.sample_mean = 10;
	control.sample_until = now + 100000;
	CHILD_CHECK(send(CONTROL_SAMPLE, "a", "", 1) == 0);
	CHILD_CHECK(b->watch & WATCH_SAMPLE && *since_a == before && *since_b == before);
	control.sample_until = now - 1;
	CHILD_CHECK(send(CONTROL_SAMPLE, "a", "", 1) == 0);
	CHILD_CHECK(a->watch & WATCH_SAMPLE && *since_a >= now);
	CHILD_CHECK(!(b->watch & WATCH_SAMPLE) && *since_b == 0);
	/* so is one that the process has ended itself */
	*since_a = before;
	control.sample_mean = 0;
	control.sample_until = CONTROL_SAMPLING_FOREVER;
	CHILD_CHECK(send(CONTROL_SAMPLE, "b", "", 1) == 0);
	CHILD_CHECK(b->watch & WATCH_SAMPLE && !(a->watch & WATCH_SAMPLE));
}

IN_CHILD(test_shrink_and_trim)
{
	struct cache *c;
	unsigned long pages;
	void *p[200];

	ready();
	c = make("c", 1000, 0, 0);
	for (unsigned int i = 0; i < 200; i++)
		p[i] = get(c);
	pages = pages_out();
	for (unsigned int i = 0; i < 200; i++)
		cache_free(c, p[i]);
	CHILD_CHECK(c->front.ops->held(&c->front) > 0);
	CHILD_CHECK(send(CONTROL_SHRINK, "c", "", 0) == 0);
	CHILD_CHECK(stats_of(c).nr_slabs == 0 && pages_out() < pages);
	cache_free(c, get(c));
	CHILD_CHECK(send(CONTROL_TRIM, "", "", 0) == 0 && stats_of(c).nr_slabs == 0);
	CHILD_CHECK(control.value > 0);
}

IN_CHILD(test_validate)
{
	struct cache *c;
	char *p;

	ready();
	c = make("c", 64, 0, DEBUG_DEFAULT);
	make("plain", 64, 0, 0);
	p = get(c);
	CHILD_CHECK(send(CONTROL_VALIDATE, "c", "", 9) == 0 && control.value == 1);
	p[64] = 0;
	CHILD_CHECK(send(CONTROL_VALIDATE, "c", "", 0) == 0 && report_counters.reports == 1);
	CHILD_CHECK(send(CONTROL_VALIDATE, "plain", "", 0) == -EINVAL);
	CHILD_CHECK(send(CONTROL_VALIDATE, "*", "", 0) == -EINVAL && control.value == 1);
	CHILD_CHECK(control.matched == 2 && control.failed == 1);
	cache_free(c, p);
}

IN_CHILD(test_tune)
{
	struct cache *c;

	ready();
	c = make_front("c", 64, "queues");
	CHILD_CHECK(send(CONTROL_TUNE, "c", "20 10 4", 0) == 0);
	CHILD_CHECK(queues_of(&c->front)->limit == 20 && queues_of(&c->front)->batchcount == 10);
	CHILD_CHECK(send(CONTROL_TUNE, "c", " 30  5 0\n", 0) == 0);
	CHILD_CHECK(queues_of(&c->front)->limit == 30);
	CHILD_CHECK(send(CONTROL_TUNE, "c", "10 20 0", 0) == -EINVAL);
	CHILD_CHECK(send(CONTROL_TUNE, "c", "10 5", 0) == -EINVAL);
	CHILD_CHECK(send(CONTROL_TUNE, "c", "10 5 1 2", 0) == -EINVAL);
	CHILD_CHECK(send(CONTROL_TUNE, "c", "10 -5 1", 0) == -EINVAL);
	CHILD_CHECK(send(CONTROL_TUNE, "c", "x", 0) == -EINVAL);
	CHILD_CHECK(send(CONTROL_TUNE, "c", "99999999999999999999 1 1", 0) == -EINVAL);
	CHILD_CHECK(queues_of(&c->front)->limit == 30);
	make_front("n", 64, "none");
	CHILD_CHECK(send(CONTROL_TUNE, "n", "20 10 4", 0) == -EOPNOTSUPP);
}

IN_CHILD(test_capacity)
{
	struct cache *c;

	ready();
	c = make_front("c", 64, "array");
	CHILD_CHECK(send(CONTROL_SET, "c", "sheaf_capacity=4", 0) == 0 && c->front.capacity == 4);
	CHILD_CHECK(send(CONTROL_SET, "c", "sheaf_capacity=32", 0) == -EINVAL);
	CHILD_CHECK(send(CONTROL_SET, "c", "sheaf_capacity=1025", 0) == -EINVAL);
	CHILD_CHECK(send(CONTROL_SET, "c", "sheaf_capacity=4294967300", 0) == -EINVAL);
	CHILD_CHECK(send(CONTROL_SET, "c", "sheaf_capacity=18446744073709551615", 0) == -EINVAL);
	CHILD_CHECK(send(CONTROL_SET, "c", "sheaf_capacity=", 0) == -EINVAL);
	CHILD_CHECK(c->front.capacity == 4);
	CHILD_CHECK(send(CONTROL_SET, "c", "sheaf_capacity=0", 0) == 0 && c->front.capacity == 0);
	CHILD_CHECK(send(CONTROL_SET, "c", "sheaf_capacity=4294967295", 0) == 0);
	CHILD_CHECK(c->front.capacity == 31);
	make_front("n", 64, "none");
	CHILD_CHECK(send(CONTROL_SET, "n", "sheaf_capacity=4", 0) == -EOPNOTSUPP);
}

IN_CHILD(test_kfence)
{
	struct cache *c;

	ready();
	c = make("c", 64, 0, 0);
	CHILD_CHECK(send(CONTROL_KFENCE, "", "sample=1000", 0) == 0);
	CHILD_CHECK(kfence_is_on() && c->watch & WATCH_KFENCE);
	CHILD_CHECK(send(CONTROL_KFENCE, "", "sample", 0) == -EINVAL);
	CHILD_CHECK(send(CONTROL_KFENCE, "", "nonsense=1", 0) == -EINVAL);
	CHILD_CHECK(send(CONTROL_KFENCE, "", "sample=0", 0) == 0 && !kfence_is_wanted());
}

/* ---- who carries it out ---- */

IN_CHILD(test_slow_paths)
{
	struct cache *c;
	void *p;

	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	c = make_front("c", 64, "none");
	post(CONTROL_NOTHING, "", "", 0);
	p = get(c);
	CHILD_CHECK(answer() == 0);
	post(CONTROL_NOTHING, "", "", 0);
	cache_free(c, p);
	CHILD_CHECK(answer() == 0);
	post(CONTROL_NOTHING, "", "", 0);
	CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 1, &p) == 1);
	CHILD_CHECK(answer() == 0);
	post(CONTROL_NOTHING, "", "", 0);
	cache_free_bulk(c, 1, &p);
	CHILD_CHECK(answer() == 0);
	post(CONTROL_NOTHING, "", "", 0);
	p = kmalloc_alloc(100000, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(answer() == 0);
	post(CONTROL_NOTHING, "", "", 0);
	kmalloc_free(p, NULL);
	CHILD_CHECK(answer() == 0);
}

/* An allocation that finds the command already is of the new layout. */
IN_CHILD(test_before_the_call)
{
	struct cache *c;
	void *p;

	ready();
	c = make_front("c", 64, "none");
	post(CONTROL_DEBUG, "c", "FZPU", 0);
	p = get(c);
	CHILD_CHECK(answer() == 0 && page_head_of(p)->layout->kind == LAYOUT_DEBUG);
	cache_free(c, p);
}

static void await(uint64_t serial)
{
	for (unsigned int i = 0; load_acquire(&control.state) != CONTROL_DONE; i++) {
		CHILD_CHECK(i < 60000);
		usleep(1000);
	}
	CHILD_CHECK(control.serial == serial);
	store_relaxed(&control.state, CONTROL_IDLE);
}

IN_CHILD(test_thread)
{
	ready();
	CHILD_CHECK(cache_set_option("control", "2", NULL));
	cache_start_threads();
	for (unsigned int i = 1; i <= 3; i++) {
		post(CONTROL_NOTHING, "", "", 0);
		await(i);
	}
}

static void *poll_often(void *arg)
{
	while (!load_relaxed((bool *)arg))
		control_poll();
	return arg;
}

/* Each command once, whoever is there. */
IN_CHILD(test_many_threads)
{
	pthread_t thread[3];
	bool stop = false;

	ready();
	for (unsigned int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, poll_often, &stop);
	for (unsigned int i = 1; i <= 300; i++) {
		store_relaxed(&control.command, CONTROL_NOTHING);
		store_release(&control.state, CONTROL_PENDING);
		while (load_acquire(&control.state) != CONTROL_DONE)
			sched_yield();
		CHILD_CHECK(control.serial == i);
		store_relaxed(&control.state, CONTROL_IDLE);
	}
	store_relaxed(&stop, true);
	for (unsigned int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

static unsigned int rearmed;

static void rearm(void)
{
	rearmed++;
}

IN_CHILD(test_rearm)
{
	ready();
	control_rearm = rearm;
	CHILD_CHECK(send(CONTROL_NOTHING, "", "", 0) == 0 && rearmed == 1);
	control_poll();
	CHILD_CHECK(rearmed == 1);
}

IN_CHILD(test_fork)
{
	struct cache *c;
	int status;
	pid_t pid;

	ready();
	c = make_front("c", 64, "none");
	post(CONTROL_DEBUG, "c", "FZPU", 0);
	pid = fork();
	if (pid == 0) {
		CHILD_CHECK(control.state == CONTROL_IDLE && control.size == sizeof(control));
		cache_free(c, get(c));
		CHILD_CHECK(!c->flags);
		CHILD_CHECK(send(CONTROL_DEBUG, "c", "U", 0) == 0); /* its own */
		_exit(0);
	}
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHILD_CHECK(control.state == CONTROL_PENDING);
	control_poll();
	CHILD_CHECK(answer() == 0 && c->flags == DEBUG_DEFAULT);
}

/*
 * A tool that is writing a command while the child of fork() puts the parent's aside: its command
 * stays whole. The mailbox itself must look valid at every moment.
 */
IN_CHILD(test_fork_while_tool_writes)
{
	struct control before;

	ready();
	post(CONTROL_DEBUG, "c", "FZPU", 7);
	before = control;
	control_discard();
	CHILD_CHECK(control.state == CONTROL_IDLE);
	control.state = before.state;
	CHILD_CHECK(!memcmp(&control, &before, sizeof(control)));
}

/* Whole pages have a name and have debug flags of caches; a pattern means caches. */
IN_CHILD(test_whole_pages)
{
	void *before;
	void *p;

	ready();
	before = kmalloc_alloc(100000, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(send(CONTROL_DEBUG, "kmalloc-large", "+U", 0) == 0);
	CHILD_CHECK(control.matched == 1 && control.failed == 0 && blocks_debug_flags());
	p = kmalloc_alloc(100000, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(blocks_table->held == 1);
	kmalloc_free(before, NULL);
	CHILD_CHECK(blocks_table->held == 1);
	CHILD_CHECK(send(CONTROL_DEBUG, "kmalloc-large", "FZPUT", 0) == -EOPNOTSUPP);
	CHILD_CHECK(control.failed == 1 && !strcmp(control.failed_name, "kmalloc-large"));
	CHILD_CHECK(send(CONTROL_DEBUG, "kmalloc-large", "X", 0) == -EINVAL);
	CHILD_CHECK(blocks_debug_flags());
	CHILD_CHECK(send(CONTROL_DEBUG, "kmalloc-large", "-", 0) == 0 && !blocks_debug_flags());
	kmalloc_free(p, NULL);
	CHILD_CHECK(blocks_table->held == 0);
	CHILD_CHECK(send(CONTROL_DEBUG, "kmalloc-large", "FZP", 0) == 0);
	p = kmalloc_alloc(100000, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(kmalloc_size(p) == 100000);
	CHILD_CHECK(send(CONTROL_VALIDATE, "kmalloc-large", "", 0) == 0 && control.value == 1);
	CHILD_CHECK(report_counters.reports == 0);
	kmalloc_free(p, NULL);
	CHILD_CHECK(send(CONTROL_DEBUG, "kmalloc-l*", "U", 0) == -ENOENT);
	cache_check_all();
}

/* "attribute=number", see attribute_test.c for which there are. */
IN_CHILD(test_set)
{
	static const char *const bad[] = { "min_partial",
					   "min_partial=",
					   "min_partial=-1",
					   "min_partial=1x",
					   "min_partial= 1",
					   "=",
					   "",
					   "1" };
	struct cache *c;

	ready();
	c = make("c", 64, 0, 0);
	CHILD_CHECK(send(CONTROL_SET, "c", "min_partial=33", 0) == 0);
	CHILD_CHECK(slub_of(&c->engine)->min_partial == 33);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		CHILD_CHECK(send(CONTROL_SET, "c", bad[i], 0) == -EINVAL);
	CHILD_CHECK(send(CONTROL_SET, "c", "nonsense=1", 0) == -ENOENT);
	CHILD_CHECK(send(CONTROL_SET, "c", "=1", 0) == -ENOENT);
	CHILD_CHECK(slub_of(&c->engine)->min_partial == 33);
	CHILD_CHECK(send(CONTROL_SET, "c", "red_zone=1", 0) == 0);
	CHILD_CHECK(send(CONTROL_SET, "c", "validate=1", 0) == 0 && control.value == 0);
	CHILD_CHECK(!strcmp(control.failed_name, ""));
}

/* ---- hostile ---- */

/* Whatever bytes there are: an answer, and caches that are sound. */
IN_CHILD(test_garbage)
{
	uint64_t seed = 4711;
	struct cache *c;

	ready();
	c = make("c", 64, 0, 0);
	for (unsigned int round = 0; round < 5000; round++) {
		unsigned char *byte = (unsigned char *)&control;

		for (size_t i = offsetof(struct control, command); i < sizeof(control); i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			byte[i] = (unsigned char)(seed >> 20);
		}
		if (round % 2) /* a command that exists, for all */
			control.command = (uint32_t)seed % (CONTROL_TRIM + 1);
		if (round % 4 == 3)
			memcpy(control.patterns, "*", 2);
		store_release(&control.state, CONTROL_PENDING);
		control_poll();
		CHILD_CHECK(control.state == CONTROL_DONE);
		CHILD_CHECK(memchr(control.failed_name, 0, CONTROL_TEXT));
	}
	CHILD_CHECK(control.size == sizeof(control));
	store_relaxed(&control.state, CONTROL_IDLE);
	/* texts without an end, and a pattern that takes long */
	memset(control.patterns, '*', CONTROL_PATTERNS);
	memset(control.argument, 'F', CONTROL_TEXT);
	control.command = CONTROL_DEBUG;
	store_release(&control.state, CONTROL_PENDING);
	control_poll();
	CHILD_CHECK(answer() == 0 && c->flags & SLAB_CONSISTENCY_CHECKS);
	/* states that are none */
	store_relaxed(&control.state, 12345);
	control_poll();
	CHILD_CHECK(control.state == 12345);
	cache_free(c, get(c));
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_debug),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_sample_left),
		cmocka_unit_test(test_shrink_and_trim),
		cmocka_unit_test(test_validate),
		cmocka_unit_test(test_tune),
		cmocka_unit_test(test_capacity),
		cmocka_unit_test(test_kfence),
		cmocka_unit_test(test_slow_paths),
		cmocka_unit_test(test_before_the_call),
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_rearm),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_fork_while_tool_writes),
		cmocka_unit_test(test_whole_pages),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
