/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_options.c - the command line of `uslab info`: slabinfo's options (spec 8.1) and
 * ours
 *
 * Flow:       called by cmd_info.c; calls options.c, info_help.c, process/source.c for the options
 *             that all share, and info_print.c for --fields. In: argv; out: struct info.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/debug_flags.h"
#include "info/info.h"
#include "util.h"

/* Orders that were asked for. */
struct orders {
	bool size, activity, loss, partial;
};

struct parsing {
	struct info *info;
	struct orders orders;
	bool fields; /* only explain the keys */
	int foreign; /* one that --groups makes nothing of; 0: none was given */
};

/* One that is named twice counts once. */
static int parse_pid(struct info *info, const char *text)
{
	pid_t pid;
	int status = util_parse_pid(INFO_COMMAND, text, &pid);

	for (unsigned int i = 0; status == EXIT_OK && i < info->nr_pids; i++)
		if (info->pids[i] == pid)
			return EXIT_OK;
	if (status == EXIT_OK && info->nr_pids == INFO_MAX_SOURCES)
		return util_usage_error(INFO_COMMAND, "no more than %d processes",
					INFO_MAX_SOURCES);
	if (status == EXIT_OK)
		info->pids[info->nr_pids++] = pid;
	return status;
}

static int parse_count(unsigned long *value, const char *what, const char *text)
{
	if (!util_parse_number(text, 1, ULONG_MAX, value))
		return util_usage_error(INFO_COMMAND, "'%s' is no number of %s, 1 or more", text,
					what);
	return EXIT_OK;
}

static int parse_interval(struct info *info, const char *text)
{
	char *end;

	errno = 0;
	info->interval = strtod(text, &end);
	if (end == text || *end || errno || !(info->interval > 0 && info->interval <= 1e6))
		return util_usage_error(INFO_COMMAND,
					"'%s' is no number of seconds (above 0, up to 1000000)",
					text);
	return EXIT_OK;
}

static int parse_address(struct info *info, const char *text)
{
	char *end;

	errno = 0;
	info->address = strtoull(text, &end, 0);
	if (end == text || *end || errno || text[0] == '-')
		return util_usage_error(INFO_COMMAND, "'%s' is no address", text);
	info->wanted[INFO_ADDRESS] = true;
	return EXIT_OK;
}

/* Spec 8.9. */
static int parse_debug(struct info *info, const char *text)
{
	info->wanted[INFO_DEBUG] = true;
	info->debug = 0;
	if (!text || !strcmp(text, "-") || !strcasecmp(text, "none"))
		return EXIT_OK;
	if (!strcasecmp(text, "a")) {
		info->debug = DEBUG_SLAB_FLAGS & ~SLAB_TRACE;
		return EXIT_OK;
	}
	for (const char *p = text; *p; p++) {
		slab_flags_t flag = debug_flags_of(*p) & DEBUG_SLAB_FLAGS;

		if (!flag || info->debug & flag)
			return util_usage_error(INFO_COMMAND,
						"invalid debug option '%s': use some of f, z, p, "
						"u and t, or a, or none",
						text);
		info->debug |= flag;
	}
	return EXIT_OK;
}

/* An option that only switches something on; false: not one of these. */
static bool set_switch(struct info *info, struct orders *orders, int option)
{
	const struct {
		int option;
		bool *value;
	} switches[] = {
		{ 'a', &info->wanted[INFO_ALIASES] },
		{ 'A', &orders->activity },
		{ 'B', &info->options.bytes },
		{ 'D', &info->options.activity_columns },
		{ 'e', &info->options.only_empty },
		{ 'f', &info->options.first_alias },
		{ 'i', &info->options.inverted },
		{ 'l', &info->wanted[INFO_LIST] },
		{ 'L', &orders->loss },
		{ 'm', &info->wanted[INFO_MEMORY] },
		{ 'n', &info->wanted[INFO_NUMA] },
		{ 'o', &info->wanted[INFO_OPS] },
		{ 'P', &orders->partial },
		{ 'r', &info->wanted[INFO_REPORT] },
		{ 's', &info->wanted[INFO_SHRINK] },
		{ 'S', &orders->size },
		{ 't', &info->wanted[INFO_TRACKING] },
		{ 'T', &info->wanted[INFO_TOTALS] },
		{ 'U', &info->options.unreclaimable },
		{ 'v', &info->wanted[INFO_VALIDATE] },
		{ 'X', &info->wanted[INFO_XTOTALS] },
		{ 'z', &info->options.with_empty },
		{ '1', &info->options.single_refs },
		{ OPTION_ALLOCINFO, &info->wanted[INFO_ALLOCINFO] },
		{ OPTION_GROUPS, &info->wanted[INFO_GROUPS] },
		{ OPTION_JSON, &info->wanted[INFO_JSON] },
		{ OPTION_OPENMETRICS, &info->wanted[INFO_OPENMETRICS] },
		{ OPTION_PROMETHEUS, &info->wanted[INFO_PROMETHEUS] },
	};

	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (switches[i].option == option) {
			*switches[i].value = true;
			return true;
		}
	return false;
}

