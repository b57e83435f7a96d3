/* SPDX-License-Identifier: MIT */
/*
 * numa/real_test.c - policies on the nodes of a real machine, as the kernel sees them
 *
 * ctest: timeout=120 sanitize=no
 *
 * Skipped where there is one node, or the kernel does not say where pages are: scripts/numa-vm runs
 * it on virtual machines with several. Where an object's page is, move_pages(2) says, and of the
 * whole arena /proc/self/numa_maps.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include <uslab/slab.h>

#include "child.h"
#include "os/cpu/nodes.h"
#include "os/memory/place.h"
#include "os/memory/policy.h"
#include "page/numa.h"

#define SIZE 1000u
#define MANY 48000u /* 46 MiB */
#define BATCH 512u

static struct kmem_cache *cache;
static char *objs[MANY];

/* ---- where memory is ---- */

/* Nodes of the pages of n objects, added up. */
static void count_objects(unsigned int n, unsigned long count[OS_MAX_NODES])
{
	memset(count, 0, OS_MAX_NODES * sizeof(*count));
	for (unsigned int i = 0; i < n; i += BATCH) {
		unsigned int part = n - i < BATCH ? n - i : BATCH;
		int status[BATCH];
		void *pages[BATCH];

		for (unsigned int j = 0; j < part; j++)
			pages[j] = (void *)((uintptr_t)objs[i + j] & ~4095ul);
		CHILD_CHECK(syscall(SYS_move_pages, 0, (long)part, pages, NULL, status, 0) == 0);
		for (unsigned int j = 0; j < part; j++) {
			CHILD_CHECK(status[j] >= 0 && status[j] < OS_MAX_NODES);
			count[status[j]]++;
		}
	}
}

static void add_line(const char *line, unsigned long count[OS_MAX_NODES])
{
	const char *at = strstr(line, " N");
	unsigned long start = strtoul(line, NULL, 16);
	unsigned long base = (unsigned long)page_map.base;
	unsigned int node;
	unsigned long pages;

	if (start < base || start >= base + (page_map.nr_pages << PAGE_SHIFT))
		return;
	for (; at; at = strstr(at + 1, " N"))
		if (sscanf(at, " N%u=%lu", &node, &pages) == 2 && node < OS_MAX_NODES)
			count[node] += pages;
}

/* Pages of the arena. */
static void count_maps(unsigned long count[OS_MAX_NODES])
{
	FILE *file = fopen("/proc/self/numa_maps", "r");
	char line[1024];

	memset(count, 0, OS_MAX_NODES * sizeof(*count));
	CHILD_CHECK(file);
	while (fgets(line, sizeof(line), file))
		add_line(line, count);
	fclose(file);
}

/* ---- threads on nodes ---- */

/* false: the node has no CPUs, or none that this process may use. */
static bool run_on(unsigned int node)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned int cpu = 0; cpu < os_topology.nr_cpu_ids; cpu++)
		if (os_cpu_to_node(cpu) == node)
			CPU_SET(cpu, &set);
	return CPU_COUNT(&set) && !sched_setaffinity(0, sizeof(set), &set);
}

/* This thread runs on the node of that number, or on the next one that has CPUs. */
static void go_to(unsigned int n)
{
	unsigned int nr_nodes = os_topology.nr_nodes;

	for (unsigned int tried = 0; tried < nr_nodes; tried++)
		if (run_on((n + tried) % nr_nodes))
			return;
	CHILD_CHECK(!"a node with CPUs");
}

/* The last node that has CPUs; this thread runs there. */
static unsigned int go_to_last(void)
{
	for (unsigned int node = os_topology.nr_nodes; node--;)
		if (run_on(node))
			return node;
	CHILD_CHECK(!"a node with CPUs");
	return 0;
}

static void take(unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++) {
		objs[i] = kmem_cache_alloc(cache, GFP_KERNEL);
		CHILD_CHECK(objs[i]);
		memset(objs[i], 1, SIZE);
	}
}

/* From each node in turn. */
static void take_everywhere(unsigned int n)
{
	for (unsigned int i = 0; i < 16; i++) {
		go_to(i);
		take(n / 16 * i, n / 16 * (i + 1));
	}
}

