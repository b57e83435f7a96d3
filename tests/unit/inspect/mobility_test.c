/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/mobility_test.c - caches of a made-up process whose objects move, and lies
 */
#include "cache/mobility/mobility.h"
#include "fake_snapshot.h"

#define HEAD 0x66660000ul
#define ENTRY(i) (HEAD + 0x400ul * (i))

static struct mobility *at(unsigned int i)
{
	return fake_at(&f, ENTRY(i));
}

static void *link_of(unsigned int i)
{
	return (void *)(i ? ENTRY(i) + offsetof(struct mobility, list) : HEAD);
}

/* Three caches, two of which have entries. */
static void set_up(void)
{
	struct list_head *head;

	for (unsigned int id = 192; id < 195; id++) {
		fake_cache(&f, id, "c", 64, 8);
		fake_slab(&f, id - 192, id, 64, 64, false);
	}
	fake_map(&f, HEAD, 0x1000);
	fake_root(&f)->moves = HEAD;
	head = fake_at(&f, HEAD);
	head->next = link_of(1);
	head->prev = link_of(2);
	for (unsigned int i = 1; i < 3; i++) {
		memset(at(i), 0, sizeof(*at(i)));
		at(i)->list.prev = link_of(i - 1);
		at(i)->list.next = link_of((i + 1) % 3);
		at(i)->cache = (void *)fake_cache_addr(&f, 191 + i);
		at(i)->functions.move = (uslab_move_func)(uintptr_t)77;
		at(i)->ratio = 40 + i;
		at(i)->counters = (struct mobility_counters){ i, 4096 * i, 10 * i, 100 * i };
	}
}

static const struct snapshot_cache *seen(unsigned int id)
{
	fake_take();
	return fake_result(s, id);
}

static void test_seen(void **state)
{
	(void)state;
	set_up();
	assert_true(seen(192)->movable && seen(193)->movable && !seen(194)->movable);
	assert_int_equal(seen(193)->defrag_used_ratio, 42);
	assert_int_equal(seen(193)->defrag_slabs, 2);
	assert_int_equal(seen(193)->defrag_bytes, 8192);
	assert_int_equal(seen(193)->defrag_moved, 20);
	assert_int_equal(seen(193)->defrag_refused, 200);
	at(2)->functions.move = NULL;
	at(2)->ratio = 4711;
	assert_false(seen(193)->movable);
	assert_int_equal(seen(193)->defrag_used_ratio, 100);
}

/* A list that runs in a circle, back, or nowhere ends the walk, and nothing else. */
static void test_lies(void **state)
{
	(void)state;
	set_up();
	at(1)->list.next = link_of(1);
	assert_true(seen(192)->movable && !seen(193)->movable);
	at(1)->list.next = (void *)0x10;
	assert_true(seen(192)->movable && !seen(193)->movable);
	at(1)->list.next = link_of(2);
	at(2)->list.prev = link_of(2);
	assert_true(seen(192)->movable && !seen(193)->movable);
	at(2)->list.prev = link_of(1);
	at(2)->cache = NULL;
	assert_true(seen(192)->movable && !seen(193)->movable);
	fake_root(&f)->moves = 0;
	assert_false(seen(192)->movable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(test_seen),
		FAKE_TEST(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
