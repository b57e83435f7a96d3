/* SPDX-License-Identifier: MIT */
/*
 * cache/mempool/check.c - elements that come to a memory pool or leave it: poison, and mistakes
 *
 * Why:        docs/adr/0041.
 * Data:       none.
 * Invariants: see check.h.
 * Locks:      see check.h.
 * Flow:       see check.h.
 */
#include "cache/mempool/check.h"

#include "base/atomic.h"
#include "cache/instrument/instrument.h"
#include "debug/debug.h"
#include "os/process/say.h"

#define NOTE_MAX 100 /* bytes, with an address */

void element_enters(void *element)
{
	struct page *slab = page_slab_of(element);

	if (unlikely(debug_is_slab(slab)))
		debug_poison_kept(slab, element);
}

void element_leaves(void *element)
{
	struct page *slab = page_slab_of(element);

	if (unlikely(debug_is_slab(slab)))
		debug_check_kept(slab, element);
}

bool element_has_checks(const void *element)
{
	const struct page *slab = page_slab_of(element);

	return debug_is_slab(slab) &&
	       load_relaxed(&slab->engine->debug->flags) & SLAB_CONSISTENCY_CHECKS;
}

/* A mistake of mempool_free() with an object, or another address. */
static cold void report(const void *element, const char *what)
{
	struct page *slab = page_slab_of(element);
	struct engine *e = slab ? slab->engine : NULL;
	char note[NOTE_MAX];

	os_format(note, sizeof(note), "uslab: mempool_free(): 0x%lx is %s", (unsigned long)element,
		  what);
	report_misuse(e, slab, element, REPORT_FREE_ALREADY, note);
	report_not_done(e, element, FIX_NOT_FREED);
	report_deliver();
}

bool element_is_free(void *element)
{
	struct page *slab = page_slab_of(element);
	bool is_free;

	if (!slab)
		return false;
	if (unlikely(debug_is_slab(slab))) {
		instrument_enter();
		is_free = debug_report_free(slab, element);
		instrument_leave();
		return is_free;
	}
	is_free = unlikely(cache_is_free(element));
	if (is_free)
		report(element, "a free object");
	return is_free;
}

void element_report_kept(const void *element)
{
	report(element, "kept by its pool already");
}
