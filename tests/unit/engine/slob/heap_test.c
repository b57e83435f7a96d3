/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slob/heap_test.c - lists of pages: classes, rotation, nodes, new and empty pages
 */
#include "fixture.h"
#include "os/memory/policy.h"

/* Pages of the large list with 1996, 1896, ... bytes left: the first is 'A', the last in front. */
struct pages {
	struct slob_heap *heap;
	struct list_head *list;
	unsigned int n;
	void *block[8];
	struct page *page[8];
};

static unsigned int block_size(unsigned int i)
{
	return 2100 + i * 100;
}

static void make_pages(struct pages *p, struct slob_heap *heap, unsigned int n)
{
	unsigned int i;

	p->heap = heap;
	p->list = &heap->list[heap->last_list];
	p->n = n;
	for (i = 0; i < n; i++) {
		p->block[i] = take_block(heap, block_size(i));
		p->page[i] = page_of(p->block[i]);
	}
}

static void end_pages(struct pages *p)
{
	unsigned int i;

	for (i = 0; i < p->n; i++)
		put_block(p->heap, p->block[i], block_size(i));
	assert_heap_is_empty(p->heap);
}

#define ASSERT_ORDER(p, order) assert_string_equal(list_order((p)->list, (p)->page, (p)->n), order)

static void a_new_page_goes_in_front(__attribute__((unused)) void **state)
{
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		struct pages p;

		make_pages(&p, forms[f].heap, 4);
		ASSERT_ORDER(&p, "DCBA");
		assert_int_equal(p.page[0]->type, PAGE_HEAP);
		assert_ptr_equal(p.page[0]->heap, forms[f].ops->heap);
		assert_int_equal(offset_of(p.block[3]), 0);
		assert_int_equal(forms[f].heap->counters.pages, 4);
		assert_int_equal(forms[f].heap->counters.objects, 4);
		assert_int_equal(forms[f].heap->counters.bytes, 2100 + 2200 + 2300 + 2400);
		slob_heap_check(forms[f].heap);
		end_pages(&p);
	}
}

/* The list is turned, not the page moved: what was behind it stays behind it (spec 1.4 point 3). */
static void success_rotates_the_list(__attribute__((unused)) void **state)
{
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		struct slob_heap *heap = forms[f].heap;
		struct pages p;
		void *more[3];

		make_pages(&p, heap, 4);
		more[0] = take_block(heap, 1850); /* D 1696, C 1796 are too small */
		assert_ptr_equal(page_of(more[0]), p.page[1]);
		ASSERT_ORDER(&p, "BADC");
		more[1] = take_block(heap, 1750); /* B has 46 left; A */
		assert_ptr_equal(page_of(more[1]), p.page[0]);
		ASSERT_ORDER(&p, "ADCB");
		more[2] = take_block(heap, 1680); /* D: next fit goes on behind A */
		assert_ptr_equal(page_of(more[2]), p.page[3]);
		ASSERT_ORDER(&p, "DCBA");
		slob_heap_check(heap);
		put_block(heap, more[0], 1850); /* no free changes the order */
		put_block(heap, more[1], 1750);
		put_block(heap, more[2], 1680);
		ASSERT_ORDER(&p, "DCBA");
		end_pages(&p);
	}
}

static void the_first_page_stays_first(__attribute__((unused)) void **state)
{
	struct pages p;
	void *more;

	make_pages(&p, &slob_heap, 3);
	more = take_block(&slob_heap, 1500);
	assert_ptr_equal(page_of(more), p.page[2]);
	ASSERT_ORDER(&p, "CBA");
	put_block(&slob_heap, more, 1500);
	end_pages(&p);
}

static void a_full_page_leaves_without_rotation(__attribute__((unused)) void **state)
{
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		struct slob_heap *heap = forms[f].heap;
		struct pages p;
		void *more;

		make_pages(&p, heap, 4);
		more = take_block(heap, 1895); /* all of B, in units */
		assert_ptr_equal(page_of(more), p.page[1]);
		assert_int_equal(slob_page_free_bytes(p.page[1]), 0);
		ASSERT_ORDER(&p, "DCA");
		slob_heap_check(heap);
		put_block(heap, more, 1895); /* and comes back in front */
		ASSERT_ORDER(&p, "BDCA");
		end_pages(&p);
	}
}

