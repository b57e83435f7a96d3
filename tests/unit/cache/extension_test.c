/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/extension_test.c - each object and block has a word of each kind, and nobody else's
 */
#include "cache/extension.h"
#include "debug/pages/pages.h"
#include "unit/cache/cache_fixture.h"

#define NR 500

/* Strides of all kinds: no two objects of a slab share a word, and both kinds are apart. */
IN_CHILD(test_objects)
{
	static const unsigned int sizes[] = { 8, 24, 64, 72, 96, 200, 513, 3000 };
	void *p[NR];

	ready();
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct cache *c = make("c", sizes[i], 0, SLAB_NO_MERGE);

		for (uint32_t j = 0; j < NR; j++) {
			struct ext_place place;

			p[j] = get(c);
			CHILD_CHECK(!ext_find(PAGE_EXT_TAGS, c, p[j], false).word || j);
			place = ext_find(PAGE_EXT_GROUPS, c, p[j], true);
			CHILD_CHECK(place.word && place.cache == c);
			CHILD_CHECK(place.bytes == c->engine.size);
			CHILD_CHECK(ext_exchange(PAGE_EXT_GROUPS, &place, j + 1) == 0);
			place = ext_find(PAGE_EXT_TAGS, NULL, p[j], true);
			CHILD_CHECK(ext_exchange(PAGE_EXT_TAGS, &place, NR + j) == 0);
		}
		for (uint32_t j = 0; j < NR; j++) {
			struct page *slab = page_slab_of(p[j]);

			CHILD_CHECK(*page_ext_look(PAGE_EXT_GROUPS, slab, ext_index(slab, p[j])) ==
				    j + 1);
			CHILD_CHECK(*ext_find(PAGE_EXT_TAGS, c, p[j], false).word == NR + j);
			CHILD_CHECK(!ext_find(PAGE_EXT_TAGS, c, (char *)p[j] + 1, true).word);
		}
	}
}

IN_CHILD(test_blocks)
{
	static const size_t sizes[] = { 20000, 6 << 20 };

	ready();
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char *p = pages_alloc(sizes[i], sizes[i], 0, NUMA_NO_NODE, NULL, NULL);
		struct ext_place place = ext_find(PAGE_EXT_GROUPS, NULL, p, true);

		CHILD_CHECK(p && ext_has_word(&place) && place.bytes >= sizes[i]);
		CHILD_CHECK(ext_exchange(PAGE_EXT_GROUPS, &place, 5) == 0);
		CHILD_CHECK(ext_exchange(PAGE_EXT_TAGS, &place, 0) == (i ? 0 : 5));
		place = ext_find(PAGE_EXT_GROUPS, NULL, p, false);
		CHILD_CHECK(ext_exchange(PAGE_EXT_GROUPS, &place, 0) == (i ? 5 : 0));
		place = ext_find(PAGE_EXT_GROUPS, NULL, p + 8192, true);
		CHILD_CHECK(!ext_has_word(&place));
		CHILD_CHECK(pages_free(p, NULL));
	}
	CHILD_CHECK(!ext_find(PAGE_EXT_GROUPS, NULL, sizes, true).word);
}

IN_CHILD(test_left_out)
{
	struct ext_place place;
	struct cache *c;

	ready();
	c = make("c", 64, 0, SLAB_NO_OBJ_EXT);
	place = ext_find(PAGE_EXT_GROUPS, c, get(c), true);
	CHILD_CHECK(!ext_has_word(&place) && !place.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
