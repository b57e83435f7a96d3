/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/shrinker.h - functions that give objects back: <uslab/shrinker.h>
 *
 * The two steps of Linux 4.17 to 6.6 as well: nothing is prepared here.
 */
#ifndef USLAB_LINUX_SHRINKER_H
#define USLAB_LINUX_SHRINKER_H

#include <linux/gfp.h>
#include <linux/types.h>

#include <uslab/shrinker.h>

#define prealloc_shrinker(...) 0

static inline void register_shrinker_prepared(struct shrinker *shrinker)
{
	register_shrinker(shrinker);
}

static inline void free_prealloced_shrinker(struct shrinker *shrinker)
{
	(void)shrinker;
}

/* Whoever ends a shrinker has waited already. */
static inline void synchronize_shrinkers(void)
{
}

#endif /* USLAB_LINUX_SHRINKER_H */
