/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_load.c - a whole file -> operations: reads, parses, counts, and says what is
 * wrong
 *
 * Flow:       called by replay/cmd_replay.c and compare/compare_trace.c; calls trace_read.c,
 *             trace_parse.c, trace_text.c, trace_ops.c and util.c for progress and warnings. In: a
 *             path; out: struct trace_ops and counts, or one message.
 */
#include "trace/trace_load.h"
#include "trace/trace_read.h"
#include "util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PROGRESS_LINES 4096u /* lines from one look at the clock to the next */
#define EARLY_SHARE 10u	     /* the order is in doubt when one in so many events is early */

static const char *file_name(const struct trace_load *load)
{
	return strcmp(load->path, "-") ? load->path : "standard input";
}

/* The file is wrong there. 0 if that shall only be counted, else -EINVAL. */
__attribute__((format(printf, 3, 4))) static int wrong(struct trace_load *load, uint64_t line,
						       const char *format, ...)
{
	va_list args;
	int n;

	load->bad++;
	if (load->keep_going && load->error[0])
		return 0;
	n = snprintf(load->error, sizeof(load->error), "%.250s:%llu: ", file_name(load),
		     (unsigned long long)line);
	va_start(args, format);
	vsnprintf(load->error + n, sizeof(load->error) - (size_t)n, format, args);
	va_end(args);
	return load->keep_going ? 0 : -EINVAL;
}

static int wrong_text(struct trace_load *load, const struct trace_error *error)
{
	if (error->found[0])
		return wrong(load, load->lines, "column %zu: expected %s, found '%s'",
			     error->column, error->expected, error->found);
	return wrong(load, load->lines, "column %zu: expected %s, found the end of the line",
		     error->column, error->expected);
}

static void note_instance(struct trace_load *load, struct trace_text instance)
{
	char name[TRACE_INSTANCE_NAME];

	if (load->has_instances)
		return;
	trace_copy_text(name, sizeof(name), instance);
	if (!load->events) {
		memcpy(load->instance, name, sizeof(name));
	} else if (strcmp(load->instance, name)) {
		memcpy(load->other_instance, name, sizeof(name));
		load->has_instances = true;
	}
}

static void note_time(struct trace_load *load, uint64_t time)
{
	if (load->latest < time)
		load->latest = time;
	else if (load->latest - time > TRACE_ORDER_NS)
		load->early++;
}

static int add_event(struct trace_load *load, const struct trace_event *event)
{
	int ret = trace_ops_add(&load->ops, event);
	char limit[128];

	note_instance(load, event->instance);
	note_time(load, event->time);
	load->events++;
	if (ret == -E2BIG) {
		trace_ops_limit(&load->ops, event, limit, sizeof(limit));
		return wrong(load, load->lines, "expected %s", limit);
	}
	if (ret)
		snprintf(load->error, sizeof(load->error), "%.250s:%llu: out of memory",
			 file_name(load), (unsigned long long)load->lines);
	return ret;
}

static int on_line(struct trace_load *load, const char *line, size_t length)
{
	struct trace_event event;
	struct trace_error error;

	switch (trace_parse_line(line, length, &event, &error)) {
	case TRACE_LINE_EVENT:
		return add_event(load, &event);
	case TRACE_LINE_OTHER:
		load->ignored++;
		return 0;
	case TRACE_LINE_LOST:
		load->gaps++;
		load->lost += event.lost;
		return 0;
	case TRACE_LINE_OVERWRITTEN:
		/* Further down it is text that a program writes, or of another file. */
		if (!load->events && !load->ignored) {
			load->gaps++;
			load->lost += event.lost;
		}
		return 0;
	case TRACE_LINE_BAD:
		return wrong_text(load, &error);
	case TRACE_LINE_NOTHING:
		break;
	}
	return 0;
}

