/* SPDX-License-Identifier: MIT */
/*
 * engine/slab/index.c - the array of object numbers: its home, taking and putting (spec 3.2)
 *
 * Data:       objects bytes at slab->freelist; entries inuse.. are the free objects.
 * Invariants: an array in an object is in the one that its last entry names, so that it is handed
 *             out last: nobody needs the array then. After a drain it may be in a descriptor, see
 *             put_home(). Checked by slab_check(). Where it lies is in the descriptor; what it says
 *             was within the program's reach.
 * Locks:      list_lock of the slab's node; new and empty slabs are private.
 * Flow:       called by engine/slab/; calls page/meta.c.
 */
#include "base/assert.h"
#include "engine/slab/slab.h"
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

bool slab_index_new(const struct slab_cache *c, struct page *slab, bool full)
{
	uint8_t *index;
	unsigned int i;

	if (full && c->geometry.placement == SLAB_INDEX_OBJECT) {
		slab->freelist = NULL; /* nowhere, as in slab_index_take() */
		return true;
	}
	index = new_home(c, slab);
	if (!index)
		return false;
	for (i = 0; !full && i < c->geometry.num; i++)
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

/* Numbers of objects that were met. */
struct met {
	uint64_t word[(SLAB_MAX_NUM + 1) / 64];
};

static inline bool met_before(struct met *met, unsigned int number)
{
	uint64_t bit = 1ull << (number % 64);
	bool before = met->word[number / 64] & bit;

	met->word[number / 64] |= bit;
	return before;
}

/* Is there a descriptor of a second page, and room for an array in it? */
static inline bool has_spare(const struct slab_geometry *g)
{
	return g->order && g->num <= sizeof(((struct page *)0)->spare);
}

/* An array in an object lies in the one that goes out last. */
static inline bool is_at_home(const struct slab_cache *c, const struct page *slab,
			      const uint8_t *index)
{
	const struct slab_geometry *g = &c->geometry;

	return g->placement != SLAB_INDEX_OBJECT || (has_spare(g) && index == slab[1].spare) ||
	       (const char *)index == slab_objects(c, slab) + (size_t)index[g->num - 1] * g->size;
}

/* The array was within the program's reach: no number is believed that is none, or comes twice. */
unsigned int slab_index_take(const struct slab_cache *c, struct page *slab, void **objs,
			     unsigned int max)
{
	struct slab_counters counters = engine_counters(slab);
	const uint8_t *index = slab->freelist;
	char *first = slab_objects(c, slab);
	unsigned int number = SLAB_MAX_NUM;
	struct met met = { 0 };
	unsigned int n = 0;

	while (n < max && counters.inuse < counters.objects) {
		number = index[counters.inuse++];
		if (unlikely(number >= counters.objects || met_before(&met, number)))
			return 0;
		objs[n++] = first + (size_t)number * c->geometry.size;
	}
	if (counters.inuse == counters.objects ? unlikely(!is_at_home(c, slab, index))
					       : unlikely(index[counters.inuse] == number))
		return 0;
	engine_set_counters(slab, counters);
	if (counters.inuse == counters.objects && c->geometry.placement == SLAB_INDEX_OBJECT)
		slab->freelist = NULL;
	return n;
}

bool slab_index_has(const struct page *slab, unsigned int number)
{
	struct slab_counters counters = engine_counters(slab);
	const uint8_t *index = slab->freelist;

	for (unsigned int i = counters.inuse; index && i < counters.objects; i++)
		if (index[i] == number)
			return true;
	return false;
}

bool slab_index_mark(const struct slab_cache *c, const struct page *slab,
		     bool is_free[SLAB_MAX_NUM])
{
	struct slab_counters counters = engine_counters(slab);
	const uint8_t *index = slab->freelist;

	memset(is_free, 0, SLAB_MAX_NUM * sizeof(is_free[0]));
	if (!index || counters.inuse == counters.objects)
		return counters.inuse == counters.objects;
	for (unsigned int i = counters.inuse; i < counters.objects; i++) {
		if (index[i] >= counters.objects || is_free[index[i]])
			return false;
		is_free[index[i]] = true;
	}
	return is_at_home(c, slab, index);
}

/*
 * The first object that comes back to a full slab makes room for the array; the program may never
 * have touched the page that it lies in. To give memory back must not make that resident: then the
 * array goes where all is resident. That is possible wherever it matters: slabs of several pages
 * have at most 15 objects, or a lower order would have done (choose_order()). Which objects go out
 * when does not depend on it.
 */
static uint8_t *put_home(const struct slab_cache *c, struct page *slab, unsigned int number,
			 bool verify)
{
	const struct slab_geometry *g = &c->geometry;

	if (unlikely(verify) && has_spare(g))
		return slab[1].spare;
	return (uint8_t *)slab_objects(c, slab) + (size_t)number * g->size;
}

bool slab_index_put(const struct slab_cache *c, struct page *slab, unsigned int number, bool verify)
{
	struct slab_counters counters = engine_counters(slab);
	uint8_t *index = slab->freelist;

	if (unlikely(!counters.inuse)) /* all of them are free */
		return false;
	if (!index) {
		index = put_home(c, slab, number, verify);
		slab->freelist = index;
	} else if (counters.inuse < counters.objects && unlikely(index[counters.inuse] == number)) {
		return false; /* what came last */
	}
	/* Debug builds look at all numbers, too. */
	if (unlikely(verify || ASSERT_ENABLED) && slab_index_has(slab, number))
		return false;
	counters.inuse--;
	index[counters.inuse] = (uint8_t)number;
	engine_set_counters(slab, counters);
	return true;
}
