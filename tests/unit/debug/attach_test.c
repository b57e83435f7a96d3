/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/attach_test.c - flags come and go on a cache with live objects
 */
#include <sys/resource.h>

#include "fixture.h"

static void attached_once(__attribute__((unused)) void **state)
{
	struct engine_params params = params_of(64);
	struct engine e;
	struct debug *d;

	assert_int_equal(slub_ops.init(&e, &params), 0);
	assert_int_equal(debug_attach(&e, true, true), 0);
	d = e.debug;
	assert_ptr_equal(d->engine, &e);
	assert_ptr_equal(d->inner, &slub_ops);
	assert_ptr_equal(e.ops, &d->ops);
	assert_true(d->orig_size && d->hardened);
	assert_int_equal(d->min_partial, 5);
	assert_int_equal(d->flags, 0);
	assert_int_equal(debug_attach(&e, false, false), 0);
	assert_ptr_equal(e.debug, d);
	assert_true(d->orig_size);
	assert_int_equal(e.ops->destroy(&e), 0);
	debug_detach(&e);
	assert_ptr_equal(e.ops, &slub_ops);
	assert_null(e.debug);
	debug_detach(&e);
}

static void no_memory_in_child(__attribute__((unused)) void *arg)
{
	const struct rlimit none = { 0, 0 };
	struct engine_params params = params_of(64);
	const struct engine_ops *before;
	struct engine e;

	CHILD_CHECK(slub_ops.init(&e, &params) == 0);
	before = e.ops;
	child_limit(RLIMIT_DATA, &none);
	for (size_t size = 65536; size >= 16; size /= 2)
		while (meta_alloc(size))
			;
	CHILD_CHECK(debug_attach(&e, false, false) == -ENOMEM);
	CHILD_CHECK(e.ops == before && !e.debug);
}

/* Whoever asks learns it; the cache stays as it is. */
static void no_memory(__attribute__((unused)) void **state)
{
	struct child c;

	if (!bare_process())
		skip();
	c = child_run(no_memory_in_child, NULL);
	assert_true(child_passed(&c));
}

/* ---- flags ----------------------------------------------------------------------------------- */

static void every_combination(__attribute__((unused)) void **state)
{
	static const slab_flags_t debug_flags[] = { F, Z, P, U, T };
	struct engine e;
	void *objs[64];
	unsigned int n = 0;

	make(&e, 64, 0);
	report_set_file("/dev/null");
	for (unsigned int bits = 1; bits < 32; bits++) {
		slab_flags_t flags = 0;

		for (unsigned int i = 0; i < 5; i++)
			flags |= bits >> i & 1 ? debug_flags[i] : 0;
		assert_int_equal(debug_set_flags(&e, flags, false), 0);
		assert_int_equal(e.debug->flags, flags);
		assert_int_equal(e.debug->layout->debug, flags & (Z | P | U));
		objs[n] = get(&e);
		assert_ptr_equal(slab_of(objs[n])->layout, e.debug->layout);
		memset(objs[n++], 0x33, 64);
		e.ops->check(&e);
	}
	while (n)
		put(&e, objs[--n]);
	assert_int_equal(errors(), 0);
	report_set_file("");
	END_ENGINE(&e);
}

static void too_large(__attribute__((unused)) void **state)
{
	struct engine e;

	make(&e, 4u << 20, F);
	assert_int_equal(debug_set_flags(&e, F | Z, false), -E2BIG);
	assert_int_equal(e.debug->flags, F);
	assert_ptr_equal(e.debug->layout, &e.debug->layouts[0]);
	assert_int_equal(debug_set_flags(&e, F | Z, true), 0); /* Z is dropped */
	assert_int_equal(e.debug->flags, F);
	END_ENGINE(&e);
}

/* Option O: 4096 + red zone would need a larger slab, 64 does not. */
static void no_higher_order(__attribute__((unused)) void **state)
{
	struct engine e;

	make(&e, 4096, 0);
	assert_int_equal(debug_set_flags(&e, FZPU | T, true), 0);
	assert_int_equal(e.debug->flags, F | T);
	assert_int_equal(debug_set_flags(&e, FZPU, false), 0);
	assert_int_equal(e.debug->flags, FZPU);
	END_ENGINE(&e);
	make(&e, 64, 0);
	assert_int_equal(debug_set_flags(&e, FZPU, true), 0);
	assert_int_equal(e.debug->flags, FZPU);
	END_ENGINE(&e);
}

