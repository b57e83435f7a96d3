/* SPDX-License-Identifier: MIT */
/*
 * api/debug_api.c - public functions for debugging (<uslab/slab.h>)
 *
 * Data:       none.
 * Invariants: what needs no cache makes the library ready.
 * Locks:      none.
 * Flow:       called by programs; calls cache/, debug/report/.
 */
#include <errno.h>

#include "api/api.h"
#include "cache/cache.h"
#include "debug/report/report.h"

USLAB_API long kmem_cache_validate(struct kmem_cache *s)
{
	return cache_validate(cache_of(s));
}

USLAB_API int uslab_set_debug(const char *pattern, const char *debug_flags)
{
	int ret = pattern ? api_init() : -EINVAL;

	return ret ? ret : cache_set_debug_pattern(pattern, debug_flags);
}

USLAB_API bool uslab_dump_obj(const void *p)
{
	return cache_dump_obj(p);
}

USLAB_API int uslab_check_object(const void *p, size_t n)
{
	return cache_check_object(p, n);
}

USLAB_API void uslab_set_report_hook(uslab_report_hook hook, void *arg, bool quiet)
{
	report_set_hook(hook, arg, quiet);
}

USLAB_API int uslab_set_failslab(const char *text)
{
	int ret = api_init();

	return ret ? ret : cache_set_failslab(text);
}
