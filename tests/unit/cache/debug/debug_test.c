/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/debug/debug_test.c - debug flags at creation, and switched on caches
 * with objects of every kind
 */
#include "unit/cache/cache_fixture.h"

#include "base/atomic.h"
#include "cache/internal.h"
#include "debug/pages/blocks.h"
#include "debug/report/report.h"
#include "front/array.h"
#include "os/time/clock.h"

#define FZPU DEBUG_DEFAULT

static bool is_debug(const void *obj)
{
	return debug_is_slab(page_head_of(obj));
}

static slab_flags_t debug_flags(const struct cache *c)
{
	return c->flags & CACHE_DEBUG_FLAGS;
}

/* As the inline kmem_cache_alloc() and kmem_cache_free(): false: a miss. */
static void *hit_alloc(struct cache *c)
{
	return array_pop(c->front.id, percpu_cpu());
}

static bool hit_free(struct cache *c, void *obj)
{
	return array_push(c->front.id, percpu_cpu(), obj);
}

static bool is_closed(struct cache *c)
{
	return c->watch & WATCH_PAST_FRONT && c->front.closed & FRONT_CLOSED;
}

/* Nothing is left, nothing was reported, and it goes. */
static void finish(struct cache *c)
{
	cache_check_all();
	CHILD_CHECK(in_use(c) == 0);
	CHILD_CHECK(cache_shrink(c) == 0);
	CHILD_CHECK(stats_of(c).nr_slabs == 0);
	CHILD_CHECK(report_counters.reports == 0);
	if (c->front.id >= USLAB_ID_FIRST_FREE)
		cache_destroy(c->handle, NULL);
}

/* ---- at creation ---- */

IN_CHILD(test_creator)
{
	struct cache *c;
	void *p;

	ready();
	c = make("FZPU", 64, 0, FZPU);
	CHILD_CHECK(debug_flags(c) == FZPU && is_closed(c) && c->watch & WATCH_DEBUG);
	CHILD_CHECK(c->engine.debug->layout->stride == 160); /* spec 4.4 */
	CHILD_CHECK(c->engine.flags == 0 && c->engine.size == 64);
	p = get(c);
	CHILD_CHECK(is_debug(p) && page_map.class[page_index(p)] == 0);
	CHILD_CHECK(!hit_alloc(c) && !hit_free(c, p));
	cache_free(c, p);
	finish(c);

	c = make("plain", 64, 0, 0);
	CHILD_CHECK(!c->watch && !c->engine.debug && !debug_flags(c));
	finish(c);
}

/* Whatever the engine and the front, and for kmalloc's caches too. */
IN_CHILD(test_environment)
{
	struct cache *c;
	void *p;

	setenv("USLAB_DEBUG", "FZPU,kmalloc-64,b*;U,c", 1);
	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	p = kmalloc_alloc(60, GFP_KERNEL, NUMA_NO_NODE);
	c = cache_of_object(p);
	CHILD_CHECK(!strcmp(c->name, "kmalloc-64") && is_debug(p) && !((uintptr_t)p & 63));
	CHILD_CHECK(page_head_of(p)->layout->stride == 256); /* spec 4.4 */
	CHILD_CHECK(kmalloc_size(p) == 60);
	kmalloc_free(p, NULL);
	finish(c);
	CHILD_CHECK(!is_debug(kmalloc_alloc(100, GFP_KERNEL, NUMA_NO_NODE)));
	CHILD_CHECK(debug_flags(make("a", 64, 0, 0)) == 0);
	CHILD_CHECK(debug_flags(make("bcd", 64, 0, 0)) == FZPU);
	CHILD_CHECK(debug_flags(make("c", 64, 0, SLAB_TRACE)) == (SLAB_STORE_USER | SLAB_TRACE));
}

