/* SPDX-License-Identifier: MIT */
/*
 * uslab/replay/replay_report.h - what a replay found, as text or as JSON with the same numbers
 */
#ifndef TOOLS_REPLAY_REPORT_H
#define TOOLS_REPLAY_REPORT_H

#include "replay/replay_run.h"
#include "trace/trace_load.h"

struct replay_report {
	const struct trace_load *load;
	const struct replay *replay;
	bool nomerge;
	bool stats; /* event counters of each cache too */
};

/* On stdout. 0 or -ENOMEM. */
int replay_print_text(const struct replay_report *report);
int replay_print_json(const struct replay_report *report);

#endif /* TOOLS_REPLAY_REPORT_H */
