/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/numa_test.c - nodes as tools see them: of this process, on a made-up machine
 */
#include <sys/mman.h>

#include "unit/cache/cache_fixture.h"

#include "inspect/snapshot.h"
#include "page/numa.h"

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

IN_CHILD(test_sums)
{
	struct snapshot_machine_node sum = { 0 };
	const struct snapshot *s;
	struct cache *c;
	void *run;

	CHILD_CHECK(os_topology_set(8, 4) == 0);
	ready();
	c = make_front("numa", 300, "array");
	for (unsigned int i = 0; i < 400; i++) {
		os_act_as_cpu(i % 8);
		CHILD_CHECK(get(c));
	}
	os_act_as_cpu(6);
	run = run_alloc(100000, 0, NUMA_NO_NODE, NULL);
	numa_counters[2].remote_frees = 77;
	s = take();
	for (unsigned int i = 0; i < 4; i++) {
		const struct snapshot_machine_node *node = &s->node[i];

		CHILD_CHECK(node->slabs && node->objects >= 100 - 31);
		CHILD_CHECK(node->numa_hit == numa_counters[i].hit && node->numa_hit);
		sum.slab_bytes += node->slab_bytes;
		sum.free_bytes += node->free_bytes;
		sum.dirty_bytes += node->dirty_bytes;
		sum.objects += node->objects + node->free_objects;
	}
	CHILD_CHECK(s->node[2].remote_frees == 77);
	CHILD_CHECK(run && s->node[3].run_bytes == s->totals.run_bytes);
	CHILD_CHECK(sum.slab_bytes == s->totals.slab_bytes);
	CHILD_CHECK(sum.free_bytes == s->totals.free_bytes);
	CHILD_CHECK(sum.dirty_bytes == s->totals.dirty_bytes);
	CHILD_CHECK(sum.objects == stats_of(c).total_objects);
}

IN_CHILD(test_one_node)
{
	static const struct snapshot_machine_node none;
	const struct snapshot *s;

	CHILD_CHECK(os_topology_set(2, 1) == 0);
	ready();
	CHILD_CHECK(get(make_front("numa", 300, "array")));
	s = take();
	CHILD_CHECK(!memcmp(&s->node[0], &none, sizeof(none)));
}

/* Sheaves on their way to other nodes are held, and are found. */
IN_CHILD(test_on_their_way)
{
	const struct snapshot *s;
	struct cache *c;
	void *objs[100];

	CHILD_CHECK(os_topology_set(8, 4) == 0);
	ready();
	c = make_front("numa", 300, "array");
	for (unsigned int i = 0; i < 100; i++) {
		os_act_as_cpu(i % 2 * 7);
		objs[i] = cache_alloc(c, GFP_KERNEL | __GFP_THISNODE, (int)(i % 2 * 3));
		CHILD_CHECK(objs[i]);
	}
	os_act_as_cpu(0);
	for (unsigned int i = 0; i < 100; i++)
		cache_free(c, objs[i]);
	s = take();
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (s->cache[i].id == c->front.id) {
			CHILD_CHECK(s->cache[i].objects_alien && !s->cache[i].objects);
			CHILD_CHECK(s->cache[i].objects_held == c->front.ops->held(&c->front));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_one_node),
		cmocka_unit_test(test_on_their_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
