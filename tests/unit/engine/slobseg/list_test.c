/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slobseg/list_test.c - the rules of spec 2.2: which page, which object, which list
 */
#include <pthread.h>

#include "fixture.h"

/* The rules hold for pages of a cache and for pages of a pool. */
static const struct engine_ops *const both[] = { &slobseg_ops, &slobseg_pow2_ops };

#define FOR_BOTH(ops) for (size_t both_i = 0; both_i < 2 && ((ops) = both[both_i]); both_i++)

static void ascending_on_a_fresh_page(UNUSED_STATE)
{
	const struct engine_ops *ops;

	FOR_BOTH(ops)
	{
		struct engine e;
		char *first;
		unsigned int i;
		void *objs[16];

		make(&e, ops, 256);
		for (i = 0; i < 16; i++)
			objs[i] = take(&e);
		first = objs[0];
		assert_int_equal((uintptr_t)first % PAGE_SIZE, 0);
		for (i = 0; i < 16; i++)
			assert_ptr_equal(objs[i], first + i * 256);
		ops->flush(&e, objs, 16);
		END_ENGINE(&e);
	}
}

static void last_in_first_out(UNUSED_STATE)
{
	const struct engine_ops *ops;

	FOR_BOTH(ops)
	{
		struct engine e;
		void *objs[10];
		unsigned int i;

		make(&e, ops, 64);
		assert_int_equal(ops->refill(&e, objs, 10, 0, -1), 10);
		put(&e, objs[4]);
		assert_ptr_equal(take(&e), objs[4]);
		ops->flush(&e, (void *[]){ objs[1], objs[8] }, 2);
		assert_ptr_equal(take(&e), objs[8]);
		assert_ptr_equal(take(&e), objs[1]);
		for (i = 0; i < 9; i++) /* one stays, so that the page does */
			put(&e, objs[i]);
		for (i = 9; i-- > 0;)
			assert_ptr_equal(take(&e), objs[i]);
		ops->flush(&e, objs, 10);
		END_ENGINE(&e);
	}
}

static void full_pages_leave_and_come_back_in_front(UNUSED_STATE)
{
	const struct engine_ops *ops;

	FOR_BOTH(ops)
	{
		struct page *page[3];
		void *objs[12];
		struct engine e;
		unsigned int i;

		make(&e, ops, 1024);
		for (i = 0; i < 11; i++)
			objs[i] = take(&e);
		for (i = 0; i < 3; i++)
			page[i] = page_head_of(objs[i * 4]);
		/* two are full, the third has one free object */
		assert_ptr_equal(listed(&e, 0, 0), page[2]);
		assert_null(listed(&e, 0, 1));
		put(&e, objs[5]);
		assert_ptr_equal(listed(&e, 0, 0), page[1]);
		assert_ptr_equal(listed(&e, 0, 1), page[2]);
		put(&e, objs[0]);
		assert_ptr_equal(listed(&e, 0, 0), page[0]);
		put(&e, objs[6]); /* was not full: stays where it is */
		assert_ptr_equal(listed(&e, 0, 0), page[0]);
		assert_ptr_equal(listed(&e, 0, 1), page[1]);
		/* taken again from the head on, until it is full */
		assert_ptr_equal(take(&e), objs[0]);
		assert_ptr_equal(listed(&e, 0, 0), page[1]);
		assert_ptr_equal(take(&e), objs[6]);
		assert_ptr_equal(take(&e), objs[5]);
		assert_ptr_equal(listed(&e, 0, 0), page[2]);
		ops->flush(&e, objs, 11);
		END_ENGINE(&e);
	}
}

/* Vector 15 of spec 14, for this allocator: a page never survives empty. */
static void empty_pages_go_at_once(UNUSED_STATE)
{
	const struct engine_ops *ops;

	FOR_BOTH(ops)
	{
		unsigned long before = pages_in_use();
		void *objs[40];
		struct engine e;
		unsigned int i;

		make(&e, ops, 512);
		for (i = 0; i < 5; i++) {
			void *obj = take(&e);

			assert_int_equal(pages_in_use(), before + 1);
			put(&e, obj);
			assert_int_equal(pages_in_use(), before);
			assert_null(listed(&e, 0, 0));
		}
		assert_int_equal(ops->refill(&e, objs, 40, 0, -1), 40);
		assert_int_equal(pages_in_use(), before + 5);
		for (i = 0; i < 40; i++) {
			put(&e, objs[i]);
			assert_int_equal(pages_in_use(), before + 5 - (i + 1) / 8);
		}
		END_ENGINE(&e);
	}
}

