/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slob/block_test.c - kmalloc on SLOB: headers, natural alignment, the spec's vectors
 */
#include "fixture.h"
#include "page/run.h"

static void *block_alloc(const struct form *form, size_t size)
{
	return form->ops->heap->alloc(form->ops->heap, size, 8, 0, -1);
}

static void block_free(const struct form *form, void *p)
{
	form->ops->heap->free(p);
}

/* Spec 1.8: an empty heap; addresses, the bytes of headers, and what stays free. */
static void placement(__attribute__((unused)) void **state)
{
	static const struct {
		size_t size;
		unsigned int offset;
	} cases[] = { { 8, 8 },	   { 16, 32 },	 { 24, 56 }, { 32, 96 },
		      { 64, 192 }, { 100, 264 }, { 8, 136 }, { 128, 384 } };
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		char *p[ARRAY_SIZE(cases)];
		struct page *page;
		size_t i;

		for (i = 0; i < ARRAY_SIZE(cases); i++) {
			p[i] = block_alloc(&forms[f], cases[i].size);
			page = page_of(p[i]);
			assert_ptr_equal(page, page_of(p[0]));
			assert_int_equal(offset_of(p[i]), cases[i].offset);
			assert_int_equal(*(uint32_t *)(p[i] - 8), cases[i].size);
			assert_int_equal(*(uint32_t *)(p[i] - 4), 0);
		}
		assert_string_equal(free_blocks(page), "(8,4)(40,4)(72,20)(182,6)(256,1792)");
		assert_int_equal(slob_page_free_bytes(page), 1826 * 2);
		assert_int_equal(forms[f].heap->counters.blocks, 8);
		slob_heap_check(forms[f].heap);
		for (i = 0; i < ARRAY_SIZE(cases); i++)
			block_free(&forms[f], p[i]);
		assert_heap_is_empty(forms[f].heap);
	}
}

/* Spec 14.8: what was asked for, in units. */
static void sizes(__attribute__((unused)) void **state)
{
	const struct engine_heap *heap = slob_ops.heap;
	size_t size;

	for (size = 1; size <= heap->max_size; size++) {
		unsigned char *p = heap->alloc(heap, size, 8, 0, -1);

		assert_int_equal(heap->size(p), (size + 1) / 2 * 2);
		assert_int_equal(heap->usable(size), heap->size(p));
		assert_int_equal(heap->owner(p), 0);
		memset(p, 0xee, heap->size(p));
		assert_int_equal(slob_heap.counters.bytes, (size + 8 + 1) / 2 * 2);
		assert_int_equal(heap->size(p), (size + 1) / 2 * 2);
		heap->free(p);
	}
	assert_int_equal(heap->max_size, 4087); /* less than a page with a header of 8 */
	assert_heap_is_empty(&slob_heap);
}

static void ksize_of_101(__attribute__((unused)) void **state)
{
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		void *p = block_alloc(&forms[f], 101);

		assert_int_equal(forms[f].ops->heap->size(p), 102);
		block_free(&forms[f], p);
	}
}

/* Spec 14.15: no page survives empty. */
static void alternating(__attribute__((unused)) void **state)
{
	unsigned long used = arena_pages_out();
	unsigned int i;
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++)
		for (i = 0; i < 1000; i++) {
			void *p = block_alloc(&forms[f], 200);

			assert_int_equal(arena_pages_out(), used + 1);
			block_free(&forms[f], p);
			assert_int_equal(arena_pages_out(), used);
		}
}

/* Spec 14.17: powers of two are aligned to themselves, everything to 8 or what was asked for. */
static void alignment(__attribute__((unused)) void **state)
{
	const struct engine_heap *heap = slob_1991_ops.heap;
	static void *p[4000];
	unsigned int n = 0;
	size_t align;
	size_t size;

	for (align = 8; align <= 2048; align *= 2)
		for (size = 1; size + align <= PAGE_SIZE && size < 4088; size += size / 4 + 1) {
			p[n] = heap->alloc(heap, size, align, 0, -1);
			assert_int_equal((uintptr_t)p[n] % align, 0);
			assert_int_equal(page_of(p[n])->type, PAGE_HEAP);
			if (is_pow2(size))
				assert_int_equal((uintptr_t)p[n] % size, 0);
			memset(p[n++], 1, size);
		}
	for (size = 1; size <= 2048; size *= 2) {
		p[n] = heap->alloc(heap, size, 8, 0, -1);
		assert_int_equal((uintptr_t)p[n++] % size, 0);
	}
	slob_heap_check(&slob_1991_heap);
	while (n)
		heap->free(p[--n]);
	assert_heap_is_empty(&slob_1991_heap);
}

