/* SPDX-License-Identifier: MIT */
/*
 * engine/mistake.h - what an engine does when a program's mistake shows: it says so, and goes on
 *
 * Why:        docs/adr/0026, docs/adr/0027.
 * Data:       two functions of those who write reports.
 * Invariants: set once, before the first cache; an engine that nobody listens to (a
 *             unit test's) dies instead.
 * Locks:      engine_mistake() may be called under a lock of an engine,
 *             engine_mistakes_deliver() without one. In between none is taken: whoever holds it
 *             may wait for the text of a report.
 * Flow:       called by debug/alloc.c, debug/free.c, engine/, front/cpuslab.c and front/queues.c;
 *             the pointers lead to debug/report/mistake.c, since floors call down only.
 */
#ifndef ENGINE_MISTAKE_H
#define ENGINE_MISTAKE_H

#include "engine/engine.h"
#include "os/lock/lock.h"

enum engine_mistake {
	ENGINE_FREE_AGAIN, /* obj is free in its slab: it is not taken back again */
	ENGINE_NO_OBJECT,  /* no object of this engine starts at obj: it is left alone */
	/*
	 * What a slab, or a page of a heap, says of its free objects cannot be: it is isolated,
	 * i.e. on no list, and what was free in it is never handed out, so that it is never given
	 * back. Counted with the report.
	 */
	ENGINE_LIST_BROKEN, /* obj: where it begins */
	/* obj is of a heap, and no header of such an object precedes it: left alone */
	ENGINE_NO_HEADER,
};

struct engine_listener {
	/* Collects the report; several may come before they are delivered. */
	void (*report)(struct engine *e, void *obj, enum engine_mistake what);
	void (*deliver)(void);
};

extern const struct engine_listener *engine_listener;

/* The mistake is reported; engine_mistakes_deliver() has to follow. Dies if nobody listens. */
cold void engine_mistake(struct engine *e, void *obj, enum engine_mistake what);
/* What was reported goes out. Context: no lock of an engine held. */
cold void engine_mistakes_deliver(void);
/*
 * Releases an engine's lock; if *said, which it guards, reports were collected
 * under it: delivers them.
 */
static inline void engine_unlock(struct lock *lock, bool *said)
{
	bool deliver = *said;

	*said = false;
	lock_release(lock);
	if (unlikely(deliver))
		engine_mistakes_deliver();
}
/* Both at once. Context: no lock of an engine held. */
cold void engine_mistake_now(struct engine *e, void *obj, enum engine_mistake what);

#endif /* ENGINE_MISTAKE_H */
