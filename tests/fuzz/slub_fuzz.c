/* SPDX-License-Identifier: MIT */
/*
 * fuzz/slub_fuzz.c - lists of operations on the SLUB engine against a model
 *
 * A list is bytes: the first chooses the cache, then each operation takes two, what and how much.
 * The model knows every object that is out, by number of slots, and every slab that a CPU owns;
 * after each operation slub_check() runs and the books must agree. Without arguments built-in seeds
 * run; with arguments the files named. Built with -fsanitize=fuzzer it is a libFuzzer target.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "contents.h"
#include "engine/slub/slab.h"
#include "os/cpu/cpu.h"
#include "page/arena.h"
#include "page/buddy.h"

#define MAX_OUT 2000
#define MAX_OWNED 6

struct owned {
	struct page *slab;
	void *freelist; /* the CPU's private list */
};

static struct model {
	struct engine e;
	unsigned char *out[MAX_OUT]; /* live objects of the program, filled with a pattern */
	unsigned int nr_out;
	struct owned cpu[MAX_OWNED]; /* CPU slabs */
	unsigned int nr_cpu;
	struct page *partials; /* a CPU's partial list */
} m;

/* The program gets an object: it must be no other's, so it may be filled. */
static void take(void *obj)
{
	CHECK(obj && m.nr_out < MAX_OUT);
	CHECK((uintptr_t)obj % m.e.align == 0);
	CHECK(page_head_of(obj) && page_head_of(obj)->engine == &m.e);
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

static void op_refill(unsigned int n)
{
	unsigned int want = 1 + n % 40;
	void *objs[40];
	unsigned int got;
	unsigned int i;

	if (m.nr_out + want > MAX_OUT)
		return;
	got = slub_refill(&m.e, objs, want, __GFP_NOWARN, -1 + (int)(n % 3));
	CHECK(got > 0 && got <= want);
	for (i = 0; i < got; i++)
		take(objs[i]);
}

/* Some objects, spread (steps of 7) or neighbours. */
static void op_flush(unsigned int n, unsigned int step)
{
	void *objs[40];
	unsigned int i;

	for (i = 0; i < 1 + n % 40 && m.nr_out; i++)
		objs[i] = give(n * 31 + i * step);
	slub_flush(&m.e, objs, i);
}

/* One object without waiting, or one back. */
static void op_try(unsigned int n)
{
	void *obj;

	if (m.e.ctor)
		return;
	if (n % 2 && m.nr_out) {
		obj = give(n * 17);
		if (!slub_try_free(&m.e, obj))
			slub_flush(&m.e, &obj, 1);
		return;
	}
	buddy_provide(os_current_node(), m.e.layout->order);
	obj = m.nr_out < MAX_OUT ? slub_try_alloc(&m.e, -1 + (int)(n % 3)) : NULL;
	if (obj)
		take(obj);
}

static void op_own_new(void)
{
	struct owned *o = &m.cpu[m.nr_cpu];

	if (m.nr_cpu == MAX_OWNED)
		return;
	o->slab = slub_cpu_new_slab(&m.e, __GFP_NOWARN, -1, &o->freelist);
	CHECK(o->slab);
	m.nr_cpu++;
}

static void op_own_partial(void)
{
	struct owned *o = &m.cpu[m.nr_cpu];
	struct page *more;

	if (m.nr_cpu == MAX_OWNED)
		return;
	o->slab = slub_cpu_get_partial(&m.e, -1, 0, &o->freelist, &more);
	CHECK(o->slab || !more);
	m.nr_cpu += o->slab != NULL;
	while (more) {
		struct page *slab = more;

		more = slab->next;
		slab->next = m.partials;
		m.partials = slab;
	}
}

static void op_pop(unsigned int n)
{
	struct owned *o;

	if (!m.nr_cpu || m.nr_out == MAX_OUT)
		return;
	o = &m.cpu[n % m.nr_cpu];
	if (!o->freelist)
		o->freelist = slub_cpu_get_freelist(&m.e, o->slab);
	if (o->freelist) {
		void *obj = o->freelist;

		o->freelist = freeptr_get(slub_of(&m.e), o->slab->layout, obj);
		take(obj);
	} else { /* full and forgotten */
		*o = m.cpu[--m.nr_cpu];
	}
}

static void op_disown(unsigned int n)
{
	struct owned *o;

	if (!m.nr_cpu)
		return;
	o = &m.cpu[n % m.nr_cpu];
	slub_cpu_deactivate(&m.e, o->slab, o->freelist);
	*o = m.cpu[--m.nr_cpu];
}

static void op_free_slow(unsigned int n)
{
	struct page *slab;
	void *obj;

	if (!m.nr_out)
		return;
	obj = give(n * 13);
	slab = page_head_of(obj);
	if (slub_free_chain(&m.e, slab, obj, obj, 1, n % 2)) {
		slab->next = m.partials;
		m.partials = slab;
	}
}

static void op_unfreeze(void)
{
	slub_cpu_unfreeze_partials(&m.e, m.partials);
	m.partials = NULL;
}

/* Free objects that CPUs hold, by their slabs' books. */
static unsigned long held(void)
{
	struct slab_counters c;
	unsigned long sum = 0;
	struct page *slab;
	unsigned int i;
	void *obj;

	for (i = 0; i < m.nr_cpu; i++) {
		slab = m.cpu[i].slab;
		c = slub_read(slab).counters;
		CHECK(c.frozen);
		sum += c.objects - c.inuse;
		for (obj = m.cpu[i].freelist; obj;
		     obj = freeptr_get(slub_of(&m.e), slab->layout, obj))
			sum++;
	}
	for (slab = m.partials; slab; slab = slab->next) {
		c = slub_read(slab).counters;
		CHECK(c.frozen);
		sum += c.objects - c.inuse;
	}
	return sum;
}

static void check_books(void)
{
	struct engine_stats stats;

	slub_check(&m.e);
	slub_ops.stats(&m.e, &stats);
	CHECK(stats.total_objects == m.nr_out + held() + stats.free_objects);
}

static void operate(unsigned int what, unsigned int n)
{
	switch (what % 13) {
	case 0:
	case 1:
	case 2:
		op_refill(n);
		break;
	case 3:
		op_flush(n, 7);
		break;
	case 4:
		op_flush(n, 1);
		break;
	case 5:
		op_own_new();
		break;
	case 6:
		op_own_partial();
		break;
	case 7:
		op_pop(n);
		break;
	case 8:
		op_disown(n);
		break;
	case 9:
		op_free_slow(n);
		break;
	case 10:
		op_unfreeze();
		break;
	case 11:
		if (n % 4 == 0)
			slub_shrink(&m.e);
		slub_of(&m.e)->min_partial = n % 7;
		break;
	case 12:
		for (unsigned int i = 0; i <= n % 8; i++)
			op_try(n + i);
		break;
	}
}

static void begin(const uint8_t *head)
{
	unsigned int byte = head[0];
	static const unsigned int sizes[] = { 8, 24, 64, 192, 700, 2048, 5000, 40000 };
	struct engine_params params = {
		.name = "fuzz",
		.object_size = sizes[byte % 8],
		.align = 8,
		.pack = byte & 8,
		.hardened = byte & 16,
		.randomised = byte & 32,
		.ctor = (byte & 192) == 192 ? ctor : NULL,
		.page_class = 3,
	};

	memset(&m, 0, sizeof(m));
	CHECK(slub_ops.init(&m.e, &params) == 0);
}

static void end(void)
{
	while (m.nr_out)
		op_flush(255, 1);
	while (m.nr_cpu)
		op_disown(0);
	op_unfreeze();
	check_books();
	CHECK(slub_ops.destroy(&m.e) == 0);
}

#define FUZZ_NAME "slub_fuzz"
#define FUZZ_HEAD 1
#define FUZZ_BYTES 600
#define FUZZ_SEEDS 256
#include "driver.h"