/* An option with a value, or that says whose caches. */
static int set_value(struct info *info, int option, const char *value)
{
	int status;

	switch (option) {
	case 'p':
		return parse_pid(info, value);
	case 'N':
		return parse_count(&info->options.lines, "lines", value);
	case 'c':
		return parse_count(&info->rounds, "times", value);
	case 'd':
		return parse_debug(info, value);
	case OPTION_INTERVAL:
		return parse_interval(info, value);
	case OPTION_ADDRESS:
		return parse_address(info, value);
	default:
		source_take_option(&info->source, option, value, &status);
		return status;
	}
}

static int parse_pattern(struct info *info, const char *text)
{
	int error = regcomp(&info->pattern, text, REG_ICASE | REG_NOSUB);
	char why[128];

	if (error) {
		regerror(error, &info->pattern, why, sizeof(why));
		return util_usage_error(INFO_COMMAND, "invalid pattern '%s': %s", text, why);
	}
	info->options.pattern = &info->pattern;
	info->pattern_text = text;
	return EXIT_OK;
}

/* ---- what goes together ---------------------------------------------------------------------- */

static int check_source(const struct info *info)
{
	const struct source_options *source = &info->source;

	if (source->kind == SOURCE_PROCESS && !info->nr_pids)
		return util_usage_error(
			INFO_COMMAND,
			"which process? Use -p PID ('uslab ps' lists them), --core FILE or --kernel");
	if (source->kind != SOURCE_PROCESS && info->nr_pids)
		return util_usage_error(INFO_COMMAND, "a process or a %s, not both",
					source->kind == SOURCE_CORE ? "core" : "tree");
	if (source_check_core(source) != EXIT_OK)
		return EXIT_USAGE;
	if (source->library && source->kind == SOURCE_TREE)
		return util_usage_error(INFO_COMMAND, "--library is for processes and cores");
	if (info->wanted[INFO_ADDRESS] && source->kind == SOURCE_TREE)
		return util_usage_error(INFO_COMMAND, "--address is for processes and cores");
	if (info->wanted[INFO_MEMORY] && source->kind == SOURCE_TREE)
		return util_usage_error(INFO_COMMAND, "--memory is for processes and cores");
	if (info->wanted[INFO_ALLOCINFO] && source->kind == SOURCE_TREE)
		return util_usage_error(INFO_COMMAND, "--allocinfo is for processes and cores; "
						      "the kernel's is in /proc/allocinfo");
	if (info->wanted[INFO_GROUPS] && source->kind == SOURCE_TREE)
		return util_usage_error(INFO_COMMAND, "--groups is for processes and cores");
	return EXIT_OK;
}

/* JSON and metrics are of the list; -T and the like have formats of their own. */
static int check_formats(const struct info *info)
{
	static const char *const names[] = { [INFO_JSON] = "--json",
					     [INFO_OPENMETRICS] = "--openmetrics",
					     [INFO_PROMETHEUS] = "--prometheus" };
	unsigned int formats = 0;
	const char *format = NULL;
	bool other = info->wanted[INFO_ADDRESS];

	for (int mode = INFO_PROMETHEUS; mode >= INFO_JSON; mode--)
		if (info->wanted[mode]) {
			format = names[mode];
			formats++;
		}
	if (format && info->wanted[INFO_MEMORY])
		return util_usage_error(INFO_COMMAND, "%s has what --memory shows: leave that out",
					format);
	if (!info->wanted[INFO_JSON])
		other |= info->wanted[INFO_ALLOCINFO] || info->wanted[INFO_GROUPS];
	for (int mode = INFO_ALIASES; mode < INFO_NR_MODES; mode++)
		other |= mode != INFO_LIST && info->wanted[mode];
	if (formats > 1 || (format && other))
		return util_usage_error(INFO_COMMAND, "%s and another option are two listings",
					format);
	if (info->rounds && !info->interval)
		return util_usage_error(INFO_COMMAND, "--count goes with --interval");
	return EXIT_OK;
}

