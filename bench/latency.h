/* SPDX-License-Identifier: MIT */
/*
 * bench/latency.h - the latency mode: how long single calls take, the longest ones above all
 *
 * Data:       `least` of struct latency_shared, for each operation the least time of all passes so
 *             far, lies in memory that survives exec().
 * Flow:       included by bench/uslab-bench-worker.c and bench/uslab-bench-kernel.c; calls
 *             tools/uslab/clock.c. In: the calls of an allocator; out: metrics.
 *
 * Seeded: all contestants get the same calls, and so does each pass. A pass is a process of its
 * own: at its end the worker executes itself again. A call that is slow in every pass is slow by
 * itself; what slows a call in one pass only is the machine, which no clock tells from the call.
 */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

#include "bodies.h"
#include "clock.h"

#define LATENCY_PASSES 3u
#define LATENCY_SLOTS 20000u
#define LATENCY_MIN 16u		 /* bytes */
#define LATENCY_DOUBLINGS 17u	 /* of it: up to 2 MiB */
#define LATENCY_FALL 665u	 /* of 1024: how many as large again there are */
#define LATENCY_COPIED 4096u	 /* calloc and realloc are of blocks up to this size */
#define LATENCY_LOOK_NS 1500	 /* longer ones are checked for a switch of threads */
#define LATENCY_EXACT (1u << 16) /* ticks that are counted one by one */
#define LATENCY_TICKS (1u << 30) /* a time is stored in as many bits, above it the kind */
#define LATENCY_UNKNOWN (LATENCY_TICKS - 1) /* the thread was switched meanwhile */

struct latency_calls {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t n, size_t size);
	void *(*realloc)(void *p, size_t size);
	void (*free)(void *p);
};

enum latency_kind { LATENCY_MALLOC, LATENCY_FREE, LATENCY_CALLOC, LATENCY_REALLOC, LATENCY_KINDS };

static const char *const latency_names[] = { "malloc", "free", "calloc", "realloc", "all" };

static const struct latency_point {
	const char *name;
	double share;
} latency_points[] = {
	{ "p50", 0.5 },	    { "p90", 0.9 },	  { "p99", 0.99 },
	{ "p99.9", 0.999 }, { "p99.99", 0.9999 }, { "max", 1 },
};
#define LATENCY_POINTS (sizeof(latency_points) / sizeof(latency_points[0]))

/* What one pass says. */
struct latency_pass {
	double ns[LATENCY_KINDS + 1][LATENCY_POINTS];
	double faults;	  /* minor page faults of the load */
	double rss;	  /* KiB at the peak, without the tables of this file */
	double preempted; /* operations */
	double clock;	  /* ns that reading it twice costs; taken off every time */
};

struct latency_shared {
	struct latency_pass pass[LATENCY_PASSES];
	uint32_t times[]; /* of the pass, one for each operation; then the least ones */
};

struct latency {
	const struct latency_calls *calls;
	struct rng rng;
	struct clock_info clock;
	uint64_t look;	/* LATENCY_LOOK_NS in ticks */
	uint64_t ended; /* when the last call did */
	long switches;	/* of this thread so far */
	uint64_t ops;
	uint64_t preempted;
	uint32_t marks_from; /* ticks: as long calls are counted; 0: none */
	struct latency_shared *shared;
	void **slots;
	uint32_t *sizes; /* bytes of each live block */
};

/* ---- the load ---- */

/* Each doubling has LATENCY_FALL / 1024 of the requests of the one below, evenly spread over it. */
static inline uint32_t latency_size(struct rng *r)
{
	uint32_t size = LATENCY_MIN;

	for (unsigned int i = 1; i < LATENCY_DOUBLINGS && rng_below(r, 1024) < LATENCY_FALL; i++)
		size *= 2;
	return size + rng_below(r, size) + 1;
}

static inline long latency_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Was the thread switched since the last look? */
static inline bool latency_was_switched(struct latency *l)
{
	long before = l->switches;

	l->switches = latency_switches();
	return l->switches != before;
}

