/* SPDX-License-Identifier: MIT */
/*
 * inspect/slabinfo.h - data of /proc/slabinfo that a snapshot does not have (spec 9.1)
 *
 * Data:       none of its own.
 * Invariants: every index is below nr_caches and is returned once, whatever the process contains.
 * Locks:      none; the process goes on meanwhile.
 * Flow:       called by tools; snapshot_take() comes first; reads through s->reader, which must
 *             still be usable.
 */
#ifndef INSPECT_SLABINFO_H
#define INSPECT_SLABINFO_H

#include "inspect/snapshot.h"

struct slabinfo_tunables {
	unsigned int limit;
	unsigned int batchcount;
	unsigned int shared;
};

/*
 * Indexes of all caches and rows into order[], the newest cache first, rows
 * that are no caches last.
 */
void slabinfo_order(const struct snapshot *s, uint16_t *order);

/* The limits of a cache with queues; false, and zeros: it has none. */
bool slabinfo_tunables(const struct snapshot *s, unsigned int cache, struct slabinfo_tunables *t);

#endif /* INSPECT_SLABINFO_H */
