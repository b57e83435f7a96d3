/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slub/refill_test.c - where objects come from, in which order, and what it touches
 */
#include <sys/mman.h>

#include "fixture.h"

static void ascending_then_last_in_first_out(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	char *objs[64];
	char *again[3];
	unsigned int i;

	fill_slab(&e, (void **)objs);
	for (i = 0; i < 64; i++)
		assert_ptr_equal(objs[i], objs[0] + 64 * i);
	assert_int_equal(events[ALLOC_SLAB], 1);
	assert_int_equal(events[ALLOC_SLOWPATH], 64);
	assert_int_equal(events[ALLOC_FROM_PARTIAL], 63);
	assert_int_equal(nr_partial(&e), 0); /* a full slab is on no list */

	/* spec 12.6: freed 4, 1, 8 -> comes back as 8, 1, 4 */
	free_one(&e, objs[4]);
	free_one(&e, objs[1]);
	free_one(&e, objs[8]);
	assert_int_equal(slub_refill(&e, (void **)again, 3, 0, -1), 3);
	assert_ptr_equal(again[0], objs[8]);
	assert_ptr_equal(again[1], objs[1]);
	assert_ptr_equal(again[2], objs[4]);
	assert_int_equal(events[ALLOC_SLAB], 1);
	slub_flush(&e, (void **)objs, 64);
	END_ENGINE(&e);
}

/*
 * Partial slabs in list order, several for one request, then a new slab whose rest goes in front.
 */
static void partial_slabs_from_the_head_then_a_new_one(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *first[64];
	void *second[64];
	void *got[10];
	struct page *a = fill_slab(&e, first);
	struct page *b = fill_slab(&e, second);

	free_one(&e, first[3]);
	free_one(&e, first[5]);
	free_one(&e, second[7]);
	assert_ptr_equal(partial_at(&e, 0), a); /* added at the tail, one after the other */
	assert_ptr_equal(partial_at(&e, 1), b);
	events_reset();
	assert_int_equal(slub_refill(&e, got, 10, 0, -1), 10);
	assert_ptr_equal(got[0], first[5]);
	assert_ptr_equal(got[1], first[3]);
	assert_ptr_equal(got[2], second[7]);
	assert_int_equal(slab_of(got[3]) == a || slab_of(got[3]) == b, 0);
	assert_int_equal(events[ALLOC_FROM_PARTIAL], 2);
	assert_int_equal(events[ALLOC_SLAB], 1);
	assert_int_equal(events[ALLOC_SLOWPATH], 1);

	free_one(&e, first[0]); /* a is partial again, behind the new slab */
	assert_ptr_equal(partial_at(&e, 0), slab_of(got[3]));
	assert_ptr_equal(partial_at(&e, 1), a);
	first[0] = got[0];
	slub_flush(&e, got, 10);
	slub_check(&e);
	slub_flush(&e, first + 1, 2);
	slub_flush(&e, first + 4, 1);
	slub_flush(&e, first + 6, 58);
	slub_flush(&e, second, 7);
	slub_flush(&e, second + 8, 56);
	END_ENGINE(&e);
}

/* More slabs than lists are followed side by side; all in list order, each last in first out. */
static void many_partial_slabs_in_order(__attribute__((unused)) void **state)
{
	enum { SLABS = 20, HOLES = 3 };
	static void *objs[SLABS][64];
	struct engine e = make_plain(64);
	void *got[SLABS * HOLES];
	unsigned int n = 0;

	for (unsigned int i = 0; i < SLABS; i++)
		fill_slab(&e, objs[i]);
	for (unsigned int i = 0; i < SLABS; i++)
		for (unsigned int hole = 0; hole < HOLES; hole++)
			free_one(&e, objs[i][10 * hole]);
	events_reset();
	assert_int_equal(slub_refill(&e, got, SLABS * HOLES - 1, 0, -1), SLABS * HOLES - 1);
	assert_int_equal(events[ALLOC_FROM_PARTIAL], SLABS);
	assert_int_equal(events[ALLOC_SLAB], 0);
	for (unsigned int i = 0; i < SLABS; i++)
		for (unsigned int hole = HOLES; hole-- && n < SLABS * HOLES - 1; n++)
			assert_ptr_equal(got[n], objs[i][10 * hole]);
	assert_int_equal(nr_partial(&e), 1); /* the last one, with one object left */
	slub_check(&e);
	assert_int_equal(slub_refill(&e, got, 1, 0, -1), 1);
	assert_ptr_equal(got[0], objs[SLABS - 1][0]);
	for (unsigned int i = 0; i < SLABS; i++)
		slub_flush(&e, objs[i], 64);
	END_ENGINE(&e);
}

