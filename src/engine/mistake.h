/* SPDX-License-Identifier: MIT */
/*
 * engine/mistake.h - what an engine does when a program's mistake shows: it says so, and goes on
 *
 * Data:       two functions of those who write reports.
 * Invariants: set once, before the first cache; an engine that nobody listens to (a unit test's) dies instead.
 * Locks:      engine_mistake() may be called under a list_lock, engine_mistakes_deliver() without one.
 * Flow:       called by engine/ and front/cpuslab.c; calls debug/mistake.c through the pointers, since floors
 *             call down only.
 */
#ifndef ENGINE_MISTAKE_H
#define ENGINE_MISTAKE_H

#include "engine/engine.h"

enum engine_mistake {
	ENGINE_FREE_AGAIN, /* obj is free in its slab: it is not taken back again */
	ENGINE_NO_OBJECT,  /* no object of this engine starts at obj: it is left alone */
	ENGINE_LIST_BROKEN, /* the free list of obj's slab: the objects that it held are not used again */
};

struct engine_listener {
	/* Collects the report; several may come before they are delivered. */
	void (*report)(struct engine *e, void *obj, enum engine_mistake what);
	void (*deliver)(void);
};

extern const struct engine_listener *engine_listener;

/* The mistake is reported; engine_mistakes_deliver() has to follow. Dies if nobody listens. */
cold void engine_mistake(struct engine *e, void *obj, enum engine_mistake what);
/* What was reported goes out. Context: no list_lock held. */
cold void engine_mistakes_deliver(void);
/* Both at once. Context: no list_lock held. */
cold void engine_mistake_now(struct engine *e, void *obj, enum engine_mistake what);

#endif /* ENGINE_MISTAKE_H */
