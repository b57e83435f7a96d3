/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/alloc_test.c - objects out of debug slabs: from where, with what
 * in them, what if not (spec 7.3)
 */
#include "debug/stacks.h"
#include "fixture.h"
#include "os/process/process.h"

/* ---- contents -------------------------------------------------------------------------------- */

/* Poison is put on anew: a fresh object reads 6b, not 5a. Red zones are active. */
static void what_is_in_a_new_object(__attribute__((unused)) void **state)
{
	struct engine e;
	unsigned char *obj;

	make(&e, 64, FZPU);
	obj = get(&e);
	assert_true(all_bytes(obj - 8, 8, 0xcc));
	assert_true(all_bytes(obj, 63, 0x6b));
	assert_int_equal(obj[63], 0xa5);
	assert_true(all_bytes(obj + 64, 8, 0xcc));
	assert_true(all_bytes(obj + 144, 8, 0x5a));
	put(&e, obj);
	END_ENGINE(&e);
}

/* What nobody was given so far, but for the slots of live objects: spec 4.4. */
static void what_is_in_a_new_slab(__attribute__((unused)) void **state)
{
	struct engine e;
	unsigned char *obj;

	make(&e, 64, FZPU);
	obj = get(&e);
	obj += 160;
	assert_true(all_bytes(obj - 8, 8, 0xbb));
	assert_true(all_bytes(obj, 63, 0x6b));
	assert_int_equal(obj[63], 0xa5);
	assert_true(all_bytes(obj + 64, 8, 0xbb));
	assert_true(all_bytes(obj + 80, 64, 0)); /* nobody had it */
	assert_true(all_bytes(obj + 144, 8, 0x5a));
	assert_true(all_bytes((char *)page_address(slab_of(obj)) + 4000, 96, 0x5a));
	put(&e, obj - 160);
	END_ENGINE(&e);
}

static void who_has_it(__attribute__((unused)) void **state)
{
	const uint64_t *pcs;
	struct engine e;
	struct track *t;
	void *obj;

	make(&e, 64, U);
	obj = debug_alloc(&e, 0, -1, 0, __builtin_return_address(0));
	t = debug_track(e.debug->layout, obj, TRACK_ALLOC);
	assert_int_equal(t->addr, (uintptr_t)__builtin_return_address(0));
	assert_int_equal(t->pid, os_thread_id());
	assert_true(t->when != 0);
	assert_true(t->cpu < os_topology.nr_cpu_ids);
	assert_true(stacks_fetch(t->handle, &pcs) >= 1);
	assert_int_equal(pcs[0], t->addr);
	assert_int_equal(debug_track(e.debug->layout, obj, TRACK_FREE)->addr, 0);
	put(&e, obj);
	assert_int_equal(debug_track(e.debug->layout, obj, TRACK_FREE)->addr, (uintptr_t)here);
	END_ENGINE(&e);
}

static unsigned int constructed;

static void ctor(void *obj)
{
	memset(obj, 0x77, 64);
	constructed++;
}

/* Once, when the slab is made; poison leaves such objects alone. */
static void constructor(__attribute__((unused)) void **state)
{
	struct engine_params params = params_of(64);
	struct engine e;
	void *obj;

	params.ctor = ctor;
	make_with(&e, &slub_ops, params, FZPU, false);
	constructed = 0;
	obj = get(&e);
	assert_int_equal(constructed, e.debug->layout->objects);
	assert_true(all_bytes(obj, 64, 0x77));
	memset(obj, 0x77, 64);
	put(&e, obj);
	assert_true(all_bytes(obj, 64, 0x77));
	assert_ptr_equal(get(&e), obj);
	assert_true(all_bytes(obj, 64, 0x77));
	assert_int_equal(constructed, e.debug->layout->objects);
	put(&e, obj);
	VALIDATED(&e, 0);
	END_ENGINE(&e);
}

/* Free objects may be read: nothing is written into them (spec 5.9). */
static void type_stable(__attribute__((unused)) void **state)
{
	struct engine_params params = params_of(64);
	struct engine e;
	void *obj;

	params.flags = SLAB_TYPESAFE_BY_RCU;
	make_with(&e, &slub_ops, params, FZPU, false);
	obj = get(&e);
	memset(obj, 0x42, 64);
	put(&e, obj);
	assert_true(all_bytes(obj, 64, 0x42));
	VALIDATED(&e, 0);
	END_ENGINE(&e);
}

static void alignment(__attribute__((unused)) void **state)
{
	for (unsigned int size = 8; size <= 4096; size *= 2) {
		void *objs[40];
		struct engine e;

		make_kmalloc(&e, size, FZPU);
		for (unsigned int i = 0; i < ARRAY_SIZE(objs); i++) {
			objs[i] = get(&e);
			assert_int_equal((uintptr_t)objs[i] % size, 0);
		}
		for (unsigned int i = 0; i < ARRAY_SIZE(objs); i++)
			put(&e, objs[i]);
		assert_int_equal(errors(), 0);
		END_ENGINE(&e);
	}
}