/* What the program does between two calls is not timed, but its switches are not the next call's.*/
static inline uint64_t latency_begin(struct latency *l)
{
	uint64_t now = clock_start();

	if (now - l->ended <= l->look)
		return now;
	latency_was_switched(l);
	return clock_start();
}

static inline void latency_end(struct latency *l, uint64_t start, uint64_t op,
			       enum latency_kind kind)
{
	uint64_t end = clock_end();
	uint64_t ticks = end - start;

	if (ticks >= LATENCY_UNKNOWN)
		ticks = LATENCY_UNKNOWN - 1;
	if (ticks > l->look && latency_was_switched(l)) {
		ticks = LATENCY_UNKNOWN;
		l->preempted++;
	}
	l->shared->times[op] = (uint32_t)kind * LATENCY_TICKS + (uint32_t)ticks;
	l->ended = end;
}

/* As a program would: something is written to each page. */
static inline void latency_write(void *p, uint32_t size)
{
	if (!p)
		die("out of memory");
	for (uint32_t i = 0; i < size; i += 4096)
		((volatile char *)p)[i] = 1;
	((volatile char *)p)[size - 1] = 1;
}

/* kind is a constant: what is timed has no branch. */
ALWAYS void *latency_call(const struct latency *l, enum latency_kind kind, void *p, uint32_t size)
{
	switch (kind) {
	case LATENCY_MALLOC:
		return l->calls->malloc(size);
	case LATENCY_CALLOC:
		return l->calls->calloc(1, size);
	case LATENCY_REALLOC:
		return l->calls->realloc(p, size);
	default:
		l->calls->free(p);
		return NULL;
	}
}

/* Is the operation one of those whose instructions are counted? */
static inline bool latency_is_marked(const struct latency *l, uint64_t op)
{
	uint32_t ticks = l->shared->times[l->ops + op] % LATENCY_TICKS;

	return l->marks_from && ticks >= l->marks_from && ticks != LATENCY_UNKNOWN;
}

ALWAYS void *latency_timed(struct latency *l, uint64_t op, enum latency_kind kind, void *p,
			   uint32_t size)
{
	uint64_t start;

	if (latency_is_marked(l, op)) {
		raise(SIGUSR1);
		p = latency_call(l, kind, p, size);
		raise(SIGUSR1);
		return p;
	}
	start = latency_begin(l);
	p = latency_call(l, kind, p, size);
	latency_end(l, start, op, kind);
	return p;
}

/* One call; an empty slot gets a block, 1 in 8 by calloc; of full ones 1 in 8 is halved, doubled */
static inline void latency_step(struct latency *l, uint64_t op)
{
	uint32_t dice = rng_next(&l->rng), at = rng_below(&l->rng, LATENCY_SLOTS);
	void **slot = &l->slots[at];
	uint32_t size;

	if (!*slot) {
		size = latency_size(&l->rng);
		l->sizes[at] = size;
		if (size <= LATENCY_COPIED && dice >> 29 == 0)
			*slot = latency_timed(l, op, LATENCY_CALLOC, NULL, size);
		else
			*slot = latency_timed(l, op, LATENCY_MALLOC, NULL, size);
		latency_write(*slot, size);
	} else if (l->sizes[at] <= LATENCY_COPIED && dice >> 29 == 0) {
		size = dice & 1 ? l->sizes[at] * 2 : l->sizes[at] / 2 + 1;
		l->sizes[at] = size;
		*slot = latency_timed(l, op, LATENCY_REALLOC, *slot, size);
		latency_write(*slot, size);
	} else {
		*slot = latency_timed(l, op, LATENCY_FREE, *slot, 0);
	}
}

/* ---- from times to figures ---- */

static inline double latency_ns(const struct latency *l, uint32_t ticks)
{
	double net = (double)ticks - l->clock.overhead;

	return net > 0 ? net * l->clock.ns_per_tick : 0;
}

struct latency_counts {
	uint64_t exact[LATENCY_EXACT]; /* operations of so many ticks */
	uint64_t nr;
	double *longer; /* ticks of the others, sorted */
	uint64_t nr_longer;
};

