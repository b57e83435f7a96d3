/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_library.c - libuslab_inspect: `uslab info --json` as a function
 *
 * Data:       none: all of it belongs to the call, so that threads need no lock.
 * Flow:       called by programs; calls process/source.c, info_rows.c, info_memory.c, info_json.c,
 *             and util.c, which collects messages meanwhile. In: whose caches; out: texts.
 *
 * Why:        docs/adr/0053.
 */
#include <stdlib.h>
#include <string.h>

#include "info/info.h"
#include "util.h"

#include <uslab/inspect.h>

static int source_options(struct source_options *options, const struct uslab_inspect_source *source)
{
	*options = (struct source_options){
		.command = INFO_COMMAND,
		.pid = source->pid,
		.core = source->core,
		.program = source->program,
		.sysroot = source->sysroot,
	};
	options->library = source->library;
	if (!!source->pid + !!source->core + !!source->tree != 1)
		return util_fail(INFO_COMMAND, "one of a process, a core file and a tree");
	if (source->pid < 0)
		return util_fail(INFO_COMMAND, "'%d' is no process id", source->pid);
	if (source->core)
		options->kind = SOURCE_CORE;
	if (source->tree) {
		options->kind = SOURCE_TREE;
		options->tree = *source->tree ? source->tree : NULL;
	}
	return EXIT_OK;
}

/* All caches, as the command's JSON has them. */
static int print_snapshot(FILE *out, struct info_subject *subject)
{
	const struct info_options all = { .with_empty = true, .lines = SNAPSHOT_MAX_CACHES };
	int status = source_snapshot(&subject->source, subject->s);

	if (status != EXIT_OK)
		return status;
	subject->nr_rows = info_rows(subject->s, &all, subject->rows);
	status = info_take_memory(subject);
	if (status != EXIT_OK)
		return status;
	return info_print_json(out, subject, 1, NULL) ? util_fail(INFO_COMMAND, "out of memory")
						      : EXIT_OK;
}

static int print_source(FILE *out, const struct uslab_inspect_source *source)
{
	struct info_subject subject = { .s = calloc(1, sizeof(*subject.s)),
					.rows = calloc(SNAPSHOT_MAX_CACHES,
						       sizeof(*subject.rows)) };
	struct source_options options;
	int status = source_options(&options, source);

	if (status == EXIT_OK && (!subject.s || !subject.rows))
		status = util_fail(INFO_COMMAND, "out of memory");
	if (status == EXIT_OK)
		status = source_open(&subject.source, &options);
	if (status == EXIT_OK) {
		status = print_snapshot(out, &subject);
		source_close(&subject.source);
	}
	free(subject.s);
	free(subject.rows);
	free(subject.resident);
	return status;
}

/* What was written to a stream in memory, which is closed; NULL: nothing, or out of memory. */
static char *take_text(FILE *stream, char **text, size_t *size)
{
	if (!stream)
		return NULL;
	if (!fclose(stream) && *size)
		return *text;
	free(*text);
	return NULL;
}

USLAB_API char *uslab_inspect_json(const struct uslab_inspect_source *source, char **messages)
{
	char *said = NULL, *text = NULL;
	size_t said_size = 0, size = 0;
	FILE *said_to = open_memstream(&said, &said_size);
	FILE *out = open_memstream(&text, &size);
	int status = EXIT_FAILED;

	if (said_to && out) {
		util_collect(said_to);
		status = print_source(out, source);
		util_collect(NULL);
	}
	said = take_text(said_to, &said, &said_size);
	text = take_text(out, &text, &size);
	if (messages)
		*messages = said;
	else
		free(said);
	if (status == EXIT_OK)
		return text;
	free(text);
	return NULL;
}