/* ---- spec 13.2, PARTIAL ---- */

/* From the head, until a slab has more than are wanted; each whole, in the order of its list. */
static void takes_whole_partial_slabs(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(64);
	void *objs[3][64];
	void *got[64];
	struct page *slab[3];

	for (unsigned int i = 0; i < 3; i++)
		slab[i] = fill_slab(&e, objs[i]);
	free_one(&e, objs[0][3]);
	free_one(&e, objs[0][5]);
	free_one(&e, objs[1][7]);
	slub_flush(&e, objs[2], 5);
	events_reset();
	assert_int_equal(slub_take_partial(&e, got, 1), 0); /* the head has two */
	assert_int_equal(nr_partial(&e), 3);
	assert_int_equal(slub_take_partial(&e, got, 7), 3);
	assert_ptr_equal(got[0], objs[0][5]);
	assert_ptr_equal(got[1], objs[0][3]);
	assert_ptr_equal(got[2], objs[1][7]);
	for (unsigned int i = 0; i < 2; i++) { /* full, and on no list */
		assert_int_equal(counters_of(slab[i]).inuse, 64);
		assert_null(slab[i]->freelist);
	}
	assert_int_equal(nr_partial(&e), 1);
	assert_ptr_equal(partial_at(&e, 0), slab[2]);
	assert_int_equal(counters_of(slab[2]).inuse, 59);
	assert_int_equal(events[ALLOC_FROM_PARTIAL], 2);
	assert_int_equal(events[ALLOC_SLAB], 0);
	slub_check(&e);

	assert_int_equal(slub_take_partial(&e, got, 5), 5); /* exactly what it has */
	assert_int_equal(nr_partial(&e), 0);
	assert_int_equal(slub_take_partial(&e, got, 64), 0); /* there are none, and none is made */
	for (unsigned int i = 0; i < 3; i++)
		slub_flush(&e, objs[i], 64);
	END_ENGINE(&e);
}

/* More slabs than lists are followed side by side; hardened lists are followed under the lock. */
static void takes_many_partial_slabs(bool hardened)
{
	enum { SLABS = 20, HOLES = 3 };
	static void *objs[SLABS][64];
	struct engine_params params = plain_params(64);
	void *got[SLABS * HOLES];
	struct engine e;
	unsigned int n = 0;

	params.hardened = hardened;
	e = make_engine(params);
	for (unsigned int i = 0; i < SLABS; i++)
		fill_slab(&e, objs[i]);
	for (unsigned int i = 0; i < SLABS; i++)
		for (unsigned int hole = 0; hole < HOLES; hole++)
			free_one(&e, objs[i][10 * hole]);
	/* one less than all: the last slab stays as it is */
	assert_int_equal(slub_take_partial(&e, got, SLABS * HOLES - 1), (SLABS - 1) * HOLES);
	for (unsigned int i = 0; i < SLABS - 1; i++)
		for (unsigned int hole = HOLES; hole--;)
			assert_ptr_equal(got[n++], objs[i][10 * hole]);
	assert_int_equal(nr_partial(&e), 1);
	assert_int_equal(counters_of(partial_at(&e, 0)).inuse, 64 - HOLES);
	for (unsigned int i = 0; i < SLABS - 1; i++)
		slub_flush(&e, objs[i], 64);
	for (unsigned int i = 0; i < 64; i++)
		if (i % 10 || i / 10 >= HOLES)
			free_one(&e, objs[SLABS - 1][i]);
	END_ENGINE(&e);
}

static void takes_many_partial_slabs_plain(__attribute__((unused)) void **state)
{
	takes_many_partial_slabs(false);
}

