/* SPDX-License-Identifier: MIT */
/*
 * malloc/group.c - what threads in accounting groups allocate
 *
 * Why:        docs/adr/0061.
 * Data:       caches: for each class the handle of a cache malloc-cg-<size>, made when the first
 *             thread in a group asks for that size.
 * Invariants: an entry is NULL, for a moment the handle of number 0, which has no cache, and then
 *             for ever that of a cache with SLAB_ACCOUNT whose pages have no class. So free() finds
 *             it by the page, and frees of all other objects stay hits. Where the engine has a heap
 *             there are none: pages do not say whose they are there, and the class's own cache
 *             serves. Checked by malloc_group_check().
 * Locks:      cache_lock, when a cache is created (struct cache_spec, slot).
 * Flow:       called by slow.c, direct.c, info.c and init.c; calls cache/.
 */
#include "base/assert.h"
#include "cache/group/hit.h"
#include "cache/group/own.h"
#include "cache/group/watched.h"
#include "engine/place.h"
#include "front/percpu.h"
#include "malloc/internal.h"
#include "malloc/sampling.h"
#include "os/process/die.h"

static struct kmem_cache *caches[MALLOC_CLASSES + 1];

#define HITS 64u /* of charged arrays, for one miss */

#define N4(n) (n), (n) + 1, (n) + 2, (n) + 3
#define N16(n) N4(n), N4((n) + 4), N4((n) + 8), N4((n) + 12)
BUILD_ASSERT(MALLOC_CLASSES == 78);
/* For threads in no group: each class's number is itself. */
static const unsigned char outside[GROUP_NUMBERS] = { N16(0), N16(16), N16(32), N16(48), N4(64),
						      N4(68), N4(72),  76,	77,	 78 };

struct cache *malloc_group_class(unsigned int class)
{
	struct kmem_cache *handle = load_acquire(&caches[class]); /* pairs with cache_create() */

	return handle ? cache_of(handle) : NULL;
}

/* Caches that groups have for a class: as the class's own. */
static void describe(unsigned int class, struct cache_spec *spec, char *name)
{
	spec->size = (unsigned int)malloc_class_size(class);
	spec->align = (unsigned int)malloc_class_align(class);
	spec->pack = true;
	os_format(name, CACHE_NAME_MAX, "malloc-%u", spec->size);
}

void malloc_group_init(void)
{
	/* larger ones do not hit */
	static const struct own_classes of = { MALLOC_CLASSES, MALLOC_MAX_TABLE, describe };

	group_own_init(&of);
	group_numbers_outside = outside;
}

static cold struct cache *create(unsigned int class)
{
	struct cache *own = cache_of(percpu_handle(class));
	char name[32];
	struct kmem_cache *handle;
	struct cache_spec spec = {
		.name = name,
		.size = (unsigned int)malloc_class_size(class),
		.align = (unsigned int)malloc_class_align(class),
		.flags = SLAB_ACCOUNT | SLAB_KMALLOC,
		.slot = &caches[class],
		.pack = true,
		.no_merge = true,
	};

	os_format(name, sizeof(name), "malloc-cg-%u", spec.size);
	cmpxchg(&caches[class], NULL, percpu_handle(USLAB_ID_NONE)); /* which has no cache */
	return own->engine.ops->heap || cache_create(&spec, &handle) ? own : cache_of(handle);
}

/* Who only hits charged arrays, call by call, has the class much used as well. */
static void count_hit(uint32_t id, unsigned int class)
{
	static __thread unsigned int hits __attribute__((tls_model("initial-exec")));

	if (unlikely(++hits % HITS == 0) && lock_is_plain())
		group_own_missed(id, class);
}

/* New objects of a cache of the group are checked or tracked: none comes from elsewhere. */
static bool is_debugged(const struct cache *own)
{
	return own && unlikely(load_relaxed(&own->watch) & WATCH_DEBUG);
}

