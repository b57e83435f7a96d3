/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_change.c - validate, shrink and debug caches: by commands to a process, by files
 * in a tree
 *
 * Flow:       called by cmd_info.c; calls info_rows.c, pattern.c for rows that are no caches,
 *             command/need.c and command_messages.c for a process and process/tree.c for a tree.
 *             In: the rows that were chosen; out: one command or one written file for each.
 *
 * A process switches debugging on caches that are in use. A tree's caches must be empty, as the
 * kernel's were when its files could be written (spec 8.9).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "command/debug_flags.h"
#include "command/need.h"
#include "info/info.h"
#include "pattern.h"
#include "process/tree.h"
#include "util.h"

/* ---- a process ------------------------------------------------------------------------------- */

/* A pattern that only this name fits. false: too long. */
static bool quote(char *to, size_t size, const char *name)
{
	size_t n = 0;

	for (; *name; name++) {
		if (n + 3 > size)
			return false;
		if (strchr("*?[\\", *name))
			to[n++] = '\\';
		to[n++] = *name;
	}
	to[n] = '\0';
	return true;
}

/* Is there anything to do for this cache? Then *request says what. */
static bool prepare(const struct info *info, const struct snapshot_cache *c, char *argument,
		    struct command_request *request)
{
	slab_flags_t now = c->flags & DEBUG_SLAB_FLAGS;

	switch (info->mode) {
	case INFO_VALIDATE: /* elsewhere there is nothing to check: so says the kernel, too */
		request->command = CONTROL_VALIDATE;
		return now || c->debug_slabs;
	case INFO_SHRINK:
		request->command = CONTROL_SHRINK;
		return true;
	default:
		request->command = CONTROL_DEBUG;
		/* A: allocations that are made to fail are no matter of -d, and stay */
		debug_flags_text(argument, info->debug | (c->flags & SLAB_FAILSLAB));
		return now != info->debug;
	}
}

/*
 * An idle process is not waited for where that cannot change what is done: debug flags that no
 * cache has are to be off, or the pattern means rows that are no caches.
 */
static bool may_mean_unused(const struct info *info, struct info_subject *subject)
{
	struct info_options options = info->options;

	options.only_caches = false;
	if (!subject->nr_rows)
		return !info_rows(subject->s, &options, subject->rows);
	for (unsigned int i = 0; i < subject->nr_rows; i++)
		if (subject->rows[i].cache->flags & DEBUG_SLAB_FLAGS)
			return true;
	return info->debug != 0;
}

/* Of malloc's caches also those that are not used yet, which have debug flags from then on. */
static int find_unused(const struct info *info, struct info_subject *subject)
{
	struct source *source = &subject->source;
	bool made = false;
	int status = EXIT_OK;

	if (may_mean_unused(info, subject))
		status = command_prepare(&source->target, source->root, 0, &made);
	if (status == EXIT_OK && made)
		status = source_snapshot(source, subject->s);
	if (status == EXIT_OK && made)
		subject->nr_rows = info_rows(subject->s, &info->options, subject->rows);
	return status;
}

/* Is the change for this row? Tracing whole pages is refused, and so only asked for by name. */
static bool is_for(const struct info *info, const struct info_subject *subject,
		   const struct snapshot_cache *c)
{
	char why[PATTERN_WHY];

	if (*pattern_why_not(why, subject->s, c))
		return false;
	return c->id || subject->nr_rows == 1 || info->mode != INFO_DEBUG ||
	       !(info->debug & SLAB_TRACE);
}

/* None of the rows is one that can be changed: says why. */
static int fail_unchanged(const struct info *info, struct info_subject *subject)
{
	struct info_options options = info->options;
	const struct snapshot_cache *c;
	char why[PATTERN_WHY];

	options.only_caches = false;
	subject->nr_rows = info_rows(subject->s, &options, subject->rows);
	if (info_warn_unmatched(info, subject))
		return EXIT_FAILED;
	if (!subject->nr_rows)
		return EXIT_OK;
	c = subject->rows[0].cache;
	if (*pattern_why_not(why, subject->s, c))
		return util_fail(INFO_COMMAND, "%s", why);
	return util_fail(INFO_COMMAND, "%s are blocks of whole pages, which have no slabs",
			 c->name);
}

/* Debug flags only. EXIT_OK or EXIT_FAILED: the process may lack the memory. */
static int check_memory(const struct info *info, struct info_subject *subject)
{
	struct snapshot *s = subject->s;
	struct need need = { .bytes = 0 };
	char flags[DEBUG_FLAGS_TEXT], how[DEBUG_FLAGS_TEXT + 8];

	for (unsigned int i = 0; i < subject->nr_rows; i++) {
		const struct snapshot_cache *c = subject->rows[i].cache;

		if (is_for(info, subject, c))
			need_add(&need, s, (unsigned int)(c - s->cache), info->debug);
	}
	snprintf(how, sizeof(how), "with %s", debug_flags_text(flags, info->debug));
	return need_check(&need, &subject->source.target, s, how,
			  "Choose fewer caches (REGEX) or fewer flags, use uslab track --sample");
}