/* A header and such an alignment do not go into one page together. */
static void too_aligned_for_a_page(__attribute__((unused)) void **state)
{
	static const struct {
		size_t size;
		size_t align;
		bool fits;
	} cases[] = { { 1, 4096, false },   { 2048, 2048, true },  { 2049, 2048, false },
		      { 4087, 8, true },    { 4081, 16, false },   { 4080, 16, true },
		      { 3072, 1024, true }, { 3073, 1024, false }, { 4000, 4096, false } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		void *p = slob_ops.heap->alloc(slob_ops.heap, cases[i].size, cases[i].align, 0, -1);

		assert_int_equal((uintptr_t)p % cases[i].align, 0);
		memset(p, 1, cases[i].size);
		if (cases[i].fits) {
			assert_int_equal(page_of(p)->type, PAGE_HEAP);
			slob_ops.heap->free(p);
		} else {
			assert_int_equal(page_of(p)->type, PAGE_RUN);
			assert_int_equal(slob_heap.counters.pages, 0);
			assert_true(run_free(p));
		}
	}
	assert_heap_is_empty(&slob_heap);
}

static void headers_name_size_and_owner(__attribute__((unused)) void **state)
{
	char *room = take_block(&slob_heap, 108);
	void *p = slob_block_open(room, 100, 7);

	assert_ptr_equal(p, room + 8);
	assert_int_equal(slob_block_size(p), 100);
	assert_int_equal(slob_block_owner(p), 7);
	assert_ptr_equal(slob_block_close(p, 100, 7), room);
	assert_null(slob_block_close(p, 100, 8));
	assert_null(slob_block_close(p, 99, 7));
	assert_null(slob_block_close(p, 100, 0));
	assert_int_equal(slob_block_shape(4, 2).align, 8); /* the header is aligned itself */
	assert_true(put_block(&slob_heap, room, 108));
}

/* Whatever a header says, nobody copies more than there is in the page. */
static void sizes_end_with_the_page(__attribute__((unused)) void **state)
{
	static const uint32_t sizes[] = { 0, 4000, 4090, 0x41414141, UINT32_MAX };
	void *p = block_alloc(&forms[1], 100);

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		((uint32_t *)p)[-2] = sizes[i];
		assert_true(slob_block_size(p) <= PAGE_SIZE - offset_of(p));
	}
	((uint32_t *)p)[-2] = 100;
	assert_int_equal(slob_block_owner((char *)p - offset_of(p)), 0); /* no room for a header */
	block_free(&forms[1], p);
}

/* ---- mistakes of a program ---- */

static void refused(void *p, enum engine_mistake what, void *obj)
{
	struct engine_heap_counters before = slob_heap.counters;

	block_free(&forms[1], p);
	assert_true(heard_once(what, obj, "slob"));
	assert_memory_equal(&before, &slob_heap.counters, sizeof(before));
	slob_heap_check(&slob_heap);
}

static void mistakes_are_refused(__attribute__((unused)) void **state)
{
	char *p[4];
	int here;

	for (int i = 0; i < 4; i++)
		p[i] = memset(block_alloc(&forms[1], 100), 0, 100);
	hear();
	refused(p[0] + 16, ENGINE_NO_HEADER, p[0] + 16);
	refused(p[0] - offset_of(p[0]), ENGINE_NO_HEADER, p[0] - offset_of(p[0]));
	slob_block_free(&here);
	assert_true(heard_once(ENGINE_NO_OBJECT, &here, "slob"));
	p[0][-4] = 9; /* of a cache */
	refused(p[0], ENGINE_NO_HEADER, p[0]);
	p[0][-4] = 0;
	memset(p[0] - 8, 0x41, 4); /* underflow */
	refused(p[0], ENGINE_NO_HEADER, p[0]);
	*(uint32_t *)(p[0] - 8) = 100;
	block_free(&forms[1], p[0]);
	refused(p[0], ENGINE_NO_HEADER, p[0]);
	block_free(&forms[1], p[1]); /* its header is inside of a larger free block now */
	refused(p[1], ENGINE_FREE_AGAIN, p[1] - 8);
	hear_no_more();
	block_free(&forms[1], p[2]);
	block_free(&forms[1], p[3]);
	assert_heap_is_empty(&slob_heap);
}

IN_CHILD(out_of_memory)
{
	void *p;

	limit_address_space(160ul << 20);
	slob_machine(2, 1);
	p = block_alloc(&forms[1], 100);
	use_up_pages(-1);
	while (block_alloc(&forms[1], 100))
		;
	CHILD_CHECK(!block_alloc(&forms[1], 4000));
	CHILD_CHECK(slob_heap.counters.blocks == slob_heap.counters.objects);
	slob_heap_check(&slob_heap);
	block_free(&forms[1], p);
	CHILD_CHECK(block_alloc(&forms[1], 100) == p);
}

int main(void)
{
	const struct CMUnitTest before_there_is_an_arena[] = {
		cmocka_unit_test(out_of_memory),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placement),
		cmocka_unit_test(sizes),
		cmocka_unit_test(ksize_of_101),
		cmocka_unit_test(alternating),
		cmocka_unit_test(alignment),
		cmocka_unit_test(too_aligned_for_a_page),
		cmocka_unit_test(headers_name_size_and_owner),
		cmocka_unit_test(sizes_end_with_the_page),
		cmocka_unit_test(mistakes_are_refused),
	};
	int failed = cmocka_run_group_tests(before_there_is_an_arena, NULL, NULL);

	return failed + cmocka_run_group_tests(tests, slob_group_setup, NULL);
}
