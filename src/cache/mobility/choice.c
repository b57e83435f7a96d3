/* SPDX-License-Identifier: MIT */
/*
 * cache/mobility/choice.c - which slabs of a node are emptied, and which stay for their objects
 *
 * Why:        docs/adr/0060.
 * Data:       struct mobility_round.
 * Invariants: counts of a survey are hints: slabs change meanwhile. No more slabs stay for a survey
 *             than it has asked for, so that the others are emptied whatever it has counted.
 * Locks:      the engine's, inside choose.
 * Flow:       called by defrag.c; calls the engine's choose and listed.
 *
 * For each degree of use from 1/8 up to the ratio, two walks over the partial list, from its tail,
 * in pieces. The first one counts. In the second one slabs that are used no more than that are
 * taken off the list, to be emptied into those at its head; the others move to the head, so that
 * they are filled up next, also by other threads.
 *
 * Where the fuller slabs have no room for all objects, some of the emptiest have to stay: those
 * that lie lowest in the arena. Else one slab would stay here and one there, each with the
 * descriptors of its chunk, and no two free blocks would ever merge over it. In an arena that is
 * nearly empty slabs may have to go to where none is yet: see page/low.h.
 */
#include <limits.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "cache/mobility/mobility.h"

#define LOOK 64 /* partial slabs that are looked at in one hold of list_lock */

/* Of MOBILITY_ALWAYS up: the last degree of use. */
static unsigned int most_use(const struct mobility *m)
{
	unsigned int use = load_relaxed(&m->ratio) * (EVACUATED_WHOLE / 100);

	return MAX(use, (unsigned int)MOBILITY_ALWAYS);
}

/* As engine_far(); migrate() allocates by itself, and nobody says where. */
static unsigned long far_for(const struct mobility_run *r, unsigned long leaving)
{
	return r->m->used.move ? engine_far(&r->c->engine, leaving) : ULONG_MAX;
}

static void begin_survey(struct mobility_run *r)
{
	struct mobility_round *round = &r->m->round;
	unsigned long nr_pages = load_relaxed(&page_map.nr_pages);

	round->surveys = true;
	round->keep = 0;
	round->below = 0;
	round->leaving = 0;
	round->far = far_for(r, 0);
	round->low = false;
	round->survey = (struct evacuation_survey){
		.span = DIV_ROUND_UP(nr_pages, (unsigned long)EVACUATION_PLACES),
	};
}

/*
 * Is next to nothing in use, of the cache's slabs and of the arena? Then nearly all objects have to
 * move in any case, and go to slabs low in the arena, most of them new ones: all slabs are emptied.
 * Unless as many are needed as there are, and all lie low.
 */
static bool goes_low(struct mobility_run *r)
{
	struct mobility_round *round = &r->m->round;
	const struct evacuation_survey *survey = &round->survey;
	unsigned long objects = survey->objects + survey->others;
	unsigned long unused = survey->objects - survey->inuse + survey->room;
	unsigned long slabs = r->ops->listed(&r->c->engine, round->node);
	unsigned long spare;

	if (!objects || unused * 8 < objects * (8 - EVACUATION_THIN))
		return false;
	spare = slabs * unused / objects;
	round->leaving = spare * survey->pages;
	round->far = far_for(r, round->leaving);
	round->low = round->far != ULONG_MAX && (spare || survey->highest >= round->far);
	return round->low;
}

/*
 * How many slabs stay, and below which page. Somewhat more than are needed, so that one is at the
 * head nearly always while the list is walked: what is too much the next degrees empty.
 */
static void end_survey(struct mobility_run *r)
{
	struct mobility_round *round = &r->m->round;
	const struct evacuation_survey *survey = &round->survey;
	unsigned long without = survey->inuse - MIN(survey->inuse, survey->room);
	unsigned long found = 0;

	if (without)
		round->keep = DIV_ROUND_UP(without * survey->slabs, survey->objects);
	round->leaving = (survey->slabs - MIN(round->keep, survey->slabs)) * survey->pages;
	round->far = far_for(r, round->leaving);
	round->keep += round->keep / 8;
	for (unsigned int i = 0; i < EVACUATION_PLACES && found < round->keep; i++) {
		found += survey->at[i];
		round->below += survey->span;
	}
	round->below = MIN(round->below, round->far);
}

/* The next walk over the list; false: that was the last one of this node. */
static bool next_walk(struct mobility_run *r)
{
	struct mobility_round *round = &r->m->round;
	unsigned int most = most_use(r->m);

	if (round->surveys) {
		round->surveys = false;
		if (goes_low(r))
			round->use = most;
		else
			end_survey(r);
	} else {
		if (round->use >= most)
			return false;
		round->use = MIN(round->use + MOBILITY_ALWAYS, most);
		begin_survey(r);
	}
	round->left = r->ops->listed(&r->c->engine, round->node);
	round->more = round->left;
	round->target = NULL;
	return true;
}

/* Between two steps the memory in use may have grown: then nothing lies far up any more. */
static void look_whether_far(struct mobility_run *r)
{
	struct mobility_round *round = &r->m->round;

	if (likely(round->far == ULONG_MAX) || far_for(r, round->leaving) != ULONG_MAX)
		return;
	round->far = ULONG_MAX;
	round->low = false;
}

/* One piece of a walk. */
static void look(struct mobility_run *r)
{
	struct mobility_round *round = &r->m->round;
	struct evacuation_choice choice = {
		.node = round->node,
		.use = round->use,
		.look = (unsigned int)MIN(round->left, (unsigned long)LOOK),
		.keep = round->keep,
		.below = round->below,
		.survey = round->surveys ? &round->survey : NULL,
	};
	unsigned int looked;

	look_whether_far(r);
	choice.far = round->far;
	choice.target = round->target;
	looked = r->ops->choose(&r->c->engine, &choice, &r->m->set);

	round->left = looked ? round->left - looked : 0;
	round->keep = choice.keep;
}

enum mobility_found mobility_find(struct mobility_run *r)
{
	for (;;) {
		if (!r->m->round.left && !next_walk(r))
			return MOBILITY_FOUND_NONE;
		look(r);
		if (r->m->set.nr)
			return MOBILITY_FOUND;
		if (mobility_is_late(r))
			return MOBILITY_FOUND_LATE;
		r->has_begun = true;
	}
}
