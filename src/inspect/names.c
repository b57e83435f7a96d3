/* SPDX-License-Identifier: MIT */
/*
 * inspect/names.c - the names of all engines and fronts
 *
 * Data:       a constant table.
 * Invariants: see inspect/names.h; the defaults come first.
 * Locks:      none.
 * Flow:       see names.h; reads the ops tables of front/ and cache_engines; calls
 *             cache/config/choice.c.
 */
#include "inspect/names.h"

#include "cache/cache.h"

static const struct front_ops *const fronts[] = {
	&front_array_ops,   &front_cpuslab_ops,	    &front_queues_ops,
	&front_sheaves_ops, &front_sheaves_618_ops, &front_none_ops,
};

const char *names_engine(unsigned int i)
{
	return i < CACHE_NR_ENGINES ? cache_engines[i]->name : NULL;
}

const char *names_front(unsigned int i)
{
	return i < ARRAY_SIZE(fronts) ? fronts[i]->name : NULL;
}

bool names_go_together(const char *engine, const char *front)
{
	return cache_go_together(cache_engine_by_name(engine), front_by_name(front));
}
