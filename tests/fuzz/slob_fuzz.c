/* SPDX-License-Identifier: MIT */
/*
 * fuzz/slob_fuzz.c - lists of operations on both forms of SLOB against a model of the heap
 *
 * A list is bytes: the first chooses form and caches, then each operation takes two, what and how
 * much. The model is the heap as the specification tells it, in the dullest way: a byte for each
 * unit of each page, and arrays of pages in the order of the lists. It says where every block must
 * lie. After each operation lists, free bytes and counters must agree with it, and the heap's own
 * check runs; the bytes of all objects are looked at now and then. Without arguments built-in seeds
 * run; with arguments the files named. Built with -fsanitize=fuzzer it is a libFuzzer target.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "contents.h"
#include "engine/slob/slob.h"
#include "os/cpu/cpu.h"
#include "page/arena.h"
#include "page/buddy.h"
#include "page/run.h"

#define MAX_OUT 400
#define MAX_PAGES 512
#define NR_CACHES 6
#define UNITS SLOB_PAGE_UNITS

struct object {
	unsigned char *p; /* filled with a pattern */
	unsigned int size;
	unsigned int total; /* bytes of its block, with the header; 0: in no page of the heap */
	unsigned int header;
	int cache; /* -1: a block of the heap's own */
};

struct sheet {
	struct page *page; /* NULL: not in use */
	unsigned int free; /* units */
	unsigned char used[UNITS];
};

static struct model {
	const struct engine_ops *ops;
	struct slob_heap *heap;
	struct engine cache[NR_CACHES];
	struct object out[MAX_OUT];
	unsigned int nr_out;
	struct sheet sheet[MAX_PAGES];
	unsigned int nr_pages;
	struct sheet *list[SLOB_LISTS][MAX_PAGES]; /* first to last */
	unsigned int length[SLOB_LISTS];
	unsigned long steps;
} m;

/* ---- the heap as it should be ---- */

static unsigned int class_of(unsigned int total)
{
	if (m.ops == &slob_1991_ops || total < 256)
		return 0;
	return total < 1024 ? 1 : 2;
}

static struct sheet *sheet_of(const struct page *page)
{
	unsigned int i;

	for (i = 0; i < MAX_PAGES; i++)
		if (m.sheet[i].page == page)
			return &m.sheet[i];
	return NULL;
}

static void list_insert_first(unsigned int class, struct sheet *sheet)
{
	memmove(&m.list[class][1], &m.list[class][0], m.length[class]++ * sizeof(sheet));
	m.list[class][0] = sheet;
}

static void list_remove(unsigned int class, unsigned int i)
{
	memmove(&m.list[class][i], &m.list[class][i + 1],
		(--m.length[class] - i) * sizeof(m.list[0][0]));
}

static void list_forget(const struct sheet *sheet)
{
	unsigned int class;
	unsigned int i;

	for (class = 0; class < SLOB_LISTS; class ++)
		for (i = 0; i < m.length[class]; i++)
			if (m.list[class][i] == sheet)
				list_remove(class, i--);
}

/* Turns the list until page i is the first. */
static void list_rotate(unsigned int class, unsigned int i)
{
	static struct sheet *before[MAX_PAGES];

	memcpy(before, m.list[class], i * sizeof(before[0]));
	memmove(&m.list[class][0], &m.list[class][i], (m.length[class] - i) * sizeof(before[0]));
	memcpy(&m.list[class][m.length[class] - i], before, i * sizeof(before[0]));
}

/* The unit at which a block must begin; UNITS: no free run of this page holds it. */
static unsigned int first_fit(const struct sheet *sheet, const struct slob_shape *shape)
{
	unsigned int units = (shape->size + 1) / 2;
	unsigned int start;
	unsigned int end;

	for (start = 0; start < UNITS; start = end) {
		unsigned int at;

		end = start + 1;
		if (sheet->used[start])
			continue;
		while (end < UNITS && !sheet->used[end])
			end++;
		for (at = start; (at * 2 + shape->header) % shape->align; at++)
			;
		if (at + units <= end)
			return at;
	}
	return UNITS;
}

static void sheet_mark(struct sheet *sheet, unsigned int at, unsigned int units)
{
	CHECK(!memchr(sheet->used + at, 1, units));
	memset(sheet->used + at, 1, units);
	sheet->free -= units;
}

static struct sheet *sheet_new(struct page *page)
{
	struct sheet *sheet = sheet_of(NULL);

	CHECK(sheet && page && page->type == PAGE_HEAP && !sheet_of(page));
	memset(sheet, 0, sizeof(*sheet));
	sheet->page = page;
	sheet->free = UNITS;
	m.nr_pages++;
	return sheet;
}