/* Groups are listed whatever size they have, and not as other things are. */
static bool is_for_groups(int option)
{
	if (option == OPTION_ADDRESS || option == OPTION_ALLOCINFO)
		return false;
	return option > UCHAR_MAX || strchr("SiNcp", option);
}

static int check_groups(const struct parsing *parsing)
{
	if (!parsing->info->wanted[INFO_GROUPS])
		return EXIT_OK;
	if (parsing->foreign > UCHAR_MAX)
		return util_usage_error(INFO_COMMAND,
					"--groups and another option are two listings");
	if (parsing->foreign)
		return util_usage_error(INFO_COMMAND, "-%c has no meaning with --groups",
					parsing->foreign);
	if (parsing->info->options.inverted && !parsing->orders.size)
		return util_usage_error(INFO_COMMAND, "-i goes with -S where --groups is given");
	return EXIT_OK;
}

static void choose_mode(struct info *info)
{
	int mode = 0;

	while (mode < INFO_LIST && !info->wanted[mode])
		mode++;
	if (mode == INFO_LIST && info->wanted[INFO_REPORT] && !info->wanted[INFO_LIST])
		mode = INFO_REPORT;
	info->mode = (enum info_mode)mode;
}

/* What slabinfo shows of empty caches, and -X by itself. */
static void adapt_options(struct info *info, const struct orders *orders)
{
	struct info_options *options = &info->options;
	enum info_mode mode = info->mode;

	options->order = orders->size	       ? INFO_BY_SIZE
			 : orders->activity    ? INFO_BY_ACTIVITY
			 : orders->loss	       ? INFO_BY_LOSS
			 : orders->partial     ? INFO_BY_PARTIAL
			 : mode == INFO_MEMORY ? INFO_BY_SIZE
					       : INFO_BY_NAME;
	options->loss_column = orders->loss;
	if (mode != INFO_LIST && mode != INFO_XTOTALS && mode != INFO_NUMA &&
	    mode != INFO_ALLOCINFO && mode != INFO_MEMORY && mode != INFO_GROUPS)
		options->with_empty = true;
	options->only_caches = mode != INFO_LIST && mode != INFO_JSON;
	options->with_blocks = mode == INFO_DEBUG || mode == INFO_VALIDATE;
	if (options->activity_columns)
		options->only_caches = true;
	if (mode == INFO_XTOTALS) {
		options->bytes = true;
		if (options->lines == ULONG_MAX)
			options->lines = 1;
	}
}

/* What follows the options, and whether all of it goes together. */
static int check(void *arg, int argc, char **argv)
{
	const struct parsing *parsing = arg;
	struct info *info = parsing->info;
	int status;

	if (parsing->fields)
		return EXIT_OK;
	status = check_source(info);
	if (status == EXIT_OK && optind + 1 < argc)
		status = util_usage_error(INFO_COMMAND,
					  "one pattern only: unexpected argument '%s'",
					  argv[optind + 1]);
	if (status == EXIT_OK)
		status = check_formats(info);
	if (status == EXIT_OK)
		status = check_groups(parsing);
	if (status != EXIT_OK)
		return status;
	choose_mode(info);
	adapt_options(info, &parsing->orders);
	return optind < argc ? parse_pattern(info, argv[optind]) : EXIT_OK;
}

static int set_option(void *arg, int option, const char *value)
{
	struct parsing *parsing = arg;

	if (!parsing->foreign && !is_for_groups(option))
		parsing->foreign = option;
	if (option == OPTION_FIELDS)
		parsing->fields = true;
	else if (!set_switch(parsing->info, &parsing->orders, option))
		return set_value(parsing->info, option, value);
	return EXIT_OK;
}

int info_parse(struct info *info, int argc, char **argv)
{
	static const struct option_table options = {
		.command = INFO_COMMAND,
		.usage = info_usage,
		.rows = info_option_rows,
		.notes = info_notes,
		.set = set_option,
		.check = check,
	};
	struct parsing parsing = { .info = info };
	int status;

	info->options.lines = ULONG_MAX;
	info->source.command = INFO_COMMAND;
	status = options_take(&options, &parsing, argc, argv);
	if (status >= 0 || !parsing.fields)
		return status;
	info_print_fields();
	return util_finish(INFO_COMMAND, EXIT_OK);
}
