/* SPDX-License-Identifier: MIT */
/*
 * uslab/replay/replay_run.h - performs the operations of a trace and measures each of them
 */
#ifndef TOOLS_REPLAY_RUN_H
#define TOOLS_REPLAY_RUN_H

#include "replay/replay_stage.h"

struct progress;
struct snapshot;

#define REPLAY_MAX_ROUNDS 999u

struct replay_options {
	const char *engine; /* NULL: the library's default */
	const char *front;
	enum replay_touch touch;
	unsigned int rounds; /* 1..REPLAY_MAX_ROUNDS */
	bool spread;	     /* copies of the trace load all CPUs of a made-up topology */
	bool free_at_end;
	struct progress *progress; /* or NULL */
};

/* Nanoseconds of single operations, the clock's own cost taken off. */
struct replay_times {
	uint64_t count;
	double median;
	double p99;
	double p99_9;
	double max;
};

/* One round, or the median of each number over all rounds. */
struct replay_result {
	struct replay_times time[REPLAY_NR_VERBS];
	double seconds;	    /* of the round: clock and touching included */
	uint64_t slab_peak; /* bytes, looked at after every allocation */
	uint64_t slab_end;
	uint64_t large_peak; /* bytes of kmallocs too large for a cache */
	uint64_t large_end;
	uint64_t slab_freed;	/* with free_at_end: bytes of slabs after that */
	uint64_t out_of_memory; /* allocations that this machine could not serve */
	uint64_t live;		/* objects at the end, by our own count */
	uint64_t live_library;	/* and by the library's; the same, or the replay has failed */
	uint64_t live_freed;	/* by the library's count, after free_at_end */
};

struct replay {
	/* given */
	const struct trace_ops *trace;
	struct replay_options options;

	/* result */
	struct replay_result result;
	struct clock_info clock;
	struct act_topology topology;
	unsigned int copies;	   /* performed of each operation */
	int cpu;		   /* on which all ran; -1: the system would not pin us */
	uint32_t nr_caches;	   /* of the library that serve the trace's: merging shares them */
	struct snapshot *snapshot; /* the library at the end of the first round; unmap after use */
	char error[256];
};

/* Pins this thread to its CPU and runs. 0, or -errno with replay->error filled. */
int replay_run(struct replay *replay);

/* Frees what replay_run() left. */
void replay_destroy(struct replay *replay);

#endif /* TOOLS_REPLAY_RUN_H */
