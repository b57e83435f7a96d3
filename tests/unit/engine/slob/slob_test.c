/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slob/slob_test.c - caches over the heap through the tables: sizes, headers,
 * constructors, numbers, end, threads, fork
 */
#include <pthread.h>
#include <sys/wait.h>

#include "fixture.h"
#include "manual_rcu.h"

static void tables(__attribute__((unused)) void **state)
{
	assert_string_equal(slob_1991_ops.name, "slob:1991");
	assert_string_equal(slob_ops.name, "slob");
	assert_string_equal(slob_1991_ops.heap->name, "slob:1991");
	assert_string_equal(slob_ops.heap->name, "slob");
	assert_string_equal(slob_ops.front, "none");
	assert_ptr_not_equal(slob_1991_ops.heap->counters, slob_ops.heap->counters);
}

static void init_fills_in_the_engine(__attribute__((unused)) void **state)
{
	struct engine_params params = {
		.name = "numbers",
		.object_size = 101,
		.align = 64,
		.flags = SLAB_HWCACHE_ALIGN,
		.id = 200,
		.page_class = 9,
		.pack = true,
	};
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		struct engine e = make_engine(forms[f].ops, params);

		assert_ptr_equal(e.ops, forms[f].ops);
		assert_ptr_equal(e.layout, &slob_of(&e)->layout);
		assert_has_params(&e, &params);
		assert_int_equal(e.size, 102); /* units, not the alignment */
		assert_true(e.pack);
		assert_int_equal(e.layout->stride, 102);
		assert_int_equal(e.layout->object_size, 101);
		assert_int_equal(e.layout->inuse, 102);
		assert_int_equal(e.layout->objects, 40);
		assert_int_equal(e.layout->order, 0);
		END_ENGINE(&e);
	}
}

/* Room for the footer, behind what the user has. */
static void rcu_objects_are_larger(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(101);
	struct engine e;
	void *obj;

	rcu_bind_at_once();
	params.flags = SLAB_TYPESAFE_BY_RCU;
	e = make_engine(&slob_ops, params);
	assert_int_equal(e.size, 126);
	assert_int_equal(e.layout->inuse, 101);
	obj = take_one(&e);
	assert_int_equal(slob_heap.counters.bytes, 126);
	free_one(&e, obj);
	os_rcu_submit();
	END_ENGINE(&e);

	params.object_size = 4080; /* a page would do without it */
	e = make_engine(&slob_ops, params);
	assert_int_equal(e.layout->order, 1);
	END_ENGINE(&e);
}

/* Objects of any cache, and blocks, lie side by side without headers (spec 1.1, 1.2). */
static void caches_share_pages(__attribute__((unused)) void **state)
{
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		struct engine a = make_engine(forms[f].ops, plain_params(40));
		struct engine b = make_engine(forms[f].ops, plain_params(101));
		void *first = take_one(&a);
		void *second = take_one(&b);
		void *third = take_one(&a);
		void *block = forms[f].ops->heap->alloc(forms[f].ops->heap, 20, 8, 0, -1);

		assert_int_equal(offset_of(first), 0);
		assert_int_equal(offset_of(second), 40);
		assert_int_equal(offset_of(third), 144); /* 142 is no multiple of 8 */
		assert_int_equal(offset_of(block), 192);
		assert_ptr_equal(page_of(first), page_of(block));
		assert_int_equal(a.heap_objects, 2);
		assert_int_equal(b.heap_objects, 1);
		assert_int_equal(forms[f].heap->counters.objects, 4);
		assert_int_equal(forms[f].heap->counters.blocks, 1);
		assert_int_equal(forms[f].heap->counters.bytes, 40 + 102 + 40 + 28);
		free_one(&a, first);
		free_one(&b, second);
		free_one(&a, third);
		forms[f].ops->heap->free(block);
		END_ENGINE(&a);
		END_ENGINE(&b);
		assert_heap_is_empty(forms[f].heap);
	}
}

