/* SPDX-License-Identifier: MIT */
/*
 * cache/group/group.h - accounting groups: what is charged to whom
 *
 * Why:        docs/adr/0061, docs/adr/0067, docs/adr/0069, docs/adr/0071.
 * Data:       a table of groups by number, made with the first one; for each CPU a stock: bytes
 *             that are charged to one group already, and that nobody has taken so far; and charged
 *             arrays: free objects that are charged already (array.c). The number of a group is the
 *             word beside each object that is charged to it (PAGE_EXT_GROUPS).
 *             Caches of a group (cache.c) have no such words: the engine charges what leaves slabs.
 * Invariants: the usage of a group is the sum of what the words of objects stand for that are its
 *             own or a descendant's, of the stocks of these, and of what their caches have handed
 *             out. A number is used again when nothing is charged to its group, no thread is in it,
 *             it has no cache and no group is below it, and it was destroyed. Checked by
 *             group_check().
 * Locks:      groups_lock for the table, the tree and callbacks; one lock per CPU for the slow
 *             steps on its stock. Charges from a stock take none: charge.c has their contract.
 * Flow:       called by public.c, cache/, api/, malloc/ and inspect/; calls extension.c, switch.c,
 *             the front.
 */
#ifndef CACHE_GROUP_H
#define CACHE_GROUP_H

#include "base/atomic.h"
#include "cache/cache.h"
#include "engine/charged.h"
#include "os/lock/lock.h"
#include "page/nested.h"
#include <uslab/account.h>

#define GROUPS_MAX 65536u /* numbers 1 .. GROUPS_MAX - 1 */
#define GROUP_NONE 0u
#define GROUP_REFUSED GROUPS_MAX /* no number: the charge failed */
/* As a word: of no group, and about to move. Who is to charge the object gives it up. */
#define GROUP_MOVES UINT32_MAX

/*
 * Objects of caches with USLAB_ACCOUNT_INLINE have a key as their word, so that no group is
 * something else than no word; other words are numbers. A key lies where an overflow of the object
 * gets to: 15 of its bits follow from the number.
 */
static inline uint32_t group_key(uint32_t id)
{
	return id ? id | (id * 0x9e3779b1u >> 17) << 17 : USLAB_KEY_NONE;
}

/* GROUP_NONE also for what is no key. */
static inline uint32_t group_of_key(uint32_t key)
{
	uint32_t id = key % USLAB_KEY_NONE;

	return likely(key == group_key(id)) ? id : GROUP_NONE;
}

BUILD_ASSERT(USLAB_KEY_NONE == GROUPS_MAX);

/* As inline hits compare it: with a mark of 0. */
static inline uint64_t group_owner(uint32_t id)
{
	return (uint64_t)group_key(id) << 32;
}

/* Fixed types, for tools read them. */
struct group {
	uint32_t id;
	uint32_t dying;		   /* it was destroyed; atomic, set under groups_lock */
	uint64_t serial;	   /* of its handle; 0: the number is free; atomic */
	uint64_t usage;		   /* bytes, with those of all below it; atomic */
	uint64_t limit;		   /* bytes; UINT64_MAX: none; atomic */
	uint64_t peak;		   /* of usage; atomic */
	uint64_t met;		   /* charges that met the limit; atomic */
	uint64_t failed;	   /* of these, those that failed; atomic */
	uint32_t threads;	   /* that are in it; atomic */
	uint32_t children;	   /* groups below it, dying ones as well; groups_lock */
	struct group *parent;	   /* const while the number is in use; atomic when it is set */
	struct uslab_group *above; /* its handle; kept until the number is used again; groups_lock */
	uint64_t last_serial;	   /* likewise; groups_lock */
	uslab_group_callback callback; /* groups_lock */
	void *arg;		       /* likewise */
	struct group *next_free;       /* while the number is free; groups_lock */
	uint32_t caches;	       /* that belong to it; groups_lock */
	/* malloc/: by class its cache of this group, or 0; NULL: none so far; set once, atomic */
	unsigned char *numbers;
	char name[USLAB_GROUP_NAME_MAX + 1];
};