/* Room enough in sum, but in no piece: the next page is tried. */
static void fragments_are_passed_over(__attribute__((unused)) void **state)
{
	struct slob_heap *heap = &slob_1991_heap;
	void *block[8];
	void *large;
	unsigned int i;

	for (i = 0; i < 8; i++)
		block[i] = take_block(heap, 512);
	for (i = 0; i < 8; i += 2)
		put_block(heap, block[i], 512);
	assert_int_equal(heap->counters.pages, 1);
	large = take_block(heap, 600);
	assert_int_equal(heap->counters.pages, 2);
	assert_ptr_not_equal(page_of(large), page_of(block[1]));
	put_block(heap, large, 600);
	for (i = 1; i < 8; i += 2)
		put_block(heap, block[i], 512);
	assert_heap_is_empty(heap);
}

/* Below 256, below 1024, the rest; of each a page. The old form knows one list. */
static void classes_by_size(__attribute__((unused)) void **state)
{
	static const struct {
		unsigned int size;
		unsigned int class;
	} cases[] = { { 1, 0 }, { 255, 0 }, { 256, 1 }, { 1023, 1 }, { 1024, 2 }, { 4000, 2 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		void *block = take_block(&slob_heap, cases[i].size);
		unsigned int l;

		for (l = 0; l < SLOB_LISTS; l++)
			assert_int_equal(list_empty(&slob_heap.list[l]), l != cases[i].class);
		put_block(&slob_heap, block, cases[i].size);
		assert_heap_is_empty(&slob_heap);

		block = take_block(&slob_1991_heap, cases[i].size);
		assert_false(list_empty(&slob_1991_heap.list[0]));
		put_block(&slob_1991_heap, block, cases[i].size);
		assert_heap_is_empty(&slob_1991_heap);
	}
}

static void classes_do_not_share_pages(__attribute__((unused)) void **state)
{
	void *small = take_block(&slob_heap, 100);
	void *medium = take_block(&slob_heap, 300);
	void *large = take_block(&slob_heap, 1100);

	assert_int_equal(slob_heap.counters.pages, 3);
	assert_ptr_equal(page_of(take_block(&slob_heap, 10)), page_of(small));
	put_block(&slob_heap, (char *)small + 100, 10);
	put_block(&slob_heap, small, 100);
	put_block(&slob_heap, medium, 300);
	put_block(&slob_heap, large, 1100);
	assert_heap_is_empty(&slob_heap);
	small = take_block(&slob_1991_heap, 100);
	assert_ptr_equal(page_of(take_block(&slob_1991_heap, 1100)), page_of(small));
	put_block(&slob_1991_heap, (char *)small + 100, 1100);
	put_block(&slob_1991_heap, small, 100);
	assert_heap_is_empty(&slob_1991_heap);
}

/* A full page comes back on the list that the freed block's size names (spec 1.5, 15.10). */
static void the_class_follows_what_is_freed(__attribute__((unused)) void **state)
{
	static const unsigned int sizes[] = { 100, 300, 2000 };
	unsigned int class;

	for (class = 0; class < SLOB_LISTS; class ++) {
		unsigned int size = sizes[class];
		char *block = take_block(&slob_heap, 4096);
		struct page *page = page_of(block);
		unsigned int l;

		for (l = 0; l < SLOB_LISTS; l++)
			assert_true(list_empty(&slob_heap.list[l]));
		slob_heap.counters.objects++; /* the block goes back in two parts */
		put_block(&slob_heap, block + 1000, size);
		for (l = 0; l < SLOB_LISTS; l++)
			assert_int_equal(list_empty(&slob_heap.list[l]), l != class);
		/* What follows does not move it to another list. */
		slob_heap.counters.objects++;
		put_block(&slob_heap, block + 1000 + size, 4096 - 1000 - size);
		assert_ptr_equal(list_first(&slob_heap.list[class], struct page, lru), page);
		slob_heap_check(&slob_heap);
		put_block(&slob_heap, block, 1000);
		assert_heap_is_empty(&slob_heap);
	}
}

/* The page is first on its new list. */
static void a_full_page_comes_back_in_front(__attribute__((unused)) void **state)
{
	void *full = take_block(&slob_heap, 4096);
	void *other = take_block(&slob_heap, 1100);

	slob_heap.counters.objects++;
	put_block(&slob_heap, full, 2000);
	assert_ptr_equal(list_first(&slob_heap.list[2], struct page, lru), page_of(full));
	assert_ptr_equal(list_last(&slob_heap.list[2], struct page, lru), page_of(other));
	put_block(&slob_heap, (char *)full + 2000, 2096);
	put_block(&slob_heap, other, 1100);
	assert_heap_is_empty(&slob_heap);
}

static void no_empty_page_stays(__attribute__((unused)) void **state)
{
	unsigned long used = arena_pages_out();
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		struct slob_heap *heap = forms[f].heap;
		void *a = take_block(heap, 300);
		void *b = take_block(heap, 300);
		struct page *page = page_of(a);

		assert_int_equal(arena_pages_out(), used + 1);
		put_block(heap, a, 300);
		assert_int_equal(arena_pages_out(), used + 1);
		put_block(heap, b, 300);
		assert_int_equal(arena_pages_out(), used);
		assert_int_not_equal(page->type, PAGE_HEAP);
		a = take_block(heap, 4096); /* full, then empty at once: it was on no list */
		put_block(heap, a, 4096);
		assert_int_equal(arena_pages_out(), used);
		assert_heap_is_empty(heap);
	}
}

