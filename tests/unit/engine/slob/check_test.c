/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slob/check_test.c - every harm to a heap's or a cache's books is found
 */
#include "fixture.h"

/* A heap with a cache's objects, blocks, and pages on two lists. */
struct patient {
	struct engine e;
	struct slob_heap *heap;
	void *objs[3];
	void *block;
	struct page *page;  /* first on the list of small blocks */
	struct page *other; /* behind it */
};

static void make_patient(struct patient *p)
{
	p->heap = &slob_heap;
	p->e = make_engine(&slob_ops, plain_params(40));
	take_block(p->heap, 255);
	p->other = page_of(take_block(p->heap, 255));
	while (slob_page_free_bytes(p->other) >= 255)
		take_block(p->heap, 255);
	p->block = slob_ops.heap->alloc(slob_ops.heap, 240, 8, 0, -1);
	p->page = page_of(p->block);
	take_block(p->heap, 2000);
	if (p->e.ops->refill(&p->e, p->objs, 3, 0, -1) != 3 || page_of(p->objs[2]) != p->page)
		abort();
}

static void pages_too_few(struct patient *p)
{
	p->heap->counters.pages = 1;
}

static void pages_too_many(struct patient *p)
{
	p->heap->counters.pages++;
}

static void bytes_wrong(struct patient *p)
{
	p->heap->counters.bytes += 2;
}

static void objects_too_few(struct patient *p)
{
	p->heap->counters.objects = 2;
}

static void more_blocks_than_objects(struct patient *p)
{
	p->heap->counters.blocks = p->heap->counters.objects + 1;
}

static void free_bytes_wrong(struct patient *p)
{
	p->page->counters -= 2;
	p->heap->counters.bytes += 2;
}

static void full_on_the_list(struct patient *p)
{
	p->heap->counters.bytes += slob_page_free_bytes(p->page);
	p->page->counters = 0;
	p->page->freelist = NULL;
}

static void empty_on_the_list(struct patient *p)
{
	p->heap->counters.bytes -= PAGE_SIZE - slob_page_free_bytes(p->page);
	slob_page_init(p->page);
}

static void list_of_the_other_page(struct patient *p)
{
	p->page->freelist = p->other->freelist;
	p->heap->counters.bytes += slob_page_free_bytes(p->page);
	p->heap->counters.bytes -= slob_page_free_bytes(p->other);
	p->page->counters = p->other->counters;
}

static void block_overwritten(struct patient *p)
{
	((int16_t *)p->page->freelist)[0] -= 1;
}

static void wrong_type(struct patient *p)
{
	p->page->type = PAGE_SLAB;
}

static void wrong_heap(struct patient *p)
{
	p->page->heap = slob_1991_ops.heap;
}

static void wrong_length(struct patient *p)
{
	p->page->nr_pages = 2;
}

static void with_a_class_byte(struct patient *p)
{
	page_set_class(p->page, 1, 5);
}

static void list_links_broken(struct patient *p)
{
	p->page->lru.prev = &p->page->lru;
}

static void on_an_unused_list(struct patient *p)
{
	p->heap->last_list = 1;
}

static void check_harmed_heap(void *arg)
{
	struct patient p;

	make_patient(&p);
	if (arg)
		((harm_fn *)arg)(&p);
	slob_heap_check(p.heap);
}

static void every_harm_to_a_heap_is_found(__attribute__((unused)) void **state)
{
	static harm_fn *const harms[] = {
		pages_too_few,
		pages_too_many,
		bytes_wrong,
		objects_too_few,
		more_blocks_than_objects,
		free_bytes_wrong,
		full_on_the_list,
		empty_on_the_list,
		list_of_the_other_page,
		block_overwritten,
		wrong_type,
		wrong_heap,
		wrong_length,
		with_a_class_byte,
		list_links_broken,
		on_an_unused_list,
	};

	assert_harms_are_found(check_harmed_heap, harms, ARRAY_SIZE(harms));
}

/* Each heap is checked by itself. */
static void check_own_heap(void *arg)
{
	const struct form *form = arg;

	take_block(form->heap, 100);
	form->ops->heap->check(form->ops->heap);
	form->heap->counters.bytes++;
	form->ops->heap->check(form->ops->heap);
}

static void both_heaps_are_checked(__attribute__((unused)) void **state)
{
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		struct child c = child_run(check_own_heap, (void *)&forms[f]);

		assert_true(child_aborted(&c));
		assert_non_null(strstr(c.text, "counters->bytes"));
	}
}

static void more_objects_than_the_heap(struct patient *p)
{
	p->e.heap_objects = p->heap->counters.objects - p->heap->counters.blocks + 1;
}

static void pages_of_its_own(struct patient *p)
{
	slob_of(&p->e)->nr_direct = 1;
}

static void in_the_heap_although_direct(struct patient *p)
{
	slob_of(&p->e)->direct = true;
}

static void another_layout(struct patient *p)
{
	static struct slab_layout layout;

	layout = *p->e.layout;
	p->e.layout = &layout;
}

static void another_size(struct patient *p)
{
	p->e.size = 8;
}

static void no_object_in_a_page(struct patient *p)
{
	slob_of(&p->e)->layout.objects = 0;
}

static void odd_alignment(struct patient *p)
{
	slob_of(&p->e)->shape.align = 24;
}

static void check_harmed_cache(void *arg)
{
	struct patient p;

	make_patient(&p);
	if (arg)
		((harm_fn *)arg)(&p);
	slob_check(&p.e);
}

static void every_harm_to_a_cache_is_found(__attribute__((unused)) void **state)
{
	static harm_fn *const harms[] = {
		more_objects_than_the_heap,
		pages_of_its_own,
		in_the_heap_although_direct,
		another_layout,
		another_size,
		no_object_in_a_page,
		odd_alignment,
	};

	assert_harms_are_found(check_harmed_cache, harms, ARRAY_SIZE(harms));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_harm_to_a_heap_is_found),
		cmocka_unit_test(both_heaps_are_checked),
		cmocka_unit_test(every_harm_to_a_cache_is_found),
	};

	return cmocka_run_group_tests(tests, slob_group_setup, NULL);
}
