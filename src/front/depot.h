/* SPDX-License-Identifier: MIT */
/*
 * front/depot.h - full and empty sheaves of a node (the kernel's barn)
 *
 * Data:       per cache and node some lanes, one for each CPU number modulo how many there are: a
 *             stack of sheaves with objects, and one of empty ones. There are none until the first
 *             sheaf comes.
 * Invariants: of each stack low <= nr <= quota, and nr <= high; the quotas and what is left are
 *             max. All sheaves of a lane have its capacity, the depot's but while that changes;
 *             entry 0 of a sheaf in a lane links to the next one; a sheaf is referred to by the
 *             address of its top entry, so that the reference carries the count. A lane's bit is
 *             set in rich iff it is in told, under the lane's lock. Checked by depot_check().
 * Locks:      lane.lock (RANK_LANE), held for a few loads and stores, and a second lane's inside,
 *             which is only tried, for a batch of links at most. depot.lock (RANK_DEPOT): lanes are
 *             made, or begin anew. Limits are changed under that and by one thread at a time
 *             (growth_lock).
 * Flow:       called by array.c, array_bulk.c, array_capacity.c, array_charged.c,
 *             array_exchange.c, array_idle.c, array_limit.c, array_near.c, array_remote.c,
 *             array_sheaf.h, depot_lane.c, depot_lane.h,
 *             cache/debug/misuse.c, cache/group/array.c, inspect/address.c, inspect/fronts.c and
 *             inspect/groups.c; calls depot_lane.c, depot_limit.c and page/meta.c.
 *
 * A CPU puts sheaves into its own lane and takes them out of it, so lock, counts and links stay in
 * its own caches. When its lane has none, it moves some from another lane, if that has enough to be
 * worth the way (depot.batch) and its own CPU does not take them again: all of them, if that CPU
 * only frees. Else it goes without (docs/adr/0073, docs/adr/0078, docs/adr/0080).
 *
 * A sheaf: 32 pointers, aligned to 256 bytes. With capacity c the entries used are 32-c .. 31, and
 * entry 31-c is NULL: the bottom. top == &entry[31-c]: empty; top == &entry[31]: full. Outside of
 * depots entry 0 is the bottom's index, so that a sheaf knows its capacity whatever that of its
 * front is by then (docs/adr/0055); with capacity 31 it is the bottom itself, and 0 as that.
 */
#ifndef FRONT_DEPOT_H
#define FRONT_DEPOT_H

#include "base/atomic.h"
#include "os/cpu/cpu.h"
#include "os/lock/lock.h"
#include "os/time/clock.h"
#include "page/page.h"

#define DEPOT_LANES OS_LANES

struct growth;

/* Objects of one other node, on their way home: front/array_remote.c. */
struct depot_remote {
	struct lock lock;
	uintptr_t top; /* of a sheaf with objects, 0: none; atomic */
	uint32_t nr;   /* objects in it; read without the lock, and from outside */
	bool touched;  /* some came since the last reap */
};

enum depot_kind {
	DEPOT_FULL,  /* sheaves with objects */
	DEPOT_EMPTY, /* without any */
	DEPOT_KINDS,
};

#define DEPOT_HIGH_MOST UINT16_MAX

struct depot_stack {
	uintptr_t top;	/* of the newest sheaf, 0: none; atomic */
	uint32_t nr;	/* sheaves; atomic */
	uint32_t low;	/* the fewest since the epoch, or a look in it; atomic */
	uint32_t quota; /* how many it may have without a look at others; atomic */
	uint16_t high;	/* the most; DEPOT_HIGH_MOST: or more; atomic */
	uint16_t made;	/* how many its CPUs made lately, see lane_gives(); atomic */
};

/*
 * What one CPU, or several whose numbers are congruent, put there. Objects go back to the CPU that
 * freed them: what several CPUs hold of one cache line, each waits for at every write.
 */
struct depot_lane {
	struct lock lock;
	uint16_t capacity;   /* of each of its sheaves; others are refused */
	uint8_t bit;	     /* in depot.rich; const */
	uint8_t told;	     /* of which kinds that bit is set in depot.rich, a bit each */
	uint32_t nr_objects; /* in the sheaves with objects; atomic */
	struct depot_stack stack[DEPOT_KINDS];
} __attribute__((aligned(CACHE_LINE)));

