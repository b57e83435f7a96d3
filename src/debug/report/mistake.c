/* SPDX-License-Identifier: MIT */
/*
 * debug/report/mistake.c - reports of what engines notice in passing (engine/mistake.h)
 *
 * Why:        docs/adr/0026, docs/adr/0027.
 * Data:       none.
 * Invariants: nothing of the object or its slab is believed or written: a
 *             pointer may lead anywhere.
 * Locks:      that of the text, from the first report until they are delivered.
 * Flow:       see mistake.h; calls report.c.
 */
#include "debug/report/mistake.h"

#include "debug/report/report.h"
#include "engine/mistake.h"
#include "os/process/die.h"
#include "page/page.h"

#define NOTE_MAX 256 /* bytes of a line, with the name of a cache */

/*
 * SLAB has words of its own (spec 3.11), which follow those that all engines have here; SLOB had
 * none, nor has slobseg.
 */
static void report_again(struct engine *e, struct page *page, const void *obj)
{
	char note[NOTE_MAX];

	os_format(note, sizeof(note), "slab: double free detected in cache '%s', objp 0x%lx",
		  e->name, (unsigned long)obj);
	report_misuse(e, page, obj, REPORT_FREE_ALREADY, engine_is(e, &slab_ops) ? note : NULL);
	report_not_done(e, obj, FIX_NOT_FREED);
}

static void report_broken(struct engine *e, struct page *page)
{
	char note[NOTE_MAX];

	os_format(note, sizeof(note),
		  "slab error in slab_get_obj(): cache `%s': double free, or memory "
		  "outside object was overwritten",
		  e->name);
	report_slab_noted(e, page, REPORT_FREE_CHAIN, engine_is(e, &slab_ops) ? note : NULL);
	report_fix(e, FIX_FREE_CHAIN, NULL);
	report_count_isolated();
}

static void report_no_object(struct engine *e, struct page *page, const void *p, const char *why)
{
	char note[NOTE_MAX];

	os_format(note, sizeof(note), "uslab: 0x%lx %s %s", (unsigned long)p, why, e->name);
	report_invalid(e, page, p, note);
	report_not_done(e, p, FIX_NOT_FREED);
}

static void report(struct engine *e, void *obj, enum engine_mistake what)
{
	struct page *page = page_head_of(obj);

	switch (what) {
	case ENGINE_FREE_AGAIN:
		report_again(e, page, obj);
		break;
	case ENGINE_NO_OBJECT:
		report_no_object(e, page, obj, "is no object of");
		break;
	case ENGINE_LIST_BROKEN:
		report_broken(e, page);
		break;
	case ENGINE_NO_HEADER:
		report_no_object(e, page, obj,
				 "was freed twice, starts no object, is one of a cache (kfree() "
				 "takes none with this engine), or its header was overwritten, in");
		break;
	}
}

void mistake_listen(void)
{
	static const struct engine_listener listener = { report, report_deliver };

	engine_listener = &listener;
}
