/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/kfence/kfence_test.c - which allocations are guarded, and what happens to
 * them until their cache goes
 */
#include "unit/debug/kfence_fixture.h"

#include "os/lock/fork.h"

IN_CHILD(an_object_has_exactly_its_bytes)
{
	bool seen[2] = { false, false };

	start(16);
	for (unsigned int i = 0; i < 200; i++) {
		char *p = kfence_alloc(&engine, 40, __GFP_ZERO, HERE, 1);
		unsigned long offset = (uintptr_t)p & (PAGE_SIZE - 1);

		CHILD_CHECK(p && (offset == 0 || offset == PAGE_SIZE - 40));
		seen[offset != 0] = true;
		CHILD_CHECK(kfence_is_object(page_head_of(p)) && kfence_size(p) == 40);
		CHILD_CHECK(page_head_of(p)->engine == &engine);
		CHILD_CHECK(page_map.class[page_index(p)] == 0);
		for (unsigned int b = 0; b < 40; b++)
			CHILD_CHECK(p[b] == 0);
		memset(p, 0xff, 40);
		kfence_check();
		kfence_free(p, HERE);
		CHILD_CHECK(kfence_is_object(page_head_of(p)));
		kfence_check();
	}
	CHILD_CHECK(seen[0] && seen[1] && reports == 0);
	CHILD_CHECK(kfence_counters.allocations == 200 && kfence_counters.frees == 200);
	CHILD_CHECK(kfence_counters.allocated == 0 && kfence_counters.enabled == 1);
}

/* At the right end it is the cache's alignment that says how far. */
IN_CHILD(an_object_is_aligned)
{
	static const unsigned int aligns[] = { 8, 16, 64, 256, 4096 };

	start(16);
	for (unsigned int i = 0; i < 100 * ARRAY_SIZE(aligns); i++) {
		char *p;

		engine.align = aligns[i % ARRAY_SIZE(aligns)];
		p = take(100);
		CHILD_CHECK(((uintptr_t)p & (engine.align - 1)) == 0);
		CHILD_CHECK(((uintptr_t)p & (PAGE_SIZE - 1)) + 100 <= PAGE_SIZE);
		kfence_free(p, HERE);
	}
	CHILD_CHECK(reports == 0);
}

/*
 * A read of a freed object by the library is reported before, with the caller to blame; then it
 * works.
 */
IN_CHILD(a_read_is_foreseen)
{
	char *p;

	start(16);
	p = take(40);
	memset(p, 'A', 40);
	CHILD_CHECK(!kfence_report_read(p, HERE) && reports == 0);
	kfence_free(p, HERE);
	CHILD_CHECK(!kfence_report_read(p + 8, HERE) && reports == 0);
	CHILD_CHECK(kfence_report_read(p, HERE) && reports == 1);
	CHILD_CHECK(said("use-after-free read in "));
	CHILD_CHECK(*(volatile char *)p == 'A' && reports == 1);
	kfence_check();
}

IN_CHILD(none_is_left)
{
	char *p[8];

	start(8);
	for (unsigned int i = 0; i < 8; i++)
		p[i] = kfence_alloc(&engine, 8, 0, (void *)(0x10000 + 8ul * i), 1);
	for (unsigned int i = 0; i < 8; i++)
		for (unsigned int j = 0; j < i; j++)
			CHILD_CHECK(p[i] && p[j] && number_of(p[i]) != number_of(p[j]));
	CHILD_CHECK(!kfence_alloc(&engine, 8, 0, (void *)0x20000, 1));
	CHILD_CHECK(kfence_counters.allocated == 8 && kfence_counters.skipped_capacity == 1);
	kfence_check();
	kfence_free(p[3], HERE);
	CHILD_CHECK(number_of(kfence_alloc(&engine, 8, 0, (void *)0x30000, 1)) == number_of(p[3]));
	CHILD_CHECK(reports == 0);
}