static void merging(__attribute__((unused)) void **state)
{
	struct engine plain = { .debug = NULL };
	struct engine e;

	assert_true(debug_may_merge(&plain));
	make(&e, 60, F | T);
	assert_true(debug_may_merge(&e));
	debug_set_flags(&e, U, false);
	assert_false(debug_may_merge(&e));
	debug_set_flags(&e, 0, false); /* objects with that layout may be about for ever */
	assert_false(debug_may_merge(&e));
	END_ENGINE(&e);
}

/* ---- other layouts --------------------------------------------------------------------------- */

/* New objects are of the new layout, whatever is free elsewhere; what is old drains away. */
static void old_slabs_drain(__attribute__((unused)) void **state)
{
	struct engine_stats stats;
	struct engine e;
	char *before[30];
	char *after;

	make(&e, 64, FZPU); /* 25 in a slab */
	for (unsigned int i = 0; i < 30; i++)
		before[i] = get(&e);
	put(&e, before[0]);
	assert_int_equal(node0(&e)->nr_partial, 2);
	assert_int_equal(debug_set_flags(&e, F | Z, false), 0);
	assert_int_equal(node0(&e)->nr_partial, 0);
	e.ops->check(&e);
	after = get(&e);
	assert_int_equal(slab_of(after)->layout->stride, 88);
	before[1][64] = 1; /* it is checked as it was made */
	assert_int_equal(debug_validate(&e), 3);
	assert_int_equal(errors(), 2);
	e.ops->stats(&e, &stats);
	assert_int_equal(stats.nr_slabs, 3);
	assert_int_equal(stats.total_objects - stats.free_objects, 30);

	for (unsigned int i = 1; i < 30; i++)
		put(&e, before[i]);
	assert_int_equal(nr_slabs(&e), 1); /* at once, whatever min_partial says */
	put(&e, after);
	assert_int_equal(nr_slabs(&e), 1); /* kept: of the layout of now */
	assert_int_equal(errors(), 0);
	END_ENGINE(&e);
}

/* Back to the old flags: the old slabs serve again. */
static void old_slabs_come_back(__attribute__((unused)) void **state)
{
	struct engine e;
	void *a;
	void *b;

	make(&e, 64, FZPU);
	a = get(&e);
	debug_set_flags(&e, F, false);
	b = get(&e);
	debug_set_flags(&e, FZPU, false);
	e.ops->check(&e);
	assert_ptr_equal(get(&e), (char *)a + 160);
	put(&e, (char *)a + 160);
	put(&e, b);
	put(&e, a);
	assert_int_equal(errors(), 0);
	END_ENGINE(&e);
}

/* Off: empty slabs go at once, the others as soon as they are empty; nothing is said. */
static void off(__attribute__((unused)) void **state)
{
	struct engine e;
	char *objs[60];

	make(&e, 64, FZPU);
	for (unsigned int i = 0; i < 60; i++)
		objs[i] = get(&e);
	for (unsigned int i = 25; i < 50; i++)
		put(&e, objs[i]);
	assert_int_equal(nr_slabs(&e), 3);
	debug_set_flags(&e, 0, false);
	assert_int_equal(nr_slabs(&e), 2);
	objs[0][64] = 1; /* nobody looks */
	for (unsigned int i = 0; i < 25; i++)
		put(&e, objs[i]);
	assert_int_equal(nr_slabs(&e), 1);
	for (unsigned int i = 50; i < 60; i++)
		put(&e, objs[i]);
	assert_int_equal(nr_slabs(&e), 0);
	assert_int_equal(errors(), 0);
	END_ENGINE(&e);
}

/* What was freed with the flags off is as free objects of its slab should be. */
static void off_and_on_again(__attribute__((unused)) void **state)
{
	struct engine e;
	char *keep;
	char *obj;

	make(&e, 64, FZPU);
	keep = get(&e);
	obj = get(&e);
	memset(obj, 0, 64);
	debug_set_flags(&e, 0, false);
	put(&e, obj);
	debug_set_flags(&e, FZPU, false);
	assert_int_equal(debug_validate(&e), 1);
	assert_int_equal(errors(), 0);
	assert_ptr_equal(get(&e), obj);
	put(&e, obj);
	put(&e, keep);
	END_ENGINE(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attached_once),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(every_combination),
		cmocka_unit_test(too_large),
		cmocka_unit_test(no_higher_order),
		cmocka_unit_test(merging),
		cmocka_unit_test(old_slabs_drain),
		cmocka_unit_test(old_slabs_come_back),
		cmocka_unit_test(off),
		cmocka_unit_test(off_and_on_again),
	};

	return cmocka_run_group_tests(tests, debug_group_setup, NULL);
}
