/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_job.h - what one process of `uslab compare` gets, and what it answers
 *
 * One struct in an anonymous file that the command and its worker map. The worker is this program
 * again, with engine, front and topology in USLAB_CONF.
 */
#ifndef TOOLS_COMPARE_JOB_H
#define TOOLS_COMPARE_JOB_H

#include "replay/replay_hist.h"
#include "replay/replay_stage.h"

#define JOB_POINTS 400		 /* of curves, at most */
#define JOB_MAP_PAGES (1u << 15) /* of a map, 128 MiB */
#define JOB_MAP_FULL 254	 /* live bytes fill the page */
#define JOB_MAP_FREE 255
#define JOB_COUNT_OPS \
	1000 /* operations of which instructions are counted, in the middle of the trace */

enum job_task {
	JOB_MEMORY, /* how many bytes, and instructions; not timed */
	JOB_TIME,   /* how long each operation takes */
};

/* How instructions are counted. */
enum job_counter {
	JOB_UNCOUNTED,
	JOB_HARDWARE, /* by the CPU's own counter */
	JOB_STEPPED,  /* by the parent, which single-steps the worker */
};

/* Readings at one moment. */
struct job_bytes {
	uint64_t slab;	    /* all pages of slabs, heaps and large kmallocs */
	uint64_t requested; /* by what is alive */
	uint64_t queue;	    /* objects in arrays and queues */
	uint64_t cpu_slab;  /* free objects in slabs of CPUs */
};

struct job_memory {
	struct job_bytes at_live_peak;
	struct job_bytes end;
	/* highest of each; queue, cpu_slab: of the points and the live peak */
	struct job_bytes peak;
	double slab_mean; /* over the time of the trace */
	double requested_mean;
	uint64_t page_blocks; /* asked for */
	uint64_t meta_bytes;  /* at the end */
	struct job_bytes point[JOB_POINTS];
	uint64_t nr_pages;		  /* of the map at the live peak, before it is cut */
	unsigned char map[JOB_MAP_PAGES]; /* live bytes in parts of JOB_MAP_FULL, or JOB_MAP_FREE */
};

struct job_times {
	struct hist hist[REPLAY_NR_VERBS]; /* ticks, those of the clock itself included */
	double overhead;		   /* ticks of the clock itself */
	double ns_per_tick;
	uint64_t resolution; /* ticks */
	uint64_t disturbed;  /* operations left out: the CPU was taken away meanwhile */
	bool is_tsc;	     /* ticks are cycles of the time stamp counter */
};

/* What instructions are counted of: the verbs, and what the counting itself takes. */
enum { JOB_NOTHING = REPLAY_NR_VERBS, JOB_NR_COUNTED };

#define JOB_NOTHINGS 8

/* Where a stepped worker is: in operation JOB_INSIDE + enum replay_verb or JOB_NOTHING. */
enum job_phase { JOB_OUTSIDE, JOB_INSIDE };

struct job_count {
	uint32_t phase;	  /* of a stepped worker; atomic */
	uint32_t percent; /* of the trace that is done */
	uint64_t operations[JOB_NR_COUNTED];
	uint64_t instructions[JOB_NR_COUNTED];
};

struct job {
	/* parameters */
	enum job_task task;
	enum job_counter counter; /* JOB_MEMORY */
	char engine[16];
	char front[16];
	enum replay_touch touch;
	unsigned int copies;
	bool spread;	    /* they load all CPUs */
	bool split;	    /* JOB_MEMORY: the copies share one trace, see replay_stage.h */
	int cpu;	    /* to run on */
	uint64_t resident;  /* JOB_TIME: bytes on each node that are made resident first */
	uint32_t nr_points; /* up to JOB_POINTS */
	uint64_t point_op[JOB_POINTS]; /* ascending */

	/* results; error: "" and done, or why not */
	bool done;
	char error[256];
	uint64_t ns; /* that the task took */
	struct job_memory memory;
	struct job_count count;
	struct job_times times;
};

/*
 * The worker: `uslab compare --worker TRACE JOB`, numbers of inherited descriptors. Exit status.
 */
#define JOB_WORKER_OPTION "--worker"
int compare_worker(int argc, char **argv);

/* Performs the task of job on stage, which has its caches. 0, or -errno with job->error. */
int measure_memory(struct stage *stage, struct job *job);
int measure_times(struct stage *stage, struct job *job);

/* ---- compare_count.c ---- */

/* Does this machine count instructions for us? */
bool count_by_hardware(void);

/* Called before and after an operation, what: REPLAY_ALLOC or REPLAY_FREE. */
struct count_marks {
	void (*enter)(struct job_count *count, unsigned int what);
	void (*leave)(struct job_count *count, unsigned int what);
};

/*
 * The marks for operation op of the trace, called for each in turn. They count some operations,
 * evenly over the trace, and do nothing for the others.
 */
const struct count_marks *count_marks_for(struct job *job, const struct trace_ops *trace,
					  size_t op);

#endif /* TOOLS_COMPARE_JOB_H */
