/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/validate_test.c - the kernel's own tests (spec 11.3), validation,
 * shrinking, what is listed
 *
 * Not here: test_kfree_rcu and its like, since user space has no grace period to wait for. The red
 * zone of test_krealloc_redzone_zeroing is in object_test.c, test_next_pointer in check_test.c too.
 */
#include "fixture.h"

/* ---- slub_kunit ------------------------------------------------------------------------------ */

static void test_clobber_zone(__attribute__((unused)) void **state)
{
	struct engine e;
	unsigned char *p;

	make(&e, 64, Z);
	p = get(&e);
	p[64] = 0x12;
	VALIDATED(&e, 2);
	put(&e, p);
	END_ENGINE(&e);
}

static void test_next_pointer(__attribute__((unused)) void **state)
{
	struct engine e;
	unsigned char *p;
	uintptr_t *next;
	uintptr_t good;

	make(&e, 64, P);
	p = get(&e);
	put(&e, p);
	next = (uintptr_t *)(p + e.debug->layout->offset);
	good = *next;
	p[e.debug->layout->offset] = (unsigned char)~p[e.debug->layout->offset];
	VALIDATED(&e, 3);
	*next = good;
	VALIDATED(&e, 2);
	VALIDATED(&e, 0);
	END_ENGINE(&e);
}

static void clobber_free(unsigned int at, unsigned char byte, slab_flags_t flags)
{
	struct engine e;
	unsigned char *p;

	make(&e, 64, flags);
	p = get(&e);
	put(&e, p);
	p[at] = byte;
	VALIDATED(&e, 2);
	VALIDATED(&e, 0);
	END_ENGINE(&e);
}

static void test_first_word(__attribute__((unused)) void **state)
{
	clobber_free(0, 0x78, P);
}

static void test_clobber_50th_byte(__attribute__((unused)) void **state)
{
	clobber_free(50, 0x9a, P);
}

static void test_clobber_redzone_free(__attribute__((unused)) void **state)
{
	clobber_free(64, 0xab, Z);
}

static void test_kmalloc_redzone_access(__attribute__((unused)) void **state)
{
	struct engine_params params = params_of(32);
	struct engine e;
	unsigned char *p;

	params.flags = SLAB_KMALLOC;
	make_with(&e, &slub_ops, params, U | Z, true);
	p = get_size(&e, 18);
	p[18] = 0xab;
	p[19] = 0xab;
	VALIDATED(&e, 2);
	put(&e, p);
	END_ENGINE(&e);
}

static void see(void *slab, void *obj, void *arg)
{
	void **seen = arg;

	assert_ptr_equal(slab, page_address(slab_of(obj)));
	assert_null(*seen);
	*seen = obj;
}

/* One object is left: it is found, and nothing is torn down. */
static void test_leak_destroy(__attribute__((unused)) void **state)
{
	struct engine e;
	void *seen = NULL;
	void *p;

	make(&e, 64, FZPU);
	p = get(&e);
	assert_int_equal(e.ops->destroy(&e), 1);
	e.ops->walk(&e, see, &seen);
	assert_ptr_equal(seen, p);
	put(&e, p);
	assert_int_equal(errors(), 0);
	END_ENGINE(&e);
}

/* ---- the resiliency test of 2007: each step, then validation --------------------------------- */

static void resiliency_after_allocation(__attribute__((unused)) void **state)
{
	struct engine e;
	unsigned char *p;

	make_kmalloc(&e, 16, FZPU);
	p = get(&e);
	p[16] = 0x12;
	VALIDATED(&e, 2);
	put(&e, p);
	END_ENGINE(&e);

	make_kmalloc(&e, 32, FZPU);
	p = get(&e);
	p[32 + sizeof(void *)] = 0x34; /* the free pointer */
	VALIDATED(&e, 1);
	put(&e, p);
	END_ENGINE(&e);
}

/*
 * "If allocated object is overwritten then not detectable": whatever is found, it is repaired in
 * the end. Where a free pointer was hit the objects behind it count as in use, and their red zones
 * say free: two passes for each.
 */
static void resiliency_somewhere(__attribute__((unused)) void **state)
{
	for (unsigned int i = 0; i < 256; i++) {
		unsigned int passes = 0;
		struct engine e;
		unsigned char *p;

		make_kmalloc(&e, 64, FZPU);
		p = get(&e);
		p[64 + i * sizeof(void *)] = 0x56;
		do
			debug_validate(&e);
		while (errors() && ++passes < 40);
		VALIDATED(&e, 0);
		put(&e, p);
		assert_int_equal(errors(), 0);
		e.ops->check(&e);
	}
}

static void resiliency_after_free(__attribute__((unused)) void **state)
{
	static const struct {
		unsigned int size;
		unsigned int at;
		unsigned char byte;
	} steps[] = { { 128, 0, 0x78 }, { 256, 50, 0x9a }, { 512, 512, 0xab } };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct engine e;
		unsigned char *p;

		make_kmalloc(&e, steps[i].size, FZPU);
		p = get(&e);
		put(&e, p);
		p[steps[i].at] = steps[i].byte;
		VALIDATED(&e, 2);
		VALIDATED(&e, 0);
		END_ENGINE(&e);
	}
}

/* ---- validation ------------------------------------------------------------------------------ */

