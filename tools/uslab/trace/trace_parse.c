/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_parse.c - one line of text -> one kernel memory event
 *
 * Data:       three constant tables.
 * Flow:       called by trace_load.c, and for kinds and names by trace_ops.c and
 *             replay/replay_report.c.
 *             In: one line; out: struct trace_event, or what is wrong at which column.
 *
 * Three tables say everything: the events with the fields that they must have, the fields with
 * their readers, and the gfp flags that matter. A line is read left to right: the part before the
 * event (find_header), the event's name (find_event), the fields (parse_fields).
 */
#include "trace/trace_parse.h"

#include <stdio.h>
#include <string.h>
#include <uslab/gfp.h>

#define COMM_MAX 15	  /* bytes of a task's name in the kernel's own text */
#define COMM_MAX_PERF 63  /* perf prints long names of kernel threads */
#define HEADER_REACH 200u /* no '[' of "[CPU]" lies further right than this */
#define FLAGS_MAX 16	  /* "d..2." and the like between CPU and time */
#define CPU_DIGITS_MAX 5

/* ---- text: a cursor over the line ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static struct trace_text skip(struct trace_text t, size_t bytes)
{
	return (struct trace_text){ t.start + bytes, t.length - bytes };
}

static struct trace_text skip_spaces(struct trace_text t)
{
	while (t.length && is_space(*t.start))
		t = skip(t, 1);
	return t;
}

/* 0: there is none. */
static char last_of(struct trace_text t)
{
	return t.length ? t.start[t.length - 1] : '\0';
}

static struct trace_text trim_end(struct trace_text t)
{
	for (; is_space(last_of(t)); t.length--)
		;
	return t;
}

static size_t span(struct trace_text t, bool (*is)(char c))
{
	size_t n = 0;

	while (n < t.length && is(t.start[n]))
		n++;
	return n;
}

/* Up to the next blank. */
static struct trace_text first_token(struct trace_text t)
{
	size_t n = 0;

	while (n < t.length && !is_space(t.start[n]))
		n++;
	t.length = n;
	return t;
}

static bool equals(struct trace_text t, const char *word)
{
	return t.length == strlen(word) && !memcmp(t.start, word, t.length);
}

static bool starts_with(struct trace_text t, const char *word)
{
	return t.length >= strlen(word) && !memcmp(t.start, word, strlen(word));
}

void trace_copy_text(char *buf, size_t size, struct trace_text text)
{
	size_t n = text.length < size - 1 ? text.length : size - 1;

	for (size_t i = 0; i < n; i++)
		buf[i] = text.start[i] >= ' ' && text.start[i] <= '~' ? text.start[i] : '?';
	buf[n] = '\0';
}

static enum trace_line bad(struct trace_error *error, const char *line, struct trace_text at,
			   const char *expected)
{
	error->column = (size_t)(at.start - line) + 1;
	snprintf(error->expected, sizeof(error->expected), "%s", expected);
	trace_copy_text(error->found, sizeof(error->found), at);
	return TRACE_LINE_BAD;
}

/* ---- numbers ---- */

/* The whole of t, in base 10 or 16; false for anything else, or more than 64 bits. */
static bool parse_digits(struct trace_text t, unsigned int base, uint64_t *value)
{
	uint64_t sum = 0;

	if (!t.length)
		return false;
	for (size_t i = 0; i < t.length; i++) {
		int digit = hex_digit(t.start[i]);

		if (digit < 0 || digit >= (int)base)
			return false;
		if (__builtin_mul_overflow(sum, base, &sum) ||
		    __builtin_add_overflow(sum, (unsigned int)digit, &sum))
			return false;
	}
	*value = sum;
	return true;
}

/* "4096" or "0x1000". */
static bool parse_number(struct trace_text t, uint64_t *value)
{
	if (starts_with(t, "0x"))
		return parse_digits(skip(t, 2), 16, value);
	return parse_digits(t, 10, value);
}

/*
 * The value of a number field is one token; tracefs with the "fields" option repeats it in another
 * base, in brackets: "bytes_req=0x168 (360)". Old kernels print NULL as "  (null)".
 */
