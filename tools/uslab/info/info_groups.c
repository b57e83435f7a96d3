/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_groups.c - --groups: what is charged to each accounting group; and as metrics
 *
 * Flow:       called by cmd_info.c, and for metrics by info_metrics.c; calls groups.c,
 *             json_values.c and json-c. In: a process or core; out: a table, the groups below
 *             another behind it, or JSON, or metrics.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "info/groups.h"
#include "info/info.h"
#include "json_values.h"
#include "util.h"

#define NO_LIMIT UINT64_MAX
#define INDENT 2
#define MAX_DEPTH 2   /* deeper ones stand no further to the right */
#define NAME_WIDTH 24 /* at least */

/* ---- which groups ---- */

struct line {
	const struct groups_group *group;
	unsigned int depth; /* groups that it is below, in the order of the tree */
};

struct table {
	const struct groups_list *list;
	const struct info_options *options;
	struct line *line; /* room for as many as there are groups */
	size_t nr;
};

static void add_line(struct table *table, const struct groups_group *group, unsigned int depth)
{
	const regex_t *pattern = table->options->pattern;

	if (table->nr < table->list->nr && (!pattern || !regexec(pattern, group->name, 0, NULL, 0)))
		table->line[table->nr++] = (struct line){ .group = group, .depth = depth };
}

/* Those right below that number, each with what is below it; a circle ends at the depth. */
static void add_below(struct table *table, uint32_t parent, unsigned int depth)
{
	const struct groups_list *list = table->list;

	for (size_t i = 0; i < list->nr && depth < list->nr; i++) {
		const struct groups_group *group = &list->group[i];

		if (group->parent != parent)
			continue;
		add_line(table, group, depth);
		if (group->groups)
			add_below(table, group->id, depth + 1);
	}
}

/* Largest first, equal ones by number; all of it the other way round when inverted. */
static int compare_lines(const void *a, const void *b, void *arg)
{
	const struct info_options *options = arg;
	const struct groups_group *x = ((const struct line *)a)->group;
	const struct groups_group *y = ((const struct line *)b)->group;
	bool first = x->usage == y->usage ? x->id < y->id : x->usage > y->usage;

	return first != options->inverted ? -1 : 1;
}

/* By size, or as a tree, or by number. line: nr 0; freed by the caller. false: out of memory. */
static bool make_table(struct table *table, bool tree)
{
	const struct groups_list *list = table->list;
	bool sorted = table->options->order == INFO_BY_SIZE;

	table->line = calloc(list->nr + 1, sizeof(*table->line));
	if (!table->line)
		return false;
	if (tree && !sorted)
		add_below(table, 0, 0);
	else
		for (size_t i = 0; i < list->nr; i++)
			add_line(table, &list->group[i], 0);
	if (sorted)
		qsort_r(table->line, table->nr, sizeof(*table->line), compare_lines,
			(void *)table->options);
	return true;
}

static size_t lines_shown(const struct table *table)
{
	return table->options->lines < table->nr ? table->options->lines : table->nr;
}

/* ---- the table ---- */

static void print_bytes(uint64_t bytes)
{
	if (bytes == NO_LIMIT)
		printf(" %14s", "-");
	else
		printf(" %14llu", (unsigned long long)bytes);
}

/* The name of a line, below those that the group is below. */
static int group_text(char *buf, size_t size, const struct groups_group *group, unsigned int depth)
{
	int indent = (int)(depth < MAX_DEPTH ? depth : MAX_DEPTH) * INDENT;

	return snprintf(buf, size, "%*s%s%s", indent, "", group->name,
			group->dying ? " (gone)" : "");
}

static void print_line(const struct line *line, int width)
{
	const struct groups_group *group = line->group;
	char name[GROUPS_NAME + MAX_DEPTH * INDENT];

	group_text(name, sizeof(name), group, line->depth);
	printf("%5u %-*s", group->id, width, name);
	print_bytes(group->usage);
	print_bytes(group->limit);
	print_bytes(group->peak);
	printf(" %8llu %8llu %8u\n", (unsigned long long)group->met,
	       (unsigned long long)group->failed, group->threads);
}

/* The column of names gets as wide as the longest. */
static void print_table(const struct table *table)
{
	size_t nr = lines_shown(table);
	int width = NAME_WIDTH;

	for (size_t i = 0; i < nr; i++) {
		int wide = group_text(NULL, 0, table->line[i].group, table->line[i].depth);

		width = wide > width ? wide : width;
	}
	printf("%5s %-*s %14s %14s %14s %8s %8s %8s\n", "Id", width, "Group", "Usage", "Limit",
	       "Peak", "Met", "Failed", "Threads");
	for (size_t i = 0; i < nr; i++)
		print_line(&table->line[i], width);
}

/* ---- JSON ---- */

static void add_limit(struct json_object *object, uint64_t limit, bool *failed)
{
	if (limit == NO_LIMIT)
		json_add_null(object, "limit", failed);
	else
		json_add(object, "limit", json_object_new_uint64(limit), failed);
}

static struct json_object *group_json(const struct groups_group *group, bool *failed)
{
	struct json_object *object = json_object_new_object();

