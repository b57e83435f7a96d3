/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/cmd_debug.c - `uslab debug`: switches debug flags of a running program
 *
 * Flow:       called by main.c, cmd_defrag.c, debug_capacity.c and debug_profiling.c; calls
 *             options.c, process/source.c and target.c for the process, pattern.c for its caches,
 *             need.c for the memory that they take, command.c and command_messages.c for the
 *             command, debug_capacity.c for --capacity, debug_profiling.c for --mem-profiling. In:
 *             options; out: one command in the mailbox, and a table of what it changed: the
 *             difference of two snapshots.
 *
 * Read this file, then command.h, command.c (the mailbox, from outside), command_messages.c,
 * debug_capacity.c and debug_profiling.c.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command/debug_job.h"
#include "command/debug_flags.h"
#include "command/need.h"
#include "options.h"
#include "pattern.h"
#include "inspect/options.h"
#include "util.h"

#define COMMAND DEBUG_COMMAND

static const char usage[] =
	"usage: uslab debug -p PID --cache PATTERN [--cache PATTERN]... FLAGS|-\n"
	"       uslab debug -p PID [--cache PATTERN]... --status|--validate|--shrink\n"
	"       uslab debug -p PID --cache PATTERN [--cache PATTERN]... --capacity N\n"
	"       uslab debug -p PID --mem-profiling 0|1\n"
	"Switch the checks of caches of a running program on and off, or change their capacity.\n"
	"\n"
	"FLAGS, in any case, are the kernel's; they are what the caches have from then on:";

static const char notes[] =
	"The program takes the command with its next malloc. It is not stopped; objects that exist\n"
	"keep the layout that they have. Errors are reported by the program itself, on its standard\n"
	"error.";

enum {
	OPTION_STATUS = OPTION_OWN,
	OPTION_VALIDATE,
	OPTION_SHRINK,
	OPTION_CAPACITY,
	OPTION_PROFILING
};

static const struct option_row rows[] = {
	ROW_PID,
	{ 'c', "cache", "PATTERN", "caches by name or id; * and ? as in a shell; may be repeated" },
	ROW_LIBRARY,
	{ 'v', "verbose", NULL,
	  "a line for each cache, also where the same happens to many; with --validate how many "
	  "have nothing to be checked" },
	{ OPTION_STATUS, "status", NULL, "which caches are checked, and how many objects of them" },
	{ OPTION_VALIDATE, "validate", NULL, "check all objects of checked caches now" },
	{ OPTION_SHRINK, "shrink", NULL, "give the memory of empty slabs back" },
	{ OPTION_CAPACITY, "capacity", "N",
	  "objects that an array of a CPU holds: 1 to 31 (queues, sheaves: to 1024); 0: no arrays; default: "
	  "as the size of the objects gives" },
	{ OPTION_PROFILING, "mem-profiling", "0|1",
	  "switch allocation profiling off and on; uslab info --allocinfo shows it" },
	ROW_WAIT,
	ROW_FORCE,
	{ 0 },
};

static void list_debug_flags(void)
{
	for (size_t i = 0; i < NR_DEBUG_FLAG_TEXTS; i++)
		if (debug_flag_texts[i].flag)
			options_print_wrapped(printf("  %c  ", debug_flag_texts[i].letter), 5,
					      debug_flag_texts[i].help);
	puts("  -  none of these\n"
	     "+FLAGS adds debug flags to what a cache has, and -- -FLAGS takes some away.");
}

/* ---- arguments ------------------------------------------------------------------------------- */

static int set_action(struct debug_job *job, int option)
{
	if (job->action && job->action != option)
		return util_usage_error(COMMAND, "one of --status, --validate, --shrink, "
						 "--capacity and --mem-profiling only");
	job->action = option;
	return EXIT_OK;
}

static int set_profiling(struct debug_job *job, const char *value)
{
	if (strcmp(value, "0") && strcmp(value, "1"))
		return util_usage_error(COMMAND, "--mem-profiling is 0 or 1, not '%s'", value);
	job->profiling = *value == '1';
	return set_action(job, OPTION_PROFILING);
}

int debug_add_pattern(struct debug_job *job, const char *command, const char *pattern)
{
	if (!*pattern || strlen(pattern) >= CONTROL_TEXT)
		return util_usage_error(command, "'%s' is no pattern of 1 to %d bytes", pattern,
					CONTROL_TEXT - 1);
	if (job->nr_patterns == DEBUG_MAX_PATTERNS)
		return util_usage_error(command, "more than %d patterns", DEBUG_MAX_PATTERNS);
	job->pattern[job->nr_patterns++] = pattern;
	return EXIT_OK;
}

