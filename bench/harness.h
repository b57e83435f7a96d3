/* SPDX-License-Identifier: MIT */
/*
 * bench/harness.h - what the workers share: arguments, clock, CPUs, random numbers, output
 *
 * A worker is a small program that `uslab bench` starts once per round and contestant. It measures
 * one thing with one allocator and prints lines that the parent collects:
 *
 *     metric NAME VALUE      one number
 *     list NAME V V V ...    several
 *     text NAME WORDS        a string
 *
 * Header only, so that every worker is one source file. Nothing here calls malloc on its own
 * account while the clock runs: memory of the harness comes from mmap.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <dlfcn.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define WORKER_LIMIT_S 120 /* a worker that takes longer hangs: SIGALRM ends it */
#define WARM_UP_NS 5e6	   /* untimed work before the first chunk, at least */
#define COUNT_WARM_UP 256  /* pairs before those that are counted */
#define CHUNKS 9	   /* a measurement is the median of so many equal parts */

struct worker_args {
	const char *mode;
	const char *contestant; /* which allocator, where a worker has several */
	size_t size;		/* bytes per object */
	unsigned int ms;	/* how long to measure */
	int cpu[2];		/* where to run; [1] for the second thread, -1: none */
	uint64_t count;		/* pairs of the count mode */
	unsigned int threads;	/* of larson and the kernel's protocols */

	/* The kernel's protocols only. */
	uint64_t objects;		 /* per thread and repetition */
	unsigned int groups, fds, loops; /* hackbench */

	/* The latency mode only. */
	char **argv;	      /* this program's */
	unsigned int pass;    /* 0: the first one */
	int fd;		      /* memory of the passes before */
	unsigned int longest; /* so many calls are marked; 0: none */
};

/* A message on stderr, and exit status 1: the parent ends the run. */
static inline __attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("uslab-bench worker: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(1);
}

/* A line for the parent. value is in the unit that the benchmark's table has, mostly ns. */
static inline void emit_metric(const char *name, double value)
{
	printf("metric %s %.5f\n", name, value);
}

/* ---- time and place ---- */

static inline double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Binds the calling thread to one CPU. A negative number leaves it alone. */
static inline void pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned int)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cannot run on CPU %d; is it online and allowed?", cpu);
}

static inline int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts the values. */
static inline double median_of(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare_double);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/*
 * Nanoseconds per step of run(arg, steps): warms up while finding how many steps fill a chunk,
 * then takes the median chunk, so that a burst of somebody else's work does not count.
 */
static inline double measure(void (*run)(void *arg, uint64_t steps), void *arg, unsigned int ms)
{
	double chunk_ns = ms * 1e6 / CHUNKS, took[CHUNKS], spent = 0, last = 0;
	uint64_t steps = 1;

	while (spent < WARM_UP_NS || last < chunk_ns / 16) {
		double start = now_ns();

		run(arg, steps);
		last = now_ns() - start;
		spent += last;
		if (last < chunk_ns / 8)
			steps *= 2;
	}
	steps = (uint64_t)((double)steps * chunk_ns / last) + 1;
	for (int i = 0; i < CHUNKS; i++) {
		double start = now_ns();

		run(arg, steps);
		took[i] = (now_ns() - start) / (double)steps;
	}
	return median_of(took, CHUNKS);
}

/* ---- memory and random numbers that are not the contestant's ---- */

/* Zeroed and resident, by mmap(); never freed. */
static inline void *harness_alloc(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die("no memory for %zu bytes", bytes);
	return p;
}

struct rng {
	uint64_t state; /* never 0 */
};

/* xorshift64*: a few cycles, the same sequence for every contestant. */
static inline uint32_t rng_next(struct rng *r)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return (uint32_t)((r->state * 0x2545f4914f6cdd1dull) >> 32);
}

/* 0..n-1 */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)(((uint64_t)rng_next(r) * n) >> 32);
}

