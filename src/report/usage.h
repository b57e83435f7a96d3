/* SPDX-License-Identifier: MIT */
/*
 * report/usage.h - how many bytes this process has in slabs, cheap enough to ask after every call
 *
 * Data:       none of its own.
 * Invariants: slab_bytes + large_bytes == pages handed out by the zones. When quiet, slab_bytes
 *             equals snapshot_totals.slab_bytes.
 * Locks:      none: counters are read as they are, exact when quiet.
 * Flow:       called by tools (uslab replay); reads the counters of page/.
 */
#ifndef REPORT_USAGE_H
#define REPORT_USAGE_H

#include <stdint.h>

struct usage {
	uint64_t slab_bytes;
	uint64_t large_bytes; /* kmallocs that are too large for a cache, in whole pages */
};

/* All zero before the library is initialised. */
void usage_read(struct usage *usage);

#endif /* REPORT_USAGE_H */
