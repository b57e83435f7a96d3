/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/track.h - the parts of `uslab track`: which caches, switching, the table, its
 * printers
 *
 * Tracked objects are those of debug slabs with U. With full tracking every object
 * allocated since it was switched on is tracked; with sampling some are, and numbers are
 * estimates, see track_table.c.
 */
#ifndef TOOLS_TRACK_H
#define TOOLS_TRACK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "command/command.h"
#include "symbols/resolve.h"
#include "process/source.h"
#include "track/track_sites.h"

#define TRACK_MAX_CACHES SNAPSHOT_MAX_CACHES
#define TRACK_MAX_PATTERNS 64

enum track_order { TRACK_BY_BYTES, TRACK_BY_OBJECTS, TRACK_BY_AGE, TRACK_BY_GROWTH };
enum track_mode { TRACK_AUTO, TRACK_FULL, TRACK_SAMPLE };

struct track_options {
	const char *command; /* for messages */
	struct source_options source;
	unsigned int nr_patterns; /* 0: look for what grows */
	const char *pattern[TRACK_MAX_PATTERNS];
	enum track_mode mode;
	enum track_order order;
	bool order_given;
	double interval;   /* seconds; between two tables, or until the only one */
	double watch;	   /* seconds to look for what grows */
	unsigned long top; /* rows */
	bool once;
	bool json;
	bool verbose;	 /* names with all template arguments */
	bool own_frames; /* of the allocator are shown */
	bool off;	 /* only switch off */
	bool keep;	 /* leave it switched on */
	unsigned int wait_ms;
	const char *folded; /* file, "-" or NULL */
	const char *pprof;
};

/* A cache that was chosen. Its index in a snapshot may change from one to the next. */
struct track_cache {
	unsigned int id;
	char name[SNAPSHOT_NAME_MAX];
	double growth; /* bytes per second while it was watched; NAN: it was not */
	bool sampled;
	bool switched;	    /* by us */
	unsigned long live; /* objects, in the last snapshot */
	unsigned long tracked;
};

/* A call site: everything it holds, in all chosen caches. */
struct track_row {
	uint64_t caller;
	uint32_t handle;
	uint64_t tracked; /* objects that were seen */
	struct estimate_sum objects_sum, bytes_sum, old_sum, old_bytes_sum;
	double heaviest; /* what one object stands for at most */
	/* of these: */
	struct estimate objects;
	struct estimate bytes;
	struct estimate kept; /* objects per second of the first half of the time, still there */
	struct estimate kept_bytes;
	struct estimate share;	   /* of what the order is by, of all rows */
	bool vague;		   /* too few samples: objects and bytes say nothing */
	uint64_t age_min, age_max; /* milliseconds */
	double age_mean;
	uint32_t pid_min, pid_max;
	unsigned int cache; /* the first one of the chosen ones, and how many */
	unsigned int nr_caches;
	unsigned int nr;	   /* frames */
	uint64_t pc[STACKS_DEPTH]; /* innermost first; the caller alone where no stack is known */
};

struct track_table {
	unsigned int nr;
	struct track_row *row; /* in the order asked for */
	uint64_t since;	       /* process's clock: objects that are older do not count; 0: all do */
	double seconds;	       /* that were tracked */
	bool at_least;	       /* how long is known by the oldest object only */
	bool estimated;
	uint64_t lost; /* objects that found no place in the table */
};

struct tracking {
	const struct track_options *options;
	struct source source;
	struct snapshot *snapshot;
	struct resolve *resolve;
	FILE *folded; /* for --folded, open; NULL: none was asked for, or it is written */
	struct command_sampler sampler;
	unsigned int nr_caches;
	struct track_cache cache[TRACK_MAX_CACHES];
	/* process's clock when tracking was on, if we switched some of it on; else 0 */
	uint64_t start;
	pid_t watchdog; /* see track_watchdog_start(); 0: there is none */
	int watchdog_fd;
	struct track_table table;
	double refreshed; /* CLOCK_MONOTONIC in seconds when the table was made; 0: never */
	bool warned_ended;
	double next_refresh; /* when it is to be made again in between */
};