/* A block came: it must lie where the model says. */
static void model_take(const void *block, const struct slob_shape *shape, int node)
{
	unsigned int class = class_of(shape->size);
	unsigned int units = (shape->size + 1) / 2;
	struct sheet *sheet = NULL;
	unsigned int at = UNITS;
	unsigned int i;

	for (i = 0; i < m.length[class] && at == UNITS; i++) {
		sheet = m.list[class][i];
		if ((node < 0 || sheet->page->node == node) && sheet->free >= units)
			at = first_fit(sheet, shape);
	}
	if (at != UNITS) {
		i--;
	} else {
		sheet = sheet_new(page_head_of(block));
		CHECK(node < 0 || sheet->page->node == node);
		at = first_fit(sheet, shape);
		list_insert_first(class, sheet);
		i = 0;
	}
	CHECK(block == (char *)page_address(sheet->page) + at * 2);
	sheet_mark(sheet, at, units);
	if (sheet->free)
		list_rotate(class, i);
	else
		list_remove(class, i);
}

static void model_put(const void *block, unsigned int total)
{
	struct sheet *sheet = sheet_of(page_head_of(block));
	unsigned int at = (unsigned int)((uintptr_t)block % PAGE_SIZE / 2);
	unsigned int units = (total + 1) / 2;

	CHECK(sheet);
	if (!sheet->free)
		list_insert_first(class_of(total), sheet);
	memset(sheet->used + at, 0, units);
	sheet->free += units;
	if (sheet->free == UNITS) {
		list_forget(sheet);
		sheet->page = NULL;
		m.nr_pages--;
	}
}

/* ---- live objects of the program ---- */

static void take(struct object o)
{
	CHECK(m.nr_out < MAX_OUT);
	fill(o.p, o.size);
	m.out[m.nr_out++] = o;
}

static void look_at(const struct object *o)
{
	check_filled(o->p, o->size);
}

static struct object give(unsigned int i)
{
	struct object o = m.out[i];

	look_at(&o);
	m.out[i] = m.out[--m.nr_out];
	if (o.total)
		model_put(o.p - o.header, o.total);
	return o;
}

/* ---- operations ---- */

static int a_node(unsigned int n)
{
	return (int)(n % 4) - 1; /* -1, two that exist, one that does not */
}

static int known_node(int node)
{
	return node < 2 ? node : -1;
}

static void op_refill(unsigned int n)
{
	unsigned int which = n % NR_CACHES;
	struct engine *e = &m.cache[which];
	const struct slob *s = slob_of(e);
	unsigned int want = 1 + n / 8 % 13;
	int node = a_node(n / 3);
	unsigned int i;
	void *objs[13];

	if (m.nr_out + want > MAX_OUT)
		return;
	if (want == 1 && !e->ctor) {
		for (unsigned int nr = 0; nr < buddy_nr_nodes; nr++)
			buddy_provide(nr, s->layout.order);
		objs[0] = e->ops->try_alloc(e, node);
		CHECK(objs[0]);
	} else {
		CHECK(e->ops->refill(e, objs, want, 0, node) == want);
	}
	for (i = 0; i < want; i++) {
		struct object o = { .p = objs[i], .size = e->object_size, .cache = (int)which };

		CHECK((uintptr_t)o.p % e->align == 0);
		CHECK(!e->ctor || memcmp(o.p, "wwwwwwww", 8) == 0);
		if (s->direct) {
			CHECK(page_head_of(o.p)->engine == e);
		} else {
			o.total = s->shape.size;
			o.header = s->shape.header;
			model_take(o.p - o.header, &s->shape, known_node(node));
		}
		take(o);
	}
}

/* Objects of one cache, as many as there are and n says, from some place on. */
static void op_flush(unsigned int n)
{
	int which = (int)(n % NR_CACHES);
	unsigned int want = 1 + n / 8 % 13;
	unsigned int got = 0;
	unsigned int i;
	void *objs[13];

	for (i = m.nr_out; i-- > 0 && got < want;)
		if (m.out[i].cache == which && (n & 1 || (i + n) % 3))
			objs[got++] = give(i).p;
	if (got != 1 || m.cache[which].ctor || engine_is_typesafe(&m.cache[which]) ||
	    !m.ops->try_free(&m.cache[which], objs[0]))
		m.ops->flush(&m.cache[which], objs, got);
}

/* Sizes of all classes, powers of two, and edges. */
static unsigned int a_size(unsigned int n)
{
	static const unsigned int sizes[] = { 1,    7,	  8,	16,   24,   64,	  101,	128,
					      247,  248,  250,	512,  900,  1015, 1016, 1017,
					      1024, 2000, 2048, 4000, 4080, 4087 };

	return n & 1 ? 1 + n * n % 700 : sizes[n / 2 % ARRAY_SIZE(sizes)];
}

static void op_alloc(unsigned int n)
{
	unsigned int size = a_size(n);
	unsigned int align = n % 5 ? 8 : 8u << n % 10;
	struct slob_shape shape = slob_block_shape(size, align);
	int node = a_node(n / 7);
	struct object o = { .size = size, .header = SLOB_HEADER, .cache = -1 };

	if (m.nr_out == MAX_OUT)
		return;
	o.p = m.ops->heap->alloc(m.ops->heap, size, align, 0, node);
	CHECK(o.p && (uintptr_t)o.p % shape.align == 0);
	if (page_head_of(o.p)->type == PAGE_HEAP) {
		o.total = shape.size;
		model_take(o.p - SLOB_HEADER, &shape, known_node(node));
		CHECK(m.ops->heap->size(o.p) == (size + 1) / 2 * 2);
		CHECK(m.ops->heap->owner(o.p) == 0);
	} else {
		CHECK(size + align > PAGE_SIZE);
	}
	take(o);
}