/* Every order is as likely as any other. */
static inline void shuffle(uint32_t *order, size_t n, struct rng *r)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = rng_below(r, (uint32_t)i);
		uint32_t t = order[i - 1];

		order[i - 1] = order[j];
		order[j] = t;
	}
}

/* ---- start and end of a worker ---- */

static inline void parse_latency(struct worker_args *a, int option)
{
	unsigned long value = strtoul(optarg, NULL, 10);

	if (option == 'p')
		a->pass = (unsigned int)value;
	else if (option == 'L')
		a->longest = (unsigned int)value;
	else
		a->fd = (int)value;
}

/* What exec_worker() of tools/uslab/bench/run.c passes. Pins the thread; die() if it is wrong. */
static inline void parse_args(int argc, char **argv, struct worker_args *a)
{
	static const struct option options[] = {
		{ "mode", required_argument, NULL, 'm' },
		{ "contestant", required_argument, NULL, 'c' },
		{ "size", required_argument, NULL, 's' },
		{ "ms", required_argument, NULL, 't' },
		{ "cpu", required_argument, NULL, '0' },
		{ "cpu2", required_argument, NULL, '1' },
		{ "count", required_argument, NULL, 'n' },
		{ "threads", required_argument, NULL, 'T' },
		{ "objects", required_argument, NULL, 'o' },
		{ "groups", required_argument, NULL, 'g' },
		{ "fds", required_argument, NULL, 'f' },
		{ "loops", required_argument, NULL, 'l' },
		{ "pass", required_argument, NULL, 'p' },
		{ "fd", required_argument, NULL, 'd' },
		{ "longest", required_argument, NULL, 'L' },
		{ 0 },
	};
	static char buffer[1 << 16]; /* so that printf asks no contestant for memory */
	int c;

	*a = (struct worker_args){
		.mode = "", .contestant = "", .size = 64, .ms = 60, .argv = argv
	};
	a->cpu[0] = a->cpu[1] = -1;
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'm':
			a->mode = optarg;
			break;
		case 'c':
			a->contestant = optarg;
			break;
		case 's':
			a->size = strtoul(optarg, NULL, 10);
			break;
		case 't':
			a->ms = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case '0':
		case '1':
			a->cpu[c - '0'] = atoi(optarg);
			break;
		case 'n':
			a->count = strtoull(optarg, NULL, 10);
			break;
		case 'T':
			a->threads = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case 'o':
			a->objects = strtoull(optarg, NULL, 10);
			break;
		case 'g':
			a->groups = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case 'f':
			a->fds = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case 'l':
			a->loops = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case 'p':
		case 'd':
		case 'L':
			parse_latency(a, c);
			break;
		default:
			die("is started by `uslab bench`, not by hand; see bench/README.md");
		}
	}
	if (a->size < 8 || !a->ms)
		die("needs a size of 8 bytes or more and a time above 0");
	alarm(WORKER_LIMIT_S);
	pin(a->cpu[0]);
}

/*
 * What a count run brackets with SIGUSR1, the signal that the parent, which traces this process,
 * takes as "count from here" and "count to here". Untraced it would end the process: ignored.
 */
static inline void run_counted(void (*run)(void *arg, uint64_t steps), void *arg, uint64_t steps)
{
	signal(SIGUSR1, SIG_IGN);
	run(arg, COUNT_WARM_UP); /* lazy binding, first slabs, thread caches */
	raise(SIGUSR1);
	run(arg, steps);
	raise(SIGUSR1);
}

/* Which file malloc came from: the parent checks that the library it preloaded was taken. */
static inline void emit_malloc_origin(void)
{
	void *address = dlsym(RTLD_DEFAULT, "malloc");
	Dl_info info;

	if (address && dladdr(address, &info) && info.dli_fname)
		printf("text origin %s\n", info.dli_fname);
}

/* Peak resident memory of this program (getrusage would count the parent's before exec). */
static inline double peak_rss_kib(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	double kib = 0;
	char line[256];

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "VmHWM: %lf", &kib) == 1)
			break;
	fclose(file);
	return kib;
}

#endif /* BENCH_HARNESS_H */
