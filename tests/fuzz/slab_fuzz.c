/* SPDX-License-Identifier: MIT */
/*
 * fuzz/slab_fuzz.c - lists of operations on the SLAB engine against a model
 *
 * A list is bytes: the first chooses the cache, then each operation takes two, what and how much.
 * The model is spec 3.6 to 3.9 in arrays, object by object: it says which object a refill gets,
 * where each slab is on which list, what colour it has, and which one goes. After each operation
 * slab_check() runs, and the engine's lists must be the model's. Without arguments built-in seeds
 * run; with arguments the files named. Built with -fsanitize=fuzzer it is a libFuzzer target.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "contents.h"
#include "engine/slab/slab.h"
#include "manual_rcu.h"
#include "os/cpu/cpu.h"
#include "page/arena.h"
#include "page/buddy.h"
#include "page/meta.h"

#define MAX_OUT 2000
#define MAX_SLABS 2048
#define BATCH 100
#define MAX_PAGES (1 << 14)
#define NODES 2
#define CPUS 4

struct model_slab {
	char *start;
	char *objects; /* object 0 */
	unsigned int node;
	unsigned int inuse;
	unsigned int free[SLAB_MAX_NUM]; /* a stack, its top at inuse */
};

struct model_list {
	struct model_slab *slab[MAX_SLABS]; /* head first */
	unsigned int n;
};

struct model_node {
	struct model_list partial, full, free;
	unsigned long free_objects;
	unsigned long free_limit;
	unsigned int colour;
	bool touched;
};

static struct model {
	struct engine e;
	struct slab_geometry g;
	unsigned char *out[MAX_OUT]; /* live objects of the program, filled with a pattern */
	unsigned int nr_out;
	struct model_slab slabs[MAX_SLABS];    /* start NULL: none */
	struct model_slab *at_page[MAX_PAGES]; /* of the arena; NULL: none */
	struct model_node node[NODES];
} m;

/* ---- lists of the model ---- */

static void list_put(struct model_list *list, struct model_slab *slab, bool tail)
{
	CHECK(list->n < MAX_SLABS);
	if (!tail)
		memmove(list->slab + 1, list->slab, list->n * sizeof(list->slab[0]));
	list->slab[tail ? list->n : 0] = slab;
	list->n++;
}

static void list_take(struct model_list *list, const struct model_slab *slab)
{
	unsigned int i = 0;

	while (list->slab[i] != slab)
		CHECK(++i < list->n);
	list->n--;
	memmove(list->slab + i, list->slab + i + 1, (list->n - i) * sizeof(list->slab[0]));
}

static struct model_list *list_of(const struct model_slab *slab)
{
	struct model_node *node = &m.node[slab->node];

	if (!slab->inuse)
		return &node->free;
	return slab->inuse == m.g.num ? &node->full : &node->partial;
}

static struct model_slab *find_slab(const void *obj)
{
	CHECK(page_index(obj) < MAX_PAGES);
	return m.at_page[page_index(obj)];
}

/* Every page of a slab leads to it, or no longer does. */
static void set_pages(const struct model_slab *slab, struct model_slab *to)
{
	unsigned long i;

	for (i = 0; i < 1ul << m.g.order; i++) {
		CHECK(find_slab(slab->start + i * PAGE_SIZE) != to);
		m.at_page[page_index(slab->start) + i] = to;
	}
}

static void list_equals(const struct model_list *list, const struct list_head *head)
{
	const struct list_head *pos;
	unsigned int i = 0;

	list_for_each(pos, head) {
		CHECK(i < list->n);
		CHECK(page_address(list_entry(pos, struct page, lru)) == list->slab[i++]->start);
	}
	CHECK(i == list->n);
}

static void check_books(void)
{
	unsigned int i;

	slab_check(&m.e);
	for (i = 0; i < NODES; i++) {
		const struct slab_node *node = slab_cache_of(&m.e)->node[i];

		list_equals(&m.node[i].partial, &node->partial);
		list_equals(&m.node[i].full, &node->full);
		list_equals(&m.node[i].free, &node->free);
		CHECK(node->free_objects == m.node[i].free_objects);
		CHECK(node->free_limit == m.node[i].free_limit);
		CHECK(node->free_touched == m.node[i].touched);
	}
}