/* By the name of the new one, before merging is decided (spec 5.4). */
IN_CHILD(test_merging)
{
	struct cache *plain;
	struct cache *f;

	setenv("USLAB_DEBUG", "U,u;F,f,g", 1);
	ready();
	plain = make("plain", 64, 0, 0);
	CHILD_CHECK(make("u", 64, 0, 0) != plain);
	CHILD_CHECK(make("other", 64, 0, 0) == plain);
	CHILD_CHECK(make("f", 64, 0, 0) == plain); /* F alone does not prevent it */
	f = make("f", 96, 0, 0);
	CHILD_CHECK(debug_flags(f) == SLAB_CONSISTENCY_CHECKS);
	CHILD_CHECK(make("g", 90, 0, 0) == f);
	/* a cache that was switched to more than F knows where its objects end, for ever */
	CHILD_CHECK(cache_set_debug(plain, FZPU) == 0);
	CHILD_CHECK(make("later", 64, 0, 0) != plain);
	CHILD_CHECK(cache_set_debug(plain, 0) == 0);
	CHILD_CHECK(make("latest", 64, 0, 0) != plain);
}

/* The alias of a cache with F is larger: all of it is cleared, and nothing is reported. */
IN_CHILD(test_merged_grows)
{
	struct cache *c;
	unsigned char *p;

	setenv("USLAB_DEBUG", "F", 1);
	ready();
	c = make("small", 60, 0, 0);
	p = get(c);
	memset(p, 0xff, 60);
	cache_free(c, p);
	CHILD_CHECK(make("large", 64, 0, 0) == c);
	p = cache_alloc(c, GFP_KERNEL | __GFP_ZERO, NUMA_NO_NODE);
	for (unsigned int i = 0; i < 64; i++)
		CHILD_CHECK(p[i] == 0);
	memset(p, 0xff, 64);
	cache_free(c, p);
	finish(c);
}

/* O: no flag that enlarges an object so that it needs more pages. */
IN_CHILD(test_no_higher_order)
{
	struct cache *c;

	setenv("USLAB_DEBUG", "FZPUO", 1);
	ready();
	CHILD_CHECK(debug_flags(make("small", 64, 0, 0)) == FZPU);
	c = make("page", 4096, 0, 0);
	CHILD_CHECK(debug_flags(c) == SLAB_CONSISTENCY_CHECKS && is_closed(c));
	/* what is asked for later is meant */
	CHILD_CHECK(cache_set_debug(c, FZPU) == 0 && debug_flags(c) == FZPU);
	setenv("USLAB_DEBUG", "", 1);
	cache_read_debug_option("ZO");
	c = make("page2", 4096, 0, 0);
	CHILD_CHECK(debug_flags(c) == 0 && !is_closed(c)); /* none was left */
	cache_free(c, get(c));
}

IN_CHILD(test_too_large)
{
	struct cache_spec spec = { .name = "4M", .size = 4 << 20, .flags = SLAB_RED_ZONE };
	struct kmem_cache *s;
	struct cache *c;
	unsigned int id;
	void *p;

	ready();
	id = make("number", 64, 0, SLAB_NOLEAKTRACE)->front.id;
	CHILD_CHECK(cache_create(&spec, &s) == -E2BIG);
	CHILD_CHECK(cache_create(&spec, &s) == -E2BIG); /* nothing is left over */
	c = make("4M", 4 << 20, 0, 0);
	CHILD_CHECK(c->front.id == id + 1);
	/* live: as before */
	p = get(c);
	CHILD_CHECK(cache_set_debug(c, FZPU) == -E2BIG);
	CHILD_CHECK(debug_flags(c) == 0 && !is_closed(c));
	cache_free(c, p);
	CHILD_CHECK(cache_set_debug(c, SLAB_CONSISTENCY_CHECKS) == 0);
	CHILD_CHECK(cache_set_debug(c, FZPU) == -E2BIG);
	CHILD_CHECK(debug_flags(c) == SLAB_CONSISTENCY_CHECKS && is_closed(c));
	p = get(c);
	CHILD_CHECK(is_debug(p));
	cache_free(c, p);
	finish(c);
}

/* ---- live ---- */

