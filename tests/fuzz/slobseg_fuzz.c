/* SPDX-License-Identifier: MIT */
/*
 * fuzz/slobseg_fuzz.c - lists of operations on the segregated engines against a model
 *
 * A list is bytes: the first chooses the kinds of three caches (of slobseg, of slobseg:pow2 with
 * shared and with private pages), then each operation takes two, what and how much. The model knows
 * every object and block that is out, filled with a pattern, and, by page, how many objects are in
 * use and the free list in its order: which object comes next is never left open. After each
 * operation the checks run and the books must agree. Without arguments built-in seeds run; with
 * arguments the files named. Built with -fsanitize=fuzzer it is a libFuzzer target.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "contents.h"
#include "engine/slobseg/slobseg.h"
#include "manual_rcu.h"
#include "os/cpu/cpu.h"
#include "page/arena.h"
#include "page/buddy.h"
#include "pages_out.h"

#define NR_CACHES 3
#define MAX_OUT 1500
#define MAX_PAGES MAX_OUT

struct out {
	unsigned char *obj;
	size_t size;
	struct engine *e; /* NULL: a block of the heap */
};

/* A page with objects in use. The order of pages on a list is that of `listed`, newest last. */
struct model_page {
	struct slobseg *s;
	char *start;
	unsigned int inuse;
	unsigned int nr_free;
	unsigned long listed;		    /* when it came to its list; 0: full */
	unsigned short free[PAGE_SIZE / 8]; /* a stack of indexes */
};

static struct model {
	struct engine cache[NR_CACHES];
	unsigned long in_use[NR_CACHES];
	unsigned long blocks;
	struct out out[MAX_OUT];
	unsigned int nr_out;
	struct model_page page[MAX_PAGES];
	unsigned int nr_pages;
	unsigned long clock;
	unsigned long direct_pages;
	unsigned long at_start; /* pages in use */
} m;

static const struct engine_heap *heap;

/* ---- the model of lists and pages ---- */

static struct model_page *page_with(const void *obj)
{
	for (unsigned int i = 0; i < m.nr_pages; i++)
		if (m.page[i].start == (char *)ALIGN_DOWN((uintptr_t)obj, PAGE_SIZE))
			return &m.page[i];
	return NULL;
}

/* The page that is at the head of a node's list. NULL: the list is empty. */
static struct model_page *head_of(const struct slobseg *s, unsigned int node)
{
	struct model_page *best = NULL;

	for (unsigned int i = 0; i < m.nr_pages; i++) {
		struct model_page *p = &m.page[i];

		if (p->s == s && p->listed && page_head_of(p->start)->node == node &&
		    (!best || p->listed > best->listed))
			best = p;
	}
	return best;
}

static struct model_page *add_page(struct slobseg *s, const void *obj)
{
	struct model_page *p = &m.page[m.nr_pages];

	CHECK(m.nr_pages < MAX_PAGES && !page_with(obj));
	CHECK((uintptr_t)obj % PAGE_SIZE == 0);
	m.nr_pages++;
	p->s = s;
	p->start = (char *)obj;
	p->inuse = 0;
	p->nr_free = s->layout.objects;
	for (unsigned int i = 0; i < p->nr_free; i++)
		p->free[i] = (unsigned short)(p->nr_free - 1 - i);
	p->listed = ++m.clock;
	return p;
}

/* This is the object that had to come. */
static void model_take(struct slobseg *s, const void *obj, unsigned int node)
{
	struct model_page *p = head_of(s, node);

	if (!p)
		p = add_page(s, obj);
	CHECK(page_head_of(obj)->node == node);
	CHECK(obj == p->start + (size_t)p->free[--p->nr_free] * s->layout.stride);
	p->inuse++;
	if (!p->nr_free)
		p->listed = 0;
}

static void model_put(struct slobseg *s, const void *obj)
{
	struct model_page *p = page_with(obj);
	size_t offset = (size_t)((const char *)obj - p->start);

	CHECK(p->s == s && p->inuse);
	p->free[p->nr_free++] = (unsigned short)(offset / s->layout.stride);
	if (!p->listed)
		p->listed = ++m.clock;
	if (!--p->inuse)
		*p = m.page[--m.nr_pages];
}

/* ---- operations ---- */

static void hand_out(struct engine *e, void *obj, size_t size, size_t align)
{
	CHECK(obj && m.nr_out < MAX_OUT);
	CHECK((uintptr_t)obj % align == 0);
	if (e && e->ctor)
		check_constructed(obj);
	fill(obj, size);
	m.out[m.nr_out++] = (struct out){ obj, size, e };
}

/* Object number i of those that are out is freed; no other has written to it. */
static struct out hand_in(unsigned int i)
{
	struct out o = m.out[i %= m.nr_out];

	check_filled(o.obj, o.size);
	m.out[i] = m.out[--m.nr_out];
	return o;
}

static unsigned int node_meant(int node)
{
	return node >= 0 && node < 2 ? (unsigned int)node : os_current_node();
}

static void op_refill(unsigned int which, unsigned int n)
{
	struct engine *e = &m.cache[which];
	struct slobseg *s = slobseg_of(e);
	unsigned int want = 1 + n % 40;
	int node = -1 + (int)(n % 4); /* 2 does not exist */
	void *objs[40];

	if (m.nr_out + want > MAX_OUT)
		return;
	os_act_as_cpu(n / 64);
	if (want == 1 && !e->ctor) {
		buddy_provide(node_meant(node), s->layout.order);
		objs[0] = e->ops->try_alloc(e, node);
		CHECK(objs[0]);
	} else {
		CHECK(e->ops->refill(e, objs, want, __GFP_NOWARN, node) == want);
	}
	for (unsigned int i = 0; i < want; i++) {
		if (slobseg_is_direct(s))
			m.direct_pages += 1ul << s->layout.order;
		else
			model_take(s, objs[i], node_meant(node));
		hand_out(e, objs[i], e->object_size, e->align);
	}
	m.in_use[which] += want;
}