static void give(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		kmem_cache_free(cache, objs[i]);
}

static void begin(const char *engine, const char *front)
{
	struct kmem_cache_args args = { .engine = engine, .front = front };

	cache = kmem_cache_create_args("real", SIZE, &args, SLAB_NO_MERGE);
	CHILD_CHECK(cache);
}

static unsigned long all_nodes(void)
{
	return os_nodes.memory;
}

/* ---- tests ---- */

static void check_even(const unsigned long count[OS_MAX_NODES])
{
	unsigned long nodes = (unsigned long)__builtin_popcountl(all_nodes());
	unsigned long sum = 0;

	for (unsigned int node = 0; node < OS_MAX_NODES; node++)
		sum += count[node];
	for (unsigned int node = 0; node < OS_MAX_NODES; node++) {
		unsigned long share = sum / nodes;

		if (!(all_nodes() >> node & 1))
			continue;
		printf("# node %u: %lu of %lu\n", node, count[node], share);
		CHILD_CHECK(count[node] * 100 >= share * 99 - 3200);
		CHILD_CHECK(count[node] * 100 <= share * 101 + 3200); /* a slab more */
	}
}

static void interleaves(const char *engine, const char *front, bool by_cache)
{
	unsigned long count[OS_MAX_NODES];
	unsigned long before[OS_MAX_NODES];
	unsigned long mask = all_nodes();

	begin(engine, front);
	count_maps(before);
	if (by_cache)
		CHILD_CHECK(!uslab_cache_set_mempolicy(cache, USLAB_POLICY_INTERLEAVE, &mask, 64));
	else
		CHILD_CHECK(!uslab_set_mempolicy(USLAB_POLICY_INTERLEAVE, &mask, 64));
	if (by_cache)
		take_everywhere(MANY);
	else
		take(0, MANY);
	count_objects(MANY, count);
	check_even(count);
	count_maps(count);
	for (unsigned int node = 0; node < OS_MAX_NODES; node++)
		count[node] -= before[node];
	check_even(count);
	give(MANY);
}

IN_CHILD(test_interleave_by_slab)
{
	interleaves("slub", "array", true);
}

IN_CHILD(test_interleave_by_thread)
{
	interleaves("slub", "cpuslab", false);
}

IN_CHILD(test_interleave_by_object)
{
	interleaves("slab", "queues", true);
}

static void check_bound(unsigned int n, unsigned long mask)
{
	unsigned long count[OS_MAX_NODES];

	count_objects(n, count);
	for (unsigned int node = 0; node < OS_MAX_NODES; node++)
		CHILD_CHECK(!count[node] || mask >> node & 1);
}

/* The last node with memory, and with more than two the one in the middle. */
static unsigned long some_nodes(void)
{
	unsigned int last = 63u - (unsigned int)__builtin_clzl(all_nodes());
	unsigned long middle = 1ul << last / 2;

	return (1ul << last) | (last > 1 ? middle & all_nodes() : 0);
}

static void is_bound(const char *engine, const char *front)
{
	unsigned long mask = some_nodes();

	begin(engine, front);
	take_everywhere(1600);
	give(1600);
	CHILD_CHECK(!uslab_cache_set_mempolicy(cache, USLAB_POLICY_BIND, &mask, 64));
	for (unsigned int round = 0; round < 3; round++) {
		take_everywhere(MANY / 4);
		check_bound(MANY / 4, mask);
		give(MANY / 4);
	}
}

IN_CHILD(test_bind_by_slab)
{
	is_bound("slub", "array");
}

IN_CHILD(test_bind_by_object)
{
	is_bound("slab", "queues");
}

IN_CHILD(test_bind_sheaves)
{
	is_bound("slub", "sheaves");
}

static unsigned long free_kib(unsigned int node)
{
	unsigned long kib = 0;
	char path[80];
	char line[160];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/meminfo", node);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, "MemFree:"))
			kib = strtoul(strstr(line, ":") + 1, NULL, 10);
	if (file)
		fclose(file);
	return kib;
}