/* What was freed last comes last. */
IN_CHILD(the_oldest_free_one_is_next)
{
	unsigned int order[32];

	start(32);
	for (unsigned int i = 0; i < 3 * 32; i++) {
		char *p = take(16);

		if (i < 32)
			order[i] = number_of(p);
		CHILD_CHECK(number_of(p) == order[i % 32]);
		kfence_free(p, HERE);
	}
}

/* Above 75 % of the objects in use, a stack that has one gets no other. */
IN_CHILD(known_stacks_give_way)
{
	void *known = (void *)0x10000;
	void *other = (void *)0x22220;
	char *p;

	start(64);
	for (unsigned int i = 0; i < 48; i++)
		CHILD_CHECK(kfence_alloc(&engine, 8, 0, known, 1));
	CHILD_CHECK(p = kfence_alloc(&engine, 8, 0, known, 1)); /* 48 of 64 are not yet more */
	CHILD_CHECK(!kfence_alloc(&engine, 8, 0, known, 1));
	CHILD_CHECK(kfence_counters.skipped_covered == 1 && kfence_counters.skipped_capacity == 0);
	CHILD_CHECK(kfence_alloc(&engine, 8, 0, other, 1));
	CHILD_CHECK(!kfence_alloc(&engine, 8, 0, other, 1));
	kfence_free(p, HERE);
	kfence_check();
	CHILD_CHECK(kfence_counters.skipped_covered == 2);
}

static void *try(unsigned int size, gfp_t gfp, slab_flags_t flags)
{
	engine.flags = flags;
	return kfence_alloc(&engine, size, gfp, HERE, 1);
}

IN_CHILD(some_are_not_for_it)
{
	start(16);
	CHILD_CHECK(try(PAGE_SIZE, 0, 0) && !try(PAGE_SIZE + 1, 0, 0));
	CHILD_CHECK(kfence_counters.skipped_incompatible == 0);
	CHILD_CHECK(!try(8, 0, SLAB_SKIP_KFENCE));
	CHILD_CHECK(kfence_counters.skipped_incompatible == 0);
	CHILD_CHECK(!try(8, __GFP_DMA, 0) && !try(8, __GFP_DMA32, 0));
	CHILD_CHECK(!try(8, __GFP_HIGHMEM, 0) && !try(8, __GFP_MOVABLE, 0));
	CHILD_CHECK(!try(8, 0, SLAB_CACHE_DMA) && !try(8, 0, SLAB_CACHE_DMA32));
	CHILD_CHECK(!try(8, 0, SLAB_TYPESAFE_BY_RCU));
	CHILD_CHECK(kfence_counters.skipped_incompatible == 7);
	CHILD_CHECK(try(8, __GFP_THISNODE, 0)); /* the only one */
	os_topology.nr_nodes = 2;
	CHILD_CHECK(!try(8, __GFP_THISNODE, 0) && kfence_counters.skipped_incompatible == 8);
}

static unsigned int constructed;

static void construct(void *obj)
{
	memset(obj, 0x11, 64);
	constructed++;
}

/* A constructor writes the whole object, however little was asked for. */
IN_CHILD(objects_are_constructed)
{
	start(16);
	engine.ctor = construct;
	CHILD_CHECK(kfence_size(take(10)) == 64 && constructed == 1);
	CHILD_CHECK(kfence_size(kfence_alloc(&engine, 0, 0, HERE, 1)) == 64 && constructed == 2);
}

