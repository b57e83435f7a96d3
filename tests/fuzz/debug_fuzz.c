/* SPDX-License-Identifier: MIT */
/*
 * fuzz/debug_fuzz.c - lists of operations on an engine with debug slabs against a model
 *
 * A list is bytes: the first two choose engine and cache, then each operation takes two, what and
 * how much. The model knows every object that is out and how many bytes of it are the program's;
 * these hold a pattern. After each operation all checks run, the books must agree, and nothing may
 * have been reported, unless the operation was a mistake: then the number of errors is known.
 * Without arguments built-in seeds run; with arguments the files named. Built with
 * -fsanitize=fuzzer it is a libFuzzer target.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "contents.h"
#include "debug/report/report.h"
#include "debug/slab.h"
#include "manual_rcu.h"
#include "os/cpu/cpu.h"
#include "page/arena.h"
#include "page/buddy.h"

#define MAX_OUT 400

struct out {
	unsigned char *obj;
	size_t size; /* bytes that are the program's */
};

static struct model {
	struct engine e;
	bool orig_size;
	struct out out[MAX_OUT];
	unsigned int nr_out;
	unsigned long errors; /* counted so far */
} m;

static const slab_flags_t flag_sets[] = {
	0,
	SLAB_CONSISTENCY_CHECKS,
	SLAB_RED_ZONE,
	SLAB_POISON,
	SLAB_STORE_USER,
	DEBUG_DEFAULT,
	SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER,
	SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE,
};

static bool is_debug(const void *obj)
{
	return debug_is_slab(page_head_of(obj));
}

static bool checks(void)
{
	return m.e.debug->flags & SLAB_CONSISTENCY_CHECKS;
}

static unsigned long new_errors(void)
{
	unsigned long now = report_counters.reports + report_counters.fixes;
	unsigned long since = now - m.errors;

	m.errors = now;
	return since;
}

static void take(void *obj, size_t size)
{
	CHECK(obj && m.nr_out < MAX_OUT);
	CHECK((uintptr_t)obj % m.e.align == 0);
	if (m.e.ctor)
		check_constructed(obj);
	fill(obj, size);
	m.out[m.nr_out++] = (struct out){ obj, size };
}

/* Object number i of those that are out is freed; no other has written to it. */
static void *give(unsigned int i)
{
	struct out o;

	i %= m.nr_out;
	o = m.out[i];
	check_filled(o.obj, o.size);
	m.out[i] = m.out[--m.nr_out];
	if (m.e.ctor)
		ctor(o.obj);
	return o.obj;
}

static void op_alloc(unsigned int n)
{
	size_t asked = n % (m.e.object_size + 1);
	void *obj;

	if (m.nr_out == MAX_OUT || !m.e.debug->layout)
		return;
	obj = debug_alloc(&m.e, __GFP_NOWARN, (int)(n % 4) - 1, asked, &m);
	CHECK(is_debug(obj) && page_head_of(obj)->layout == m.e.debug->layout);
	take(obj, debug_usable_size(page_head_of(obj), obj));
}

static void op_refill(unsigned int n)
{
	unsigned int want = 1 + n % 16;
	void *objs[16];
	unsigned int got;

	if (m.nr_out + want > MAX_OUT)
		return;
	got = m.e.ops->refill(&m.e, objs, want, __GFP_NOWARN, -1);
	CHECK(got > 0 && got <= want);
	for (unsigned int i = 0; i < got; i++) {
		CHECK(!is_debug(objs[i]));
		take(objs[i], m.e.object_size);
	}
}

/* A debug object by name, any other by flush. */
static void op_free(unsigned int n)
{
	void *obj;

	if (!m.nr_out)
		return;
	obj = give(n * 31);
	if (is_debug(obj))
		debug_free(&m.e, obj, &m);
	else
		m.e.ops->flush(&m.e, &obj, 1);
	os_rcu_submit();
}

static void op_flush(unsigned int n)
{
	void *objs[40];
	unsigned int i;

	for (i = 0; i < 1 + n % 40 && m.nr_out; i++)
		objs[i] = give(n * 31 + i * 7);
	m.e.ops->flush(&m.e, objs, i);
	os_rcu_submit();
}

static void op_resize(unsigned int n)
{
	struct out *o;
	size_t size = 1 + n % m.e.object_size;

	if (!m.nr_out)
		return;
	o = &m.out[n * 7 % m.nr_out];
	if (!is_debug(o->obj) || !debug_resize(page_head_of(o->obj), o->obj, size))
		return;
	CHECK(debug_usable_size(page_head_of(o->obj), o->obj) == size);
	fill(o->obj, size);
	o->size = size;
}