/* The node is filled; then allocations fail, and nobody is killed, nor does a page go elsewhere. */
IN_CHILD(test_bind_to_a_full_node)
{
	unsigned int last = 63u - (unsigned int)__builtin_clzl(all_nodes());
	unsigned long mask = 1ul << last;
	unsigned long most = free_kib(last) + (64ul << 10);
	char **blocks = calloc(most, sizeof(*blocks));
	unsigned long n = 0;

	if (most > 2ul << 20)
		child_cannot("a node of less than 2 GiB: it is filled");
	cache = kmem_cache_create("full", 1024, 0, SLAB_NO_MERGE, NULL);
	CHILD_CHECK(cache && blocks);
	CHILD_CHECK(!uslab_cache_set_mempolicy(cache, USLAB_POLICY_BIND, &mask, 64));
	while (n < most && (blocks[n] = kmem_cache_alloc(cache, GFP_KERNEL | __GFP_NOWARN)))
		memset(blocks[n++], 1, 1024);
	printf("# node %u: %lu MiB, then NULL\n", last, n >> 10);
	CHILD_CHECK(n < most && n > most / 2);
	for (unsigned int i = 0; i < MANY && i < n; i++)
		objs[i] = blocks[n - 1 - i];
	check_bound(n < MANY ? (unsigned int)n : MANY, mask);
	/* preferred goes elsewhere */
	CHILD_CHECK(!uslab_cache_set_mempolicy(cache, USLAB_POLICY_PREFERRED, &mask, 64));
	for (unsigned int i = 0; i < 4000; i++)
		CHILD_CHECK(kmem_cache_alloc(cache, GFP_KERNEL));
}

static void *free_all(void *arg)
{
	unsigned long count[OS_MAX_NODES];
	unsigned int here = go_to_last();

	give(MANY);
	take(0, MANY / 4);
	count_objects(MANY / 4, count);
	printf("# on node %u after freeing another's: %lu of %u are its own\n", here, count[here],
	       MANY / 4);
	/* but for slabs that the first has beyond those that it needs (remote_node_defrag_ratio) */
	CHILD_CHECK(count[here] > 0);
	give(MANY / 4);
	return arg;
}

IN_CHILD(test_remote_frees)
{
	unsigned int other = go_to_last();
	pthread_t thread;

	begin("slab", "array");
	go_to(0);
	if (os_current_node() == other)
		child_cannot("CPUs of several nodes"); /* the others have memory only */
	take(0, MANY);
	CHILD_CHECK(!pthread_create(&thread, NULL, free_all, NULL));
	CHILD_CHECK(!pthread_join(thread, NULL));
	CHILD_CHECK(numa_counters[os_current_node()].remote_frees > MANY / 2);
}

static bool is_inherited;

/* What numactl(8) has set holds for those who say nothing. */
IN_CHILD(test_kernel_policy)
{
	unsigned long count[OS_MAX_NODES];

	if (!is_inherited) {
		unsigned long mask = all_nodes();
		char *const again[] = { "/proc/self/exe", "inherited", NULL };

		CHILD_CHECK(!syscall(SYS_set_mempolicy, OS_POLICY_INTERLEAVE, &mask, 65));
		execv(again[0], again);
		CHILD_CHECK(!"execv");
	}
	begin("slub", "array");
	take(0, MANY);
	count_objects(MANY, count);
	check_even(count);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interleave_by_slab),
		cmocka_unit_test(test_interleave_by_thread),
		cmocka_unit_test(test_interleave_by_object),
		cmocka_unit_test(test_bind_by_slab),
		cmocka_unit_test(test_bind_by_object),
		cmocka_unit_test(test_bind_sheaves),
		cmocka_unit_test(test_remote_frees),
		cmocka_unit_test(test_kernel_policy),
		cmocka_unit_test(test_bind_to_a_full_node),
	};
	const struct CMUnitTest inherited[] = { cmocka_unit_test(test_kernel_policy) };

	kfree(kmalloc(1, GFP_KERNEL)); /* the library is ready: it knows its machine */
	if (os_topology.nr_nodes < 2 || !os_can_bind()) {
		puts("skipped: one node, or the kernel does not say where pages are");
		return 77;
	}
	is_inherited = argc > 1 && !strcmp(argv[1], "inherited");
	return is_inherited ? cmocka_run_group_tests(inherited, NULL, NULL)
			    : cmocka_run_group_tests(tests, NULL, NULL);
}