/* From the cache that the group has for the class, or the CPU's charged array; NULL: neither. */
static always_inline void *quick(struct cache *c, const struct cache *own, uint32_t id,
				 unsigned int class)
{
	void *p = own && lock_is_plain() ? group_own_alloc(id, class, MALLOC_GFP) : NULL;

	if (p || is_debugged(own))
		return p;
	p = group_hit_alloc(c, id, MALLOC_GFP);
	if (likely(p))
		count_hit(id, class);
	return p;
}

/* NULL: it is not sampled, or there is no room. */
static void *sampled(struct cache *c, gfp_t gfp, size_t size, const void *caller)
{
	uint32_t sample = sampling_passes(size) ? 0 : sampling_decide(c, size);

	return sample ? cache_alloc_sampled(c, MAX(size, 1ul), caller, gfp, sample) : NULL;
}

/* A handler may take this thread to another group at any time: its number is read once. */
void *malloc_group_alloc(unsigned int class, size_t size, const void *caller)
{
	const gfp_t gfp = MALLOC_GFP | __GFP_ACCOUNT;
	const uint32_t id = load_relaxed(&group_current);
	struct cache *c = malloc_group_class(class);
	struct cache *own = group_own_cache(id, class);
	void *p;

	if (unlikely(!c))
		c = create(class);
	group_watch(c);
	if (unlikely(load_relaxed(&control.sample_mean)) &&
	    (p = sampled(own ? own : c, own ? MALLOC_GFP : gfp, size, caller)))
		return p;
	p = quick(c, own, id, class);
	if (p)
		return p;
	if (is_debugged(own) && lock_is_plain() &&
	    (p = cache_alloc_for(own, MALLOC_GFP, NUMA_NO_NODE, MAX(size, 1ul), caller)))
		return p;
	if (lock_is_plain())
		group_own_missed(id, class);
	return cache_alloc_for(c, gfp, NUMA_NO_NODE, MAX(size, 1ul), caller);
}

bool malloc_group_hit(size_t size, void **result)
{
	const uint32_t id = load_relaxed(&group_current);
	unsigned int class = malloc_class_of(MIN(size, MALLOC_MAX_TABLE));
	struct cache *c = size <= MALLOC_MAX_TABLE ? malloc_group_class(class) : NULL;
	struct cache *own;

	if (unlikely(!c) || unlikely(load_relaxed(&control.sample_mean)))
		return false;
	own = group_own_cache(id, class);
	*result = quick(c, own, id, class);
	if (likely(*result))
		return true;
	if (unlikely(!lock_is_plain() || !group_is_all(c)) || is_debugged(own))
		return false;
	group_own_missed(id, class);
	*result = group_cache_alloc(c, MALLOC_GFP | __GFP_ACCOUNT, NUMA_NO_NODE);
	return true;
}

bool malloc_group_free(void *p, const void *caller)
{
	struct page *slab = page_slab_of(p);
	struct cache *c;
	uint32_t *word;

	if (!slab || slab->layout->kind != LAYOUT_PLAIN)
		return false;
	c = container_of(slab->engine, struct cache, engine);
	word = group_word_of(slab, p);
	if (likely(word) && likely(load_relaxed(word)) && front_has_arrays(&c->front) &&
	    likely(group_hit_free(c, slab, load_relaxed(word), p)))
		return true;
	if (unlikely(!lock_is_plain() || !group_is_all(c)))
		return false;
	group_cache_free(c, p, caller);
	return true;
}

bool malloc_group_add_run(void *p, size_t size)
{
	return group_add_pages(group_current, p, size, GROUP_CHARGE) == GROUP_ADDED;
}

struct cache *malloc_group_cache(const void *p)
{
	const struct page *slab = page_slab_of(p);

	return slab && slab->layout->kind == LAYOUT_PLAIN && engine_starts_object(slab, p)
		       ? container_of(slab->engine, struct cache, engine)
		       : NULL;
}

void malloc_group_check(void)
{
	for (unsigned int class = 1; class <= MALLOC_CLASSES; class += 1) {
		const struct cache *c = malloc_group_class(class);

		CHECK(!c || (c->engine.object_size == malloc_class_size(class) &&
			     c->flags & SLAB_ACCOUNT && !c->engine.page_class));
	}
	group_own_check();
}
