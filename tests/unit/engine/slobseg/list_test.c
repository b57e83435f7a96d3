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
		free_one(&e, objs[4]);
		assert_ptr_equal(take(&e), objs[4]);
		ops->flush(&e, (void *[]){ objs[1], objs[8] }, 2);
		assert_ptr_equal(take(&e), objs[8]);
		assert_ptr_equal(take(&e), objs[1]);
		for (i = 0; i < 9; i++) /* one stays, so that the page does */
			free_one(&e, objs[i]);
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
		free_one(&e, objs[5]);
		assert_ptr_equal(listed(&e, 0, 0), page[1]);
		assert_ptr_equal(listed(&e, 0, 1), page[2]);
		free_one(&e, objs[0]);
		assert_ptr_equal(listed(&e, 0, 0), page[0]);
		free_one(&e, objs[6]); /* was not full: stays where it is */
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
		unsigned long before = arena_pages_out();
		void *objs[40];
		struct engine e;
		unsigned int i;

		make(&e, ops, 512);
		for (i = 0; i < 5; i++) {
			void *obj = take(&e);

			assert_int_equal(arena_pages_out(), before + 1);
			free_one(&e, obj);
			assert_int_equal(arena_pages_out(), before);
			assert_null(listed(&e, 0, 0));
		}
		assert_int_equal(ops->refill(&e, objs, 40, 0, -1), 40);
		assert_int_equal(arena_pages_out(), before + 5);
		for (i = 0; i < 40; i++) {
			free_one(&e, objs[i]);
			assert_int_equal(arena_pages_out(), before + 5 - (i + 1) / 8);
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
		free_one(&e, objs[2 * i]); /* list: 3 2 1 0 */
	free_one(&e, objs[3]);
	slobseg_check(&e);
	assert_ptr_equal(listed(&e, 0, 1), page[2]);
	assert_ptr_equal(listed(&e, 0, 2), page[0]);
	free_one(&e, objs[1]);
	slobseg_check(&e);
	assert_ptr_equal(listed(&e, 0, 1), page[2]);
	assert_null(listed(&e, 0, 2));
	free_one(&e, objs[7]);
	assert_ptr_equal(listed(&e, 0, 0), page[2]);
	free_one(&e, objs[5]);
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
		free_one(&e, a); /* to the page's node, whoever frees it */
		os_act_as_cpu(0);
		free_one(&e, b);
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
	free_one(&e, obj);
	free_one(&e, there);
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
IN_CHILD(partial_batches)
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

/* ---- mistakes of programs ---- */

static void refused(struct engine *e, void *obj, enum engine_mistake what)
{
	struct engine_heap_counters before = *slobseg_of(e)->count;

	free_one(e, obj);
	assert_true(heard_once(what, obj, "test"));
	assert_memory_equal(&before, slobseg_of(e)->count, sizeof(before));
	slobseg_check_lists(slobseg_of(e));
}

static void mistakes_are_refused(UNUSED_STATE)
{
	const struct engine_ops *ops;

	FOR_BOTH(ops)
	{
		struct engine e, other;
		void *objs[4], *mixed[3];
		char *others;

		make(&e, ops, 64);
		make(&other, ops, 200);
		others = take(&other);
		assert_int_equal(ops->refill(&e, objs, 4, 0, -1), 4);
		hear();
		refused(&e, &e, ENGINE_NO_OBJECT);
		refused(&e, (char *)objs[1] + 8, ENGINE_NO_OBJECT);
		refused(&e, others, ENGINE_NO_OBJECT);
		mixed[0] = objs[0];
		mixed[1] = others;
		mixed[2] = objs[1];
		ops->flush(&e, mixed, 3);
		assert_int_equal(heard.nr, 1);
		heard.nr = 0;
		refused(&e, objs[1], ENGINE_FREE_AGAIN);
		e.verify_frees = true;
		refused(&e, objs[0], ENGINE_FREE_AGAIN);
		e.verify_frees = false;
		ops->flush(&e, objs + 2, 2);
		refused(&e, objs[2], ENGINE_FREE_AGAIN); /* its page is gone */
		hear_no_more();
		free_one(&other, others);
		END_ENGINE(&e);
		END_ENGINE(&other);
	}
}

/* What a program may have written over the link of the page's second free object. */
static void *harm(void **objs, unsigned int i)
{
	static char elsewhere[64];
	void *const links[] = { NULL,
				elsewhere,
				(char *)objs[0] + 8,
				objs[0],
				objs[6],
				(char *)objs[0] - 64,
				(void *)0x4141414141414141 };

	return i < ARRAY_SIZE(links) ? links[i] : (void *)1;
}

/*
 * By a take of all that is free, by a look, and by a take of what is left when the
 * list is the page's last.
 */
static void overwritten(const struct engine_ops *ops, unsigned int which, bool look)
{
	struct engine e;
	void *objs[8], *out[16];
	struct slobseg *s;
	struct page *page;
	const char *name;

	make(&e, ops, 512);
	s = slobseg_of(&e);
	name = slobseg_owner(s)->name;
	CHILD_CHECK(ops->refill(&e, objs, 8, 0, -1) == 8);
	page = page_head_of(objs[0]);
	for (unsigned int i = 4; i < 8; i++)
		free_one(&e, objs[i]); /* list: 7 6 5 4 */
	*slobseg_link(s, objs[6]) = harm(objs, which);
	hear();
	if (look) {
		e.verify_frees = true;
		ops->shrink(&e);
		e.verify_frees = false;
	} else {
		unsigned int got = ops->refill(&e, out, 4, 0, -1);

		CHILD_CHECK(got == 4);
		for (unsigned int i = 0; i < got; i++)
			CHILD_CHECK(page_head_of(out[i]) != page);
	}
	CHILD_CHECK(heard_once(ENGINE_LIST_BROKEN, page_address(page), name));
	CHILD_CHECK(s->isolated == 1);
	slobseg_check_lists(s);
	ops->flush(&e, objs, 4); /* goes nowhere */
	CHILD_CHECK(heard.nr == 0 && page->type == s->type);
	free_one(&e, objs[5]); /* no more are expected */
	CHILD_CHECK(heard_once(ENGINE_FREE_AGAIN, objs[5], "test"));
	slobseg_check_lists(s);
	for (unsigned int i = 0; i < 16; i++)
		CHILD_CHECK(page_head_of(out[i] = take(&e)) != page);
	slobseg_check_lists(s);
}

struct overwrite {
	const struct engine_ops *ops;
	unsigned int which;
	bool look;
};

static void overwritten_in_child(void *arg)
{
	const struct overwrite *o = arg;

	overwritten(o->ops, o->which, o->look);
}

static void overwritten_links(UNUSED_STATE)
{
	const struct engine_ops *ops;

	FOR_BOTH(ops)
	{
		for (unsigned int i = 0; i < 16; i++) {
			struct overwrite o = { ops, i / 2, i % 2 };
			struct child c = child_run(overwritten_in_child, &o);

			assert_true(child_passed(&c));
		}
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
		unsigned long before = arena_pages_out();
		pthread_t thread[4];
		unsigned int i;

		make(&shared, ops, 512);
		for (i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, work, &seeds[i]), 0);
		for (i = 0; i < 4; i++)
			pthread_join(thread[i], NULL);
		os_act_as_cpu(0);
		ops->check(&shared);
		slobseg_pow2_ops.heap->check(slobseg_pow2_ops.heap);
		for (i = 0; i < SLOTS; i++) {
			if (slots[i])
				free_one(&shared, slots[i]);
			slots[i] = NULL;
		}
		END_ENGINE(&shared);
		assert_int_equal(arena_pages_out(), before);
	}
}

