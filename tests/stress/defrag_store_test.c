/* SPDX-License-Identifier: MIT */
/*
 * stress/defrag_store_test.c - a store of objects of mixed sizes, 90 % freed at random, is
 * defragmented while threads read and write it
 *
 * ctest: label=full timeout=300 serial
 *
 * Usage: defrag_store_test [objects [budget in microseconds]]. No object may be lost or changed,
 * and at least 85 % of the slabs have to come back. How long reads take, and how far steps exceed
 * their budget, is printed: docs/adr/0060 quotes that for 2000000 objects. A step that loses its
 * CPU to another thread, or waits for a lock, is late by the clock and not by its CPU time.
 *
 * Reads are timed in three phases: before, beside a thread that does nothing but take as much CPU
 * time in the same rhythm as the one that defragments, and meanwhile. For where there are fewer
 * CPUs than threads, a third thread alone makes the reader lose its CPU more often. Reads that the
 * kernel took the CPU from are told apart in each phase; those that wait for a lock stay in.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <uslab/slab.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "child.h"

#define CACHES 4
#define LOCKS 4096
#define HISTOGRAM 4096 /* of 100 ns */

static const unsigned int sizes[CACHES] = { 48, 120, 300, 1000 };

struct object {
	uint32_t slot; /* UINT32_MAX: free */
	uint32_t sum;  /* of all words behind this */
	uint32_t word[];
};

static unsigned int nr_slots = 40000;
static unsigned long budget_us = 1000;
static struct kmem_cache *caches[CACHES];
static struct object **slots;
static pthread_mutex_t locks[LOCKS];
static bool stop;

enum phase { BEFORE, BESIDE, MEANWHILE, PHASES };

static enum phase phase;		       /* which of the histograms counts; atomic */
static unsigned long times[PHASES][HISTOGRAM]; /* reads that kept their CPU, or waited for a lock */
static unsigned long every[PHASES][HISTOGRAM]; /* all reads */
static unsigned long writes;		       /* atomic */

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds(void)
{
	return seconds_of(CLOCK_MONOTONIC);
}

static uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 8;
}

/* ---- the store ---- */

static pthread_mutex_t *lock_of(unsigned int slot)
{
	return &locks[slot % LOCKS];
}

static unsigned int words_of(unsigned int slot)
{
	return (sizes[slot % CACHES] - sizeof(struct object)) / sizeof(uint32_t);
}

static uint32_t sum_of(const struct object *o, unsigned int slot)
{
	uint32_t sum = slot;

	for (unsigned int i = 0; i < words_of(slot); i++)
		sum = sum * 31 + o->word[i];
	return sum;
}

static void check(const struct object *o, unsigned int slot)
{
	CHILD_CHECK(o->slot == slot && o->sum == sum_of(o, slot));
}

static void construct(void *p)
{
	store_relaxed(&((struct object *)p)->slot, UINT32_MAX);
}

static void put(unsigned int slot, uint64_t r)
{
	struct object *o = kmem_cache_alloc(caches[slot % CACHES], GFP_KERNEL);

	CHILD_CHECK(o);
	for (unsigned int i = 0; i < words_of(slot); i++)
		o->word[i] = (uint32_t)(r + i);
	o->sum = sum_of(o, slot);
	store_relaxed(&o->slot, slot);
	slots[slot] = o;
}

static void drop(unsigned int slot)
{
	struct object *o = slots[slot];

	check(o, slot);
	slots[slot] = NULL;
	construct(o);
	kmem_cache_free(caches[slot % CACHES], o);
}

static int move(void *from, void *to, void *arg)
{
	unsigned int slot = load_relaxed(&((struct object *)from)->slot);
	int ret = -1;

	if (slot >= nr_slots)
		return ret;
	pthread_mutex_lock(lock_of(slot));
	if (slots[slot] == from) {
		CHILD_CHECK(arg == caches[slot % CACHES]);
		memcpy((struct object *)to + 1, slots[slot] + 1, words_of(slot) * sizeof(uint32_t));
		((struct object *)to)->sum = slots[slot]->sum;
		store_relaxed(&((struct object *)to)->slot, slot);
		slots[slot] = to;
		construct(from);
		ret = 0;
	}
	pthread_mutex_unlock(lock_of(slot));
	return ret;
}