static int set_capacity(struct debug_job *job, const char *value)
{
	if (!strcmp(value, "default"))
		job->capacity = CONTROL_CAPACITY_BY_SIZE;
	else if (!util_parse_number(value, 0, CONTROL_CAPACITY_MAX, &job->capacity))
		return util_usage_error(COMMAND, "'%s' is no capacity: 0 to %d objects, or default",
					value, CONTROL_CAPACITY_MAX);
	return set_action(job, OPTION_CAPACITY);
}

static int set_option(void *arg, int option, const char *value)
{
	struct debug_job *job = arg;
	unsigned long number;
	int status;

	if (source_take_option(&job->source, option, value, &status))
		return status;
	switch (option) {
	case 'c':
		return debug_add_pattern(job, COMMAND, value);
	case 'v':
		job->verbose = true;
		return EXIT_OK;
	case OPTION_WAIT:
		if (!util_parse_number(value, 1, 86400, &number))
			return util_usage_error(
				COMMAND, "'%s' is no number of seconds from 1 to 86400", value);
		job->wait_ms = (unsigned int)number * 1000;
		return EXIT_OK;
	case OPTION_CAPACITY:
		return set_capacity(job, value);
	case OPTION_PROFILING:
		return set_profiling(job, value);
	default:
		return set_action(job, option);
	}
}

static int ask_for_caches(void)
{
	return util_usage_error(COMMAND, "which caches? Use --cache PATTERN ('*' for all)");
}

static int check(void *arg, int argc, char **argv)
{
	struct debug_job *job = arg;
	char known[DEBUG_FLAGS_TEXT];

	if (!job->source.pid)
		return util_usage_error(COMMAND,
					"which process? Use -p PID ('uslab ps' lists them)");
	if (job->action == OPTION_PROFILING && job->nr_patterns)
		return util_usage_error(COMMAND, "--mem-profiling is for all caches");
	if (job->action && optind < argc)
		return util_usage_error(COMMAND, "unexpected argument '%s'", argv[optind]);
	job->named = job->nr_patterns > 0;
	if (job->action == OPTION_CAPACITY && !job->named)
		return ask_for_caches();
	if (job->action) {
		if (!job->named)
			job->pattern[job->nr_patterns++] = "*";
		return EXIT_OK;
	}
	if (optind >= argc)
		return util_usage_error(COMMAND, "which debug flags? Use some of %s, or -",
					debug_flags_list(known, "", ""));
	if (optind + 1 < argc)
		return util_usage_error(COMMAND, "unexpected argument '%s'", argv[optind + 1]);
	job->debug_flags = argv[optind];
	if (!debug_flags_are(job->debug_flags))
		return util_usage_error(COMMAND, "'%s': debug flags are %s", job->debug_flags,
					debug_flags_list(known, ", ", " and "));
	return job->nr_patterns ? EXIT_OK : ask_for_caches();
}

static const struct option_table options = { .command = COMMAND,
					     .usage = usage,
					     .rows = rows,
					     .notes = notes,
					     .list = list_debug_flags,
					     .set = set_option,
					     .check = check };

/* ---- what there is --------------------------------------------------------------------------- */

/*
 * Debug flags that whole pages cannot have are for caches, unless whole pages are named
 * themselves.
 */
static bool is_for_blocks(const struct debug_job *job, const char *name)
{
	if (!job->debug_flags || !strpbrk(job->debug_flags, "TAta"))
		return true;
	for (unsigned int i = 0; i < job->nr_patterns; i++)
		if (!strcmp(job->pattern[i], name))
			return true;
	return false;
}

bool debug_is_chosen(const struct debug_job *job, const struct snapshot *s,
		     const struct snapshot_cache *c)
{
	if (c->whole_pages && !is_for_blocks(job, c->name))
		return false;
	for (unsigned int i = 0; i < job->nr_patterns; i++)
		if (pattern_matches(s, c, job->pattern[i]))
			return true;
	return false;
}

static int fail_unmatched(const struct debug_job *job, const char *pattern)
{
	const struct snapshot_cache *row = pattern_no_cache(job->before, pattern);
	char why[PATTERN_WHY];

	if (row)
		return util_fail(job->target->command, "%s",
				 pattern_why_not(why, job->before, row));
	return util_fail(job->target->command, "process %d (%s) has no cache '%s'",
			 (int)job->source.pid, job->target->program, pattern);
}

