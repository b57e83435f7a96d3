/* SPDX-License-Identifier: MIT */
/*
 * uslab/cmd_info.c - `uslab info`: the caches of a running process, looked at from outside
 *
 * Options are those of the kernel's slabinfo that list; the others are known by name and refused, so
 * that nobody takes silence for an answer.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"
#include "util.h"

#define COMMAND "info"

static const char help[] =
	"usage: uslab info -p PID [OPTION]... [REGEX]\n"
	"List the slab caches of a running process that uses uslab.\n"
	"\n"
	"REGEX is a POSIX basic regular expression, not anchored, in any case of letters; it\n"
	"selects caches by name.\n"
	"\n"
	"  -p, --pid=PID       the process\n"
	"      --library=NAME  of several copies of uslab in it, the one in a file named like this\n"
	"      --json          as JSON, empty caches included\n"
	"      --fields        explain the keys of the JSON, and exit\n"
	"\n"
	"Which caches (empty ones have no slabs):\n"
	"  -z, --zero          empty ones too\n"
	"  -e, --empty         empty ones only\n"
	"  -U, --Unreclaim     without those accounted as reclaimable\n"
	"  -f, --first-alias   name merged caches by one of their names, not by their id\n"
	"  -N, --lines=K       the first K only\n"
	"\n"
	"In which order (by name otherwise; the first of these that is given):\n"
	"  -S, --Size          by size\n"
	"  -A, --activity      by number of allocations and frees (USLAB_CONF=stats counts them)\n"
	"  -L, --Loss          by loss, which is shown in place of the size\n"
	"  -P, --partial       by number of partial slabs\n"
	"  -i, --inverted      the other way round\n"
	"\n"
	"Other listings:\n"
	"  -l, --slabs         the caches (the default)\n"
	"  -a, --aliases       the names of merged caches; with -i by name\n"
	"  -1, --1ref          with -a: those with one name too\n"
	"\n"
	"  -B, --Bytes         sizes in bytes\n"
	"  -h, --help          this text\n"
	"  -V, --version       the version\n"
	"\n"
	"Columns: objects that the program holds, bytes of an object, bytes of all slabs, slabs /\n"
	"partial ones / those of CPUs, objects per slab, order of a slab, percent of partial slabs,\n"
	"percent of the space that is in use, and flags: * aliases, d DMA, A aligned to cache lines,\n"
	"P poisoned, a reclaimable, Z red zones, F checked, U users stored, T traced.";

enum { OPTION_JSON = 256, OPTION_FIELDS, OPTION_LIBRARY };

static const struct option long_options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "library", required_argument, NULL, OPTION_LIBRARY },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "fields", no_argument, NULL, OPTION_FIELDS },
	{ "aliases", no_argument, NULL, 'a' },
	{ "activity", no_argument, NULL, 'A' },
	{ "Bytes", no_argument, NULL, 'B' },
	{ "debug", optional_argument, NULL, 'd' },
	{ "display-active", no_argument, NULL, 'D' },
	{ "empty", no_argument, NULL, 'e' },
	{ "first-alias", no_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ "inverted", no_argument, NULL, 'i' },
	{ "slabs", no_argument, NULL, 'l' },
	{ "Loss", no_argument, NULL, 'L' },
	{ "numa", no_argument, NULL, 'n' },
	{ "lines", required_argument, NULL, 'N' },
	{ "ops", no_argument, NULL, 'o' },
	{ "partial", no_argument, NULL, 'P' },
	{ "report", no_argument, NULL, 'r' },
	{ "shrink", no_argument, NULL, 's' },
	{ "Size", no_argument, NULL, 'S' },
	{ "tracking", no_argument, NULL, 't' },
	{ "Totals", no_argument, NULL, 'T' },
	{ "Unreclaim", no_argument, NULL, 'U' },
	{ "validate", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, 'V' },
	{ "Xtotals", no_argument, NULL, 'X' },
	{ "zero", no_argument, NULL, 'z' },
	{ "1ref", no_argument, NULL, '1' },
	{ NULL, 0, NULL, 0 },
};

struct info {
	struct info_options options;
	regex_t pattern;
	pid_t pid;	    /* 0: none given */
	const char *object; /* part of a file name; NULL: any */
	bool by_size, by_activity, by_loss, by_partial;
	bool aliases;
	bool json;
};

static int parse_pid(struct info *info, const char *text)
{
	unsigned long pid;

	if (!util_parse_number(text, 1, INT_MAX, &pid))
		return util_usage_error(COMMAND, "'%s' is no process id", text);
	info->pid = (pid_t)pid;
	return EXIT_OK;
}

static int parse_lines(struct info *info, const char *text)
{
	if (!util_parse_number(text, 0, ULONG_MAX, &info->options.lines))
		return util_usage_error(COMMAND, "'%s' is no number of lines", text);
	if (!info->options.lines)
		info->options.lines = 1; /* as in the kernel's tool */
	return EXIT_OK;
}

static int refuse(int option)
{
	const char *name = "";

	for (const struct option *o = long_options; o->name; o++)
		if (o->val == option)
			name = o->name;
	return util_usage_error(COMMAND, "option -%c (--%s) is not there yet", option, name);
}

