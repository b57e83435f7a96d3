/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare.h - what the parts of `uslab compare` share
 *
 * One run of the command is one struct compare: options, the contestants that take part, and what
 * was measured of them on each trace. compare_run.c and compare_scale.c fill it, compare_table.c,
 * compare_scale_table.c and compare_json.c print it.
 */
#ifndef TOOLS_COMPARE_H
#define TOOLS_COMPARE_H

#include "bench/machine.h"
#include "compare/compare_job.h"
#include "trace/trace_load.h"
#include "util.h"

#include <string.h>

#define COMPARE_COMMAND "compare" /* for util_fail() and the like */
#define COMPARE_MAX_ROUNDS 99u
#define COMPARE_MAX_TRACES 64
#define COMPARE_NR 10	  /* contestants there are */
#define COMPARE_SCALES 16 /* numbers of CPUs: 1, 2, 4, ... and the last */

/* The contestants that there are. Static. */
struct contestant_kind {
	const char *name;
	const char *engine;
	const char *front;
	bool scales; /* takes part in the scaling runs without being asked for */
};

extern const struct contestant_kind compare_kinds[COMPARE_NR];
#define COMPARE_BASE 1 /* index of slob, which ratios refer to */

struct compare_options {
	unsigned int chosen; /* bits 1 << index of compare_kinds */
	bool engines_given;
	unsigned long rounds;
	bool rounds_given; /* as many for slow contestants, too */
	enum replay_touch touch;
	unsigned long max_events; /* 0: all */
	unsigned long cpus;	  /* 0: the machine's own */
	unsigned long nodes;
	bool spread;
	bool instructions; /* are counted */
	bool json;
	bool keep_going;
	bool progress;
	const char *html;   /* file, or NULL */
	char command[1024]; /* the command line */
};

/* Quantiles of a verb; each the median over the rounds. */
enum { TIME_MEDIAN, TIME_P99, TIME_P99_9, TIME_MAX, TIME_MEAN, NR_TIMES };

struct verb_times {
	double ns[NR_TIMES];
	double instructions; /* negative: not counted */
	struct hist hist;    /* ticks, of all rounds */
};

/* What one contestant did on one trace. */
struct outcome {
	bool ok;
	char error[320]; /* if not */
	unsigned int rounds;
	double ns_per_op;
	struct verb_times verb[REPLAY_NR_VERBS];
	double ns_per_tick;
	double overhead; /* ticks */
	bool is_tsc;
	uint64_t disturbed;  /* operations left out, in all rounds */
	uint64_t longest_ns; /* of its processes */
	uint64_t spent_ns;   /* in all timed rounds */
	struct job_memory memory;
};

/* One contestant on one number of CPUs: the highest bytes. */
struct scale_point {
	bool ok;
	struct job_bytes peak;
	struct job_bytes one_node; /* were all CPUs on it; unused at constant work */
	double ns_per_op;	   /* the same */
};

struct scaling {
	unsigned int nr; /* 0: there is none */
	unsigned int cpus[COMPARE_SCALES];
	unsigned int nodes[COMPARE_SCALES];
	unsigned int chosen; /* bits 1 << index of compare_kinds */
	/* a copy of the trace for its CPUs */
	struct scale_point points[COMPARE_NR][COMPARE_SCALES];
	struct scale_point constant[COMPARE_NR][COMPARE_SCALES]; /* one for all, split among them */
};

/* What workers perform. */
struct shared_trace {
	int fd; /* of trace_share() */
	size_t nr_ops;
	unsigned int nr_points;
	uint64_t point_op[JOB_POINTS];
};

struct compared_trace {
	struct trace_load load;
	unsigned int stride; /* one of so many objects is performed: copies of all are too much */
	unsigned int copies; /* performed of each operation */
	struct shared_trace shared;
	struct shared_trace whole; /* with --spread: with the objects of one copy that is split */
	uint64_t point_live[JOB_POINTS]; /* bytes requested there, by all copies */
	struct outcome *outcomes;	 /* COMPARE_NR of them, by index of compare_kinds */
	struct scaling scaling;
};

struct compare {
	struct compare_options options;
	struct compared_trace *traces;
	unsigned int nr_traces;
	bool failed; /* a contestant could not be measured */
	struct progress progress;
};

