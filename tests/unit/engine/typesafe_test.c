/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/typesafe_test.c - what type-safe caches free waits for a grace period: slabs of slub
 * and slab, objects of the other engines
 */
#include "engine/typesafe.h"
#include "engines.h"
#include "heard.h"
#include "manual_rcu.h"
#include "page/buddy.h"

#define MANY 100
#define SIZE 120

static const struct engine_ops *const by_slab[] = { &slub_ops, &slab_ops };
static const struct engine_ops *const by_object[] = { &slob_1991_ops, &slob_ops, &slobseg_ops,
						      &slobseg_pow2_ops };

static unsigned char *obj[MANY];

static void begin(struct engine *e, const struct engine_ops *ops, unsigned int size)
{
	struct engine_params params = plain_params(size);

	params.flags = SLAB_TYPESAFE_BY_RCU;
	CHILD_CHECK(ops->init(e, &params) == 0);
}

static void ready(void)
{
	machine_init(1, 1);
	CHILD_CHECK(os_rcu_bind(&manual_rcu) == 0);
}

static void take_all(struct engine *e)
{
	for (unsigned int i = 0; i < MANY; i++) {
		obj[i] = take_one(e);
		CHILD_CHECK(obj[i]);
		memset(obj[i], (int)(i + 1), e->object_size);
	}
}

static void free_all(struct engine *e)
{
	e->ops->flush(e, (void **)obj, MANY);
}

/* Readers may still look at them. */
static void all_are_as_they_were(const struct engine *e)
{
	for (unsigned int i = 0; i < MANY; i++)
		for (unsigned int n = 0; n < e->object_size; n++)
			CHILD_CHECK(obj[i][n] == i + 1);
}

/* Objects come back at once; their pages do not, and nobody else gets them. */
IN_CHILD(slabs_wait)
{
	ready();
	for (size_t i = 0; i < ARRAY_SIZE(by_slab); i++) {
		unsigned long before = buddy_used();
		unsigned long full;
		struct engine e;

		begin(&e, by_slab[i], SIZE);
		take_all(&e);
		full = buddy_used();
		free_all(&e);
		CHILD_CHECK(e.ops->shrink(&e) == 0 && stats_of(&e).nr_slabs == 0);
		CHILD_CHECK(buddy_used() == full && !page_head_of(obj[0]));
		CHILD_CHECK(e.ops->destroy(&e) == 0);
		os_rcu_submit();
		CHILD_CHECK(rcu.nr == 1 && buddy_used() == full);
		all_are_as_they_were(&e);
		rcu_grace();
		CHILD_CHECK(buddy_used() == before && rcu.nr == 0);
		buddy_check();
	}
}

/* A free object keeps its bytes in its slab, too. */
IN_CHILD(free_objects_keep_their_bytes)
{
	ready();
	for (size_t i = 0; i < ARRAY_SIZE(by_slab); i++) {
		struct engine e;

		begin(&e, by_slab[i], SIZE);
		take_all(&e);
		free_all(&e);
		all_are_as_they_were(&e);
		e.ops->shrink(&e);
		all_are_as_they_were(&e);
		CHILD_CHECK(e.ops->destroy(&e) == 0);
		os_rcu_submit();
		rcu_grace();
	}
}

IN_CHILD(objects_wait)
{
	ready();
	for (size_t i = 0; i < ARRAY_SIZE(by_object); i++) {
		struct engine e;

		begin(&e, by_object[i], SIZE);
		take_all(&e);
		free_all(&e);
		CHILD_CHECK(e.ops->destroy(&e) == MANY); /* in use, as it were */
		for (unsigned int n = 0; n < 10; n++) {
			unsigned char *other = take_one(&e);

			for (unsigned int k = 0; k < MANY; k++)
				CHILD_CHECK(other != obj[k]);
			memset(other, 0xff, SIZE);
			free_one(&e, other);
		}
		os_rcu_submit();
		all_are_as_they_were(&e);
		CHILD_CHECK(rcu.nr == 1);
		rcu_grace();
		e.ops->check(&e);
		CHILD_CHECK(e.ops->destroy(&e) == 0);
	}
}

/* Larger than a page, too; and of several caches in one chain. */
IN_CHILD(caches_wait_together)
{
	struct engine e[2 * ARRAY_SIZE(by_object)];

	ready();
	for (size_t i = 0; i < ARRAY_SIZE(e); i++)
		begin(&e[i], by_object[i / 2], i % 2 ? 5000 : 64);
	for (size_t i = 0; i < MANY; i++) {
		void *p = take_one(&e[i % ARRAY_SIZE(e)]);

		CHILD_CHECK(p);
		free_one(&e[i % ARRAY_SIZE(e)], p);
	}
	os_rcu_submit();
	rcu_grace();
	for (size_t i = 0; i < ARRAY_SIZE(e); i++)
		CHILD_CHECK(e[i].ops->destroy(&e[i]) == 0);
}

/* One that waits and is freed again is left out: the chain has no circle. */
IN_CHILD(a_second_free_is_found)
{
	ready();
	for (size_t i = 0; i < ARRAY_SIZE(by_object); i++) {
		struct engine e;
		void *twice;

		begin(&e, by_object[i], SIZE);
		twice = take_one(&e);
		free_one(&e, twice);
		hear();
		free_one(&e, twice);
		CHILD_CHECK(heard.nr == 1 && !heard.open && heard.obj == twice);
		CHILD_CHECK(heard.what == ENGINE_FREE_AGAIN);
		hear_no_more();
		os_rcu_submit();
		rcu_grace();
		CHILD_CHECK(e.ops->destroy(&e) == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slabs_wait),
		cmocka_unit_test(free_objects_keep_their_bytes),
		cmocka_unit_test(objects_wait),
		cmocka_unit_test(caches_wait_together),
		cmocka_unit_test(a_second_free_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
