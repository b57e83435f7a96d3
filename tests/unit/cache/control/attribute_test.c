/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/control/attribute_test.c - the writable files of spec 6.3
 */
#include "unit/cache/cache_fixture.h"

#include "cache/internal.h"
#include "engine/slub/slub.h"

static long set(struct cache *c, const char *name, unsigned long value)
{
	long ret;

	lock_acquire(&cache_lock);
	ret = cache_set_attribute_locked(c, name, value);
	lock_release(&cache_lock);
	return ret;
}

IN_CHILD(test_attributes)
{
	struct cache *c;
	struct slub *s;

	ready();
	c = make_front("c", 64, "cpuslab");
	s = slub_of(&c->engine);
	CHILD_CHECK(set(c, "min_partial", 33) == 0 && s->min_partial == 33);
	CHILD_CHECK(set(c, "min_partial", 0) == 0 && s->min_partial == 0);
	CHILD_CHECK(set(c, "cpu_partial", 64) == 0 && s->cpu_partial == 64);
	CHILD_CHECK(s->cpu_partial_slabs == 2); /* 2 * 64 objects in slabs of 64 */
	CHILD_CHECK(set(c, "cpu_partial", 4294967296) == -EINVAL && s->cpu_partial == 64);
	CHILD_CHECK(set(c, "remote_node_defrag_ratio", 37) == 0);
	CHILD_CHECK(s->remote_node_defrag_ratio == 370);
	CHILD_CHECK(set(c, "remote_node_defrag_ratio", 101) == -ERANGE);
	CHILD_CHECK(s->remote_node_defrag_ratio == 370);
	CHILD_CHECK(set(c, "skip_kfence", 1) == 0 && c->engine.flags & SLAB_SKIP_KFENCE);
	CHILD_CHECK(c->flags & SLAB_SKIP_KFENCE);
	CHILD_CHECK(set(c, "skip_kfence", 2) == -EINVAL);
	CHILD_CHECK(set(c, "skip_kfence", 0) == 0 && !(c->engine.flags & SLAB_SKIP_KFENCE));

	CHILD_CHECK(set(c, "nonsense", 1) == -ENOENT && set(c, "", 1) == -ENOENT);
}

IN_CHILD(test_letter_attributes)
{
	static const struct {
		const char *name;
		slab_flags_t flag;
	} v[] = {
		{ "sanity_checks", SLAB_CONSISTENCY_CHECKS },
		{ "red_zone", SLAB_RED_ZONE },
		{ "poison", SLAB_POISON },
		{ "store_user", SLAB_STORE_USER },
		{ "trace", SLAB_TRACE },
		{ "failslab", SLAB_FAILSLAB },
	};
	slab_flags_t all = 0;
	struct cache *c;
	void *p;

	ready();
	c = make("c", 64, 0, 0);
	p = get(c);
	for (unsigned int i = 0; i < ARRAY_SIZE(v); i++) {
		all |= v[i].flag;
		CHILD_CHECK(set(c, v[i].name, 1) == 0 && c->flags == all);
	}
	cache_free(c, p);
	CHILD_CHECK(set(c, "cpu_partial", 5) == -EINVAL && set(c, "cpu_partial", 0) == 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(v); i++) {
		all &= ~v[i].flag;
		CHILD_CHECK(set(c, v[i].name, 0) == 0 && c->flags == all);
	}
	CHILD_CHECK(set(c, "trace", 2) == 0 && !c->flags); /* anything but 1 clears */
	/* a cache that others share (3.19) */
	CHILD_CHECK(make("alias", 64, 0, SLAB_CONSISTENCY_CHECKS) != c);
	c = make("d", 128, 0, 0);
	CHILD_CHECK(make("e", 128, 0, 0) == c);
	CHILD_CHECK(set(c, "trace", 1) == -EINVAL && set(c, "failslab", 1) == -EINVAL);
	CHILD_CHECK(set(c, "store_user", 1) == 0);
}

