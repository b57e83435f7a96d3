/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_parse.c - one line of text -> one kernel memory event
 *
 * Data:       three constant tables.
 * Flow:       called by trace_load.c, and for kinds and names by trace_ops.c and
 *             replay/replay_report.c; calls trace_head.c and trace_text.c.
 *             In: one line; out: struct trace_event, or what is wrong at which column.
 *
 * Three tables say everything: the events with the fields that they must have, the fields with
 * their readers, and the gfp flags that matter. A line is read left to right: the part before the
 * event (trace_head_find), the event's name (find_event), the fields (parse_fields).
 */
#include "trace/trace_parse.h"
#include "trace/trace_head.h"

#include <stdio.h>
#include <string.h>
#include <uslab/gfp.h>

static enum trace_line bad(struct trace_error *error, const char *line, struct trace_text at,
			   const char *expected)
{
	error->column = (size_t)(at.start - line) + 1;
	snprintf(error->expected, sizeof(error->expected), "%s", expected);
	trace_copy_text(error->found, sizeof(error->found), at);
	return TRACE_LINE_BAD;
}

/* ---- numbers ---- */

/* "4096" or "0x1000". */
static bool parse_number(struct trace_text t, uint64_t *value)
{
	if (text_starts_with(t, "0x"))
		return text_digits(text_skip(t, 2), 16, value);
	return text_digits(t, 10, value);
}

/*
 * The value of a number field is one token; tracefs with the "fields" option repeats it in another
 * base, in brackets: "bytes_req=0x168 (360)". Old kernels print NULL as "  (null)".
 */
static bool single_token(struct trace_text value, struct trace_text *token)
{
	struct trace_text rest;

	*token = text_token(value);
	rest = text_skip_spaces(text_skip(value, token->length));
	return !rest.length || (rest.start[0] == '(' && rest.start[rest.length - 1] == ')');
}

/* ---- fields ---- */

static bool field_text(struct trace_text value, struct trace_event *event)
{
	(void)event;
	return value.length > 0;
}

static bool field_name(struct trace_text value, struct trace_event *event)
{
	event->name = value;
	return value.length > 0;
}

static bool field_ptr(struct trace_text value, struct trace_event *event)
{
	struct trace_text token;

	if (!single_token(value, &token))
		return false;
	if (text_equals(token, "(null)") || text_equals(token, "(nil)")) {
		event->ptr = 0;
		return true;
	}
	if (text_starts_with(token, "0x"))
		token = text_skip(token, 2);
	return text_digits(token, 16, &event->ptr);
}

static bool field_bytes_req(struct trace_text value, struct trace_event *event)
{
	struct trace_text token;

	return single_token(value, &token) && parse_number(token, &event->bytes_req);
}

static bool field_bytes_alloc(struct trace_text value, struct trace_event *event)
{
	struct trace_text token;

	return single_token(value, &token) && parse_number(token, &event->bytes_alloc);
}

/* Tracers that do not know the format print 0 or 1. */
static bool field_accounted(struct trace_text value, struct trace_event *event)
{
	if (text_equals(value, "true") || text_equals(value, "1"))
		event->accounted = TRACE_ACCOUNTED_YES;
	else if (text_equals(value, "false") || text_equals(value, "0"))
		event->accounted = TRACE_ACCOUNTED_NO;
	return value.length > 0;
}

/*
 * Names in use since 2.6.31, with and without the underscores. All others only say how hard the
 * kernel may try, which means nothing to an allocator in user space.
 */
static const struct {
	const char *name;
	unsigned int bits;
} gfp_names[] = {
	{ "__GFP_ZERO", __GFP_ZERO },
	{ "GFP_ZERO", __GFP_ZERO },
	{ "__GFP_DMA", __GFP_DMA },
	{ "GFP_DMA", __GFP_DMA },
	{ "__GFP_RECLAIMABLE", __GFP_RECLAIMABLE },
	{ "GFP_RECLAIMABLE", __GFP_RECLAIMABLE },
	{ "GFP_TEMPORARY", __GFP_RECLAIMABLE },
	{ "__GFP_ACCOUNT", __GFP_ACCOUNT },
	{ "GFP_ACCOUNT", __GFP_ACCOUNT },
	{ "GFP_KERNEL_ACCOUNT", __GFP_ACCOUNT },
};

#define GFP_RELEVANT (__GFP_ZERO | __GFP_DMA | __GFP_RECLAIMABLE | __GFP_ACCOUNT)