static const char *const fronts[] = { "array", "cpuslab", "queues", "none" };

/* Objects of the three layouts are freed in any order, after everything was switched off. */
static void switch_front(const char *front)
{
	struct cache *c = make_front("live", 64, front);
	void *plain[100];
	void *debugged[100];
	void *checked[100];

	for (unsigned int i = 0; i < 100; i++)
		plain[i] = get(c);
	cache_free(c, plain[99]); /* something lies in the front */
	CHILD_CHECK(cache_set_debug(c, FZPU) == 0);
	CHILD_CHECK(is_closed(c) && debug_flags(c) == FZPU && c->front.ops->held(&c->front) == 0);
	for (unsigned int i = 0; i < 100; i++) {
		debugged[i] = get(c);
		CHILD_CHECK(is_debug(debugged[i]) && !hit_free(c, debugged[i]));
	}
	CHILD_CHECK(in_use(c) == 199);
	CHILD_CHECK(cache_set_debug(c, SLAB_CONSISTENCY_CHECKS) == 0);
	for (unsigned int i = 0; i < 100; i++) {
		checked[i] = get(c);
		CHILD_CHECK(page_head_of(checked[i])->layout->stride == 64 && is_debug(checked[i]));
	}
	cache_check_all();
	for (unsigned int i = 0; i < 30; i++) { /* of each kind one, while it is on */
		cache_free(c, plain[i]);
		cache_free(c, debugged[i]);
		cache_free(c, checked[i]);
	}
	CHILD_CHECK(c->front.ops->held(&c->front) == 0);
	CHILD_CHECK(in_use(c) == 209);
	CHILD_CHECK(cache_set_debug(c, 0) == 0);
	CHILD_CHECK(!is_closed(c) && !debug_flags(c) && c->watch == WATCH_ROUTE);
	plain[0] = get(c);
	CHILD_CHECK(!is_debug(plain[0]));
	cache_free(c, plain[0]);
	for (unsigned int i = 30; i < 100; i++) {
		cache_free(c, debugged[i]);
		cache_free(c, checked[i]);
		if (i != 99)
			cache_free(c, plain[i]);
	}
	finish(c);
}

IN_CHILD(test_switch)
{
	ready();
	for (unsigned int i = 0; i < ARRAY_SIZE(fronts); i++)
		switch_front(fronts[i]);
}

/*
 * An object of a debug slab that is freed by an inline hit waits in the array, in use for its slab,
 * may be given out again, and goes home when the front is emptied.
 */
IN_CHILD(test_hit_after_off)
{
	struct cache *c;
	void *other;
	void *p;

	ready();
	stay_here();
	c = make("hit", 64, 0, SLAB_NOLEAKTRACE);
	CHILD_CHECK(cache_set_debug(c, FZPU) == 0);
	p = get(c);
	CHILD_CHECK(cache_set_debug(c, 0) == 0);
	other = get(c); /* the CPU has an array now, with room for one */
	CHILD_CHECK(hit_free(c, p));
	CHILD_CHECK(in_use(c) == 1 && c->engine.debug->node[0]->nr_slabs == 1);
	CHILD_CHECK(hit_alloc(c) == p && in_use(c) == 2);
	memset(p, 0x77, 64);
	CHILD_CHECK(hit_free(c, p));
	/*
	 * on again: the front is emptied, and the object is free in its slab, checked and poisoned
	 */
	CHILD_CHECK(cache_set_debug(c, FZPU) == 0);
	CHILD_CHECK(in_use(c) == 1 && *(unsigned char *)p == POISON_FREE);
	CHILD_CHECK(get(c) == p);
	cache_free(c, p);
	cache_free(c, other);
	finish(c);
}

