/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/limits_test.c - limits as tools see them: of this process
 */
#include <sys/mman.h>

#include "unit/cache/cache_fixture.h"

#include "cache/reclaim/shrinker.h"
#include "engine/limit.h"
#include "inspect/snapshot.h"
#include "page/limit.h"

static struct snapshot *take(void)
{
	struct snapshot *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHILD_CHECK(s != MAP_FAILED);
	root_init("kmalloc-large");
	CHILD_CHECK(!snapshot_take(s, &reader_local, (uintptr_t)&uslab_root));
	CHILD_CHECK(!s->totals.inconsistent);
	return s;
}

static const struct snapshot_cache *find(const struct snapshot *s, const char *name)
{
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (!strcmp(s->cache[i].name, name))
			return &s->cache[i];
	CHILD_CHECK(!"there");
	return NULL;
}

IN_CHILD(test_none)
{
	const struct snapshot *s;

	ready();
	make("any", 100, 0, SLAB_NO_MERGE);
	s = take();
	CHILD_CHECK(!s->totals.limit && !s->totals.shrinkers && !find(s, "any")->limit);
}

IN_CHILD(test_all)
{
	const struct snapshot *s;
	struct cache *c;

	ready();
	c = make("limited", 512, 0, SLAB_NO_MERGE);
	CHILD_CHECK(cache_set_limit(c, 16384) == 0);
	for (unsigned int i = 0; i < 40; i++)
		cache_alloc(c, GFP_KERNEL | __GFP_NOWARN, NUMA_NO_NODE);
	CHILD_CHECK(large_alloc(3ul << 20, 0, NULL));
	limit_set(64ul << 20);
	CHILD_CHECK(!large_alloc(64ul << 20, 0, NULL));
	shrinker_counters.freed = 77;
	s = take();
	CHILD_CHECK(find(s, "limited")->limit == 16384 && find(s, "limited")->limit_refused == 8);
	CHILD_CHECK(find(s, "limited")->slab_bytes == 16384);
	CHILD_CHECK(s->totals.limit == 64ul << 20 && s->totals.limit_refused == 2);
	CHILD_CHECK(s->totals.held_bytes == limit_held() << PAGE_SHIFT);
	CHILD_CHECK(s->totals.shrinker_freed == 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