/* An object that is found by its address has a header, and is aligned behind it. */
static void by_address(__attribute__((unused)) void **state)
{
	static const struct {
		unsigned int size;
		unsigned int align;
		unsigned int aligned; /* 0: whole pages */
	} cases[] = { { 8, 8, 8 },	 { 24, 8, 8 },	    { 64, 8, 64 },     { 96, 32, 32 },
		      { 100, 8, 8 },	 { 1024, 8, 1024 }, { 2048, 8, 2048 }, { 4087, 8, 8 },
		      { 4088, 8, 0 },	 { 4096, 8, 0 },    { 5000, 8, 0 },    { 64, 4096, 0 },
		      { 2049, 2048, 0 }, { 4080, 16, 16 },  { 4081, 16, 0 } };
	size_t i;
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++)
		for (i = 0; i < ARRAY_SIZE(cases); i++) {
			struct engine_params params = plain_params(cases[i].size);
			const struct engine_heap *heap = forms[f].ops->heap;
			struct engine e;
			void *objs[20];
			unsigned int k;

			params.align = cases[i].align;
			params.by_address = true;
			params.page_class = 9;
			e = make_engine(forms[f].ops, params);
			assert_int_equal(e.size, ALIGN_UP(cases[i].size, 2u));
			assert_int_equal(forms[f].ops->refill(&e, objs, 20, 0, -1), 20);
			for (k = 0; k < 20; k++) {
				memset(objs[k], (int)k, cases[i].size);
				assert_int_equal((uintptr_t)objs[k] % params.align, 0);
			}
			for (k = 0; k < 20; k++) {
				unsigned int index = (unsigned int)page_index(objs[k]);
				unsigned char *byte = objs[k];

				assert_int_equal(byte[0], k);
				assert_int_equal(byte[cases[i].size - 1], k);
				if (!cases[i].aligned) {
					assert_int_equal(page_of(byte)->type, PAGE_SLAB);
					assert_ptr_equal(page_of(byte)->engine, &e);
					assert_int_equal(page_map.class[index], 9);
					continue;
				}
				assert_int_equal(page_of(byte)->type, PAGE_HEAP);
				assert_int_equal((uintptr_t)byte % cases[i].aligned, 0);
				assert_int_equal(heap->owner(byte), 77);
				assert_int_equal(heap->size(byte), ALIGN_UP(cases[i].size, 2u));
				assert_int_equal(page_map.class[index], 0);
			}
			assert_int_equal(heap->counters->blocks, 0);
			forms[f].ops->flush(&e, objs, 20);
			END_ENGINE(&e);
			assert_heap_is_empty(forms[f].heap);
		}
}

/* An object of a size class lies just where the heap's own block of that size would. */
static void by_address_lies_as_a_block_does(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(100);
	struct engine e;
	void *objs[30]; /* in one page */
	unsigned int i;

	params.by_address = true;
	e = make_engine(&slob_ops, params);
	assert_int_equal(slob_ops.refill(&e, objs, 30, 0, -1), 30);
	for (i = 0; i < 30; i++) {
		void *was = objs[i];

		free_one(&e, was);
		objs[i] = slob_ops.heap->alloc(slob_ops.heap, 100, 8, 0, -1);
		assert_ptr_equal(objs[i], was);
	}
	for (i = 0; i < 30; i++)
		slob_ops.heap->free(objs[i]);
	END_ENGINE(&e);
}

static void the_owner_is_looked_at(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(100);
	struct engine a;
	struct engine b;
	void *obj;

	params.by_address = true;
	a = make_engine(&slob_ops, params);
	params.id = 78;
	b = make_engine(&slob_ops, params);
	obj = take_one(&b);
	hear();
	free_one(&a, obj);
	assert_true(heard_once(ENGINE_NO_HEADER, obj, "test"));
	hear_no_more();
	free_one(&b, obj);
	END_ENGINE(&a);
	END_ENGINE(&b);
}

/* ---- mistakes: what is refused still counts as in use, the rest of the batch is taken ---- */

static void a_batch_with_mistakes(__attribute__((unused)) void **state)
{
	for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
		struct engine e = make_engine(forms[f].ops, plain_params(72));
		void *objs[7];

		assert_int_equal(e.ops->refill(&e, objs, 6, 0, -1), 6);
		objs[6] = objs[5]; /* keeps its page */
		objs[5] = objs[1];
		objs[3] = (char *)objs[3] + 4;
		hear();
		e.ops->flush(&e, objs, 6);
		assert_int_equal(heard.nr, 2);
		assert_int_equal(heard.open, 0);
		assert_int_equal(heard.what, ENGINE_FREE_AGAIN);
		assert_ptr_equal(heard.obj, objs[1]);
		hear_no_more();
		assert_int_equal(e.heap_objects, 2);
		slob_heap_check(forms[f].heap);
		objs[3] = (char *)objs[3] - 4;
		free_one(&e, objs[3]);
		free_one(&e, objs[6]);
		END_ENGINE(&e);
	}
}

