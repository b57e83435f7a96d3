/* SPDX-License-Identifier: MIT */
/*
 * uslab/replay/cmd_replay.c - `uslab replay TRACE`: performs the allocations of a recorded kernel
 * trace
 *
 * Flow:       called by main.c; calls options.c, trace/trace_load.c, then replay_run.c and
 *             replay_report.c. In: options and a trace; out: text or JSON on stdout.
 *
 * The kmalloc caches are made when the library starts, so their engine and front have to be in
 * USLAB_CONF before that: when the options ask for others, the command sets it and executes itself
 * again.
 *
 * Read in this order: trace/trace_ops.h, this file, replay_run.c, replay_stage.h, replay_report.c.
 */
#include "replay/replay_report.h"
#include "inspect/names.h"
#include "options.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND "replay"
#define PROGRESS_DELAY_NS 2000000000u /* nothing is shown of what ends sooner */

struct options {
	struct replay_options replay;
	const char *trace;
	unsigned long max_events;
	bool keep_going;
	unsigned long cpus; /* of a made-up topology; 0: the machine's own */
	unsigned long nodes;
	bool nomerge;
	bool stats;
	bool json;
	bool progress;
};

static const char usage[] =
	"usage: uslab replay [OPTION]... TRACE\n"
	"Performs the allocations and frees of a recorded kernel trace with uslab's caches.\n"
	"TRACE is the text of kmem events as tracefs, 'trace-cmd report' or 'perf script'\n"
	"print them, plain or compressed by zstd; '-' is standard input.";

enum { OPTION_NOMERGE = OPTION_OWN, OPTION_FREE_AT_END };

static const struct option_row rows[] = {
	{ 'e', "engine", "ENGINE", "how objects are packed into pages" },
	{ 'f', "front", "FRONT", "how each CPU caches free objects" },
	ROW_CPUS,
	ROW_NODES,
	ROW_SPREAD,
	{ OPTION_NOMERGE, "nomerge", NULL, "caches of like objects stay apart" },
	ROW_TOUCH,
	ROW_EVENTS,
	{ 'r', "rounds", "N", "repeat N times on fresh caches; the numbers are medians" },
	{ OPTION_FREE_AT_END, "free-at-end", NULL,
	  "also say what is left after all objects are freed" },
	{ 'k', "keep-going", NULL, "count lines that are wrong instead of giving up" },
	{ 's', "stats", NULL, "also print the event counters of each cache" },
	{ 'j', "json", NULL, "print JSON" },
	ROW_NO_PROGRESS,
	{ 0 },
};

static void list_choices(void)
{
	putchar('\n');
	options_print_names("Engines", names_engine);
	options_print_names("Fronts", names_front);
}

/* ---- options ---- */

/* EXIT_OK, or EXIT_USAGE after a message. */
static int set_choice(const char **choice, const char *what, const char *value, options_names *name)
{
	*choice = value;
	return options_choose(COMMAND, what, value, name) < 0 ? EXIT_USAGE : EXIT_OK;
}

static int set_option(void *arg, int got, const char *value)
{
	struct options *o = arg;
	unsigned long number = 0;
	int chosen = 0;
	int status = EXIT_OK;

	switch (got) {
	case 'e':
		status = set_choice(&o->replay.engine, "engine", value, names_engine);
		break;
	case 'f':
		status = set_choice(&o->replay.front, "front", value, names_front);
		break;
	case 't':
		chosen = options_choose(COMMAND, "touch", value, replay_touch_name);
		if (chosen < 0)
			return EXIT_USAGE;
		o->replay.touch = (enum replay_touch)chosen;
		break;
	case 'n':
		status = options_number(COMMAND, "--events", value, 1ul << 40, &o->max_events);
		break;
	case 'r':
		status = options_number(COMMAND, "--rounds", value, REPLAY_MAX_ROUNDS, &number);
		o->replay.rounds = (unsigned int)number;
		break;
	case OPTION_CPUS:
		status = options_number(COMMAND, "--cpus", value, act_max_cpus(), &o->cpus);
		break;
	case OPTION_NODES:
		status = options_number(COMMAND, "--nodes", value, act_max_nodes(), &o->nodes);
		break;
	case OPTION_SPREAD:
		o->replay.spread = true;
		break;
	case OPTION_NOMERGE:
		o->nomerge = true;
		break;
	case OPTION_FREE_AT_END:
		o->replay.free_at_end = true;
		break;
	case OPTION_NO_PROGRESS:
		o->progress = false;
		break;
	case 'k':
		o->keep_going = true;
		break;
	case 's':
		o->stats = true;
		break;
	default:
		o->json = true;
	}
	return status;
}

/* "array, queues, none": the fronts that go with that engine. */
static void list_fronts(char *text, size_t size, const char *engine)
{
	size_t n = 0;

	text[0] = '\0';
	for (unsigned int i = 0; names_front(i) && n < size; i++)
		if (names_go_together(engine, names_front(i)))
			n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "",
					      names_front(i));
}

/* What one of them leaves to USLAB_CONF the library makes go with the other. */
static int check_pair(const struct options *o)
{
	const char *engine = o->replay.engine;
	const char *front = o->replay.front;
	char fronts[128];

	if (!engine || !front || names_go_together(engine, front))
		return EXIT_OK;
	list_fronts(fronts, sizeof(fronts), engine);
	return util_usage_error(COMMAND,
				"front '%s' does not go with engine '%s'; fronts that do: %s",
				front, engine, fronts);
}

