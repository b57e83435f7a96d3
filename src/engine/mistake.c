/* SPDX-License-Identifier: MIT */
/*
 * engine/mistake.c - what an engine does when a program's mistake shows: it says so, and goes on
 *
 * Data:       who listens.
 * Invariants: see mistake.h.
 * Locks:      none.
 * Flow:       see mistake.h; calls the listener.
 */
#include "engine/mistake.h"

#include "os/process/die.h"

const struct engine_listener *engine_listener;

static cold _Noreturn void die(const struct engine *e, const void *obj, enum engine_mistake what)
{
	static const char *const text[] = {
		[ENGINE_FREE_AGAIN] = "double free of",
		[ENGINE_NO_OBJECT] = "free of what is no object,",
		[ENGINE_LIST_BROKEN] = "corrupt free list at",
		[ENGINE_NO_HEADER] = "no header before",
	};

	os_die_fmt("%s: %s %p in cache %s", e->ops->name, text[what], obj, e->name);
}

void engine_mistake(struct engine *e, void *obj, enum engine_mistake what)
{
	if (!engine_listener)
		die(e, obj, what);
	engine_listener->report(e, obj, what);
}

void engine_mistakes_deliver(void)
{
	if (engine_listener)
		engine_listener->deliver();
}

void engine_mistake_now(struct engine *e, void *obj, enum engine_mistake what)
{
	engine_mistake(e, obj, what);
	engine_mistakes_deliver();
}