/* ---- lists (spec 4.13) ----------------------------------------------------------------------- */

static void one_slab_after_the_other(__attribute__((unused)) void **state)
{
	struct engine e;
	void *objs[25];
	void *more;

	make(&e, 64, FZPU);
	for (unsigned int i = 0; i < 25; i++) {
		objs[i] = get(&e);
		assert_ptr_equal((char *)objs[i] - (char *)objs[0], i * 160);
		assert_int_equal(node0(&e)->nr_partial, i < 24);
	}
	assert_int_equal(engine_counters(slab_of(objs[0])).inuse, 25);
	assert_int_equal(engine_counters(slab_of(objs[0])).frozen, 0);
	assert_ptr_equal(list_first(&node0(&e)->full, struct page, lru), slab_of(objs[0]));
	assert_int_equal(events[ALLOC_SLAB], 1);
	assert_int_equal(events[ALLOC_SLOWPATH], 25);
	assert_int_equal(events[ALLOC_FROM_PARTIAL], 24);
	more = get(&e);
	assert_int_equal(events[ALLOC_SLAB], 2);
	assert_int_equal(node0(&e)->total_objects, 50);
	assert_int_equal(node0(&e)->nr_pages, 2);
	e.ops->check(&e);
	put(&e, more);
	for (unsigned int i = 0; i < 25; i++)
		put(&e, objs[i]);
	END_ENGINE(&e);
}

