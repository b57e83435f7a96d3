/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/kfence/kfence_pool_test.c - the pool itself: where pages are, what fills them, the
 * filter
 */
#include "unit/debug/kfence_fixture.h"

#include <unistd.h>

/* A pool of more than one block of the arena: each address leads to its object, and only those. */
IN_CHILD(pools_may_be_large)
{
	enum { NR = 2 * KFENCE_PIECE_OBJECTS + 40 };

	start(NR);
	CHILD_CHECK(kfence_pool.nr_objects == NR);
	for (unsigned int i = 0; i < NR; i++) {
		struct kfence_object *o = &kfence_pool.object[i];
		char *page = kfence_object_page(o);

		CHILD_CHECK(kfence_in_pool(page) && kfence_in_pool(page + 2 * PAGE_SIZE - 1));
		CHILD_CHECK(kfence_in_pool(page - 1));
		CHILD_CHECK(kfence_object_at(kfence_page_index(page)) == o);
		CHILD_CHECK(kfence_page_at(kfence_page_index(page)) == page);
		CHILD_CHECK(!kfence_object_at(kfence_page_index(page - 1)));
		CHILD_CHECK(!kfence_object_at(kfence_page_index(page + PAGE_SIZE)));
	}
	CHILD_CHECK(
		!kfence_in_pool(kfence_object_page(&kfence_pool.object[NR - 1]) + 2 * PAGE_SIZE));
	/* some that have an object already, by their hashes, get no other one */
	for (unsigned long i = 0; kfence_counters.allocated < NR; i++)
		kfence_alloc(&engine, 64, 0, (void *)(0x10000 + 64 * i), 1);
	CHILD_CHECK(!kfence_alloc(&engine, 64, 0, HERE, 1) && kfence_counters.allocated == NR);
	for (unsigned int i = 0; i < NR; i++)
		kfence_free(kfence_pool.object[i].addr, HERE);
	CHILD_CHECK(kfence_counters.allocated == 0 && reports == 0);
	kfence_check();
	buddy_check();
}

IN_CHILD(objects_and_guards_take_turns)
{
	start(7);
	CHILD_CHECK(kfence_pool.nr_objects == 7);
	CHILD_CHECK(!kfence_object_at(0) && !kfence_object_at(1) && !kfence_object_at(3));
	for (unsigned int i = 0; i < 7; i++) {
		struct kfence_object *o = kfence_object_at(2 + 2 * i);

		CHILD_CHECK(o && kfence_number(o) == i);
		CHILD_CHECK(kfence_object_page(o) ==
			    kfence_pool.piece[0] + (2 + 2 * i) * PAGE_SIZE);
		CHILD_CHECK(!kfence_object_at(3 + 2 * i));
	}
	CHILD_CHECK(!kfence_object_at(16));
	CHILD_CHECK(kfence_in_pool(kfence_pool.piece[0]));
	CHILD_CHECK(kfence_in_pool(kfence_pool.piece[0] + 16 * PAGE_SIZE - 1));
	CHILD_CHECK(!kfence_in_pool(kfence_pool.piece[0] - 1));
	CHILD_CHECK(!kfence_in_pool(kfence_pool.piece[0] + 16 * PAGE_SIZE));
	kfence_check();
	buddy_check();
}

/* write(2) says whether memory can be read. */
static bool is_open(const char *page)
{
	static int fd[2] = { -1, -1 };
	char c;

	if (fd[0] < 0)
		CHILD_CHECK(pipe(fd) == 0);
	return write(fd[1], page, 1) == 1 && read(fd[0], &c, 1) == 1;
}

FAULTS(pages_are_closed_until_they_are_opened)
{
	char *page;

	start(4);
	for (unsigned int i = 0; i < 10; i++)
		CHILD_CHECK(!is_open(kfence_page_at(i)));
	page = kfence_page_at(4);
	CHILD_CHECK(kfence_open_locked(page) && is_open(page));
	page[0] = 'k';
	CHILD_CHECK(!is_open(page - PAGE_SIZE) && !is_open(page + PAGE_SIZE));
	kfence_close_locked(page);
	CHILD_CHECK(!is_open(page));
	CHILD_CHECK(kfence_open_locked(page) && page[0] == 'k');
}