/* Nobody takes memory, so that only who looks closely sees it. */
IN_CHILD(shrinking)
{
	struct engine e = make_engine(&slob_ops, plain_params(72));
	void *objs[3];

	CHILD_CHECK(slob_ops.refill(&e, objs, 3, 0, -1) == 3);
	free_one(&e, objs[1]);
	memset(objs[1], 0x41, 72);
	hear();
	slob_ops.shrink(&e);
	CHILD_CHECK(heard.nr == 0);
	e.verify_frees = true;
	slob_ops.shrink(&e);
	CHILD_CHECK(heard_once(ENGINE_LIST_BROKEN, page_address(page_of(objs[0])), "slob"));
	slob_ops.shrink(&e);
	CHILD_CHECK(heard.nr == 0);
	slob_ops.flush(&e, (void *[]){ objs[0], objs[2] }, 2);
	CHILD_CHECK(heard.nr == 0);
	slob_check(&e);
	slob_heap_check(&slob_heap);
	CHILD_CHECK(slob_ops.destroy(&e) == 0);
}

/* ---- constructors ---- */

static unsigned int constructed;

static void ctor(void *obj)
{
	constructed++;
	memset(obj, 0x77, 8);
}

/* For every allocation, since a free object holds the list (spec 1.7, 15.10). */
static void constructors_run_each_time(__attribute__((unused)) void **state)
{
	static const unsigned int sizes[] = { 8, 40, 5000 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct engine_params params = plain_params(sizes[i]);
		unsigned char *objs[10];
		unsigned int round;
		unsigned int k;
		struct engine e;

		params.ctor = ctor;
		e = make_engine(&slob_ops, params);
		constructed = 0;
		for (round = 1; round < 4; round++) {
			assert_int_equal(slob_ops.refill(&e, (void **)objs, 10, 0, -1), 10);
			assert_int_equal(constructed, 10 * round);
			for (k = 0; k < 10; k++) {
				assert_int_equal(objs[k][0], 0x77);
				assert_int_equal(objs[k][7], 0x77);
				memset(objs[k], 0, sizes[i]);
			}
			slob_ops.flush(&e, (void **)objs, 10);
		}
		END_ENGINE(&e);
	}
}

static struct engine inner;
static void *inner_obj;

static void ctor_that_allocates(__attribute__((unused)) void *obj)
{
	inner_obj = take_one(&inner);
}

static void constructors_may_allocate(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(40);
	struct engine e;
	void *obj;

	inner = make_engine(&slob_ops, plain_params(32));
	params.ctor = ctor_that_allocates;
	e = make_engine(&slob_ops, params);
	obj = take_one(&e);
	free_one(&inner, inner_obj);
	free_one(&e, obj);
	END_ENGINE(&e);
	END_ENGINE(&inner);
}

/* ---- numbers and the end ---- */

/* Taken one by one or in a batch: the same places. */
static void a_batch_is_many_single_ones(__attribute__((unused)) void **state)
{
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		struct engine e = make_engine(forms[f].ops, plain_params(72));
		unsigned int offsets[200];
		void *objs[200];
		unsigned int i;

		for (i = 0; i < 200; i++) {
			objs[i] = take_one(&e);
			offsets[i] = offset_of(objs[i]);
		}
		assert_int_equal(forms[f].heap->counters.pages, 4);
		forms[f].ops->flush(&e, objs, 200);
		assert_int_equal(forms[f].heap->counters.pages, 0);
		assert_int_equal(forms[f].ops->refill(&e, objs, 200, 0, -1), 200);
		for (i = 0; i < 200; i++)
			assert_int_equal(offset_of(objs[i]), offsets[i]);
		forms[f].ops->flush(&e, objs, 200);
		END_ENGINE(&e);
	}
}

/* The kernel never noticed. */
static void destroy_with_objects_left(__attribute__((unused)) void **state)
{
	struct engine e = make_engine(&slob_ops, plain_params(40));
	struct engine_stats stats;
	void *objs[10];

	assert_int_equal(slob_ops.refill(&e, objs, 10, 0, -1), 10);
	assert_int_equal(slob_ops.destroy(&e), 10);
	slob_ops.stats(&e, &stats);
	assert_int_equal(stats.total_objects, 10);
	assert_int_equal(stats.free_objects, 0);
	assert_int_equal(stats.nr_slabs, 0);
	assert_int_equal(stats.slab_bytes, 0);
	slob_ops.flush(&e, objs, 9);
	assert_int_equal(slob_ops.destroy(&e), 1); /* and it goes on working */
	objs[0] = take_one(&e);
	assert_int_equal(slob_ops.destroy(&e), 2);
	free_one(&e, objs[0]);
	free_one(&e, objs[9]);
	assert_int_equal(slob_ops.shrink(&e), 0);
	END_ENGINE(&e);
	assert_null(e.state);
	assert_null(e.layout);
}

