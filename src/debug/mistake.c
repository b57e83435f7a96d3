/* SPDX-License-Identifier: MIT */
/*
 * debug/mistake.c - reports of what engines notice in passing (engine/mistake.h)
 *
 * Data:       none.
 * Invariants: nothing of the object or its slab is believed or written: a pointer may lead anywhere.
 * Locks:      that of the text, from the first report until they are delivered.
 * Flow:       called by engine/mistake.c; calls report.c.
 */
#include "debug/mistake.h"

#include "debug/report.h"
#include "engine/mistake.h"
#include "page/page.h"

static void report(struct engine *e, void *obj, enum engine_mistake what)
{
	struct page *slab = page_slab_of(obj);

	switch (what) {
	case ENGINE_FREE_AGAIN:
		report_misuse(e, slab, obj, "Object already free");
		report_fix(e, "Object at 0x%lx not freed again", (unsigned long)obj);
		break;
	case ENGINE_NO_OBJECT:
		report_pointer(e, slab, obj, "Freed pointer is no object of this cache");
		report_fix(e, "0x%lx not freed", (unsigned long)obj);
		break;
	case ENGINE_LIST_BROKEN:
		report_slab(e, slab, "Freechain corrupt");
		report_fix(e, "Isolate corrupted freechain");
		break;
	}
}

void mistake_listen(void)
{
	static const struct engine_listener listener = { report, report_deliver };

	engine_listener = &listener;
}