IN_CHILD(test_actions)
{
	struct cache *c;
	void *p;

	ready();
	c = make("c", 64, 0, 0);
	cache_free(c, get(c));
	CHILD_CHECK(set(c, "shrink", 0) == -EINVAL && stats_of(c).nr_slabs == 1);
	CHILD_CHECK(set(c, "shrink", 1) == 0 && stats_of(c).nr_slabs == 0);
	CHILD_CHECK(set(c, "validate", 1) == -EINVAL);
	CHILD_CHECK(set(c, "sanity_checks", 1) == 0);
	p = get(c);
	CHILD_CHECK(set(c, "validate", 1) == 1);
	CHILD_CHECK(set(c, "validate", 2) == -EINVAL);
	cache_free(c, p);
}

/* New slabs have it, and old ones stay. */
IN_CHILD(test_order)
{
	struct cache *c;
	void *p[400];

	ready();
	c = make_front("c", 256, "none");
	for (unsigned int i = 0; i < 20; i++)
		p[i] = get(c);
	CHILD_CHECK(set(c, "order", 3) == 0);
	for (unsigned int i = 20; i < 400; i++)
		p[i] = get(c);
	CHILD_CHECK(page_head_of(p[399])->order == 3);
	CHILD_CHECK(page_head_of(p[399])->layout->objects == 128);
	CHILD_CHECK(page_head_of(p[0])->order < 3);
	CHILD_CHECK(set(c, "order", 4) == -EINVAL); /* above slab_max_order */
	CHILD_CHECK(set(c, "order", 0) == 0);
	cache_check_all();
	for (unsigned int i = 0; i < 400; i++)
		cache_free(c, p[i]);
	CHILD_CHECK(cache_shrink(c) == 0 && stats_of(c).nr_slabs == 0);
	p[0] = get(c);
	CHILD_CHECK(page_head_of(p[0])->order == 0 && page_head_of(p[0])->layout->objects == 16);
	cache_free(c, p[0]);
	cache_destroy(c->handle, NULL);

	c = make_front("large", 10000, "none");
	CHILD_CHECK(set(c, "order", 1) == -EINVAL && set(c, "order", 2) == 0); /* too small */
	c = made(&(struct cache_spec){ .name = "slab", .size = 64, .engine = &slab_ops });
	CHILD_CHECK(set(c, "order", 1) == -EOPNOTSUPP && set(c, "min_partial", 1) == -EOPNOTSUPP);
	CHILD_CHECK(set(c, "cpu_partial", 1) == -EOPNOTSUPP);
	CHILD_CHECK(set(c, "remote_node_defrag_ratio", 1) == -EOPNOTSUPP);
}

IN_CHILD(test_statistics)
{
	struct kmem_cache_cpu *cpu;
	struct cache *c;

	CHILD_CHECK(cache_set_option("stats", "1", NULL));
	ready();
	stay_here();
	c = make_front("c", 64, "cpuslab");
	cache_free(c, get(c));
	cpu = percpu_state(c->front.id, percpu_cpu());
	CHILD_CHECK(cpu->stat[ALLOC_SLOWPATH] == 1 && cpu->stat[ALLOC_SLAB] == 1);
	CHILD_CHECK(set(c, "alloc_slowpath", 1) == -EINVAL && cpu->stat[ALLOC_SLOWPATH] == 1);
	CHILD_CHECK(set(c, "alloc_slowpath", 0) == 0 && cpu->stat[ALLOC_SLOWPATH] == 0);
	CHILD_CHECK(cpu->stat[ALLOC_SLAB] == 1);
	CHILD_CHECK(set(c, "cpu_partial_drain", 0) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attributes), cmocka_unit_test(test_letter_attributes),
		cmocka_unit_test(test_actions),	   cmocka_unit_test(test_order),
		cmocka_unit_test(test_statistics),
	};

	return cmocka_run_group_tests_name("attribute", tests, NULL, NULL);
}