static int check(void *arg, int argc, char **argv)
{
	struct options *o = arg;
	int status = check_pair(o);

	if (status)
		return status;
	if (optind == argc)
		return util_usage_error(COMMAND, "which trace? ('-' for standard input)");
	if (optind + 1 < argc)
		return util_usage_error(COMMAND, "one trace at a time, please: '%s'",
					argv[optind + 1]);
	o->trace = argv[optind];
	return util_check_topology(COMMAND, o->cpus, &o->nodes, o->replay.spread);
}

static const struct option_table table = { .command = COMMAND,
					   .usage = usage,
					   .rows = rows,
					   .list = list_choices,
					   .set = set_option,
					   .check = check };

/* ---- USLAB_CONF ---- */

static void append(char *text, size_t size, const char *key, const char *value)
{
	size_t n = strlen(text);

	snprintf(text + n, size - n, "%s%s%s", n ? "," : "", key, value);
}

/* Does conf end with wanted, as pairs of its own? Later pairs win. */
static bool conf_has(const char *conf, const char *wanted)
{
	size_t have = strlen(conf);
	size_t want = strlen(wanted);

	if (have < want || strcmp(conf + have - want, wanted))
		return false;
	return have == want || conf[have - want - 1] == ',';
}

/* Returns when USLAB_CONF says all that the options want; otherwise starts the command again. */
static int prepare_conf(const struct options *o, int argc, char **argv)
{
	const char *conf = getenv("USLAB_CONF");
	char wanted[192] = "";
	char topology[32];
	char *joined;
	char **args;

	if (o->replay.engine)
		append(wanted, sizeof(wanted), "engine=", o->replay.engine);
	if (o->replay.front)
		append(wanted, sizeof(wanted), "front=", o->replay.front);
	if (o->cpus) {
		snprintf(topology, sizeof(topology), "%lux%lu", o->cpus, o->nodes);
		append(wanted, sizeof(wanted), "topology=", topology);
	}
	if (o->nomerge)
		append(wanted, sizeof(wanted), "slab_nomerge", "");
	if (o->stats)
		append(wanted, sizeof(wanted), "stats", "");
	if (!wanted[0] || (conf && conf_has(conf, wanted)))
		return EXIT_OK;
	if (conf && conf[0]) {
		if (asprintf(&joined, "%s,%s", conf, wanted) < 0)
			return util_fail(COMMAND, "out of memory");
	} else {
		joined = strdup(wanted);
	}
	args = calloc((size_t)argc + 2, sizeof(*args));
	if (!joined || !args || setenv("USLAB_CONF", joined, 1))
		return util_fail(COMMAND, "out of memory");
	args[0] = (char *)"uslab";
	memcpy(args + 1, argv, (size_t)argc * sizeof(*args));
	execv("/proc/self/exe", args);
	return util_fail(COMMAND, "cannot start /proc/self/exe again with USLAB_CONF=%s: %s",
			 joined, strerror(errno));
}

/* ---- the work ---- */

static int report(const struct options *o, const struct trace_load *load,
		  const struct replay *replay)
{
	struct replay_report report = {
		.load = load, .replay = replay, .nomerge = o->nomerge, .stats = o->stats
	};
	int ret = o->json ? replay_print_json(&report) : replay_print_text(&report);

	if (ret)
		return util_fail(COMMAND, "cannot print: %s", strerror(-ret));
	if (replay->result.out_of_memory)
		return util_fail(COMMAND, "out of memory in %llu allocations",
				 (unsigned long long)replay->result.out_of_memory);
	return util_finish(COMMAND, EXIT_OK);
}

static int replay_trace(const struct options *o, struct trace_load *load, struct progress *progress)
{
	struct replay replay = { .trace = &load->ops, .options = o->replay };
	int ret = replay_run(&replay);
	int status;

	progress_end(progress);
	status = ret ? util_fail(COMMAND, "%s", replay.error) : report(o, load, &replay);
	replay_destroy(&replay);
	return status;
}

int cmd_replay(int argc, char **argv)
{
	struct options o = { .replay = { .touch = REPLAY_TOUCH_LINE, .rounds = 1 },
			     .progress = true };
	struct progress progress = { 0 };
	struct trace_load load;
	int status = options_take(&table, &o, argc, argv);

	if (status >= 0)
		return status;
	status = prepare_conf(&o, argc, argv);
	if (status)
		return status;
	progress_start(&progress, COMMAND);
	progress.on = progress.on && o.progress;
	progress.next_ns = clock_ns() + PROGRESS_DELAY_NS;
	o.replay.progress = &progress;
	load = (struct trace_load){ .path = o.trace,
				    .max_events = o.max_events,
				    .keep_going = o.keep_going,
				    .progress = &progress };
	if (trace_load(&load)) {
		progress_end(&progress);
		return util_fail(COMMAND, "%s", load.error);
	}
	trace_load_warn(&load, COMMAND);
	status = replay_trace(&o, &load, &progress);
	trace_ops_destroy(&load.ops);
	return status;
}
