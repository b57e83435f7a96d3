/* SPDX-License-Identifier: MIT */
/*
 * cache/group/own.c - classes of the drop-in that a group uses much have a cache of its own
 *
 * Data:       own: the caches that there are, by number; which of them a group has for a class is
 *             in its numbers (group.h). often: how often groups missed, by a hash.
 * Invariants: see own.h.
 * Locks:      cache_lock for the table.
 * Flow:       called by malloc/; calls cache.c, create.c, drain.c, switch.c, the front.
 */
#include "cache/group/own.h"

#include "base/assert.h"
#include "base/bits.h"
#include "cache/internal.h"
#include "cache/object.h"
#include "engine/limit.h"
#include "os/instrument/memcheck.h"
#include "os/process/die.h"
#include "os/time/clock.h"
#include "page/meta.h"
#include "page/realtime.h"
#include "page/used.h"

BUILD_ASSERT(USLAB_ID_KMALLOC <= GROUP_NUMBERS);

/*
 * So many allocations that no array served: of a group that has the CPU's charged arrays some 15
 * each, so 1000 objects. The slab that it may take then is worth it.
 */
#define MISSES 64u
#define CLOSE_MS 100u /* between two looks at caches of groups that were destroyed before */

static struct own {
	unsigned int class; /* 0: there is no such cache, nor is one about to be made */
	uint32_t group;	    /* GROUP_NONE: it is anybody's */
	bool closed;
} own[USLAB_ID_KMALLOC];

static const struct own_classes *classes;
static unsigned int first;
static bool useless;		/* what was made has no hits */
static unsigned int nr_orphans; /* closed ones that have slabs; atomic */
static uint64_t closed_at;	/* os_clock_ms() when they were last looked at */

static struct cache *cache_at(unsigned int number)
{
	return cache_of(percpu_handle(number));
}

/* ---- how often ---- */

#define OFTEN 256u

/* Number of the group, class, and how often: in one word, so that it is of one pair. */
static uint32_t often[OFTEN];
#define OFTEN_KEY(id, class) ((id) << 16 | (class) << 8)
#define OFTEN_COUNT(word) ((word)&0xff)

/* A hint: of two pairs with one place the one that is more frequent gets it. */
static bool is_frequent(uint32_t id, unsigned int class)
{
	uint32_t *place = &often[(id * 61 + class) % OFTEN];
	uint32_t key = OFTEN_KEY(id, class);
	uint32_t word = load_relaxed(place);
	bool mine = (word ^ OFTEN_COUNT(word)) == key;

	if (mine)
		word = OFTEN_COUNT(word) + 1 < MISSES ? word + 1 : key;
	else
		word = OFTEN_COUNT(word) ? word - 1 : key + 1;
	store_relaxed(place, word);
	return mine && word == key;
}

/* ---- caches that belong to a group, or to nobody ---- */

/* Tools and reports read a name without a lock: it ends at any time. */
static void rename_locked(struct cache *c, unsigned int class, const struct group *g)
{
	struct cache_spec spec = { .size = 0 };
	char base[CACHE_NAME_MAX], name[CACHE_NAME_MAX] = { 0 };

	classes->describe(class, &spec, base);
	if (g)
		os_format(name, sizeof(name), "%s:%u-%s", base, g->id, g->name);
	else
		os_format(name, sizeof(name), "%s:unused-%u", base, c->front.id);
	for (unsigned int i = 0; i < CACHE_NAME_MAX - 1; i++)
		store_relaxed(&c->name[i], name[i]);
}

/* With the rules of USLAB_CONF for the class's own cache. No lock is held. */
static int create(unsigned int number, unsigned int class)
{
	char name[CACHE_NAME_MAX];
	struct kmem_cache *handle;
	struct cache_spec spec = { .name = name };

	classes->describe(class, &spec, name);
	spec.id = number;
	spec.flags |= SLAB_KMALLOC;
	spec.no_merge = true;
	return cache_create(&spec, &handle);
}

static bool open_locked(struct own *o, unsigned int number, struct group *g)
{
	struct cache *c = cache_at(number);

	if (group_adopt_id_locked(c, g->id))
		return false;
	rename_locked(c, o->class, g);
	if (o->closed)
		cache_watch_locked(c, WATCH_ORPHAN, false);
	if (c->watch & WATCH_OVER)
		cache_watch_locked(c, WATCH_OVER, false);
	o->closed = false;
	o->group = g->id;
	/* pairs with group_own_alloc() */
	store_release(&g->numbers[o->class], (unsigned char)number);
	return true;
}

/* Its slabs go, as far as nothing is in use there. Without slabs it is anybody's. */
static void close_locked(struct own *o, unsigned int number)
{
	struct cache *c = cache_at(number);

	if (!o->closed) {
		cache_watch_locked(c, WATCH_ORPHAN, true);
		store_relaxed(&nr_orphans, nr_orphans + 1);
	}
	o->closed = true;
	cache_give_back_locked(c);
	if (!o->group || !group_release_cache_locked(c))
		return;
	store_relaxed(&nr_orphans, nr_orphans - 1);
	rename_locked(c, o->class, NULL);
	o->group = GROUP_NONE;
}

/*
 * Those of groups that were destroyed before, if their objects are gone by now. One that is
 * nobody's has slabs if somebody was stopped before he allocated from it.
 */
static void close_more_locked(void)
{
	if (os_clock_ms() - closed_at < CLOSE_MS)
		return;
	for (unsigned int i = first; i < USLAB_ID_KMALLOC; i++)
		if (own[i].closed && (own[i].group || load_relaxed(&engine_limits[i].pages)))
			close_locked(&own[i], i);
	closed_at = os_clock_ms();
}

