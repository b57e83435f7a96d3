/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/cache.h - lines of the CPU's caches: those of SLAB_HWCACHE_ALIGN
 */
#ifndef USLAB_LINUX_CACHE_H
#define USLAB_LINUX_CACHE_H

#if __has_include_next(<linux/cache.h>)
#include_next <linux/cache.h>
#else

#include <linux/align.h>
#include <linux/compiler.h>

#define L1_CACHE_SHIFT 6
#define L1_CACHE_BYTES (1 << L1_CACHE_SHIFT)
#define SMP_CACHE_BYTES L1_CACHE_BYTES
#define L1_CACHE_ALIGN(x) ALIGN(x, L1_CACHE_BYTES)
#define cache_line_size() L1_CACHE_BYTES

#define ____cacheline_internodealigned_in_smp ____cacheline_aligned
#define __ro_after_init

#endif
#endif /* USLAB_LINUX_CACHE_H */