/* The descriptor's fields of a slab are cleared; the page floor learns which pages are dirty. */
IN_CHILD(pages_come_and_go)
{
	static const struct slab_layout layout;
	struct buddy_stats stats;
	struct page *page;
	void *block;

	slob_machine(2, 1);
	page = buddy_alloc(-1, 0, false, NULL);
	page->layout = &layout;
	buddy_free(page, 0, false);
	block = take_block(&slob_heap, 100);
	CHILD_CHECK(page_of(block) == page && !page->layout);
	buddy_stats(0, &stats);
	CHILD_CHECK(stats.nr_dirty == 0);
	put_block(&slob_heap, block, 100);
	buddy_stats(0, &stats);
	CHILD_CHECK(stats.nr_dirty == 1);
}

/* ---- nodes ---- */

static void *take_on(unsigned int size, gfp_t gfp, int node)
{
	struct slob_shape shape = plain_shape(size);
	void *block;

	lock_acquire(&slob_heap.lock);
	block = slob_take_locked(&slob_heap, &shape, gfp, node);
	lock_release(&slob_heap.lock);
	return block;
}

IN_CHILD(nodes)
{
	struct page *pages[2];
	void *a;
	void *b;

	slob_machine(4, 2);
	os_act_as_cpu(0);
	a = take_on(100, 0, -1);
	pages[0] = page_of(a);
	CHILD_CHECK(pages[0]->node == 0);
	b = take_on(100, 0, 1); /* there is room, but not there */
	pages[1] = page_of(b);
	CHILD_CHECK(pages[1]->node == 1);
	CHILD_CHECK(!strcmp(list_order(&slob_heap.list[0], pages, 2), "BA"));
	CHILD_CHECK(page_of(take_on(100, 0, 0)) == pages[0]);
	CHILD_CHECK(!strcmp(list_order(&slob_heap.list[0], pages, 2), "AB"));
	CHILD_CHECK(page_of(take_on(100, 0, 1)) == pages[1]);
	/* any: the first page, whosever it is; and a node that is none is any */
	CHILD_CHECK(page_of(take_on(100, 0, -1)) == pages[1]);
	CHILD_CHECK(page_of(take_on(100, 0, 2)) == pages[1]);
	CHILD_CHECK(page_of(take_on(100, 0, 63)) == pages[1]);
	slob_heap_check(&slob_heap);
	os_act_as_cpu(3); /* new pages come from where the caller is */
	CHILD_CHECK(page_of(take_on(4000, 0, -1))->node == 1);
}

