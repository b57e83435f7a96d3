/* SPDX-License-Identifier: MIT */
/*
 * uslab/malloc.h - what libuslab_malloc.so has beyond malloc(): for programs that move their
 * blocks, as Redis and Valkey do with activedefrag
 *
 * Why it is as it is: docs/adr/0060. Caches have the same in <uslab/mobility.h>.
 */
#ifndef USLAB_MALLOC_H
#define USLAB_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef USLAB_API
#define USLAB_API __attribute__((__visibility__("default")))
#endif

/*
 * Is the slab that the block at p lies in among those that are worth emptying? Then a copy that
 * uslab_malloc_direct() makes room for lies in a fuller one, or in one that lies lower in an arena
 * that is nearly empty, and pages come back when all blocks of that slab have moved. Any pointer;
 * false: of a page run, no block, or with another engine than slub. Costs about the look at one
 * slab. Safe in threads, not in signal handlers.
 */
USLAB_API bool uslab_malloc_should_move(const void *p);

/*
 * As malloc(), of the fullest slab of that size, and low in an arena that is nearly empty; past
 * what CPUs hold. NULL: out of memory, and errno is ENOMEM for more than 32 KiB alone.
 */
USLAB_API void *uslab_malloc_direct(size_t size);

/* As free(), to its slab, past what CPUs hold: not used again before the slab is empty. */
USLAB_API void uslab_free_direct(void *p);

#ifdef __cplusplus
}
#endif

#endif /* USLAB_MALLOC_H */
