/* SPDX-License-Identifier: MIT */
/*
 * stress/moves_storm_test.c - slabs are emptied while all that the storm does goes on
 *
 * ctest: label=full timeout=300 serial
 *
 * The same threads, migrations, signals, forks and drains; each cache has a function that moves
 * those objects that are passed on, and one more thread has slabs of all caches emptied, in steps.
 * It is interrupted, too, and children are forked in the middle of its steps.
 */
#define STORM_MOVES 1
#include "stress/cache_storm_test.c"
