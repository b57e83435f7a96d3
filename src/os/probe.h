/* SPDX-License-Identifier: MIT */
/*
 * os/probe.h - user-space tracepoints (USDT) with the names and arguments of the kernel's (spec 5.13)
 *
 * Data:       a semaphore for each probe: how many listen; written by tracers from outside.
 * Invariants: a probe is a no-op instruction and a note in the file that says where it is.
 * Locks:      none.
 * Flow:       called by page/buddy.c and cache/friends.c. Built without <sys/sdt.h> nobody ever listens.
 */
#ifndef OS_PROBE_H
#define OS_PROBE_H

#include "base/compiler.h"

/* One for each probe; section .probes, where tracers look for them. */
extern volatile unsigned short uslab_kmalloc_semaphore;
extern volatile unsigned short uslab_kfree_semaphore;
extern volatile unsigned short uslab_kmem_cache_alloc_semaphore;
extern volatile unsigned short uslab_kmem_cache_free_semaphore;
extern volatile unsigned short uslab_mm_page_alloc_semaphore;
extern volatile unsigned short uslab_mm_page_free_semaphore;

/* Does anybody listen to a probe of objects? (The four semaphores stand side by side.) */
static inline bool os_probe_objects(void)
{
	return uslab_kmalloc_semaphore | uslab_kfree_semaphore | uslab_kmem_cache_alloc_semaphore |
	       uslab_kmem_cache_free_semaphore;
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
