/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/bench.h - what the parts of `uslab bench` share
 *
 * One run of the command is one struct session: a benchmark, the contestants that take part in it,
 * and what their workers printed, round by round. plan.c makes it, run.c fills it, count_step.c and
 * count_valgrind.c add instruction counts, report.c and report_json.c print it.
 */
#ifndef TOOLS_BENCH_H
#define TOOLS_BENCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "machine.h"
#include "stats.h"

#define MAX_ROUNDS 99
#define MAX_CONTESTANTS 36
#define MAX_GIVEN 16	/* peers of NAME=PATH */
#define MAX_VARIABLES 4 /* of the environment, for one of them */
#define MAX_METRICS 48
#define MAX_LISTS 6
#define MAX_MODES 4
#define MAX_NAME 32
#define MAX_THREADS 64
#define MAX_OBJECT 32768u /* bytes */
#define MAX_MESSAGE 8192u /* of hackbench, likewise */

enum role {
	ROLE_USLAB,
	ROLE_PEER,   /* the fastest of these is what ratios refer to */
	ROLE_SYSTEM, /* the C library's own malloc: listed, no peer */
	ROLE_FLOOR,  /* no allocator: what the harness costs by itself */
};

/* Allocators that others have published figures of. */
enum published {
	PUBLISHED_NONE,
	PUBLISHED_SLOB,
	PUBLISHED_SLOBSEG,
	PUBLISHED_SLAB,
	PUBLISHED_SLUB,
	NR_PUBLISHED,
};

/* A library, and the Debian package that has it. */
struct packaged {
	const char *file; /* NULL: it is in every process */
	const char *package;
};

/* Who can be measured, and how. Static. */
struct contestant {
	const char *name;
	enum role role;
	unsigned int benchmarks; /* bits 1 << enum benchmark_id that it takes part in */
	const char *worker;	 /* program that measures it */
	const char *argument;	 /* the worker's --contestant */
	const char *library;	 /* of our own, to preload, or NULL */
	/* of a peer, in the order of preference, since Debian's releases differ; ends with NULL */
	const struct packaged *packages;
	const char *what; /* one line for people */
	const char *conf; /* its engine and front as USLAB_CONF has them, or NULL */
	enum published published;
};

/* A peer of --peers NAME=PATH. */
struct given_peer {
	struct contestant who;
	char name[MAX_NAME], version[MAX_NAME];
	char path[PATH_MAX];
	char *variables[MAX_VARIABLES]; /* VARIABLE=VALUE */
	size_t nr_variables;
};

enum benchmark_id {
	BENCH_PAIR,
	BENCH_BATCH,
	BENCH_BULK,
	BENCH_HANDOFF,
	BENCH_MALLOC,
	BENCH_LOCALITY,
	BENCH_LATENCY,
	BENCH_MODES,
	BENCH_FASTPATH,
	BENCH_CONCURRENT,
	BENCH_REMOTE,
	BENCH_HACKBENCH,
	BENCH_MEMORY,
	NR_BENCHMARKS,
};

/* Options that mean something to a benchmark. */
enum takes {
	TAKES_SIZE = 1 << 0,	 /* --size */
	TAKES_TOPOLOGY = 1 << 1, /* --cpus, --nodes */
	TAKES_THREADS = 1 << 2,	 /* --threads */
	TAKES_OBJECTS = 1 << 3,	 /* --objects, --sizes */
	TAKES_GROUPS = 1 << 4,	 /* --groups, --fds, --loops */
	TAKES_MODEL = 1 << 5,	 /* --model */
	TAKES_BULK = 1 << 6,	 /* --objects: so many per call */
	TAKES_OPS = 1 << 7,	 /* --ops */
	TAKES_MS = 1 << 8,	 /* --ms */
};

/* One of the figures that a kernel protocol prints. */
struct column {
	const char *metric;
	const char *title;
	double published[NR_PUBLISHED]; /* 0: nobody did */
};