/* Does it keep objects in arrays, queues or sheaves? */
static inline bool compare_has_queues(unsigned int kind)
{
	return strcmp(compare_kinds[kind].front, "none") != 0 &&
	       strcmp(compare_kinds[kind].front, "cpuslab") != 0;
}

/* Does a CPU own a slab? */
static inline bool compare_has_cpu_slabs(unsigned int kind)
{
	return !strcmp(compare_kinds[kind].front, "cpuslab") ||
	       !strcmp(compare_kinds[kind].front, "sheaves:6.18");
}

/* Is it among those that were chosen? */
static inline bool compare_takes_part(const struct compare *c, unsigned int kind)
{
	return c->options.chosen & 1u << kind;
}

/* ---- compare_trace.c ---- */

/* Reads a trace and makes it ready to be performed. 0 or an exit status, with a message. */
int compare_load(struct compare *c, struct compared_trace *t, const char *path);
/* Frees it and closes its files; also where compare_load() has failed or was not called. */
void compare_unload(struct compared_trace *t);

/* Says where the job reads slow counts. */
void compare_set_points(struct job *job, const struct shared_trace *shared);

/* ---- compare_job.c ---- */

/* Where a worker runs and how: beside the job. */
struct job_place {
	const struct contestant_kind *kind;
	unsigned long cpus; /* 0: the machine's own */
	unsigned long nodes;
};

/* The job's memory, and the file that the worker gets. NULL: out of memory, errno says why. */
struct job *job_create(int *fd);
/* Unmaps the job and closes its file. */
void job_destroy(struct job *job, int fd);

/*
 * Starts a worker and waits for it, single-stepping where the job says so. False: error (of size
 * bytes) says how it failed.
 */
bool job_run(struct job *job, int job_fd, int trace_fd, const struct job_place *place, char *error,
	     size_t size);

/* ---- compare_run.c ---- */

/* Measures all contestants on a trace. 0 or an exit status, with a message. */
int compare_run(struct compare *c, struct compared_trace *t);

/* ---- compare_scale.c ---- */

/* The scaling runs, after compare_run(). 0 or an exit status, with a message. */
int compare_scale(struct compare *c, struct compared_trace *t);

/* ---- compare_stats.c ---- */

/* Numbers of one timed round, ns. */
struct round_times {
	double ns[REPLAY_NR_VERBS][NR_TIMES];
	double ns_per_op;
};
/* From the histograms of a worker. */
void stats_round(struct round_times *round, const struct job_times *times);
/* Medians over o->rounds rounds, into the outcome. */
void stats_finish(struct outcome *o, const struct round_times *rounds);

/* Of the time stamp counter; NAN: the clock was another one. */
double stats_cycles_per_ns(const struct outcome *o);
/*
 * Slab bytes by requested ones; time per operation, and slab bytes at the peak of live objects, by
 * those of COMPARE_BASE. NAN where there is nothing to divide by.
 */
double stats_fragmentation(const struct job_bytes *bytes);
double stats_time_ratio(const struct compared_trace *t, unsigned int kind);
double stats_memory_ratio(const struct compared_trace *t, unsigned int kind);

/* Geometric mean over all traces; NaN when a trace lacks it. */
double stats_overall(const struct compare *c, unsigned int kind,
		     double (*ratio)(const struct compared_trace *t, unsigned int kind));

/* Histogram in steps of a tenth of a decade, from 1 ns on. */
#define STATS_STEPS 90
/* In ns. */
double stats_step_start(unsigned int step);
/* How many operations fell into each step, those of all rounds. */
void stats_steps(const struct outcome *o, enum replay_verb verb, uint64_t count[STATS_STEPS]);

/* ---- compare_table.c ---- */

/* All tables, on stdout. */
void compare_print(const struct compare *c, const struct machine *m);

/* Cells of a table, with a space before. "-" for what there is not. */
void table_number(int width, int digits, double value);
/* Few digits for large numbers: 12.3, 123, 12345. */
void table_ns(int width, double ns);
/* As util_size() has it. */
void table_bytes(int width, uint64_t bytes);

/* ---- compare_scale_table.c ---- */

/* On stdout; s->nr is not 0. constant_ops: operations of the trace at constant work. */
void compare_print_scaling(const struct scaling *s, size_t constant_ops);

/* ---- compare_json.c ---- */

/* JSON text that ends in a newline, to be freed. NULL: out of memory. */
char *compare_json(const struct compare *c, const struct machine *m);

#endif /* TOOLS_COMPARE_H */