/* kind LATENCY_KINDS: all. */
static inline void latency_count(struct latency_counts *c, const uint32_t *times, uint64_t ops,
				 unsigned int kind)
{
	memset(c->exact, 0, sizeof(c->exact));
	c->nr = c->nr_longer = 0;
	for (uint64_t i = 0; i < ops; i++) {
		uint32_t ticks = times[i] % LATENCY_TICKS;

		if (ticks == LATENCY_UNKNOWN ||
		    (kind != LATENCY_KINDS && times[i] / LATENCY_TICKS != kind))
			continue;
		c->nr++;
		if (ticks < LATENCY_EXACT)
			c->exact[ticks]++;
		else
			c->longer[c->nr_longer++] = ticks;
	}
	qsort(c->longer, c->nr_longer, sizeof(double), compare_double);
}

/* The least time that so many of all operations do not exceed. */
static inline uint32_t latency_at(const struct latency_counts *c, double share)
{
	uint64_t rank = (uint64_t)((double)c->nr * share), seen = 0;

	if (rank >= c->nr)
		rank = c->nr - 1;
	for (uint32_t ticks = 0; ticks < LATENCY_EXACT; ticks++) {
		seen += c->exact[ticks];
		if (seen > rank)
			return ticks;
	}
	return (uint32_t)c->longer[rank - seen];
}

static inline struct latency_counts *latency_counts_new(uint64_t ops)
{
	struct latency_counts *c = harness_alloc(sizeof(*c));

	c->longer = harness_alloc(ops * sizeof(double));
	return c;
}

static inline void latency_sum_up(struct latency *l, struct latency_pass *pass)
{
	struct latency_counts *c = latency_counts_new(l->ops);

	for (unsigned int kind = 0; kind <= LATENCY_KINDS; kind++) {
		latency_count(c, l->shared->times, l->ops, kind);
		for (size_t i = 0; c->nr && i < LATENCY_POINTS; i++)
			pass->ns[kind][i] = latency_ns(l, latency_at(c, latency_points[i].share));
	}
	pass->preempted = (double)l->preempted;
	pass->clock = l->clock.overhead * l->clock.ns_per_tick;
}

static inline void latency_keep_least(struct latency *l, bool first)
{
	uint32_t *times = l->shared->times, *least = times + l->ops;

	for (uint64_t i = 0; i < l->ops; i++)
		if (first || times[i] < least[i])
			least[i] = times[i];
}

/* ---- passes ---- */

/* A number of /proc/self/status in KiB. */
static inline double latency_status(const char *key)
{
	FILE *file = fopen("/proc/self/status", "re");
	size_t length = strlen(key);
	double kib = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, length))
			kib = strtod(line + length, NULL);
	if (file)
		fclose(file);
	return kib;
}

static inline struct latency_shared *latency_map(int fd, uint64_t ops)
{
	size_t bytes = sizeof(struct latency_shared) + 2 * ops * sizeof(uint32_t);
	void *p;

	if (ftruncate(fd, (off_t)bytes))
		die("no memory for %llu times", (unsigned long long)ops);
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (p == MAP_FAILED)
		die("no memory for %llu times", (unsigned long long)ops);
	return p;
}

static inline double latency_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_minflt;
}

static inline void latency_run(struct latency *l, struct latency_pass *pass)
{
	double rss = latency_status("VmRSS:"), faults;

	l->switches = latency_switches();
	l->ended = clock_end();
	faults = latency_faults();
	for (uint64_t op = 0; op < l->ops; op++)
		latency_step(l, op);
	pass->faults = latency_faults() - faults;
	pass->rss = latency_status("VmHWM:") - rss;
}

static inline void latency_emit(const char *kind, const char *point, double value)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%s", kind, point);
	emit_metric(name, value);
}

/* The median of the passes, of one of the numbers of struct latency_pass. */
static inline double latency_median(const struct latency_shared *s, size_t offset)
{
	double values[LATENCY_PASSES];

	for (unsigned int i = 0; i < LATENCY_PASSES; i++)
		values[i] = *(const double *)((const char *)&s->pass[i] + offset);
	return median_of(values, LATENCY_PASSES);
}