struct depot {
	/* the first line is read by every miss, and seldom written */
	struct depot_lane *lanes; /* nr_lanes; NULL until there is a sheaf, then const */
	uint32_t nr_lanes;	  /* a power of two; const */
	uint32_t capacity;
	uint32_t max[DEPOT_KINDS];
	int32_t left[DEPOT_KINDS];  /* of max, in no lane's quota; atomic */
	uint32_t batch;		    /* a lane with so many sheaves has some for others */
	uint32_t rich[DEPOT_KINDS]; /* lanes that had so many, a bit each; atomic, a hint */
	struct lock lock;
	struct growth *growth; /* NULL: limits are as they were at first */

	/* front/array_limit.c: max follows what the program does; all atomic */
	uint32_t base[DEPOT_KINDS]
		__attribute__((aligned(CACHE_LINE))); /* max at first, and least */
	/* full sheaves that it had no space for: since it was empty, or an epoch passed without */
	uint32_t overflows;
	uint32_t overflow_at;	/* epoch of the last overflow */
	uint32_t nr_overflows;	/* since start */
	uint32_t nr_underflows; /* how often it was empty soon after an overflow */
	uint32_t nr_moves;	/* from lane to lane; counted within both locks */

	/* front/array_near.c; hints, without a lock */
	int32_t near_left;     /* exchanges left; below 0: misses until it looks again */
	uint32_t near_epoch;   /* when there were more */
	uint32_t near_wait;    /* no more for so many epochs from then on */
	uint32_t nr_exchanges; /* of scattered objects, or others', for neighbours; since start */
	uint32_t sorted_at;    /* front/depot_sort.c */
	/* by node, the own one unused; NULL until the first such object comes, then const */
	struct depot_remote *remote;
	uint64_t seen; /* of node 0: front/array_idle.c; reaper only */
};

BUILD_ASSERT(sizeof(struct depot_lane) == CACHE_LINE);
BUILD_ASSERT(offsetof(struct depot, base) == CACHE_LINE);
BUILD_ASSERT(sizeof(struct depot) == 2 * CACHE_LINE);

static inline void **sheaf_base(uintptr_t top)
{
	return (void **)(top & ~(uintptr_t)(USLAB_SHEAF_SIZE - 1));
}

/* Index of the top entry, 31 - capacity (empty) .. 31 (full). */
static inline unsigned int sheaf_index(uintptr_t top)
{
	return (unsigned int)(top & (USLAB_SHEAF_SIZE - 1)) / sizeof(void *);
}

/* Objects in a sheaf of that capacity, for those who may not read it. */
static inline unsigned int sheaf_count_at(uintptr_t top, unsigned int capacity)
{
	return sheaf_index(top) - (USLAB_SHEAF_CAPACITY - capacity);
}

/* ---- of a sheaf that the caller owns ---- */

static inline unsigned int sheaf_bottom(uintptr_t top)
{
	return (unsigned int)(uintptr_t)sheaf_base(top)[0];
}

static inline unsigned int sheaf_capacity(uintptr_t top)
{
	return USLAB_SHEAF_CAPACITY - sheaf_bottom(top);
}

static inline unsigned int sheaf_count(uintptr_t top)
{
	return sheaf_index(top) - sheaf_bottom(top);
}

/*
 * Who its objects belong to (front/array_charged.h), for up to SHEAF_OWNED_CAPACITY of them: entry
 * 0 is not the NULL at the bottom then. Also read by those who do not own it: sheaves are metadata,
 * which stays mapped.
 */
#define SHEAF_OWNED_CAPACITY (USLAB_SHEAF_CAPACITY - 1)

static inline uint32_t *sheaf_owner(uintptr_t top)
{
	return (uint32_t *)sheaf_base(top) + 1; /* SHEAF_OWNER_OFFSET */
}

/* How many more objects it takes. */
static inline unsigned int sheaf_room(uintptr_t top)
{
	return USLAB_SHEAF_CAPACITY - sheaf_index(top);
}

/* os_clock_ms(), or a test's. */
extern uint64_t (*depot_clock)(void);

/* The unit of time in which depots grow and shrink. */
#define DEPOT_EPOCH_MS 64

