/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/cmd_bench.c - uslab bench: measures uslab beside other allocators, in turn, on this
 * machine
 *
 * Flow:       called by main.c; calls options.c and given_peers.c, then, for each benchmark,
 *             plan.c, run.c, count_step.c, count_longest.c, count_valgrind.c, report.c and
 *             report_json.c, and save.c with --output. In: options; out: text or JSON on stdout.
 *
 * The programs that measure are in the folder bench at the root. Read in this order:
 *
 *     bench.h              one run of a benchmark, as a struct session
 *     catalogue.c          which benchmarks and contestants there are
 *     given_peers.c        peers of --peers NAME=PATH
 *     cmd_bench.c          the steps
 *     plan.c               who takes part, on which CPUs; find_files.c: by which files
 *     run.c                starts workers, reads what they print
 *     count_step.c         instructions, by single steps: single_step.c
 *     count_longest.c      those of the longest calls
 *     count_valgrind.c     instructions, by callgrind
 *     stats.c, machine.c   medians; what it ran on
 *     report.c, report_protocol.c, report_locality.c, report_latency.c, report_modes.c,
 *     report_json.c, save.c
 *                          from struct session to text, JSON and files
 */
#define _GNU_SOURCE
#include "bench/bench.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "util.h"

#define DEFAULT_ROUNDS 9
#define DEFAULT_MS 60
#define QUICK_MS 6
#define RESULTS "bench/results"

enum {
	OPTION_CPU = OPTION_OWN,
	OPTION_SAVE,
	OPTION_OUTPUT,
	OPTION_NOTE,
	OPTION_PEERS,
	OPTION_PEER_DIR,
	OPTION_ONLY,
	OPTION_NO_COUNTS,
	OPTION_THREADS,
	OPTION_OBJECTS,
	OPTION_OPS,
	OPTION_SIZES,
	OPTION_MODEL,
};

/* hackbench: of the kernel people's, with fewer messages than on the slides */
#define DEFAULT_GROUPS 15
#define DEFAULT_FDS 25
#define DEFAULT_LOOPS 20
#define DEFAULT_OBJECTS 10000 /* TEST_COUNT of the kernel's module */
#define QUICK_OBJECTS 1000
#define DEFAULT_OPS 1000000 /* latency */
#define QUICK_OPS 50000

static void list_benchmarks(void)
{
	putchar('\n');
	for (size_t i = 0; benchmark_at(i); i++) {
		if (i == BENCH_FASTPATH)
			puts("\nand the kernel's allocators beside each other, as kernel people do:\n");
		printf("  %-10s %s\n", benchmark_at(i)->name, benchmark_at(i)->what);
	}
}