/* One byte behind the object: found by validation, and repaired. */
static void op_overrun(unsigned int n)
{
	const struct page *slab;
	struct out *o;

	if (!m.nr_out)
		return;
	o = &m.out[n * 7 % m.nr_out];
	slab = page_head_of(o->obj);
	if (!debug_is_slab(slab) || !(slab->layout->debug & SLAB_RED_ZONE))
		return;
	o->obj[o->size] = (unsigned char)~o->obj[o->size];
	debug_validate(&m.e);
	CHECK(new_errors() == 2);
}

/* Freed twice, or from its middle: said, and nothing else happens. */
static void op_mistake(unsigned int n)
{
	struct page *slab;
	unsigned int inuse;
	char *obj;

	if (!m.nr_out || !checks() || !is_debug(m.out[n * 7 % m.nr_out].obj))
		return;
	if (n % 2) {
		obj = (char *)m.out[n * 7 % m.nr_out].obj + 1 + n % 7;
	} else {
		obj = give(n * 7);
		debug_free(&m.e, obj, &m);
	}
	slab = page_head_of(obj);
	if (!debug_is_slab(slab))
		return; /* was the last one of its slab */
	inuse = engine_counters(slab).inuse;
	debug_free(&m.e, obj, &m);
	CHECK(new_errors() == 2 && engine_counters(slab).inuse == inuse);
}

/* What a program wrote into a free object is found before the object is allocated again. */
static void op_use_after_free(unsigned int n)
{
	struct page *slab;
	char *obj;

	if (!m.nr_out || !checks() || !is_debug(m.out[n * 7 % m.nr_out].obj))
		return;
	obj = give(n * 7);
	debug_free(&m.e, obj, &m);
	slab = page_head_of(obj);
	if (!debug_is_slab(slab) || !debug_poisons_objects(slab))
		return;
	obj[0] = 0;
	debug_validate(&m.e);
	CHECK(new_errors() == 2 && !engine_counters(slab).frozen);
}

static void check_books(void)
{
	struct engine_stats stats;

	CHECK(new_errors() == 0);
	m.e.ops->check(&m.e);
	m.e.ops->stats(&m.e, &stats);
	CHECK(stats.total_objects - stats.free_objects == m.nr_out);
}

static void operate(unsigned int what, unsigned int n)
{
	switch (what % 16) {
	case 0 ... 3:
		op_alloc(n);
		break;
	case 4:
		op_refill(n);
		break;
	case 5 ... 7:
		op_free(n);
		break;
	case 8:
		op_flush(n);
		break;
	case 9:
		op_resize(n);
		break;
	case 10:
		op_overrun(n);
		break;
	case 11:
		op_mistake(n);
		break;
	case 12:
		op_use_after_free(n);
		break;
	case 13:
		debug_validate(&m.e);
		break;
	case 14:
		if (n % 4 == 0)
			m.e.ops->shrink(&m.e);
		m.e.debug->min_partial = n % 7;
		break;
	case 15:
		debug_set_flags(&m.e, flag_sets[n % ARRAY_SIZE(flag_sets)], n & 64);
		break;
	}
}

static void quiet(__attribute__((unused)) const char *cache,
		  __attribute__((unused)) const char *text, __attribute__((unused)) void *arg)
{
}

static void begin(const uint8_t *head)
{
	unsigned int a = head[0];
	unsigned int b = head[1];
	static const unsigned int sizes[] = { 8, 20, 64, 96, 192, 700, 2048, 5000 };
	static const struct engine_ops *const engines[] = { &slub_ops, &slab_ops, &slobseg_ops,
							    &slob_ops };
	struct engine_params params = {
		.name = "fuzz",
		.object_size = sizes[b % 8],
		.align = b & 8 ? 64 : 8,
		.hardened = b & 16,
		.ctor = (b & 96) == 96 ? ctor : NULL,
		.flags = (b & 96) == 64 ? SLAB_TYPESAFE_BY_RCU : 0,
		.page_class = 3,
	};

	report_set_hook(quiet, NULL, true);
	memset(&m, 0, sizeof(m));
	rcu_bind_at_once();
	new_errors();
	m.e.ops = engines[a % 4];
	CHECK(m.e.ops->init(&m.e, &params) == 0);
	m.orig_size = b & 128;
	CHECK(debug_attach(&m.e, m.orig_size, params.hardened) == 0);
	CHECK(debug_set_flags(&m.e, flag_sets[a / 4 % ARRAY_SIZE(flag_sets)], false) == 0);
}

static void end(void)
{
	while (m.nr_out)
		op_flush(255);
	check_books();
	CHECK(m.e.ops->destroy(&m.e) == 0);
	debug_detach(&m.e);
}

#define FUZZ_NAME "debug_fuzz"
#define FUZZ_HEAD 2
#define FUZZ_BYTES 600
#define FUZZ_SEEDS 256
#include "driver.h"
