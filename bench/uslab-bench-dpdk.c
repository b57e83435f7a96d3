/* SPDX-License-Identifier: MIT */
/*
 * bench/uslab-bench-dpdk.c - bulk calls of a cache beside those of DPDK's rte_mempool
 *
 * Flow:       started by hand or by scripts/bench-dpdk; built where libdpdk is, and never
 *             installed. Calls the public API and libdpdk. Out: a table on stdout.
 *
 * N objects are allocated by one call and freed by one, in one thread on one CPU, by each
 * contestant in turn, part by part; each round begins with another one. The pool has DPDK's largest
 * cache per thread (512 objects), so that it never goes to its ring. In a second table each object
 * is written to in between, as programs do: the pool hands out pointers and never looks at the
 * objects, while a cache keeps marks in those that are free, to notice a second free.
 */
#include <rte_eal.h>
#include <rte_mempool.h>
#include <uslab/slab.h>

#include "harness.h"

#define MOST 256
#define POOL_OBJECTS 8191
#define PARTS 199
#define PART_NS 100e3

static const size_t counts[] = { 8, 16, 31, 32, 64, 128, 256 };
#define NR_COUNTS (sizeof(counts) / sizeof(counts[0]))

static struct rte_mempool *pool;
static struct kmem_cache *cache;
static void *objects[MOST];

/* ---- contestants: n objects allocated, and freed ---- */

static __attribute__((always_inline)) inline void touch(size_t n, bool written)
{
	for (size_t i = 0; written && i < n; i++)
		*(volatile uint64_t *)objects[i] = i;
}

#define CONTESTANT(name, alloc, release)                                                   \
	static __attribute__((noinline)) void name(size_t n, uint64_t steps, bool written) \
	{                                                                                  \
		for (; steps; steps--) {                                                   \
			if (!(alloc))                                                      \
				die("out of memory");                                      \
			touch(n, written);                                                 \
			release;                                                           \
		}                                                                          \
	}

CONTESTANT(by_pool, !rte_mempool_get_bulk(pool, objects, (unsigned int)n),
	   rte_mempool_put_bulk(pool, objects, (unsigned int)n))
CONTESTANT(by_bulk, kmem_cache_alloc_bulk(cache, GFP_KERNEL, n, objects),
	   kmem_cache_free_bulk(cache, n, objects))
CONTESTANT(by_local,
	   kmem_cache_alloc_array(cache, GFP_KERNEL, n, objects,
				  SLAB_ARRAY_LOCAL | SLAB_ARRAY_FULL) == (int)n,
	   kmem_cache_free_array(cache, n, objects))
CONTESTANT(by_array, kmem_cache_alloc_array(cache, GFP_KERNEL, n, objects, 0) == (int)n,
	   kmem_cache_free_array(cache, n, objects))

static const struct contestant {
	const char *name;
	void (*run)(size_t n, uint64_t steps, bool written);
} contestants[] = {
	{ "rte_mempool bulk", by_pool }, /* what ratios refer to */
	{ "kmem_cache bulk", by_bulk },
	{ "array LOCAL|FULL", by_local },
	{ "array, all modes", by_array },
};
#define NR_CONTESTANTS (sizeof(contestants) / sizeof(contestants[0]))

/* ---- measured ---- */

static double part(const struct contestant *c, size_t n, uint64_t steps, bool written)
{
	double start;

	c->run(n, 1 + steps / 16, written); /* the others may have evicted what it needs */
	start = now_ns();
	c->run(n, steps, written);
	return (now_ns() - start) / (double)steps / (double)n;
}

/* ns per object, allocated and freed, and the median of the parts' ratios. */
static void measure_count(size_t n, bool written, double *ns, double *ratio)
{
	static double took[NR_CONTESTANTS][PARTS];
	static double ratios[NR_CONTESTANTS][PARTS];
	uint64_t steps =
		(uint64_t)(PART_NS / (part(&contestants[1], n, 1000, written) * (double)n));

	for (size_t i = 0; i < PARTS; i++) {
		for (size_t j = 0; j < NR_CONTESTANTS; j++) {
			size_t k = (i + j) % NR_CONTESTANTS;

			took[k][i] = part(&contestants[k], n, steps + 1, written);
		}
		for (size_t k = 0; k < NR_CONTESTANTS; k++)
			ratios[k][i] = took[k][i] / took[0][i];
	}
	for (size_t k = 0; k < NR_CONTESTANTS; k++) {
		ns[k] = median_of(took[k], PARTS);
		ratio[k] = median_of(ratios[k], PARTS);
	}
}

static void table(bool written)
{
	double ns[NR_COUNTS][NR_CONTESTANTS], ratio[NR_COUNTS][NR_CONTESTANTS];

	printf("\n%-18s", written ? "each written to" : "not looked into");
	for (size_t i = 0; i < NR_COUNTS; i++) {
		measure_count(counts[i], written, ns[i], ratio[i]);
		printf("%8zu", counts[i]);
	}
	for (size_t k = 0; k < NR_CONTESTANTS; k++) {
		printf("\n%-18s", contestants[k].name);
		for (size_t i = 0; i < NR_COUNTS; i++)
			printf("%8.2f", ns[i][k]);
		printf("\n%-18s", k ? "  to rte_mempool" : "");
		for (size_t i = 0; k && i < NR_COUNTS; i++)
			printf("%8.2f", ratio[i][k]);
	}
	putchar('\n');
}

/* One CPU, no huge pages, no files, no devices. */
static void start_dpdk(char *name, int cpu)
{
	char lcore[16];
	char *args[] = { name,	"--no-huge", "--no-shconf",    "-m",	      "64", "-l",
			 lcore, "--no-pci",  "--no-telemetry", "--log-level", "4",  NULL };

	snprintf(lcore, sizeof(lcore), "%d", cpu);
	if (rte_eal_init((int)(sizeof(args) / sizeof(args[0])) - 1, args) < 0)
		die("DPDK cannot start");
	pool = rte_mempool_create("bench", POOL_OBJECTS, 64, RTE_MEMPOOL_CACHE_MAX_SIZE, 0, NULL,
				  NULL, NULL, NULL, SOCKET_ID_ANY, 0);
	if (!pool)
		die("DPDK has no memory for a pool");
}

int main(int argc, char **argv)
{
	int cpu = sched_getcpu();

	(void)argc;
	if (cpu < 0)
		die("no CPU");
	start_dpdk(argv[0], cpu);
	pin(cpu);
	cache = kmem_cache_create("bench", 64, 0, SLAB_NOLEAKTRACE, NULL);
	if (!cache)
		die("cannot create a cache");
	printf("ns for an object of 64 bytes, allocated and freed in calls for so many; CPU %d, medians\n"
	       "of %d parts in turn; ratios of neighbouring parts\n",
	       cpu, PARTS);
	table(false);
	table(true);
	return fflush(stdout) ? 1 : 0;
}