/* ---- live objects of the program ---- */

static void take(void *obj)
{
	CHECK((uintptr_t)obj % m.e.align == 0);
	CHECK(page_map.class[page_index(obj)] == m.e.page_class);
	if (m.e.ctor)
		check_constructed(obj);
	fill(obj, m.e.object_size);
	m.out[m.nr_out++] = obj;
}

/* Object number i of those that are out is freed; no other has written to it. */
static void *give(unsigned int i)
{
	unsigned char *obj;

	i %= m.nr_out;
	obj = m.out[i];
	check_filled(obj, m.e.object_size);
	m.nr_out--;
	m.out[i] = m.out[m.nr_out];
	if (m.e.ctor)
		ctor(obj);
	return obj;
}

/* ---- refill ---- */

/* What the next objects of a slab must be; returns how many. */
static unsigned int expect(struct model_slab *slab, void **objs, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n && slab->inuse < m.g.num; i++)
		CHECK((char *)objs[i] ==
		      slab->objects + (size_t)slab->free[slab->inuse++] * m.g.size);
	m.node[slab->node].free_objects -= i;
	list_put(list_of(slab), slab, false);
	return i;
}

/* A slab that the model does not know yet, of which obj is the first object. */
static void expect_new(unsigned int nr, void **objs, unsigned int n)
{
	struct model_node *node = &m.node[nr];
	struct model_slab *slab = m.slabs;
	unsigned int i;

	node->colour = node->colour + 1 < m.g.colour ? node->colour + 1 : 0;
	while (slab->start)
		CHECK(++slab < m.slabs + MAX_SLABS);
	slab->start = page_address(page_head_of(objs[0]));
	CHECK(!find_slab(slab->start));
	set_pages(slab, slab);
	slab->objects = slab->start + (size_t)node->colour * m.g.colour_off;
	slab->node = nr;
	slab->inuse = 0;
	for (i = 0; i < m.g.num; i++)
		slab->free[i] = i;
	CHECK(page_head_of(objs[0])->node == nr);
	node->free_objects += m.g.num;
	CHECK(expect(slab, objs, n) == n);
}

static void op_refill(unsigned int n)
{
	unsigned int want = 1 + n % BATCH;
	int asked = -1 + (int)(n % (NODES + 1));
	unsigned int nr = asked < 0 ? os_current_node() : (unsigned int)asked;
	struct model_node *node = &m.node[nr];
	void *objs[BATCH];
	unsigned int done = 0;
	unsigned int got;
	unsigned int i;

	if (m.nr_out + want > MAX_OUT)
		return;
	if (want == 1 && !m.e.ctor && m.g.placement != SLAB_INDEX_OFF) {
		buddy_provide(nr, m.g.order);
		objs[0] = slab_try_alloc(&m.e, asked);
		got = objs[0] != NULL;
	} else {
		got = slab_refill(&m.e, objs, want, __GFP_NOWARN, asked);
	}
	if (!node->free_objects) {
		CHECK(got == MIN(want, m.g.num));
		expect_new(nr, objs, got);
		done = got;
	} else {
		CHECK(got == MIN(want, node->free_objects));
		node->touched |= got < want; /* it looked for more in vain */
	}
	while (done < got) {
		struct model_list *list = node->partial.n ? &node->partial : &node->free;
		struct model_slab *slab = list->slab[0];

		list_take(list, slab);
		node->touched |= list == &node->free;
		done += expect(slab, objs + done, got - done);
	}
	for (i = 0; i < got; i++)
		take(objs[i]);
}

/* ---- what gives slabs back ---- */

static unsigned long drop(unsigned int nr, unsigned long max)
{
	struct model_node *node = &m.node[nr];
	unsigned long n;

	for (n = 0; n < max && node->free.n; n++) {
		struct model_slab *slab = node->free.slab[--node->free.n];

		CHECK(!page_head_of(slab->start));
		set_pages(slab, NULL);
		slab->start = NULL;
		node->free_objects -= m.g.num;
	}
	return n;
}

