/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_load.h - a whole file -> operations: reads, parses, counts, and says what is
 * wrong
 */
#ifndef TOOLS_TRACE_LOAD_H
#define TOOLS_TRACE_LOAD_H

#include "trace/trace_ops.h"

struct progress;

#define TRACE_INSTANCE_NAME 64 /* bytes with the NUL; longer names are cut */

/* The clocks of two CPUs may differ a little: what is out of order by less is not counted. */
#define TRACE_ORDER_NS 1000000u

struct trace_load {
	/* parameters */
	const char *path;	   /* "-": standard input */
	uint64_t max_events;	   /* stop after so many memory events; 0: all */
	bool keep_going;	   /* count lines that are wrong instead of giving up */
	struct progress *progress; /* or NULL */

	/* results */
	struct trace_ops ops;
	uint64_t lines;
	uint64_t events;  /* memory events */
	uint64_t ignored; /* other events */
	uint64_t lost;	  /* events that the tracer says are missing */
	uint64_t gaps;	  /* places where it says so */
	uint64_t bad;	  /* with keep_going: lines left out */
	uint64_t early;	  /* memory events more than TRACE_ORDER_NS before an earlier one */
	uint64_t latest;  /* time of a memory event */
	/* Of the first memory event, and of the first one with another; "": it names none. */
	char instance[TRACE_INSTANCE_NAME];
	char other_instance[TRACE_INSTANCE_NAME];
	bool has_instances; /* there is another one */
	char error[1024];   /* "FILE:LINE: expected ..."; with keep_going: the first one, or "" */
};

/*
 * Reads the trace. 0; -EINVAL: load->error says what is wrong with the file; -errno for the rest,
 * said there as well. On success the caller calls trace_ops_destroy(&load->ops) in the end.
 */
int trace_load(struct trace_load *load);

/* Says on stderr what is doubtful about a trace that was read. */
void trace_load_warn(const struct trace_load *load, const char *command);

#endif /* TOOLS_TRACE_LOAD_H */