#define STOCK_BYTES_BITS 48
#define STOCK_BYTES(word) ((word) & ((1ull << STOCK_BYTES_BITS) - 1))
#define STOCK_ID(word) ((uint32_t)((word) >> STOCK_BYTES_BITS))
#define STOCK_WORD(id, bytes) ((uint64_t)(id) << STOCK_BYTES_BITS | (bytes))
#define STOCK_BATCH 32768u /* bytes that are charged ahead */
#define STOCK_MOST 65536u  /* that a stock may have after frees */

struct group_stock {
	uintptr_t word; /* STOCK_WORD(); 0: empty */
	struct lock lock;
} __attribute__((aligned(CACHE_LINE)));

struct groups {
	uint32_t nr; /* numbers 1 .. nr were used so far; atomic */
	/* Of caches that have charged arrays (array.c): bytes of an object; 0: none. Atomic. */
	uint32_t array_size[USLAB_NR_HANDLES];
	uint32_t nr_cpus;
	uint32_t live;	  /* groups that are not destroyed; groups_lock */
	uint32_t dying;	  /* likewise, destroyed ones */
	uint64_t serials; /* groups_lock */
	/* Bits: caches that belong to a group, and are whole (cache.c). Atomic. */
	uint64_t caches[USLAB_NR_HANDLES / 64];
	struct group *free;
	struct group *slot[GROUPS_MAX]; /* by number; set once */
	struct group_stock stock[];	/* by CPU */
};

/* NULL until the first group is made. */
extern struct groups *groups_table;

/* Are there groups, or have there been? Relaxed: who has an object that is charged knows. */
static inline bool groups_are_known(void)
{
	return unlikely(load_relaxed(&groups_table));
}

/* The number of the group that this thread is in, or GROUP_NONE. */
extern __thread uint32_t group_current __attribute__((tls_model("initial-exec")));
/*
 * This thread is in that group from now on, for all that asks. Returns the one that it was in. A
 * handler that comes meanwhile enters others, and leaves them: it may go back to the next one above
 * the one that it found, if that was destroyed. So the number is exchanged, and the key follows it
 * until they are the same.
 */
