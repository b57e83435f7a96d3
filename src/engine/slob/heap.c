/* SPDX-License-Identifier: MIT */
/*
 * engine/slob/heap.c - pages with free bytes on lists, searched from where it went well
 *
 * Data:       slob_1991_heap and slob_heap (spec 1.3 to 1.5).
 * Invariants: see slob.h. counters.bytes == PAGE_SIZE * counters.pages - free bytes of all pages.
 * Locks:      heap->lock; see slob.h. The page floor is called only without it.
 * Flow:       take: a list's pages, or a new page. put: page.c; then the page goes onto a list, or
 *             away, or stays where it is.
 *
 * Nothing but these lists leads to free memory: an allocation walks pages until one has room, and
 * the blocks of each page that might. That is what this allocator is, and what it costs.
 */
#include "base/bits.h"
#include "engine/nodes.h"
#include "engine/placement.h"
#include "engine/slob/slob.h"
#include "os/cpu/cpu.h"
#include "page/buddy.h"

/* clang-format off */
#define EMPTY_LIST(head) { &(head), &(head) }
#define HEAP_INIT(heap, heap_ops, engine_of, name_of, last) {		\
	.lock = LOCK_INIT(RANK_ENGINE),					\
	.self = { .ops = &(engine_of), .name = (name_of) },		\
	.last_list = (last),						\
	.ops = &(heap_ops),						\
	.list = { EMPTY_LIST((heap).list[0]), EMPTY_LIST((heap).list[1]),	\
		  EMPTY_LIST((heap).list[2]) },				\
}
/* clang-format on */

struct slob_heap slob_1991_heap =
	HEAP_INIT(slob_1991_heap, slob_1991_heap_ops, slob_1991_ops, "slob:1991", 0);
struct slob_heap slob_heap = HEAP_INIT(slob_heap, slob_heap_ops, slob_ops, "slob", SLOB_LISTS - 1);

int slob_node(int node)
{
	return node < (int)os_topology.nr_nodes ? node : NUMA_NO_NODE;
}

/* By the size of a block, with its header. */
static struct list_head *class_list(struct slob_heap *heap, unsigned int size)
{
	unsigned int class = size < SLOB_SMALL ? 0 : size < SLOB_MEDIUM ? 1 : 2;

	return &heap->list[MIN(class, heap->last_list)];
}

/*
 * After a block was cut out of a listed page. Full: off the list, whose order does not change.
 * Else the list is rotated until the page is first: the next search starts where this one ended.
 */
static void settle_locked(struct list_head *list, struct page *page)
{
	if (!slob_page_free_bytes(page)) {
		list_del(&page->lru);
	} else if (list->next != &page->lru) {
		list_del(list);
		list_insert(list, page->lru.prev, &page->lru);
	}
}

bool slob_say_locked(struct slob_heap *heap, struct engine *e, void *obj, enum engine_mistake what)
{
	engine_mistake(e, obj, what);
	heap->said = true;
	return false;
}

/*
 * What a page's list says of its free blocks cannot be. All of the page counts as in use from now
 * on, what was free as one object, and blocks that come back to it are not used again.
 */
static cold void isolate_locked(struct slob_heap *heap, struct page *page)
{
	uint64_t used = PAGE_SIZE - slob_page_free_bytes(page);

	slob_say_locked(heap, &heap->self, page_address(page), ENGINE_LIST_BROKEN);
	slob_add_locked(&heap->counters.bytes, slob_page_free_bytes(page));
	slob_add_locked(&heap->counters.objects, 1);
	if (slob_page_free_bytes(page))
		list_del(&page->lru);
	page->freelist = NULL;
	page->counters = SLOB_ISOLATED | used << SLOB_LEFT_SHIFT;
	heap->isolated++;
}

