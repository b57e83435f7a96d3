/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/group/lowered.h - what a group has after its limit was lowered
 *
 * Behind the fixture of caches.
 */
#ifndef UNIT_GROUP_LOWERED_H
#define UNIT_GROUP_LOWERED_H

#include "cache/group/group.h"

/*
 * Who frees one object and allocates one, again and again, gets none until the usage has come down:
 * what is freed is not kept for him. Then all is as before. g: the group, or one above it.
 */
static inline void churn_at_lower_limit(struct cache *c, struct uslab_group *g)
{
	const uint64_t limit = 32 * (uint64_t)c->engine.size;
	struct uslab_group_statistics stat;
	unsigned int failed = 0;
	unsigned int nr;
	void *p[64];

	for (nr = 0; nr < 64; nr++)
		CHILD_CHECK((p[nr] = get(c)));
	CHILD_CHECK(group_set_limit(g, limit) == 0);
	for (unsigned int i = 0; i < 200; i++) {
		obj_free(c, p[nr - 1]);
		p[nr - 1] = cache_alloc(c, GFP_NOWAIT | __GFP_NOWARN, NUMA_NO_NODE);
		failed += !p[nr - 1];
		nr -= !p[nr - 1];
	}
	CHILD_CHECK(failed == 32 && nr == 32);
	CHILD_CHECK(group_stat(g, &stat) == 0 && stat.usage == limit);
	CHILD_CHECK(!cache_alloc(c, GFP_NOWAIT | __GFP_NOWARN, NUMA_NO_NODE));
	for (unsigned int i = 0; i < 100; i++) {
		obj_free(c, p[31]);
		CHILD_CHECK((p[31] = get(c)));
	}
	while (nr)
		obj_free(c, p[--nr]);
}

#endif /* UNIT_GROUP_LOWERED_H */
