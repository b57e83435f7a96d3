/* SPDX-License-Identifier: MIT */
/*
 * cache/kmalloc/rows.c - rows of kmalloc's caches: what is allocated at different places, or of
 * different types, lies in different slabs (spec A13)
 *
 * Why:        docs/adr/0051.
 * Data:       rows: for each row and the kernel's index of a size a handle; uslab_kmalloc_no_row,
 *             the row of a site that has none yet; the seed.
 * Invariants: an entry of rows is the handle of number 0, which has no cache and whose word always
 *             misses, until the cache of that row and size is needed; then for ever that cache's.
 *             It may be one of row 0, see below. Row 0 is complete from the start. Checked by
 *             rows_check().
 * Locks:      cache_lock, when a cache is created (struct cache_spec, slot). All else takes none.
 * Flow:       called by kmalloc.c; calls create.c, and kmalloc.c for what such a cache is like.
 *
 * What threads do at once, without a lock:
 *   - an entry changes by a release store under cache_lock, or an exchange, from number 0 to a
 *     cache that is ready. Readers load it and go on from the address that they have loaded: they
 *     miss, or find all of the cache. A reader that still has number 0 asks create.c, which looks
 *     again under the lock: there is at most one cache for each row and size. Only if one thread
 *     cannot create it at the same time as another can is a cache of row 0 there in between.
 *   - a site's row is stored by each thread that finds none. They all store the same, since it
 *     follows from the site's address or token, the seed and the mode, which do not change.
 *
 * A row's cache is an ordinary one with a number of programs (USLAB_ID_FIRST_FREE on): page classes
 * have no space for 195 more, so kfree() finds the cache by the page's descriptor. Its free objects
 * have their marks where kmalloc's have, so that hits clear them without asking where.
 *
 * Row 0 serves instead where the engine has a heap, whose pages all caches share: a row would keep
 * nothing apart there. So it does, with one line on stderr, where a cache cannot be created because
 * no number is left, and for one call where there is no memory.
 */
#include "cache/kmalloc/rows.h"

#include <errno.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/mix.h"
#include "cache/internal.h"
#include "os/process/die.h"
#include "os/process/random.h"

BUILD_ASSERT(KMALLOC_ROWS == 16); /* of which a row is four bits */
BUILD_ASSERT(KMALLOC_SHIFT_HIGH < KMALLOC_INDEXES);

struct kmem_cache *uslab_kmalloc_no_row[KMALLOC_INDEXES];

/* Behind the others that of what is charged to groups (cache/group/). */
#define CHARGED KMALLOC_ROWS
static kmalloc_row rows[KMALLOC_ROWS + 1];
static uint64_t seed;
static int said; /* that a cache could not be created */

void rows_start(const kmalloc_row row0)
{
	struct kmem_cache *none = percpu_handle(USLAB_ID_NONE);

	for (unsigned int i = 0; i < KMALLOC_INDEXES; i++) {
		uslab_kmalloc_no_row[i] = none;
		rows[0][i] = row0[i] ? row0[i] : none;
		for (unsigned int row = 1; row < ARRAY_SIZE(rows); row++)
			rows[row][i] = none;
	}
	if (cache_defaults.partition == PARTITION_RANDOM)
		seed = os_random();
}

void rows_refuse(char *handles)
{
	for (unsigned int i = 0; i < KMALLOC_INDEXES; i++)
		uslab_kmalloc_no_row[i] = (struct kmem_cache *)handles + i;
}

uint64_t rows_seed(void)
{
	return seed;
}

/* ---- which row ---- */

/* Who knows where the program lies must not know the row: hence the seed, and all bits of both. */
static unsigned int row_of_address(const void *p)
{
	return (unsigned int)(mix_bits((uintptr_t)p ^ seed) >> 60);
}

/*
 * Of a type; 0: unknown. The compiler numbers them up to 15 with -falloc-token-max=16, else with
 * all bits: then the upper ones are as good.
 */
static unsigned int row_of_token(unsigned long token)
{
	return (unsigned int)(token < KMALLOC_ROWS ? token : token >> 60);
}

struct kmem_cache **rows_of_place(const void *place)
{
	return rows[cache_defaults.partition == PARTITION_RANDOM ? row_of_address(place) : 0];
}