/* tried: for a call that reports nothing. */
static void *take_from_list_locked(struct slob_heap *heap, struct list_head *list,
				   const struct slob_shape *shape, int node, bool tried)
{
	unsigned int bytes = (unsigned int)ALIGN_UP(shape->size, SLOB_UNIT);
	struct list_head *pos;
	struct list_head *tmp;

	list_for_each_safe(pos, tmp, list) {
		struct page *page = list_entry(pos, struct page, lru);
		void *block;

		if (node >= 0 && page->node != node)
			continue;
		if (slob_page_free_bytes(page) < bytes)
			continue;
		block = slob_page_take(page, shape);
		if (unlikely(block == SLOB_BROKEN)) {
			if (!tried)
				isolate_locked(heap, page);
			continue;
		}
		if (block) {
			settle_locked(list, page);
			return block;
		}
	}
	return NULL;
}

struct page *slob_get_pages(unsigned int order, gfp_t gfp, int node)
{
	const struct os_place place = placement_next(NULL, gfp, node); /* spec 0.4: for pages */

	return placement_pages(NULL, order, &place);
}

/* A page becomes one free block, on no list. */
static void open_page(struct slob_heap *heap, struct page *page)
{
	/* Atomic, because a hit path of front/cpuslab.c may look at pages that were another's. */
	store_relaxed(&page->heap, heap->ops);
	store_relaxed(&page->layout, NULL);
	slob_page_init(page);
	page_set_block(page, PAGE_HEAP, 1);
}

/* The page joins the list. */
static void *take_from_page_locked(struct slob_heap *heap, struct list_head *list,
				   const struct slob_shape *shape, struct page *page)
{
	void *block;

	list_add(&page->lru, list);
	slob_add_locked(&heap->counters.pages, 1);
	block = slob_page_take(page, shape);
	settle_locked(list, page);
	return block;
}

/*
 * From a new page. The list is not searched again although others may have added pages meanwhile:
 * so did the kernel. Whatever shape fits into a page at all fits into this one.
 */
static void *take_from_new_locked(struct slob_heap *heap, struct list_head *list,
				  const struct slob_shape *shape, gfp_t gfp, int node)
{
	struct page *page;

	engine_unlock(&heap->lock, &heap->said);
	page = slob_get_pages(0, gfp, node);
	if (likely(page))
		open_page(heap, page);
	lock_acquire(&heap->lock);
	return likely(page) ? take_from_page_locked(heap, list, shape, page) : NULL;
}

static void count_taken_locked(struct slob_heap *heap, const struct slob_shape *shape)
{
	slob_add_locked(&heap->counters.objects, 1);
	slob_add_locked(&heap->counters.bytes, ALIGN_UP(shape->size, SLOB_UNIT));
}

void *slob_take_locked(struct slob_heap *heap, const struct slob_shape *shape, gfp_t gfp, int node)
{
	struct list_head *list = class_list(heap, shape->size);
	void *block;

	node = slob_node(node);
	block = take_from_list_locked(heap, list, shape, node, false);
	if (!block)
		block = take_from_new_locked(heap, list, shape, gfp, node);
	if (likely(block))
		count_taken_locked(heap, shape);
	return block;
}

static struct page *try_new_page(struct slob_heap *heap, unsigned int node)
{
	struct page *page = buddy_try_alloc(node, 0);

	if (page)
		open_page(heap, page);
	return page;
}

void *slob_try_take_locked(struct slob_heap *heap, const struct slob_shape *shape, int node)
{
	struct list_head *list = class_list(heap, shape->size);
	unsigned int nr_nodes = engine_nr_nodes();
	unsigned int first = engine_first_node(nr_nodes, node);
	struct page *page = NULL;
	void *block;

	block = take_from_list_locked(heap, list, shape, slob_node(node), true);
	for (unsigned int i = 0; !block && !page && i < nr_nodes; i++)
		page = try_new_page(heap, (first + i) % nr_nodes);
	if (page)
		block = take_from_page_locked(heap, list, shape, page);
	if (block)
		count_taken_locked(heap, shape);
	return block;
}

struct page *slob_heap_page(const void *p)
{
	struct page *page = page_in_arena(p) ? page_at(page_index(p)) : NULL;

	return likely(page && load_relaxed(&page->type) == PAGE_HEAP) &&
			       (page->heap == &slob_1991_heap_ops || page->heap == &slob_heap_ops)
		       ? page
		       : NULL;
}

