/* SPDX-License-Identifier: MIT */
/*
 * unit/debug/fixture.h - engines with debug slabs on a made-up machine, and what was reported
 *
 * Errors count as in the kernel's own tests: each report and each FIX line is one.
 */
#ifndef UNIT_DEBUG_FIXTURE_H
#define UNIT_DEBUG_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "bare.h"
#include "base/bits.h"
#include "bytes.h"
#include "child.h"
#include "debug/report/report.h"
#include "debug/slab.h"
#include "events.h"
#include "machine.h"
#include "page/meta.h"

#define F SLAB_CONSISTENCY_CHECKS
#define Z SLAB_RED_ZONE
#define P SLAB_POISON
#define U SLAB_STORE_USER
#define T SLAB_TRACE
#define FZPU (F | Z | P | U)

static char text[1 << 17]; /* all reports since the last look */
static const char here[1]; /* stands for an address in the program */

static inline void keep_report(__attribute__((unused)) const char *cache, const char *report,
			       __attribute__((unused)) void *arg)
{
	size_t len = strlen(text);

	snprintf(text + len, sizeof(text) - len, "%s", report);
}

static inline void debug_machine(unsigned int cpus, unsigned int nodes)
{
	machine_init(cpus, nodes);
	report_set_hook(keep_report, NULL, true);
	events_reset();
}

static inline int debug_group_setup(__attribute__((unused)) void **state)
{
	debug_machine(2, 1);
	return 0;
}

/* Errors since the last call. */
static inline unsigned long errors(void)
{
	static unsigned long before;
	unsigned long now = report_counters.reports + report_counters.fixes;
	unsigned long since = now - before;

	before = now;
	text[0] = '\0';
	return since;
}

static inline bool said(const char *what)
{
	bool found = strstr(text, what);

	if (!found)
		print_message("no \"%s\" in:\n%s\n", what, text);
	return found;
}

static inline struct engine_params params_of(unsigned int size)
{
	return (struct engine_params){
		.name = "test", .object_size = size, .align = 8, .page_class = 3
	};
}

static inline void make_with(struct engine *e, const struct engine_ops *ops,
			     struct engine_params params, slab_flags_t flags, bool orig_size)
{
	e->ops = ops;
	e->debug = NULL;
	if (ops->init(e, &params) || debug_attach(e, orig_size, params.hardened) ||
	    debug_set_flags(e, flags, false))
		abort();
	events_reset();
	errors();
}

static inline void make(struct engine *e, unsigned int size, slab_flags_t flags)
{
	make_with(e, &slub_ops, params_of(size), flags, false);
}

/* As a kmalloc cache. */
static inline void make_kmalloc(struct engine *e, unsigned int size, slab_flags_t flags)
{
	struct engine_params params = params_of(size);

	if (is_pow2(size))
		params.align = MAX(size, 8u);
	make_with(e, &slub_ops, params, flags, true);
}

static inline void *get_size(struct engine *e, size_t size)
{
	void *obj = debug_alloc(e, GFP_KERNEL, -1, size, here);

	if (!obj)
		abort();
	return obj;
}

static inline void *get(struct engine *e)
{
	return get_size(e, 0);
}

static inline void put(struct engine *e, void *obj)
{
	debug_free(e, obj, here);
}

static inline struct page *slab_of(const void *obj)
{
	struct page *slab = page_head_of(obj);

	if (!debug_is_slab(slab))
		abort();
	return slab;
}

/* Objects of a slab that is full then, in the order in which they came. */
static inline struct page *fill_slab(struct engine *e, void **objs)
{
	for (unsigned int i = 0; i < e->debug->layout->objects; i++)
		objs[i] = get(e);
	return slab_of(objs[0]);
}

static inline struct engine_node *node0(const struct engine *e)
{
	return e->debug->node[0];
}

/* Slab number i of the partial list, from the head; NULL: it is shorter. */
static inline struct page *partial_at(const struct engine *e, unsigned int i)
{
	struct list_head *pos;

	list_for_each(pos, &node0(e)->partial)
		if (i-- == 0)
			return list_entry(pos, struct page, lru);
	return NULL;
}

static inline unsigned long nr_slabs(const struct engine *e)
{
	return node0(e)->nr_slabs;
}

/* A validation of all slabs finds so many errors. */
#define VALIDATED(e, nr)                        \
	do {                                    \
		debug_validate(e);              \
		assert_int_equal(errors(), nr); \
	} while (0)

/* Checks and ends it; all objects must have come back. */
#define END_ENGINE(e)                                      \
	do {                                               \
		(e)->ops->check(e);                        \
		assert_int_equal((e)->ops->destroy(e), 0); \
		debug_detach(e);                           \
		buddy_check();                             \
	} while (0)

/* The same where objects were lost on purpose: the slabs stay behind. */
#define LEAVE_ENGINE(e, objects)                                 \
	do {                                                     \
		(e)->ops->check(e);                              \
		assert_int_equal((e)->ops->destroy(e), objects); \
	} while (0)

#endif /* UNIT_DEBUG_FIXTURE_H */