/* A policy decides about new pages; what there is serves everybody (spec 0.4). */
IN_CHILD(policies)
{
	unsigned long nodes = 2;
	void *first;

	slob_machine(4, 2);
	os_act_as_cpu(0);
	first = take_on(100, 0, -1);
	CHILD_CHECK(page_of(first)->node == 0);
	CHILD_CHECK(os_policy_set(OS_POLICY_BIND, &nodes, 64) == 0);
	CHILD_CHECK(page_of(take_on(100, 0, -1)) == page_of(first));
	CHILD_CHECK(page_of(take_on(4000, 0, -1))->node == 1);
	CHILD_CHECK(page_of(take_on(4000, 0, 0))->node == 0);
}

/* Node 0 has no page left, node 1 has: it was given one before the rest went to node 0. */
IN_CHILD(a_full_node)
{
	struct page *page;
	void *block;

	limit_address_space(160ul << 20);
	slob_machine(2, 2);
	page = buddy_alloc(1, 0, true, NULL);
	buddy_free(page, 0, false);
	while ((page = buddy_alloc(0, 0, true, NULL)))
		page_set_block(page, PAGE_RUN, 1);
	CHILD_CHECK(!take_on(100, __GFP_THISNODE, 0));
	block = take_on(100, 0, 0);
	CHILD_CHECK(block && page_of(block)->node == 1);
	/* It is not of the node that was asked for, so it is not found again. */
	CHILD_CHECK(page_of(take_on(100, 0, 0)) != page_of(block));
	slob_heap_check(&slob_heap);
}

/* ---- the end ---- */

static void without_memory(void *arg)
{
	const struct form *form = arg;
	struct slob_heap *heap = form->heap;
	void *first;
	void *block;
	unsigned int n = 0;

	limit_address_space(160ul << 20);
	slob_machine(2, 1);
	first = take_block(heap, 1024);
	use_up_pages(-1);
	while ((block = take_block(heap, 1024)))
		n++;
	CHILD_CHECK(n == 3); /* the rest of the page */
	CHILD_CHECK(!take_block(heap, 1));
	CHILD_CHECK(heap->counters.pages == 1 && heap->counters.objects == 4);
	slob_heap_check(heap);
	put_block(heap, first, 1024);
	CHILD_CHECK(take_block(heap, 1024) == first);
	slob_heap_check(heap);
}

static void out_of_memory(__attribute__((unused)) void **state)
{
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		struct child c = child_run(without_memory, (void *)&forms[f]);

		assert_true(child_passed(&c));
	}
}

static void refused(struct slob_heap *heap, void *block, enum engine_mistake what)
{
	struct engine_heap_counters before = heap->counters;

	assert_false(put_block(heap, block, 100));
	assert_true(heard_once(what, block, heap->self.name));
	assert_memory_equal(&before, &heap->counters, sizeof(before));
	slob_heap_check(heap);
}

static void what_is_not_ours_is_refused(__attribute__((unused)) void **state)
{
	struct page *slab = buddy_alloc(-1, 0, false, NULL);
	char here[100] = { 0 };
	char *first = take_block(&slob_heap, 100);
	char *block = take_block(&slob_heap, 100);

	hear();
	page_set_block(slab, PAGE_SLAB, 1);
	slab->engine = NULL; /* not what is left of a heap */
	refused(&slob_1991_heap, block, ENGINE_NO_OBJECT);
	refused(&slob_heap, here, ENGINE_NO_OBJECT);
	refused(&slob_heap, page_address(slab), ENGINE_NO_OBJECT);
	refused(&slob_heap, block + 1, ENGINE_NO_OBJECT);
	assert_null(slob_heap_page(here));
	assert_null(slob_heap_page(page_address(slab)));
	assert_true(put_block(&slob_heap, block, 100));
	refused(&slob_heap, block, ENGINE_FREE_AGAIN);
	assert_true(put_block(&slob_heap, first, 100));
	refused(&slob_heap, block, ENGINE_FREE_AGAIN); /* its page is gone */
	hear_no_more();
	buddy_free(slab, 0, true);
	assert_heap_is_empty(&slob_heap);
}

