/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/plan.c - the benchmarks, the contestants, and who takes part in this run
 *
 * Two tables and what follows from them: files are looked for before anything runs, so that a
 * missing library ends the command at once and by name instead of halving the comparison.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"

#define ON_MALLOC_WORKER "uslab-bench-worker"
#define ON_CACHE_WORKER "uslab-bench-cache"

#define PAIR (1u << BENCH_PAIR)
#define BATCH (1u << BENCH_BATCH)
#define REMOTE (1u << BENCH_REMOTE)
#define MALLOC (1u << BENCH_MALLOC)
#define LOCALITY (1u << BENCH_LOCALITY)
#define ALL (PAIR | BATCH | REMOTE | MALLOC | LOCALITY)

static const struct benchmark benchmarks[NR_BENCHMARKS] = {
	[BENCH_PAIR] = { .name = "pair",
			 .what = "ns for one alloc and one free of the same object, in a loop",
			 .modes = { "pair" },
			 .key = "pair",
			 .size = 64,
			 .sized = true,
			 .counts = true },
	[BENCH_BATCH] = { .name = "batch",
			  .what = "ns per object: N allocs, N frees in order (fifo), reversed (lifo), "
				  "shuffled (mix)",
			  .modes = { "batch" },
			  .key = "1000.fifo",
			  .size = 64,
			  .sized = true },
	[BENCH_REMOTE] = { .name = "remote",
			   .what = "ns per object allocated by one thread and freed by another",
			   .modes = { "remote" },
			   .key = "one-way",
			   .size = 64,
			   .sized = true,
			   .two_cpus = true },
	[BENCH_MALLOC] = { .name = "malloc",
			   .what = "ns per step of mixed workloads, and peak resident memory (KiB)",
			   .modes = { "mixed", "larson", "python" },
			   .key = "mixed" },
	[BENCH_LOCALITY] = { .name = "locality",
			     .what = "where 200 consecutive objects lie, ns per item of a walk "
				     "over them, order of reuse",
			     .modes = { "locality" },
			     .key = "walk-cold",
			     .size = 40 },
};

static const struct contestant contestants[] = {
	{ "own-cache", ROLE_USLAB, PAIR | BATCH | REMOTE | LOCALITY, ON_CACHE_WORKER, "array",
	  .what = "kmem_cache_alloc and _free, inline, on a cache of its own" },
	{ "own-cache-cpuslab", ROLE_USLAB, PAIR | BATCH | REMOTE | LOCALITY, ON_CACHE_WORKER,
	  "cpuslab", .what = "the same with SLUB's front" },
	{ "own-cache-none", ROLE_USLAB, PAIR | BATCH | REMOTE, ON_CACHE_WORKER, "none",
	  .what = "the same without a front" },
	{ "own-cache-bulk", ROLE_USLAB, BATCH, ON_CACHE_WORKER, "bulk",
	  .what = "kmem_cache_alloc_bulk and _free_bulk" },
	{ "own-cache-used", ROLE_USLAB, LOCALITY, ON_CACHE_WORKER, "array-used",
	  .what = "own-cache after much use of that very cache" },
	{ "kmalloc", ROLE_USLAB, PAIR | BATCH | REMOTE | LOCALITY, ON_CACHE_WORKER, "kmalloc",
	  .what = "kmalloc of constant size and kfree" },
	{ "kmalloc-quiet", ROLE_USLAB, LOCALITY, ON_CACHE_WORKER, "kmalloc-quiet",
	  .what = "kmalloc(32), a size that nobody else uses" },
	{ "uslab-malloc", ROLE_USLAB, ALL, ON_MALLOC_WORKER, "malloc", "libuslab_malloc.so",
	  .what = "the drop-in malloc" },
	{ "mimalloc", ROLE_PEER, ALL, ON_MALLOC_WORKER, "malloc", "libmimalloc.so.2",
	  "libmimalloc2.0", .what = NULL },
	{ "jemalloc", ROLE_PEER, ALL, ON_MALLOC_WORKER, "malloc", "libjemalloc.so.2",
	  "libjemalloc2", .what = NULL },
	{ "tcmalloc", ROLE_PEER, ALL, ON_MALLOC_WORKER, "malloc", "libtcmalloc_minimal.so.4",
	  "libtcmalloc-minimal4", .what = NULL },
	{ "tbbmalloc", ROLE_PEER, ALL, ON_MALLOC_WORKER, "malloc", "libtbbmalloc_proxy.so.2",
	  "libtbbmalloc2", .what = NULL },
	{ "glibc", ROLE_SYSTEM, ALL, ON_MALLOC_WORKER, "malloc", NULL, "libc6", .what = NULL },
	{ "null-malloc", ROLE_FLOOR, PAIR, ON_MALLOC_WORKER, "malloc", "libuslab_bench_null.so",
	  .what = "floor: a malloc that does nothing, through the PLT" },
	{ "loop", ROLE_FLOOR, PAIR, ON_MALLOC_WORKER, "loop",
	  .what = "floor: the loop with nothing in it" },
	{ "ring", ROLE_FLOOR, REMOTE, ON_MALLOC_WORKER, "ring",
	  .what = "floor: the queue between the threads, static objects" },
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

/* ---- lists of names ---- */

static bool in_list(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
		if (strcspn(at, ",") == length && !strncmp(at, name, length))
			return true;
	return false;
}

static bool is_peer(const struct contestant *c)
{
	return c->role == ROLE_PEER || c->role == ROLE_SYSTEM;
}

/* The first name of the list that is no contestant (or, with peers, no peer), else false. */
static bool unknown_name(const char *list, bool peers, char name[MAX_NAME])
{
	for (const char *at = list; *at;) {
		size_t length = strcspn(at, ",");
		bool known = peers && length == 4 && !strncmp(at, "none", 4);

		for (size_t i = 0; i < NR_CONTESTANTS && !known; i++)
			known = strlen(contestants[i].name) == length &&
				!strncmp(contestants[i].name, at, length) &&
				(!peers || is_peer(&contestants[i]));
		if (!known) {
			snprintf(name, MAX_NAME, "%.*s", (int)length, at);
			return true;
		}
		at += length + (at[length] == ',');
	}
	return false;
}

static int check_names(const struct options *o)
{
	char name[MAX_NAME];

	if (o->peers && unknown_name(o->peers, true, name))
		return util_usage_error(COMMAND,
					"no peer '%s'; there are mimalloc, jemalloc, tcmalloc, "
					"tbbmalloc, glibc, or none",
					name);
	if (o->only && unknown_name(o->only, false, name))
		return util_usage_error(COMMAND, "no contestant '%s'; --help lists them", name);
	return 0;
}

static bool takes_part(const struct session *s, const struct contestant *c)
{
	const struct options *o = &s->options;

	if (!(c->benchmarks & 1u << (s->benchmark - benchmarks)))
		return false;
	if (o->only && !in_list(o->only, c->name))
		return false;
	return !o->peers || !is_peer(c) || in_list(o->peers, c->name);
}

/* ---- CPUs ---- */

/*
 * The last CPU of those allowed, where a system puts least of its own work, and for two threads
 * the one before it as well.
 */
static int plan_cpus(struct session *s)
{
	struct options *o = &s->options;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return util_fail(COMMAND, "cannot ask which CPUs are allowed");
	for (int i = 0; i < 2; i++) {
		if (o->cpu[i] >= 0 && (o->cpu[i] >= CPU_SETSIZE || !CPU_ISSET(o->cpu[i], &allowed)))
			return util_fail(COMMAND, "CPU %d is not there or not allowed", o->cpu[i]);
		for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && o->cpu[i] < 0; cpu--)
			if (CPU_ISSET(cpu, &allowed) && cpu != o->cpu[!i])
				o->cpu[i] = cpu;
	}
	if (s->benchmark->two_cpus && (o->cpu[1] < 0 || o->cpu[0] == o->cpu[1]))
		return util_fail(COMMAND, "%s needs two CPUs", s->benchmark->name);
	return 0;
}

