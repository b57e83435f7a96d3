/* SPDX-License-Identifier: MIT */
/*
 * report/names.c - the engines and fronts that there are
 *
 * Data:       two constant tables.
 * Invariants: see report/names.h; the defaults come first.
 * Locks:      none.
 * Flow:       called by tools; reads the ops tables of engine/ and front/.
 */
#include "report/names.h"

#include "front/front.h"

static const struct engine_ops *const engines[] = { &slub_ops };

static const struct front_ops *const fronts[] = { &front_array_ops, &front_cpuslab_ops,
						  &front_none_ops };

const char *names_engine(unsigned int i)
{
	return i < ARRAY_SIZE(engines) ? engines[i]->name : NULL;
}

const char *names_front(unsigned int i)
{
	return i < ARRAY_SIZE(fronts) ? fronts[i]->name : NULL;
}