static int change_process(const struct info *info, struct info_subject *subject)
{
	struct source *source = &subject->source;
	char pattern[CONTROL_TEXT];
	char argument[CONTROL_TEXT] = "";
	unsigned int able = 0, sent = 0;

	for (unsigned int i = 0; i < subject->nr_rows; i++) {
		const struct snapshot_cache *c = subject->rows[i].cache;
		struct command_request request = {
			.pattern = pattern,
			.argument = argument,
		};
		struct control reply;
		int status;

		if (!is_for(info, subject, c))
			continue;
		able++;
		if (!prepare(info, c, argument, &request))
			continue;
		if (!quote(pattern, sizeof(pattern), c->name))
			return util_fail(INFO_COMMAND, "the name %s is too long for a command",
					 c->name);
		status = command_perform(&source->target, source->root, &request, &reply);
		if (status != EXIT_OK)
			return status;
		if (info->mode == INFO_VALIDATE)
			printf("%s: %lu slab%s checked\n", subject->rows[i].name,
			       (unsigned long)reply.value, reply.value == 1 ? "" : "s");
		sent++;
	}
	if (!able)
		return fail_unchanged(info, subject);
	if (!sent && info->mode == INFO_VALIDATE)
		util_warn(INFO_COMMAND,
			  "none of these caches has checked objects (-dfzpu makes them)");
	return EXIT_OK;
}

/* The process prints what is wrong; that it did must be known here. */
static int validate_process(const struct info *info, struct info_subject *subject)
{
	unsigned long before = subject->s->totals.reports;
	int status = change_process(info, subject);

	if (status == EXIT_OK)
		status = source_snapshot(&subject->source, subject->s);
	if (status == EXIT_OK && subject->s->totals.reports != before)
		return util_fail(INFO_COMMAND,
				 "%s has reported %lu errors: see what it printed, or its log",
				 subject->source.title, subject->s->totals.reports - before);
	return status;
}

/* ---- a tree ---------------------------------------------------------------------------------- */

struct attribute {
	slab_flags_t flag;
	const char *file;
	const char *name; /* in messages */
};

static const struct attribute attributes[] = {
	{ SLAB_CONSISTENCY_CHECKS, "sanity_checks", "sanity checks" },
	{ SLAB_RED_ZONE, "red_zone", "redzoning" },
	{ SLAB_POISON, "poison", "poisoning" },
	{ SLAB_STORE_USER, "store_user", "tracking" },
	{ SLAB_TRACE, "trace", "tracing" },
};

static int write_file(const struct info_subject *subject, const struct info_row *row,
		      const char *file, const char *text)
{
	int ret = tree_write(subject->source.tree, row->cache, file, text);

	return ret ? util_fail(INFO_COMMAND, "Cannot write to %s/%s: %s", row->name, file,
			       strerror(-ret))
		   : EXIT_OK;
}

/* All but tracing, and checks that begin (spec 8.9). */
static bool needs_empty(const struct attribute *a, bool on)
{
	return a->flag != SLAB_TRACE && (a->flag != SLAB_CONSISTENCY_CHECKS || !on);
}

/* May this change be made now? Says why not. */
static bool may_switch(const struct info_subject *subject, const struct info_row *row,
		       const struct attribute *a, bool on)
{
	if (a->flag == SLAB_TRACE && on && subject->nr_rows != 1) {
		util_fail(INFO_COMMAND, "%s can only enable trace for one slab at a time",
			  row->name);
		return false;
	}
	if (!needs_empty(a, on) || !row->cache->objects)
		return true;
	util_fail(INFO_COMMAND, "%s not empty cannot %s %s", row->name, on ? "enable" : "disable",
		  a->name);
	return false;
}

/* Like slabinfo goes on after what is not allowed, and ends where a file cannot be written. */
static int debug_folder(const struct info *info, const struct info_subject *subject,
			const struct info_row *row, bool *refused)
{
	const struct snapshot_cache *c = row->cache;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		const struct attribute *a = &attributes[i];
		bool on = (info->debug & a->flag) != 0;
		int status;

		if (on == ((c->flags & a->flag) != 0))
			continue;
		if (!may_switch(subject, row, a, on)) {
			*refused = true;
			continue;
		}
		/* a cache is only empty without its empty slabs */
		if (needs_empty(a, on) && c->slabs)
			tree_write(subject->source.tree, c, "shrink", "1\n");
		status = write_file(subject, row, a->file, on ? "1\n" : "0\n");
		if (status != EXIT_OK)
			return status;
	}
	return EXIT_OK;
}

/* -EINVAL: validate of a cache that is not debugged. slabinfo says nothing, either. */
static int trigger(const struct info_subject *subject, const struct info_row *row, const char *file)
{
	int ret = tree_write(subject->source.tree, row->cache, file, "1\n");

	return !ret || ret == -EINVAL ? EXIT_OK
				      : util_fail(INFO_COMMAND, "Cannot write to %s/%s: %s",
						  row->name, file, strerror(-ret));
}

static int change_tree(const struct info *info, const struct info_subject *subject)
{
	bool refused = info_warn_unmatched(info, subject);

	for (unsigned int i = 0; i < subject->nr_rows; i++) {
		const struct info_row *row = &subject->rows[i];
		int status;

		if (info->mode == INFO_DEBUG)
			status = debug_folder(info, subject, row, &refused);
		else
			status = trigger(subject, row,
					 info->mode == INFO_SHRINK ? "shrink" : "validate");
		if (status != EXIT_OK)
			return status;
	}
	return refused ? EXIT_FAILED : EXIT_OK;
}

int info_change(const struct info *info, struct info_subject *subject)
{
	int status = EXIT_OK;

	switch (subject->source.options.kind) {
	case SOURCE_CORE:
		return util_fail(INFO_COMMAND,
				 "%s is a core file: nothing can be changed in it, only looked at",
				 subject->source.options.core);
	case SOURCE_TREE:
		return change_tree(info, subject);
	case SOURCE_PROCESS:
		break;
	}
	if (info->mode == INFO_VALIDATE)
		return validate_process(info, subject);
	if (info->mode == INFO_DEBUG)
		status = find_unused(info, subject);
	if (status == EXIT_OK && info->mode == INFO_DEBUG)
		status = check_memory(info, subject);
	return status == EXIT_OK ? change_process(info, subject) : status;
}
