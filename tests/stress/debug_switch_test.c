/* SPDX-License-Identifier: MIT */
/*
 * stress/debug_switch_test.c - debug flags come and go while all that the storm does goes on
 *
 * ctest: label=full timeout=300 serial
 *
 * The same threads, migrations, signals, forks and drains; one more thread switches debug flags
 * of all caches or some, samples, and validates. Objects of every layout are alive at any time and
 * are freed by whoever has them. No byte of an object may change but by its owner, nothing may be
 * reported, and in the end no page may be missing. USLAB_SOAK=30: two minutes.
 */
#define STORM_SWITCHES 1
#include "stress/cache_storm_test.c"
