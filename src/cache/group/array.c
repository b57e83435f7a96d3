/* SPDX-License-Identifier: MIT */
/*
 * cache/group/array.c - CPUs' arrays of objects that are charged to a group before they are
 * allocated
 *
 * Why:        docs/adr/0067, docs/adr/0071.
 * Data:       the arrays (front/array_charged.h), whose owners are numbers of groups; for each
 *             cache that has had one the size of its objects (struct groups).
 * Invariants: an object in such an array is free, charged to the array's group, and has that
 *             group's number as its word: so neither a hit of an allocation nor one of a free
 *             changes a charge or a word. No array belongs to a dying group, but for a moment.
 * Locks:      arrays_lock, for whoever empties the arrays of other CPUs: a cache that is destroyed
 *             waits for it. The lock of the CPU's stock for installs and takes. None on a hit.
 * Flow:       called by cache/charged.c, charge.c, group.c, and as struct array_charged_ops says;
 *             calls charge.c, the front, front/array_charged.c.
 *
 * With keys (USLAB_ACCOUNT_INLINE) an array may also be of nobody, for threads in no group: its
 * objects are not charged, and else it is as any. Such caches have no arrays any more once there
 * were debug objects of theirs, whose keys an inline free would look for where none are.
 *
 * A CPU has one such array of each cache, for one group at a time. Calls of other groups are
 * charged one by one; with one in CHANGE_AFTER of them the array becomes that of its group, which
 * takes about as long as all of these charges.
 *
 *   alloc miss: half an array is charged, and filled by the cache's front
 *   free miss:  half an array goes back to the front, and is uncharged
 *
 * A miss has an array in its hands, and no lock. It looks for the last time whether the group is
 * dying, or over its limit, under the CPU's lock, when it puts the array back; group_destroy() and
 * group_set_limit() set that before they take these locks, and then the arrays.
 */
#include "base/bits.h"
#include "cache/group/charge_hit.h"
#include "cache/group/word.h"
#include "cache/internal.h"
#include "front/array_charged.h"
#include "page/buddy.h"

#include <string.h>

#define CHANGE_AFTER 32u
#define LEAST_CAPACITY 4u /* else a miss, every second call or so, takes longer than a charge */

static struct lock arrays_lock = LOCK_INIT(RANK_CHARGED);

/* ---- objects to and from an array ---- */

/* They are charged to nobody from now on, and the front's. */
static void give_back(struct cache *c, uint32_t id, unsigned int nr, void **objs)
{
	const bool keyed = group_has_keys(c);
	const uint32_t mine = keyed ? group_key(id) : id;
	size_t bytes = 0;

	for (unsigned int i = 0; i < nr; i++) {
		uint32_t *word = keyed ? group_key_of(c, objs[i])
				       : group_word_of(page_head_unchecked(objs[i]), objs[i]);

		if (likely(word) && likely(xchg(word, GROUP_NONE) == mine) && id)
			bytes += c->engine.size;
	}
	if (unlikely(buddy_falls())) /* then each miss gives more back: front/array_idle.c */
		for (unsigned int i = 0; i < nr; i++)
			c->front.ops->free(&c->front, objs[i]);
	else if (nr)
		c->front.ops->free_bulk(&c->front, nr, objs);
	if (bytes)
		group_uncharge(id, bytes);
}

/* The oldest ones, until so many are left. Returns the new top. */
static uintptr_t give_back_most(struct cache *c, uintptr_t top, unsigned int left)
{
	unsigned int count = sheaf_count(top);
	void **bottom = (void **)(top - count * sizeof(void *));
	void *objs[SHEAF_OWNED_CAPACITY];
	unsigned int nr = count > left ? count - left : 0;

	memcpy(objs, bottom + 1, nr * sizeof(void *));
	memmove(bottom + 1, bottom + 1 + nr, (count - nr) * sizeof(void *));
	give_back(c, *sheaf_owner(top), nr, objs);
	return top - nr * sizeof(void *);
}

static void end_array(struct cache *c, uintptr_t top)
{
	sheaf_delete(give_back_most(c, top, 0));
}

/*
 * So many objects, charged and with their words; returns how many there are. The first one is for
 * the program; the others go to an array, which there is none of while objects move.
 */
static unsigned int take_charged(struct cache *c, uint32_t id, gfp_t gfp, unsigned int nr,
				 void **objs)
{
	unsigned int got, kept = 0;

	if (id && !group_charge_ahead(id, nr * (size_t)c->engine.size))
		return 0;
	got = c->front.ops->alloc_bulk(&c->front, gfp | __GFP_NOWARN, nr, objs);
	if (likely(got) && likely(group_set_last_word(c, objs[0], id) == GROUP_ADDED))
		for (kept = 1; kept < got && likely(group_set_word(c, objs[kept], id)); kept++) {}
	for (unsigned int i = kept; i < got; i++)
		c->front.ops->free(&c->front, objs[i]);
	if (unlikely(kept < nr) && id)
		group_uncharge(id, (nr - kept) * (size_t)c->engine.size);
	return kept;
}

