/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_head.c - what stands before the event: task, CPU and time
 *
 * Flow:       called by trace_parse.c; calls trace_text.c. In: a line; out: struct trace_head.
 *
 * Every '[' may be that of "[CPU]": try_head() looks at what is on both sides of it.
 */
#include "trace/trace_head.h"

#define COMM_MAX 15	  /* bytes of a task's name in the kernel's own text */
#define COMM_MAX_PERF 63  /* perf prints long names of kernel threads */
#define HEADER_REACH 200u /* no '[' of "[CPU]" lies further right than this */
#define FLAGS_MAX 16	  /* "d..2." and the like between CPU and time */
#define FLAGS_KERNEL 5u	  /* of kernels today, of which only the last two may be digits */
#define CPU_DIGITS_MAX 5
#define TASK_WIDTH 16u /* columns that trace-cmd has for the task's name */

/* Cuts off the digits that it ends with; false: there is none. */
static bool take_digits(struct trace_text *t)
{
	size_t length = t->length;

	for (; text_is_digit(text_last(*t)); t->length--)
		;
	return t->length < length;
}

/*
 * "NAME: " before the columns of the task, where trace-cmd reports several instances or files.
 * Names of tasks are shorter than their columns, so that none can look like that.
 */
static struct trace_text instance_of(struct trace_text before_hyphen)
{
	struct trace_text t = before_hyphen;

	if (t.length <= TASK_WIDTH)
		return (struct trace_text){ t.start, 0 };
	t.length -= TASK_WIDTH;
	t = text_skip_spaces(text_trim_end(t));
	if (text_last(t) != ':')
		return (struct trace_text){ t.start, 0 };
	t.length--;
	return t;
}

/* "TASK-PID ", "TASK-PID (TGID) ", "TASK PID/TID ": TASK may be empty before a hyphen. false: none
 * of them. */
static bool find_task(struct trace_text t, struct trace_head *head)
{
	struct trace_text before = text_trim_end(t);
	char last;

	if (before.length == t.length)
		return false; /* no space */
	if (text_last(before) == ')') {
		while (before.length && before.start[--before.length] != '(')
			;
		before = text_trim_end(before);
	}
	last = take_digits(&before) ? text_last(before) : '\0';
	if (last == '/') {
		before.length--;
		last = take_digits(&before) ? text_last(before) : '\0';
	}
	if (last != '-' && !text_is_space(last))
		return false;
	before.length--;
	head->task = text_skip_spaces(text_trim_end(before)).length;
	head->instance = (struct trace_text){ before.start, 0 };
	if (last == '-')
		head->instance = instance_of(before);
	return head->task || last == '-';
}

/* "655.182115:" or "123456:": the length with the colon, else 0. */
static size_t time_length(struct trace_text t)
{
	size_t n = text_span(t, text_is_digit);

	if (n && n < t.length && t.start[n] == '.') {
		size_t fraction = text_span(text_skip(t, n + 1), text_is_digit);

		if (!fraction)
			return 0;
		n += 1 + fraction;
	}
	return n && n < t.length && t.start[n] == ':' ? n + 1 : 0;
}

/* Nanoseconds of such a time. What does not fit 64 bits wraps: nobody's order depends on it. */
static uint64_t time_value(struct trace_text t)
{
	uint64_t value = 0;
	unsigned int decimals = 0;
	bool fraction = false;

	for (; t.start[0] != ':'; t = text_skip(t, 1)) {
		if (t.start[0] == '.') {
			fraction = true;
		} else if (decimals < 9) {
			value = value * 10 + (unsigned int)(t.start[0] - '0');
			decimals += fraction;
		}
	}
	for (; fraction && decimals < 9; decimals++)
		value *= 10;
	return value;
}

/*
 * What is behind the flags: "d..2.  655.182115:", or without a blank "d..2.222397463955043:", where
 * only their number says where they end. It may be no time.
 */
static struct trace_text skip_flags(struct trace_text t)
{
	struct trace_text flags = text_token(t);

	if (flags.length > FLAGS_KERNEL && !text_is_digit(t.start[FLAGS_KERNEL - 3]) &&
	    time_length(text_skip(t, FLAGS_KERNEL)))
		return text_skip(t, FLAGS_KERNEL);
	if (flags.length > FLAGS_MAX)
		return t;
	return text_skip_spaces(text_skip(t, flags.length));
}

/* Is the '[' at line[at] that of "[CPU]" of a header? */
static bool try_head(struct trace_text line, size_t at, struct trace_head *head)
{
	struct trace_text t = text_skip(line, at + 1);
	size_t digits = text_span(t, text_is_digit);
	uint64_t number;
	size_t length;

	if (digits == 0 || digits > CPU_DIGITS_MAX || digits + 1 >= t.length ||
	    t.start[digits] != ']')
		return false;
	/* trace-cmd has no room for a blank before a long time: "[000]222397463955043:". */
	if (!text_is_space(t.start[digits + 1]) && !text_is_digit(t.start[digits + 1]))
		return false;
	if (!text_digits((struct trace_text){ t.start, digits }, 10, &number))
		return false;
	if (!find_task((struct trace_text){ line.start, at }, head))
		return false;
	t = text_skip_spaces(text_skip(t, digits + 1));
	length = time_length(t);
	if (!length) {
		t = skip_flags(t);
		length = time_length(t);
	}
	if (!length)
		return false;
	head->cpu = (unsigned int)number;
	head->time = time_value(t);
	head->rest = text_skip_spaces(text_skip(t, length));
	return true;
}

/*
 * A task may have a name that looks like a header itself. In the kernel's text a name has at most
 * 15 bytes, so of all possible headers the last one with so short a name is the true one; text
 * further right (that of trace_marker) would make the name longer. Only perf prints longer names.
 */
bool trace_head_find(struct trace_text line, struct trace_head *head)
{
	struct trace_text reach = { line.start,
				    line.length < HEADER_REACH ? line.length : HEADER_REACH };
	bool found = false;

	for (size_t at = 0; at < reach.length; at++) {
		const char *bracket = memchr(line.start + at, '[', reach.length - at);
		struct trace_head candidate;

		if (!bracket)
			break;
		at = (size_t)(bracket - line.start);
		if (!try_head(line, at, &candidate) || candidate.task > COMM_MAX_PERF)
			continue;
		if (candidate.task > COMM_MAX && found)
			continue;
		*head = candidate;
		found = true;
	}
	return found;
}
