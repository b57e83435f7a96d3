/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/cmd_track.c - `uslab track`: the call sites that allocated the live memory of a
 * running program
 *
 * Flow:       called by main.c; calls options.c, process/source.c, track_choose.c,
 *             track_watchdog.c, track_switch.c, command/command.c for sampling, then track_run.c
 *             until a signal, the end of the program or the first table with --once; at last
 *             track_switch.c for what was switched on. In: options; out: tables, JSON, profiles.
 *
 * Read track.h first, then this file, track_choose.c, track_switch.c, track_run.c, track_table.c
 * (with track_sites.c and estimate.c below it), and one of the printers: track_print.c,
 * track_json.c, track_pprof.c.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "track/track.h"
#include "options.h"
#include "util.h"

#define COMMAND "track"
#define LIVE_INTERVAL 2.0
#define ONCE_INTERVAL 15.0
#define WATCH_SECONDS 5.0
#define SETTLE_SECONDS 0.3
#define SETTLE_LOOKS 3u

static const char usage[] =
	"usage: uslab track -p PID [OPTION]...\n"
	"       uslab track --core FILE [PROGRAM] [OPTION]...\n"
	"Show the call sites that hold the objects of a running program, or of a core file of one\n"
	"that was tracked.";

static const char notes[] =
	"Columns: objects and bytes held, objects per second of the first half of the time that are\n"
	"still there (what a leak has, and a busy call site has not), their ages. Of what is sampled also\n"
	"how far the true numbers may be off, and the call site's share: intervals of 95 %.";

enum {
	OPTION_FULL = OPTION_OWN,
	OPTION_SAMPLE,
	OPTION_WATCH,
	OPTION_KEEP,
	OPTION_OFF,
	OPTION_FOLDED,
	OPTION_PPROF,
	OPTION_JSON,
	OPTION_OWN_FRAMES,
};

static const struct option_row rows[] = {
	ROW_PID,
	ROW_CORE,
	ROW_PROGRAM,
	ROW_SYSROOT,
	{ 'c', "cache", "PATTERN",
	  "caches by name or id; * and ? as in a shell; repeatable. Without it the program is "
	  "watched for a few seconds, and then the caches that grew most are tracked" },
	ROW_LIBRARY,
	{ .help = "" },
	{ 'i', "interval", "S",
	  "seconds between two tables (2); with --once, before the only one (15)" },
	{ '1', "once", NULL, "one table" },
	{ 'n', "top", "N", "that many call sites (10)" },
	{ 'b', "by", "KEY", "in the order of bytes, objects, age (mean) or growth" },
	{ OPTION_FULL, "full", NULL,
	  "track every allocation: exact, slower for the program, and takes memory for each" },
	{ OPTION_SAMPLE, "sample", NULL,
	  "track some allocations, at random, of malloc under 'uslab run': fast, and numbers have "
	  "an error" },
	{ OPTION_WATCH, "watch", "S", "seconds to look for what grows (5)" },
	ROW_WAIT,
	ROW_FORCE,
	{ OPTION_KEEP, "keep", NULL, "leave tracking on at the end" },
	{ OPTION_OFF, "off", NULL, "only switch tracking off, whoever switched it on" },
	{ .help = "" },
	{ OPTION_FOLDED, "folded", "FILE",
	  "stacks and bytes for flame graphs; -: to standard output. Implies --once" },
	{ OPTION_PPROF, "pprof", "FILE", "a profile for pprof. Implies --once" },
	{ OPTION_OWN_FRAMES, "own-frames", NULL, "show the allocator's own frames as well" },
	{ 'v', "verbose", NULL,
	  "names with all their template arguments, and inlined functions of libraries" },
	{ OPTION_JSON, "json", NULL, "tables as JSON, one to a line" },
	{ 0 },
};

/* ---- arguments ------------------------------------------------------------------------------- */

static int parse_seconds(const char *text, double *seconds)
{
	char *end;

	errno = 0;
	*seconds = strtod(text, &end);
	if (errno || end == text || *end || !(*seconds >= 0.1 && *seconds <= 86400))
		return util_usage_error(COMMAND, "'%s' is no number of seconds (0.1 to 86400)",
					text);
	return EXIT_OK;
}

