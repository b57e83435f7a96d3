/* SPDX-License-Identifier: MIT */
/*
 * page/refaults.h - counts pages that were purged and taken again, of the whole process
 *
 * Data:       refaults_now.
 * Invariants: pages of zones and of kept mappings alike.
 * Locks:      none: an atomic count.
 * Flow:       included by keep.c and zone.h, which count here, and by refault_rate.c, which looks.
 */
#ifndef PAGE_REFAULTS_H
#define PAGE_REFAULTS_H

#include "base/atomic.h"
#include "base/compiler.h"

extern unsigned long refaults_now; /* pages since refault_rate.c last looked; atomic */

/* So many pages that were purged lately are taken again. */
static inline void refaults_note(unsigned long nr_pages)
{
	if (unlikely(nr_pages))
		fetch_add(&refaults_now, nr_pages);
}

#endif /* PAGE_REFAULTS_H */
