/* SPDX-License-Identifier: MIT */
/*
 * unit/page/page_test.c - descriptors, and from addresses to them and back
 */
#include "fixture.h"

/* Before there is an arena no pointer lies in it. */
static void nothing_is_in_no_arena(__attribute__((unused)) void **state)
{
	char on_stack;
	void *addresses[] = { NULL,	   &on_stack,	  (void *)nothing_is_in_no_arena,
			      (void *)-1l, page_map.base, (char *)0x7ffffffff000 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(addresses); i++) {
		assert_true(page_index(addresses[i]) >= page_map.limit);
		assert_false(page_in_arena(addresses[i]));
		assert_null(page_head_of(addresses[i]));
		assert_null(page_slab_of(addresses[i]));
	}
}

IN_CHILD(addresses_and_descriptors_match)
{
	unsigned long i;

	fresh_arena();
	CHILD_CHECK(take(10) == 0);
	for (i = 0; i < CHUNK; i++) {
		char *p = page_address(page_at(i));

		CHILD_CHECK(p == page_map.base + i * PAGE_SIZE);
		CHILD_CHECK(page_index(p) == i && page_index(p + PAGE_SIZE - 1) == i);
		CHILD_CHECK(page_in_arena(p + 17));
	}
	CHILD_CHECK(!page_in_arena(page_map.base - 1));
	CHILD_CHECK(!page_in_arena(page_map.base + CHUNK * PAGE_SIZE));
	CHILD_CHECK(page_index(page_map.base - 1) >= page_map.limit);
}

IN_CHILD(a_block_is_found_from_any_of_its_bytes)
{
	struct page *page;
	char *p;

	fresh_arena();
	page = buddy_alloc(0, 3, true, NULL);
	p = page_address(page);
	CHILD_CHECK(!page_head_of(p) && !page_head_of(p + 5 * PAGE_SIZE));
	page_set_block(page, PAGE_SLAB, 8);
	CHILD_CHECK(page->order == 3 && page->nr_pages == 8);
	CHILD_CHECK(page_head_of(p) == page);
	CHILD_CHECK(page_head_of(p + 8 * PAGE_SIZE - 1) == page);
	CHILD_CHECK(page_slab_of(p) == page && page_slab_of(p + 8 * PAGE_SIZE - 1) == page);
	CHILD_CHECK(page_head_unchecked(p + 3 * PAGE_SIZE + 5) == page);
	CHILD_CHECK(!page_head_of(p + 8 * PAGE_SIZE));
	buddy_free(page, 3, true);
	CHILD_CHECK(!page_head_of(p) && !page_head_of(p + 5 * PAGE_SIZE));
	CHILD_CHECK(!page_slab_of(p) && !page_slab_of(p + 5 * PAGE_SIZE));
}

IN_CHILD(a_run_grows_and_its_order_is_rounded_up)
{
	struct page *page;

	fresh_arena();
	page = buddy_alloc(0, 3, true, NULL);
	page_set_run(page, 1);
	CHILD_CHECK(page->order == 0 && page[1].type == PAGE_NONE);
	page_set_run(page, 5);
	CHILD_CHECK(page->order == 3 && page->nr_pages == 5 && page->type == PAGE_RUN);
	CHILD_CHECK(!page_slab_of(page_address(page)) && !page_slab_of(page_address(&page[4])));
	CHILD_CHECK(page_head_of(page_address(&page[4])) == page);
	CHILD_CHECK(!page_head_of(page_address(&page[5])));
}

/* From each of its pages, and from none of those around it. */
IN_CHILD(a_run_is_found_from_any_of_its_pages)
{
	struct page *page;

	fresh_arena();
	page = buddy_alloc(0, BUDDY_MAX_ORDER, true, NULL);
	page_set_block(page, PAGE_SLAB, 1);
	page_set_run(page + 1, CHUNK - 3);
	CHILD_CHECK(page_head_of(page_address(page)) == page);
	for (unsigned long i = 1; i < CHUNK - 2; i++)
		CHILD_CHECK(page_head_of(page_address(&page[i])) == page + 1);
	CHILD_CHECK(!page_head_of(page_address(&page[CHUNK - 2])));
	CHILD_CHECK(!page_head_of(page_address(&page[CHUNK - 1])));
	page_set_run(page, CHUNK);
	page[1].type = PAGE_NONE;
	CHILD_CHECK(page_head_of(page_address(&page[CHUNK - 1])) == page);
	/* Not from the next chunk, however long it says that it is. */
	CHILD_CHECK(buddy_alloc(0, BUDDY_MAX_ORDER, true, NULL) == page + CHUNK);
	page->nr_pages = 2 * CHUNK;
	CHILD_CHECK(page_head_of(page_address(&page[CHUNK - 1])) == page);
	CHILD_CHECK(!page_head_of(page_address(&page[CHUNK])));
}

IN_CHILD(class_bytes_last_until_the_free)
{
	struct page *page;
	unsigned char *class;

	fresh_arena();
	page = buddy_alloc(0, 2, true, NULL);
	class = page_map.class + index_of(page);
	CHILD_CHECK((char *)page_map.class == page_map.base + USLAB_CLASSES_OFFSET);
	page_set_class(page, 4, 77);
	CHILD_CHECK(class[0] == 77 && class[3] == 77 && class[4] == 0);
	buddy_free(page, 2, false);
	CHILD_CHECK(all_bytes(class, 5, 0));
}

/* What the way predictor of AMD's Zen 1 to 4 takes two lines of one set for: see layout.h. */
static unsigned int way_hash(long address)
{
	unsigned long a = (unsigned long)address;

	/* 12 with 27, 13 with 26, 14 with 25, and 15 to 19 with 20 to 24 */
	return (a >> 12 & 0xff) ^
	       ((a >> 27 & 1) | (a >> 26 & 1) << 1 | (a >> 25 & 1) << 2 | (a >> 20 & 0x1f) << 3);
}

static void no_class_byte_evicts_an_object_of_the_first_pages(void **state)
{
	(void)state;
	for (long i = 0; i < 255; i++) {
		long class = USLAB_CLASSES_OFFSET + i;

		assert_int_not_equal(way_hash(class), way_hash(i * 4096));
	}
	/* the hash tells what it must: with a distance of 256 MiB they met */
	assert_int_equal(way_hash(-(256l << 20)), way_hash(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_class_byte_evicts_an_object_of_the_first_pages),
		cmocka_unit_test(nothing_is_in_no_arena),
		cmocka_unit_test(addresses_and_descriptors_match),
		cmocka_unit_test(a_block_is_found_from_any_of_its_bytes),
		cmocka_unit_test(a_run_grows_and_its_order_is_rounded_up),
		cmocka_unit_test(a_run_is_found_from_any_of_its_pages),
		cmocka_unit_test(class_bytes_last_until_the_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