static void op_block(unsigned int n)
{
	size_t align = 8u << (n % 10);
	size_t size = 1 + (n * 37) % PAGE_SIZE;
	int node = -1 + (int)(n % 3);
	void *p;

	if (m.nr_out == MAX_OUT)
		return;
	p = heap->alloc(heap, size, align, __GFP_NOWARN, node);
	CHECK(p && heap->size(p) >= MAX(size, align));
	model_take(slobseg_of_page(page_head_of(p)), p, node_meant(node));
	hand_out(NULL, p, size, align);
	m.blocks++;
}

static void put_one(struct out o)
{
	struct slobseg *s;

	if (!o.e) {
		model_put(slobseg_of_page(page_head_of(o.obj)), o.obj);
		heap->free(o.obj);
		m.blocks--;
		return;
	}
	s = slobseg_of(o.e);
	if (slobseg_is_direct(s))
		m.direct_pages -= 1ul << s->layout.order;
	else
		model_put(s, o.obj);
	if (o.e->ctor || engine_is_typesafe(o.e) || !o.e->ops->try_free(o.e, o.obj))
		o.e->ops->flush(o.e, (void *[]){ o.obj }, 1);
	os_rcu_submit();
	m.in_use[o.e - m.cache]--;
}

static void op_put_singly(unsigned int n, unsigned int step)
{
	for (unsigned int i = 0; i <= n % 40 && m.nr_out; i++)
		put_one(hand_in(n * 31 + i * step));
}

/* Up to 40 objects of one cache in one call. */
static void op_flush(unsigned int which, unsigned int n)
{
	struct engine *e = &m.cache[which];
	struct slobseg *s = slobseg_of(e);
	unsigned int found = 0;
	void *objs[40];

	for (unsigned int i = m.nr_out; i-- > 0 && found <= n % 40;) {
		if (m.out[i].e != e)
			continue;
		objs[found] = hand_in(i).obj;
		if (slobseg_is_direct(s))
			m.direct_pages -= 1ul << s->layout.order;
		else
			model_put(s, objs[found]);
		found++;
	}
	e->ops->flush(e, objs, found);
	os_rcu_submit();
	m.in_use[which] -= found;
}

static void operate(unsigned int what, unsigned int n)
{
	switch (what % 8) {
	case 0:
	case 1:
	case 2:
		op_refill(what % 8, n);
		break;
	case 3:
		for (unsigned int i = 0; i <= n % 16; i++)
			op_block(n + i);
		break;
	case 4:
		op_put_singly(n, 7);
		break;
	case 5:
		op_put_singly(n, 1);
		break;
	case 6:
		op_flush(n % NR_CACHES, n);
		break;
	case 7:
		CHECK(m.cache[n % NR_CACHES].ops->shrink(&m.cache[n % NR_CACHES]) ==
		      (m.in_use[n % NR_CACHES] != 0));
		break;
	}
}

static void check_books(void)
{
	struct engine_stats stats;
	unsigned long blocks = 0;

	for (unsigned int i = 0; i < NR_CACHES; i++) {
		m.cache[i].ops->check(&m.cache[i]);
		m.cache[i].ops->stats(&m.cache[i], &stats);
		CHECK(stats.total_objects - stats.free_objects == m.in_use[i]);
	}
	heap->check(heap);
	for (unsigned int i = 0; i <= heap->more_counters; i++)
		blocks += heap->counters[i].blocks;
	CHECK(blocks == m.blocks);
	CHECK(arena_pages_out() - m.at_start == m.nr_pages + m.direct_pages);
}

static void begin(const uint8_t *head)
{
	unsigned int byte = head[0];
	static const unsigned int sizes[] = { 8, 24, 64, 192, 700, 2048, 4000, 20000 };

	memset(&m, 0, sizeof(m));
	rcu_bind_at_once();
	heap = slobseg_pow2_ops.heap;
	m.at_start = arena_pages_out();
	for (unsigned int i = 0; i < NR_CACHES; i++) {
		const struct engine_ops *ops = i ? &slobseg_pow2_ops : &slobseg_ops;
		struct engine_params params = {
			.name = "fuzz",
			.object_size = sizes[(byte + i * 3) % 8],
			.align = byte & 8 ? 64 : 8,
			.by_address = i == 2,
			.flags = i == 0 && (byte & 48) == 16 ? SLAB_TYPESAFE_BY_RCU : 0,
			.ctor = (byte & 192) == 192 ? ctor : NULL,
			.page_class = 3,
		};

		CHECK(ops->init(&m.cache[i], &params) == 0);
	}
}

static void end(void)
{
	while (m.nr_out)
		op_put_singly(255, 1);
	check_books();
	for (unsigned int i = 0; i < NR_CACHES; i++)
		CHECK(m.cache[i].ops->destroy(&m.cache[i]) == 0);
	CHECK(arena_pages_out() == m.at_start);
}

#define FUZZ_NAME "slobseg_fuzz"
#define FUZZ_HEAD 1
#define FUZZ_BYTES 400
#define FUZZ_SEEDS 256
#include "driver.h"