struct kmem_cache **rows_of_site(struct uslab_kmalloc_site *site)
{
	struct kmem_cache **row = load_relaxed(&site->row);

	if (likely(row != uslab_kmalloc_no_row))
		return row;
	row = cache_defaults.partition == PARTITION_TYPED ? rows[row_of_token(site->token)]
							  : rows_of_place(site);
	store_relaxed(&site->row, row);
	return row;
}

struct kmem_cache **rows_charged(void)
{
	return rows[CHARGED];
}

/* ---- its caches ---- */

/* "kmalloc-part-05-1k", "kmalloc-cg-1k", of the kernel's names. */
static void name_of(char name[CACHE_NAME_MAX], unsigned int row, unsigned int size)
{
	char prefix[CACHE_NAME_MAX];

	if (row == CHARGED)
		os_format(prefix, sizeof(prefix), "kmalloc-cg");
	else
		os_format(prefix, sizeof(prefix), "kmalloc-part-%u%u", row / 10, row % 10);
	kmalloc_name(name, CACHE_NAME_MAX, prefix, size);
}

static cold void say_once(unsigned int row, const char *name, int error)
{
	if (!xchg(&said, 1))
		os_say("%s: %s and others cannot be made (%s); their objects are not kept apart",
		       row == CHARGED ? "kmalloc" : "USLAB_CONF: kmalloc.partition", name,
		       error == -ENOSPC ? "there are too many caches" : "see engine and front");
}

/* That cache serves the row and size from now on, unless there is one by now. */
static struct kmem_cache *serve_by(struct kmem_cache *handle, struct kmem_cache **entry)
{
	struct kmem_cache *none = percpu_handle(USLAB_ID_NONE);

	cmpxchg(entry, none, handle); /* pairs with rows_handle() */
	return handle;
}

/* The engine has no cache of that size, but one of min bytes. */
static struct kmem_cache *serve_by_minimum(struct kmem_cache **row, unsigned int index,
					   unsigned int min)
{
	struct kmem_cache *handle = rows_handle(row, min);
	bool lasts = handle && handle == load_relaxed(&row[uslab_kmalloc_index(min)]);

	return lasts ? serve_by(handle, &row[index]) : handle;
}

static noinline struct kmem_cache *create(struct kmem_cache **row, unsigned int index)
{
	unsigned int nr = (unsigned int)((kmalloc_row *)row - rows);
	unsigned int size = kmalloc_index_size(index);
	char name[CACHE_NAME_MAX];
	struct kmem_cache *handle;
	struct cache_spec spec;
	int ret;

	if (nested_call())
		return NULL;
	name_of(name, nr, size);
	ret = kmalloc_spec(&spec, name, size, nr == CHARGED ? SLAB_ACCOUNT : 0);
	if (!ret && spec.engine->heap)
		return serve_by(rows[0][index], &row[index]);
	if (!ret && size < spec.engine->kmalloc_min)
		return serve_by_minimum(row, index, spec.engine->kmalloc_min);
	spec.slot = &row[index];
	if (!ret)
		ret = cache_create(&spec, &handle);
	if (!ret)
		return handle;
	if (ret == -ENOMEM)
		return rows[0][index];
	say_once(nr, name, ret);
	return serve_by(rows[0][index], &row[index]);
}

struct kmem_cache *rows_handle(struct kmem_cache **row, size_t size)
{
	unsigned int index = uslab_kmalloc_index(size);
	struct kmem_cache *handle = load_acquire(&row[index]); /* pairs with cache_create() */

	return likely(cache_of(handle)) ? handle : create(row, index);
}

/* ---- for tests ---- */

void rows_check(void)
{
	struct kmem_cache *none = percpu_handle(USLAB_ID_NONE);

	for (unsigned int row = 0; row < ARRAY_SIZE(rows); row++)
		for (unsigned int i = 1; i <= KMALLOC_SHIFT_HIGH; i++) {
			const struct kmem_cache *handle = load_acquire(&rows[row][i]);
			const struct cache *c = cache_of(handle);

			if (handle == none) {
				CHECK(row && !c);
				continue;
			}
			CHECK(c && c->handle == handle && c->flags & SLAB_KMALLOC);
			CHECK(c->engine.object_size >= kmalloc_index_size(i));
			CHECK(handle == rows[0][i] || c->front.id >= USLAB_ID_FIRST_FREE);
		}
}