static inline uint32_t group_set_current(uint32_t id)
{
	uint32_t old = xchg(&group_current, id);

	do {
		id = load_relaxed(&group_current);
		store_relaxed(&uslab_group_key, group_owner(id));
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (unlikely(load_relaxed(&group_current) != id));
	return old;
}

/* While it visits another (group_visit()): the one that it returns to, or GROUP_NONE. */
extern __thread uint32_t group_own __attribute__((tls_model("initial-exec")));
/* It does so: what it allocates is for an object that is charged already. */
extern __thread bool group_visits __attribute__((tls_model("initial-exec")));
/*
 * malloc/: the numbers of the caches that this thread allocates of, by class; all 0 until it enters
 * a group, or its slow path looks. What it says is also right when it is old: a number stays that
 * of a class.
 */
extern __thread const unsigned char *group_numbers __attribute__((tls_model("initial-exec")));
#define GROUP_NUMBERS 128
extern const unsigned char group_no_numbers[GROUP_NUMBERS]; /* all 0 */
/* Of threads that are in no group any more. Set once by malloc/, before there are any. */
extern const unsigned char *group_numbers_outside;

/* ---- group.c ---- */

/* As the public functions; see <uslab/group.h>. */
struct uslab_group *group_create(const char *name, size_t limit, struct uslab_group *parent,
				 int *error);
/*
 * What caches with USLAB_ACCOUNT_INLINE need, also before there is a group. false: there is no
 * memory. No lock is held.
 */
bool group_start(void);
void group_destroy(struct uslab_group *handle);
struct uslab_group *group_enter(struct uslab_group *handle);
struct uslab_group *group_of_thread(void);
struct uslab_group *group_handle(const struct group *g);
int group_stat(struct uslab_group *handle, struct uslab_group_statistics *stat);
int group_set_limit(struct uslab_group *handle, size_t limit);
int group_set_callback(struct uslab_group *handle, uslab_group_callback callback, void *arg);

/* The group of that number, which is in use. */
static inline struct group *group_at(uint32_t id)
{
	return load_acquire(&groups_table->slot[id]); /* pairs with who made it */
}

/* It or the nearest one above it that was not destroyed; NULL: there is none. */
struct group *group_live(struct group *g);
/* If nothing is left of it, whichever group it is by now, its number is free. The caller waits. */
cold void group_try_release(uint32_t id);
struct ext_place;
/*
 * The group of an object, whose word is at that place, is charged for as many bytes more, whatever
 * its limits are. Returns its number, or GROUP_NONE: the object was freed meanwhile.
 */
uint32_t group_charge_like(const struct ext_place *place, size_t bytes);
/* This thread is counted in the group of that number; false: the word is another one by now. */
bool group_count_like(const struct ext_place *place, uint32_t id);
/* Likewise, in a group that is there until the call returns, whoever destroys it. */
void group_count(uint32_t id);
/* It is so no longer. */
void group_leave(uint32_t id);
/*
 * This thread allocates for that group from now on, in which it is counted, or for none. Returns
 * the one before, in which it is still counted.
 */
uint32_t group_go_to(uint32_t id);
/* group_numbers are these, unless the thread is in another group by now. */
void group_use_numbers(uint32_t id, const unsigned char *numbers);
/*
 * It has a cache more: its number stays its own, and the bit of the cache is set. Returns the
 * number, or GROUP_NONE: there is no such group. group_drop_cache() takes both back.
 */
uint32_t group_hold_cache(struct uslab_group *handle, unsigned int cache);
/* Likewise the group of that number, in which this thread is; false: it was destroyed. */
bool group_hold_cache_of(uint32_t id, unsigned int cache);
void group_drop_cache(uint32_t id, unsigned int cache);
/* The bit alone. Who has taken it back knows that nobody looks at the cache any more. */
void group_list_cache(unsigned int cache);
void group_unlist_cache(unsigned int cache);
/* The limit of g was met: its callback is called, if any. false: none was. No lock may be held. */
cold bool group_call_back(struct group *g, size_t bytes);

/* Set by kmalloc.c or malloc/: the first thread enters a group, or the last one is gone. */
extern void (*group_listener)(void);
/* Some thread entered a group, and there are groups; atomic. */
extern uint32_t groups_entered;

/*
 * own.c: a group was destroyed. id: its number, if it has caches: it is there still; else, or where
 * none was just now, GROUP_NONE. No lock is held.
 */
extern void (*group_destroyed)(uint32_t id);

void groups_each_lock(void (*act)(struct lock *l));
/* Those of CPUs' stocks, under which no other is taken. */
void groups_each_stock_lock(void (*act)(struct lock *l));
/* In the child of fork(): it has one thread. */
void groups_forked(void);
/* For tests: no other thread allocates or frees. */
void group_check(void);

/* ---- charge.c ---- */

enum group_charge {
	GROUP_CHARGE = 0,	 /* if it was destroyed: to one above it */
	GROUP_CHARGE_FORCED = 1, /* whatever the limits are */
	GROUP_CHARGE_MORE = 2,	 /* to this one, to which something is charged already */
};

static inline unsigned int group_charge_of(gfp_t gfp)
{
	return gfp & __GFP_NOFAIL || group_visits ? GROUP_CHARGE_FORCED : GROUP_CHARGE;
}

/*
 * Charges that many bytes to the group of that number; how: enum group_charge. Returns the number
 * of the group that they are charged to, GROUP_NONE (there is none any more), or GROUP_REFUSED. The
 * caller waits for locks, and holds none.
 */
uint32_t group_charge_slow(uint32_t id, size_t bytes, unsigned int how);
void group_uncharge_slow(uint32_t id, size_t bytes);

/* Likewise; from the CPU's stock if that has enough. Inline in charge_hit.h. */
uint32_t group_charge(uint32_t id, size_t bytes, unsigned int how);
void group_uncharge(uint32_t id, size_t bytes);

/*
 * Likewise without a try to make room, and only if the limits leave a stock's batch beside it: near
 * a limit nothing is charged ahead. false: nothing is charged. The caller holds no lock.
 */
bool group_charge_ahead(uint32_t id, size_t bytes);

/* The stocks that CPUs have of this group, and of those below it, are uncharged. */
cold void group_drain(const struct group *g);
/*
 * And their charged arrays, and what fronts hold of their caches, if it is enough for a charge of
 * so many bytes; 0: in any case. No lock is held.
 */
cold void group_drain_all(struct group *g, size_t bytes);
/*
 * That much of the usage of g lies in stocks, in charged arrays and in its caches, and is no object
 * in use; exact when quiet. groups_lock is held.
 */
uint64_t group_ahead_locked(const struct group *g);
/* Is it that group, or one below it? */
bool group_is_below(const struct group *g, const struct group *above);
/* Has g, or one above it, more than its limit? Then CPUs keep nothing that is charged to g. */
bool group_is_over(const struct group *g);

/* ---- array.c ---- */

/*
 * A miss of this CPU's charged array: an object of c that is charged to the group of that number
 * and has its word; it is free still (its mark). NULL: it is to be charged by itself. The caller
 * waits for locks, and holds none; group_is_all(c).
 */
void *group_array_alloc(struct cache *c, uint32_t id, gfp_t gfp);
/* Likewise: an object whose word is that number goes into the array. false: it does not. */
bool group_array_free(struct cache *c, uint32_t id, void *obj);

/*
 * A miss that has not seen that a group is dying, or over its limit, has put its array back after
 * this. No stock's lock is held.
 */
cold void group_arrays_wait(void);
/* Charged arrays of this group, and of those below it, are emptied. No lock is held. */
cold void group_arrays_drain(const struct group *above);
/* Each array that is in use: of which cache and CPU, whose, and how many bytes it has. */
void group_arrays_each(void (*visit)(unsigned int id, int cpu, uint32_t owner, size_t bytes,
				     void *arg),
		       void *arg);
void group_arrays_init(void);
void group_arrays_each_lock(void (*act)(struct lock *l));

/*
 * Objects of a cache of the group of that number: bytes are charged to it, also when it was
 * destroyed. false: a limit is met. In any context; any lock but stocks' may be held.
 */
bool group_charge_objects(unsigned long id, size_t bytes, enum engine_charge_how how);
void group_uncharge_objects(unsigned long id, size_t bytes);

/* ---- cache.c: caches that belong to a group ---- */

/*
 * Objects of c are charged to that group from now on; c has none. 0; -ENOENT: there is no such
 * group; -EBUSY: it has slabs, or has merged, or belongs to a group; -EOPNOTSUPP: its pages are
 * shared, or its objects are charged one by one. No lock is held.
 */
int group_adopt(struct cache *c, struct uslab_group *handle);
/* Likewise to the one of that number, in which this thread is. cache_lock is held. */
int group_adopt_id_locked(struct cache *c, uint32_t id);
/* c belongs to no group any more; false: it has slabs, and nothing changed. cache_lock is held. */
bool group_release_cache_locked(struct cache *c);
/* The engine of c is about to end, or goes on after all: who sums up leaves it out meanwhile. */
void group_hide_cache_locked(struct cache *c, bool hidden);

/*
 * That much of what is charged for caches of g, and of those below it, fronts hold. groups_lock or
 * cache_lock is held: both keep these caches.
 */
uint64_t group_caches_ahead_locked(const struct group *g);
/*
 * What fronts hold of these caches goes back, if so many bytes can be charged then; 0: in any case.
 * A drain takes away the arrays of all CPUs: none is made in vain. No lock is held.
 */
cold void group_caches_drain(struct group *g, size_t bytes);
/*
 * The limit of g was lowered to less than its usage. What is freed of these caches goes to its slab
 * from now on, and is uncharged, so that it is not allocated again without a charge: their fronts
 * are closed, until an allocation finds that no limit is exceeded any more. No lock is held.
 */
cold void group_caches_close(const struct group *g);
cold void group_cache_open(struct cache *c);
/*
 * An allocation of c, which belongs to a group, has failed. Was it for want of room in the group?
 * Then that is made, or its limit is met, as for a charge that fails. No lock is held.
 */
enum group_room { GROUP_HAS_ROOM, GROUP_MADE_ROOM, GROUP_HAS_NONE };
cold enum group_room group_make_room(struct cache *c);

/* ---- object.c ---- */

/* Is what is allocated so to be charged by itself? Then the number of the thread's group. */
static always_inline uint32_t group_for(const struct cache *c, gfp_t gfp)
{
	uint32_t id = group_current;

	return unlikely(id) && (gfp & __GFP_ACCOUNT || load_relaxed(&c->flags) & SLAB_ACCOUNT) &&
			       likely(!engine_group(&c->engine))
		       ? id
		       : GROUP_NONE;
}

/*
 * An object or block that was just allocated is charged to the group of that number. c: as for
 * ext_find(). Else it is to be freed: a limit was met, or there is no memory; or it is about to be
 * moved, which only objects of caches with mobility are, and another one is to be had.
 */
enum group_added { GROUP_NOT_ADDED, GROUP_ADDED, GROUP_ABOUT_TO_MOVE };
enum group_added group_add(uint32_t id, struct cache *c, const void *p, unsigned int how);
/*
 * The same for a block of whole pages that was asked for with so many bytes. Where the limits have
 * no room for what it has beyond these, that is given back.
 */
enum group_added group_add_pages(uint32_t id, void *p, size_t size, unsigned int how);
/* What is live at p is about to be freed; c: as for ext_find(). The caller waits for locks. */
cold void group_drop_slow(struct cache *c, const void *p);

static inline void group_drop(struct cache *c, const void *p)
{
	if (groups_are_known())
		group_drop_slow(c, p);
}

/*
 * An object of c may be about to move: c has WATCH_MOVES, and nobody frees the slab until
 * group_let_go(). Its allocation may be under way, so that it has no group as yet: it gets none
 * meanwhile, and is not handed out. (Unless there was no memory for the slab's words, and is now.)
 * Returns the number of its group.
 */
cold uint32_t group_hold(struct cache *c, const void *p);
cold void group_let_go(struct cache *c, const void *p);
/*
 * It may be about to move to another one of c, the caller's: its group is charged for that one as
 * well, whatever the limits are, until one of both is freed. The caller holds no lock. false: there
 * is no memory for that.
 */
cold bool group_copy(struct cache *c, const void *from, const void *to);

/*
 * The number of the group that an object of c is charged to, or GROUP_NONE. Another thread may
 * free the object: then it is only good to be compared.
 */
uint32_t group_of(struct cache *c, const void *p);

/*
 * This thread is in the group of that number from now on, if one of nr objects of c is still
 * charged to it, else in none, until group_return(). Not while it visits one already. The caller
 * holds no lock.
 */
void group_visit(struct cache *c, uint32_t id, void *const *objs, int nr);
void group_return(void);

/*
 * A block of whole pages is about to be resized to that many bytes: the more is charged. false: it
 * may not grow. moved: it is at p now, and has bytes; it keeps its group.
 */
struct group_resize {
	uint32_t id;	/* GROUP_NONE: it is charged to none */
	size_t charged; /* bytes */
};
bool group_resize_begin(struct group_resize *r, const void *p, size_t bytes);
void group_resize_end(const struct group_resize *r, void *p);

/*
 * Between these this thread, which visits no group, allocates one block, and frees that one, which
 * is larger: the charge is forced. What CPUs keep goes back if that went over a limit. false: it is
 * not charged to this thread's group (or it has a mapping of its own, which is cut by itself).
 */
bool group_replace_begin(const void *p);
void group_replace_end(void);

/* Do objects of c have keys, in their plain slabs? */
static inline bool group_has_keys(const struct cache *c)
{
	return load_relaxed(&c->flags) & USLAB_ACCOUNT_INLINE;
}

/* ---- cache/charged.c: caches whose only watch bit is WATCH_GROUPS ---- */
void *group_cache_alloc(struct cache *c, gfp_t gfp, int node);
void group_cache_free(struct cache *c, void *obj, const void *caller);

/* ---- switch ---- */

/* A new cache that has its flags; one that was registered just now. cache_lock is held. */
cold void group_begin_locked(struct cache *c);
cold void group_created_locked(struct cache *c);
/*
 * Objects of this cache may be charged from now on, each free looks. With the first group all
 * caches with SLAB_ACCOUNT, and those of heaps; others with their first object that is.
 */
cold void group_watch_all(void);
/* That one. false: from now on; but an object that it has may be moved right now (group_hold()). */
cold bool group_watch(struct cache *c);

/* This call is to be charged: so the cache's frees have to look at their objects. */
static inline void group_watch_if_asked(struct cache *c, gfp_t gfp)
{
	if (unlikely(gfp & __GFP_ACCOUNT) && group_current && !nested_call())
		group_watch(c);
}

#endif /* CACHE_GROUP_H */
