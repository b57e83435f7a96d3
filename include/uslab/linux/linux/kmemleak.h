/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/kmemleak.h - the kernel's leak detector: here nothing; valgrind(1) finds leaks
 */
#ifndef USLAB_LINUX_KMEMLEAK_H
#define USLAB_LINUX_KMEMLEAK_H

#include <linux/gfp.h>

static inline void kmemleak_alloc(const void *p, size_t size, int min_count, gfp_t flags)
{
	(void)p, (void)size, (void)min_count, (void)flags;
}

static inline void kmemleak_free(const void *p)
{
	(void)p;
}

static inline void kmemleak_not_leak(const void *p)
{
	(void)p;
}

static inline void kmemleak_ignore(const void *p)
{
	(void)p;
}

static inline void kmemleak_update_trace(const void *p)
{
	(void)p;
}

#endif /* USLAB_LINUX_KMEMLEAK_H */
