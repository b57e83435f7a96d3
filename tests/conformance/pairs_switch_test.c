/* SPDX-License-Identifier: MIT */
/*
 * conformance/pairs_switch_test.c - every engine with every front does the same while debug flags
 * of its cache are switched on and off all the time
 *
 * Everything is as for quiet caches: no object is lost, given out twice, or written to; nothing is
 * reported; when all objects have come back no slab of any kind is left.
 *
 * ctest: timeout=400
 */
#define PAIRS_DEBUG_FLAGS "switched"
#include "conformance/pairs_test.c"
