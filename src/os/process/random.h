/* SPDX-License-Identifier: MIT */
/*
 * os/process/random.h - a random word for free pointer encoding and shuffles
 *
 * Data:       none.
 * Invariants: never blocks, never fails (falls back to the auxiliary vector and clock).
 * Locks:      none.
 * Flow:       called by filter.c, cache/debug/failslab.c, cache/kmalloc/rows.c, debug/attach.c,
 *             debug/kfence/kfence_pool.c, engine/slub/slub.c and malloc/sampling.c.
 */
#ifndef OS_RANDOM_H
#define OS_RANDOM_H

#include "base/compiler.h"

uint64_t os_random(void);

#endif /* OS_RANDOM_H */
