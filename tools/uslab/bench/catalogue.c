/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/catalogue.c - the benchmarks and the contestants, and what others have published
 *
 * Data:       benchmarks[] and contestants[]; constant. Published figures, with their source.
 * Flow:       called by cmd_bench.c, given_peers.c, plan.c, report.c and report_json.c. Out: rows
 *             of the tables.
 */
#include "bench.h"

#include <string.h>

#define ON_MALLOC_WORKER "uslab-bench-worker"
#define ON_CACHE_WORKER "uslab-bench-cache"
#define ON_KERNEL_WORKER "uslab-bench-kernel"

#define PAIR (1u << BENCH_PAIR)
#define BATCH (1u << BENCH_BATCH)
#define BULK (1u << BENCH_BULK)
#define HANDOFF (1u << BENCH_HANDOFF)
#define MALLOC (1u << BENCH_MALLOC)
#define LOCALITY (1u << BENCH_LOCALITY)
#define LATENCY (1u << BENCH_LATENCY)
#define MODES (1u << BENCH_MODES)
#define KERNEL                                                                \
	(1u << BENCH_FASTPATH | 1u << BENCH_CONCURRENT | 1u << BENCH_REMOTE | \
	 1u << BENCH_HACKBENCH | 1u << BENCH_MEMORY)
#define ALL (PAIR | BATCH | HANDOFF | MALLOC | LOCALITY | LATENCY | MODES)

#define TALK "Lameter, Slab allocators in the Linux kernel, 2015; Haswell, 8 CPUs"

/* Slides 28 and 30 of the talk, in cycles. */
static const struct column fastpath_columns[] = {
	{ "alloc",
	  "Alloc",
	  { [PUBLISHED_SLOB] = 183, [PUBLISHED_SLAB] = 66, [PUBLISHED_SLUB] = 45 } },
	{ "free", "Free", { [PUBLISHED_SLOB] = 173, [PUBLISHED_SLAB] = 73, [PUBLISHED_SLUB] = 70 } },
	{ "pair",
	  "Alloc/Free",
	  { [PUBLISHED_SLOB] = 172, [PUBLISHED_SLAB] = 102, [PUBLISHED_SLUB] = 52 } },
	{ .title = NULL },
};

static const struct column concurrent_columns[] = {
	{ "alloc",
	  "Alloc concurrent",
	  { [PUBLISHED_SLOB] = 3008, [PUBLISHED_SLAB] = 232, [PUBLISHED_SLUB] = 90 } },
	{ "free",
	  "Free concurrent",
	  { [PUBLISHED_SLOB] = 3037, [PUBLISHED_SLAB] = 984, [PUBLISHED_SLUB] = 119 } },
	{ "pair", "Alloc/Free concurrent", { 0 } },
	{ .title = NULL },
};

static const struct column remote_columns[] = {
	{ "free-one",
	  "Alloc all/Free on one",
	  { [PUBLISHED_SLOB] = 2650, [PUBLISHED_SLAB] = 650, [PUBLISHED_SLUB] = 595 } },
	{ "free-one-object", "(per object)", { 0 } },
	{ "free-all",
	  "Alloc one/Free all",
	  { [PUBLISHED_SLOB] = 2013, [PUBLISHED_SLAB] = 761, [PUBLISHED_SLUB] = 498 } },
	{ .title = NULL },
};

/* Slide 29: medians of its five runs. Its threads sent through sockets, 8 CPUs, other arguments. */
static const struct column hackbench_columns[] = {
	{ "seconds", "seconds", { [PUBLISHED_SLAB] = 4.87, [PUBLISHED_SLUB] = 4.84 } },
	{ "peak", "peak KiB", { 0 } },
	{ "end", "end KiB", { 0 } },
	{ .title = NULL },
};

/* Slide 26 (a desktop, SLOB's by difference) and the mail of 17 October 2021 (a small system). */
static const struct column memory_columns[] = {
	{ "small.requested", "small: requested", { 0 } },
	{ "small.slab", "slab", { [PUBLISHED_SLOB] = 7908, [PUBLISHED_SLOBSEG] = 7560 } },
	{ "small.reclaimable", "reclaimable", { 0 } },
	{ "small.unreclaimable", "unreclaimable", { 0 } },
	{ "desktop.requested", "desktop: requested", { 0 } },
	{ "desktop.slab",
	  "slab",
	  { [PUBLISHED_SLOB] = 62180, [PUBLISHED_SLAB] = 65560, [PUBLISHED_SLUB] = 62480 } },
	{ "desktop.reclaimable",
	  "reclaimable",
	  { [PUBLISHED_SLAB] = 29028, [PUBLISHED_SLUB] = 29852 } },
	{ "desktop.unreclaimable",
	  "unreclaimable",
	  { [PUBLISHED_SLAB] = 36532, [PUBLISHED_SLUB] = 32628 } },
	{ .title = NULL },
};

