/* SPDX-License-Identifier: MIT */
/*
 * cache/group/object.c - objects and blocks that are charged to groups, and caches that have some
 *
 * Data:       the word beside each object (cache/extension.h): the number of its group, or 0.
 * Invariants: an object with a word is of a cache with WATCH_GROUPS, so that each free of it comes
 *             by group_drop(): the cache gets the bit before the word is stored, and before anybody
 *             else has the object's address. Who still frees an object by a hit path that he had
 *             begun before has one without a word.
 * Locks:      cache_lock to set the bit.
 * Flow:       called by cache/ and malloc/; calls charge.c, extension.c, switch.c.
 *
 * The word is stored by whoever allocated the object, and taken out by an exchange by the one that
 * frees it, before it is anybody's again: of two that free the same object one finds it.
 *
 * Who moves objects may find one whose allocation has not returned yet. If he looks first, he
 * leaves GROUP_MOVES as its word, and who allocates finds that, and takes another object: nothing
 * leads to the first one ever. Else he finds the number, and the charge moves, too. GROUP_MOVES
 * ends when he is done, or when the object is freed: so in a child of fork(), where he is no more.
 */
#include "base/bits.h"
#include "cache/extension.h"
#include "cache/group/word.h"
#include "cache/internal.h"
#include "debug/pages/pages.h"

/* ---- objects and blocks ---- */

static bool store_word(const struct ext_place *place, uint32_t id)
{
	if (place->word)
		return group_store_word(place->word, group_word(place, id));
	ext_exchange(PAGE_EXT_GROUPS, place, id);
	return true;
}

/*
 * A block of whole pages has more than was asked for: that is charged as well, or given back.
 * Blocks with records may have red zones beside it, and keep these.
 */
static void charge_rest(uint32_t id, size_t charged, void *p, struct ext_place *place)
{
	size_t more = place->bytes - charged;

	if (group_charge_ahead(id, more))
		return;
	if (!blocks_are_known() && run_cut(p, charged))
		place->bytes = charged;
	else
		group_charge_slow(id, more, GROUP_CHARGE_MORE | GROUP_CHARGE_FORCED);
}

/* What is at place, of which at least these bytes are charged. p: of whole pages, else NULL. */
static enum group_added add(uint32_t id, struct ext_place *place, void *p, size_t needed,
			    unsigned int how)
{
	if (!ext_has_word(place)) /* of a cache whose objects have no extensions: to nobody */
		return place->bytes ? GROUP_NOT_ADDED : GROUP_ADDED;
	if (place->cache && !group_watch(place->cache))
		return GROUP_ABOUT_TO_MOVE;
	id = group_charge(id, needed, how);
	if (id == GROUP_REFUSED)
		return GROUP_NOT_ADDED;
	if (id && place->bytes > needed)
		charge_rest(id, needed, p, place);
	if (!id || likely(store_word(place, id)))
		return GROUP_ADDED;
	group_uncharge(id, place->bytes);
	return GROUP_ABOUT_TO_MOVE;
}

enum group_added group_add(uint32_t id, struct cache *c, const void *p, unsigned int how)
{
	struct ext_place place = ext_find(PAGE_EXT_GROUPS, c, p, true);

	return add(id, &place, NULL, place.bytes, how);
}

enum group_added group_add_pages(uint32_t id, void *p, size_t size, unsigned int how)
{
	struct ext_place place = ext_find(PAGE_EXT_GROUPS, NULL, p, true);

	return add(id, &place, p, MIN(ALIGN_UP(size, PAGE_SIZE), place.bytes), how);
}

void group_drop_slow(struct cache *c, const void *p)
{
	struct ext_place place = ext_find(PAGE_EXT_GROUPS, c, p, false);
	uint32_t id = ext_has_word(&place) ? ext_exchange(PAGE_EXT_GROUPS, &place, 0) : GROUP_NONE;

	id = group_of_word(&place, id);
	if (id)
		group_uncharge(id, place.bytes);
}

/* ---- objects that move ---- */

/* As a word: of no group. A free object with a key may have that key already, or none yet. */
static uint32_t no_group(const struct ext_place *place)
{
	return group_word(place, GROUP_NONE);
}

/* If none is charged so far, whoever charges the first one finds WATCH_MOVES: group_watch(). */
uint32_t group_hold(struct cache *c, const void *p)
{
	uint32_t id = (uint32_t)engine_group(&c->engine);
	struct ext_place place;

	if (id || !(load_acquire(&c->watch) & WATCH_GROUPS)) /* pairs with switch.c */
		return id;
	place = ext_find(PAGE_EXT_GROUPS, c, p, true);
	if (!place.word)
		return GROUP_NONE;
	if (!cmpxchg(place.word, GROUP_NONE, GROUP_MOVES))
		cmpxchg(place.word, no_group(&place), GROUP_MOVES);
	return group_at_place(&place);
}

void group_let_go(struct cache *c, const void *p)
{
	struct ext_place place;

	if (!groups_are_known())
		return;
	place = ext_find(PAGE_EXT_GROUPS, c, p, false);
	if (place.word)
		cmpxchg(place.word, GROUP_MOVES, no_group(&place));
}

bool group_copy(struct cache *c, const void *from, const void *to)
{
	const struct ext_place old = ext_find(PAGE_EXT_GROUPS, c, from, false);
	struct ext_place place;
	uint32_t id;

	if (!group_at_place(&old))
		return true; /* it was freed */
	place = ext_find(PAGE_EXT_GROUPS, c, to, true);
	if (!place.word)
		return false;
	id = group_charge_like(&old, place.bytes);
	if (id)
		ext_exchange(PAGE_EXT_GROUPS, &place, group_word(&place, id));
	return true;
}

