/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slob/fixture.h - an arena, both forms of the heap, and what is free in a page
 *
 * Most tests share one arena in the process (slob_group_setup) and leave the heaps empty; those
 * that need a machine of their own or end badly run in a child, with CHILD_CHECK for assertions.
 */
#ifndef UNIT_ENGINE_SLOB_FIXTURE_H
#define UNIT_ENGINE_SLOB_FIXTURE_H

#include <sys/resource.h>
#include "engine/slob/slob.h"
#include "heard.h"
#include "limit.h"
#include "unit/engine/engines.h"

/* The two forms, for tests that hold for both. */
static const struct form {
	const struct engine_ops *ops;
	struct slob_heap *heap;
} forms[] = {
	{ &slob_1991_ops, &slob_1991_heap },
	{ &slob_ops, &slob_heap },
};

static inline void slob_machine(unsigned int cpus, unsigned int nodes)
{
	machine_init(cpus, nodes);
}

static inline int slob_group_setup(__attribute__((unused)) void **state)
{
	slob_machine(2, 1);
	return 0;
}

/* The free blocks of a page as text, "(unit,units)", read from its bytes. */
static inline const char *free_blocks(const struct page *page)
{
	static char text[40000];
	const int16_t *unit = page_address(page);
	unsigned int at = page->freelist ? (uintptr_t)page->freelist % PAGE_SIZE / 2 : 2048;
	size_t used = 0;

	text[0] = '\0';
	while (at < 2048) {
		int size = unit[at] > 0 ? unit[at] : 1;

		used += (size_t)snprintf(text + used, sizeof(text) - used, "(%u,%d)", at, size);
		at = (unsigned int)(unit[at] > 0 ? unit[at + 1] : -unit[at]);
	}
	return text;
}

static inline unsigned int offset_of(const void *p)
{
	return (unsigned int)((uintptr_t)p % PAGE_SIZE);
}

static inline struct page *page_of(const void *p)
{
	struct page *page = page_head_of(p);

	if (!page)
		abort();
	return page;
}

static inline struct slob_shape plain_shape(unsigned int size)
{
	return (struct slob_shape){ .size = size, .align = 2 };
}

/* A plain block of a heap; size is its class too. */
static inline void *take_block(struct slob_heap *heap, unsigned int size)
{
	struct slob_shape shape = plain_shape(size);
	void *block;

	lock_acquire(&heap->lock);
	block = slob_take_locked(heap, &shape, 0, -1);
	engine_unlock(&heap->lock, &heap->said);
	return block;
}

static inline bool put_block(struct slob_heap *heap, void *block, unsigned int size)
{
	struct page *empty = NULL;
	bool put;

	lock_acquire(&heap->lock);
	put = slob_put_locked(heap, &heap->self, block, size, &empty);
	engine_unlock(&heap->lock, &heap->said);
	slob_free_pages(empty);
	return put;
}

/* The pages of a list in order, as debug flags: the i-th of pages[] is 'A' + i; others '?'. */
static inline const char *list_order(const struct list_head *list, struct page *const *pages,
				     unsigned int n)
{
	static char text[64];
	const struct list_head *pos;
	size_t used = 0;

	list_for_each(pos, list) {
		const struct page *page = list_entry(pos, struct page, lru);
		unsigned int i;

		for (i = 0; i < n && pages[i] != page; i++)
			;
		text[used++] = i < n ? (char)('A' + i) : '?';
	}
	text[used] = '\0';
	return text;
}

static inline struct engine make_engine(const struct engine_ops *ops, struct engine_params params)
{
	struct engine e;

	if (ops->init(&e, &params))
		abort();
	return e;
}

static inline void assert_heap_is_empty(struct slob_heap *heap)
{
	slob_heap_check(heap);
	assert_int_equal(heap->counters.pages, 0);
	assert_int_equal(heap->counters.objects, 0);
	assert_int_equal(heap->counters.blocks, 0);
	assert_int_equal(heap->counters.bytes, 0);
}

/* Checks the engine and ends it; all its objects must have come back. */
#define END_ENGINE(e)                                      \
	do {                                               \
		(e)->ops->check(e);                        \
		(e)->ops->heap->check((e)->ops->heap);     \
		assert_int_equal((e)->ops->destroy(e), 0); \
		buddy_check();                             \
	} while (0)

#endif /* UNIT_ENGINE_SLOB_FIXTURE_H */