	json_add(object, "id", json_object_new_uint64(group->id), failed);
	json_add(object, "name", json_object_new_string(group->name), failed);
	if (group->parent)
		json_add(object, "parent", json_object_new_uint64(group->parent), failed);
	else
		json_add_null(object, "parent", failed);
	json_add(object, "usage", json_object_new_uint64(group->usage), failed);
	add_limit(object, group->limit, failed);
	json_add(object, "peak", json_object_new_uint64(group->peak), failed);
	json_add(object, "met", json_object_new_uint64(group->met), failed);
	json_add(object, "failed", json_object_new_uint64(group->failed), failed);
	json_add(object, "threads", json_object_new_uint64(group->threads), failed);
	json_add(object, "destroyed", json_object_new_boolean(group->dying), failed);
	return object;
}

static int print_json(const struct info_subject *subject, const struct table *table)
{
	struct json_object *top = json_object_new_object();
	struct json_object *groups = json_object_new_array();
	size_t nr = lines_shown(table);
	bool failed = false;

	json_add(top, "pid", json_object_new_int((int)subject->source.target.pid), &failed);
	json_add(top, "program", json_object_new_string(subject->source.target.program), &failed);
	for (size_t i = 0; i < nr; i++)
		json_append(groups, group_json(table->line[i].group, &failed), &failed);
	json_add(top, "groups", groups, &failed);
	return json_print(stdout, top, JSON_PRETTY, failed)
		       ? util_fail(INFO_COMMAND, "out of memory")
		       : EXIT_OK;
}

static void warn_none(const struct info_subject *subject, bool any)
{
	if (any)
		util_warn(INFO_COMMAND, "no group of %s matches", subject->source.title);
	else
		util_warn(INFO_COMMAND, "%s has no groups: uslab_group_create() makes them",
			  subject->source.title);
}

static int print_groups(const struct info *info, const struct info_subject *subject,
			const struct groups_list *list)
{
	struct table table = { .list = list, .options = &info->options };
	int status = EXIT_OK;

	if (!make_table(&table, !info->wanted[INFO_JSON]))
		return util_fail(INFO_COMMAND, "out of memory");
	if (info->wanted[INFO_JSON])
		status = print_json(subject, &table);
	else
		print_table(&table);
	if (!table.nr && status == EXIT_OK)
		warn_none(subject, list->nr);
	free(table.line);
	return status;
}

int info_print_groups(const struct info *info, struct info_subject *subject)
{
	struct groups_list list;
	int ret = groups_list_take(subject->s, &list);
	int status;

	if (ret)
		return util_fail(INFO_COMMAND, "%s: cannot read its groups: %s",
				 subject->source.title, strerror(-ret));
	status = print_groups(info, subject, &list);
	groups_list_free(&list);
	return status;
}

/* ---- metrics ---- */

/* M(name, kind, unit, help, value): g is the group. */
#define GROUP_METRICS(M)                                                                           \
	M("uslab_group_usage_bytes", "gauge", "bytes", "Charged to the group and those below it.", \
	  g->usage)                                                                                \
	M("uslab_group_peak_bytes", "gauge", "bytes", "The most that this was.", g->peak)          \
	M("uslab_group_limit_bytes", "gauge", "bytes", "Its limit, if it has one.", g->limit)      \
	M("uslab_group_met_total", "counter", "", "Charges that met the limit.", g->met)           \
	M("uslab_group_failed_total", "counter", "", "Allocations that failed at the limit.",      \
	  g->failed)                                                                               \
	M("uslab_group_threads", "gauge", "", "Threads that are in the group.",                    \
	  (uint64_t)g->threads)

static void print_labels(const struct groups_group *group)
{
	printf(",group=\"%u\",", group->id);
	info_print_label("name", group->name);
	if (group->dying)
		fputs(",destroyed=\"true\"", stdout);
}

static void print_metrics(const struct info_subject *subjects, const struct groups_list *lists,
			  unsigned int count, bool prometheus)
{
#define METRIC(metric, kind, unit, help, value)                                              \
	{                                                                                    \
		struct info_family family = { metric, kind, unit, help, prometheus, false }; \
                                                                                             \
		for (unsigned int i = 0; i < count; i++)                                     \
			for (size_t j = 0; j < lists[i].nr; j++) {                           \
				const struct groups_group *g = &lists[i].group[j];           \
                                                                                             \
				if ((value) == NO_LIMIT)                                     \
					continue;                                            \
				info_begin_sample(&family, &subjects[i]);                    \
				print_labels(g);                                             \
				printf("} %llu\n", (unsigned long long)(value));             \
			}                                                                    \
	}
	GROUP_METRICS(METRIC)
#undef METRIC
}

void info_print_group_metrics(const struct info_subject *subjects, unsigned int count,
			      bool prometheus)
{
	struct groups_list *lists = calloc(count, sizeof(*lists));

	for (unsigned int i = 0; lists && i < count; i++)
		if (subjects[i].open && groups_list_take(subjects[i].s, &lists[i]))
			lists[i].nr = 0;
	if (lists)
		print_metrics(subjects, lists, count, prometheus);
	for (unsigned int i = 0; lists && i < count; i++)
		groups_list_free(&lists[i]);
	free(lists);
}
