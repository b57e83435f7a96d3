/* SPDX-License-Identifier: MIT */
/*
 * engine/stats.c - events, counted per cache and CPU (spec 4.15)
 *
 * Data:       see stats.h.
 * Invariants: see stats.h.
 * Locks:      none.
 * Flow:       see stats.h.
 */
#include "engine/stats.h"

void (*engine_count_hook)(const struct engine *e, enum engine_stat item);