/* About one in N, by weight; none once it is off. */
IN_CHILD(the_gate_opens_now_and_then)
{
	unsigned long taken = 0;
	void *p;

	start(16);
	CHILD_CHECK(kfence_set_option("sample", "1000"));
	for (unsigned int i = 0; i < 100000; i++) {
		p = kfence_alloc(&engine, 8, 0, HERE, 20);
		taken += p != NULL;
		if (p)
			kfence_free(p, HERE);
	}
	/* 2000 of 2 million; the standard deviation is 26 */
	CHILD_CHECK(taken > 1700 && taken < 2300);
	CHILD_CHECK(kfence_set_option("sample", "0") && !kfence_is_wanted() && kfence_is_on());
	for (unsigned int i = 0; i < 10000; i++)
		CHILD_CHECK(!kfence_alloc(&engine, 8, 0, HERE, 1000));
	CHILD_CHECK(kfence_counters.enabled == 0);
}

static void too_many(void *arg)
{
	char text[32];

	(void)arg;
	os_cpu_init();
	CHILD_CHECK(arena_init(os_topology.nr_cpu_ids) == 0);
	snprintf(text, sizeof(text), "%u", kfence_most_objects());
	CHILD_CHECK(kfence_set_option("objects", text));
	snprintf(text, sizeof(text), "%u", kfence_most_objects() + 1);
	CHILD_CHECK(!kfence_set_option("objects", text));
}

/* The message of a refusal names the limit, which is the machine's. */
static void the_limit_is_named(void **state)
{
	struct child c = child_run(too_many, NULL);
	unsigned int most;

	(void)state;
	assert_true(child_passed(&c));
	assert_int_equal(sscanf(c.text, "uslab: kfence.objects: 1 to %u here (vm.max_map_count, ",
				&most),
			 1);
	assert_true(most > 511);
}

IN_CHILD(options_are_checked)
{
	CHILD_CHECK(!kfence_set_option("samples", "1") && !kfence_set_option("sample", "x"));
	CHILD_CHECK(!kfence_set_option("objects", "0") && kfence_set_option("objects", "512"));
	CHILD_CHECK(!kfence_set_option("objects", "") && !kfence_is_wanted());
	CHILD_CHECK(kfence_set_option("interval", "100") && kfence_interval() == 100);
	CHILD_CHECK(kfence_set_option("objects", "511") && kfence_set_option("sample", ""));
	CHILD_CHECK(kfence_is_wanted());
	start(511);
	CHILD_CHECK(!kfence_set_option("objects", "10"));
	CHILD_CHECK(kfence_start() == 0); /* again */
	kfence_check();
}

/* Bytes around the object, on both sides, are looked at when it is freed. */
IN_CHILD(corruption_is_found_at_free)
{
	char *p;
	char *end;

	start(16);
	engine.align = 64;
	p = take_at(40, true); /* 24 bytes follow, to the end of the page */
	end = p + 40;
	end[1] = 0x12;
	end[3] = 0x34;
	kfence_free(p, HERE);
	CHILD_CHECK(reports == 1 && kfence_counters.bugs == 1 && !strcmp(report_cache, "victims"));
	CHILD_CHECK(said("BUG: KFENCE: memory corruption in "));
	CHILD_CHECK(said("Corrupted memory at 0x%lx [ 0x12 . 0x34 . . . . . . . . . . . . . ] (in "
			 "kfence-#%u):\n",
			 (unsigned long)(end + 1), number_of(p)));
	CHILD_CHECK(said("kfence-#%u: 0x%lx-0x%lx, size=40, cache=victims\n\nallocated by task ",
			 number_of(p), (unsigned long)p, (unsigned long)(end - 1)));
	CHILD_CHECK(said("\n\nfreed by task "));
	p = take_at(40, true);
	p[-1] ^= 1;
	p[PAGE_SIZE - 4032 - 1] = 0; /* the page's last byte */
	kfence_free(p, HERE);
	/* one for each side; the hook is called once with both */
	CHILD_CHECK(kfence_counters.bugs == 3);
	CHILD_CHECK(said("Corrupted memory at 0x%lx [ 0x%02x ] (in", (unsigned long)(p - 1),
			 0xaa ^ 7 ^ 1));
	CHILD_CHECK(said("Corrupted memory at 0x%lx [ 0x00 ] (in", (unsigned long)(p + 63)));
	kfence_check();
}