/* Half an array more. The first ones, which are neighbours, are allocated first. */
static uintptr_t fill(struct cache *c, uintptr_t top, gfp_t gfp)
{
	void *objs[SHEAF_OWNED_CAPACITY];
	unsigned int nr = DIV_ROUND_UP(sheaf_capacity(top), 2);

	nr = take_charged(c, *sheaf_owner(top), gfp, nr, objs);
	while (nr) {
		top += sizeof(void *);
		*(void **)top = objs[--nr];
	}
	return top;
}

/* ---- the array of this CPU ---- */

/* May it have no arrays at all? An empty one would take what is freed later. */
static bool has_ended(const struct group *g)
{
	return load_relaxed(&g->dying) || group_is_over(g);
}

/* Nobody has arrays as long as there are any. */
static bool id_has_ended(uint32_t id)
{
	return id && has_ended(group_at(id));
}

/* Are its free objects to be in such arrays? */
static bool may_have_arrays(const struct cache *c)
{
	return front_has_arrays(&c->front) &&
	       likely(!group_has_keys(c) ||
		      (!load_relaxed(&c->engine.debug) &&
		       load_relaxed(percpu_mark(c->front.id)) != USLAB_MARK_NONE));
}

/* The array becomes this CPU's, or is no more. */
static void put(struct cache *c, uintptr_t top)
{
	uint32_t owner = *sheaf_owner(top);
	int cpu = percpu_cpu();
	bool done = false;

	if (likely(cpu >= 0)) {
		struct group_stock *stock = &groups_table->stock[cpu];

		lock_acquire(&stock->lock);
		/* pairs with who calls group_arrays_wait(), and with set_watch() of switch.c */
		done = !id_has_ended(owner) && load_relaxed(&c->watch) == WATCH_GROUPS &&
		       may_have_arrays(c) &&
		       array_charged_install(&c->front, cpu, top, group_owner(owner));
		lock_release(&stock->lock);
	}
	if (unlikely(!done))
		end_array(c, top);
}

/* A new one; 0: there is no memory, or this cache has none. */
static uintptr_t make(struct cache *c)
{
	unsigned int capacity = array_charged_capacity(load_relaxed(&c->front.capacity));
	uintptr_t top = capacity >= LEAST_CAPACITY ? sheaf_new(capacity) : 0;

	if (top) { /* read by whoever empties arrays, and from outside */
		store_relaxed(&groups_table->array_size[c->front.id], c->engine.size);
		__atomic_thread_fence(__ATOMIC_SEQ_CST); /* put() looks at c->watch: set_watch() */
	}
	return top;
}

/* The array does not serve this call. Is it to become that of its group? */
static bool shall_change(struct cache *c, int cpu)
{
	uint32_t *misses = &percpu_state(c->front.id, cpu)->charged_misses;
	uint32_t n = load_relaxed(misses) + 1;

	store_relaxed(misses, n < CHANGE_AFTER ? n : 0);
	return n >= CHANGE_AFTER;
}

/* The array of this CPU, which is that group's; 0: it is not, and shall not be. */
static uintptr_t get(struct cache *c, uint32_t id)
{
	int cpu = percpu_cpu();
	uintptr_t top;

	if (unlikely(cpu < 0) || unlikely(!percpu_rseq) || unlikely(!may_have_arrays(c)) ||
	    unlikely(load_relaxed(&c->front.closed)) || unlikely(id_has_ended(id)))
		return 0;
	top = load_relaxed(percpu_charged(c->front.id, cpu));
	if (!(top && !front_is_stopped(top) && *sheaf_owner(top) == id) && !shall_change(c, cpu))
		return 0;
	top = array_charged_withdraw(&c->front);
	if (!top)
		top = make(c);
	else if (*sheaf_owner(top) != id) /* also where this thread runs elsewhere by now */
		top = give_back_most(c, top, 0);
	if (top)
		store_relaxed(sheaf_owner(top), id);
	return top;
}

void *group_array_alloc(struct cache *c, uint32_t id, gfp_t gfp)
{
	uintptr_t top = get(c, id);
	void *obj;

	if (!top)
		return NULL;
	if (!sheaf_count(top))
		top = fill(c, top, gfp);
	obj = sheaf_count(top) ? *(void **)top : NULL;
	put(c, obj ? top - sizeof(void *) : top);
	return obj;
}

