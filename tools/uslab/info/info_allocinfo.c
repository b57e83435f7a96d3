/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_allocinfo.c - --allocinfo: what each call site has allocated and not freed
 *
 * Flow:       called by cmd_info.c; calls allocinfo.c, json_values.c and json-c. In: a process or
 *             core; out: the text of the kernel's /proc/allocinfo, largest first, or JSON.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "info/allocinfo.h"
#include "info/info.h"
#include "json_values.h"
#include "util.h"

static int compare(const void *a, const void *b)
{
	const struct allocinfo_site *x = a;
	const struct allocinfo_site *y = b;
	int order = (x->bytes < y->bytes) - (x->bytes > y->bytes);

	if (!order)
		order = (x->calls < y->calls) - (x->calls > y->calls);
	if (!order)
		order = strcmp(x->file, y->file);
	return order ? order : (x->line > y->line) - (x->line < y->line);
}

static bool is_chosen(const struct info_options *options, const struct allocinfo_site *site)
{
	char text[ALLOCINFO_TEXT];

	if (!options->with_empty && !site->bytes && !site->calls)
		return false;
	allocinfo_text(site, text);
	return !options->pattern || !regexec(options->pattern, text, 0, NULL, 0);
}

/* Leaves those that are shown, the largest first; inverted: the smallest. */
static void choose(struct allocinfo_list *list, const struct info_options *options)
{
	size_t nr = 0;

	for (size_t i = 0; i < list->nr; i++)
		if (is_chosen(options, &list->site[i]))
			list->site[nr++] = list->site[i];
	if (nr)
		qsort(list->site, nr, sizeof(list->site[0]), compare);
	for (size_t i = 0; options->inverted && i < nr / 2; i++) {
		struct allocinfo_site last = list->site[nr - 1 - i];

		list->site[nr - 1 - i] = list->site[i];
		list->site[i] = last;
	}
	list->nr = nr < options->lines ? nr : options->lines;
}

/* What the numbers leave out, and why there may be none. */
static void warn(const struct info_subject *subject, const struct allocinfo *info)
{
	const char *title = subject->source.title;

	if (!info->known)
		util_warn(INFO_COMMAND,
			  "%s has not had allocation profiling on: start it with "
			  "USLAB_CONF=mem_profiling=1 or, unless it was started with "
			  "mem_profiling=never, use uslab debug --mem-profiling 1",
			  title);
	else if (!info->sites)
		util_warn(INFO_COMMAND,
			  "%s has no call site: it is to be compiled with "
			  "-DUSLAB_MEM_ALLOC_PROFILING; uslab track shows lines of any program",
			  title);
	else if (!info->on)
		util_warn(INFO_COMMAND, "profiling of %s is off: these are the numbers of then",
			  title);
	if (info->lost)
		util_warn(INFO_COMMAND, "%llu allocations of %s were not counted",
			  (unsigned long long)info->lost, title);
}

static void warn_none(const struct info_subject *subject, const struct info_options *options)
{
	if (options->pattern)
		util_warn(INFO_COMMAND, "no call site of %s matches", subject->source.title);
	else
		util_warn(INFO_COMMAND, "no call site of %s has allocated anything",
			  subject->source.title);
}

/* ---- JSON ---- */

static struct json_object *site_json(const struct allocinfo_site *site, bool *failed)
{
	struct json_object *object = json_object_new_object();

	json_add(object, "bytes", json_object_new_uint64(site->bytes), failed);
	json_add(object, "calls", json_object_new_uint64(site->calls), failed);
	json_add(object, "file", json_object_new_string(site->file), failed);
	json_add(object, "line", json_object_new_uint64(site->line), failed);
	json_add(object, "function", json_object_new_string(site->function), failed);
	if (site->module[0])
		json_add(object, "module", json_object_new_string(site->module), failed);
	else
		json_add_null(object, "module", failed);
	return object;
}

static int print_json(const struct info_subject *subject, const struct allocinfo_list *list)
{
	struct json_object *top = json_object_new_object();
	struct json_object *sites = json_object_new_array();
	bool failed = false;

	json_add(top, "pid", json_object_new_int((int)subject->source.target.pid), &failed);
	json_add(top, "program", json_object_new_string(subject->source.target.program), &failed);
	json_add(top, "on", json_object_new_boolean(list->info.on), &failed);
	json_add(top, "lost", json_object_new_uint64(list->info.lost), &failed);
	for (size_t i = 0; i < list->nr; i++)
		json_append(sites, site_json(&list->site[i], &failed), &failed);
	json_add(top, "allocinfo", sites, &failed);
	return json_print(stdout, top, JSON_PRETTY, failed)
		       ? util_fail(INFO_COMMAND, "out of memory")
		       : EXIT_OK;
}

int info_print_allocinfo(const struct info *info, struct info_subject *subject)
{
	struct allocinfo_list list;
	int ret = allocinfo_list_take(subject->s, &list);

	if (ret)
		return util_fail(INFO_COMMAND, "%s: cannot read its call sites: %s",
				 subject->source.title, strerror(-ret));
	warn(subject, &list.info);
	choose(&list, &info->options);
	if (list.info.known && list.info.sites && !list.nr)
		warn_none(subject, &info->options);
	if (info->wanted[INFO_JSON]) {
		ret = print_json(subject, &list);
	} else {
		allocinfo_print_head(stdout);
		for (size_t i = 0; i < list.nr; i++)
			allocinfo_print_site(stdout, &list.site[i]);
		ret = EXIT_OK;
	}
	allocinfo_list_free(&list);
	return ret;
}