int debug_check_patterns(const struct debug_job *job)
{
	const struct snapshot *s = job->before;

	for (unsigned int i = 0; i < job->nr_patterns; i++) {
		unsigned int k = 0;

		while (k < s->nr_caches && !pattern_matches(s, &s->cache[k], job->pattern[i]))
			k++;
		if (k == s->nr_caches)
			return fail_unmatched(job, job->pattern[i]);
	}
	return EXIT_OK;
}

/* ---- actions --------------------------------------------------------------------------------- */

static bool is_debugged(const struct snapshot_cache *c)
{
	return c->flags & debug_flags_all() || c->sampled || c->debug_slabs;
}

/* Without --cache only caches with debug flags. */
static int show_status(const struct debug_job *job)
{
	const struct snapshot *s = job->before;
	char text[DEBUG_FLAGS_TEXT];
	unsigned int count = 0;

	printf("%-21s %-8s %8s %8s %8s\n", "Name", "Debug flags", "Objects", "Tracked", "Slabs");
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		const struct snapshot_cache *c = &s->cache[i];

		if (!debug_is_chosen(job, s, c) || (!job->named && !is_debugged(c)))
			continue;
		count++;
		printf("%-21s %-8s %8lu %8lu %8lu%s\n", c->name, debug_flags_text(text, c->flags),
		       c->objects, c->tracked, c->debug_slabs, c->sampled ? "  sampled" : "");
	}
	if (!count && job->named)
		return debug_check_patterns(job);
	if (!count)
		util_warn(COMMAND, "no cache of process %d (%s) is checked", (int)job->source.pid,
			  job->target->program);
	return EXIT_OK;
}

double debug_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The command to the process; with the exact name of whole pages if they are meant. */
struct names {
	unsigned int nr;
	const char *pattern[DEBUG_MAX_PATTERNS + 1];
};

static void find_names(const struct debug_job *job, bool blocks, struct names *names)
{
	const struct snapshot_cache *row = &job->before->cache[job->before->blocks_row];

	names->nr = job->nr_patterns;
	memcpy(names->pattern, job->pattern, job->nr_patterns * sizeof(job->pattern[0]));
	if (blocks && row->whole_pages && debug_is_chosen(job, job->before, row))
		names->pattern[names->nr++] = row->name;
}

/*
 * Sends the command once for all patterns, or more than once if they do not fit; *value: sum of the
 * answers.
 */
static int send_all(struct debug_job *job, enum control_command command, uint64_t *value)
{
	struct command_request request = {
		.command = command,
		.argument = job->debug_flags,
		.wait_ms = job->wait_ms,
	};
	int status = debug_check_patterns(job);
	struct control reply;
	struct names names;

	*value = 0;
	find_names(job, command == CONTROL_DEBUG, &names);
	for (unsigned int i = 0; i < names.nr && status == EXIT_OK; i += request.nr_patterns) {
		request.patterns = names.pattern + i;
		request.nr_patterns = command_fits(request.patterns, names.nr - i, false);
		status = command_perform(job->target, job->root, &request, &reply);
		if (status == EXIT_OK)
			*value += reply.value;
	}
	return status;
}

/* Caches with the same result. */
struct change {
	slab_flags_t from, to;
	bool remain;	  /* checked objects */
	const char *name; /* of the first */
	unsigned int count;
};

struct changes {
	unsigned int nr;
	struct change change[SNAPSHOT_MAX_CACHES];
	unsigned int switched, as_before; /* caches */
};

/* With -v each cache is listed by itself. */
static void add_change(struct changes *all, const struct debug_job *job, struct change change)
{
	unsigned int i = job->verbose ? all->nr : 0;

	while (i < all->nr &&
	       (all->change[i].from != change.from || all->change[i].to != change.to ||
		all->change[i].remain != change.remain))
		i++;
	if (i == all->nr)
		all->change[all->nr++] = change;
	all->change[i].count++;
	if (change.from == change.to)
		all->as_before++;
	else
		all->switched++;
}

/*
 * Compares the debug flags of the chosen caches before and now. done: the command was carried out
 * for those without a change, too.
 */