static void takes_many_partial_slabs_hardened(__attribute__((unused)) void **state)
{
	takes_many_partial_slabs(true);
}

/* Partial slabs only, those there for longest first: at the head, of pack caches at the tail. */
static void near_from_the_oldest(bool pack)
{
	static void *objs[3][64];
	struct engine e = pack ? make_pack(64) : make_plain(64);
	struct page *slab[3];
	void *got[64];

	for (unsigned int i = 0; i < 3; i++)
		slab[i] = fill_slab(&e, objs[i]);
	for (unsigned int i = 0; i < 3; i++) /* the slab that is partial first has most */
		slub_flush(&e, objs[i], 20 - 5 * i);
	assert_ptr_equal(partial_at(&e, pack ? 2 : 0), slab[0]);
	events_reset();
	assert_int_equal(slub_refill_near(&e, got, 16), 16);
	for (unsigned int i = 0; i < 16; i++)
		assert_ptr_equal(slab_of(got[i]), slab[0]);
	assert_int_equal(slub_refill_near(&e, got + 16, 16), 16); /* its last four, and others */
	for (unsigned int i = 0; i < 16; i++)
		assert_ptr_equal(slab_of(got[16 + i]), i < 4 ? slab[0] : slab[1]);
	assert_int_equal(slub_refill_near(&e, got + 32, 20), 13); /* all that there are */
	assert_int_equal(slub_refill_near(&e, got + 45, 1), 0);
	assert_int_equal(events[ALLOC_SLAB], 0);
	assert_int_equal(nr_partial(&e), 0);
	slub_check(&e);
	slub_flush(&e, got, 45);
	for (unsigned int i = 0; i < 3; i++)
		slub_flush(&e, objs[i] + 20 - 5 * i, 64 - 20 + 5 * i);
	END_ENGINE(&e);
}

static void near_from_the_oldest_plain(__attribute__((unused)) void **state)
{
	near_from_the_oldest(false);
}

static void near_from_the_oldest_pack(__attribute__((unused)) void **state)
{
	near_from_the_oldest(true);
}

/* What was never touched counts as free: all of it, behind what is linked. */
static void takes_what_was_never_touched(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(64);
	char *objs[60];
	char *got[10];

	assert_int_equal(slub_refill(&e, (void **)objs, 60, 0, -1), 60);
	free_one(&e, objs[2]);
	assert_int_equal(slub_take_partial(&e, (void **)got, 4), 0);
	assert_int_equal(slub_take_partial(&e, (void **)got, 10), 5);
	assert_ptr_equal(got[0], objs[2]);
	for (unsigned int i = 1; i < 5; i++)
		assert_ptr_equal(got[i], objs[0] + 64 * (59 + i));
	assert_int_equal(nr_partial(&e), 0);
	slub_check(&e);
	slub_flush(&e, (void **)objs, 60);
	slub_flush(&e, (void **)got + 1, 4);
	END_ENGINE(&e);
}

static void more_than_a_slab_at_once(__attribute__((unused)) void **state)
{
	struct engine e = make_plain(1024); /* 16 in a slab */
	void *objs[100];

	assert_int_equal(slub_refill(&e, objs, 100, 0, -1), 100);
	assert_int_equal(events[ALLOC_SLAB], 7);
	assert_int_equal(nr_partial(&e), 1);
	slub_check(&e);
	slub_flush(&e, objs, 100);
	END_ENGINE(&e);
}

/* Freed objects first, then those never touched, ascending. */
static void pack_links_before_it_formats(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(64);
	char *objs[10];
	char *got[6];
	struct page *slab;

	assert_int_equal(slub_refill(&e, (void **)objs, 10, 0, -1), 10);
	slab = slab_of(objs[0]);
	assert_ptr_equal(objs[9], objs[0] + 9 * 64);
	assert_int_equal(counters_of(slab).formatted, 10);
	assert_null(slab->freelist);
	slub_check(&e);

	free_one(&e, objs[2]);
	free_one(&e, objs[6]);
	assert_int_equal(slub_refill(&e, (void **)got, 6, 0, -1), 6);
	assert_ptr_equal(got[0], objs[6]);
	assert_ptr_equal(got[1], objs[2]);
	assert_ptr_equal(got[2], objs[0] + 10 * 64);
	assert_ptr_equal(got[5], objs[0] + 13 * 64);
	assert_int_equal(counters_of(slab).formatted, 14);
	assert_int_equal(counters_of(slab).inuse, 14);
	slub_check(&e);
	slub_flush(&e, (void **)got, 6);
	objs[2] = objs[9];
	objs[6] = objs[8];
	slub_flush(&e, (void **)objs, 8);
	END_ENGINE(&e);
}