static inline uint32_t depot_epoch(void)
{
	return (uint32_t)(depot_clock() / DEPOT_EPOCH_MS);
}

/* A new empty sheaf, capacity 1 .. 31: its top, or 0 when out of memory. */
uintptr_t sheaf_new(unsigned int capacity);
void sheaf_delete(uintptr_t top);

/* What the sheaves of a depot hold, and how many there may be. */
struct depot_limits {
	unsigned int capacity; /* 0: it takes none */
	unsigned int max_full;
	unsigned int max_empty;
};

void depot_init(struct depot *d, const struct depot_limits *limits);
/* All its sheaves have been taken out; nobody else knows it. */
void depot_destroy(struct depot *d);

/* Sheaves that a depot had before it began anew. */
struct depot_rest {
	struct depot depot; /* nobody else knows it */
	struct depot_lane lanes[DEPOT_LANES];
};

/* Begins anew with other limits. All sheaves are in *old then. What was counted goes on. */
void depot_renew(struct depot *d, const struct depot_limits *limits, struct depot_rest *old);

/* ---- what all lanes hold: without locks, so hints where other threads work ---- */

unsigned int depot_count(const struct depot *d, enum depot_kind kind); /* sheaves */
unsigned long depot_objects(const struct depot *d);

/* ---- one sheaf ---- */

/* Of this CPU's lane, or of one that has some for others; or 0. */
uintptr_t depot_get(struct depot *d, enum depot_kind kind);
/* Of any lane, this CPU's first; 0: none of them has any. */
uintptr_t depot_take(struct depot *d, enum depot_kind kind);
/* false: the depot is full, or of another capacity; the caller keeps the sheaf. */
bool depot_put(struct depot *d, enum depot_kind kind, uintptr_t top);
/* A hint: is there space for one more with objects? */
bool depot_has_room(const struct depot *d);
/*
 * Puts a sheaf of that kind and gets one of the other kind under one lock; 0: nothing was
 * exchanged.
 */
uintptr_t depot_exchange(struct depot *d, enum depot_kind kind, uintptr_t top);
/*
 * Sorts the objects of this CPU's lane, those of its newest sheaves, if it has many, and not too
 * often: the lowest address is to go out first. false: not done. It takes up to 280 KiB for as
 * long, and 3 to 10 ns for an object. Context: no lock held.
 */
bool depot_sort(struct depot *d);
/* This CPU made so many, a hint, that are not put here: the depot had none, or no space. */
void depot_note_made(struct depot *d, enum depot_kind kind, unsigned int nr);

/* ---- limits ---- */

/*
 * How many full sheaves did the depot have no space for, the last of them in this epoch or the one
 * before? It was just found empty, or what it has is other CPUs', so that there is to be space for
 * the sheaves of all. Any are counted as an underflow, and forgotten.
 */
uint32_t depot_underflows(struct depot *d);
/* A hint for that: mostly no. */
static inline bool depot_may_underflow(const struct depot *d)
{
	return unlikely(load_relaxed(&d->overflows));
}
/* Space for more sheaves with objects, and as many empty ones. */
void depot_raise(struct depot *d, uint32_t more);
/*
 * One of another CPU's lane if there is one, or 0: with objects, and the space for it is gone, as
 * long as there are more than at first; or an empty one beyond those that fit now.
 */
uintptr_t depot_shrink(struct depot *d, enum depot_kind kind);
/* What nobody used in an epoch. */
struct depot_surplus {
	uint32_t full;	 /* sheaves with objects */
	uint32_t empty;	 /* empty ones */
	uint32_t unused; /* space for full ones */
};
/* Begins an epoch: what was the surplus in the last one. */
struct depot_surplus depot_next_epoch(struct depot *d);
/*
 * A look within an epoch: what nobody used since the last one, or since the epoch began. Space is
 * not looked at: unused is 0.
 */
struct depot_surplus depot_look(struct depot *d);
/* How many sheaves that is by now, without a lock, so a hint; goes on with the same time. */
unsigned int depot_unused(const struct depot *d, enum depot_kind kind);
/* Takes away space that holds no sheaf; base stays. */
void depot_lower(struct depot *d, uint32_t less);

void depot_each_lock(struct depot *d, void (*act)(struct lock *l));

void depot_check(struct depot *d);

#endif /* FRONT_DEPOT_H */