/* Spec 14.16: what came from the page allocator is there again. */
static void all_pages_come_back(__attribute__((unused)) void **state)
{
	unsigned long used = arena_pages_out();
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		struct engine small = make_engine(forms[f].ops, plain_params(24));
		struct engine large = make_engine(forms[f].ops, plain_params(6000));
		static void *objs[600];
		void *blocks[50];
		unsigned int i;

		assert_int_equal(forms[f].ops->refill(&small, objs, 580, 0, -1), 580);
		assert_int_equal(forms[f].ops->refill(&large, objs + 580, 20, 0, -1), 20);
		for (i = 0; i < 50; i++)
			blocks[i] =
				forms[f].ops->heap->alloc(forms[f].ops->heap, 1 + i * 80, 8, 0, -1);
		assert_int_equal(arena_pages_out(), used + forms[f].heap->counters.pages + 20 * 2);
		for (i = 0; i < 50; i++)
			forms[f].ops->heap->free(blocks[i]);
		forms[f].ops->flush(&small, objs, 580);
		forms[f].ops->flush(&large, objs + 580, 20);
		END_ENGINE(&small);
		END_ENGINE(&large);
		assert_int_equal(arena_pages_out(), used);
	}
}

/* Spec 14.17, and every object can be written to its last byte without another one seeing it. */
static void objects_are_apart(__attribute__((unused)) void **state)
{
	static const unsigned int sizes[][2] = { { 1, 8 },    { 8, 8 },	    { 24, 8 },
						 { 96, 32 },  { 100, 64 },  { 700, 8 },
						 { 3, 4096 }, { 33, 1024 }, { 4094, 8 },
						 { 9000, 16 } };
	size_t f;
	size_t i;

	for (f = 0; f < ARRAY_SIZE(forms); f++)
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			struct engine_params params = plain_params(sizes[i][0]);
			unsigned char *objs[90];
			struct engine e;
			unsigned int k;

			params.align = sizes[i][1];
			e = make_engine(forms[f].ops, params);
			for (k = 0; k < 90; k += 9)
				assert_int_equal(e.ops->refill(&e, (void **)objs + k, 9, 0, -1), 9);
			assert_apart(objs, 90, &params);
			e.ops->heap->check(e.ops->heap);
			e.ops->flush(&e, (void **)objs, 90);
			END_ENGINE(&e);
		}
}

IN_CHILD(out_of_memory)
{
	struct engine_params params = plain_params(1000);
	struct engine e;
	void *objs[8];

	params.by_address = true;
	params.ctor = ctor;
	limit_address_space(160ul << 20);
	slob_machine(2, 1);
	e = make_engine(&slob_ops, params);
	CHILD_CHECK(slob_ops.refill(&e, objs, 1, 0, -1) == 1);
	use_up_pages(-1);
	constructed = 0;
	CHILD_CHECK(slob_ops.refill(&e, objs + 1, 7, 0, -1) == 3); /* the rest of the page */
	CHILD_CHECK(constructed == 3 && e.heap_objects == 4);
	CHILD_CHECK(slob_ops.heap->owner(objs[3]) == 77);
	CHILD_CHECK(slob_ops.refill(&e, objs + 4, 4, 0, -1) == 0);
	CHILD_CHECK(slob_ops.destroy(&e) == 4);
	slob_ops.flush(&e, objs, 4);
	slob_check(&e);
	slob_heap_check(&slob_heap);
	CHILD_CHECK(slob_ops.destroy(&e) == 0);
}

static void never(__attribute__((unused)) void *slab, __attribute__((unused)) void *obj, void *arg)
{
	(*(unsigned int *)arg)++;
}

static void nothing_can_be_walked(__attribute__((unused)) void **state)
{
	struct engine e = make_engine(&slob_ops, plain_params(5000));
	void *obj = take_one(&e);
	unsigned int visits = 0;

	slob_ops.walk(&e, never, &visits);
	assert_int_equal(visits, 0);
	free_one(&e, obj);
	END_ENGINE(&e);
}

