/* SPDX-License-Identifier: MIT */
/*
 * cache/kmalloc/rows.h - the rows of kmalloc's caches (USLAB_CONF=kmalloc.partition)
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       included by cache/kmalloc/ and its tests.
 */
#ifndef CACHE_ROWS_H
#define CACHE_ROWS_H

#include <uslab/slab.h>

#include "base/compiler.h"

#define KMALLOC_ROWS 16
#define KMALLOC_INDEXES 16 /* the kernel's indexes of sizes, 1 to 13, and what a table needs */

/* A row: handles by the kernel's index of a size. Row 0 has the caches kmalloc-8 to kmalloc-8k. */
typedef struct kmem_cache *kmalloc_row[KMALLOC_INDEXES];

/*
 * After kmalloc's own caches were made, which row 0 gets; before any allocation. The others have no
 * cache yet.
 */
void rows_start(const kmalloc_row row0);
/* Instead, if the library cannot start: sites have these handles, whose words miss. */
void rows_refuse(char *handles);

/* The row of a code location: that of a call or of a site. With any partition but random row 0. */
struct kmem_cache **rows_of_place(const void *place);
/* The row of a site, by the partition that is set; stores it there, for hits. */
struct kmem_cache **rows_of_site(struct uslab_kmalloc_site *site);

/* The row of what is charged to groups. */
struct kmem_cache **rows_charged(void);

/*
 * The cache for 1..KMALLOC_MAX_CACHE_SIZE bytes in a row, created if it is not there. NULL: a
 * nested call (page/nested.h) that would have to create it.
 */
struct kmem_cache *rows_handle(struct kmem_cache **row, size_t size);

/* For tests: the seed of code locations. */
uint64_t rows_seed(void);
void rows_check(void);

/* ---- kmalloc.c ---- */
struct cache_spec;
/* What a cache of kmalloc is created by; flags: further ones. Resolved: 0 or -errno. */
int kmalloc_spec(struct cache_spec *spec, const char *name, unsigned int size, unsigned int flags);

#endif /* CACHE_ROWS_H */