/* ---- who uses it ---- */

/* How often the kernel has taken the CPU from this thread. */
static long cpu_losses(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

/*
 * Has this thread lost its CPU since the last call? Asked where that may be: after whatever took
 * longer than a microsecond, in reads and between them. So no loss counts for a later read.
 */
static bool lost_cpu(double took)
{
	static long known; /* the reader's */
	long losses;
	bool lost;

	if (took < 1e-6)
		return false;
	losses = cpu_losses();
	lost = losses != known;
	known = losses;
	return lost;
}

static void note_time(double took)
{
	unsigned long tenths = (unsigned long)(took * 1e7);
	enum phase at = load_relaxed(&phase);

	tenths = MIN(tenths, HISTOGRAM - 1ul);
	every[at][tenths]++;
	times[at][tenths] += !lost_cpu(took);
}

static void *read_it(void *arg)
{
	uint64_t seed = 77;
	double end = seconds();

	while (!load_relaxed(&stop)) {
		unsigned int slot = (unsigned int)(draw(&seed) % nr_slots);
		double from = seconds();

		lost_cpu(from - end);
		pthread_mutex_lock(lock_of(slot));
		if (slots[slot])
			check(slots[slot], slot);
		pthread_mutex_unlock(lock_of(slot));
		end = seconds();
		note_time(end - from);
	}
	return arg;
}

/* An object is replaced by one of the same slot; it leaves CPU time for the others. */
static void *write_it(void *arg)
{
	uint64_t seed = 78;

	while (!load_relaxed(&stop)) {
		unsigned int slot = (unsigned int)(draw(&seed) % nr_slots);

		pthread_mutex_lock(lock_of(slot));
		if (slots[slot]) {
			drop(slot);
			put(slot, seed);
			store_relaxed(&writes, writes + 1);
		}
		pthread_mutex_unlock(lock_of(slot));
		if (draw(&seed) % 64 == 0)
			usleep(100);
	}
	return arg;
}

/* ---- the whole ---- */

static size_t slabs(void)
{
	struct kmem_cache_statistics stats = { .size = sizeof(stats) };
	size_t sum = 0;

	for (unsigned int i = 0; i < CACHES; i++) {
		CHILD_CHECK(!kmem_cache_stats(caches[i], &stats));
		sum += stats.slabs;
	}
	return sum;
}

/* In microseconds: so many of a thousand reads took no longer. */
static double percentile(const unsigned long *histogram, double share)
{
	unsigned long all = 0, sum = 0;
	unsigned int i;

	for (i = 0; i < HISTOGRAM; i++)
		all += histogram[i];
	for (i = 0; i < HISTOGRAM && (double)sum < (double)all * share; i++)
		sum += histogram[i];
	return i / 10.0;
}

static void make_store(void)
{
	uint64_t seed = 4711;

	slots = calloc(nr_slots, sizeof(slots[0]));
	CHILD_CHECK(slots);
	for (unsigned int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (unsigned int i = 0; i < CACHES; i++) {
		caches[i] = kmem_cache_create("store", sizes[i], 0, 0, construct);
		CHILD_CHECK(caches[i] && !uslab_cache_set_move(caches[i], move, caches[i]));
	}
	for (unsigned int i = 0; i < nr_slots; i++)
		put(i, draw(&seed));
	for (unsigned int i = 0; i < nr_slots; i++)
		if (draw(&seed) % 10)
			drop(i);
	for (unsigned int i = 0; i < CACHES; i++)
		kmem_cache_shrink(caches[i]);
}

/* Late: by more than 20 % of the budget. */
struct steps {
	unsigned long nr;
	unsigned long late;
	unsigned long late_alone; /* of these, those that had the CPU all the time */
	unsigned long late_cpu;	  /* by CPU time */
	double longest;		  /* microseconds */
	double longest_alone;
	double longest_cpu;
};

/* How often another thread got the CPU of this one. */
static long preemptions(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw + usage.ru_nvcsw;
}

static void note_step(struct steps *steps, double took, double cpu, bool alone)
{
	double late = (double)budget_us * 1.2;

	steps->nr++;
	steps->late += took > late;
	steps->late_alone += alone && took > late;
	steps->late_cpu += cpu > late;
	steps->longest = MAX(steps->longest, took);
	steps->longest_alone = MAX(steps->longest_alone, alone ? took : 0);
	steps->longest_cpu = MAX(steps->longest_cpu, cpu);
}

static int step(struct kmem_cache *s, struct steps *steps)
{
	long preempted = preemptions();
	double cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
	double from = seconds();
	int ret = kmem_cache_defrag(s, NUMA_NO_NODE, budget_us);

	from = (seconds() - from) * 1e6;
	cpu = (seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu) * 1e6;
	note_step(steps, from, cpu, preempted == preemptions());
	usleep((unsigned int)budget_us / 4);
	CHILD_CHECK(ret == 0 || ret == 1);
	return ret;
}

/* Rounds over all caches until one gives nothing back. */
static void defragment(struct steps *steps)
{
	size_t before;

	do {
		before = slabs();
		for (unsigned int i = 0; i < CACHES; i++)
			while (step(caches[i], steps)) {}
	} while (slabs() < before);
}

/* As long as the first phase: steps of nothing, with pauses as step() has. */
static void compute(double until)
{
	while (seconds() < until) {
		double from = seconds();

		while ((seconds() - from) * 1e6 < (double)budget_us) {}
		usleep((unsigned int)budget_us / 4);
	}
}

static void print_reads(const char *when, enum phase at)
{
	printf("reads %s, us: p50 %.1f, p99.9 %.1f; with those that lost their CPU %.1f\n", when,
	       percentile(times[at], 0.5), percentile(times[at], 0.999),
	       percentile(every[at], 0.999));
}

static void end_store(void)
{
	for (unsigned int i = 0; i < nr_slots; i++)
		if (slots[i])
			drop(i);
	for (unsigned int i = 0; i < CACHES; i++) {
		CHILD_CHECK(!kmem_cache_shrink(caches[i]));
		kmem_cache_destroy(caches[i]);
	}
}

static void defrag_store(void *arg)
{
	pthread_t reader, writer;
	struct steps steps = { 0 };
	const unsigned int warm_us = nr_slots >= 1000000 ? 3000000 : 100000;
	size_t before, after;
	double took;

	(void)arg;
	make_store();
	CHILD_CHECK(!pthread_create(&reader, NULL, read_it, NULL));
	CHILD_CHECK(!pthread_create(&writer, NULL, write_it, NULL));
	while (!load_relaxed(&writes))
		usleep(1000);
	usleep(warm_us);
	store_relaxed(&phase, BESIDE);
	compute(seconds() + warm_us / 1e6);
	before = slabs();
	took = seconds();
	store_relaxed(&phase, MEANWHILE);
	defragment(&steps);
	store_relaxed(&stop, true);
	took = seconds() - took;
	pthread_join(reader, NULL);
	pthread_join(writer, NULL);
	after = slabs();
	printf("%u objects, 90 %% freed: %zu slabs, %zu after %.2f s: %.1f %% back\n", nr_slots,
	       before, after, took, 100.0 - 100.0 * (double)after / (double)before);
	printf("%lu steps of %lu us, more than 20 %% over it: %lu (longest %.0f us), of these without "
	       "losing the CPU %lu (%.0f), by CPU time %lu (%.0f)\n",
	       steps.nr, budget_us, steps.late, steps.longest, steps.late_alone,
	       steps.longest_alone, steps.late_cpu, steps.longest_cpu);
	print_reads("before", BEFORE);
	print_reads("beside a thread that computes", BESIDE);
	print_reads("meanwhile", MEANWHILE);
	fflush(stdout);
	if (!getenv("USLAB_DEBUG"))
		CHILD_CHECK(after * 100 <= before * 15);
	end_store();
}

static void test_store(void **state)
{
	struct child c = child_run(defrag_store, NULL);

	(void)state;
	assert_true(child_passed(&c));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_store) };

	if (argc > 1)
		nr_slots = (unsigned int)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		budget_us = strtoul(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