static const struct benchmark benchmarks[NR_BENCHMARKS] = {
	[BENCH_PAIR] = { .name = "pair",
			 .what = "ns for one alloc and one free of the same object, in a loop",
			 .modes = { "pair" },
			 .key = "pair",
			 .size = 64,
			 .takes = TAKES_MS | TAKES_SIZE,
			 .counts = true },
	[BENCH_BATCH] = { .name = "batch",
			  .what = "ns per object: N allocs, N frees; fifo, lifo, shuffled (mix), on "
				  "two CPUs (two)",
			  .modes = { "batch", "batch-two" },
			  .key = "1000.fifo",
			  .size = 64,
			  .takes = TAKES_MS | TAKES_SIZE,
			  .second_cpu = true },
	[BENCH_BULK] = { .name = "bulk",
			 .what = "ns per object: N by one call of alloc_bulk and one of free_bulk, and by "
				 "loops",
			 .modes = { "bulk" },
			 .key = "bulk.32",
			 .size = 64,
			 .takes = TAKES_MS | TAKES_SIZE | TAKES_BULK },
	[BENCH_HANDOFF] = { .name = "handoff",
			    .what = "ns per object allocated by one thread and freed by another",
			    .modes = { "handoff" },
			    .key = "one-way",
			    .size = 64,
			    .takes = TAKES_MS | TAKES_SIZE,
			    .two_cpus = true },
	[BENCH_MALLOC] = { .name = "malloc",
			   .what = "ns per step of mixed workloads, and peak resident memory (KiB)",
			   .modes = { "mixed", "larson", "python" },
			   .key = "mixed",
			   .takes = TAKES_MS },
	[BENCH_LOCALITY] = { .name = "locality",
			     .what = "where 200 consecutive objects lie, ns per item of a walk "
				     "over them, order of reuse",
			     .modes = { "locality" },
			     .key = "walk-cold",
			     .size = 40 },
	[BENCH_LATENCY] = { .name = "latency",
			    .what = "ns of single calls, 16 bytes to 2 MiB mixed: half of them, 90 %, "
				    "... take at most",
			    .modes = { "latency" },
			    .key = "all.p99.99",
			    .takes = TAKES_OPS,
			    .counts = true,
			    .rounds = 3 },
	[BENCH_MODES] = { .name = "modes",
			  .what = "ns for malloc, a write of one byte and free, process by process: each "
				  "keeps its speed",
			  .modes = { "written" },
			  .key = "written",
			  .size = 64,
			  .takes = TAKES_MS | TAKES_SIZE,
			  .rounds = 50 },
	[BENCH_FASTPATH] = { .name = "fastpath",
			     .what = "one CPU: N kmallocs, N kfrees; N pairs (the kernel's tests 1, 2)",
			     .modes = { "fastpath" },
			     .key = "pair",
			     .takes = TAKES_MS | TAKES_TOPOLOGY | TAKES_OBJECTS,
			     .columns = fastpath_columns,
			     .unit = "cycles",
			     .source = TALK,
			     .rounds = 5 },
	[BENCH_CONCURRENT] = { .name = "concurrent",
			       .what = "every CPU at once: the same (the kernel's tests 3, 4)",
			       .modes = { "concurrent" },
			       .key = "alloc",
			       .takes = TAKES_MS | TAKES_TOPOLOGY | TAKES_THREADS | TAKES_OBJECTS,
			       .two_cpus = true,
			       .columns = concurrent_columns,
			       .unit = "cycles",
			       .source = TALK,
			       .rounds = 5 },
	[BENCH_REMOTE] = { .name = "remote",
			   .what = "objects freed by another CPU (the kernel's tests 5, 6)",
			   .modes = { "remote" },
			   .key = "free-one",
			   .takes = TAKES_MS | TAKES_TOPOLOGY | TAKES_THREADS | TAKES_OBJECTS,
			   .two_cpus = true,
			   .columns = remote_columns,
			   .unit = "cycles",
			   .source = TALK,
			   .rounds = 5 },
	[BENCH_HACKBENCH] = { .name = "hackbench",
			      .what = "groups of threads that send messages, allocated as the "
				      "kernel does for a socket",
			      .modes = { "hackbench" },
			      .key = "seconds",
			      .size = 512,
			      .takes = TAKES_SIZE | TAKES_TOPOLOGY | TAKES_GROUPS,
			      .columns = hackbench_columns,
			      .unit = "seconds, KiB",
			      .source = TALK,
			      .rounds = 5 },
	[BENCH_MEMORY] = { .name = "memory",
			   .what = "KiB of slabs after a model of a boot, small system and desktop",
			   .modes = { "boot-small", "boot-desktop" },
			   .key = "small.slab",
			   .takes = TAKES_TOPOLOGY | TAKES_MODEL,
			   .columns = memory_columns,
			   .unit = "KiB",
			   .source = "desktop: Lameter, 2015; small system: Yoo, 17 October 2021",
			   .rounds = 1 },
};