/* With a front that queues: the link in the second word, and none in what was never handed out. */
static void queued_links_first_and_late(__attribute__((unused)) void **state)
{
	struct engine_params params = plain_params(64);
	void *objs[3];
	struct engine e;

	params.queued = true;
	e = make_engine(params);
	assert_int_equal(e.layout->offset, 8); /* behind the mark */
	assert_int_equal(slub_refill(&e, objs, 3, 0, -1), 3);
	assert_int_equal(counters_of(slab_of(objs[0])).formatted, 3);
	slub_flush(&e, objs, 3);
	END_ENGINE(&e);

	params.hardened = true; /* each free object has one */
	e = make_engine(params);
	assert_int_equal(e.layout->offset, 8);
	assert_int_equal(slub_refill(&e, objs, 3, 0, -1), 3);
	assert_int_equal(counters_of(slab_of(objs[0])).formatted, e.layout->objects);
	slub_flush(&e, objs, 3);
	END_ENGINE(&e);
}

static void pack_is_content_with_half(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(1024); /* 4 in a slab */
	void *objs[16];

	assert_int_equal(slub_refill(&e, objs, 3, 0, -1), 3);
	assert_int_equal(slub_refill(&e, objs + 3, 2, 0, -1), 1); /* half of 2 */
	assert_int_equal(events[ALLOC_SLAB], 1);
	assert_int_equal(slub_refill(&e, objs + 4, 1, 0, -1), 1);
	assert_int_equal(slub_refill(&e, objs + 5, 8, 0, -1), 7); /* 3 are not half of 8 */
	assert_int_equal(events[ALLOC_SLAB], 3);
	slub_flush(&e, objs, 12);
	END_ENGINE(&e);
}

/* A slab that lost an object is filled up before the one that was never used up. */
static void pack_fills_up_before_it_touches(__attribute__((unused)) void **state)
{
	struct engine e = make_pack(64);
	void *objs[64];
	void *more[2];

	fill_slab(&e, objs);
	assert_int_equal(slub_refill(&e, more, 1, 0, -1), 1); /* a second slab */
	free_one(&e, objs[50]);
	assert_int_equal(slub_refill(&e, more + 1, 1, 0, -1), 1);
	assert_ptr_equal(more[1], objs[50]);
	slub_flush(&e, objs, 64);
	slub_flush(&e, more, 1);
	END_ENGINE(&e);
}

static unsigned int resident_pages(struct page *slab)
{
	unsigned char vec[8];
	unsigned int count = 0;
	unsigned int i;

	CHILD_CHECK(mincore(page_address(slab), slab->nr_pages * PAGE_SIZE, vec) == 0);
	for (i = 0; i < slab->nr_pages; i++)
		count += vec[i] & 1;
	return count;
}

IN_CHILD(pack_touches_nothing_early)
{
	struct engine pack;
	struct engine plain;
	char *objs[4];

	slub_machine(2, 1);
	pack = make_pack(8192);
	CHILD_CHECK(slub_refill(&pack, (void **)objs, 4, 0, -1) == 4);
	CHILD_CHECK(slab_of(objs[0])->nr_pages == 8);
	CHILD_CHECK(resident_pages(slab_of(objs[0])) == 0);
	objs[0][0] = 1;
	CHILD_CHECK(resident_pages(slab_of(objs[0])) > 0); /* the measure measures */

	plain = make_plain(8192);
	CHILD_CHECK(slub_refill(&plain, (void **)objs, 1, 0, -1) == 1);
	CHILD_CHECK(resident_pages(slab_of(objs[0])) >= 4);
}