/* One flag: a name, or a number where the tracer knows no name (values of Linux 6.1). */
static bool gfp_flag(struct trace_text flag, unsigned int *gfp)
{
	uint64_t bits;

	if (flag.length && text_is_digit(flag.start[0])) {
		if (!parse_number(flag, &bits))
			return false;
		*gfp |= (unsigned int)bits & GFP_RELEVANT;
		return true;
	}
	for (size_t i = 0; i < sizeof(gfp_names) / sizeof(gfp_names[0]); i++)
		if (text_equals(flag, gfp_names[i].name))
			*gfp |= gfp_names[i].bits;
	return flag.length && text_span(flag, text_is_word) == flag.length;
}

static bool field_gfp(struct trace_text value, struct trace_event *event)
{
	struct trace_text token;

	if (!single_token(value, &token))
		return false;
	for (;;) {
		const char *bar = memchr(token.start, '|', token.length);
		size_t length = bar ? (size_t)(bar - token.start) : token.length;

		if (!gfp_flag((struct trace_text){ token.start, length }, &event->gfp))
			return false;
		if (!bar)
			return true;
		token = text_skip(token, length + 1);
	}
}

enum field {
	FIELD_CALL_SITE,
	FIELD_PTR,
	FIELD_BYTES_REQ,
	FIELD_BYTES_ALLOC,
	FIELD_GFP_FLAGS,
	FIELD_NODE,
	FIELD_ACCOUNTED,
	FIELD_NAME,
	NR_FIELDS
};

static const struct {
	const char *key;
	bool (*parse)(struct trace_text value, struct trace_event *event);
	const char *expected;
} fields[NR_FIELDS] = {
	[FIELD_CALL_SITE] = { "call_site", field_text, "a call site after 'call_site='" },
	[FIELD_PTR] = { "ptr", field_ptr, "a pointer in hex after 'ptr='" },
	[FIELD_BYTES_REQ] = { "bytes_req", field_bytes_req, "a number after 'bytes_req='" },
	[FIELD_BYTES_ALLOC] = { "bytes_alloc", field_bytes_alloc, "a number after 'bytes_alloc='" },
	[FIELD_GFP_FLAGS] = { "gfp_flags", field_gfp, "flags joined by '|' after 'gfp_flags='" },
	[FIELD_NODE] = { "node", field_text, "a node after 'node='" },
	[FIELD_ACCOUNTED] = { "accounted", field_accounted, "true or false after 'accounted='" },
	[FIELD_NAME] = { "name", field_name, "a cache's name after 'name='" },
};

/* ---- events ---- */

#define NEEDS(f) (1u << FIELD_##f)
#define NEEDS_FREE (NEEDS(CALL_SITE) | NEEDS(PTR))
#define NEEDS_ALLOC (NEEDS_FREE | NEEDS(BYTES_REQ) | NEEDS(BYTES_ALLOC) | NEEDS(GFP_FLAGS))

static const struct {
	const char *name;
	unsigned int needs; /* fields that every kernel prints; the others came and went */
	bool is_alloc;
	bool is_kmalloc;
} events[TRACE_NR_KINDS] = {
	[TRACE_KMALLOC] = { "kmalloc", NEEDS_ALLOC, true, true },
	[TRACE_KMALLOC_NODE] = { "kmalloc_node", NEEDS_ALLOC, true, true },
	[TRACE_CACHE_ALLOC] = { "kmem_cache_alloc", NEEDS_ALLOC, true, false },
	[TRACE_CACHE_ALLOC_NODE] = { "kmem_cache_alloc_node", NEEDS_ALLOC, true, false },
	[TRACE_KFREE] = { "kfree", NEEDS_FREE, false, true },
	[TRACE_CACHE_FREE] = { "kmem_cache_free", NEEDS_FREE, false, false },
};

const char *trace_kind_name(enum trace_kind kind)
{
	return events[kind].name;
}

bool trace_kind_is_alloc(enum trace_kind kind)
{
	return events[kind].is_alloc;
}

bool trace_kind_is_kmalloc(enum trace_kind kind)
{
	return events[kind].is_kmalloc;
}

/* Length of "key" when t begins with "key=", else 0. */
static size_t key_length(struct trace_text t)
{
	size_t n = text_span(t, text_is_word);

	return n && n < t.length && t.start[n] == '=' && !text_is_digit(t.start[0]) ? n : 0;
}

/* Everything up to the next " key=": symbols, "[module]" and names may hold blanks. */
static struct trace_text field_value(struct trace_text t)
{
	size_t n = text_token(t).length;