/* ---- files ---- */

static int plan_library(struct session *s, struct entry *e)
{
	const struct contestant *c = e->who;

	if (!c->library)
		return 0;
	if (c->role == ROLE_PEER) {
		if (find_library(e->library_path, c->library, s->options.peer_dir))
			return 0;
		return util_fail(COMMAND,
				 "%s is not installed (no %s%s%s): apt-get install %s, or choose "
				 "with --peers",
				 c->name, c->library, s->options.peer_dir ? " in " : "",
				 s->options.peer_dir ? s->options.peer_dir : "", c->package);
	}
	if (find_own_file(e->library_path, c->library))
		return 0;
	return util_fail(COMMAND, "%s is missing beside this program; build it with 'make'",
			 c->library);
}

static int plan_entry(struct session *s, const struct contestant *c)
{
	struct entry *e = &s->entries[s->nr++];

	e->who = c;
	e->size = s->options.size ? s->options.size : s->benchmark->size;
	if (!strcmp(c->name, "kmalloc-quiet"))
		e->size = 32; /* the size of the article that stays in order */
	e->counts = (struct counts){ -1, -1, -1 };
	if (!find_own_file(e->worker_path, c->worker))
		return util_fail(COMMAND, "%s is missing beside this program; build it with 'make'",
				 c->worker);
	if (c->package)
		package_version(e->version, c->package);
	return plan_library(s, e);
}

int plan_session(struct session *s)
{
	int status = check_names(&s->options);

	if (!status)
		status = plan_cpus(s);
	for (size_t i = 0; i < NR_CONTESTANTS && !status; i++)
		if (takes_part(s, &contestants[i]))
			status = plan_entry(s, &contestants[i]);
	if (!status && !s->nr)
		status = util_fail(COMMAND, "nobody is left to measure");
	return status;
}

bool plan_loop(const struct session *s, struct entry *e)
{
	memset(e, 0, sizeof(*e));
	e->size = s->options.size ? s->options.size : s->benchmark->size;
	for (size_t i = 0; i < NR_CONTESTANTS; i++)
		if (!strcmp(contestants[i].name, "loop"))
			e->who = &contestants[i];
	return find_own_file(e->worker_path, e->who->worker);
}