static const struct option_row rows[] = {
	{ 'r', "rounds", "N",
	  "rounds over all contestants (1 to 99; default 9; latency 3, modes 50; 5 in the second list, memory 1)" },
	{ 't', "ms", "N",
	  "milliseconds that a contestant measures per round (default 60; not locality, latency, "
	  "hackbench, memory)" },
	{ 's', "size", "N",
	  "bytes per object (default 64, 8 to 32768; pair, batch, bulk, handoff, modes) or message "
	  "(hackbench, default 512, up to 8192)" },
	{ OPTION_CPU, "cpu", "A[,B]", "CPUs to run on (default: the last ones allowed)" },
	{ OPTION_PEERS, "peers", "LIST",
	  "only these of mimalloc,jemalloc,tcmalloc,tbbmalloc,glibc, of NAME=PATH, and of @FILE with "
	  "such lines; or none" },
	{ OPTION_PEER_DIR, "peer-dir", "DIR", "look for the peers' libraries in DIR only" },
	{ OPTION_ONLY, "only", "LIST", "only these contestants, by the names in the result" },
	{ OPTION_NO_COUNTS, "no-counts", NULL,
	  "count no instructions (pair, latency: single steps take most of its time)" },
	{ OPTION_OBJECTS, "objects", "N",
	  "objects per thread (default 10000; fastpath, concurrent, remote), or per call (default: "
	  "some from 1 to 1000; bulk)" },
	{ OPTION_OPS, "ops", "N", "calls of a pass (default 1000000; latency)" },
	{ OPTION_SIZES, "sizes", NULL,
	  "also a table for each size (fastpath, concurrent, remote)" },
	{ OPTION_THREADS, "threads", "N",
	  "2 to 64 threads (default: one per CPU; concurrent, remote)" },
	{ OPTION_CPUS, "cpus", "N", "threads act for N made-up CPUs ..." },
	{ OPTION_NODES, "nodes", "N", "... on N memory nodes (all five of the second list)" },
	{ 'g', "groups", "N", "groups of senders and receivers (default 15; hackbench)" },
	{ 'f', "fds", "N", "senders, and receivers, in a group (default 25)" },
	{ 'l', "loops", "N", "messages from each sender to each receiver (default 20)" },
	{ OPTION_MODEL, "model", "NAME", "only the model small or desktop (memory)" },
	{ 'q', "quick", NULL, "one short round: does it work at all?" },
	{ 'j', "json", NULL, "print JSON; an array if there are several benchmarks" },
	{ OPTION_SAVE, "save", NULL, "keep the result in " RESULTS },
	{ OPTION_OUTPUT, "output", "DIR", "keep it in DIR" },
	{ OPTION_NOTE, "note", "TEXT", "keep TEXT with it, such as a commit" },
	{ 0 },
};

/* "A" or "A,B" */
static bool parse_cpus(const char *text, int cpu[2])
{
	char copy[32], *comma;
	unsigned long value;

	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return false;
	comma = strchr(copy, ',');
	if (comma) {
		*comma = '\0';
		if (!util_parse_number(comma + 1, 0, INT_MAX, &value))
			return false;
		cpu[1] = (int)value;
	}
	if (!util_parse_number(copy, 0, INT_MAX, &value))
		return false;
	cpu[0] = (int)value;
	return cpu[0] != cpu[1];
}

/* Options that take a number. */
static const struct numeric {
	int option;
	const char *name;
	unsigned long min, max;
	size_t target;	    /* offset in struct options */
	unsigned int takes; /* who has it; 0: all */
} numerics[] = {
	{ 'r', "--rounds", 1, MAX_ROUNDS, offsetof(struct options, rounds), 0 },
	{ 't', "--ms", 1, 10000, offsetof(struct options, ms), TAKES_MS },
	{ 's', "--size", 8, MAX_OBJECT, offsetof(struct options, size), TAKES_SIZE },
	{ 'g', "--groups", 1, 100, offsetof(struct options, groups), TAKES_GROUPS },
	{ 'f', "--fds", 1, 100, offsetof(struct options, fds), TAKES_GROUPS },
	{ 'l', "--loops", 1, 1000000, offsetof(struct options, loops), TAKES_GROUPS },
	{ OPTION_THREADS, "--threads", 2, MAX_THREADS, offsetof(struct options, threads),
	  TAKES_THREADS },
	{ OPTION_OBJECTS, "--objects", 1, 1000000, offsetof(struct options, objects),
	  TAKES_OBJECTS | TAKES_BULK },
	{ OPTION_OPS, "--ops", 1000, 100000000, offsetof(struct options, ops), TAKES_OPS },
	{ OPTION_CPUS, "--cpus", 1, 1024, offsetof(struct options, cpus), TAKES_TOPOLOGY },
	{ OPTION_NODES, "--nodes", 1, 64, offsetof(struct options, nodes), TAKES_TOPOLOGY },
};
#define NR_NUMERICS (sizeof(numerics) / sizeof(numerics[0]))

static unsigned int *numeric_target(struct options *o, const struct numeric *n)
{
	return (unsigned int *)((char *)o + n->target);
}