struct benchmark {
	const char *name;
	const char *what;	      /* one line: what the numbers are */
	const char *modes[MAX_MODES]; /* of the workers, each a run of its own */
	const char *key;	      /* metric of the headline */
	unsigned int size;	      /* bytes, when not asked for */
	unsigned int takes;	      /* enum takes */
	bool two_cpus;		      /* it needs them */
	bool second_cpu; /* some of its metrics do, which are left out where there is one CPU */
	bool counts;	 /* instructions are counted */

	unsigned int rounds; /* when not asked for; 0: as usual */

	/* The kernel's protocols only (NULL otherwise). */
	const struct column *columns; /* up to one without a metric */
	const char *unit;	      /* of the columns */
	const char *source;	      /* of the published figures */
};

struct metric {
	char name[MAX_NAME];
	double values[MAX_ROUNDS];
	struct stats stats;
};

/* A list that the first round's worker printed. */
struct list {
	char name[MAX_NAME];
	long *values;
	size_t n;
};

/* Instructions per pair, the loop's own taken off; negative: not counted. */
struct counts {
	double stepped;	   /* all, by single steps on the CPU itself */
	double in_library; /* of those, outside of the worker: the allocator behind the PLT */
	double callgrind;  /* all, by valgrind, where there is no rseq */
	double longest;	   /* of latency: the most that one of the longest calls took */
};

struct entry {
	const struct contestant *who;
	unsigned int size; /* bytes per object */
	char worker_path[PATH_MAX];
	char library_path[PATH_MAX]; /* "": nothing is preloaded */
	const char *package;	     /* of a peer that is installed, or NULL */
	char version[MAX_NAME];	     /* of the package, or "" */
	struct metric metrics[MAX_METRICS];
	size_t nr_metrics;
	struct list lists[MAX_LISTS];
	size_t nr_lists;
	struct counts counts;
};

struct options {
	unsigned int rounds, ms;
	unsigned int size; /* 0: the benchmark's own */
	int cpu[2];	   /* negative: chosen */
	bool quick, json, counts;
	bool sizes;		  /* a table for each size of objects */
	unsigned int threads;	  /* 0: one per CPU */
	unsigned int ops;	  /* of latency */
	unsigned int objects;	  /* per thread and repetition, or per bulk call; 0: as usual */
	unsigned int cpus, nodes; /* a made-up topology; 0: none */
	unsigned int groups, fds, loops; /* hackbench; 0: its defaults */
	const char *model;		 /* of memory, or NULL: all */
	const char *output;		 /* folder for the results, or NULL */
	const char *note;		 /* kept with the results, or NULL */
	const char *peers;		 /* comma-separated, or NULL: all of the catalogue */
	const char *only;		 /* comma-separated, or NULL: all */
	const char *peer_dir;		 /* look for peers there only, or NULL */
	char command[1024];		 /* the command line */
};

struct session {
	const struct benchmark *benchmark;
	struct options options;
	struct entry entries[MAX_CONTESTANTS];
	size_t nr;
	char count_note[128]; /* why a count is missing, or "" */
};

#define COMMAND "bench" /* for util_fail() and the like */

/* ---- catalogue.c ---- */

/* NULL: there is no benchmark of that name. */
const struct benchmark *benchmark_find(const char *name);
const struct benchmark *benchmark_at(size_t i);	  /* NULL after the last */
const struct contestant *contestant_at(size_t i); /* NULL after the last */
/* One more that is measured as the peers of the catalogue are. name: stays the caller's. */
struct contestant contestant_of_library(const char *name, enum role role);

/* ---- given_peers.c ---- */

/* Takes NAME=PATH and @FILE of a list for --peers, once. 0 or an exit status, with a message. */
int given_peers_take(const char *list);
const struct given_peer *given_peer_at(size_t i);		    /* NULL after the last */
const struct given_peer *given_peer_of(const struct contestant *c); /* NULL: of the catalogue */

/* ---- plan.c ---- */

/* Chooses CPUs and contestants and finds their files. 0 or an exit status, with a message. */
int plan_session(struct session *s);

