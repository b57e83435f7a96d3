/* SPDX-License-Identifier: MIT */
/*
 * debug/report/mistake.h - reports of what engines notice in passing
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      those of report.h.
 * Flow:       called by cache/init.c; called back by engine/mistake.c.
 */
#ifndef DEBUG_MISTAKE_H
#define DEBUG_MISTAKE_H

/*
 * From now on engines report what they notice and go on, instead of ending the
 * program. Before the first cache.
 */
void mistake_listen(void);

#endif /* DEBUG_MISTAKE_H */