static void show_progress(struct trace_load *load, const struct trace_reader *reader)
{
	uint64_t done, size;

	if (!load->progress || load->lines % PROGRESS_LINES)
		return;
	trace_read_position(reader, &done, &size);
	if (size)
		progress_show(load->progress, "reading: %u %%, %llu events",
			      (unsigned int)(done * 100 / size), (unsigned long long)load->events);
	else
		progress_show(load->progress, "reading: %llu events",
			      (unsigned long long)load->events);
}

static int read_lines(struct trace_load *load, struct trace_reader *reader)
{
	const char *line;
	size_t length;
	int ret = 0;

	while (!ret && !(load->max_events && load->events == load->max_events)) {
		enum trace_read got = trace_read_line(reader, &line, &length);

		load->lines = trace_read_number(reader);
		switch (got) {
		case TRACE_READ_LINE:
			ret = on_line(load, line, length);
			break;
		case TRACE_READ_LONG:
			ret = wrong(load, load->lines, "expected a line of at most %u bytes",
				    TRACE_LINE_MAX);
			break;
		case TRACE_READ_CUT:
			ret = wrong(load, load->lines,
				    "expected the rest of the line and a newline, found the end of "
				    "the file");
			break;
		case TRACE_READ_ERROR:
			/* It is the line after the last whole one that cannot be read. */
			return wrong(load, load->lines + 1, "%s", trace_read_error(reader));
		case TRACE_READ_END:
			return 0;
		}
		show_progress(load, reader);
	}
	return ret;
}

/*
 * There is nothing to go on with: why, if lines were left out. The end of a file that ends early is
 * the last of these and said, too.
 */
static int no_events(struct trace_load *load, const char *cut)
{
	char left_out[sizeof(load->error) + 320] = "";

	if (load->bad)
		snprintf(left_out, sizeof(left_out), "; lines left out: %llu; the first: %s%s%s",
			 (unsigned long long)load->bad, load->error,
			 cut[0] && load->bad > 1 ? "; " : "", load->bad > 1 ? cut : "");
	load->keep_going = false;
	return wrong(load, load->lines ? load->lines : 1,
		     "expected memory events (kmalloc, kmem_cache_alloc, kfree, kmem_cache_free), "
		     "found none up to here%s",
		     left_out);
}

int trace_load(struct trace_load *load)
{
	struct trace_reader *reader;
	char text[256] = "";
	int ret = trace_ops_init(&load->ops);

	if (ret) {
		snprintf(load->error, sizeof(load->error), "out of memory");
		return ret;
	}
	reader = trace_read_open(load->path, text, sizeof(text));
	if (reader) {
		ret = read_lines(load, reader);
		snprintf(text, sizeof(text), "%s", trace_read_error(reader));
	} else {
		snprintf(load->error, sizeof(load->error), "%.250s:%s", file_name(load), text);
		ret = -EINVAL;
	}
	trace_read_close(reader);
	trace_ops_finish(&load->ops);
	if (!ret && !load->events)
		ret = no_events(load, text);
	if (ret)
		trace_ops_destroy(&load->ops);
	return ret;
}

void trace_load_warn(const struct trace_load *load, const char *command)
{
	bool is_disordered = load->early > load->events / EARLY_SHARE;

	if (load->progress && (load->bad || load->has_instances || is_disordered))
		progress_end(load->progress);
	if (load->bad)
		util_warn(command, "lines left out: %llu; the first: %s",
			  (unsigned long long)load->bad, load->error);
	if (load->has_instances)
		util_warn(command,
			  "%.250s: events of several instances or files ('%s', '%s'): what more "
			  "than one has counts more than once; grep can choose one",
			  file_name(load), load->instance, load->other_instance);
	if (is_disordered)
		util_warn(
			command,
			"%.250s: %llu of %llu memory events are earlier than one before them: are "
			"the lines in the order of time?",
			file_name(load), (unsigned long long)load->early,
			(unsigned long long)load->events);
}
