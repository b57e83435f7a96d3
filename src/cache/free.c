/* SPDX-License-Identifier: MIT */
/*
 * cache/free.c - frees one object or many to their cache, out of line
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none held here.
 * Flow:       called by cache/, api/ and malloc/ on a miss; calls the front's free; watch.c for a
 *             cache with watch bits. Polls the mailbox.
 */
#include "base/bits.h"
#include "cache/control/control.h"
#include "cache/group/watched.h"
#include "cache/object.h"
#include "debug/report/report.h"
#include "front/array.h"

void cache_free_polled(struct cache *c, void *obj, const void *caller)
{
	if (group_is_all(c)) {
		group_cache_free(c, obj, caller);
		return;
	}
	cache_poll_now();
	if (load_acquire(&c->watch)) /* pairs with cache_watch_locked() */
		cache_free_watched(c, obj, caller);
	else
		cache_give_plain(c, obj, caller);
}

static void give(void *c, void *obj, const void *caller)
{
	cache_free_for(c, obj, caller);
}

void cache_free_inside(struct cache *c, void *obj, const void *caller)
{
	if (nested_look())
		nested_defer(give, c, obj, caller);
	else
		cache_give_outside(c, obj, caller);
}

void cache_free_for(struct cache *c, void *obj, const void *caller)
{
	cache_give(c, obj, caller);
}

void cache_free_known(struct cache *c, void *obj, const void *caller)
{
	const unsigned int mark = c->engine.mark;

	if (unlikely(!lock_is_plain() || !mark) || cache_is_watched(c, ~0u)) {
		cache_free_for(c, obj, caller);
		return;
	}
	if (unlikely(mark_is_set(obj, mark)) && cache_is_free_already(c, obj))
		return;
	mark_set(obj, mark);
	if (unlikely(!array_free_missed(&c->front, obj)))
		c->front.ops->free(&c->front, obj);
}

/* Of many objects, which are compared with their pages. */
enum free_check {
	CHECK_NONE, /* all are known to be objects of the cache */
	CHECK_EACH,
	CHECK_RUN, /* one of objects_per_check() */
};

/*
 * For how many objects one check of the page is made. With own caches and the array front most
 * single frees would be inline hits, which compare marks only: one check for each array is no less.
 */
static unsigned int objects_per_check(const struct cache *c)
{
	return load_relaxed(&c->front.capacity) && c->front.id >= USLAB_ID_FIRST_FREE
		       ? USLAB_SHEAF_CAPACITY
		       : 1;
}

/* false: it has one already. */
static always_inline bool set_mark(void *obj, unsigned int mark)
{
	if (unlikely(mark_is_set(obj, mark)))
		return false;
	mark_set(obj, mark);
	return true;
}

/* As cache_may_own(); *places: where objects of p's slab start, to check the next ones by. */
static bool find_place(const struct cache *c, const void *p, struct engine_places *places)
{
	const struct page *page = page_block_of(p);

	if (unlikely(!page || page->type != PAGE_SLAB))
		return cache_may_own(c, p);
	if (unlikely(page->engine != &c->engine))
		return false;
	*places = engine_places(page);
	return engine_is_place(places, p);
}

/*
 * Checks each: how many of the first ones are objects of c that are not free. Sets their marks.
 * Neighbours are often of one slab, where two comparisons suffice.
 */
static noinline unsigned int count_sound_each(const struct cache *c, unsigned int nr, void **p)
{
	const unsigned int mark = c->engine.mark;
	struct engine_places places = { .bytes = 0 };
	void **end = p + nr;
	void **at;

	for (at = p; at < end; at++) {
		if (unlikely(!engine_is_place(&places, *at)) && !find_place(c, *at, &places))
			break;
		if (mark && unlikely(!set_mark(*at, mark)))
			break;
	}
	return (unsigned int)(at - p);
}

/* set_mark() by plain accesses, for which GCC needs fewer instructions than for relaxed ones. */
__attribute__((no_sanitize("thread"))) static always_inline bool set_mark_plain(void *obj,
										unsigned int mark)
{
	if (unlikely(*mark_of(obj, mark) == (uint32_t)(uintptr_t)obj))
		return false;
	*mark_of(obj, mark) = (uint32_t)(uintptr_t)obj;
	return true;
}

/* How many of the first ones had no mark; sets their marks. Two at a time, after the odd one. */
__attribute__((no_sanitize("thread"))) static noinline unsigned int
mark_run(unsigned int mark, unsigned int nr, void **p)
{
	void **end = p + nr;
	void **at = p + nr % 2;

	if (at != p && unlikely(!set_mark_plain(p[0], mark)))
		return 0;
	for (; at != end; at += 2) {
		if (unlikely(!set_mark_plain(at[0], mark)))
			return (unsigned int)(at - p);
		if (unlikely(!set_mark_plain(at[1], mark)))
			return (unsigned int)(at - p) + 1;
	}
	return nr;
}

/* The same with one check of the page, of the first one. */
static unsigned int count_sound(const struct cache *c, bool checked, unsigned int nr, void **p)
{
	if (!checked && unlikely(!cache_may_own(c, p[0])))
		return 0;
	return c->engine.mark ? mark_run(c->engine.mark, nr, p) : nr;
}

/* The cache of the object that starts at p; NULL: none does, or nobody knows. */
static struct cache *owner_of(const void *p)
{
	struct page *slab = page_slab_of(p);

	if (!slab)
		return used_are_kept() && cache_is_in_use(p) ? cache_of_object(p) : NULL;
	return engine_starts_object(slab, p) ? container_of(slab->engine, struct cache, engine)
					     : NULL;
}