/* ---- threads ---- */

#define SLOTS 128
#define ROUNDS 1500

struct shared {
	struct engine plain;
	struct engine named; /* by address */
	const struct engine_heap *heap;
	void *slots[SLOTS]; /* blocks, or objects of named; taken and put by atomic exchange */
};

struct worker {
	struct shared *shared;
	unsigned int seed;
};

static void *new_one(struct shared *s, unsigned int draw)
{
	return draw % 2 ? take_one(&s->named) : s->heap->alloc(s->heap, 16 + draw % 1200, 8, 0, -1);
}

static void free_any(struct shared *s, void *p)
{
	if (s->heap->owner(p))
		free_one(&s->named, p);
	else
		s->heap->free(p);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->shared;
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		unsigned int draw = (unsigned int)rand_r(&w->seed);
		unsigned int want = 1 + draw % 31;
		uintptr_t *p = new_one(s, draw);
		void *objs[31];
		unsigned int i;

		if (!p || s->plain.ops->refill(&s->plain, objs, want, 0, -1) != want)
			abort();
		*p = (uintptr_t)p;
		for (i = 0; i < want; i++)
			*(unsigned int *)objs[i] = w->seed + i;
		p = __atomic_exchange_n(&s->slots[draw % SLOTS], p, __ATOMIC_ACQ_REL);
		for (i = 0; i < want; i++)
			if (*(unsigned int *)objs[i] != w->seed + i)
				abort(); /* somebody else has it too */
		s->plain.ops->flush(&s->plain, objs, want);
		if (!p)
			continue;
		if (*p != (uintptr_t)p)
			abort();
		free_any(s, p);
	}
	return NULL;
}

static void threads(__attribute__((unused)) void **state)
{
	struct worker workers[4];
	pthread_t ids[4];
	size_t f;
	unsigned int i;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		struct engine_params params = plain_params(64);
		static struct shared s;

		memset(&s, 0, sizeof(s));
		s.plain = make_engine(forms[f].ops, plain_params(104));
		params.by_address = true;
		s.named = make_engine(forms[f].ops, params);
		s.heap = forms[f].ops->heap;
		for (i = 0; i < 4; i++) {
			workers[i] = (struct worker){ &s, i + 1 };
			assert_int_equal(pthread_create(&ids[i], NULL, work, &workers[i]), 0);
		}
		for (i = 0; i < 4; i++)
			pthread_join(ids[i], NULL);
		s.heap->check(s.heap);
		for (i = 0; i < SLOTS; i++)
			if (s.slots[i])
				free_any(&s, s.slots[i]);
		END_ENGINE(&s.plain);
		END_ENGINE(&s.named);
		assert_heap_is_empty(forms[f].heap);
	}
}

/* A child that was forked while the lock was held can use it. */
static void fork_leaves_a_usable_lock(__attribute__((unused)) void **state)
{
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		struct engine e = make_engine(forms[f].ops, plain_params(64));
		void *objs[100];

		assert_int_equal(e.ops->refill(&e, objs, 100, 0, -1), 100);
		assert_survives_fork(&e, &forms[f].heap->lock, objs, 100);
		END_ENGINE(&e);
	}
}

int main(void)
{
	const struct CMUnitTest before_there_is_an_arena[] = {
		cmocka_unit_test(out_of_memory),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(init_fills_in_the_engine),
		cmocka_unit_test(rcu_objects_are_larger),
		cmocka_unit_test(caches_share_pages),
		cmocka_unit_test(by_address),
		cmocka_unit_test(by_address_lies_as_a_block_does),
		cmocka_unit_test(the_owner_is_looked_at),
		cmocka_unit_test(a_batch_with_mistakes),
		cmocka_unit_test(shrinking),
		cmocka_unit_test(constructors_run_each_time),
		cmocka_unit_test(constructors_may_allocate),
		cmocka_unit_test(a_batch_is_many_single_ones),
		cmocka_unit_test(destroy_with_objects_left),
		cmocka_unit_test(all_pages_come_back),
		cmocka_unit_test(objects_are_apart),
		cmocka_unit_test(nothing_can_be_walked),
		cmocka_unit_test(threads),
		cmocka_unit_test(fork_leaves_a_usable_lock),
	};
	int failed = cmocka_run_group_tests(before_there_is_an_arena, NULL, NULL);

	return failed + cmocka_run_group_tests(tests, slob_group_setup, NULL);
}
