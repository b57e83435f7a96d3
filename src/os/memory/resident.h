/* SPDX-License-Identifier: MIT */
/*
 * os/memory/resident.h - memory that is there before it is used, and stays
 *
 * Data:       none.
 * Invariants: addresses and sizes are multiples of os_page_size(). errno is preserved.
 * Locks:      none; callers serialise what they do to one range.
 * Flow:       called by page/clear.c, page/realtime.c, cache/init.c and inspect/usage.c; calls
 *             madvise, mincore, mlock, munlock, and os/process/file.h.
 */
#ifndef OS_RESIDENT_H
#define OS_RESIDENT_H

#include "base/compiler.h"

/*
 * Makes the memory behind a committed range resident; its bytes stay. 0 or -errno: -ENOMEM: there
 * is not enough.
 */
int os_populate(void *addr, size_t size);
/* Keeps the memory behind a range in memory until the range is released. 0 or -errno. */
int os_lock(void *addr, size_t size);
/*
 * As os_populate() and os_lock() for the program or library that these functions are part of: its
 * data; its code and data. Failure is ignored.
 */
void os_populate_image(void);
void os_lock_image(void);
/* Takes back what os_lock() did for a range; failure is ignored. */
void os_unlock(void *addr, size_t size);

#define OS_COUNT_MOST 512u /* pages */
/*
 * How many pages of a range, which are OS_COUNT_MOST at most, are in memory; what was swapped out
 * is not. -errno: the system does not say. Only where
 * os_filter_lets_through(): lists of calls for services do not have mincore().
 */
long os_count_resident(void *addr, size_t size);

/*
 * Bytes of memory that the system can give without swapping (MemAvailable of /proc/meminfo; where
 * that cannot be read all of the machine's). 0: unknown. Limits of control groups are not in it.
 */
size_t os_available_memory(void);

#endif /* OS_RESIDENT_H */