static int parse_order(struct track_options *options, const char *text)
{
	static const char *const names[] = {
		[TRACK_BY_BYTES] = "bytes",
		[TRACK_BY_OBJECTS] = "objects",
		[TRACK_BY_AGE] = "age",
		[TRACK_BY_GROWTH] = "growth",
	};

	options->order_given = true;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(text, names[i])) {
			options->order = (enum track_order)i;
			return EXIT_OK;
		}
	return util_usage_error(COMMAND, "'%s': by bytes, objects, age or growth", text);
}

static int add_pattern(struct track_options *options, const char *pattern)
{
	if (!*pattern || strlen(pattern) >= CONTROL_TEXT)
		return util_usage_error(COMMAND, "'%s' is no pattern of 1 to %d bytes", pattern,
					CONTROL_TEXT - 1);
	if (options->nr_patterns == TRACK_MAX_PATTERNS)
		return util_usage_error(COMMAND, "more than %d patterns", TRACK_MAX_PATTERNS);
	options->pattern[options->nr_patterns++] = pattern;
	return EXIT_OK;
}

static int parse_number(const char *text, unsigned long max, unsigned long *value)
{
	if (util_parse_number(text, 1, max, value))
		return EXIT_OK;
	return util_usage_error(COMMAND, "'%s' is no number from 1 to %lu", text, max);
}

static int set_mode(struct track_options *options, enum track_mode mode)
{
	if (options->mode != TRACK_AUTO && options->mode != mode)
		return util_usage_error(COMMAND, "--full and --sample exclude each other");
	options->mode = mode;
	return EXIT_OK;
}

/* Options without a value; false: not one of these. */
static bool set_switch(struct track_options *options, int option)
{
	switch (option) {
	case '1':
		options->once = true;
		return true;
	case 'v':
		options->verbose = true;
		return true;
	case OPTION_KEEP:
		options->keep = true;
		return true;
	case OPTION_OFF:
		options->off = true;
		return true;
	case OPTION_JSON:
		options->json = true;
		return true;
	case OPTION_OWN_FRAMES:
		options->own_frames = true;
		return true;
	default:
		return false;
	}
}

static int set_option(void *arg, int option, const char *value)
{
	struct track_options *options = arg;
	unsigned long number;
	int status;

	if (source_take_option(&options->source, option, value, &status))
		return status;
	if (set_switch(options, option))
		return EXIT_OK;
	switch (option) {
	case 'c':
		return add_pattern(options, value);
	case 'i':
		return parse_seconds(value, &options->interval);
	case OPTION_WATCH:
		return parse_seconds(value, &options->watch);
	case OPTION_WAIT:
		status = parse_number(value, 86400, &number);
		options->wait_ms = status == EXIT_OK ? (unsigned int)number * 1000 : 0;
		return status;
	case 'n':
		return parse_number(value, UINT_MAX, &options->top);
	case 'b':
		return parse_order(options, value);
	case OPTION_FULL:
		return set_mode(options, TRACK_FULL);
	case OPTION_SAMPLE:
		return set_mode(options, TRACK_SAMPLE);
	case OPTION_FOLDED:
		options->folded = value;
		return EXIT_OK;
	default:
		options->pprof = value;
		return EXIT_OK;
	}
}

static int check(void *arg, int argc, char **argv)
{
	struct track_options *options = arg;
	bool core = options->source.core != NULL;

	if (core && optind < argc && options->source.program)
		return util_usage_error(COMMAND, "one program only: unexpected argument '%s'",
					argv[optind]);
	if (core && optind < argc)
		options->source.program = argv[optind++];
	if (optind < argc)
		return util_usage_error(COMMAND, "unexpected argument '%s'", argv[optind]);
	if (core && options->source.pid)
		return util_usage_error(COMMAND, "a process or a core, not both");
	if (!core && !options->source.pid)
		return util_usage_error(
			COMMAND,
			"which process? Use -p PID ('uslab ps' lists them) or --core FILE");
	if (source_check_core(&options->source) != EXIT_OK)
		return EXIT_USAGE;
	if (core && options->off)
		return util_usage_error(COMMAND, "--off is for running programs");
	if (options->off && options->keep)
		return util_usage_error(COMMAND, "--off and --keep exclude each other");
	if (options->json && options->folded && !strcmp(options->folded, "-"))
		return util_usage_error(COMMAND, "--json and --folded=- are two outputs");
	options->once |= core || options->folded || options->pprof;
	if (options->interval == 0)
		options->interval = options->once ? ONCE_INTERVAL : LIVE_INTERVAL;
	if (!options->order_given && !options->nr_patterns && !core)
		options->order = TRACK_BY_GROWTH;
	return EXIT_OK;
}