/* Any object by its address, if that is enough to know it. */
static void op_free(unsigned int n)
{
	const struct engine_heap *heap = m.ops->heap;
	struct object o;

	if (!m.nr_out)
		return;
	o = give(n * 31 % m.nr_out);
	if (o.cache < 0 && !o.total) {
		CHECK(run_free(o.p));
	} else if (o.cache < 0) {
		heap->free(o.p);
	} else {
		CHECK(!o.header || heap->owner(o.p) == m.cache[o.cache].id);
		CHECK(!o.header || heap->size(o.p) == m.cache[o.cache].size);
		m.ops->flush(&m.cache[o.cache], (void **)&o.p, 1);
	}
}

/* A cache with objects cannot be ended. */
static void op_destroy(unsigned int n)
{
	unsigned int which = n % NR_CACHES;
	unsigned long count = 0;
	unsigned int i;

	for (i = 0; i < m.nr_out; i++)
		count += m.out[i].cache == (int)which;
	if (count)
		CHECK(m.ops->destroy(&m.cache[which]) == count);
	CHECK(m.ops->shrink(&m.cache[which]) == (count && slob_of(&m.cache[which])->direct));
}

static void operate(unsigned int what, unsigned int n)
{
	switch (what % 9) {
	case 0:
	case 1:
		op_refill(n);
		break;
	case 2:
		op_flush(n);
		break;
	case 3:
	case 4:
	case 5:
		op_alloc(n);
		break;
	case 6:
	case 7:
		op_free(n);
		op_free(n / 2);
		break;
	case 8:
		op_destroy(n);
		break;
	}
}

/* ---- the books ---- */

static void check_lists(void)
{
	unsigned int class;
	unsigned int i;

	for (class = 0; class < SLOB_LISTS; class ++) {
		struct list_head *pos;

		i = 0;
		list_for_each(pos, &m.heap->list[class]) {
			struct page *page = list_entry(pos, struct page, lru);

			CHECK(i < m.length[class] && m.list[class][i++]->page == page);
		}
		CHECK(i == m.length[class]);
	}
	for (i = 0; i < MAX_PAGES; i++)
		CHECK(!m.sheet[i].page ||
		      slob_page_free_bytes(m.sheet[i].page) == m.sheet[i].free * SLOB_UNIT);
}

static void check_books(void)
{
	const struct engine_heap_counters *counters = m.ops->heap->counters;
	struct engine_heap_counters sum = { .pages = m.nr_pages };
	unsigned long in_cache[NR_CACHES] = { 0 };
	struct engine_stats stats;
	unsigned int i;

	if (m.steps++ % 16 == 0)
		for (i = 0; i < m.nr_out; i++)
			look_at(&m.out[i]);
	m.ops->heap->check(m.ops->heap);
	check_lists();
	for (i = 0; i < m.nr_out; i++) {
		const struct object *o = &m.out[i];

		sum.objects += o->total != 0;
		sum.blocks += o->total && o->cache < 0;
		sum.bytes += (o->total + 1) / 2 * 2;
		if (o->cache >= 0)
			in_cache[o->cache]++;
	}
	CHECK(memcmp(&sum, counters, sizeof(sum)) == 0);
	for (i = 0; i < NR_CACHES; i++) {
		m.ops->check(&m.cache[i]);
		m.ops->stats(&m.cache[i], &stats);
		CHECK(stats.total_objects == in_cache[i]);
	}
}

static void begin(const uint8_t *head)
{
	unsigned int byte = head[0];
	static const unsigned int sizes[] = { 8, 24, 33, 101, 192, 300, 700, 1500 };
	unsigned int i;

	memset(&m, 0, sizeof(m));
	m.ops = byte & 1 ? &slob_ops : &slob_1991_ops;
	m.heap = byte & 1 ? &slob_heap : &slob_1991_heap;
	for (i = 0; i < NR_CACHES; i++) {
		struct engine_params params = {
			.name = "fuzz",
			.object_size = sizes[(byte / 2 + i * 3) % 8],
			.align = i == 1 ? 64 : 8,
			.id = 100 + i,
			.by_address = i & 1,
			.ctor = i == 2 ? ctor : NULL,
			.page_class = 3,
		};

		if (i == 5)
			params.object_size = byte & 2 ? 4096 : 5000;
		CHECK(m.ops->init(&m.cache[i], &params) == 0);
	}
}

static void end(void)
{
	unsigned int k;

	while (m.nr_out) {
		op_free(m.nr_out);
		check_books();
	}
	CHECK(m.nr_pages == 0);
	for (k = 0; k < NR_CACHES; k++)
		CHECK(m.ops->destroy(&m.cache[k]) == 0);
}

#define FUZZ_NAME "slob_fuzz"
#define FUZZ_HEAD 1
#define FUZZ_BYTES 600
#define FUZZ_SEEDS 128
#include "driver.h"