/* An option that only switches something on; false: not one of these. */
static bool set_switch(struct info *info, int option)
{
	const struct {
		int option;
		bool *value;
	} switches[] = {
		{ 'a', &info->aliases },
		{ 'A', &info->by_activity },
		{ 'B', &info->options.bytes },
		{ 'e', &info->options.only_empty },
		{ 'f', &info->options.first_alias },
		{ 'i', &info->options.inverted },
		{ 'L', &info->by_loss },
		{ 'P', &info->by_partial },
		{ 'S', &info->by_size },
		{ 'U', &info->options.unreclaimable },
		{ 'z', &info->options.with_empty },
		{ '1', &info->options.single_refs },
		{ OPTION_JSON, &info->json },
	};

	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (switches[i].option == option) {
			*switches[i].value = true;
			return true;
		}
	return option == 'l';
}

static int parse_pattern(struct info *info, const char *text)
{
	int error = regcomp(&info->pattern, text, REG_ICASE | REG_NOSUB);
	char why[128];

	if (error) {
		regerror(error, &info->pattern, why, sizeof(why));
		return util_usage_error(COMMAND, "invalid pattern '%s': %s", text, why);
	}
	info->options.pattern = &info->pattern;
	return EXIT_OK;
}

/* What follows the options, and whether all of it goes together. */
static int check(struct info *info, int argc, char **argv)
{
	struct info_options *options = &info->options;

	if (!info->pid)
		return util_usage_error(COMMAND, "which process? Say -p PID");
	if (optind + 1 < argc)
		return util_usage_error(COMMAND, "one pattern only: '%s' is too much",
					argv[optind + 1]);
	if (info->json && info->aliases)
		return util_usage_error(COMMAND, "--json and --aliases are two listings");
	options->order = info->by_size	     ? INFO_BY_SIZE
			 : info->by_activity ? INFO_BY_ACTIVITY
			 : info->by_loss     ? INFO_BY_LOSS
			 : info->by_partial  ? INFO_BY_PARTIAL
					     : INFO_BY_NAME;
	options->loss_column = info->by_loss;
	if (info->json)
		options->with_empty = true;
	return optind < argc ? parse_pattern(info, argv[optind]) : EXIT_OK;
}

/* Returns the exit status, or -1: go on. */
static int parse(struct info *info, int argc, char **argv)
{
	int status = EXIT_OK;
	int got;

	while (status == EXIT_OK &&
	       (got = getopt_long(argc, argv, ":aABd::DefhilLnN:oPp:rsStTUvVXz1", long_options,
				  NULL)) != -1) {
		if (got == 'h') {
			puts(help);
			return util_finish(COMMAND, EXIT_OK);
		}
		if (got == 'V')
			return util_version();
		if (got == OPTION_FIELDS) {
			info_print_fields();
			return util_finish(COMMAND, EXIT_OK);
		}
		if (got == '?' || got == ':')
			return util_bad_option(COMMAND, argv, got);
		if (got == 'p')
			status = parse_pid(info, optarg);
		else if (got == 'N')
			status = parse_lines(info, optarg);
		else if (got == OPTION_LIBRARY)
			info->object = optarg;
		else if (!set_switch(info, got))
			status = refuse(got);
	}
	if (status == EXIT_OK)
		status = check(info, argc, argv);
	return status == EXIT_OK ? -1 : status;
}

static int list_aliases(const struct info *info, const struct snapshot *s)
{
	struct info_alias *aliases = calloc(s->nr_caches + s->nr_aliases + 1, sizeof(*aliases));

	if (!aliases)
		return util_fail(COMMAND, "out of memory");
	info_print_aliases(aliases, info_aliases(s, &info->options, aliases),
			   info->options.inverted);
	free(aliases);
	return EXIT_OK;
}

static int list_caches(const struct info *info, const struct target *t,
		       const struct target_root *root, const struct snapshot *s)
{
	struct info_row *rows = calloc(SNAPSHOT_MAX_CACHES, sizeof(*rows));
	unsigned int count;
	int error = 0;

	if (!rows)
		return util_fail(COMMAND, "out of memory");
	count = info_rows(s, &info->options, rows);
	if (info->json)
		error = info_print_json(t, root, s, rows, count);
	else
		info_print_table(rows, count, &info->options);
	free(rows);
	if (error)
		return util_fail(COMMAND, "out of memory");
	if (!count && !info->json && info->options.pattern)
		util_warn(COMMAND, "no cache in use matches (-z lists empty ones too)");
	return EXIT_OK;
}

int cmd_info(int argc, char **argv)
{
	struct info info = { .options.lines = ULONG_MAX };
	struct snapshot *s = NULL;
	struct target *t = NULL;
	const struct target_root *root;
	int status;

	opterr = 0;
	optind = 0; /* begin anew, whoever parsed before */
	status = parse(&info, argc, argv);
	if (status >= 0)
		return status;

	s = calloc(1, sizeof(*s));
	t = calloc(1, sizeof(*t));
	status = s && t ? target_open(t, COMMAND, info.pid) : util_fail(COMMAND, "out of memory");
	if (status == EXIT_OK) {
		status = target_snapshot(t, info.object, s, &root);
		if (status == EXIT_OK)
			status = info.aliases ? list_aliases(&info, s)
					      : list_caches(&info, t, root, s);
		target_close(t);
	}
	free(t);
	free(s);
	if (info.options.pattern)
		regfree(&info.pattern);
	return status == EXIT_OK ? util_finish(COMMAND, status) : status;
}
