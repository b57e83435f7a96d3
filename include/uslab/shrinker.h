/* SPDX-License-Identifier: MIT */
/*
 * uslab/shrinker.h - the kernel's shrinkers: functions of the program that give objects back when
 * memory is short
 *
 * The kernel has these names in <linux/shrinker.h>; both ways to register are here, that of Linux
 * 6.7 (shrinker_alloc()) and the older one (register_shrinker()). A program that keeps objects only
 * because they may be wanted again, such as a cache of what was read or computed, registers how to
 * count and how to free them.
 *
 * Called where an allocation finds no memory, or meets a limit (uslab_set_limit(),
 * kmem_cache_set_limit()), before it fails; ahead of that with USLAB_CONF=reclaim=...; and by
 * uslab_trim(). The first time for a small part of the objects, then for more and more (the
 * kernel's priorities). Only by requests that may wait: with __GFP_DIRECT_RECLAIM, as in
 * GFP_KERNEL, not GFP_ATOMIC or GFP_NOWAIT; nor by malloc() of libuslab_malloc.so, which may be
 * called under any lock.
 *
 * They run in the thread that wants memory, or in the library's own (reclaim=...), while the
 * library holds no lock; several threads may run one at the same time. They may call all of the
 * library, but must not end the shrinker that they are of; what they allocate themselves calls no
 * shrinker, no reclaim callback and no hook. They take locks of the program only by trying, unless
 * no thread allocates with __GFP_DIRECT_RECLAIM while it holds them. They must return. Signal
 * handlers that allocate with __GFP_DIRECT_RECLAIM may have them called. Why it is as it is:
 * docs/adr/0063.
 */
#ifndef USLAB_SHRINKER_H
#define USLAB_SHRINKER_H

#include <uslab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mem_cgroup;

/**
 * struct shrink_control - what a shrinker is asked for
 * @gfp_mask:   of the request
 * @nid:        the node to give objects of back: 0 unless SHRINKER_NUMA_AWARE
 * @nr_to_scan: objects that scan_objects() is to look at
 * @nr_scanned: how many it did look at; nr_to_scan if it does not say
 * @memcg:      NULL
 */
struct shrink_control {
	gfp_t gfp_mask;
	int nid;
	unsigned long nr_to_scan;
	unsigned long nr_scanned;
	struct mem_cgroup *memcg;
};

#define SHRINK_STOP (~0UL)	/* scan_objects(): nothing can be freed now, do not call again */
#define SHRINK_EMPTY (~0UL - 1) /* count_objects(): there are none */

#define DEFAULT_SEEKS 2

/* flags. The first two are the library's. */
#define SHRINKER_REGISTERED (1u << 0)
#define SHRINKER_ALLOCATED (1u << 1)
#define SHRINKER_NUMA_AWARE (1u << 2)  /* called for each node, by its number */
#define SHRINKER_MEMCG_AWARE (1u << 3) /* without effect */
#define SHRINKER_NONSLAB (1u << 4)     /* without effect */

/**
 * struct shrinker - a shrinker; zero what is not set
 * @count_objects: how many objects could be freed, about; 0 or SHRINK_EMPTY: none now. Should be
 *                 quick, and must not fail
 * @scan_objects:  looks at nr_to_scan objects, and frees those of them that it can. Returns how
 *                 many it freed, or SHRINK_STOP
 * @batch:         objects for one call of scan_objects(); 0: 128
 * @seeks:         what an object costs to make again, DEFAULT_SEEKS if that is about a read of a
 *                 disk: with twice as much half as many are asked for; 0: nothing
 * @flags:         SHRINKER_NUMA_AWARE
 * @private_data:  the program's
 */
struct shrinker {
	unsigned long (*count_objects)(struct shrinker *shrinker, struct shrink_control *sc);
	unsigned long (*scan_objects)(struct shrinker *shrinker, struct shrink_control *sc);
	long batch;
	int seeks;
	unsigned int flags;
	void *private_data;
};

/**
 * shrinker_alloc - memory for a shrinker, with DEFAULT_SEEKS
 * @flags: SHRINKER_NUMA_AWARE, SHRINKER_MEMCG_AWARE, SHRINKER_NONSLAB
 * @fmt:   a name, as for printf(); the kernel shows it in debugfs, here it is not kept
 *
 * NULL: out of memory. Any thread; not in a signal handler; so are the others.
 */
USLAB_API struct shrinker *shrinker_alloc(unsigned int flags, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * From now on it may be called. One that is registered already stays so. Out of memory: it is not,
 * and SHRINKER_REGISTERED is not set in its flags.
 */
USLAB_API void shrinker_register(struct shrinker *shrinker);

/*
 * Ends one of shrinker_alloc(), registered or not, and frees it. Returns when no other thread runs
 * it. NULL: nothing is done.
 */
USLAB_API void shrinker_free(struct shrinker *shrinker);

/**
 * register_shrinker - registers a shrinker in memory of the program
 * @shrinker: stays as it is until unregister_shrinker()
 * @fmt:      a name, which may be left out, as before Linux 6.0
 *
 * Returns 0; -ENOMEM; -EEXIST: it is registered already; -EINVAL: one of its functions is NULL.
 */
USLAB_API int register_shrinker(struct shrinker *shrinker, const char *fmt, ...);
/* Returns when no other thread runs it. One that is not registered: nothing is done. */
USLAB_API void unregister_shrinker(struct shrinker *shrinker);

/* Without a name too. */
#define register_shrinker(...) (register_shrinker)(__VA_ARGS__, USLAB_CAST(const char *, NULL))

#ifdef __cplusplus
}
#endif

#endif /* USLAB_SHRINKER_H */
