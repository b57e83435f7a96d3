/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/layouts_test.c - debugged caches of a made-up process: flags, kinds of slabs, counts
 */

#include "debug/kfence/kfence.h"
#include "debug/report/report.h"
#include "debug/stacks.h"
#include "fake_snapshot.h"
#include "page/reserve.h"

#define DEBUG_PLACE 0x60000000ul
#define GUARD_LAYOUT (DEBUG_PLACE + 0x4000)
#define COUNTERS (DEBUG_PLACE + 0x5000)
#define DEPOT (DEBUG_PLACE + 0x6000)
#define CONTROL_PLACE 0x6f000000ul

static struct cache *cache;
static struct debug *debug;

/* A cache with F, P and U, whose engine is slub behind the ops of debug/. */
static int setup(void **state)
{
	fake_setup(state);
	fake_map(&f, DEBUG_PLACE, 0x6000 + sizeof(struct stacks));
	cache = fake_cache(&f, 192, "watched", 64, 8);
	cache->engine.debug = (void *)DEBUG_PLACE;
	cache->engine.ops = (void *)0x5; /* debug_ops: not for reading */
	debug = fake_at(&f, DEBUG_PLACE);
	debug->inner = (void *)(FAKE_GLOBALS + FAKE_SLUB_OPS);
	debug->flags = SLAB_CONSISTENCY_CHECKS | SLAB_POISON | SLAB_STORE_USER;
	debug->layouts[6] = (struct slab_layout){
		.stride = 192,
		.objects = 21,
		.order = 0,
		.kind = LAYOUT_DEBUG,
	};
	debug->layout = (void *)(DEBUG_PLACE + offsetof(struct debug, layouts[6]));
	return 0;
}

static const struct snapshot_cache *take(void)
{
	fake_take();
	return fake_result(s, 192);
}

/* Is it sampled, with that mean and lease, and the command for it at that time? */
static bool is_sampled(uint32_t mean, uint64_t until, uint64_t since)
{
	struct control *control = fake_at(&f, CONTROL_PLACE);
	const struct snapshot_cache *c;

	control->sample_mean = mean;
	control->sample_until = until;
	debug->tracking_since = since;
	c = take();
	assert_int_equal(c->flags, 0); /* U is no flag of it, sampled or not */
	assert_true(!c->sampled || !c->sampling_left);
	return c->sampled;
}

static void test_sampling(void **state)
{
	const uint64_t lease = CONTROL_SAMPLING_LEASE_MS;
	uint64_t now;

	(void)state;
	fake_map(&f, CONTROL_PLACE, sizeof(struct control));
	fake_root(&f)->control = CONTROL_PLACE;
	cache->flags = 0;
	cache->watch = WATCH_SAMPLE;
	debug->flags = SLAB_STORE_USER;
	f.reader.ahead_ms = 1000000000; /* its clock counts, not ours */
	now = reader_clock_ms(&f.reader);
	assert_true(is_sampled(10, now + lease, now - 5 * lease));
	assert_true(is_sampled(10, CONTROL_SAMPLING_FOREVER, now - 5 * lease));
	assert_false(is_sampled(10, now - 1, now - 5 * lease));
	assert_true(fake_result(s, 192)->sampling_left);
	assert_false(is_sampled(0, now + lease, now - 5 * lease));
	/* the tool is about to write its first lease */
	assert_true(is_sampled(0, 0, now));
	f.reader.still = true;
	assert_true(is_sampled(10, now - 1, now - 5 * lease));
	f.reader.still = false;
	cache->watch = 0;
	take();
	assert_false(fake_result(s, 192)->sampled || fake_result(s, 192)->sampling_left);
}

static void test_new_slabs(void **state)
{
	const struct snapshot_cache *c = take();

	(void)state;
	assert_string_equal(c->engine, "slub");
	assert_int_equal(c->flags, debug->flags);
	assert_int_equal(c->slab_size, 192);
	assert_int_equal(c->objs_per_slab, 21);
	assert_int_equal(c->object_size, 64);
	assert_int_equal(c->cpu_partial, 0); /* as for debugged caches of the kernel */
	assert_int_equal(s->totals.inconsistent, 0);
}