static void find_changes(struct changes *all, const struct debug_job *job, bool done)
{
	const slab_flags_t debug_flags = debug_flags_all();
	const struct snapshot *s = job->before;

	for (unsigned int i = 0; i < s->nr_caches; i++) {
		const struct snapshot_cache *before = &s->cache[i], *after;

		if (!debug_is_chosen(job, s, before))
			continue;
		after = pattern_same(job->after, before);
		if (after && (done || (before->flags ^ after->flags) & debug_flags))
			add_change(all, job,
				   (struct change){
					   .from = before->flags & debug_flags,
					   .to = after->flags & debug_flags,
					   .remain = job->debug_flags[0] == '-' &&
						     after->debug_slabs,
					   .name = before->name,
				   });
	}
}

static void print_change(const struct change *change)
{
	char from[DEBUG_FLAGS_TEXT], to[DEBUG_FLAGS_TEXT], name[SNAPSHOT_NAME_MAX];

	if (change->count == 1)
		snprintf(name, sizeof(name), "%s", change->name);
	else
		snprintf(name, sizeof(name), "%u caches", change->count);
	debug_flags_text(from, change->from);
	debug_flags_text(to, change->to);
	if (change->from == change->to)
		printf("%-21s %s, as before", name, to);
	else
		printf("%-21s %s -> %s", name, from, to);
	puts(change->remain ? "  (checked objects remain)" : "");
}

int debug_again(struct debug_job *job)
{
	return target_snapshot_root(job->target, job->root, job->after);
}

static void print_changes(const struct debug_job *job, const struct changes *all, bool done,
			  double seconds)
{
	for (unsigned int i = 0; i < all->nr; i++)
		print_change(&all->change[i]);
	printf("%u cache%s of process %d (%s) switched", all->switched,
	       all->switched == 1 ? "" : "s", (int)job->source.pid, job->target->program);
	if (!done)
		fputs(", and no more", stdout);
	else if (all->switched)
		printf(" in %.1f ms", seconds * 1000);
	if (all->as_before)
		printf("; %u had the debug flags already", all->as_before);
	putchar('\n');
}

/* Before anything is switched. EXIT_OK or EXIT_FAILED: the process may lack the memory. */
static int check_memory(struct debug_job *job)
{
	struct snapshot *s = job->before;
	struct need need = { .bytes = 0 };
	char how[CONTROL_TEXT + 8];

	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (debug_is_chosen(job, s, &s->cache[i]))
			need_add(&need, s, i,
				 debug_flags_change(job->debug_flags, s->cache[i].flags));
	snprintf(how, sizeof(how), "with %s", job->debug_flags);
	return need_check(
		&need, job->target, s, how,
		"Choose fewer caches with --cache or fewer flags, use uslab track --sample");
}

static int switch_debug_flags(struct debug_job *job)
{
	struct changes *all = calloc(1, sizeof(*all));
	double start = debug_seconds();
	uint64_t value;
	int status;

	if (!all)
		return util_fail(COMMAND, "out of memory");
	status = send_all(job, CONTROL_DEBUG, &value);
	start = debug_seconds() - start;
	/* what was switched before something failed is shown as well, and nothing else then */
	if (debug_again(job) == EXIT_OK) {
		find_changes(all, job, status == EXIT_OK);
		if (status == EXIT_OK || all->nr)
			print_changes(job, all, status == EXIT_OK, start);
	} else {
		status = EXIT_FAILED;
	}
	free(all);
	return status;
}

/*
 * Caches that were validated, and those of them without debug slabs, which never had debug flags.
 */
struct validated {
	uint64_t slabs;
	unsigned int asked, refused;
};

static int validate_some(struct debug_job *job, const char *const *pattern, unsigned int nr,
			 struct validated *sum)
{
	struct command_request request = {
		.command = CONTROL_VALIDATE,
		.patterns = pattern,
		.nr_patterns = nr,
		.wait_ms = job->wait_ms,
	};
	struct control reply;
	int ret = command_send(job->target, job->root, &request, &reply);

	/* of several caches the others are checked all the same, and the result is theirs */
	if (!ret && reply.matched && reply.result == -EINVAL)
		sum->refused += reply.failed;
	else
		ret = command_report(job->target, job->root, &request, ret, &reply);
	if (ret)
		return EXIT_FAILED;
	sum->asked += reply.matched;
	sum->slabs += reply.value;
	return EXIT_OK;
}