#define KERNEL_CONTESTANT(engine, front, of, called, text)                      \
	{                                                                       \
		called, ROLE_USLAB, KERNEL, ON_KERNEL_WORKER, engine "/" front, \
			.what = text, .conf = "engine=" engine ",front=" front, \
			.published = PUBLISHED_##of                             \
	}

#define ARRAYS_CONTESTANT(engine, front, called, text)                        \
	{                                                                     \
		called, ROLE_USLAB, BATCH, ON_CACHE_WORKER, engine "/" front, \
			.what = "arrays: " text                               \
	}

static const struct packaged mimalloc[] = { { "libmimalloc.so.3", "libmimalloc3" },
					    { "libmimalloc.so.2", "libmimalloc2.0" },
					    { NULL, NULL } };
static const struct packaged jemalloc[] = { { "libjemalloc.so.2", "libjemalloc2" },
					    { NULL, NULL } };
static const struct packaged tcmalloc[] = { { "libtcmalloc_minimal.so.4",
					      "libtcmalloc-minimal4t64" },
					    { "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4" },
					    { NULL, NULL } };
static const struct packaged tbbmalloc[] = { { "libtbbmalloc_proxy.so.2", "libtbbmalloc2" },
					     { NULL, NULL } };
static const struct packaged glibc[] = { { NULL, "libc6" }, { NULL, NULL } };