	while (n < t.length) {
		struct trace_text next = text_skip_spaces(text_skip(t, n));

		if (!next.length || key_length(next))
			break;
		n = (size_t)(next.start - t.start) + text_token(next).length;
	}
	t.length = n;
	return text_skip_spaces(text_trim_end(t));
}

/* What some tracers print before the fields: "(function+0x1)", "[FAILED TO PARSE]". */
static struct trace_text skip_preface(struct trace_text t)
{
	t = text_skip_spaces(t);
	while (t.length && (t.start[0] == '(' || t.start[0] == '[')) {
		const char *end = memchr(t.start, t.start[0] == '(' ? ')' : ']', t.length);

		if (!end)
			break;
		t = text_skip_spaces(text_skip(t, (size_t)(end + 1 - t.start)));
	}
	return t;
}

static enum trace_line missing(const char *line, struct trace_text at, enum trace_kind kind,
			       unsigned int absent, struct trace_error *error)
{
	char text[sizeof(error->expected)];

	snprintf(text, sizeof(text), "field '%s=' of event %s", fields[__builtin_ctz(absent)].key,
		 events[kind].name);
	return bad(error, line, at, text);
}

static enum trace_line parse_fields(const char *line, struct trace_text t,
				    struct trace_event *event, struct trace_error *error)
{
	unsigned int needs = events[event->kind].needs;
	unsigned int seen = 0;

	for (t = skip_preface(t); t.length; t = text_skip_spaces(t)) {
		size_t key = key_length(t);
		struct trace_text value;
		size_t f = 0;

		if (!key)
			return bad(error, line, t, "a field 'key=value'");
		value = field_value(text_skip(t, key + 1));
		while (f < NR_FIELDS &&
		       !text_equals((struct trace_text){ t.start, key }, fields[f].key))
			f++;
		if (f < NR_FIELDS) {
			if (seen & 1u << f)
				return bad(error, line, t, "each field once");
			if (!fields[f].parse(value, event))
				return bad(error, line, value, fields[f].expected);
			seen |= 1u << f;
		}
		/* A field of a newer kernel is skipped. */
		t = text_skip(t, (size_t)(value.start + value.length - t.start));
	}
	if (needs & ~seen)
		return missing(line, t, event->kind, needs & ~seen, error);
	return TRACE_LINE_EVENT;
}

/* ---- lines that are no events ---- */

/* "CPU:1 [LOST 123 EVENTS]" (tracefs), "CPU:1 [123 EVENTS DROPPED]" (trace-cmd). */
static bool is_lost(struct trace_text t, uint64_t *lost)
{
	struct trace_text inside;
	bool is_lost = false;

	if (!text_starts_with(t, "CPU:"))
		return false;
	inside = text_skip(t, 4);
	inside = text_skip_spaces(text_skip(inside, text_span(inside, text_is_digit)));
	if (inside.length < 2 || inside.start[0] != '[' || inside.start[inside.length - 1] != ']')
		return false;
	inside = text_skip(inside, 1);
	inside.length--;
	*lost = 0;
	while (inside.length) {
		struct trace_text word = text_token(inside);

		if (text_equals(word, "LOST") || text_equals(word, "DROPPED"))
			is_lost = true;
		else if (!text_equals(word, "EVENTS") && !text_digits(word, 10, lost))
			return false;
		inside = text_skip_spaces(text_skip(inside, word.length));
	}
	return is_lost;
}

/* "PERF_RECORD_LOST lost 34", behind a header or alone (perf script --show-lost-events). */
static bool is_lost_record(struct trace_text t, uint64_t *lost)
{
	if (!text_starts_with(t, "PERF_RECORD_LOST"))
		return false;
	t = text_skip_spaces(text_skip(t, text_token(t).length));
	return text_starts_with(t, "lost ") &&
	       text_digits(text_token(text_skip_spaces(text_skip(t, strlen("lost ")))), 10, lost);
}

/* tracefs: "# entries-in-buffer/entries-written: 113678/167591   #P:2". */
static bool is_overwritten(struct trace_text t, uint64_t *lost)
{
	static const char start[] = "# entries-in-buffer/entries-written: ";
	struct trace_text there;
	uint64_t left, written;

	if (!text_starts_with(t, start))
		return false;
	t = text_token(text_skip_spaces(text_skip(t, strlen(start))));
	there = (struct trace_text){ t.start, text_span(t, text_is_digit) };
	if (there.length == t.length || t.start[there.length] != '/' ||
	    !text_digits(there, 10, &left) ||
	    !text_digits(text_skip(t, there.length + 1), 10, &written))
		return false;
	*lost = written - left;
	return written > left;
}