static int validate_all(struct debug_job *job, struct validated *sum)
{
	const struct snapshot *s = job->before;
	int status = debug_check_patterns(job);
	struct names names;
	unsigned int nr;

	/* whole pages that never had debug flags do not count as checked */
	find_names(job, is_debugged(&s->cache[s->blocks_row]), &names);
	for (unsigned int i = 0; i < names.nr && status == EXIT_OK; i += nr) {
		nr = command_fits(names.pattern + i, names.nr - i, false);
		status = validate_some(job, names.pattern + i, nr, sum);
	}
	if (status != EXIT_OK)
		return status;
	if (job->named && sum->asked == sum->refused && !sum->slabs)
		return util_fail(COMMAND, "no such cache of process %d (%s) ever had debug flags",
				 (int)job->source.pid, job->target->program);
	if (job->verbose && sum->refused)
		util_warn(COMMAND, "%u of %u caches never had debug flags", sum->refused,
			  sum->asked);
	return debug_again(job);
}

/* Errors that are found are reported by the program; here they are counted. */
static int validate(struct debug_job *job)
{
	struct validated sum = { .slabs = 0 };
	unsigned long reports;
	int status = validate_all(job, &sum);

	if (status != EXIT_OK)
		return status;
	reports = job->after->totals.reports - job->before->totals.reports;
	printf("%llu slabs checked, %lu errors reported by process %d (%s)\n",
	       (unsigned long long)sum.slabs, reports, (int)job->source.pid, job->target->program);
	return reports ? EXIT_FAILED : EXIT_OK;
}

static unsigned long chosen_bytes(const struct debug_job *job, const struct snapshot *s)
{
	unsigned long bytes = 0;

	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (debug_is_chosen(job, s, &s->cache[i]) && !s->cache[i].whole_pages)
			bytes += s->cache[i].slab_bytes;
	return bytes;
}

static int shrink(struct debug_job *job)
{
	char from[UTIL_SIZE_TEXT], to[UTIL_SIZE_TEXT];
	uint64_t value;
	int status = send_all(job, CONTROL_SHRINK, &value);

	if (status == EXIT_OK)
		status = debug_again(job);
	if (status == EXIT_OK)
		printf("slabs of process %d (%s): %s -> %s\n", (int)job->source.pid,
		       job->target->program,
		       util_size(from, sizeof(from), chosen_bytes(job, job->before)),
		       util_size(to, sizeof(to), chosen_bytes(job, job->after)));
	return status;
}

/* The snapshot before, with all caches that patterns may mean. EXIT_OK or EXIT_FAILED. */
static int look(struct debug_job *job)
{
	const struct source_options *source = &job->source;
	int status = target_snapshot(job->target, source->library, job->before, &job->root);
	bool made = false;

	if (status == EXIT_OK && job->action != OPTION_STATUS && job->action != OPTION_PROFILING)
		status = command_prepare(job->target, job->root, job->wait_ms, &made);
	return made && status == EXIT_OK ? target_snapshot_root(job->target, job->root, job->before)
					 : status;
}

static int perform(struct debug_job *job)
{
	int status = look(job);

	if (status != EXIT_OK)
		return status;
	switch (job->action) {
	case OPTION_STATUS:
		return show_status(job);
	case OPTION_VALIDATE:
		return validate(job);
	case OPTION_SHRINK:
		return shrink(job);
	case OPTION_CAPACITY:
		return debug_set_capacity(job);
	case OPTION_PROFILING:
		return debug_switch_profiling(job);
	default:
		status = debug_check_patterns(job);
		if (status == EXIT_OK)
			status = check_memory(job);
		return status == EXIT_OK ? switch_debug_flags(job) : status;
	}
}

int debug_open(struct debug_job *job, const char *command)
{
	int status;

	job->target = calloc(1, sizeof(*job->target));
	job->before = calloc(1, sizeof(*job->before));
	job->after = calloc(1, sizeof(*job->after));
	if (!job->target || !job->before || !job->after)
		return util_fail(command, "out of memory");
	status = target_open(job->target, command, job->source.pid);
	job->is_open = status == EXIT_OK;
	if (job->is_open)
		job->target->force = job->source.force;
	return status;
}

void debug_close(struct debug_job *job)
{
	if (job->is_open)
		target_close(job->target);
	free(job->after);
	free(job->before);
	free(job->target);
}

int cmd_debug(int argc, char **argv)
{
	struct debug_job job = { .source.command = COMMAND };
	int status;

	status = options_take(&options, &job, argc, argv);
	if (status >= 0)
		return status;
	status = debug_open(&job, COMMAND);
	if (status == EXIT_OK)
		status = perform(&job);
	debug_close(&job);
	return util_finish(COMMAND, status);
}