uint32_t group_of(struct cache *c, const void *p)
{
	struct ext_place place;

	if (unlikely(engine_group(&c->engine)))
		return (uint32_t)engine_group(&c->engine);
	if (!groups_are_known())
		return GROUP_NONE;
	place = ext_find(PAGE_EXT_GROUPS, c, p, false);
	return group_at_place(&place);
}

/*
 * It stays counted in its own group meanwhile. Charges are forced: a group at its limit is the one
 * whose memory is wanted back, and what moves is freed right after.
 */
void group_visit(struct cache *c, uint32_t id, void *const *objs, int nr)
{
	group_own = group_set_current(GROUP_NONE);
	group_numbers = group_no_numbers;
	group_visits = true;
	if (id && id == engine_group(&c->engine)) { /* which has the cache, and so stays */
		group_count(id);
		group_set_current(id);
		return;
	}
	for (int i = 0; id && i < nr && !group_current; i++) {
		const struct ext_place place = ext_find(PAGE_EXT_GROUPS, c, objs[i], false);

		if (place.word && group_count_like(&place, id))
			group_set_current(id);
	}
}

void group_return(void)
{
	uint32_t visited = group_go_to(group_own); /* first: a handler may allocate in between */

	if (visited)
		group_leave(visited);
	group_own = GROUP_NONE;
	group_visits = false;
}

/* ---- resized blocks ---- */

bool group_replace_begin(const void *p)
{
	const struct page *slab = page_slab_of(p);
	struct cache *c = slab ? container_of(slab->engine, struct cache, engine) : NULL;
	const struct ext_place place = ext_find(PAGE_EXT_GROUPS, c, p, false);

	if ((slab ? group_of(c, p) : group_at_place(&place)) != group_current)
		return false;
	group_visits = true;
	return true;
}

/* The word is taken out while the block may move. It gets whole pages. */
bool group_resize_begin(struct group_resize *r, const void *p, size_t bytes)
{
	struct ext_place place = ext_find(PAGE_EXT_GROUPS, NULL, p, false);

	r->id = ext_has_word(&place) ? ext_exchange(PAGE_EXT_GROUPS, &place, 0) : GROUP_NONE;
	r->charged = place.bytes;
	if (!r->id || bytes <= r->charged)
		return true;
	bytes = ALIGN_UP(bytes, PAGE_SIZE);
	if (group_charge_slow(r->id, bytes - r->charged, GROUP_CHARGE_MORE) == GROUP_REFUSED) {
		ext_exchange(PAGE_EXT_GROUPS, &place, r->id);
		return false;
	}
	r->charged = bytes;
	return true;
}

void group_resize_end(const struct group_resize *r, void *p)
{
	struct ext_place place;

	if (!r->id)
		return;
	place = ext_find(PAGE_EXT_GROUPS, NULL, p, true);
	if (place.bytes > r->charged)
		charge_rest(r->id, r->charged, p, &place);
	else if (place.bytes < r->charged)
		group_uncharge(r->id, r->charged - place.bytes);
	if (ext_has_word(&place))
		ext_exchange(PAGE_EXT_GROUPS, &place, r->id);
	else /* no memory for its word: it is charged to nobody from now on */
		group_uncharge(r->id, place.bytes);
}

/* ---- caches ---- */

/* Whose objects are charged whatever the call says; or whose pages do not say whose they are. */
static bool is_watched_from_start(const struct cache *c)
{
	return !(load_relaxed(&c->flags) & SLAB_NO_OBJ_EXT) &&
	       (c->engine.ops->heap || load_relaxed(&c->flags) & SLAB_ACCOUNT);
}

void group_begin_locked(struct cache *c)
{
	if (groups_are_known() && (c->flags & (SLAB_ACCOUNT | SLAB_NO_OBJ_EXT)) == SLAB_ACCOUNT)
		c->watch = WATCH_GROUPS; /* for mark.c: no inline hit path */
}

/* One whose front stays closed is not to be had by new caches. */
static void watch_locked(struct cache *c)
{
	cache_watch_frees_locked(c, WATCH_GROUPS, true);
	if (unlikely(c->watch & WATCH_WORDS))
		c->alone = 1;
}

void group_created_locked(struct cache *c)
{
	if (groups_are_known() && is_watched_from_start(c))
		watch_locked(c);
}

bool group_watch(struct cache *c)
{
	bool moves = false;

	if (likely(load_acquire(&c->watch) & WATCH_GROUPS) || /* pairs with switch.c */
	    load_relaxed(&c->flags) & SLAB_NO_OBJ_EXT)
		return true;
	lock_acquire(&cache_lock);
	if (!(c->watch & WATCH_GROUPS)) {
		moves = c->watch & WATCH_MOVES;
		watch_locked(c);
	}
	cache_unlock();
	return !moves;
}

/* Also who comes second waits until all are watched. */
void group_watch_all(void)
{
	static bool done; /* atomic; set under cache_lock */
	struct list_head *pos;

	if (likely(load_acquire(&done))) /* pairs with the store below */
		return;
	lock_acquire(&cache_lock);
	list_for_each(pos, &cache_list)
		group_created_locked(list_entry(pos, struct cache, list));
	store_release(&done, true);
	cache_unlock();
}
