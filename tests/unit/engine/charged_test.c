/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/charged_test.c - operations that charge what an engine hands out: as many as the
 * limits allow, and no more than it had; the engines are in conformance/groups_test.c, changes of
 * the group in race/charged_engine_test.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/charged.h"
#include "engine/evacuation.h"
#include "engine/limit.h"

#define ID 9u
#define SIZE 100u

static unsigned int has; /* objects of the engine */
static unsigned int asked;
static size_t room, charged_bytes;
static bool frees; /* try_free does */

static bool charge(unsigned long group, size_t bytes, enum engine_charge_how how)
{
	assert_int_equal(group, 3);
	if (how != ENGINE_CHARGE_FORCED && charged_bytes + bytes > room)
		return false;
	charged_bytes += bytes;
	return true;
}

static void uncharge(unsigned long group, size_t bytes)
{
	assert_int_equal(group, 3);
	assert_true(charged_bytes >= bytes);
	charged_bytes -= bytes;
}

static const struct engine_charges charges = { charge, uncharge };

static unsigned int some(unsigned int want)
{
	unsigned int n = want < has ? want : has;

	asked = want;
	has -= n;
	return n;
}

static unsigned int refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp, int node)
{
	(void)e, (void)objs, (void)gfp, (void)node;
	assert_int_equal(engine_groups[ID].users, 1);
	return some(want);
}

static unsigned int take_new(struct engine *e, void **objs, unsigned int want, gfp_t gfp)
{
	(void)e, (void)objs, (void)gfp;
	return some(want);
}

static unsigned int take_partial(struct engine *e, void **objs, unsigned int want)
{
	(void)e, (void)objs;
	return some(want);
}

static void flush(struct engine *e, void **objs, unsigned int n)
{
	(void)e, (void)objs;
	has += n;
}

static void *try_alloc(struct engine *e, int node)
{
	(void)e, (void)node;
	return some(1) ? &has : NULL;
}

static bool try_free(struct engine *e, void *obj)
{
	(void)e, (void)obj;
	has += frees;
	return frees;
}

static unsigned int take(struct engine *e, unsigned int node, void **objs, unsigned int want,
			 unsigned long far, bool grows)
{
	(void)e, (void)node, (void)objs, (void)far, (void)grows;
	return some(want);
}

static const struct engine_evacuation evacuation = { .take = take };
static const struct engine_ops base = {
	.name = "base",
	.refill = refill,
	.take_partial = take_partial,
	.take_new = take_new,
	.flush = flush,
	.try_alloc = try_alloc,
	.try_free = try_free,
	.evacuation = &evacuation,
};
static struct engine engine = { .id = ID, .size = SIZE };

static int begin(void **state)
{
	(void)state;
	engine_charges = &charges;
	engine.ops = engine_charged_ops(&base);
	has = 100;
	room = 31 * SIZE;
	charged_bytes = 0;
	engine_limits[ID].pages = 0;
	return engine_set_group(&engine, 3) ? 0 : 1;
}

static void test_operations(void **state)
{
	static const struct engine_ops other = { .name = "other",
						 .refill = refill,
						 .flush = flush };

	(void)state;
	assert_ptr_equal(engine_charged_ops(&base), engine.ops);
	assert_ptr_equal(engine_charged_ops(engine.ops), engine.ops);
	assert_string_equal(engine.ops->name, "base");
	assert_null(engine.ops->refill_near);
	assert_ptr_not_equal(engine_charged_ops(&other), engine.ops);
	assert_null(engine_charged_ops(&other)->evacuation);
	assert_null(engine_charged_ops(&other)->try_alloc);
}