/* Is a second thread pinned to cpu[1]? */
bool plan_second_cpu(const struct session *s);

/* Threads of a kernel protocol: as asked for, else one per CPU. */
unsigned int plan_threads(const struct session *s);

/* The contestant "loop" for a count of its own, whether or not it takes part. False: no worker. */
bool plan_loop(const struct session *s, struct entry *e);

/* ---- find_files.c ---- */

/* A program or library of this build, or of its installation: sets path. */
bool find_own_file(char path[PATH_MAX], const char *name);

/* A shared library of the system, in dir only if given. */
bool find_library(char path[PATH_MAX], const char *name, const char *dir);

/* The Debian package's version, "" if dpkg does not know. */
void package_version(char version[MAX_NAME], const char *package);

/* ---- run.c ---- */

struct entry_args { /* arguments of a worker beyond the entry */
	const char *mode;
	uint64_t count;
	unsigned int longest; /* calls that the worker marks */
};

/* In the child: environment, arguments, exec. tool: program with arguments put before, or NULL. */
void exec_worker(const struct session *s, const struct entry *e, const struct entry_args *args,
		 const char *const *tool) __attribute__((noreturn));

/* All rounds. 0 or an exit status, with a message. */
int run_session(struct session *s);

/* By name; NULL: no worker of this entry printed it. */
const struct metric *entry_metric(const struct entry *e, const char *name);
const struct list *entry_list(const struct entry *e, const char *name);

/* ---- count_step.c, count_longest.c, count_valgrind.c ---- */

/* Fill counts of every entry; what cannot be counted stays negative: count_note has the reason. */
void count_by_steps(struct session *s);
void count_by_valgrind(struct session *s);
void count_longest(struct session *s);
/* Sets count_note, in place of an earlier reason. */
void count_note(struct session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- report*.c, save.c ---- */

/*
 * What ratios refer to: the peer with the smallest median of that metric, and slub where the
 * kernel's allocators are the contestants. NULL if it is not there.
 */
const struct entry *ratio_base(const struct session *s, const char *metric);

/* "uslab", "peer", ...: as the tables and the JSON have it. */
const char *role_name(enum role role);

/* The whole session as text. The five below are its parts for some benchmarks. */
void report_text(const struct session *s, const struct machine *m, FILE *out);
void report_locality(const struct session *s, FILE *out);
void report_protocol(const struct session *s, FILE *out);
void report_latency(const struct session *s, FILE *out);
void report_modes(const struct session *s, FILE *out);
void report_arrays(const struct session *s, FILE *out);
#define REPORT_ARRAYS_KEY "alloc.single" /* whoever has this has those of arrays, and no others */

/* A number in a column of its own, "-" for one that is not there (negative). */
void report_cell(FILE *out, int width, int digits, double value);
/* One line per contestant, one column per metric whose name begins with prefix. */
void report_matrix(const struct session *s, FILE *out, const char *title, const char *prefix,
		   bool ratios);
#define REPORT_NAME_WIDTH 18

/* The whole session as JSON text, ending in a newline; to be freed. NULL: out of memory. */
char *report_json(const struct session *s, const struct machine *m);

/* Neighbourhood of consecutive objects, from the list "offsets". */
struct distances {
	size_t steps;	    /* distances looked at */
	long stride;	    /* smallest distance of any two of the objects, bytes */
	size_t next_to;	    /* steps to the very next place, up or down */
	size_t within_page; /* further, but less than 4096 bytes */
	long median;	    /* of the distances' sizes, bytes */
};

/* All 0 with fewer than two offsets. */
void distances_of(struct distances *d, const struct list *offsets);

/* Did the allocator answer like a stack in all parts of the reuse experiment? */
bool reuse_is_lifo(const struct entry *e);

/* Writes DIR/BENCHMARK.txt and .json. 0 or an exit status, with a message. */
int save_session(const struct session *s, const char *text, const char *json);

#endif /* TOOLS_BENCH_H */