static bool single_token(struct trace_text value, struct trace_text *token)
{
	struct trace_text rest;

	*token = first_token(value);
	rest = skip_spaces(skip(value, token->length));
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
	if (equals(token, "(null)") || equals(token, "(nil)")) {
		event->ptr = 0;
		return true;
	}
	if (starts_with(token, "0x"))
		token = skip(token, 2);
	return parse_digits(token, 16, &event->ptr);
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
	if (equals(value, "true") || equals(value, "1"))
		event->accounted = TRACE_ACCOUNTED_YES;
	else if (equals(value, "false") || equals(value, "0"))
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

	if (flag.length && is_digit(flag.start[0])) {
		if (!parse_number(flag, &bits))
			return false;
		*gfp |= (unsigned int)bits & GFP_RELEVANT;
		return true;
	}
	for (size_t i = 0; i < sizeof(gfp_names) / sizeof(gfp_names[0]); i++)
		if (equals(flag, gfp_names[i].name))
			*gfp |= gfp_names[i].bits;
	return flag.length && span(flag, is_word) == flag.length;
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
		token = skip(token, length + 1);
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
	size_t n = span(t, is_word);

	return n && n < t.length && t.start[n] == '=' && !is_digit(t.start[0]) ? n : 0;
}

/* Everything up to the next " key=": symbols, "[module]" and names may hold blanks. */
static struct trace_text field_value(struct trace_text t)
{
	size_t n = first_token(t).length;

	while (n < t.length) {
		struct trace_text next = skip_spaces(skip(t, n));

		if (!next.length || key_length(next))
			break;
		n = (size_t)(next.start - t.start) + first_token(next).length;
	}
	t.length = n;
	return skip_spaces(trim_end(t));
}

