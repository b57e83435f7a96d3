/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/groups_test.c - accounting groups of a made-up process, and lies about them
 */
#include <string.h>

#include "fake_snapshot.h"
#include "inspect/groups.h"

#define POINTER 0x66660000ul
#define TABLE 0x67000000ul
#define GROUP(i) (0x68000000ul + 0x1000ul * (i))

static struct groups *table(void)
{
	return fake_at(&f, TABLE);
}

static struct group *group(unsigned int i)
{
	return fake_at(&f, GROUP(i));
}

static void make_group(unsigned int i, const char *name, unsigned int parent)
{
	*group(i) = (struct group){ .id = i,
				    .serial = 100 + i,
				    .usage = 1000 * i,
				    .limit = UINT64_MAX,
				    .peak = 2000 * i,
				    .parent = parent ? (struct group *)GROUP(parent) : NULL };
	strcpy(group(i)->name, name);
	table()->slot[i] = (struct group *)GROUP(i);
}

/* Two groups, a free number, and two CPUs with stocks. */
static void two_groups(void)
{
	fake_map(&f, POINTER, 8);
	*(uint64_t *)fake_at(&f, POINTER) = TABLE;
	fake_map(&f, TABLE, sizeof(struct groups) + 4 * sizeof(struct group_stock));
	fake_map(&f, GROUP(0), GROUP(9) - GROUP(0));
	fake_root(&f)->groups = POINTER;
	table()->nr = 3;
	table()->nr_cpus = 4;
	make_group(1, "top", 0);
	make_group(2, "free", 0);
	make_group(3, "below", 1);
	group(2)->serial = 0;
	group(1)->limit = 5000;
	group(3)->dying = 1;
	group(3)->threads = 7;
	table()->stock[1].word = STOCK_WORD(3, 77);
	table()->stock[3].word = STOCK_WORD(1, 5);
}

static struct groups_group seen[10];
static unsigned int nr_seen;
static uint64_t ahead;

static void see(const struct groups_group *g, void *arg)
{
	assert_ptr_equal(arg, seen);
	if (nr_seen < 10)
		seen[nr_seen] = *g;
	nr_seen++;
}

static void see_stock(uint32_t id, uint64_t bytes, void *arg)
{
	assert_ptr_equal(arg, seen);
	ahead += id * 1000000 + bytes;
}

static long visit(void)
{
	nr_seen = 0;
	ahead = 0;
	fake_take();
	return groups_visit(s, see, seen);
}

static void test_none(void **state)
{
	(void)state;
	assert_int_equal(visit(), 0);
	assert_int_equal(groups_visit_ahead(s, see_stock, seen), 0);
	fake_map(&f, POINTER, 8);
	fake_root(&f)->groups = POINTER;
	assert_int_equal(visit(), 0);
}

static void test_numbers(void **state)
{
	(void)state;
	two_groups();
	assert_int_equal(visit(), 2);
	assert_int_equal(nr_seen, 2);
	assert_string_equal(seen[0].name, "top");
	assert_true(seen[0].id == 1 && seen[0].parent == 0 && seen[0].limit == 5000);
	assert_true(seen[0].usage == 1000 && seen[0].peak == 2000 && !seen[0].dying);
	assert_string_equal(seen[1].name, "below");
	assert_true(seen[1].id == 3 && seen[1].parent == 1 && seen[1].limit == UINT64_MAX);
	assert_true(seen[1].dying && seen[1].threads == 7);
	assert_int_equal(groups_visit_ahead(s, see_stock, seen), 2);
	assert_int_equal(ahead, 4000082);
}

static void test_lies(void **state)
{
	(void)state;
	two_groups();
	table()->nr = UINT32_MAX;
	table()->slot[4] = (struct group *)0x123;
	table()->slot[5] = (struct group *)GROUP(3);
	group(1)->parent = (struct group *)0x77;
	group(3)->parent = (struct group *)GROUP(1);
	group(1)->id = UINT32_MAX; /* who is below it has no parent then */
	memset(group(3)->name, '\033', sizeof(group(3)->name));
	assert_int_equal(visit(), 3);
	assert_int_equal(seen[0].parent, 0);
	assert_int_equal(seen[1].parent, 0);
	assert_int_equal(strlen(seen[1].name), USLAB_GROUP_NAME_MAX);
	assert_int_equal(seen[1].name[0], '?');
	table()->nr_cpus = UINT32_MAX;
	assert_int_equal(groups_visit_ahead(s, see_stock, seen), 2); /* as far as there is memory */
	*(uint64_t *)fake_at(&f, POINTER) = 0x123;
	assert_int_equal(visit(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(test_none),
		FAKE_TEST(test_numbers),
		FAKE_TEST(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