/* Partial and full ones; isolated ones are on no list. */
static void counts_slabs(__attribute__((unused)) void **state)
{
	struct engine e;
	void *objs[3][25];

	make(&e, 64, FZPU);
	assert_int_equal(debug_validate(&e), 0);
	for (unsigned int i = 0; i < 3; i++)
		fill_slab(&e, objs[i]);
	assert_int_equal(debug_validate(&e), 3);
	put(&e, objs[0][0]);
	assert_int_equal(debug_validate(&e), 3);
	*((char *)objs[1][3] + 64) = 0; /* in a full slab */
	debug_validate(&e);
	assert_int_equal(errors(), 2);
	*(char *)objs[0][0] = 0;
	get(&e); /* another slab: that one is isolated */
	errors();
	assert_int_equal(debug_validate(&e), 3);
	assert_int_equal(errors(), 0);
}

static void counts_the_list(__attribute__((unused)) void **state)
{
	struct engine e;
	void *obj;

	make(&e, 64, FZPU);
	obj = get(&e);
	node0(&e)->nr_partial = 5;
	debug_validate(&e);
	assert_true(said("SLUB test: 1 partial slabs counted but counter=5"));
	assert_int_equal(errors(), 1);
	node0(&e)->nr_partial = 1;
	put(&e, obj);
	END_ENGINE(&e);
}

/* ---- shrinking (spec 4.14, vector 5) --------------------------------------------------------- */

static void shrink_sorts(__attribute__((unused)) void **state)
{
	static const unsigned int free[] = { 10, 40, 1, 3, 64, 33 };
	static const unsigned int sorted[] = { 1, 3, 10, 40, 33 };
	struct engine e;
	void *objs[6][64];

	make(&e, 64, F);
	for (unsigned int i = 0; i < 6; i++)
		fill_slab(&e, objs[i]);
	for (unsigned int i = 0; i < 6; i++)
		for (unsigned int n = 0; n < free[i]; n++)
			put(&e, objs[i][n]);
	assert_int_equal(e.ops->shrink(&e), 1);
	assert_int_equal(node0(&e)->nr_partial, 5);
	for (unsigned int i = 0; i < 5; i++) {
		struct slab_counters c = engine_counters(partial_at(&e, i));

		assert_int_equal(c.objects - c.inuse, sorted[i]);
	}
	e.ops->check(&e);
	for (unsigned int i = 0; i < 6; i++)
		for (unsigned int n = free[i]; n < 64; n++)
			put(&e, objs[i][n]);
	assert_int_equal(e.ops->shrink(&e), 0);
	assert_int_equal(nr_slabs(&e), 0);
	END_ENGINE(&e);
}

/* ---- listed and counted ---------------------------------------------------------------------- */

static unsigned long visited;

static void visit(void *slab, void *obj, void *arg)
{
	(void)slab;
	assert_true(debug_is_object(slab_of(obj), obj));
	if (arg)
		assert_ptr_not_equal(obj, arg);
	visited++;
}

static void full_slabs_are_not_listed(__attribute__((unused)) void **state)
{
	struct engine_stats stats;
	struct engine e;
	void *a[25];
	void *b[25];

	make(&e, 64, FZPU);
	fill_slab(&e, a);
	fill_slab(&e, b);
	put(&e, b[7]);
	visited = 0;
	e.ops->walk(&e, visit, b[7]);
	assert_int_equal(visited, 24);
	e.ops->stats(&e, &stats);
	assert_int_equal(stats.nr_slabs, 2);
	assert_int_equal(stats.nr_partial, 1);
	assert_int_equal(stats.total_objects, 50);
	assert_int_equal(stats.free_objects, 1);
	assert_int_equal(stats.slab_bytes, 2 * PAGE_SIZE);
	LEAVE_ENGINE(&e, 49);
}

static void count_visit(__attribute__((unused)) void *slab, __attribute__((unused)) void *obj,
			void *arg)
{
	++*(unsigned int *)arg;
}

/*
 * Nobody checks a list before a cache that is not empty is destroyed: it leads
 * anywhere, or round and round.
 */
static void walks_a_spoilt_list(__attribute__((unused)) void **state)
{
	static const uintptr_t wild[] = { 0x4141414141414141, 8, 1 };

	for (unsigned int i = 0; i < ARRAY_SIZE(wild) + 1; i++) {
		struct engine e;
		void *objs[64];
		unsigned int nr = 0;
		uintptr_t *next;

		make(&e, 64, Z);
		assert_true(e.debug->layout->objects <= ARRAY_SIZE(objs));
		fill_slab(&e, objs);
		put(&e, objs[0]);
		put(&e, objs[1]);
		put(&e, objs[2]);
		next = (uintptr_t *)((char *)objs[1] + e.debug->layout->offset);
		*next = i < ARRAY_SIZE(wild) ? wild[i] : (uintptr_t)objs[2];
		e.ops->walk(&e, count_visit, &nr);
		/* objects behind the damage cannot be distinguished from live ones */
		assert_int_equal(nr, e.debug->layout->objects - 2);
		debug_set_next_free(slab_of(objs[1]), objs[1], objs[0]);
		LEAVE_ENGINE(&e, e.debug->layout->objects - 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clobber_zone),
		cmocka_unit_test(test_next_pointer),
		cmocka_unit_test(test_first_word),
		cmocka_unit_test(test_clobber_50th_byte),
		cmocka_unit_test(test_clobber_redzone_free),
		cmocka_unit_test(test_kmalloc_redzone_access),
		cmocka_unit_test(test_leak_destroy),
		cmocka_unit_test(resiliency_after_allocation),
		cmocka_unit_test(resiliency_somewhere),
		cmocka_unit_test(resiliency_after_free),
		cmocka_unit_test(counts_slabs),
		cmocka_unit_test(counts_the_list),
		cmocka_unit_test(shrink_sorts),
		cmocka_unit_test(full_slabs_are_not_listed),
		cmocka_unit_test(walks_a_spoilt_list),
	};

	return cmocka_run_group_tests(tests, debug_group_setup, NULL);
}