/* free_block for one object. */
static void put(const char *obj)
{
	struct model_slab *slab = find_slab(obj);

	list_take(list_of(slab), slab);
	slab->free[--slab->inuse] = (unsigned int)(obj - slab->objects) / m.g.size;
	m.node[slab->node].free_objects++;
	list_put(list_of(slab), slab, slab->inuse != 0);
}

static void trim(unsigned int nr)
{
	while (m.node[nr].free_objects > m.node[nr].free_limit && drop(nr, 1)) {}
}

/* Some objects, spread (steps of 7) or neighbours. */
static void op_flush(unsigned int n, unsigned int step)
{
	void *permuted[BATCH];
	char *objs[BATCH];
	unsigned int count = 0;
	unsigned int i;

	while (count < 1 + n % BATCH && m.nr_out) {
		objs[count] = give(n * 31 + count * step);
		permuted[count] = objs[count];
		count++;
	}
	if (count != 1 || m.e.ctor || !slab_try_free(&m.e, permuted[0]))
		slab_flush(&m.e, permuted, count);
	for (i = 0; i < count; i++) {
		unsigned int nr = find_slab(objs[i])->node;

		put(objs[i]);
		if (i + 1 == count || find_slab(objs[i + 1])->node != nr)
			trim(nr);
	}
}

static void op_reap(unsigned int nr)
{
	struct model_node *node = &m.node[nr];
	unsigned long max = (node->free_limit + 5ul * m.g.num - 1) / (5ul * m.g.num);
	unsigned long freed = slab_reap(&m.e, nr);

	CHECK(freed == (node->touched ? 0 : drop(nr, max)));
	node->touched = false;
}

static void op_shrink(void)
{
	bool remain = slab_shrink(&m.e);
	unsigned int i;

	CHECK(remain == (m.nr_out != 0));
	for (i = 0; i < NODES; i++)
		drop(i, MAX_SLABS);
}

static void op_tune(unsigned int batchcount)
{
	unsigned int i;

	slab_ops.tune(&m.e, batchcount);
	for (i = 0; i < NODES; i++)
		m.node[i].free_limit = (1ul + CPUS / NODES) * batchcount + m.g.num;
}

static void operate(unsigned int what, unsigned int n)
{
	switch (what % 12) {
	case 0:
	case 1:
	case 2:
	case 3:
		op_refill(n);
		break;
	case 4:
	case 5:
		op_flush(n, 1);
		break;
	case 6:
	case 7:
		op_flush(n, 7);
		break;
	case 8:
		op_flush(BATCH - 1, 0);
		break;
	case 9:
		os_act_as_cpu(n % CPUS);
		break;
	case 10:
		op_reap(n % NODES);
		break;
	case 11:
		if (n % 4 == 0)
			op_shrink();
		else if (n % 4 == 1)
			op_tune(n % 61);
		break;
	}
}

static void begin(const uint8_t *head)
{
	unsigned int byte = head[0];
	static const unsigned int sizes[] = { 8, 24, 64, 128, 320, 1088, 2048, 5000 };
	struct engine_params params = {
		.name = "fuzz",
		.object_size = sizes[byte % 8],
		.align = byte & 8 ? 128 : 8,
		.ctor = byte & 16 ? ctor : NULL,
		.flags = byte & 32 ? SLAB_TYPESAFE_BY_RCU : 0,
		.page_class = 3,
	};

	CHECK(os_topology.nr_cpu_ids == CPUS && os_topology.nr_nodes == NODES);
	memset(&m, 0, sizeof(m));
	rcu_bind_at_once();
	CHECK(slab_set_max_order(byte & 64 ? 0 : 1) == 0);
	CHECK(slab_ops.init(&m.e, &params) == 0);
	m.g = slab_cache_of(&m.e)->geometry;
	op_tune(byte & 128 ? 60 : 4);
	os_act_as_cpu(0);
}

static void end(void)
{
	while (m.nr_out)
		op_flush(BATCH - 1, 1);
	check_books();
	CHECK(slab_ops.destroy(&m.e) == 0);
	os_rcu_submit();
	meta_check();
}

#define FUZZ_NAME "slab_fuzz"
#define FUZZ_HEAD 1
#define FUZZ_BYTES 600
#define FUZZ_SEEDS 256
#include "driver.h"
