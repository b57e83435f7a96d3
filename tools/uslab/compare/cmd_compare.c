/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/cmd_compare.c - `uslab compare TRACE...`: all engines perform the same traces
 *
 * Flow:       called by main.c; calls compare_trace.c for each trace, compare_run.c,
 *             compare_scale.c with --spread, then compare_table.c or compare_json.c, and
 *             compare_html.c with --html, and inspect/usage.c for what memory there is; in a
 *             worker compare_worker.c instead. In: options and traces; out: tables, JSON, a page.
 *
 * Read in this order:
 *
 *     compare.h            one run, as a struct: options, traces, outcomes
 *     cmd_compare.c        the steps
 *     compare_trace.c      a trace is read, thinned, put into a file that workers map
 *     compare_run.c        rounds over all contestants
 *     compare_job.h        what one worker gets and answers
 *     compare_job.c        the parent: starts a worker and waits for it
 *     compare_worker.c     the worker: performs the trace once
 *     compare_measure.c    there: bytes or times; compare_count.c: instructions
 *     compare_scale.c      the same on 1, 2, 4, ... CPUs
 *     compare_stats.c      from answers to numbers
 *     compare_table.c, compare_scale_table.c, compare_json.c, compare_scale_json.c, compare_html.c
 *                          from numbers to text, JSON and a page
 */
#include "compare/compare.h"
#include "compare/compare_html.h"
#include "inspect/usage.h"
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND COMPARE_COMMAND
#define PROGRESS_DELAY_NS 2000000000u /* nothing is shown of what ends sooner */
#define DEFAULT_ROUNDS 5

static const char usage[] =
	"usage: uslab compare [OPTION]... TRACE...\n"
	"Performs recorded kernel traces with each of the kernel's slab allocators, and prints\n"
	"how fast each was and how much memory it took.\n"
	"TRACE is what 'uslab replay' reads; '-' is standard input.";

enum { OPTION_HTML = OPTION_OWN, OPTION_NO_INSTRUCTIONS };

static const struct option_row rows[] = {
	{ 'e', "engines", "LIST",
	  "only these, with commas between: slob:1991, slob, slobseg:pow2, slobseg, slab, slub, "
	  "slub:6.18, slub:7.0, slub+array, slob+array" },
	{ 'r', "rounds", "N",
	  "rounds, each in a process of its own; numbers are medians. Default: up to 5, fewer for "
	  "slow engines" },
	ROW_TOUCH,
	ROW_EVENTS,
	ROW_CPUS,
	ROW_NODES,
	ROW_SPREAD,
	{ OPTION_NO_INSTRUCTIONS, "no-instructions", NULL,
	  "do not count them: it takes longest for short traces" },
	{ 'j', "json", NULL, "print JSON" },
	{ OPTION_HTML, "html", "FILE", "also write a page that needs no other file" },
	{ 'k', "keep-going", NULL,
	  "count lines of a trace that are wrong, and leave out an engine that fails, instead of "
	  "giving up" },
	ROW_NO_PROGRESS,
	{ 0 },
};

/* ---- options ---- */

static const char *engine_name(unsigned int i)
{
	return i < COMPARE_NR ? compare_kinds[i].name : NULL;
}

/* "slob,slub": EXIT_OK or EXIT_USAGE after a message. */
static int set_engines(struct compare_options *o, const char *list)
{
	o->chosen = 0;
	o->engines_given = true;
	for (;;) {
		size_t length = strcspn(list, ",");
		char name[64]; /* more than any has */
		int chosen;

		snprintf(name, sizeof(name), "%.*s", (int)length, list);
		chosen = options_choose(COMMAND, "engine", name, engine_name);
		if (chosen < 0)
			return EXIT_USAGE;
		o->chosen |= 1u << chosen;
		if (!list[length])
			return EXIT_OK;
		list += length + 1;
	}
}

static int set_touch(struct compare_options *o, const char *word)
{
	int chosen = options_choose(COMMAND, "touch", word, replay_touch_name);

	if (chosen < 0)
		return EXIT_USAGE;
	o->touch = (enum replay_touch)chosen;
	return EXIT_OK;
}

static int set_option(void *arg, int got, const char *value)
{
	struct compare_options *o = arg;
	switch (got) {
	case 'e':
		return set_engines(o, value);
	case 'r':
		o->rounds_given = true;
		return options_number(COMMAND, "--rounds", value, COMPARE_MAX_ROUNDS, &o->rounds);
	case 't':
		return set_touch(o, value);
	case 'n':
		return options_number(COMMAND, "--events", value, 1ul << 40, &o->max_events);
	case OPTION_CPUS:
		return options_number(COMMAND, "--cpus", value, act_max_cpus(), &o->cpus);
	case OPTION_NODES:
		return options_number(COMMAND, "--nodes", value, act_max_nodes(), &o->nodes);
	case OPTION_SPREAD:
		o->spread = true;
		return EXIT_OK;
	case OPTION_HTML:
		o->html = value;
		return EXIT_OK;
	case OPTION_NO_INSTRUCTIONS:
		o->instructions = false;
		return EXIT_OK;
	case OPTION_NO_PROGRESS:
		o->progress = false;
		return EXIT_OK;
	case 'j':
		o->json = true;
		return EXIT_OK;
	default:
		o->keep_going = true;
		return EXIT_OK;
	}
}

static int check(void *arg, int argc, char **argv)
{
	struct compare_options *o = arg;

	(void)argv;
	if (optind == argc)
		return util_usage_error(COMMAND, "which traces? ('-' for standard input)");
	if (argc - optind > COMPARE_MAX_TRACES)
		return util_usage_error(COMMAND, "more than %d traces", COMPARE_MAX_TRACES);
	return util_check_topology(COMMAND, o->cpus, &o->nodes, o->spread);
}

