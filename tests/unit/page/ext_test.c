/* SPDX-License-Identifier: MIT */
/*
 * unit/page/ext_test.c - words beside objects: made once, whoever comes first, and gone with the
 * pages
 */
#include "fixture.h"
#include "page/meta.h"

/*
 * What page/ext.c has between its look at a pointer and its exchange: another thread makes the same
 * there, which is the delay that matters.
 */
static void *delayed_alloc(size_t size);
#define meta_alloc delayed_alloc
#include "page/ext.c"
#undef meta_alloc

static void (*in_between)(void);

static void *delayed_alloc(size_t size)
{
	void *p = meta_alloc(size);
	void (*other)(void) = in_between;

	in_between = NULL;
	if (other)
		other();
	return p;
}

static struct page *head;
static uint32_t *theirs;
static unsigned int nr = 10;

static void other_thread(void)
{
	theirs = page_ext_word(PAGE_EXT_TAGS, head, nr, 3, true);
	*theirs = 77;
}

static struct page *block(unsigned int order)
{
	struct page *page = buddy_alloc(-1, order, false, NULL);

	CHILD_CHECK(page);
	page_set_block(page, PAGE_RUN, 1ul << order);
	return page;
}

static void start(void)
{
	CHILD_CHECK(arena_init(os_topology.nr_cpu_ids) == 0);
	buddy_init(os_topology.nr_nodes);
	head = block(0);
}

IN_CHILD(words_are_zero_and_stay)
{
	start();
	CHILD_CHECK(!page_ext_word(PAGE_EXT_TAGS, head, nr, 0, false));
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t *word = page_ext_word(PAGE_EXT_TAGS, head, nr, i, true);

		CHILD_CHECK(word && *word == 0);
		*word = i + 1;
	}
	for (uint32_t i = 0; i < nr; i++)
		CHILD_CHECK(*page_ext_word(PAGE_EXT_TAGS, head, nr, i, false) == i + 1);
	CHILD_CHECK(!page_ext_word(PAGE_EXT_TAGS, head, nr, nr, true));
	page_ext_check();
}

IN_CHILD(they_go_with_their_pages)
{
	struct page *other;
	unsigned long used;

	start();
	other = block(2);
	used = meta_counters.used;
	*page_ext_word(PAGE_EXT_TAGS, head, nr, 1, true) = 5;
	*page_ext_word(PAGE_EXT_TAGS, other, 100, 99, true) = 6;
	buddy_free(head, 0, true);
	CHILD_CHECK(!page_ext_word(PAGE_EXT_TAGS, head, nr, 1, false));
	CHILD_CHECK(*page_ext_word(PAGE_EXT_TAGS, other, 100, 99, false) == 6);
	buddy_free(other, 2, true);
	CHILD_CHECK(!page_ext_word(PAGE_EXT_TAGS, other, 100, 99, false));
	/* what finds them stays */
	CHILD_CHECK(meta_counters.used - used <=
		    2 * (DIRECTORY_BYTES + 2 * sizeof(struct page_ext_leaf)));
	page_ext_check();
}

/* Whoever comes second has the words of the first, on each level. */
static void meet_on_level(unsigned int level)
{
	static const struct page *other;
	uint32_t *mine;

	start();
	other = block(0);
	if (level > 0) /* a directory, and maybe a leaf, is there already */
		page_ext_word(PAGE_EXT_TAGS, level > 1 ? other : head, 1, 0, true);
	if (level == 1)
		page_ext_forget(head);
	in_between = other_thread;
	mine = page_ext_word(PAGE_EXT_TAGS, head, nr, 3, true);
	CHILD_CHECK(!in_between && mine && mine == theirs && *mine == 77);
	page_ext_check();
}

IN_CHILD(two_make_the_directory)
{
	meet_on_level(0);
}

IN_CHILD(two_make_a_vector)
{
	meet_on_level(1);
}

IN_CHILD(two_make_a_vector_in_a_leaf)
{
	meet_on_level(2);
}

IN_CHILD(without_memory_there_is_none)
{
	const struct rlimit none = { 0, 0 };

	start();
	NEEDS_BARE_PROCESS();
	child_limit(RLIMIT_AS, &none);
	CHILD_CHECK(!page_ext_word(PAGE_EXT_TAGS, head, nr, 0, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_zero_and_stay),
		cmocka_unit_test(they_go_with_their_pages),
		cmocka_unit_test(two_make_the_directory),
		cmocka_unit_test(two_make_a_vector),
		cmocka_unit_test(two_make_a_vector_in_a_leaf),
		cmocka_unit_test(without_memory_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