static const struct contestant contestants[] = {
	{ "own-cache", ROLE_USLAB, PAIR | BATCH | BULK | HANDOFF | LOCALITY | MODES,
	  ON_CACHE_WORKER, "array",
	  .what = "kmem_cache_alloc and _free, inline, on a cache of its own" },
	{ "own-cache-cpuslab", ROLE_USLAB, PAIR | BATCH | BULK | HANDOFF | LOCALITY,
	  ON_CACHE_WORKER, "cpuslab", .what = "the same with SLUB's front" },
	{ "own-cache-none", ROLE_USLAB, PAIR | BATCH | BULK | HANDOFF, ON_CACHE_WORKER, "none",
	  .what = "the same without a front" },
	{ "own-cache-bulk", ROLE_USLAB, BATCH, ON_CACHE_WORKER, "bulk",
	  .what = "kmem_cache_alloc_bulk and _free_bulk" },
	{ "own-cache-used", ROLE_USLAB, LOCALITY, ON_CACHE_WORKER, "array-used",
	  .what = "own-cache after much use of that very cache" },
	ARRAYS_CONTESTANT("slub", "array", "slub+array", "SLUB with uslab's arrays"),
	ARRAYS_CONTESTANT("slub", "cpuslab", "slub", "SLUB with its cpu slabs"),
	ARRAYS_CONTESTANT("slub", "none", "slub+none", "SLUB without a front"),
	ARRAYS_CONTESTANT("slab", "queues", "slab", "SLAB with its queues"),
	ARRAYS_CONTESTANT("slab", "array", "slab+array", "SLAB with uslab's arrays"),
	ARRAYS_CONTESTANT("slob", "array", "slob+array", "SLOB: one by one, whatever the mode"),
	ARRAYS_CONTESTANT("slobseg", "array", "slobseg+array", "slobseg: likewise"),
	{ "kmalloc", ROLE_USLAB, PAIR | BATCH | HANDOFF | LOCALITY | MODES, ON_CACHE_WORKER,
	  "kmalloc", .what = "kmalloc of constant size and kfree" },
	{ "kmalloc-variable", ROLE_USLAB, PAIR | BATCH | HANDOFF, ON_CACHE_WORKER,
	  "kmalloc-variable", .what = "kmalloc of a size that the compiler does not know" },
	{ "kmalloc-variable", ROLE_USLAB, LATENCY, ON_KERNEL_WORKER, "kmalloc",
	  .what = "kmalloc of a size that the compiler does not know" },
	{ "kmalloc-quiet", ROLE_USLAB, LOCALITY, ON_CACHE_WORKER, "kmalloc-quiet",
	  .what = "kmalloc(32), a size that nobody else uses" },
	{ "uslab-malloc", ROLE_USLAB, ALL, ON_MALLOC_WORKER, "malloc", "libuslab_malloc.so",
	  .what = "the drop-in malloc" },
	{ "uslab-realtime", ROLE_USLAB, LATENCY, ON_MALLOC_WORKER, "malloc", "libuslab_malloc.so",
	  .what = "the same with memory made ready ahead", .conf = "realtime=256M" },
	{ "uslab-cpuslab", ROLE_USLAB, LOCALITY, ON_MALLOC_WORKER, "malloc", "libuslab_malloc.so",
	  .what = "the drop-in malloc with SLUB's front", .conf = "front=cpuslab" },
	{ "mimalloc", ROLE_PEER, ALL, ON_MALLOC_WORKER, "malloc", .packages = mimalloc },
	{ "jemalloc", ROLE_PEER, ALL, ON_MALLOC_WORKER, "malloc", .packages = jemalloc },
	{ "tcmalloc", ROLE_PEER, ALL, ON_MALLOC_WORKER, "malloc", .packages = tcmalloc },
	{ "tbbmalloc", ROLE_PEER, ALL, ON_MALLOC_WORKER, "malloc", .packages = tbbmalloc },
	{ "glibc", ROLE_SYSTEM, ALL, ON_MALLOC_WORKER, "malloc", .packages = glibc },
	{ "null-malloc", ROLE_FLOOR, PAIR | MODES, ON_MALLOC_WORKER, "malloc",
	  "libuslab_bench_null.so", .what = "floor: a malloc that does nothing, through the PLT" },
	{ "loop", ROLE_FLOOR, PAIR | LATENCY, ON_MALLOC_WORKER, "loop",
	  .what = "floor: the loop with nothing in it" },
	{ "ring", ROLE_FLOOR, HANDOFF, ON_MALLOC_WORKER, "ring",
	  .what = "floor: the queue between the threads, static objects" },
	KERNEL_CONTESTANT("slob:1991", "none", NONE, "slob:1991", "one list, first fit"),
	KERNEL_CONTESTANT("slob", "none", SLOB, "slob", "three lists, next fit"),
	KERNEL_CONTESTANT("slobseg:pow2", "none", NONE, "slobseg:pow2", "lists by powers of two"),
	KERNEL_CONTESTANT("slobseg", "none", SLOBSEG, "slobseg", "lists by cache"),
	KERNEL_CONTESTANT("slab", "queues", SLAB, "slab", "SLAB with its queues"),
	KERNEL_CONTESTANT("slub", "cpuslab", SLUB, "slub", "SLUB with its cpu slabs"),
	KERNEL_CONTESTANT("slub", "array", NONE, "slub+array", "uslab's own: arrays before SLUB"),
	KERNEL_CONTESTANT("slob", "array", NONE, "slob+array", "arrays before SLOB"),
};
#define NR_CONTESTANTS (sizeof(contestants) / sizeof(contestants[0]))

const struct benchmark *benchmark_at(size_t i)
{
	return i < NR_BENCHMARKS ? &benchmarks[i] : NULL;
}

const struct benchmark *benchmark_find(const char *name)
{
	for (size_t i = 0; i < NR_BENCHMARKS; i++)
		if (!strcmp(benchmarks[i].name, name))
			return &benchmarks[i];
	return NULL;
}

const struct contestant *contestant_at(size_t i)
{
	return i < NR_CONTESTANTS ? &contestants[i] : NULL;
}

struct contestant contestant_of_library(const char *name, enum role role)
{
	return (struct contestant){ .name = name,
				    .role = role,
				    .benchmarks = ALL,
				    .worker = ON_MALLOC_WORKER,
				    .argument = "malloc" };
}