static void test_refill(void **state)
{
	const struct engine_ops *ops = engine.ops;
	void *objs[64];

	(void)state;
	assert_int_equal(ops->refill(&engine, objs, 20, 0, -1), 20);
	assert_int_equal(charged_bytes, 20 * SIZE);
	/* half as many each time: 20, 10 */
	assert_int_equal(ops->refill(&engine, objs, 20, 0, -1), 10);
	assert_int_equal(asked, 10);
	assert_int_equal(ops->take_partial(&engine, objs, 8), 1);
	assert_int_equal(ops->take_new(&engine, objs, 8, 0), 0);
	assert_int_equal(ops->refill(&engine, objs, 8, 0, -1), 0);
	assert_int_equal(ops->refill(&engine, objs, 8, __GFP_NOFAIL, -1), 1); /* beyond the limit */
	assert_int_equal(charged_bytes, 32 * SIZE);
	ops->flush(&engine, objs, 32);
	assert_int_equal(charged_bytes, 0);
	has = 3; /* what it has not is not charged */
	assert_int_equal(ops->refill(&engine, objs, 8, 0, -1), 3);
	assert_int_equal(charged_bytes, 3 * SIZE);
	assert_int_equal(ops->refill(&engine, objs, 8, 0, -1), 0);
	assert_int_equal(charged_bytes, 3 * SIZE);
	assert_int_equal(engine_groups[ID].users, 0);
	ops->flush(&engine, objs, 3);
}

static void test_tries_and_moves(void **state)
{
	const struct engine_ops *ops = engine.ops;
	void *objs[8];

	(void)state;
	assert_ptr_equal(ops->try_alloc(&engine, -1), &has);
	assert_int_equal(charged_bytes, SIZE);
	frees = false;
	assert_false(ops->try_free(&engine, &has));
	assert_int_equal(charged_bytes, SIZE);
	frees = true;
	assert_true(ops->try_free(&engine, &has));
	assert_int_equal(charged_bytes, 0);
	has = 0;
	assert_null(ops->try_alloc(&engine, -1));
	assert_int_equal(charged_bytes, 0);
	has = 8;
	room = 0; /* what moves is not the group's choice */
	assert_null(ops->try_alloc(&engine, -1));
	assert_int_equal(ops->evacuation->take(&engine, 0, objs, 4, 0, false), 1);
	assert_int_equal(charged_bytes, SIZE);
	ops->flush(&engine, objs, 1);
	assert_int_equal(engine_groups[ID].users, 0);
}

/* Who changes the group may be switched off in the middle: objects that come back do not wait. */
static void test_in_a_change(void **state)
{
	const struct engine_ops *ops = engine.ops;
	unsigned long *group = &engine_groups[ID].group;
	void *objs[8];

	(void)state;
	assert_int_equal(ops->refill(&engine, objs, 8, 0, -1), 8);
	*group |= ENGINE_GROUP_CHANGES;
	assert_int_equal(ops->refill(&engine, objs, 8, 0, -1), 0);
	ops->flush(&engine, objs, 7);
	assert_int_equal(charged_bytes, SIZE);
	frees = true;
	assert_true(ops->try_free(&engine, &has));
	assert_int_equal(charged_bytes, 0);
	*group &= ~ENGINE_GROUP_CHANGES;
	assert_int_equal(engine_group(&engine), 3);
}

/* Without a group nothing is charged, and nothing refused. */
static void test_no_group(void **state)
{
	void *objs[8];

	(void)state;
	assert_true(engine_set_group(&engine, 0));
	room = 0;
	assert_int_equal(engine.ops->refill(&engine, objs, 8, 0, -1), 8);
	engine.ops->flush(&engine, objs, 8);
	engine_limits[ID].pages = 1; /* it has a slab */
	assert_false(engine_set_group(&engine, 3));
	assert_int_equal(engine_group(&engine), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_operations, begin),
		cmocka_unit_test_setup(test_refill, begin),
		cmocka_unit_test_setup(test_tries_and_moves, begin),
		cmocka_unit_test_setup(test_in_a_change, begin),
		cmocka_unit_test_setup(test_no_group, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