/* 0 or an exit status; *taken: it was one of those. */
static int parse_numeric(struct options *o, int option, const char *text, bool *taken)
{
	for (size_t i = 0; i < NR_NUMERICS; i++) {
		const struct numeric *n = &numerics[i];
		unsigned long value;

		if (n->option != option)
			continue;
		*taken = true;
		if (!util_parse_number(text, n->min, n->max, &value))
			return util_usage_error(COMMAND,
						"%s takes a number from %lu to %lu, not '%s'",
						n->name, n->min, n->max, text);
		*numeric_target(o, n) = (unsigned int)value;
	}
	return 0;
}

static int set_option(void *arg, int option, const char *value)
{
	struct options *o = arg;
	bool taken = false;
	int status = parse_numeric(o, option, value, &taken);

	if (taken)
		return status;
	switch (option) {
	case OPTION_CPU:
		if (!parse_cpus(value, o->cpu))
			return util_usage_error(COMMAND,
						"--cpu takes one CPU number, or two that "
						"differ, as 1,0; not '%s'",
						value);
		break;
	case 'q':
		o->quick = true;
		break;
	case 'j':
		o->json = true;
		break;
	case OPTION_MODEL:
		if (strcmp(value, "small") && strcmp(value, "desktop"))
			return util_usage_error(COMMAND, "--model is small or desktop, not '%s'",
						value);
		o->model = value;
		break;
	case OPTION_SAVE:
		o->output = RESULTS;
		break;
	case OPTION_OUTPUT:
		o->output = value;
		break;
	case OPTION_NOTE:
		o->note = value;
		break;
	case OPTION_PEERS:
		o->peers = value;
		break;
	case OPTION_PEER_DIR:
		o->peer_dir = value;
		break;
	case OPTION_ONLY:
		o->only = value;
		break;
	case OPTION_NO_COUNTS:
		o->counts = false;
		break;
	case OPTION_SIZES:
		o->sizes = true;
		break;
	}
	return EXIT_OK;
}

static void keep_command(struct options *o, int argc, char **argv)
{
	size_t used = (size_t)snprintf(o->command, sizeof(o->command), "uslab");

	for (int i = 0; i < argc && used < sizeof(o->command); i++) {
		const char *quote = strpbrk(argv[i], " \t'\"$&;<>|*?()") ? "'" : "";

		used += (size_t)snprintf(o->command + used, sizeof(o->command) - used, " %s%s%s",
					 quote, argv[i], quote);
	}
}

static int check(void *arg, int argc, char **argv)
{
	const struct options *o = arg;

	(void)argv;
	if (optind == argc)
		return util_usage_error(COMMAND, "which benchmark?");
	if (o->nodes > o->cpus)
		return util_usage_error(COMMAND, "--nodes %u needs --cpus, at least as many",
					o->nodes);
	return o->peers ? given_peers_take(o->peers) : EXIT_OK;
}

static const struct option_table table = {
	.command = COMMAND,
	.usage = "usage: uslab bench NAME... [OPTION]...\n"
		 "Measure uslab beside mimalloc, jemalloc, tcmalloc, tbbmalloc and glibc:",
	.rows = rows,
	.list = list_benchmarks,
	.set = set_option,
	.check = check
};

/* What is left in argv from optind on are names. Returns the exit status, or -1: go on. */
static int parse_options(struct options *o, int argc, char **argv)
{
	*o = (struct options){ .cpu = { -1, -1 }, .counts = true };
	keep_command(o, argc, argv);
	return options_take(&table, o, argc, argv);
}

/* Is every option one that this benchmark has? */
static int check_options(const struct options *o, const struct benchmark *b)
{
	struct options copy = *o;

	for (size_t i = 0; i < NR_NUMERICS; i++)
		if (numerics[i].takes && !(numerics[i].takes & b->takes) &&
		    *numeric_target(&copy, &numerics[i]))
			return util_usage_error(COMMAND, "%s has no %s", b->name, numerics[i].name);
	if (o->size > MAX_MESSAGE && b->takes & TAKES_GROUPS)
		return util_usage_error(COMMAND, "%s has messages of up to %u bytes", b->name,
					MAX_MESSAGE);
	if (o->sizes && !(b->takes & TAKES_OBJECTS))
		return util_usage_error(COMMAND, "%s has no --sizes", b->name);
	if (o->model && !(b->takes & TAKES_MODEL))
		return util_usage_error(COMMAND, "%s has no --model", b->name);
	return 0;
}