/* Each is used once before any is used again, in an order that differs from pool to pool. */
static bool is_sorted(const struct list_head *list)
{
	const struct list_head *pos;
	unsigned int last = 0;

	list_for_each(pos, list) {
		unsigned int number = kfence_number(list_entry(pos, struct kfence_object, list));

		if (number < last)
			return false;
		last = number;
	}
	return true;
}

IN_CHILD(the_first_order_is_any)
{
	start(200);
	CHILD_CHECK(!is_sorted(&kfence_pool.free)); /* it is in one of 200! pools */
	kfence_check();
}

IN_CHILD(canaries_are_told_by_their_addresses)
{
	struct kfence_object *o;
	char *page;

	start(4);
	o = &kfence_pool.object[1];
	page = kfence_object_page(o);
	CHILD_CHECK(kfence_canary(page) == 0xaa && kfence_canary(page + 1) == 0xab);
	CHILD_CHECK(kfence_canary(page + 7) == 0xad && kfence_canary(page + 8) == 0xaa);
	CHILD_CHECK(kfence_open_locked(page));
	o->addr = page + 100;
	o->size = 50;
	kfence_fill_canary_locked(o);
	CHILD_CHECK(!kfence_bad_canary_locked(o, false) && !kfence_bad_canary_locked(o, true));
	memset(o->addr, 0, 50);
	CHILD_CHECK(!kfence_bad_canary_locked(o, false) && !kfence_bad_canary_locked(o, true));
	page[99] ^= 1;
	CHILD_CHECK(kfence_bad_canary_locked(o, false) == page + 99);
	page[0] ^= 1;
	CHILD_CHECK(kfence_bad_canary_locked(o, false) == page);
	page[4095] ^= 1;
	CHILD_CHECK(kfence_bad_canary_locked(o, true) == page + 4095);
	page[150] ^= 1;
	CHILD_CHECK(kfence_bad_canary_locked(o, true) == page + 150);
}

IN_CHILD(the_filter_counts)
{
	const uintptr_t a[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	const uintptr_t b[] = { 1, 2, 3, 4, 5, 6, 7, 8, 10 };
	unsigned int hash;

	start(100);
	CHILD_CHECK(kfence_pool.cover_order == 8); /* 4 * 2^ilog2(100) counters */
	/* the first eight frames make the difference */
	CHILD_CHECK(kfence_cover_hash(a, 9) == kfence_cover_hash(b, 9));
	CHILD_CHECK(kfence_cover_hash(a, 7) != kfence_cover_hash(a, 8));
	CHILD_CHECK(kfence_cover_hash(a, 8) != kfence_cover_hash(a + 1, 8));
	hash = kfence_cover_hash(a, 9);
	CHILD_CHECK(!kfence_covered_locked(hash));
	kfence_cover_locked(hash, 1);
	kfence_cover_locked(hash, 1);
	kfence_cover_locked(hash, -1);
	CHILD_CHECK(kfence_covered_locked(hash));
	kfence_cover_locked(hash, -1);
	CHILD_CHECK(!kfence_covered_locked(hash));
	for (unsigned int i = 0; i < 1000; i++) /* both counters of any hash exist */
		kfence_cover_locked((unsigned int)kfence_draw(), 1);
	CHILD_CHECK(kfence_cover_hash(NULL, 0) == kfence_cover_hash(a, 0));
}

IN_CHILD(the_check_finds_what_is_wrong)
{
	struct child c;
	char *p;

	start(4);
	p = take(8);
	page_map.class[page_index(p)] = 1;
	c = child_run((void (*)(void *))kfence_check, NULL);
	CHILD_CHECK(child_aborted(&c));
	page_map.class[page_index(p)] = 0;
	kfence_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_and_guards_take_turns),
		cmocka_unit_test(pools_may_be_large),
		cmocka_unit_test(pages_are_closed_until_they_are_opened),
		cmocka_unit_test(the_first_order_is_any),
		cmocka_unit_test(canaries_are_told_by_their_addresses),
		cmocka_unit_test(the_filter_counts),
		cmocka_unit_test(the_check_finds_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