static inline void latency_emit_kind(struct latency *l, struct latency_counts *c, unsigned int kind)
{
	const struct latency_shared *s = l->shared;

	latency_count(c, s->times + l->ops, l->ops, kind);
	if (!c->nr)
		return; /* so few operations that none was of this kind */
	for (size_t i = 0; i < LATENCY_POINTS; i++)
		latency_emit(latency_names[kind], latency_points[i].name,
			     latency_median(s,
					    offsetof(struct latency_pass, ns[0][0]) +
						    (kind * LATENCY_POINTS + i) * sizeof(double)));
	latency_emit(latency_names[kind], "repeat", latency_ns(l, latency_at(c, 1)));
}

static inline void latency_emit_all(struct latency *l)
{
	const struct latency_shared *s = l->shared;
	struct latency_counts *c = latency_counts_new(l->ops);

	latency_emit_kind(l, c, LATENCY_KINDS);
	for (unsigned int kind = 0; kind < LATENCY_KINDS; kind++)
		latency_emit_kind(l, c, kind);
	emit_metric("run.faults", latency_median(s, offsetof(struct latency_pass, faults)));
	emit_metric("run.rss", latency_median(s, offsetof(struct latency_pass, rss)));
	emit_metric("run.preempted", latency_median(s, offsetof(struct latency_pass, preempted)));
	emit_metric("run.clock", latency_median(s, offsetof(struct latency_pass, clock)));
}

/* The next pass: this program again, with the memory of the times. */
static inline void latency_again(const struct worker_args *a, int fd, unsigned int pass)
{
	char text[2][16], *argv[64];
	int n = 0;

	while (a->argv[n] && n < 58) {
		argv[n] = a->argv[n];
		n++;
	}
	snprintf(text[0], sizeof(text[0]), "%d", fd);
	snprintf(text[1], sizeof(text[1]), "%u", pass);
	argv[n++] = (char[]){ "--fd" };
	argv[n++] = text[0];
	argv[n++] = (char[]){ "--pass" };
	argv[n++] = text[1];
	argv[n] = NULL;
	execv("/proc/self/exe", argv);
	die("cannot start again: %s", strerror(errno));
}

/*
 * The pass after the last one, if asked for: the parent, which traces this process, counts the
 * instructions between two marks (SIGUSR1): first none, then those of the longest calls. Which ones
 * these are is known, as all passes make the same calls.
 */
static inline void latency_mark(const struct worker_args *a, struct latency *l)
{
	struct latency_counts *c = latency_counts_new(l->ops);
	struct latency_pass ignored;

	latency_count(c, l->shared->times + l->ops, l->ops, LATENCY_KINDS);
	if (a->longest > c->nr)
		die("there are no %u calls", a->longest);
	l->marks_from = latency_at(c, (double)(c->nr - a->longest) / (double)c->nr);
	signal(SIGUSR1, SIG_IGN);
	raise(SIGUSR1);
	raise(SIGUSR1);
	latency_run(l, &ignored);
}

static inline void mode_latency(const struct worker_args *a, const struct latency_calls *calls)
{
	struct latency l = { .calls = calls, .rng = { 88172645463325252ull }, .ops = a->count };
	int fd = a->pass ? a->fd : memfd_create("uslab-bench-latency", 0);

	if (fd < 0 || !a->count)
		die("needs operations, and memory for their times");
	clock_calibrate(&l.clock);
	l.look = (uint64_t)(LATENCY_LOOK_NS / l.clock.ns_per_tick);
	l.shared = latency_map(fd, l.ops);
	l.slots = harness_alloc(LATENCY_SLOTS * sizeof(void *));
	l.sizes = harness_alloc(LATENCY_SLOTS * sizeof(uint32_t));
	if (a->pass == LATENCY_PASSES) {
		latency_mark(a, &l);
		return;
	}
	latency_run(&l, &l.shared->pass[a->pass]);
	latency_sum_up(&l, &l.shared->pass[a->pass]);
	latency_keep_least(&l, !a->pass);
	if (a->pass + 1 < LATENCY_PASSES + !!a->longest)
		latency_again(a, fd, a->pass + 1);
	latency_emit_all(&l);
}

#endif /* BENCH_LATENCY_H */