/* The link of the free object `objs[1]` is written to after it was freed. */
static void corrupt(void *arg)
{
	bool hardened = arg;
	struct engine_params params = plain_params(64);
	struct engine e;
	void *objs[2];

	slub_machine(2, 1);
	params.hardened = hardened;
	e = make_engine(params);
	CHILD_CHECK(slub_refill(&e, objs, 2, 0, -1) == 2);
	slub_flush(&e, objs, 2);
	if (hardened)
		*freeptr_slot(e.layout, objs[1]) = 0x4141414141414141;
	else /* a circle, as a double free makes it */
		freeptr_set(slub_of(&e), e.layout, objs[0], objs[1]);
	for (;;) {
		void *got[31];

		CHILD_CHECK(slub_refill(&e, got, 31, 0, -1) == 31);
		CHILD_CHECK(events[ALLOC_SLAB] == 1);
	}
}

/* Lists that are taken whole: one that ends early, and one that does not end. */
static void corrupt_whole(void *arg)
{
	bool circle = arg;
	struct engine e;
	void *objs[64];

	slub_machine(2, 1);
	e = make_plain(64);
	fill_slab(&e, objs);
	slub_flush(&e, objs, 3);
	freeptr_set(slub_of(&e), e.layout, objs[circle ? 0 : 1], circle ? objs[2] : NULL);
	slub_refill(&e, objs, 31, 0, -1);
}

/* One that ended early already when only its head was taken. */
static void corrupt_rest(__attribute__((unused)) void *arg)
{
	struct engine e;
	void *objs[64];

	slub_machine(2, 1);
	e = make_plain(64);
	fill_slab(&e, objs);
	slub_flush(&e, objs, 3);
	freeptr_set(slub_of(&e), e.layout, objs[2], NULL);
	CHILD_CHECK(slub_refill(&e, objs, 1, 0, -1) == 1);
	slub_refill(&e, objs, 31, 0, -1);
}

static void corrupt_lists_are_fatal(__attribute__((unused)) void **state)
{
	struct child c = child_run(corrupt, (void *)1);

	assert_true(child_aborted(&c));
	assert_non_null(strstr(c.text, "slub: corrupt free list at 0x"));
	assert_non_null(strstr(c.text, "in cache test"));
	c = child_run(corrupt, NULL);
	assert_true(child_aborted(&c));
	assert_non_null(strstr(c.text, "slub: corrupt free list at 0x"));
	for (unsigned long circle = 0; circle < 2; circle++) {
		c = child_run(corrupt_whole, (void *)circle);
		assert_true(child_aborted(&c));
		assert_non_null(strstr(c.text, "slub: corrupt free list at 0x"));
	}
	c = child_run(corrupt_rest, NULL);
	assert_true(child_aborted(&c));
	assert_non_null(strstr(c.text, "slub: corrupt free list at 0x"));
}

int main(void)
{
	const struct CMUnitTest before_there_is_an_arena[] = {
		cmocka_unit_test(pack_touches_nothing_early),
		cmocka_unit_test(corrupt_lists_are_fatal),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ascending_then_last_in_first_out),
		cmocka_unit_test(partial_slabs_from_the_head_then_a_new_one),
		cmocka_unit_test(many_partial_slabs_in_order),
		cmocka_unit_test(takes_whole_partial_slabs),
		cmocka_unit_test(takes_many_partial_slabs_plain),
		cmocka_unit_test(takes_many_partial_slabs_hardened),
		cmocka_unit_test(near_from_the_oldest_plain),
		cmocka_unit_test(near_from_the_oldest_pack),
		cmocka_unit_test(takes_what_was_never_touched),
		cmocka_unit_test(more_than_a_slab_at_once),
		cmocka_unit_test(queued_links_first_and_late),
		cmocka_unit_test(pack_links_before_it_formats),
		cmocka_unit_test(pack_is_content_with_half),
		cmocka_unit_test(pack_fills_up_before_it_touches),
	};
	int failed = cmocka_run_group_tests(before_there_is_an_arena, NULL, NULL);

	return failed + cmocka_run_group_tests(tests, slub_group_setup, NULL);
}