/*
 * A page whose list was overwritten: its objects stay usable, nothing of it is handed out again,
 * and it never goes back. Then the heap is as before but for that page.
 */
static void overwritten(struct slob_heap *heap, void *trigger)
{
	struct engine_heap_counters before;
	char *block[4];
	struct page *page;
	unsigned long isolated = heap->isolated;

	for (int i = 0; i < 4; i++)
		block[i] = take_block(heap, 200);
	page = page_of(block[0]);
	put_block(heap, block[1], 200);
	memset(block[1], 0x41, 200);
	before = heap->counters;
	hear();
	((void (*)(struct slob_heap *, char **))trigger)(heap, block);
	assert_true(heard_once(ENGINE_LIST_BROKEN, page_address(page), heap->self.name));
	assert_int_equal(heap->isolated, isolated + 1);
	assert_true(slob_page_is_isolated(page));
	slob_heap_check(heap);
	assert_int_equal(heap->counters.pages, before.pages);
	for (int i = 0; i < 100; i++) { /* none is of that page */
		void *other = take_block(heap, 40);

		assert_ptr_not_equal(page_of(other), page);
		put_block(heap, other, 40);
	}
	assert_true(put_block(heap, block[0], 200)); /* and is used no more */
	assert_true(put_block(heap, block[3], 200));
	assert_int_equal(page->type, PAGE_HEAP);
	assert_int_equal(heard.nr, 0);
	assert_false(put_block(heap, block[1], 200)); /* no more is expected */
	assert_true(heard_once(ENGINE_FREE_AGAIN, block[1], heap->self.name));
	hear_no_more();
	slob_heap_check(heap);
}

static void by_take(struct slob_heap *heap, __attribute__((unused)) char **block)
{
	void *other = take_block(heap, 100);

	assert_non_null(other);
	assert_true(put_block(heap, other, 100));
	assert_true(put_block(heap, block[2], 200));
}

static void by_put(struct slob_heap *heap, char **block)
{
	assert_true(put_block(heap, block[2], 200));
}

static void by_look(struct slob_heap *heap, char **block)
{
	slob_heap_verify(heap);
	assert_true(put_block(heap, block[2], 200));
}

IN_CHILD(overwritten_pages)
{
	void *const triggers[] = { by_take, by_put, by_look };

	for (size_t f = 0; f < ARRAY_SIZE(forms); f++)
		for (size_t i = 0; i < ARRAY_SIZE(triggers); i++)
			overwritten(forms[f].heap, triggers[i]);
}

static void a_page_knows_its_heap(__attribute__((unused)) void **state)
{
	size_t f;

	for (f = 0; f < ARRAY_SIZE(forms); f++) {
		char *block = take_block(forms[f].heap, 100);

		assert_ptr_equal(slob_heap_of(slob_heap_page(block + 50)->heap), forms[f].heap);
		put_block(forms[f].heap, block, 100);
	}
}

int main(void)
{
	const struct CMUnitTest before_there_is_an_arena[] = {
		cmocka_unit_test(nodes),
		cmocka_unit_test(policies),
		cmocka_unit_test(pages_come_and_go),
		cmocka_unit_test(a_full_node),
		cmocka_unit_test(out_of_memory),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_page_goes_in_front),
		cmocka_unit_test(success_rotates_the_list),
		cmocka_unit_test(the_first_page_stays_first),
		cmocka_unit_test(a_full_page_leaves_without_rotation),
		cmocka_unit_test(fragments_are_passed_over),
		cmocka_unit_test(classes_by_size),
		cmocka_unit_test(classes_do_not_share_pages),
		cmocka_unit_test(the_class_follows_what_is_freed),
		cmocka_unit_test(a_full_page_comes_back_in_front),
		cmocka_unit_test(no_empty_page_stays),
		cmocka_unit_test(what_is_not_ours_is_refused),
		cmocka_unit_test(overwritten_pages),
		cmocka_unit_test(a_page_knows_its_heap),
	};
	int failed = cmocka_run_group_tests(before_there_is_an_arena, NULL, NULL);

	return failed + cmocka_run_group_tests(tests, slob_group_setup, NULL);
}