static const struct option_table table = { .command = COMMAND,
					   .usage = usage,
					   .rows = rows,
					   .notes = notes,
					   .set = set_option,
					   .check = check };

/* ---- the whole ------------------------------------------------------------------------------- */

/* Those that are named; of a process also those that it has not used so far. */
static int choose_matching(struct tracking *t)
{
	const struct track_options *options = t->options;
	int status = EXIT_OK;
	bool made = false;

	if (!options->off)
		status =
			command_prepare(&t->source.target, t->source.root, options->wait_ms, &made);
	if (status == EXIT_OK && made)
		status = source_snapshot(&t->source, t->snapshot);
	return status == EXIT_OK ? track_choose_matching(t) : status;
}

/* Of a core all that was tracked, or what of that was named. */
static int choose_of_core(struct tracking *t)
{
	int status = EXIT_OK;

	if (t->options->nr_patterns)
		status = track_choose_matching(t);
	else
		track_choose_tracked(t);
	if (status != EXIT_OK || track_any_tracked(t))
		return status;
	return util_fail(COMMAND,
			 "%s of %s was tracked. Next time start the program with USLAB_DEBUG=U, or "
			 "switch tracking on with uslab track --keep",
			 t->options->nr_patterns ? "none of these caches" : "no cache",
			 t->source.title);
}

static int choose(struct tracking *t)
{
	const struct track_options *options = t->options;

	if (options->source.kind == SOURCE_CORE)
		return choose_of_core(t);
	if (options->nr_patterns)
		return choose_matching(t);
	track_choose_tracked(t);
	if (options->off) {
		if (!t->nr_caches)
			util_warn(COMMAND, "no cache of %s is tracked", t->source.title);
		return EXIT_OK;
	}
	util_warn(COMMAND, "watching %s for %g s to see which caches grow", t->source.title,
		  options->watch);
	return track_choose_growing(t);
}

static void print_tracked(const struct tracking *t)
{
	char growth[UTIL_SIZE_TEXT];

	for (unsigned int i = 0; i < t->nr_caches && !t->options->nr_patterns; i++)
		util_warn(COMMAND, "%s grew by %s/s and is %s now", t->cache[i].name,
			  util_size(growth, sizeof(growth), (uint64_t)t->cache[i].growth),
			  t->cache[i].sampled ? "sampled" : "tracked");
}

static bool any_switched(const struct tracking *t)
{
	for (unsigned int i = 0; i < t->nr_caches; i++)
		if (t->cache[i].switched)
			return true;
	return false;
}

/* Where caches are sampled. Tracking begins when that is on. */
static int start_sampling(struct tracking *t)
{
	bool any = false;
	int ret;

	for (unsigned int i = 0; i < t->nr_caches; i++)
		any |= t->cache[i].sampled;
	if (!any)
		return EXIT_OK;
	ret = command_sampler_open(&t->sampler, &t->source.target, t->source.root);
	if (ret == -ECANCELED)
		return command_fail_filtered(&t->source.target, t->source.root);
	if (ret)
		return util_fail(COMMAND,
				 "%s cannot be sampled: %s; --full tracks every allocation",
				 t->source.title, strerror(-ret));
	/*
	 * what is sampled before the process has adjusted its mean has widely different weights
	 */
	if (t->sampler.began)
		t->start = tracks_now(t->snapshot);
	for (unsigned int i = 0; i < SETTLE_LOOKS && t->start; i++)
		if (command_sampler_renew(&t->sampler) ||
		    !track_sleep(t, SETTLE_SECONDS / SETTLE_LOOKS))
			break;
	if (t->start)
		t->start = tracks_now(t->snapshot);
	return EXIT_OK;
}

/* By the last snapshot, whoever began it. */
static bool any_sampled(const struct snapshot *s)
{
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (s->cache[i].sampled)
			return true;
	return false;
}

/*
 * After this tool's caches were switched off. Sampling is one for the whole process: it ends only
 * where it is known that no cache is sampled any more, by whomever.
 */
