/* SPDX-License-Identifier: MIT */
/*
 * engine/typesafe.c - objects of type-safe caches that wait for a grace period
 *
 * Data:       struct footer.
 * Invariants: see typesafe.h. A footer bears the seal of an engine iff its object waits: other
 *             bytes may lie there, but not by chance that one.
 * Locks:      none: an object that waits belongs to its chain.
 * Flow:       see typesafe.h; called back by os/rcu/rcu.c.
 */
#include "engine/typesafe.h"

#include "base/bits.h"
#include "engine/mistake.h"
#include "os/rcu/rcu.h"

#define BATCH 32 /* objects that are given back at once */

struct footer {
	struct os_rcu_item item;
	uintptr_t seal; /* address of the engine, exclusive or that of the footer */
};

/* It is aligned, the end of the object need not be. */
BUILD_ASSERT(sizeof(struct footer) + sizeof(void *) - 1 <= ENGINE_FOOTER_BYTES);

static uintptr_t seal_of(const struct footer *footer, const struct engine *e)
{
	return (uintptr_t)e ^ (uintptr_t)footer;
}

/* Of an object that waits. */
static struct engine *engine_of(const struct os_rcu_item *item)
{
	const struct footer *footer = container_of(item, struct footer, item);

	return (struct engine *)(footer->seal ^ (uintptr_t)footer);
}

/* From an object to its footer, in bytes. */
static size_t footer_offset(const struct engine *e)
{
	return ALIGN_UP(e->layout->inuse, sizeof(void *));
}

/* Gives back the first ones, as long as they are of one engine. Returns the next one. */
static struct os_rcu_item *reclaim_some(struct os_rcu_item *item)
{
	struct engine *e = engine_of(item);
	void *objs[BATCH];
	unsigned int n = 0;

	while (item && n < BATCH && engine_of(item) == e) {
		struct footer *footer = container_of(item, struct footer, item);

		item = item->next; /* the engine writes there */
		footer->seal = 0;
		objs[n++] = (char *)footer - footer_offset(e);
	}
	e->ops->reclaim(e, objs, n);
	return item;
}

static void release(struct os_rcu_item *first)
{
	while (first)
		first = reclaim_some(first);
}

cold void engine_defer(struct engine *e, void **objs, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct footer *footer = (struct footer *)((char *)objs[i] + footer_offset(e));

		if (unlikely(footer->seal == seal_of(footer, e))) {
			engine_mistake_now(e, objs[i], ENGINE_FREE_AGAIN);
			continue;
		}
		footer->seal = seal_of(footer, e);
		os_rcu_defer(OS_RCU_OBJECTS, &footer->item, release);
	}
}