/* An empty page in the middle of a list, and one at its end. */
static void unlinked_from_anywhere(UNUSED_STATE)
{
	struct page *page[4];
	struct engine e;
	void *objs[8];
	unsigned int i;

	make(&e, &slobseg_ops, 2048);
	assert_int_equal(e.ops->refill(&e, objs, 8, 0, -1), 8);
	for (i = 0; i < 4; i++)
		page[i] = page_head_of(objs[2 * i]);
	for (i = 0; i < 4; i++)
		put(&e, objs[2 * i]); /* list: 3 2 1 0 */
	put(&e, objs[3]);
	slobseg_check(&e);
	assert_ptr_equal(listed(&e, 0, 1), page[2]);
	assert_ptr_equal(listed(&e, 0, 2), page[0]);
	put(&e, objs[1]);
	slobseg_check(&e);
	assert_ptr_equal(listed(&e, 0, 1), page[2]);
	assert_null(listed(&e, 0, 2));
	put(&e, objs[7]);
	assert_ptr_equal(listed(&e, 0, 0), page[2]);
	put(&e, objs[5]);
	END_ENGINE(&e);
}

static void batches_are_single_steps(UNUSED_STATE)
{
	const struct engine_ops *ops;

	FOR_BOTH(ops)
	{
		static void *objs[600];
		struct engine e;
		unsigned int i;

		make(&e, ops, 32);
		assert_int_equal(ops->refill(&e, objs, 600, 0, -1), 600);
		for (i = 0; i < 600; i++) /* 128 to the page, each page to its end */
			if (i % 128)
				assert_ptr_equal(objs[i], (char *)objs[i - 1] + 32);
		ops->check(&e);
		ops->flush(&e, objs + 100, 500);
		ops->check(&e);
		assert_int_equal(ops->refill(&e, objs + 100, 28, 0, -1), 28);
		for (i = 100; i < 128; i++)
			assert_ptr_equal(objs[i], (char *)objs[0] + (227 - i) * 32);
		ops->flush(&e, objs, 128);
		END_ENGINE(&e);
	}
}

static void nodes_have_lists_of_their_own(UNUSED_STATE)
{
	const struct engine_ops *ops;

	FOR_BOTH(ops)
	{
		struct engine e;
		void *a, *b, *c, *d;

		make(&e, ops, 128);
		a = take_from(&e, 0, 0);
		b = take_from(&e, __GFP_THISNODE, 1);
		assert_int_equal(page_head_of(a)->node, 0);
		assert_int_equal(page_head_of(b)->node, 1);
		os_act_as_cpu(3);
		c = take(&e); /* local: CPU 3 is on node 1 */
		assert_ptr_equal(page_head_of(c), page_head_of(b));
		d = take_from(&e, 0, 77); /* no such node: local */
		assert_ptr_equal(page_head_of(d), page_head_of(b));
		put(&e, a); /* to the page's node, whoever frees it */
		os_act_as_cpu(0);
		put(&e, b);
		ops->check(&e);
		assert_ptr_equal(take_from(&e, 0, 1), b);
		ops->flush(&e, (void *[]){ b, c, d }, 3);
		END_ENGINE(&e);
	}
}

/* Node 0 and the system have no page left: what node 1 has will do, unless it may not. */
static void exhausted(void *arg)
{
	const struct engine_ops *ops = arg;
	struct engine e;
	void *there, *obj;

	make(&e, ops, 64);
	there = take_from(&e, __GFP_THISNODE, 1);
	CHILD_CHECK(there);
	no_more_memory();
	while (buddy_alloc(0, 0, false, NULL)) {}
	CHILD_CHECK(!take_from(&e, __GFP_THISNODE, 0));
	obj = take_from(&e, 0, 0);
	CHILD_CHECK(obj == (char *)there + 64);
	put(&e, obj);
	put(&e, there);
	ops->check(&e);
	CHILD_CHECK(ops->destroy(&e) == 0);
}

/* Node 0 has no page left, node 1 many: one of them serves many objects. */
static void short_of_one_node(void *arg)
{
	const struct engine_ops *ops = arg;
	struct page *far[4];
	struct engine e;
	void *objs[64];

	make(&e, ops, 64);
	for (unsigned int i = 0; i < ARRAY_SIZE(far); i++)
		far[i] = buddy_alloc(1, 0, true, NULL);
	no_more_memory();
	while (buddy_alloc(0, 0, true, NULL)) {}
	while (buddy_alloc(1, 0, true, NULL)) {}
	for (unsigned int i = 0; i < ARRAY_SIZE(far); i++)
		buddy_free(far[i], 0, false);
	for (unsigned int i = 0; i < 64; i++) {
		objs[i] = take_from(&e, 0, 0);
		CHILD_CHECK(objs[i] && page_head_of(objs[i]) == page_head_of(objs[0]));
	}
	CHILD_CHECK(page_head_of(objs[0])->node == 1);
	ops->flush(&e, objs, 64);
	ops->check(&e);
}

