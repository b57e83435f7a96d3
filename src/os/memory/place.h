/* SPDX-License-Identifier: MIT */
/*
 * os/memory/place.h - on which real node the memory behind addresses is, and put it there
 *
 * Why:        docs/adr/0062.
 * Data:       none.
 * Invariants: errno is the same before and after each function. Nothing here is for made-up nodes.
 * Locks:      none; callers own the range.
 * Flow:       called by os/memory/policy.c, and engine/placement.c; calls mbind,
 *             move_pages.
 */
#ifndef OS_PLACE_H
#define OS_PLACE_H

#include "base/compiler.h"

struct os_policy;

/* Does the kernel say where pages are, and take policies? Containers' filters often refuse it. */
bool os_can_bind(void);

/*
 * Makes the pages of a range (system's pages) resident, and sees to it that all are on that node:
 * those that are elsewhere are moved there. false: some are not, the node has no memory for them.
 */
bool os_settle_on(void *addr, size_t size, unsigned int node);

/* mbind(2) with that policy, for pages that are still to come; failure is ignored. */
void os_bind_by(void *addr, size_t size, const struct os_policy *policy);

#endif /* OS_PLACE_H */