/* What some tracers print before the fields: "(function+0x1)", "[FAILED TO PARSE]". */
static struct trace_text skip_preface(struct trace_text t)
{
	t = skip_spaces(t);
	while (t.length && (t.start[0] == '(' || t.start[0] == '[')) {
		const char *end = memchr(t.start, t.start[0] == '(' ? ')' : ']', t.length);

		if (!end)
			break;
		t = skip_spaces(skip(t, (size_t)(end + 1 - t.start)));
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

	for (t = skip_preface(t); t.length; t = skip_spaces(t)) {
		size_t key = key_length(t);
		struct trace_text value;
		size_t f = 0;

		if (!key)
			return bad(error, line, t, "a field 'key=value'");
		value = field_value(skip(t, key + 1));
		while (f < NR_FIELDS && !equals((struct trace_text){ t.start, key }, fields[f].key))
			f++;
		if (f < NR_FIELDS) {
			if (seen & 1u << f)
				return bad(error, line, t, "each field once");
			if (!fields[f].parse(value, event))
				return bad(error, line, value, fields[f].expected);
			seen |= 1u << f;
		}
		/* A field of a newer kernel is skipped. */
		t = skip(t, (size_t)(value.start + value.length - t.start));
	}
	if (needs & ~seen)
		return missing(line, t, event->kind, needs & ~seen, error);
	return TRACE_LINE_EVENT;
}

/* ---- what stands before the event ---- */

/* Cuts off the digits that it ends with; false: there is none. */
static bool take_digits(struct trace_text *t)
{
	size_t length = t->length;

	for (; is_digit(last_of(*t)); t->length--)
		;
	return t->length < length;
}

/* "TASK-PID ", "TASK-PID (TGID) ", "TASK PID/TID ": the length of TASK, which may be empty before
 * a hyphen. false: none of them. */
static bool task_length(struct trace_text t, size_t *length)
{
	struct trace_text before = trim_end(t);
	char last;

	if (before.length == t.length)
		return false; /* no space */
	if (last_of(before) == ')') {
		while (before.length && before.start[--before.length] != '(')
			;
		before = trim_end(before);
	}
	last = take_digits(&before) ? last_of(before) : '\0';
	if (last == '/') {
		before.length--;
		last = take_digits(&before) ? last_of(before) : '\0';
	}
	if (last != '-' && !is_space(last))
		return false;
	before.length--;
	*length = skip_spaces(trim_end(before)).length;
	return *length || last == '-';
}

/* "655.182115:" or "123456:": the length with the colon, else 0. */
static size_t time_length(struct trace_text t)
{
	size_t n = span(t, is_digit);

	if (n && n < t.length && t.start[n] == '.') {
		size_t fraction = span(skip(t, n + 1), is_digit);

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

	for (; t.start[0] != ':'; t = skip(t, 1)) {
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

/* What stands before the event. */
struct header {
	size_t task; /* length of the task's name */
	unsigned int cpu;
	uint64_t time;
	struct trace_text rest; /* behind it */
};

/* Is the '[' at line[at] that of "[CPU]" of a header? */
static bool try_header(struct trace_text line, size_t at, struct header *header)
{
	struct trace_text t = skip(line, at + 1);
	size_t digits = span(t, is_digit);
	uint64_t number;
	size_t length;

	if (digits == 0 || digits > CPU_DIGITS_MAX || digits + 1 >= t.length ||
	    t.start[digits] != ']' || !is_space(t.start[digits + 1]))
		return false;
	if (!parse_digits((struct trace_text){ t.start, digits }, 10, &number))
		return false;
	if (!task_length((struct trace_text){ line.start, at }, &header->task))
		return false;
	t = skip_spaces(skip(t, digits + 1));
	length = time_length(t);
	if (!length) { /* flags first */
		size_t flags = first_token(t).length;

		if (flags > FLAGS_MAX)
			return false;
		t = skip_spaces(skip(t, flags));
		length = time_length(t);
	}
	if (!length)
		return false;
	header->cpu = (unsigned int)number;
	header->time = time_value(t);
	header->rest = skip_spaces(skip(t, length));
	return true;
}

/*
 * A task may have a name that looks like a header itself. In the kernel's text a name has at most
 * 15 bytes, so of all possible headers the last one with so short a name is the true one; text
 * further right (that of trace_marker) would make the name longer. Only perf prints longer names.
 */
static bool find_header(struct trace_text line, struct header *header)
{
	struct trace_text reach = { line.start,
				    line.length < HEADER_REACH ? line.length : HEADER_REACH };
	bool found = false;

	for (size_t at = 0; at < reach.length; at++) {
		const char *bracket = memchr(line.start + at, '[', reach.length - at);
		struct header candidate;

		if (!bracket)
			break;
		at = (size_t)(bracket - line.start);
		if (!try_header(line, at, &candidate) || candidate.task > COMM_MAX_PERF)
			continue;
		if (candidate.task > COMM_MAX && found)
			continue;
		*header = candidate;
		found = true;
	}
	return found;
}

/* ---- lines that are no events ---- */

/* "CPU:1 [LOST 123 EVENTS]" (tracefs), "CPU:1 [123 EVENTS DROPPED]" (trace-cmd). */
static bool is_lost(struct trace_text t, uint64_t *lost)
{
	struct trace_text inside;
	bool is_lost = false;

	if (!starts_with(t, "CPU:"))
		return false;
	inside = skip(t, 4);
	inside = skip_spaces(skip(inside, span(inside, is_digit)));
	if (inside.length < 2 || inside.start[0] != '[' || inside.start[inside.length - 1] != ']')
		return false;
	inside = skip(inside, 1);
	inside.length--;
	*lost = 0;
	while (inside.length) {
		struct trace_text word = first_token(inside);

		if (equals(word, "LOST") || equals(word, "DROPPED"))
			is_lost = true;
		else if (!equals(word, "EVENTS") && !parse_digits(word, 10, lost))
			return false;
		inside = skip_spaces(skip(inside, word.length));
	}
	return is_lost;
}

/* "PERF_RECORD_LOST lost 34", behind a header or alone (perf script --show-lost-events). */
static bool is_lost_record(struct trace_text t, uint64_t *lost)
{
	if (!starts_with(t, "PERF_RECORD_LOST"))
		return false;
	t = skip_spaces(skip(t, first_token(t).length));
	return starts_with(t, "lost ") &&
	       parse_digits(first_token(skip_spaces(skip(t, strlen("lost ")))), 10, lost);
}

/* "=> function" (tracefs) or "  ffffffff8782660d function+0x1 (file)" (perf). */
static bool is_stack(struct trace_text line, struct trace_text t)
{
	size_t n = 0;

	if (starts_with(t, "=> "))
		return true;
	while (n < t.length && hex_digit(t.start[n]) >= 0)
		n++;
	return t.start != line.start && n && n < t.length && is_space(t.start[n]) &&
	       t.start[t.length - 1] == ')';
}

/* What trace-cmd prints first: "cpus=2", "version = 6", "CPU 1 is empty". */
static bool is_preamble(struct trace_text t)
{
	uint64_t number;

	if (starts_with(t, "cpus="))
		return parse_digits(skip(t, strlen("cpus=")), 10, &number);
	if (starts_with(t, "version = "))
		return parse_digits(skip(t, strlen("version = ")), 10, &number);
	return starts_with(t, "CPU ") && t.length > 9 &&
	       !memcmp(t.start + t.length - 9, " is empty", 9);
}

/* The period that perf script -F +period prints before the event: "1 kmem:kmalloc:". */
static struct trace_text skip_period(struct trace_text t)
{
	size_t digits = span(t, is_digit);

	if (!digits || digits == t.length || !is_space(t.start[digits]))
		return t;
	return skip_spaces(skip(t, digits));
}

/* The event's name, without "kmem:"; *t moves behind its colon. length 0: no "name:". */
static struct trace_text event_name(struct trace_text *t)
{
	struct trace_text name = { t->start, span(*t, is_word) };

	if (name.length == t->length || t->start[name.length] != ':')
		return (struct trace_text){ t->start, 0 };
	*t = skip(*t, name.length + 1);
	if (equals(name, "kmem")) {
		struct trace_text second = { t->start, span(*t, is_word) };

		if (second.length && second.length < t->length && t->start[second.length] == ':') {
			*t = skip(*t, second.length + 1);
			return second;
		}
	}
	return name;
}

enum trace_line trace_parse_line(const char *line, size_t length, struct trace_event *event,
				 struct trace_error *error)
{
	struct trace_text whole = { line, length };
	struct header header = { 0 };
	struct trace_text rest;
	struct trace_text name;

	if (whole.length && line[whole.length - 1] == '\r')
		whole.length--;
	whole = trim_end(whole);
	*event = (struct trace_event){ 0 };
	/* Tracers indent the task's name, so that one with a '#' stands further right. */
	if (whole.length && line[0] == '#')
		return TRACE_LINE_NOTHING;
	if (!find_header(whole, &header)) {
		rest = skip_spaces(whole);
		if (!rest.length || is_stack(whole, rest) || is_preamble(rest))
			return TRACE_LINE_NOTHING;
		if (is_lost(rest, &event->lost) || is_lost_record(rest, &event->lost))
			return TRACE_LINE_LOST;
		return bad(error, line, rest,
			   "an event of the kernel's: 'TASK-PID [CPU] TIME: EVENT: FIELDS'");
	}
	event->cpu = header.cpu;
	event->time = header.time;
	rest = header.rest;
	if (!rest.length)
		return bad(error, line, rest, "an event after the time");
	if (equals(rest, "<stack trace>") || equals(rest, "<user stack trace>"))
		return TRACE_LINE_NOTHING;
	if (is_lost_record(rest, &event->lost))
		return TRACE_LINE_LOST;
	rest = skip_period(rest);
	name = event_name(&rest);
	for (int kind = 0; kind < TRACE_NR_KINDS; kind++) {
		if (!equals(name, events[kind].name))
			continue;
		event->kind = kind;
		return parse_fields(line, rest, event, error);
	}
	return TRACE_LINE_OTHER;
}