static void other_nodes_when_memory_is_short(UNUSED_STATE)
{
	const struct engine_ops *ops;

	FOR_BOTH(ops)
	{
		struct child c = child_run(exhausted, (void *)ops);

		assert_true(child_passed(&c));
		c = child_run(short_of_one_node, (void *)ops);
		assert_true(child_passed(&c));
	}
}

/* Some of what was wanted is there. */
static void exhausted_halfway(__attribute__((unused)) void *arg)
{
	struct engine e;
	void *objs[10];

	make(&e, &slobseg_ops, 1024);
	CHILD_CHECK(e.ops->refill(&e, objs, 1, 0, -1) == 1);
	no_more_memory();
	while (buddy_alloc(0, 0, false, NULL)) {}
	CHILD_CHECK(e.ops->refill(&e, objs + 1, 9, 0, -1) == 3);
	slobseg_check(&e);
}

static void partial_batches(UNUSED_STATE)
{
	struct child c = child_run(exhausted_halfway, NULL);

	assert_true(child_passed(&c));
}

static void free_twice(void *arg)
{
	struct engine e;
	void *a, *b;

	make(&e, arg, 64);
	a = take(&e);
	b = take(&e);
	put(&e, a);
	put(&e, a);
	(void)b;
}

/* Its page is gone by then. */
static void free_too_late(void *arg)
{
	struct engine e;
	void *a, *b;

	make(&e, arg, 64);
	a = take(&e);
	b = take(&e);
	put(&e, a);
	put(&e, b);
	put(&e, a);
}

static void double_frees_are_noticed(UNUSED_STATE)
{
	const struct engine_ops *ops;

	FOR_BOTH(ops)
	{
		struct child c = child_run(free_twice, (void *)ops);

		assert_true(child_aborted(&c));
		assert_non_null(strstr(c.text, "slobseg: double free of 0x"));
		c = child_run(free_too_late, (void *)ops);
		assert_true(child_aborted(&c));
		assert_non_null(strstr(c.text, "slobseg: double free of 0x"));
	}
}

/* ---- threads ---- */

#define SLOTS 256
#define ROUNDS 4000

static struct engine shared;
static void *slots[SLOTS]; /* an object or NULL; taken and put by atomic exchange */

static void *work(void *arg)
{
	unsigned int seed = *(unsigned int *)arg;
	unsigned int round;

	os_act_as_cpu(seed % 4);
	for (round = 0; round < ROUNDS; round++) {
		unsigned int want = 1 + (unsigned int)rand_r(&seed) % 31;
		unsigned int n = 0;
		unsigned int i;
		void *objs[32];

		while (n < want)
			n += shared.ops->refill(&shared, objs + n, want - n, 0, -1);
		for (i = 0; i < n; i++) {
			*(unsigned long *)objs[i] = (unsigned long)objs[i];
			objs[i] = __atomic_exchange_n(&slots[(unsigned int)rand_r(&seed) % SLOTS],
						      objs[i], __ATOMIC_ACQ_REL);
		}
		for (i = 0, want = 0; i < n; i++) {
			if (!objs[i])
				continue;
			if (*(unsigned long *)objs[i] != (unsigned long)objs[i])
				abort(); /* somebody else has it too */
			objs[want++] = objs[i];
		}
		shared.ops->flush(&shared, objs, want);
	}
	return NULL;
}

static void threads(UNUSED_STATE)
{
	const struct engine_ops *ops;

	FOR_BOTH(ops)
	{
		unsigned int seeds[4] = { 1, 2, 3, 4 };
		unsigned long before = pages_in_use();
		pthread_t thread[4];
		unsigned int i;

		make(&shared, ops, 512);
		for (i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, work, &seeds[i]), 0);
		for (i = 0; i < 4; i++)
			pthread_join(thread[i], NULL);
		os_act_as_cpu(0);
		ops->check(&shared);
		slobseg_pow2_ops.heap->check();
		for (i = 0; i < SLOTS; i++) {
			if (slots[i])
				put(&shared, slots[i]);
			slots[i] = NULL;
		}
		END_ENGINE(&shared);
		assert_int_equal(pages_in_use(), before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ascending_on_a_fresh_page),
		cmocka_unit_test(last_in_first_out),
		cmocka_unit_test(full_pages_leave_and_come_back_in_front),
		cmocka_unit_test(empty_pages_go_at_once),
		cmocka_unit_test(unlinked_from_anywhere),
		cmocka_unit_test(batches_are_single_steps),
		cmocka_unit_test(nodes_have_lists_of_their_own),
		cmocka_unit_test(other_nodes_when_memory_is_short),
		cmocka_unit_test(partial_batches),
		cmocka_unit_test(double_frees_are_noticed),
		cmocka_unit_test(threads),
	};

	return cmocka_run_group_tests(tests, slobseg_group_setup, NULL);
}