/* ---- track_run.c ---- */

/* Signals that end tools are only noted from now on. */
void track_catch_signals(void);
/* Has such a signal come? */
bool track_stopped(void);
/* A signal ends it early, and the end of the process; false: there was one. */
bool track_sleep(const struct tracking *t, double seconds);
/*
 * The file of --folded, before anything is watched: it may not be one that can be written. EXIT_OK,
 * also where none was asked for; EXIT_FAILED after a message.
 */
int track_open_folded(struct tracking *t);
/* Also where it is not open; without a message. */
void track_close_folded(struct tracking *t);
/*
 * After the interval one table, or what was asked for in its place; should the process end before,
 * the last snapshot, with a warning. The exit status, after a message if it is not EXIT_OK.
 */
int track_run_once(struct tracking *t);
/* A table after each interval, until a signal or the end of the process. The same. */
int track_run_live(struct tracking *t);

/* ---- track_choose.c ---- */

/* Those that match a pattern. EXIT_OK; EXIT_FAILED with a message: none does. */
int track_choose_matching(struct tracking *t);
/* Watches the process for a while and takes those that grow most. The same. */
int track_choose_growing(struct tracking *t);
/* Of all caches those that are tracked already, or were. */
void track_choose_tracked(struct tracking *t);
/* Is one of the chosen caches tracked, or was? */
bool track_any_tracked(const struct tracking *t);
/* Of that cache; of whole pages in the arena and mapped ones together. */
unsigned long track_live_objects(const struct snapshot *s, const struct snapshot_cache *c);

/* ---- track_switch.c ---- */

/*
 * Switches tracking of all chosen caches on. EXIT_OK or, after a message, EXIT_FAILED: also if one
 * is sampled that is to be tracked in full, or the other way round.
 */
int track_switch_on(struct tracking *t);
/* By the last snapshot: has another tool switched off what is tracked? Warns, once. */
void track_warn_ended(struct tracking *t);
/* Switches off what was switched on by us; all: also by others. */
int track_switch_off(struct tracking *t, bool all);

/* ---- track_watchdog.c ---- */

/*
 * Starts a process that switches off what is noted from now on if this one is killed.
 * Without it that stays on; a warning says so.
 */
void track_watchdog_start(struct tracking *t);
/* That cache, by its index in t->cache, is about to be switched on. */
void track_watchdog_note(const struct tracking *t, unsigned int cache);
/* What was switched on is off again, or is to stay. Also without a watchdog. */
void track_watchdog_end(struct tracking *t);
/* It could not be switched off: the watchdog goes on trying. false: there is none. */
bool track_watchdog_leave(struct tracking *t);

/* ---- track_table.c ---- */

/*
 * From the snapshot that was just taken. 0, -ENOMEM, or what the reader says; then the table is the
 * one that was there.
 */
int track_table_make(struct tracking *t);
/* Index of a chosen cache in the last snapshot; UINT_MAX: gone. */
unsigned int track_index_of(const struct tracking *t, const struct track_cache *c);
/* Frees the rows; also of a table that was never made. */
void track_table_free(struct track_table *table);

/* ---- printers ---- */

/* The frame that a row is called by: the innermost one outside of the C and C++ libraries. */
uint64_t track_site_of(struct tracking *t, const struct track_row *row);

/* At most that many rows, and frames of each stack. */
void track_print(FILE *out, struct tracking *t, unsigned long rows, unsigned int frames);
/* 0 or -ENOMEM. One line. */
int track_print_json(FILE *out, struct tracking *t);
/* "outermost;...;innermost BYTES" for each stack; objects: the number of these instead of bytes. */
void track_print_folded(FILE *out, struct tracking *t, bool objects);
/* A gzip'd profile.proto. 0 or -errno. */
int track_write_pprof(const char *path, struct tracking *t);

#endif /* TOOLS_TRACK_H */