/* "=> function" (tracefs) or "  ffffffff8782660d function+0x1 (file)" (perf). */
static bool is_stack(struct trace_text line, struct trace_text t)
{
	size_t n = 0;

	if (text_starts_with(t, "=> "))
		return true;
	while (n < t.length && text_hex_digit(t.start[n]) >= 0)
		n++;
	return t.start != line.start && n && n < t.length && text_is_space(t.start[n]) &&
	       t.start[t.length - 1] == ')';
}

/* What trace-cmd prints first: "cpus=2", "version = 6", "CPU 1 is empty". */
static bool is_preamble(struct trace_text t)
{
	uint64_t number;

	if (text_starts_with(t, "cpus="))
		return text_digits(text_skip(t, strlen("cpus=")), 10, &number);
	if (text_starts_with(t, "version = "))
		return text_digits(text_skip(t, strlen("version = ")), 10, &number);
	return text_starts_with(t, "CPU ") && t.length > 9 &&
	       !memcmp(t.start + t.length - 9, " is empty", 9);
}

/* The period that perf script -F +period prints before the event: "1 kmem:kmalloc:". */
static struct trace_text skip_period(struct trace_text t)
{
	size_t digits = text_span(t, text_is_digit);

	if (!digits || digits == t.length || !text_is_space(t.start[digits]))
		return t;
	return text_skip_spaces(text_skip(t, digits));
}

/* The time since the line before that trace-cmd report --ts-diff prints: "(+4) kmalloc:". */
static struct trace_text skip_difference(struct trace_text t)
{
	size_t length = text_token(t).length;

	return text_starts_with(t, "(+") && t.start[length - 1] == ')'
		       ? text_skip_spaces(text_skip(t, length))
		       : t;
}

/* The event's name, without "kmem:"; *t moves behind its colon. length 0: no "name:". */
static struct trace_text event_name(struct trace_text *t)
{
	struct trace_text name = { t->start, text_span(*t, text_is_word) };

	if (name.length == t->length || t->start[name.length] != ':')
		return (struct trace_text){ t->start, 0 };
	*t = text_skip(*t, name.length + 1);
	if (text_equals(name, "kmem")) {
		struct trace_text second = { t->start, text_span(*t, text_is_word) };

		if (second.length && second.length < t->length && t->start[second.length] == ':') {
			*t = text_skip(*t, second.length + 1);
			return second;
		}
	}
	return name;
}

enum trace_line trace_parse_line(const char *line, size_t length, struct trace_event *event,
				 struct trace_error *error)
{
	struct trace_text whole = { line, length };
	struct trace_head head = { 0 };
	struct trace_text rest;
	struct trace_text name;

	if (whole.length && line[whole.length - 1] == '\r')
		whole.length--;
	whole = text_trim_end(whole);
	*event = (struct trace_event){ 0 };
	/* Tracers indent the task's name, so that one with a '#' stands further right. */
	if (whole.length && line[0] == '#')
		return is_overwritten(whole, &event->lost) ? TRACE_LINE_OVERWRITTEN
							   : TRACE_LINE_NOTHING;
	if (!trace_head_find(whole, &head)) {
		rest = text_skip_spaces(whole);
		if (!rest.length || is_stack(whole, rest) || is_preamble(rest))
			return TRACE_LINE_NOTHING;
		if (is_lost(rest, &event->lost) || is_lost_record(rest, &event->lost))
			return TRACE_LINE_LOST;
		return bad(error, line, rest,
			   "an event of the kernel's: 'TASK-PID [CPU] TIME: EVENT: FIELDS'");
	}
	event->cpu = head.cpu;
	event->time = head.time;
	event->instance = head.instance;
	rest = head.rest;
	if (!rest.length)
		return bad(error, line, rest, "an event after the time");
	if (text_equals(rest, "<stack trace>") || text_equals(rest, "<user stack trace>"))
		return TRACE_LINE_NOTHING;
	if (is_lost_record(rest, &event->lost))
		return TRACE_LINE_LOST;
	rest = skip_period(skip_difference(rest));
	name = event_name(&rest);
	for (int kind = 0; kind < TRACE_NR_KINDS; kind++) {
		if (!text_equals(name, events[kind].name))
			continue;
		event->kind = kind;
		return parse_fields(line, rest, event, error);
	}
	return TRACE_LINE_OTHER;
}