/* What is allocated by address never takes a hit once it is in a debug slab. */
IN_CHILD(test_by_address)
{
	struct cache *c;
	void *p;

	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	p = kmalloc_alloc(64, GFP_KERNEL, NUMA_NO_NODE);
	c = cache_of_object(p);
	kmalloc_free(p, NULL);
	CHILD_CHECK(cache_set_debug(c, FZPU) == 0);
	p = kmalloc_alloc(64, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(cache_set_debug(c, 0) == 0);
	kmalloc_free(p, NULL);
	CHILD_CHECK(*(unsigned char *)p == POISON_FREE); /* home at once */
	finish(c);
}

/* Over a heap without a front: blocks, then objects of debug slabs, then blocks again. */
IN_CHILD(test_heap)
{
	struct cache *c;
	void *block;
	void *p;

	CHILD_CHECK(cache_set_option("engine", "slob", NULL));
	CHILD_CHECK(cache_set_option("front", "historical", NULL));
	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	block = kmalloc_alloc(50, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(page_head_of(block)->type == PAGE_HEAP);
	c = cache_of(percpu_handle(USLAB_ID_KMALLOC + uslab_kmalloc_index(50)));
	CHILD_CHECK(cache_heap_of(c) && cache_set_debug(c, FZPU) == 0);
	p = kmalloc_alloc(50, GFP_KERNEL | __GFP_ZERO, NUMA_NO_NODE);
	CHILD_CHECK(is_debug(p) && kmalloc_size(p) == 50);
	kmalloc_free(block, NULL);
	CHILD_CHECK(cache_set_debug(c, 0) == 0);
	block = kmalloc_alloc(50, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(page_head_of(block)->type == PAGE_HEAP);
	kmalloc_free(p, NULL);
	kmalloc_free(block, NULL);
	finish(c);
	/* watched, but not debugged: blocks still */
	lock_acquire(&cache_lock);
	cache_watch_locked(c, WATCH_PROBES, true);
	lock_release(&cache_lock);
	block = kmalloc_alloc(50, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(page_head_of(block)->type == PAGE_HEAP && kmalloc_size(block) == 50);
	kmalloc_free(block, NULL);
	/* larger than any block: whole pages, unless they are debugged */
	c = cache_of(percpu_handle(USLAB_ID_KMALLOC + uslab_kmalloc_index(8000)));
	p = kmalloc_alloc(8000, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(page_head_of(p)->type == PAGE_RUN);
	CHILD_CHECK(cache_set_debug(c, FZPU) == 0);
	kmalloc_free(p, NULL);
	p = kmalloc_alloc(8000, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(is_debug(p));
	kmalloc_free(p, NULL);
}

/* ---- by pattern ---- */

IN_CHILD(test_pattern)
{
	struct cache *a;
	struct cache *b;
	struct cache *big;

	ready();
	CHILD_CHECK(cache_set_debug_pattern("*", "F") == -ENOENT);
	a = make("task", 64, 0, 0);
	CHILD_CHECK(make("alias", 64, 0, 0) == a);
	b = make("tasks", 128, 0, 0);
	big = make("big", 4 << 20, 0, 0);

	CHILD_CHECK(cache_set_debug_pattern("task", "F") == 1);
	CHILD_CHECK(debug_flags(a) == SLAB_CONSISTENCY_CHECKS && debug_flags(b) == 0);
	CHILD_CHECK(cache_set_debug_pattern("task*", "+u") == 2);
	CHILD_CHECK(debug_flags(a) == (SLAB_CONSISTENCY_CHECKS | SLAB_STORE_USER));
	CHILD_CHECK(debug_flags(b) == SLAB_STORE_USER);
	CHILD_CHECK(cache_set_debug_pattern("?asks", "-U") == 1 && debug_flags(b) == 0);
	CHILD_CHECK(cache_set_debug_pattern("al*s", "-") == 1 && debug_flags(a) == 0);
	CHILD_CHECK(cache_set_debug_pattern(":0000128", "A") == 1);
	CHILD_CHECK(debug_flags(b) == SLAB_FAILSLAB);
	CHILD_CHECK(cache_set_debug_pattern(":*", "") == 3 && debug_flags(b) == 0);

	CHILD_CHECK(cache_set_debug_pattern("task", "FX") == -EINVAL);
	CHILD_CHECK(cache_set_debug_pattern("no", "F") == -ENOENT);
	/* one that cannot is no reason not to switch the others */
	CHILD_CHECK(cache_set_debug_pattern("*", "FZ") == 2);
	CHILD_CHECK(debug_flags(a) == (SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE) &&
		    debug_flags(big) == 0);
	CHILD_CHECK(cache_set_debug_pattern("big", "Z") == -E2BIG);
}

/* ---- sampling ---- */

static bool is_sample(void *obj, uint32_t sample)
{
	const struct slab_layout *layout = page_head_of(obj)->layout;

	return is_debug(obj) && layout->debug & SLAB_STORE_USER &&
	       debug_track(layout, obj, TRACK_ALLOC)->sample == sample;
}

static void *pick(struct cache *c, uint32_t sample)
{
	return cache_alloc_sampled(c, 40, __builtin_return_address(0), GFP_KERNEL, sample);
}

/* What is sampled is tracked, and says how; calls that hit or miss go on as before. */
IN_CHILD(test_sampling)
{
	static void *p[3100];
	struct cache *c;

	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	stay_here();
	p[0] = kmalloc_alloc(64, GFP_KERNEL, NUMA_NO_NODE);
	c = cache_of_object(p[0]);
	CHILD_CHECK(!is_debug(p[1] = pick(c, DEBUG_SAMPLE(1, 1))));
	kmalloc_free(p[0], NULL);
	kmalloc_free(p[1], NULL);
	CHILD_CHECK(cache_set_sampling(c, true) == 0 && !is_closed(c) && !debug_flags(c));
	for (unsigned int i = 0; i < 3100; i++) {
		bool sampled = i % 7 == 0;

		p[i] = sampled ? pick(c, DEBUG_SAMPLE(i + 1, 10)) : hit_alloc(c);
		if (!p[i])
			p[i] = kmalloc_alloc(40, GFP_KERNEL, NUMA_NO_NODE);
		CHILD_CHECK(sampled ? is_sample(p[i], DEBUG_SAMPLE(i + 1, 10)) : !is_debug(p[i]));
	}
	for (unsigned int i = 0; i < 3100; i++)
		kmalloc_free(p[i], NULL);
	CHILD_CHECK(in_use(c) == 0 && cache_shrink(c) == 0);
	CHILD_CHECK(cache_set_sampling(c, false) == 0 && c->watch == WATCH_ROUTE);
	CHILD_CHECK(!is_debug(p[0] = pick(c, DEBUG_SAMPLE(1, 1))));
	kmalloc_free(p[0], NULL);
	finish(c);
}

/* Debug flags go before sampling, which goes on when they are gone. */
IN_CHILD(test_sampling_and_debug_flags)
{
	struct cache *c;
	void *p[3];

	ready();
	CHILD_CHECK(cache_set_sampling(make("inline", 64, 0, 0), true) == -EOPNOTSUPP);
	c = make_front("none", 64, "none");
	CHILD_CHECK(cache_set_sampling(c, true) == 0);
	p[0] = pick(c, 1);
	CHILD_CHECK(is_sample(p[0], 1));
	CHILD_CHECK(cache_set_debug(c, FZPU) == 0);
	p[1] = pick(c, 1); /* as any other: exact */
	CHILD_CHECK(page_head_of(p[1])->layout->stride == 160);
	CHILD_CHECK(is_sample(p[1], 0));
	CHILD_CHECK(cache_set_sampling(c, true) == 0 && c->engine.debug->flags == FZPU);
	CHILD_CHECK(cache_set_sampling(c, true) == 0);
	CHILD_CHECK(cache_set_debug(c, 0) == 0);
	p[2] = pick(c, 2);
	CHILD_CHECK(is_sample(p[2], 2));
	for (unsigned int i = 0; i < 3; i++)
		cache_free(c, p[i]);
	CHILD_CHECK(cache_set_sampling(c, false) == 0 && c->engine.debug->flags == 0);
	p[0] = get(c);
	CHILD_CHECK(!is_debug(p[0]));
	cache_free(c, p[0]);
	finish(c);
}

static uint64_t since(struct cache *c)
{
	return c->engine.debug->tracking_since;
}

/* The clock of tracks goes on a little. */
static void let_time_pass(void)
{
	uint64_t now = os_clock_ms();

	while (os_clock_ms() == now)
		usleep(1000);
}

/*
 * tracking_since: since when users are stored as they are now; a gap or another mode sets it anew.
 */
IN_CHILD(test_tracking_since)
{
	struct cache *c;
	uint64_t first, second;

	ready();
	c = make_front("none", 64, "none");
	CHILD_CHECK(cache_set_debug(c, SLAB_RED_ZONE) == 0 && since(c) == 0);
	CHILD_CHECK(cache_set_debug(c, SLAB_RED_ZONE | SLAB_STORE_USER) == 0);
	first = since(c);
	CHILD_CHECK(first > DEBUG_SINCE_EVER && first <= os_clock_ms());
	let_time_pass();
	CHILD_CHECK(cache_set_debug(c, SLAB_STORE_USER) == 0 && since(c) == first);
	CHILD_CHECK(cache_set_sampling(c, true) == 0 && since(c) == first);
	CHILD_CHECK(cache_set_debug(c, 0) == 0); /* from all to those that are sampled */
	second = since(c);
	CHILD_CHECK(second > first);
	CHILD_CHECK(cache_set_sampling(c, false) == 0 && since(c) == 0);
	let_time_pass();
	CHILD_CHECK(cache_set_debug(c, SLAB_STORE_USER) == 0 && since(c) > second);
	CHILD_CHECK(since(make("ever", 64, 0, SLAB_STORE_USER)) == DEBUG_SINCE_EVER);
	CHILD_CHECK(since(make("not", 64, 0, SLAB_POISON)) == 0);
	CHILD_CHECK(cache_change_blocks("+U") == 0);
	CHILD_CHECK(blocks_table->tracking_since > second);
	CHILD_CHECK(cache_change_blocks("F") == 0 && blocks_table->tracking_since == 0);
	cache_check_all();
}

/* ---- validation ---- */

IN_CHILD(test_validate)
{
	struct cache *c;
	char *p[60];

	ready();
	c = make("validated", 64, 0, SLAB_NOLEAKTRACE);
	CHILD_CHECK(cache_validate(c) == -EINVAL);
	CHILD_CHECK(cache_set_debug(c, FZPU) == 0);
	CHILD_CHECK(cache_validate(c) == 0);
	for (unsigned int i = 0; i < 60; i++)
		p[i] = get(c);
	CHILD_CHECK(cache_validate(c) == (long)c->engine.debug->node[0]->nr_slabs);
	CHILD_CHECK(report_counters.reports == 0);
	p[7][64] = 1;
	CHILD_CHECK(cache_validate(c) == (long)c->engine.debug->node[0]->nr_slabs);
	CHILD_CHECK(report_counters.reports == 1);
	CHILD_CHECK(cache_validate(c) > 0 && report_counters.reports == 1); /* put right */
	/* still there when the debug flags are gone */
	CHILD_CHECK(cache_set_debug(c, 0) == 0);
	CHILD_CHECK(cache_validate(c) > 0);
	for (unsigned int i = 0; i < 60; i++)
		cache_free(c, p[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_creator),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_merging),
		cmocka_unit_test(test_merged_grows),
		cmocka_unit_test(test_no_higher_order),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_switch),
		cmocka_unit_test(test_hit_after_off),
		cmocka_unit_test(test_by_address),
		cmocka_unit_test(test_heap),
		cmocka_unit_test(test_pattern),
		cmocka_unit_test(test_sampling),
		cmocka_unit_test(test_sampling_and_debug_flags),
		cmocka_unit_test(test_tracking_since),
		cmocka_unit_test(test_validate),
	};

	return cmocka_run_group_tests_name("debug", tests, NULL, NULL);
}
