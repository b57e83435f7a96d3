/* SPDX-License-Identifier: MIT */
/*
 * stress/groups_storm_test.c - what threads in accounting groups allocate is charged while all that
 * the storm does goes on
 *
 * ctest: label=full timeout=300 serial
 *
 * The same threads, migrations, signals, forks and drains. Threads go from group to group, end in
 * one, and pass objects on to threads in others. In the end, when every object was freed by
 * somebody, nothing is charged to any.
 */
#define STORM_GROUPS 1
#define STORM_FLAGS(i) (i % 3 ? SLAB_ACCOUNT : USLAB_ACCOUNT_INLINE)
#define storm_alloc kmem_cache_alloc_account
#define storm_free kmem_cache_free_account
#include "stress/cache_storm_test.c"
