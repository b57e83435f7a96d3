/* SPDX-License-Identifier: MIT */
/*
 * engine/evacuation.h - slabs that are emptied, so that their pages come back
 *
 * Why:        docs/adr/0060.
 * Data:       struct evacuated of the caller: slabs that are being emptied.
 * Invariants: such a slab is on no list that objects are taken from, and is not freed: objects come
 *             back to it, and none is handed out. It is in *set from the hold of list_lock that
 *             took it off its list to the one that ends its evacuation, so that a child of fork()
 *             can end what another thread had begun.
 * Locks:      each function takes the list_lock of the node; one caller per set at a time.
 * Flow:       included by charged.c, engine/slab/, engine/slub/, cache/direct.c and
 *             cache/mobility/; called by cache/direct.c, cache/mobility/choice.c,
 *             cache/mobility/defrag.c, cache/mobility/evacuate.c, cache/mobility/mobility.c,
 *             engine/slab/evacuate.c, engine/slab/refill.c, engine/slub/evacuate.c,
 *             engine/slub/low.c and engine/slub/sparse.c.
 */
#ifndef ENGINE_EVACUATION_H
#define ENGINE_EVACUATION_H

#include "base/bits.h"
#include "engine/engine.h"
#include "page/page.h"

#define EVACUATED_MAX 16 /* slabs at a time */
#define EVACUATED_WHOLE 800

struct evacuated {
	struct page *slab[EVACUATED_MAX];
	unsigned int nr;
};

#define EVACUATION_PLACES 64
/* Eighths: where no more objects of the partial slabs are in use, most have to move in any case. */
#define EVACUATION_THIN 3

/* What partial slabs have, as they were looked at. */
struct evacuation_survey {
	unsigned long slabs;		/* that are to be emptied; */
	unsigned long pages;		/* of one, at most; */
	unsigned long highest;		/* page of any partial slab */
	unsigned long objects;		/* of these, */
	unsigned long inuse;		/* and those in use */
	unsigned long others;		/* objects of the other slabs; */
	unsigned long room;		/* free ones of these */
	unsigned long span;		/* pages of a place */
	uint32_t at[EVACUATION_PLACES]; /* slabs that are to be emptied, by where in the arena */
};

/* Which slabs are chosen. Those that stay move to the head. */
struct evacuation_choice {
	unsigned int node;
	unsigned int use;  /* a slab with more objects in use, of EVACUATED_WHOLE, stays */
	unsigned int look; /* partial slabs that are looked at, at most */
	/* So many others stay, of those that lie below that page: for the objects of the rest. */
	unsigned long keep;
	unsigned long below;
	unsigned long far;		  /* those from that page on are emptied in any case */
	const struct page *target;	  /* it is being filled, and stays; NULL: none is */
	struct evacuation_survey *survey; /* not NULL: all stay, and are counted */
};

struct engine_evacuation {
	/* Partial slabs of a node, and all of them, now. */
	unsigned long (*listed)(struct engine *e, unsigned int node);
	unsigned long (*slabs)(struct engine *e, unsigned int node);

	/*
	 * Looks at partial slabs from the list's tail on, and takes those off it that are to be
	 * emptied, until *set is full. The others become those that objects are taken from next.
	 * Lowers choice->keep by those that stay for it. Returns how many it looked at.
	 */
	unsigned int (*choose)(struct engine *e, struct evacuation_choice *choice,
			       struct evacuated *set);

	/*
	 * Up to want objects, as from refill, but of partial slabs of that node alone, and of those
	 * below page far (page/low.h). grows: then of new ones below that page; if there are none,
	 * of any partial slab.
	 */
	unsigned int (*take)(struct engine *e, unsigned int node, void **objs, unsigned int want,
			     unsigned long far, bool grows);

	/*
	 * Slab i of *set is as others again: it is freed if it is empty, else it is partial, at
	 * that end of the list. The last of the set takes its place. Returns pages that were freed.
	 */
	unsigned long (*end)(struct engine *e, struct evacuated *set, unsigned int i, bool tail);

	/*
	 * Optional (NULL: no slab is): is a slab of this engine among those that are worth emptying
	 * into the others, and not a CPU's? That is, sparse, or at page far or above, full or not.
	 */
	bool (*is_sparse)(struct engine *e, struct page *slab, unsigned long far);
};

static inline unsigned long evacuation_index(const struct page *slab)
{
	return (unsigned long)(slab - page_map.pages);
}

static inline void evacuation_count(struct evacuation_survey *survey, const struct page *slab,
				    unsigned int inuse, unsigned int objects, bool few)
{
	unsigned long index = evacuation_index(slab);
	unsigned long place = index / survey->span;

	survey->highest = MAX(survey->highest, index);
	survey->pages = MAX(survey->pages, (unsigned long)slab->nr_pages);
	if (!few) {
		survey->others += objects;
		survey->room += objects - inuse;
		return;
	}
	survey->slabs++;
	survey->objects += objects;
	survey->inuse += inuse;
	survey->at[MIN(place, EVACUATION_PLACES - 1ul)]++;
}

/* Is a slab to be emptied? list_lock is held. */
static inline bool evacuation_takes(struct evacuation_choice *choice, const struct page *slab,
				    unsigned int inuse, unsigned int objects)
{
	bool few = (unsigned long)inuse * EVACUATED_WHOLE <= (unsigned long)choice->use * objects ||
		   evacuation_index(slab) >= choice->far;

	if (choice->survey) {
		evacuation_count(choice->survey, slab, inuse, objects, few);
		return false;
	}
	if (slab == choice->target)
		return false;
	if (few && choice->keep && evacuation_index(slab) < choice->below) {
		choice->keep--;
		return false;
	}
	return few;
}

static inline void evacuated_add(struct evacuated *set, struct page *slab)
{
	set->slab[set->nr++] = slab;
}

static inline struct page *evacuated_remove(struct evacuated *set, unsigned int i)
{
	struct page *slab = set->slab[i];

	set->slab[i] = set->slab[--set->nr];
	return slab;
}

#endif /* ENGINE_EVACUATION_H */
