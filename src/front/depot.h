/* SPDX-License-Identifier: MIT */
/*
 * front/depot.h - full and empty sheaves of a node (the kernel's barn)
 *
 * Data:       per cache and node stacks of sheaves: one of empty ones, and for those with objects
 *             one for each lane, which is the CPU's number modulo DEPOT_LANES.
 * Invariants: nr_full counts the sheaves of all lanes. low_full <= nr_full <= high_full <=
 *             max_full, low_empty <= nr_empty <= max_empty; all sheaves of a depot have its
 *             capacity; entry 0 of a sheaf in a depot links to the next one; a sheaf is referred to
 *             by the address of its top entry, so that the reference carries the count. Checked by
 *             depot_check().
 * Locks:      depot.lock (RANK_DEPOT), held for a few loads and stores.
 * Flow:       called by array.c, array_bulk.c, array_capacity.c, array_charged.c, array_idle.c,
 *             array_limit.c, array_near.c, array_remote.c, array_sheaf.h, cache/debug/misuse.c,
 *             cache/group/array.c, inspect/address.c, inspect/fronts.c and inspect/groups.c; calls
 *             page/meta.c.
 *
 * A sheaf: 32 pointers, aligned to 256 bytes. With capacity c the entries used are 32-c .. 31, and
 * entry 31-c is NULL: the bottom. top == &entry[31-c]: empty; top == &entry[31]: full. Outside of
 * depots entry 0 is the bottom's index, so that a sheaf knows its capacity whatever that of its
 * front is by then (docs/adr/0055); with capacity 31 it is the bottom itself, and 0 as that.
 */
#ifndef FRONT_DEPOT_H
#define FRONT_DEPOT_H

#include "base/atomic.h"
#include "os/lock/lock.h"
#include "os/time/clock.h"
#include "page/page.h"

/*
 * Objects go back to the CPU that freed them, as long as it has any: what several CPUs hold of one
 * cache line, each waits for at every write. CPUs beyond so many share lanes.
 */
#define DEPOT_LANES 8

struct growth;

/* Objects of one other node, on their way home: front/array_remote.c. */
struct depot_remote {
	struct lock lock;
	uintptr_t top; /* of a sheaf with objects, 0: none; atomic */
	uint32_t nr;   /* objects in it; read without the lock, and from outside */
	bool touched;  /* some came since the last reap */
};

struct depot {
	/* the first two cache lines have all that a put or a get reads and writes */
	struct lock lock;
	uint32_t nr_full; /* sheaves with objects */
	uint32_t nr_empty;
	uint32_t max_full;
	uint32_t max_empty;
	uintptr_t empty;	  /* top of the newest, 0: none; atomic */
	unsigned long nr_objects; /* in the sheaves with objects */
	uint32_t low_full;	  /* the fewest sheaves with objects since the epoch began */
	uint32_t high_full;	  /* the most */
	uint32_t low_empty;	  /* the fewest empty ones */
	uint32_t overflows; /* full sheaves that it had no space for, since it was last found empty */
	uint32_t capacity; /* of each of its sheaves; others are refused */
	uintptr_t full[DEPOT_LANES] __attribute__((aligned(CACHE_LINE))); /* likewise */

	/* front/array_limit.c: max_full and max_empty follow what the program does */
	struct growth *growth;	/* NULL: they are as they were at first */
	uint32_t base_full;	/* max_full at first, and at least */
	uint32_t base_empty;	/* likewise */
	uint32_t overflow_at;	/* epoch of the last overflow */
	uint32_t nr_overflows;	/* since start */
	uint32_t nr_underflows; /* how often it was empty soon after an overflow */

	/* front/array_near.c; hints, without the lock */
	int32_t near_left;     /* exchanges left; below 0: misses until it looks again */
	int32_t near_cpu;      /* whose they are */
	uint32_t near_epoch;   /* when there were more, or another CPU came */
	uint32_t near_wait;    /* no more for so many epochs from then on */
	uint32_t nr_exchanges; /* of scattered objects for neighbours, since start */
	/* by node, the own one unused; NULL until the first such object comes, then const */
	struct depot_remote *remote;
	uint64_t seen; /* of node 0: front/array_idle.c; reaper only */
} __attribute__((aligned(CACHE_LINE)));

BUILD_ASSERT(offsetof(struct depot, full) == CACHE_LINE);
BUILD_ASSERT(offsetof(struct depot, growth) == 2 * CACHE_LINE);

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
/*
 * Begins anew with other limits. All sheaves are in *old then, a depot that nobody else knows. What
 * was counted since the start goes on.
 */
void depot_renew(struct depot *d, const struct depot_limits *limits, struct depot *old);

/* A sheaf with objects, of this CPU's lane if that has any; or 0. */
uintptr_t depot_get_full(struct depot *d);
/* An empty sheaf, or 0. */
uintptr_t depot_get_empty(struct depot *d);
/* false: the depot is full, or of another capacity; the caller keeps the sheaf. */
bool depot_put_full(struct depot *d, uintptr_t top);
bool depot_put_empty(struct depot *d, uintptr_t top);
/* Puts a full sheaf and gets an empty one under one lock; 0: nothing was exchanged. */
uintptr_t depot_exchange_full(struct depot *d, uintptr_t top);
/* Puts an empty sheaf and gets one with objects; 0: nothing was exchanged. */
uintptr_t depot_exchange_empty(struct depot *d, uintptr_t top);

/*
 * Has the depot, which was just found empty, overflowed in this epoch or the last one? A yes is
 * counted as an underflow. The overflows are forgotten.
 */
bool depot_underflows(struct depot *d);
/* A hint for that, without the lock: mostly no. */
static inline bool depot_may_underflow(const struct depot *d)
{
	return unlikely(load_relaxed(&d->overflows));
}
/* Space for more sheaves with objects, and as many empty ones. */
void depot_raise(struct depot *d, uint32_t more);
/*
 * A sheaf with objects, of another CPU's lane if there is one, and the space for it is gone, as
 * long as there are more than at first; or an empty one beyond those that fit now. 0: none.
 */
uintptr_t depot_shrink_full(struct depot *d);
uintptr_t depot_shrink_empty(struct depot *d);
/* What nobody used in an epoch. */
struct depot_surplus {
	uint32_t full;	 /* sheaves with objects */
	uint32_t empty;	 /* empty ones */
	uint32_t unused; /* space for full ones */
};
/* Begins an epoch: what was the surplus in the last one. */
struct depot_surplus depot_next_epoch(struct depot *d);
/* Takes away space that holds no sheaf; base_full stays. */
void depot_lower(struct depot *d, uint32_t less);

void depot_check(struct depot *d);

#endif /* FRONT_DEPOT_H */
