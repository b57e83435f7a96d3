/* SPDX-License-Identifier: MIT */
/*
 * uslab/top/top.h - the parts of `uslab top`: samples, rows, screen, keys
 *
 * A sample is a snapshot and its time. Rows are made of the newest sample and of what each cache
 * held in the samples before; the screen shows rows, one cache, or the call sites of one cache.
 */
#ifndef TOOLS_TOP_H
#define TOOLS_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/source.h"

#define TOP_SAMPLES 60	  /* that the history of a cache goes back */
#define TOP_GROWTH_SPAN 3 /* intervals that growth is of: what has stopped is 0 soon */
#define TOP_TEXT 160

enum top_order { TOP_BY_BYTES, TOP_BY_OBJECTS, TOP_BY_GROWTH, TOP_BY_WASTE, TOP_BY_NAME };
/* As they stand in a line. */
enum top_column {
	TOP_NAME,
	TOP_OBJECTS,
	TOP_OBJSIZE,
	TOP_HELD,
	TOP_SPACE,
	TOP_WASTE,
	TOP_GROWTH,
	TOP_SLABS,
	TOP_FLAGS,
	TOP_COLUMNS
};
enum top_view { TOP_LIST, TOP_DETAIL, TOP_SITES, TOP_MEMORY, TOP_NODES, TOP_GROUPS, TOP_HELP };

/* What a cache held, sample by sample. */
struct top_history {
	char name[SNAPSHOT_NAME_MAX];
	unsigned int id;
	unsigned int seen;  /* number of the last sample that had it */
	unsigned int count; /* values in the rings; the newest is at (count - 1) % TOP_SAMPLES */
	double time[TOP_SAMPLES];  /* seconds */
	double bytes[TOP_SAMPLES]; /* of live objects */
};

struct top_row {
	const struct snapshot_cache *cache;
	const struct top_history *history;
	unsigned long waste; /* bytes of slabs without live objects */
	double growth; /* bytes of live objects per second, over the last intervals; NAN: none yet */
};

struct top_layout {
	unsigned int width[TOP_COLUMNS]; /* 0: not shown */
};

struct top_table {
	unsigned int samples;
	unsigned int nr_histories;
	struct top_history history[SNAPSHOT_MAX_CACHES];
	unsigned int count; /* rows */
	struct top_row row[SNAPSHOT_MAX_CACHES];
};

struct top {
	struct source source;
	struct resolve *resolve; /* made when call sites are shown first */
	struct snapshot *snapshot;
	struct top_table *table;
	double interval; /* seconds */
	enum top_order order;
	bool inverted;
	bool paused;
	bool ended;	/* the process is gone; what is shown is the last sample */
	bool empty_too; /* caches without slabs */
	enum top_view view;
	char filter[64]; /* part of a name, any case; "": all */
	/* cache that the cursor was moved to; "": not moved yet */
	char selected[SNAPSHOT_NAME_MAX];
	unsigned int scroll;	/* first line shown */
	char message[TOP_TEXT]; /* what the last key did */
	/* a key that does something to the process when it is pressed again for that cache */
	struct {
		int key;	/* 0: none */
		uint64_t until; /* ns of clock_ns() */
		char name[SNAPSHOT_NAME_MAX];
	} again;
};

/* ---- top_rows.c: no terminal, no process ---- */

/* Adds the snapshot, taken at that time, to the histories. */
void top_add_sample(struct top_table *table, const struct snapshot *s, double time);
/* Rows of the newest sample that pass the filter, in order. Valid until the next sample. */
void top_make_rows(struct top_table *table, const struct snapshot *s, const struct top *top);
/* Row of that name; 0 if there is none. */
unsigned int top_find_row(const struct top_table *table, const char *name);
/*
 * The row that is shown under the cursor, which keys act on: the selected cache's, or the first
 * where that one is not shown. NULL: no row is shown.
 */
const struct top_row *top_current(const struct top *top);
/* The cursor stays with that cache from now on. */
void top_select(struct top *top, const struct top_row *row);

/* "+1.2M/s", "-300/s", "0"; "-" of NAN. */
void top_growth_text(char *buf, size_t size, double bytes_per_second);
/*
 * The bytes of a history as a line of `width` columns, lowest to highest
 * value. utf8: block characters.
 */
void top_spark(char *buf, size_t size, const struct top_history *history, unsigned int width,
	       bool utf8);
/* Two lines on the whole: what is looked at, and sums. */
void top_summary_text(const struct top *top, char *title, size_t title_size, char *sums,
		      size_t sums_size);

/* ---- top_columns.c: no terminal, no process ---- */

/* Columns for lines of that width; the one that rows are ordered by is among the last to go. */
void top_make_layout(struct top_layout *layout, const struct top_table *table, enum top_order order,
		     unsigned int width);
/* Headline of the columns, and a row as text of one line. */
void top_header_text(char *buf, size_t size, const struct top_layout *layout);
void top_row_text(char *buf, size_t size, const struct top_row *row,
		  const struct top_layout *layout);

/* ---- top_screen.c ---- */

/* 0, or -1 when the terminal cannot show it. */
int top_screen_start(void);
/* The terminal is as before top_screen_start(), which has returned 0. */
void top_screen_end(void);
/* All of the screen as top->view says. */
void top_screen_draw(struct top *top);
/* Lines for rows on the screen as it is now. */
unsigned int top_screen_lines(void);
/* Asks on the last line. false: given up with Esc. */
bool top_screen_ask(const char *question, char *answer, size_t size);
/* A key as ncurses names it, or -1 after timeout_ms. */
int top_screen_key(int timeout_ms);

/* ---- top_keys.c ---- */

/* Does what a key says; false: leave. */
bool top_key(struct top *top, int key);
/*
 * A key that was not pressed again in time is forgotten, and what the last line said of it. Seconds
 * until then; -1: none waits for that.
 */
double top_key_expire(struct top *top);

/* ---- top_sites.c ---- */

/*
 * The call sites of the current row's cache as lines; returns how many. line
 * is called once for each.
 */
unsigned int top_sites(struct top *top, void (*line)(const char *text, void *arg), void *arg);

/* ---- top_memory.c ---- */

/* The same of the process's resident memory by kind. */
void top_memory(struct top *top, void (*line)(const char *text, void *arg), void *arg);

/* ---- top_groups.c ---- */

/* The accounting groups of the process as lines, the largest first; as top_sites(). */
unsigned int top_groups(struct top *top, void (*line)(const char *text, void *arg), void *arg);
extern const char top_groups_title[];

#endif /* TOOLS_TOP_H */
