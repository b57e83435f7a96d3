/* SPDX-License-Identifier: MIT */
/*
 * os/instrument/probe.h - user-space tracepoints (USDT) with the names and arguments of
 * the kernel's (spec 5.13)
 *
 * Data:       semaphores, how many listen: one for all probes of objects, one for each of pages;
 *             written by tracers from outside.
 * Invariants: a probe is a no-op instruction and a note in the file that says where it is.
 * Locks:      none.
 * Flow:       called by cache/instrument/instrument.c, cache/instrument/instrument.h,
 *             malloc/resize.c, page/buddy.c and page/fit.c. Built without <sys/sdt.h> nobody ever
 *             listens.
 */
#ifndef OS_PROBE_H
#define OS_PROBE_H

#include "base/compiler.h"

/* Section .probes, where tracers look for them. */
extern volatile unsigned short uslab_kmalloc_semaphore;
extern volatile unsigned short uslab_mm_page_alloc_semaphore;
extern volatile unsigned short uslab_mm_page_free_semaphore;

/*
 * Does anybody listen to a probe of objects? One load: allocations that are
 * no hit ask it each time.
 */
static inline bool os_probe_objects(void)
{
	return uslab_kmalloc_semaphore;
}

struct os_probe_alloc {
	const void *call_site;
	const void *ptr;
	size_t bytes_req;
	size_t bytes_alloc;
	unsigned int gfp_flags;
	int node;
	bool accounted;
};

/* name: of the cache; one argument more than the kernel's */
void os_probe_kmalloc(const struct os_probe_alloc *a);
void os_probe_kmem_cache_alloc(const struct os_probe_alloc *a, const char *name);
void os_probe_kfree(const void *call_site, const void *ptr);
void os_probe_kmem_cache_free(const void *call_site, const void *ptr, const char *name);
void os_probe_page_alloc(const void *page, unsigned long pfn, unsigned int order);
void os_probe_page_free(const void *page, unsigned long pfn, unsigned int order);

#endif /* OS_PROBE_H */
