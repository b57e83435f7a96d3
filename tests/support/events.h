/* SPDX-License-Identifier: MIT */
/*
 * support/events.h - the events of all engines (engine_count_hook), counted by a test
 */
#ifndef SUPPORT_EVENTS_H
#define SUPPORT_EVENTS_H

#include <string.h>

#include "engine/stats.h"

static unsigned long events[NR_ENGINE_STATS]; /* since the last events_reset() */

static inline void events_count(__attribute__((unused)) const struct engine *e,
				enum engine_stat item)
{
	__atomic_fetch_add(&events[item], 1, __ATOMIC_RELAXED);
}

static inline void events_reset(void)
{
	memset(events, 0, sizeof(events));
	engine_count_hook = events_count;
}

#endif /* SUPPORT_EVENTS_H */