/* Of what lies in no page of the heap: the page was given back, or never was the heap's. */
static enum engine_mistake what_is(const struct slob_heap *heap, const void *p)
{
	const struct page *page = page_in_arena(p) ? page_at(page_index(p)) : NULL;

	return page && page->type != PAGE_HEAP && page->heap == heap->ops ? ENGINE_FREE_AGAIN
									  : ENGINE_NO_OBJECT;
}

/* Into an isolated page: what comes back is the program's no more, and nobody's. */
static cold bool put_off_locked(struct slob_heap *heap, struct engine *e, struct page *page,
				void *block, unsigned int size)
{
	uint64_t left = page->counters >> SLOB_LEFT_SHIFT;
	uint64_t bytes = ALIGN_UP(size, SLOB_UNIT);

	if (left < bytes) /* all that was in use is back */
		return slob_say_locked(heap, e, block, ENGINE_FREE_AGAIN);
	page->counters -= bytes << SLOB_LEFT_SHIFT;
	slob_sub_locked(&heap->counters.objects, 1);
	return true;
}

bool slob_put_locked(struct slob_heap *heap, struct engine *e, void *block, unsigned int size,
		     struct page **empty)
{
	struct page *page = slob_heap_page(block);
	bool was_full;

	if (unlikely(!page || page->heap != heap->ops || (uintptr_t)block % SLOB_UNIT))
		return slob_say_locked(heap, e, block, what_is(heap, block));
	was_full = !slob_page_free_bytes(page);
	if (unlikely(was_full && slob_page_is_isolated(page)))
		return put_off_locked(heap, e, page, block, size);
	switch (slob_page_put(page, block, size)) {
	case SLOB_PUT:
		break;
	case SLOB_PUT_AGAIN:
		return slob_say_locked(heap, e, block, ENGINE_FREE_AGAIN);
	case SLOB_PUT_BROKEN:
		isolate_locked(heap, page);
		return put_off_locked(heap, e, page, block, size);
	}
	slob_sub_locked(&heap->counters.objects, 1);
	slob_sub_locked(&heap->counters.bytes, ALIGN_UP(size, SLOB_UNIT));
	if (slob_page_free_bytes(page) == PAGE_SIZE) {
		if (!was_full)
			list_del(&page->lru);
		slob_sub_locked(&heap->counters.pages, 1);
		page->next = *empty;
		*empty = page;
	} else if (was_full) {
		/* By the size of what is freed now, whichever list it was on before. */
		list_add(&page->lru, class_list(heap, size));
	}
	return true;
}

bool slob_try_put_locked(struct slob_heap *heap, void *block, unsigned int size)
{
	unsigned int bytes = (unsigned int)ALIGN_UP(size, SLOB_UNIT);
	struct page *page = slob_heap_page(block);
	bool was_full;

	if (!page || page->heap != heap->ops || (uintptr_t)block % SLOB_UNIT ||
	    slob_page_is_isolated(page) || slob_page_free_bytes(page) + bytes >= PAGE_SIZE)
		return false;
	was_full = !slob_page_free_bytes(page);
	if (slob_page_put(page, block, size) != SLOB_PUT)
		return false;
	slob_sub_locked(&heap->counters.objects, 1);
	slob_sub_locked(&heap->counters.bytes, bytes);
	if (was_full)
		list_add(&page->lru, class_list(heap, size));
	return true;
}

void slob_heap_verify(struct slob_heap *heap)
{
	struct list_head *pos;
	struct list_head *tmp;

	lock_acquire(&heap->lock);
	for (unsigned int i = 0; i <= heap->last_list; i++) {
		list_for_each_safe(pos, tmp, &heap->list[i]) {
			struct page *page = list_entry(pos, struct page, lru);

			if (!slob_page_is_whole(page))
				isolate_locked(heap, page);
		}
	}
	engine_unlock(&heap->lock, &heap->said);
}

void slob_free_pages(struct page *pages)
{
	while (pages) {
		struct page *page = pages;

		pages = page->next;
		buddy_free(page, 0, true);
	}
}