/* The head slab is used up before the next; the object freed last comes first. */
static void head_first(__attribute__((unused)) void **state)
{
	struct engine e;
	void *a[25];
	void *b[25];

	make(&e, 64, FZPU);
	fill_slab(&e, a);
	fill_slab(&e, b);
	put(&e, b[3]);
	put(&e, a[5]);
	put(&e, a[7]);
	put(&e, b[4]);
	assert_ptr_equal(partial_at(&e, 0), slab_of(b[0])); /* each at the tail when it came */
	assert_ptr_equal(partial_at(&e, 1), slab_of(a[0]));
	assert_ptr_equal(get(&e), b[4]);
	assert_ptr_equal(get(&e), b[3]);
	assert_ptr_equal(get(&e), a[7]);
	assert_ptr_equal(get(&e), a[5]);
	assert_int_equal(node0(&e)->nr_partial, 0);
	for (unsigned int i = 0; i < 25; i++) {
		put(&e, a[i]);
		put(&e, b[i]);
	}
	END_ENGINE(&e);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* The slab is given up, and the next one serves. */
static void damaged_slab_is_retired(__attribute__((unused)) void **state)
{
	struct engine e;
	void *a[25];
	void *b[25];

	make(&e, 64, FZPU);
	fill_slab(&e, a);
	fill_slab(&e, b);
	put(&e, a[5]);
	put(&e, b[5]);
	*(char *)a[5] = 1;
	assert_ptr_equal(get(&e), b[5]);
	assert_true(said("Poison overwritten"));
	assert_true(said("FIX test: Restoring Poison"));
	assert_true(said("FIX test: Marking all objects used"));
	assert_int_equal(errors(), 3);
	assert_int_equal(engine_counters(slab_of(a[0])).inuse, 25);
	assert_int_equal(engine_counters(slab_of(a[0])).frozen, 1);
	assert_null(slab_of(a[0])->freelist);
	assert_int_equal(node0(&e)->nr_partial, 0);
	e.ops->check(&e);

	put(&e, a[6]); /* what is freed into it is lost */
	assert_true(said("Slab disabled since SLUB metadata consistency check failed"));
	assert_true(said("not freed"));
	assert_int_equal(errors(), 2);
	debug_set_flags(&e, 0, false);
	put(&e, a[7]);
	assert_int_equal(engine_counters(slab_of(a[0])).inuse, 25);
	for (unsigned int i = 0; i < 25; i++)
		put(&e, b[i]);
	assert_int_equal(errors(), 0);
	LEAVE_ENGINE(&e, 25);
}

static void damaged_head_of_the_list(__attribute__((unused)) void **state)
{
	struct engine e;
	struct page *slab;
	void *obj;

	make(&e, 64, F);
	obj = get(&e);
	slab = slab_of(obj);
	slab->freelist = (char *)obj + 4;
	assert_ptr_not_equal(slab_of(get(&e)), slab);
	assert_true(said("Freelist Pointer check fails"));
	assert_true(said("Invalid pointer"));
	assert_true(said("Marking all objects used"));
	assert_int_equal(errors(), 2);
	e.ops->check(&e);
}

/* Without F nothing is looked at... */
static void no_checks_without_f(__attribute__((unused)) void **state)
{
	struct engine e;
	void *obj;

	make(&e, 64, Z | P | U);
	obj = get(&e);
	put(&e, obj);
	*(char *)obj = 1;
	*((char *)obj - 1) = 1;
	assert_ptr_equal(get(&e), obj);
	assert_int_equal(errors(), 0);
	assert_true(all_bytes(obj, 63, 0x6b));
	put(&e, obj);
	END_ENGINE(&e);
}

/* ... but for memory that is not the slab's. */
static void wild_link_without_f(__attribute__((unused)) void *arg)
{
	struct engine e;
	void *obj;

	make(&e, 64, P);
	obj = get(&e);
	put(&e, obj);
	*(void **)((char *)obj + 64) = &e;
	get(&e);
}

static void wild_link_ends_the_program(__attribute__((unused)) void **state)
{
	struct child c = child_run(wild_link_without_f, NULL);

	assert_true(child_aborted(&c));
	assert_non_null(strstr(c.text, "slub: corrupt free list at"));
}

static void spoils_the_red_zone(void *obj)
{
	memset(obj, 1, 65);
}

/* A constructor that writes behind its object: no endless row of slabs. */
static void hopeless(__attribute__((unused)) void **state)
{
	struct engine_params params = params_of(64);
	struct engine e;

	params.ctor = spoils_the_red_zone;
	make_with(&e, &slub_ops, params, F | Z, false);
	assert_null(debug_alloc(&e, 0, -1, 0, here));
	assert_true(said("Right Redzone overwritten"));
	assert_int_equal(errors(), 9);
	assert_int_equal(nr_slabs(&e), 3);
}

static void trace_in_child(__attribute__((unused)) void *arg)
{
	struct engine e;
	char line[100];
	void *obj;

	make(&e, 64, T);
	report_set_hook(NULL, NULL, false);
	obj = get(&e);
	snprintf(line, sizeof(line), "expected: TRACE test alloc %p inuse=1 fp=%p\n", obj,
		 slab_of(obj)->freelist);
	memset(obj, 'x', 64);
	fputs(line, stderr);
	put(&e, obj);
	CHILD_CHECK(errors() == 0);
}

/* T: a line for each operation; what is freed is shown before it is poisoned. */
static void trace(__attribute__((unused)) void **state)
{
	struct child c = child_run(trace_in_child, NULL);
	char line[100] = "";
	const char *expected;

	assert_true(child_passed(&c));
	expected = strstr(c.text, "expected: ") + strlen("expected: ");
	memcpy(line, expected, strcspn(expected, "\n") + 1);
	assert_true(strstr(c.text, line) < expected);
	assert_non_null(strstr(expected, "TRACE test free"));
	assert_non_null(strstr(expected, "78 78 78 78 78 78 78 78  xxxxxxxxxxxxxxxx"));
}

/* ---- nodes ----------------------------------------------------------------------------------- */

IN_CHILD(nodes)
{
	struct engine e;
	void *there;
	void *objs[25];

	os_topology_set(4, 2);
	buddy_init(2);
	os_act_as_cpu(0);
	make(&e, 64, FZPU);
	CHILD_CHECK(e.debug->nr_nodes == 2);
	there = debug_alloc(&e, 0, 1, 0, here);
	CHILD_CHECK(slab_of(there)->node == 1 && e.debug->node[1]->nr_partial == 1);
	/* a node keeps what it needs itself: no object from there for somebody here */
	fill_slab(&e, objs);
	CHILD_CHECK(slab_of(objs[0])->node == 0);
	CHILD_CHECK(slab_of(debug_alloc(&e, 0, -1, 0, here))->node == 0);
	e.debug->min_partial = 1;
	while (e.debug->node[0]->nr_partial)
		get(&e);
	CHILD_CHECK(e.debug->node[1]->nr_partial == 1);
	CHILD_CHECK(slab_of(debug_alloc(&e, 0, -1, 0, here))->node == 0);
	/* ... unless it has more than that; named nodes are served from there only */
	e.debug->min_partial = 0;
	debug_shrink(&e);
	while (e.debug->node[0]->nr_partial)
		get(&e);
	CHILD_CHECK(slab_of(debug_alloc(&e, 0, -1, 0, here))->node == 1);
	CHILD_CHECK(slab_of(debug_alloc(&e, 0, 0, 0, here))->node == 0);
	CHILD_CHECK(slab_of(debug_alloc(&e, __GFP_THISNODE, 1, 0, here))->node == 1);
	CHILD_CHECK(debug_alloc(&e, 0, 77, 0, here)); /* such a node counts as none */
	CHILD_CHECK(debug_validate(&e) >= 2);
	e.ops->check(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_a_new_object),
		cmocka_unit_test(what_is_in_a_new_slab),
		cmocka_unit_test(who_has_it),
		cmocka_unit_test(constructor),
		cmocka_unit_test(type_stable),
		cmocka_unit_test(alignment),
		cmocka_unit_test(one_slab_after_the_other),
		cmocka_unit_test(head_first),
		cmocka_unit_test(damaged_slab_is_retired),
		cmocka_unit_test(damaged_head_of_the_list),
		cmocka_unit_test(no_checks_without_f),
		cmocka_unit_test(wild_link_ends_the_program),
		cmocka_unit_test(hopeless),
		cmocka_unit_test(trace),
		cmocka_unit_test(nodes),
	};

	return cmocka_run_group_tests(tests, debug_group_setup, NULL);
}