static const struct option_table table = {
	.command = COMMAND, .usage = usage, .rows = rows, .set = set_option, .check = check
};

/* "uslab compare ..." as it was typed, cut where it is too long. */
static void keep_command(struct compare_options *o, int argc, char **argv)
{
	size_t n = (size_t)snprintf(o->command, sizeof(o->command), "uslab");

	for (int i = 0; i < argc && n < sizeof(o->command); i++)
		n += (size_t)snprintf(o->command + n, sizeof(o->command) - n, " %s", argv[i]);
}

/* ---- output ---- */

struct compare_page {
	FILE *file;   /* NULL: not asked for, or closed */
	bool created; /* it was not there before */
};

/*
 * The file of --html, before any work: a place that cannot be written to is said at once. What is
 * in it stays until the page is written. EXIT_OK, or EXIT_FAILED after a message.
 */
static int open_html(struct compare_page *page, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	page->created = fd >= 0;
	if (fd < 0)
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	page->file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (page->file)
		return EXIT_OK;
	util_fail(COMMAND, "%s: cannot create: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return EXIT_FAILED;
}

/* Ends with the file closed; a file that is new is removed if the work failed. */
static void close_html(struct compare_page *page, const char *path, bool failed)
{
	if (page->file)
		fclose(page->file);
	if (page->created && failed)
		unlink(path);
	page->file = NULL;
}

static int write_html(const struct compare *c, struct compare_page *page, const char *json)
{
	/* What is no regular file has no length. */
	int ret = ftruncate(fileno(page->file), 0) && errno != EINVAL ? -errno : 0;

	if (!ret)
		ret = compare_html_write(page->file, json, strlen(json));
	if (fclose(page->file) && !ret)
		ret = -errno;
	page->file = NULL;
	if (ret)
		return util_fail(COMMAND, "%s: cannot write: %s", c->options.html, strerror(-ret));
	return EXIT_OK;
}

static int report(const struct compare *c, struct compare_page *page)
{
	struct machine machine;
	char *json;
	int status = EXIT_OK;

	machine_describe(&machine);
	json = compare_json(c, &machine);
	if (!json)
		return util_fail(COMMAND, "out of memory");
	if (c->options.json)
		fputs(json, stdout);
	else
		compare_print(c, &machine);
	if (page->file)
		status = write_html(c, page, json);
	free(json);
	return util_finish(COMMAND, status || c->failed ? EXIT_FAILED : EXIT_OK);
}

/* ---- the work ---- */

/*
 * Workers run one at a time where memory is short, but each has all that is alive at once. The
 * system ends who takes more than there is. EXIT_OK, or EXIT_FAILED after a message.
 */
static int check_memory(struct compare *c, const struct compared_trace *t)
{
	uint64_t needed = t->load.ops.counts.peak_bytes * t->copies;
	uint64_t available = usage_available_memory();
	char least[UTIL_SIZE_TEXT], most[UTIL_SIZE_TEXT];

	if (!available || needed <= available)
		return EXIT_OK;
	progress_end(&c->progress);
	return util_fail(COMMAND,
			 "%s: its objects need at least %s of memory, of which %s are there%s",
			 t->load.path, util_size(least, sizeof(least), needed),
			 util_size(most, sizeof(most), available),
			 t->copies > 1 ? "; fewer --cpus have fewer copies" : "");
}

static int compare_all(struct compare *c, char **paths)
{
	for (unsigned int i = 0; i < c->nr_traces; i++) {
		int status = compare_load(c, &c->traces[i], paths[i]);

		if (!status)
			status = check_memory(c, &c->traces[i]);
		if (status)
			return status;
	}
	for (unsigned int i = 0; i < c->nr_traces; i++) {
		int status = compare_run(c, &c->traces[i]);

		if (!status && c->options.spread)
			status = compare_scale(c, &c->traces[i]);
		if (status)
			return status;
	}
	return EXIT_OK;
}

static void start_progress(struct compare *c)
{
	progress_start(&c->progress, COMMAND);
	c->progress.on = c->progress.on && c->options.progress;
	c->progress.next_ns = clock_ns() + PROGRESS_DELAY_NS;
}

int cmd_compare(int argc, char **argv)
{
	struct compare c = { .options = { .chosen = (1u << COMPARE_NR) - 1,
					  .rounds = DEFAULT_ROUNDS,
					  .touch = REPLAY_TOUCH_LINE,
					  .instructions = true,
					  .progress = true } };
	struct compare_page page = { 0 };
	int status;

	if (argc > 1 && !strcmp(argv[1], JOB_WORKER_OPTION))
		return compare_worker(argc, argv);
	keep_command(&c.options, argc, argv);
	status = options_take(&table, &c.options, argc, argv);
	if (status >= 0)
		return status;
	c.nr_traces = (unsigned int)(argc - optind);
	c.traces = calloc(c.nr_traces, sizeof(*c.traces));
	if (!c.traces)
		return util_fail(COMMAND, "out of memory");
	if (c.options.html && open_html(&page, c.options.html)) {
		free(c.traces);
		return EXIT_FAILED;
	}
	start_progress(&c);
	status = compare_all(&c, argv + optind);
	progress_end(&c.progress);
	if (!status)
		status = report(&c, &page);
	close_html(&page, c.options.html, status && page.file);
	for (unsigned int i = 0; i < c.nr_traces; i++)
		compare_unload(&c.traces[i]);
	free(c.traces);
	return status;
}
