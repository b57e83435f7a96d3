/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/lent_test.c - lent sheaves of a made-up process, and lies about them
 */
#include "cache/lent.h"
#include "fake_snapshot.h"

#define HEAD 0x66660000ul
#define SHEAF(i) (HEAD + 0x100ul * (i))

static struct slab_sheaf *at(unsigned int i)
{
	return fake_at(&f, SHEAF(i));
}

static void *link_of(unsigned int i)
{
	return (void *)(i ? SHEAF(i) + offsetof(struct slab_sheaf, list) : HEAD);
}

/* Two caches of 64 objects; three sheaves of 3, 4 and 5 objects, the second one of the second. */
static void lend(void)
{
	static const unsigned int of[] = { 0, 192, 193, 192 };
	struct list_head *head;

	for (unsigned int id = 192; id < 194; id++) {
		fake_cache(&f, id, "c", 64, 8);
		fake_slab(&f, id - 192, id, 64, 64, false);
	}
	fake_map(&f, HEAD, 0x1000);
	fake_root(&f)->lent = HEAD;
	head = fake_at(&f, HEAD);
	head->next = link_of(1);
	head->prev = link_of(3);
	for (unsigned int i = 1; i < 4; i++) {
		at(i)->list.prev = link_of(i - 1);
		at(i)->list.next = link_of((i + 1) % 4);
		at(i)->cache = (void *)fake_cache_addr(&f, of[i]);
		at(i)->count = i + 2;
		at(i)->capacity = 12;
	}
}

static unsigned long lent(unsigned int id)
{
	fake_take();
	return fake_result(s, id)->objects_lent;
}

static void test_counted(void **state)
{
	(void)state;
	lend();
	assert_int_equal(lent(192), 3 + 5);
	assert_int_equal(lent(193), 4);
	assert_int_equal(fake_result(s, 192)->objects_held, 8);
	assert_int_equal(fake_result(s, 192)->objects, 64 - 8);
	at(2)->cache = NULL; /* of a cache that is not there */
	assert_int_equal(lent(193), 0);
	assert_int_equal(s->totals.inconsistent, 0);
}

static void test_none(void **state)
{
	struct list_head *head;

	(void)state;
	lend();
	head = fake_at(&f, HEAD);
	head->next = head->prev = (void *)HEAD;
	assert_int_equal(lent(192), 0);
	fake_root(&f)->lent = 0;
	assert_int_equal(lent(192), 0);
	assert_int_equal(s->totals.inconsistent, 0);
}

/* All or none: a part would say that objects were live. */
static void test_lies(void **state)
{
	(void)state;
	lend();
	at(2)->list.prev = NULL; /* as one that was returned while it was read */
	assert_int_equal(lent(192), 0);
	assert_int_equal(s->totals.inconsistent, 1);
	at(2)->list.prev = link_of(1);
	at(3)->count = 13;
	assert_int_equal(lent(192), 0);
	at(3)->count = at(3)->capacity = INT32_MAX;
	assert_int_equal(lent(192), 64); /* never more than there are */
	at(3)->list.next = (void *)8;
	assert_int_equal(lent(192), 0);
}

static void test_loop(void **state)
{
	(void)state;
	lend();
	at(2)->list.next = link_of(2);
	at(2)->list.prev = link_of(2);
	at(1)->list.next = link_of(2);
	assert_int_equal(lent(193), 0);
	at(2)->list.prev = link_of(1);
	assert_int_equal(lent(193), 0);
	assert_true(f.reads < 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(test_counted),
		FAKE_TEST(test_none),
		FAKE_TEST(test_lies),
		FAKE_TEST(test_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
