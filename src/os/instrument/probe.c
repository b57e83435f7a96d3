/* SPDX-License-Identifier: MIT */
/*
 * os/instrument/probe.c - user-space tracepoints (USDT) with the names and arguments of
 * the kernel's (spec 5.13)
 *
 * Data:       the semaphores.
 * Invariants: see os/instrument/probe.h.
 * Locks:      none.
 * Flow:       see probe.h.
 *
 * The notes that <sys/sdt.h> makes say in which registers or where in memory the arguments are.
 */
#include "os/instrument/probe.h"

#if __has_include(<sys/sdt.h>) && !defined(USLAB_NO_TOOL_HEADERS)
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#else
/* Arguments count as used. */
static inline void no_probe(int first, ...)
{
	(void)first;
}
#define STAP_NOTHING(...) no_probe(0, __VA_ARGS__)
#define STAP_PROBE2(provider, name, ...) STAP_NOTHING(__VA_ARGS__)
#define STAP_PROBE3(provider, name, ...) STAP_NOTHING(__VA_ARGS__)
#define STAP_PROBE5(provider, name, ...) STAP_NOTHING(__VA_ARGS__)
#define STAP_PROBE7(provider, name, ...) STAP_NOTHING(__VA_ARGS__)
#define STAP_PROBE8(provider, name, ...) STAP_NOTHING(__VA_ARGS__)
#endif

#define SEMAPHORE(name) \
	__attribute__((used, section(".probes"))) volatile unsigned short uslab_##name##_semaphore

/* Other names for kmalloc's: each note wants a name of its own. */
#define SAME_SEMAPHORE(name)                                    \
	extern volatile unsigned short uslab_##name##_semaphore \
		__attribute__((alias("uslab_kmalloc_semaphore")))

SEMAPHORE(kmalloc);
SAME_SEMAPHORE(kfree);
SAME_SEMAPHORE(kmem_cache_alloc);
SAME_SEMAPHORE(kmem_cache_free);
SEMAPHORE(mm_page_alloc);
SEMAPHORE(mm_page_free);

void os_probe_kmalloc(const struct os_probe_alloc *a)
{
	STAP_PROBE7(uslab, kmalloc, a->call_site, a->ptr, a->bytes_req, a->bytes_alloc,
		    a->gfp_flags, a->node, a->accounted);
}

void os_probe_kmem_cache_alloc(const struct os_probe_alloc *a, const char *name)
{
	STAP_PROBE8(uslab, kmem_cache_alloc, a->call_site, a->ptr, a->bytes_req, a->bytes_alloc,
		    a->gfp_flags, a->node, a->accounted, name);
}

void os_probe_kfree(const void *call_site, const void *ptr)
{
	STAP_PROBE2(uslab, kfree, call_site, ptr);
}

void os_probe_kmem_cache_free(const void *call_site, const void *ptr, const char *name)
{
	STAP_PROBE3(uslab, kmem_cache_free, call_site, ptr, name);
}

/* The kernel's have the GFP flags and the migrate type here, which our pages do not have: 0. */
void os_probe_page_alloc(const void *page, unsigned long pfn, unsigned int order)
{
	STAP_PROBE5(uslab, mm_page_alloc, page, pfn, order, 0, 0);
}

void os_probe_page_free(const void *page, unsigned long pfn, unsigned int order)
{
	STAP_PROBE3(uslab, mm_page_free, page, pfn, order);
}
