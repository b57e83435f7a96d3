/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_parse.h - one line of text -> one kernel memory event
 *
 * Understands what tracefs prints and how `trace-cmd report` and `perf script` print the same:
 *
 *     TASK-PID [CPU] FLAGS TIME: EVENT: FIELDS            tracefs, trace-cmd
 *     TASK-PID [CPU] FLAGS TIME: (+N) EVENT: FIELDS       trace-cmd report --ts-diff
 *     NAME: TASK-PID [CPU] FLAGS TIME: EVENT: FIELDS      trace-cmd with several instances
 *     TASK-PID (TGID) [CPU] FLAGS TIME: EVENT: FIELDS     tracefs with the record-tgid option
 *     TASK PID[/TID] [CPU] TIME: [PERIOD] kmem:EVENT: FIELDS    perf script
 *
 * FIELDS are key=value in any order, numbers in decimal or hex, after an optional "(function)".
 * No state, no allocation; nothing in the text is trusted.
 */
#ifndef TOOLS_TRACE_PARSE_H
#define TOOLS_TRACE_PARSE_H

#include "trace/trace_text.h"

enum trace_kind {
	TRACE_KMALLOC,
	TRACE_KMALLOC_NODE,
	TRACE_CACHE_ALLOC,
	TRACE_CACHE_ALLOC_NODE,
	TRACE_KFREE,
	TRACE_CACHE_FREE,
	TRACE_NR_KINDS
};

/* The kernel's name of the event. */
const char *trace_kind_name(enum trace_kind kind);
/* An allocation, not a free? */
bool trace_kind_is_alloc(enum trace_kind kind);
/* By kmalloc() or kfree(), not by kmem_cache_alloc() or kmem_cache_free()? */
bool trace_kind_is_kmalloc(enum trace_kind kind);

enum trace_line {
	TRACE_LINE_EVENT,	/* *event is filled */
	TRACE_LINE_OTHER,	/* an event that is no allocation or free */
	TRACE_LINE_NOTHING,	/* blank, comment, a line of a stack trace, a header of trace-cmd */
	TRACE_LINE_LOST,	/* the tracer says that events are missing here: event->lost */
	TRACE_LINE_OVERWRITTEN, /* tracefs says how many its buffer no longer has: event->lost */
	TRACE_LINE_BAD		/* *error is filled */
};

/* What "accounted=" says: of the flags of the call, or of those of its cache. Since 6.1. */
enum trace_accounted { TRACE_ACCOUNTED_UNSAID, TRACE_ACCOUNTED_NO, TRACE_ACCOUNTED_YES };

struct trace_event {
	enum trace_kind kind;
	unsigned int cpu;
	uint64_t time;	      /* ns: "655.182115" is seconds, a plain "123456" is ns already */
	uint64_t ptr;	      /* 0: the allocation failed, or kfree(NULL) */
	uint64_t bytes_req;   /* allocations only */
	uint64_t bytes_alloc; /* the same; 0: not said */
	unsigned int gfp;     /* <uslab/gfp.h>: only flags that change what an allocator does */
	enum trace_accounted accounted;
	uint64_t lost; /* TRACE_LINE_LOST, _OVERWRITTEN: how many; 0: the tracer does not know */
	struct trace_text name;	    /* of the cache; length 0 where the kernel does not say it */
	struct trace_text instance; /* of trace-cmd; length 0: it names none */
};

struct trace_error {
	size_t column; /* bytes from 1 */
	char expected[160];
	char found[48]; /* the text there, printable, shortened; "" at the end of the line */
};

enum trace_line trace_parse_line(const char *line, size_t length, struct trace_event *event,
				 struct trace_error *error);

#endif /* TOOLS_TRACE_PARSE_H */