static int check_names(const struct options *o, char **names)
{
	for (; *names; names++) {
		const struct benchmark *b = benchmark_find(*names);
		int status;

		if (!b)
			return util_usage_error(COMMAND, "no benchmark '%s'", *names);
		status = check_options(o, b);
		if (status)
			return status;
	}
	return 0;
}

static void set_defaults(struct options *o, const struct benchmark *b)
{
	if (!o->rounds)
		o->rounds = o->quick ? 1 : b->rounds ? b->rounds : DEFAULT_ROUNDS;
	if (!o->ms)
		o->ms = o->quick ? QUICK_MS : DEFAULT_MS;
	if (!o->objects && b->takes & TAKES_OBJECTS)
		o->objects = o->quick ? QUICK_OBJECTS : DEFAULT_OBJECTS;
	if (!o->ops && b->takes & TAKES_OPS)
		o->ops = o->quick ? QUICK_OPS : DEFAULT_OPS;
	if (!o->groups)
		o->groups = o->quick ? 2 : DEFAULT_GROUPS;
	if (!o->fds)
		o->fds = o->quick ? 3 : DEFAULT_FDS;
	if (!o->loops)
		o->loops = DEFAULT_LOOPS;
	if (o->cpus && !o->nodes)
		o->nodes = 1;
	o->counts &= b->counts;
}

static int measure(struct session *s)
{
	int status = plan_session(s);

	if (!status)
		status = run_session(s);
	if (status || !s->options.counts)
		return status;
	if (s->benchmark->takes & TAKES_OPS) {
		count_longest(s);
		return 0;
	}
	count_by_steps(s);
	if (!s->options.quick)
		count_by_valgrind(s);
	return 0;
}

/* first, last: of several, which JSON makes an array. */
static int print_results(const struct session *s, const struct machine *m, bool first, bool last)
{
	char *json = report_json(s, m), *text = NULL;
	size_t length = 0;
	FILE *page = open_memstream(&text, &length);
	int status = EXIT_OK;

	if (page) {
		report_text(s, m, page);
		fclose(page);
	}
	if (!json || !text) {
		status = util_fail(COMMAND, "out of memory");
	} else {
		if (s->options.json)
			printf("%s%s%s", first && !last ? "[\n" : "", json,
			       last ? first ? "" : "]\n" : ",\n");
		else
			printf("%s%s", first ? "" : "\n", text);
		if (s->options.output)
			status = save_session(s, text, json);
	}
	free(text);
	free(json);
	return util_finish(COMMAND, status);
}

/* One benchmark, from the plan to the page. */
static int run_benchmark(const struct options *o, const char *name, bool first, bool last)
{
	struct session *s = calloc(1, sizeof(*s));
	struct machine machine;
	int status;

	if (!s)
		return util_fail(COMMAND, "out of memory");
	s->benchmark = benchmark_find(name);
	s->options = *o;
	set_defaults(&s->options, s->benchmark);
	machine_describe(&machine); /* before the load that it makes itself */
	status = measure(s);
	if (!status)
		status = print_results(s, &machine, first, last);
	for (size_t i = 0; i < s->nr; i++)
		for (size_t j = 0; j < s->entries[i].nr_lists; j++)
			free(s->entries[i].lists[j].values);
	free(s);
	return status;
}

int cmd_bench(int argc, char **argv)
{
	struct options options;
	int status = parse_options(&options, argc, argv), first = optind;

	if (status >= 0)
		return status;
	status = check_names(&options, argv + first);
	for (int i = first; i < argc && !status; i++)
		status = run_benchmark(&options, argv[i], i == first, i + 1 == argc);
	return status;
}
