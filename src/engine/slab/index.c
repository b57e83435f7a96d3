/* SPDX-License-Identifier: MIT */
/*
 * engine/slab/index.c - the array of object numbers: its home, taking and putting (spec 3.2)
 *
 * Data:       objects bytes at slab->freelist; entries inuse.. are the free objects.
 * Invariants: an array in an object is in the one that its last entry names, so that it is handed
 *             out last: nobody needs the array then. Checked by slab_check().
 * Locks:      list_lock of the slab's node; new and empty slabs are private.
 * Flow:       called by grow.c, refill.c, free.c; calls page/meta.c.
 */
#include "base/assert.h"
#include "engine/slab/slab.h"
#include "os/die.h"
#include "page/meta.h"

static uint8_t *new_home(const struct slab_cache *c, const struct page *slab)
{
	const struct slab_geometry *g = &c->geometry;

	switch (g->placement) {
	case SLAB_INDEX_OBJECT:
		return (uint8_t *)slab_objects(c, slab) + (size_t)(g->num - 1) * g->size;
	case SLAB_INDEX_OFF:
		return meta_alloc(g->num);
	default:
		return (uint8_t *)page_address(slab) + (PAGE_SIZE << g->order) - g->num;
	}
}

bool slab_index_new(const struct slab_cache *c, struct page *slab)
{
	uint8_t *index = new_home(c, slab);
	unsigned int i;

	if (!index)
		return false;
	for (i = 0; i < c->geometry.num; i++)
		index[i] = (uint8_t)i;
	slab->freelist = index;
	return true;
}

void slab_index_delete(const struct slab_cache *c, struct page *slab)
{
	if (c->geometry.placement == SLAB_INDEX_OFF)
		meta_free(slab->freelist, c->geometry.num);
	slab->freelist = NULL;
}

unsigned int slab_index_take(const struct slab_cache *c, struct page *slab, void **objs,
			     unsigned int max)
{
	struct slab_counters counters = slab_counters_of(slab);
	const uint8_t *index = slab->freelist;
	char *first = slab_objects(c, slab);
	unsigned int n = 0;

	while (n < max && counters.inuse < counters.objects) {
		unsigned int number = index[counters.inuse++];

		ASSERT(number < counters.objects);
		objs[n++] = first + (size_t)number * c->geometry.size;
	}
	slab_set_counters(slab, counters);
	if (counters.inuse == counters.objects && c->geometry.placement == SLAB_INDEX_OBJECT)
		slab->freelist = NULL;
	return n;
}

/*
 * The number of an object. Multiplication by the reciprocal is exact for multiples of the size, and
 * whatever it makes of other addresses, or of those before object 0, does not lead back to them.
 */
static unsigned int object_number(const struct engine *e, const struct page *slab, const void *obj)
{
	const struct slab_cache *c = slab_cache_of(e);
	uint64_t offset = (uint64_t)((const char *)obj - slab_objects(c, slab));
	uint64_t number = (offset * c->reciprocal) >> 32;

	if (unlikely(number >= c->geometry.num || number * c->geometry.size != offset))
		os_die_fmt("slab: 0x%lx was freed, but is no object of cache '%s'",
			   (unsigned long)obj, e->name);
	return (unsigned int)number;
}

static _Noreturn void die_double_free(const struct engine *e, const void *obj)
{
	os_die_fmt("slab: double free detected in cache '%s', objp 0x%lx", e->name,
		   (unsigned long)obj);
}

static bool is_listed(const uint8_t *index, unsigned int from, unsigned int end,
		      unsigned int number)
{
	for (; from < end; from++)
		if (index[from] == number)
			return true;
	return false;
}

void slab_index_put(const struct engine *e, struct page *slab, void *obj)
{
	struct slab_counters counters = slab_counters_of(slab);
	unsigned int number = object_number(e, slab, obj);
	uint8_t *index = slab->freelist;

	/* Everything is free already; debug builds look at the numbers, too. */
	if (unlikely(!counters.inuse) ||
	    (ASSERT_ENABLED && index && is_listed(index, counters.inuse, counters.objects, number)))
		die_double_free(e, obj);
	if (!index) { /* was full: the first object that comes back makes room for the array */
		index = obj;
		slab->freelist = index;
	}
	counters.inuse--;
	index[counters.inuse] = (uint8_t)number;
	slab_set_counters(slab, counters);
}
