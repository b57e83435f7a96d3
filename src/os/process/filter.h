/* SPDX-License-Identifier: MIT */
/*
 * os/process/filter.h - filters of system calls (seccomp) that were there before this library
 *
 * Data:       os_filters, and os_filtered of os/memory/readable.h: what was in place when the
 *             library started.
 * Invariants: const from os_filter_init() on, also in children of fork(), which inherit the
 *             filters. errno is preserved.
 * Locks:      none; the library's init calls os_filter_init() before there is a second user.
 * Flow:       called by cache/init.c, cache/control/thread.c, front/array_idle.c, page/clear.c,
 *             page/purge.c and usage.c; read by os/memory/readable.c and inspect/root.c; calls
 *             prctl(2), os/process/file.h.
 */
#ifndef OS_FILTER_H
#define OS_FILTER_H

#include <stdint.h>

#include "base/compiler.h"

/*
 * How many filters every thread of the process had then, and 1 more; 0: not known. A process can
 * add some, and get rid of none. Under these all has been called that commands, debug flags,
 * tracking and reports take, by a child; OS_FILTERS_END: one of them ended it for that.
 */
#define OS_FILTERS_END UINT32_MAX
extern uint32_t os_filters;

cold void os_filter_init(void);

/* Does this thread have filters that were not there then? As far as that can be known. */
cold bool os_filter_was_added(void);

/*
 * May this thread make any of the calls that docs/system-calls.md lists for a miss without a
 * filter? One may end the program for a call that is not usual there. So only if it has none, or
 * those alone under which a child made these calls when the library started, where none can have
 * been added since: no_new_privs is not set, and CAP_SYS_ADMIN not in the bounding set, then and
 * now. That is how containers start a program by default. Not noticed is a filter of who made a
 * user namespace of its own, and dropped the capability again after he had added it.
 */
bool os_filter_lets_through(void);

/* The number by a file like /proc/self/status, as os_filters. */
cold uint32_t os_filter_count(const char *path);

#endif /* OS_FILTER_H */