IN_CHILD(frees_of_something_else_are_refused)
{
	char *p;

	start(16);
	p = take(64);
	kfence_free(p + 8, HERE);
	CHILD_CHECK(reports == 1 && said("BUG: KFENCE: invalid free in "));
	CHILD_CHECK(said("Invalid free of 0x%lx (in kfence-#%u):\n", (unsigned long)(p + 8),
			 number_of(p)));
	CHILD_CHECK(!said("freed by task") && kfence_counters.allocated == 1);
	memset(p, 1, 64); /* still there */
	kfence_free(p, HERE);
	CHILD_CHECK(reports == 1);
	kfence_free(p, HERE);
	CHILD_CHECK(reports == 2 && said("Invalid free of 0x%lx (in kfence-#%u):\n",
					 (unsigned long)p, number_of(p)));
	CHILD_CHECK(said("\n\nfreed by task ") && kfence_counters.frees == 1);
	kfence_check();
}

/* A cache that goes away takes its objects along. */
IN_CHILD(zombies_are_not_used_again)
{
	struct engine other = engine;
	char *p;
	char *q;

	start(4);
	other.name = "others";
	p = take(8);
	kfence_free(take(8), HERE);
	q = kfence_alloc(&other, 8, 0, HERE, 1);
	kfence_cache_gone(&engine);
	CHILD_CHECK(kfence_counters.zombies == 1 && kfence_counters.allocated == 1);
	CHILD_CHECK(!page_head_of(p) && kfence_is_object(page_head_of(q)));
	kfence_check();
	kfence_free(p, HERE);
	CHILD_CHECK(reports == 1 &&
		    said("Invalid free of 0x%lx (in kfence-#%u):", (unsigned long)p, number_of(p)));
	CHILD_CHECK(said("size=8, cache=<destroyed>\n"));
	for (unsigned int i = 0; i < 20; i++) {
		char *again = kfence_alloc(&other, 8, 0, HERE, 1);

		CHILD_CHECK(again && number_of(again) != number_of(p));
		kfence_free(again, HERE);
	}
	kfence_cache_gone(&other);
	kfence_check();
	CHILD_CHECK(kfence_counters.zombies == 2 && reports == 1);
}

static void prepare(void)
{
	kfence_each_lock(lock_fork_prepare);
}

static void in_parent(void)
{
	kfence_each_lock(lock_fork_parent);
}

static void in_child(void)
{
	kfence_each_lock(lock_fork_child);
}

static void in_forked_child(void *arg)
{
	kfence_free(arg, HERE);
	kfence_free(take(8), HERE);
	kfence_check();
	CHILD_CHECK(reports == 0);
}

IN_CHILD(fork_leaves_it_usable)
{
	struct child c;
	char *p;

	start(16);
	os_at_fork(prepare, in_parent, in_child);
	p = take(8);
	c = child_run(in_forked_child, p);
	CHILD_CHECK(child_passed(&c));
	kfence_free(p, HERE);
	kfence_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_has_exactly_its_bytes),
		cmocka_unit_test(an_object_is_aligned),
		cmocka_unit_test(a_read_is_foreseen),
		cmocka_unit_test(none_is_left),
		cmocka_unit_test(the_oldest_free_one_is_next),
		cmocka_unit_test(known_stacks_give_way),
		cmocka_unit_test(some_are_not_for_it),
		cmocka_unit_test(objects_are_constructed),
		cmocka_unit_test(the_gate_opens_now_and_then),
		cmocka_unit_test(options_are_checked),
		cmocka_unit_test(the_limit_is_named),
		cmocka_unit_test(corruption_is_found_at_free),
		cmocka_unit_test(frees_of_something_else_are_refused),
		cmocka_unit_test(zombies_are_not_used_again),
		cmocka_unit_test(fork_leaves_it_usable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