/* One object without waiting, as try_alloc and try_free say; pages of both forms. */
static void tried(UNUSED_STATE)
{
	static const struct engine_ops *const ops[] = { &slobseg_ops, &slobseg_pow2_ops };

	os_act_as_cpu(0);
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct engine e;
		void *p[3];

		make(&e, ops[i], 512);
		p[0] = take(&e);
		p[1] = e.ops->try_alloc(&e, -1);
		assert_ptr_equal(p[1], (char *)p[0] + 512);
		lock_fork_prepare(&slobseg_of(&e)->lock); /* as if another thread held it */
		assert_null(e.ops->try_alloc(&e, -1));
		assert_false(e.ops->try_free(&e, p[1]));
		lock_fork_parent(&slobseg_of(&e)->lock);
		p[2] = e.ops->try_alloc(&e, 1);
		assert_int_equal(page_head_of(p[2])->node, 1);
		e.ops->check(&e);
		assert_true(e.ops->try_free(&e, p[1]));
		assert_false(e.ops->try_free(&e, p[1]));
		assert_false(e.ops->try_free(&e, (char *)p[0] + 8));
		assert_false(e.ops->try_free(&e, &e));
		/* their pages would be empty */
		assert_false(e.ops->try_free(&e, p[0]));
		assert_false(e.ops->try_free(&e, p[2]));
		e.ops->check(&e);
		e.ops->flush(&e, &p[0], 1);
		e.ops->flush(&e, &p[2], 1);
		END_ENGINE(&e);
	}
}

/* A page whose free list leads elsewhere is left to ordinary calls: another node is asked. */
static void tried_on_a_broken_list(UNUSED_STATE)
{
	struct engine e;
	void *p[3];
	void *next;

	os_act_as_cpu(0);
	make(&e, &slobseg_ops, 512);
	p[0] = take(&e);
	p[1] = take(&e);
	assert_true(e.ops->try_free(&e, p[1]));
	next = *slobseg_link(slobseg_of(&e), p[1]);
	*slobseg_link(slobseg_of(&e), p[1]) = p[1];
	p[2] = e.ops->try_alloc(&e, -1);
	assert_int_equal(page_head_of(p[2])->node, 1);
	*slobseg_link(slobseg_of(&e), p[1]) = next;
	assert_ptr_equal(e.ops->try_alloc(&e, -1), p[1]);
	e.ops->flush(&e, p, 3);
	END_ENGINE(&e);
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
		cmocka_unit_test(mistakes_are_refused),
		cmocka_unit_test(overwritten_links),
		cmocka_unit_test(tried),
		cmocka_unit_test(tried_on_a_broken_list),
		cmocka_unit_test(threads),
	};

	return cmocka_run_group_tests(tests, slobseg_group_setup, NULL);
}