static void close_of_locked(uint32_t id)
{
	unsigned char *numbers = group_at(id)->numbers;

	for (unsigned int class = 0; numbers && class < GROUP_NUMBERS; class += 1)
		store_relaxed(&numbers[class], 0);
	for (unsigned int i = first; i < USLAB_ID_KMALLOC; i++)
		if (own[i].group == id && !own[i].closed)
			close_locked(&own[i], i);
}

/* A group was destroyed: id, if it has caches. By now the number may be another one's. */
static void group_is_destroyed(uint32_t id)
{
	if (!id && !load_relaxed(&nr_orphans))
		return;
	lock_acquire(&cache_lock);
	close_more_locked();
	if (id && load_relaxed(&group_at(id)->dying))
		close_of_locked(id);
	cache_unlock();
}

/* ---- a group gets one ---- */

/* One for the class that nobody has, or else a number that is free, which is taken; 0: none. */
static unsigned int find_locked(unsigned int class)
{
	unsigned int found = 0;

	for (unsigned int i = first; i < USLAB_ID_KMALLOC; i++) {
		if (own[i].class == class && !own[i].group && cache_at(i) &&
		    !load_relaxed(&engine_limits[i].pages))
			return i;
		if (!own[i].class && !found)
			found = i;
	}
	if (found)
		own[found].class = class;
	return found;
}

/* Only where arrays hit, and frees by address do. */
static bool may_hit(const struct cache *c)
{
	return c && front_has_arrays(&c->front) && !c->engine.ops->heap &&
	       c->engine.mark == USLAB_MARK_OFFSET;
}

static unsigned int find_for(struct group *g, unsigned int class)
{
	unsigned int number = 0;

	lock_acquire(&cache_lock);
	if (!g->numbers) /* pairs with group_own_alloc() */
		store_release(&g->numbers, meta_alloc(GROUP_NUMBERS));
	if (g->numbers && !g->numbers[class] && !useless) {
		number = find_locked(class);
		if (!number) {
			close_more_locked();
			number = find_locked(class);
		}
	}
	cache_unlock();
	return number;
}

/* A child of fork() may find the number taken, and no cache: then it is lost. */
static void make(struct group *g, unsigned int class)
{
	unsigned int number = find_for(g, class);
	int ret = number && !cache_at(number) ? create(number, class) : 0;

	if (!number)
		return;
	lock_acquire(&cache_lock);
	if (ret)
		own[number].class = 0;
	else if (!may_hit(cache_at(number)))
		useless = true;
	else if (!own[number].group && !g->numbers[class])
		open_locked(&own[number], number, g);
	cache_unlock();
}

/* No later call is to do more than it must; memory checkers and `hardened` have no hits. */
static bool may_make(unsigned int class)
{
	return percpu_rseq && !realtime_counters.bytes && !os_memcheck_on && !used_are_kept() &&
	       may_hit(cache_at(class)) && cache_at(class)->engine.object_size <= classes->most;
}

/* That of the group's cache for the class, or 0. */
static unsigned int number_of(uint32_t id, unsigned int class)
{
	const unsigned char *numbers = load_acquire(&group_at(id)->numbers); /* as make() */

	return numbers ? load_acquire(&numbers[class]) : 0; /* likewise */
}

void group_own_missed(uint32_t id, unsigned int class)
{
	unsigned int number = id ? number_of(id, class) : 0;

	if (number && unlikely(load_relaxed(&cache_at(number)->watch) & WATCH_OVER))
		group_cache_open(cache_at(number));
	if (id && !number && is_frequent(id, class) && may_make(class))
		make(group_at(id), class);
}

struct cache *group_own_cache(uint32_t id, unsigned int class)
{
	unsigned int number = id ? number_of(id, class) : 0;

	return number ? cache_at(number) : NULL;
}

void *group_own_alloc(uint32_t id, unsigned int class, gfp_t gfp)
{
	struct cache *c = group_own_cache(id, class);
	void *obj;

	if (!c)
		return NULL;
	group_use_numbers(id, group_at(id)->numbers);
	if (cache_is_watched(c, WATCH_ALLOC))
		return NULL;
	obj = c->front.ops->alloc(&c->front, gfp | __GFP_NOWARN, NUMA_NO_NODE);
	return likely(obj) ? cache_unmark(c, obj) : NULL;
}

/* ---- the others ---- */

void group_own_each(unsigned int class, void (*visit)(struct cache *c, void *arg), void *arg)
{
	for (unsigned int i = first; i < USLAB_ID_KMALLOC; i++)
		if (load_relaxed(&own[i].class) == class && cache_at(i))
			visit(cache_at(i), arg);
}

void group_own_init(const struct own_classes *of)
{
	first = USLAB_ID_MALLOC + of->nr;
	classes = of;
	group_destroyed = group_is_destroyed;
}

void group_own_check(void)
{
	for (unsigned int i = first; i < USLAB_ID_KMALLOC; i++) {
		const struct own *o = &own[i];
		const struct cache *c = cache_at(i);

		if (!c)
			continue;
		CHECK(o->class >= USLAB_ID_MALLOC && o->class < first);
		CHECK(c->engine.object_size == cache_at(o->class)->engine.object_size);
		CHECK(c->engine.page_class == i && o->group == engine_group(&c->engine));
		CHECK(!o->group || o->closed || group_at(o->group)->numbers[o->class] == i);
	}
}
