/* SPDX-License-Identifier: MIT */
/*
 * debug/mistake.c - reports of what engines notice in passing (engine/mistake.h)
 *
 * Data:       none.
 * Invariants: nothing of the object or its slab is believed or written: a
 *             pointer may lead anywhere.
 * Locks:      that of the text, from the first report until they are delivered.
 * Flow:       called by engine/mistake.c; calls report.c.
 */
#include "debug/mistake.h"

#include "debug/report.h"
#include "engine/mistake.h"
#include "page/page.h"

/*
 * SLAB has words of its own (spec 3.11); SLOB had none, nor has slobseg: they say what SLUB says.
 */
static void report_again(struct engine *e, struct page *page, const void *obj)
{
	if (engine_is(e, &slab_ops))
		report_line(e, "slab: double free detected in cache '%s', objp 0x%lx", e->name,
			    (unsigned long)obj);
	else
		report_misuse(e, page, obj, "Object already free");
}

static void report_broken(struct engine *e, struct page *page)
{
	if (engine_is(e, &slab_ops))
		report_line(e,
			    "slab error in slab_get_obj(): cache `%s': double free, or memory "
			    "outside object was overwritten",
			    e->name);
	else
		report_slab(e, page, "Freechain corrupt");
}

static void report(struct engine *e, void *obj, enum engine_mistake what)
{
	struct page *page = page_head_of(obj);
	unsigned long address = (unsigned long)obj;

	switch (what) {
	case ENGINE_FREE_AGAIN:
		report_again(e, page, obj);
		report_fix(e, "Object at 0x%lx not freed again", address);
		break;
	case ENGINE_NO_OBJECT:
		report_pointer(e, page, obj, "Freed pointer is no object of this cache");
		report_fix(e, "0x%lx not freed", address);
		break;
	case ENGINE_LIST_BROKEN:
		report_broken(e, page);
		report_fix(e, "Isolate corrupted freechain");
		report_count_isolated();
		break;
	case ENGINE_NO_HEADER:
		report_pointer(e, page, obj,
			       "Freed twice, no start of an object, or its header was overwritten");
		report_fix(e, "0x%lx not freed", address);
		break;
	}
}

void mistake_listen(void)
{
	static const struct engine_listener listener = { report, report_deliver };

	engine_listener = &listener;
}