/* Switched off again: new slabs are plain ones, whatever the creator's flags were. */
static void test_off(void **state)
{
	const struct snapshot_cache *c;

	(void)state;
	cache->flags = SLAB_POISON | SLAB_HWCACHE_ALIGN;
	debug->flags = 0;
	c = take();
	assert_string_equal(c->engine, "slub");
	assert_int_equal(c->flags, SLAB_HWCACHE_ALIGN);
	assert_int_equal(c->slab_size, 64);
	assert_int_equal(c->objs_per_slab, 64);
	assert_int_equal(c->cpu_partial, 120);
}

static void test_kinds_of_slabs(void **state)
{
	struct slab_layout *guard = fake_at(&f, GUARD_LAYOUT);
	const struct snapshot_cache *c;

	(void)state;
	guard->kind = LAYOUT_GUARD;
	fake_slab(&f, 0, 192, 64, 60, false); /* plain */
	fake_slab(&f, 1, 192, 21, 7, false)->layout = debug->layout;
	fake_slab(&f, 2, 192, 21, 21, true)->layout = debug->layout; /* isolated */
	fake_slab(&f, 3, 192, 39, 5, false)->layout =
		(void *)(DEBUG_PLACE + offsetof(struct debug, layouts[3])); /* no U */
	fake_slab(&f, 4, 192, 1, 1, false)->layout = (void *)GUARD_LAYOUT;
	c = take();
	assert_int_equal(c->slabs, 5);
	assert_int_equal(c->debug_slabs, 3);
	assert_int_equal(c->guarded, 1);
	assert_int_equal(c->tracked, 7 + 21);
	assert_int_equal(c->partial, 3);
	assert_int_equal(c->cpu_slabs, 0);
	assert_int_equal(c->objects, 60 + 7 + 21 + 5 + 1);
	assert_int_equal(s->totals.inconsistent, 0);
}

/* A layout of its own on every page: only so many are read. */
static void test_lies(void **state)
{
	const struct snapshot_cache *c;

	(void)state;
	for (unsigned int i = 0; i < FAKE_NR_PAGES; i++)
		fake_slab(&f, i, 192, 64, 1, false)->layout = (void *)(uintptr_t)(i * 4096ul + 8);
	debug->layout = (void *)0x7;
	debug->inner = NULL;
	c = take();
	assert_int_equal(c->slabs, FAKE_NR_PAGES);
	assert_int_equal(c->debug_slabs, 0);
	assert_true(f.reads < FAKE_NR_PAGES / 2);
	assert_true(s->totals.inconsistent > 0);
}

static void test_totals(void **state)
{
	struct report_counters *reports = fake_at(&f, COUNTERS);
	struct kfence_counters *guarded = fake_at(&f, COUNTERS + 0x100);
	struct stacks *stacks = fake_at(&f, DEPOT);
	struct reserve_counters *reserve = fake_at(&f, COUNTERS + 0x300);

	(void)state;
	reports->reports = 7;
	reports->fixes = 3;
	reports->isolated = 4;
	reports->undelivered = 5;
	reports->suppressed = 6;
	guarded->bugs = 2;
	*reserve = (struct reserve_counters){
		.blocks = 11, .served = 12, .failed = 13, .lost = 14, .waiting = 15
	};
	stacks->nr_stacks = 99;
	*(uint64_t *)fake_at(&f, COUNTERS + 0x200) = DEPOT;
	fake_root(&f)->reports = COUNTERS;
	fake_root(&f)->kfence = COUNTERS + 0x100;
	fake_root(&f)->stacks = COUNTERS + 0x200;
	fake_root(&f)->reserve = COUNTERS + 0x300;
	take();
	assert_int_equal(s->totals.reports, 7);
	assert_int_equal(s->totals.fixes, 3);
	assert_int_equal(s->totals.isolated, 4);
	assert_int_equal(s->totals.undelivered, 5);
	assert_int_equal(s->totals.suppressed, 6);
	assert_int_equal(s->totals.guard_bugs, 2);
	assert_int_equal(s->totals.reserve_blocks, 11);
	assert_int_equal(s->totals.reserve_served, 12);
	assert_int_equal(s->totals.reserve_failed, 13);
	assert_int_equal(s->totals.reserve_lost, 14);
	assert_int_equal(s->totals.deferred_frees, 15);
	assert_int_equal(s->totals.stacks, 99);
	*(uint64_t *)fake_at(&f, COUNTERS + 0x200) = 0; /* none saved so far */
	take();
	assert_int_equal(s->totals.stacks, 0);
	assert_int_equal(s->totals.inconsistent, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sampling, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_new_slabs, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_off, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_kinds_of_slabs, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_lies, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_totals, setup, fake_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
