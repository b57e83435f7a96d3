/* SPDX-License-Identifier: MIT */
/*
 * stress/profile_storm_test.c - allocation profiling comes and goes while all that the storm does
 * goes on
 *
 * ctest: label=full timeout=300 serial
 *
 * The same threads, migrations, signals, forks and drains; each call that allocates has a tag, and
 * one more thread switches profiling on and off. In the end, when every object was freed by
 * somebody, no call site has anything.
 */
#define USLAB_MEM_ALLOC_PROFILING
#define STORM_PROFILES 1
#include "stress/cache_storm_test.c"
