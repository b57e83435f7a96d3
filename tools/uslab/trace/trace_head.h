/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_head.h - what stands before the event: task, CPU and time
 */
#ifndef TOOLS_TRACE_HEAD_H
#define TOOLS_TRACE_HEAD_H

#include "trace/trace_text.h"

struct trace_head {
	size_t task;		    /* length of the task's name, with that of the instance */
	struct trace_text instance; /* "NAME: " of trace-cmd before the task; length 0: none */
	unsigned int cpu;
	uint64_t time;		/* ns, as in struct trace_event */
	struct trace_text rest; /* the event: what is behind the time */
};

/* false: the line does not begin as an event does. */
bool trace_head_find(struct trace_text line, struct trace_head *head);

#endif /* TOOLS_TRACE_HEAD_H */