bool group_array_free(struct cache *c, uint32_t id, void *obj)
{
	uintptr_t top = get(c, id);

	if (!top)
		return false;
	if (!sheaf_room(top))
		top = give_back_most(c, top, buddy_falls() ? 0 : sheaf_capacity(top) / 2);
	top += sizeof(void *);
	*(void **)top = obj;
	put(c, top);
	return true;
}

/* ---- the arrays of all CPUs ---- */

/* arrays_lock is held, so that the cache stays. */
static void take_away_locked(struct cache *c, int cpu)
{
	struct group_stock *stock = &groups_table->stock[cpu];
	uintptr_t top;

	lock_acquire(&stock->lock);
	top = array_charged_take(&c->front, cpu);
	lock_release(&stock->lock);
	if (top)
		end_array(c, top);
}

/* Whose the array of a cache on a CPU is, and how many bytes it has; GROUP_NONE: there is none. */
static uint32_t look(unsigned int id, int cpu, size_t *bytes)
{
	uintptr_t top = load_relaxed(percpu_charged(id, cpu));
	unsigned int count;
	uint32_t owner;

	if (!top || front_is_stopped(top))
		return GROUP_NONE;
	owner = load_relaxed(sheaf_owner(top));
	count = sheaf_count(top);
	if (owner >= GROUPS_MAX || count > SHEAF_OWNED_CAPACITY) /* it is something else by now */
		return GROUP_NONE;
	*bytes = count * (size_t)load_relaxed(&groups_table->array_size[id]);
	return owner;
}

void group_arrays_each(void (*visit)(unsigned int id, int cpu, uint32_t owner, size_t bytes,
				     void *arg),
		       void *arg)
{
	for (unsigned int id = 0; id < USLAB_NR_HANDLES; id++) {
		if (likely(!load_relaxed(&groups_table->array_size[id])))
			continue;
		for (uint32_t cpu = 0; cpu < groups_table->nr_cpus; cpu++) {
			size_t bytes = 0;
			uint32_t owner = look(id, (int)cpu, &bytes);

			if (owner)
				visit(id, (int)cpu, owner, bytes, arg);
		}
	}
}

static void drain_if_below(unsigned int id, int cpu, uint32_t owner, size_t bytes, void *above)
{
	if (group_is_below(group_at(owner), above) && (bytes || has_ended(above)))
		take_away_locked(cache_of(percpu_handle(id)), cpu);
}

void group_arrays_wait(void)
{
	for (uint32_t cpu = 0; cpu < groups_table->nr_cpus; cpu++) {
		lock_acquire(&groups_table->stock[cpu].lock);
		lock_release(&groups_table->stock[cpu].lock);
	}
}

struct search {
	const struct group *above;
	bool found;
};

static void find_below(unsigned int id, int cpu, uint32_t owner, size_t bytes, void *arg)
{
	struct search *search = arg;

	(void)id, (void)cpu;
	search->found |= group_is_below(group_at(owner), search->above) &&
			 (bytes || has_ended(search->above));
}

/* Without the lock: a group that meets its limit again and again mostly has nothing. */
static bool may_have_some(const struct group *above)
{
	struct search search = { above, load_relaxed(&above->dying) };

	if (!search.found)
		group_arrays_each(find_below, &search);
	return search.found;
}

void group_arrays_drain(const struct group *above)
{
	if (!may_have_some(above))
		return;
	lock_acquire(&arrays_lock);
	if (load_relaxed(&above->dying))
		group_arrays_wait();
	group_arrays_each(drain_if_below, (void *)above);
	lock_release(&arrays_lock);
}

/* ---- what the front asks for ---- */

static bool has_arrays(const struct front *f)
{
	return load_relaxed(&groups_table->array_size[f->id]);
}

static void drain(struct front *f)
{
	struct cache *c = container_of(f, struct cache, front);

	if (!has_arrays(f))
		return;
	lock_acquire(&arrays_lock);
	for (uint32_t cpu = 0; cpu < groups_table->nr_cpus; cpu++)
		take_away_locked(c, (int)cpu);
	lock_release(&arrays_lock);
}

static void give_up(struct front *f)
{
	uintptr_t top = has_arrays(f) ? array_charged_withdraw(f) : 0;

	if (top)
		end_array(container_of(f, struct cache, front), top);
}

static void forget(struct front *f)
{
	lock_acquire(&arrays_lock);
	store_relaxed(&groups_table->array_size[f->id], 0);
	lock_release(&arrays_lock);
}

void group_arrays_init(void)
{
	static const struct array_charged_ops ops = { drain, give_up, forget };

	store_release(&array_charged, &ops);
}

void group_arrays_each_lock(void (*act)(struct lock *l))
{
	act(&arrays_lock);
}