/* One of several that are freed at once, which may be no live object of c. */
static cold void give_of_bulk(struct cache *c, enum free_check check, void *p, const void *caller)
{
	static const struct cache_call bulk = { "kmem_cache_free_bulk", FIX_NOT_FREED };
	static const struct cache_call array = { "kmem_cache_free_array", FIX_NOT_FREED };

	if (!cache_may_own(c, p) && !owner_of(p))
		cache_report_pointer(check == CHECK_EACH ? &array : &bulk, c, p);
	else
		cache_give_plain(c, p, caller);
}

/*
 * Objects before one with a mark are freed first, since it may be one of them. Objects that are
 * refused are left out.
 */
static void free_bulk_plain(struct cache *c, enum free_check check, unsigned int nr, void **p,
			    const void *caller)
{
	const bool checked = check == CHECK_NONE;
	const unsigned int step = checked ? nr : check == CHECK_EACH ? 1 : objects_per_check(c);
	unsigned int from = 0;

	for (unsigned int i = 0; i < nr;) {
		unsigned int n = step > 1 ? MIN(step, nr - i) : nr - i;
		unsigned int sound = step > 1 ? count_sound(c, checked, n, p + i)
					      : count_sound_each(c, n, p + i);

		i += sound;
		if (likely(sound == n))
			continue;
		c->front.ops->free_bulk(&c->front, i - from, p + from);
		give_of_bulk(c, check, p[i], caller);
		from = ++i;
	}
	c->front.ops->free_bulk(&c->front, nr - from, p + from);
}

/* Each is checked by itself; those that are refused are left out. */
static noinline void free_bulk_hardened(struct cache *c, enum free_check check, unsigned int nr,
					void **p, const void *caller)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nr; i++)
		if (unlikely(!cache_may_own(c, p[i])))
			give_of_bulk(c, check, p[i], caller);
		else if (cache_receive(c, p[i], caller))
			p[n++] = p[i];
	c->front.ops->free_bulk(&c->front, n, p);
}

static noinline void free_bulk_watched(struct cache *c, unsigned int nr, void **p,
				       const void *caller)
{
	while (nr) /* from the end, as the kernel does */
		cache_free_watched(c, p[--nr], caller);
}

static always_inline void free_bulk(struct cache *c, enum free_check check, unsigned int nr,
				    void **p, const void *caller)
{
	if (nested_call()) {
		while (nr)
			nested_defer(give, c, p[--nr], caller);
		return;
	}
	if (cache_is_watched(c, ~0u)) {
		cache_poll_now();
		if (load_acquire(&c->watch)) { /* pairs with cache_watch_locked() */
			free_bulk_watched(c, nr, p, caller);
			return;
		}
	}
	if (unlikely(used_are_kept()))
		free_bulk_hardened(c, check, nr, p, caller);
	else
		free_bulk_plain(c, check, nr, p, caller);
}

void cache_free_bulk_for(struct cache *c, unsigned int nr, void **p, const void *caller)
{
	free_bulk(c, CHECK_RUN, nr, p, caller);
}

void cache_free_bulk_checked(struct cache *c, unsigned int nr, void **p, const void *caller)
{
	free_bulk(c, CHECK_NONE, nr, p, caller);
}

/* Runs between NULLs, each like a bulk call. */
void cache_free_array_for(struct cache *c, size_t nr, void **p, const void *caller)
{
	void **end = p + nr;

	while (p < end) {
		void **most = (size_t)(end - p) > INT32_MAX ? p + INT32_MAX : end;
		void **first = p;

		while (p < most && *p)
			p++;
		if (p != first)
			free_bulk(c, CHECK_EACH, (unsigned int)(p - first), first, caller);
		else
			p++;
	}
}

/* ---- pointers that are no live object of this cache ---- */

static const struct cache_call *free_of(const struct cache *c)
{
	static const struct cache_call of_cache = { "kmem_cache_free", FIX_NOT_FREED };
	static const struct cache_call of_kmalloc = { "kfree", FIX_NOT_FREED };
	static const struct cache_call of_malloc = { "free", FIX_NOT_FREED };

	if (!cache_is_by_size(c))
		return &of_cache;
	/* the drop-in has no kmalloc(), and the library no class of malloc() */
	return control.can_sample ? &of_malloc : &of_kmalloc;
}

void cache_give_wrong(struct cache *c, void *p, const void *caller)
{
	struct cache *owner = owner_of(p);

	if (!owner || owner == c) {
		cache_report_pointer(free_of(c), c, p);
		return;
	}
	report_wrong_cache(&c->engine, &owner->engine, p);
	report_deliver();
	cache_free_for(owner, p, caller);
}

/* In a heap: does an object of c start there? Its header may be read then. */
static bool is_of(const struct cache *c, const void *obj)
{
	const struct page *page = page_head_of(obj);

	return !page || page->type != PAGE_HEAP ||
	       (used_is_set(obj) && page->heap->owner(obj) == c->front.id);
}

bool cache_take_back(struct cache *c, void *obj, const void *caller)
{
	struct page *slab = page_slab_of(obj);

	/* debug slabs and guarded pages have checks of their own */
	if (unlikely(slab && slab->layout->kind != LAYOUT_PLAIN)) {
		cache_free_watched(c, obj, caller);
		return false;
	}
	if (unlikely(!is_of(c, obj))) {
		cache_give_wrong(c, obj, caller);
		return false;
	}
	if (unlikely(!used_clear(obj))) {
		if (slab)
			cache_report_free(c, slab, obj, FIX_NOT_FREED);
		else
			cache_give_wrong(c, obj, caller);
		return false;
	}
	cache_end_link(c, obj);
	return true;
}