static void end_sampling(struct tracking *t)
{
	enum command_sampler_end end = COMMAND_SAMPLER_STOP;

	if (t->sampler.fd < 0)
		return;
	if (t->options->keep)
		end = COMMAND_SAMPLER_KEEP;
	else if (snapshot_take(t->snapshot, &t->source.target.remote.reader,
			       t->source.root->address) ||
		 any_sampled(t->snapshot))
		end = COMMAND_SAMPLER_LEAVE;
	command_sampler_close(&t->sampler, end);
}

/* What this tool switched on. false: it stays on, and is to be switched off. */
static bool switch_off(struct tracking *t)
{
	return t->options->keep || !any_switched(t) || source_end(&t->source) ||
	       track_switch_off(t, false) == EXIT_OK;
}

static void leave_on(struct tracking *t)
{
	bool filtered = command_filtered(&t->source.target, t->source.root) > FILTERED_UNREAD;
	bool again = track_watchdog_leave(t);

	util_warn(COMMAND, "tracking of %s is still on; %suslab track -p %d --off%s ends it",
		  t->source.title, again ? "that is tried again in the background, and " : "",
		  (int)t->options->source.pid,
		  filtered && !t->source.target.force ? " --force" : "");
}

/* EXIT_FAILED: something stays on that should not. */
static int end_tracking(struct tracking *t)
{
	bool off = switch_off(t);

	end_sampling(t);
	if (off || source_end(&t->source))
		track_watchdog_end(t);
	else
		leave_on(t);
	return off ? EXIT_OK : EXIT_FAILED;
}

/* What was switched on is switched off again, however it ended. */
static int track_process(struct tracking *t)
{
	int status;

	if (!t->options->keep)
		track_watchdog_start(t);
	status = track_switch_on(t);
	/* from when all of them are on: the process may have taken seconds to take the commands */
	if (any_switched(t))
		t->start = tracks_now(t->snapshot);
	if (status == EXIT_OK)
		status = start_sampling(t);
	if (status == EXIT_OK) {
		print_tracked(t);
		status = t->options->once ? track_run_once(t) : track_run_live(t);
	}
	/* the files that it has open may be all that may be open: to switch off takes one, too */
	resolve_close(t->resolve);
	t->resolve = NULL;
	return end_tracking(t) == EXIT_OK ? status : EXIT_FAILED;
}

/* Also what other tools switched on. Sampling ends with the last sampled cache. */
static int switch_all_off(struct tracking *t)
{
	int status = track_switch_off(t, true);

	if (status != EXIT_OK || source_snapshot(&t->source, t->snapshot) != EXIT_OK)
		return EXIT_FAILED;
	if (!any_sampled(t->snapshot) &&
	    !command_sampler_open(&t->sampler, &t->source.target, t->source.root))
		command_sampler_close(&t->sampler, COMMAND_SAMPLER_STOP);
	return EXIT_OK;
}

static int run(struct tracking *t)
{
	const struct track_options *options = t->options;
	int status = source_snapshot(&t->source, t->snapshot);

	if (status == EXIT_OK && !options->off)
		status = track_open_folded(t);
	if (status == EXIT_OK)
		status = choose(t);
	if (status != EXIT_OK || track_stopped())
		return status;
	if (options->off)
		return switch_all_off(t);
	t->resolve = options->source.kind == SOURCE_CORE
			     ? resolve_core(options->source.core, options->source.program,
					    options->source.sysroot)
			     : resolve_process(options->source.pid);
	if (!t->resolve)
		return util_fail(COMMAND, "out of memory");
	if (options->source.kind != SOURCE_CORE)
		return track_process(t);
	return track_run_once(t);
}

int cmd_track(int argc, char **argv)
{
	struct track_options options = {
		.command = COMMAND,
		.source.command = COMMAND,
		.watch = WATCH_SECONDS,
		.top = 10,
	};
	struct tracking *t;
	int status;

	status = options_take(&table, &options, argc, argv);
	if (status >= 0)
		return status;
	t = calloc(1, sizeof(*t));
	if (t)
		t->snapshot = calloc(1, sizeof(*t->snapshot));
	if (!t || !t->snapshot) {
		free(t);
		return util_fail(COMMAND, "out of memory");
	}
	t->options = &options;
	t->sampler.fd = -1;
	track_catch_signals();
	status = source_open(&t->source, &options.source);
	if (status == EXIT_OK) {
		status = run(t);
		track_close_folded(t);
		source_close(&t->source);
	}
	resolve_close(t->resolve);
	track_table_free(&t->table);
	free(t->snapshot);
	free(t);
	return status;
}
