/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info.h - the parts of `uslab info`: options, rows, ways to print
 *
 * A snapshot has caches; what is listed are rows: caches that passed the filters, under the name
 * that the slabinfo rules give them (spec 8.2), in the order asked for.
 */
#ifndef TOOLS_INFO_H
#define TOOLS_INFO_H

#include <regex.h>
#include <stdbool.h>
#include <stdio.h>

#include "distinct.h"
#include "options.h"
#include "inspect/snapshot.h"
#include "symbols/resolve.h"
#include "process/resident.h"
#include "process/source.h"

#define INFO_COMMAND "info"
#define INFO_MAX_SOURCES 64

enum info_order {
	INFO_BY_NAME,
	INFO_BY_SIZE,
	INFO_BY_ACTIVITY,
	INFO_BY_LOSS,
	INFO_BY_PARTIAL,
};

/* What is done; of several that are asked for, the one that comes first here (spec 8.2). */
enum info_mode {
	INFO_ADDRESS,
	INFO_ALLOCINFO, /* with INFO_JSON: as JSON */
	INFO_GROUPS,	/* likewise */
	INFO_JSON,
	INFO_OPENMETRICS,
	INFO_PROMETHEUS,
	INFO_ALIASES,
	INFO_MEMORY,
	INFO_XTOTALS,
	INFO_TOTALS,
	INFO_NUMA,
	INFO_TRACKING,
	INFO_VALIDATE,
	INFO_SHRINK,
	INFO_DEBUG,
	INFO_OPS,
	INFO_LIST,
	INFO_REPORT,
	INFO_NR_MODES
};

struct info_options {
	const regex_t *pattern; /* NULL: all */
	unsigned long lines;	/* at most so many rows */
	enum info_order order;
	bool inverted;
	bool bytes;
	bool loss_column;
	bool activity_columns;
	bool first_alias;
	bool only_empty;
	bool with_empty;
	bool unreclaimable;
	bool single_refs; /* of the alias listing */
	bool only_caches; /* no rows for whole pages */
	bool with_blocks; /* but for that of the name by which these are changed ("malloc-large") */
};

struct info_row {
	const struct snapshot_cache *cache;
	const char *name;
};

struct info_alias {
	const char *name;
	const char *target;
};

/* What the command line says. */
struct info {
	struct info_options options;
	enum info_mode mode;
	bool wanted[INFO_NR_MODES];
	regex_t pattern;
	const char *pattern_text;     /* as it was given; NULL: none was */
	struct source_options source; /* what all have in common */
	pid_t pids[INFO_MAX_SOURCES];
	unsigned int nr_pids;
	double interval; /* seconds; 0: once */
	unsigned long rounds;
	uint64_t address;
	slab_flags_t debug; /* of -d */
};

/* A process, core or tree that is inspected: its snapshot, and the rows chosen of it. */
struct info_subject {
	struct source source;
	bool open;
	struct snapshot *s;
	struct resolve *resolve; /* see info_resolve() */
	struct info_row *rows;	 /* as the options select and sort them */
	unsigned int nr_rows;
	struct resident *resident; /* see info_take_memory(); NULL: nobody asks */
	int memory_error;	   /* why there is nothing in it, or 0 */
};

/* ---- info_options.c, info_help.c ---- */

extern const char info_usage[];
extern const char info_notes[];
extern const struct option_row info_option_rows[];

/* Options that only info has. */
enum {
	OPTION_JSON = OPTION_OWN,
	OPTION_FIELDS,
	OPTION_ADDRESS,
	OPTION_ALLOCINFO,
	OPTION_GROUPS,
	OPTION_OPENMETRICS,
	OPTION_PROMETHEUS,
	OPTION_INTERVAL,
};

/* Exit status, or -1: go on. */
int info_parse(struct info *info, int argc, char **argv);

/* ---- info_rows.c ---- */

/*
 * Name number i of a cache, 0 <= i <= nr_aliases: the first creator's, then
 * the others, oldest first.
 */
const char *info_name(const struct snapshot *s, const struct snapshot_cache *c, unsigned int i);

/* A cache, or a heap, and no row for whole pages? */
bool info_is_cache(const struct snapshot_cache *c);

/* Fills rows (room for SNAPSHOT_MAX_CACHES), sorted; returns how many. */
unsigned int info_rows(const struct snapshot *s, const struct info_options *options,
		       struct info_row *rows);

/*
 * What the rows are called, or would be if they passed the other filters, each the only one of its
 * name: the same whatever else is shown.
 */
void info_distinct(const struct snapshot *s, const struct info_options *options,
		   struct distinct *names);

/* Does the pattern leave exactly one cache, empty or not, and may it be shown? Fills row then. */
bool info_only_row(const struct snapshot *s, const struct info_options *options,
		   struct info_row *row);

/*
 * Names that stand for an id, sorted by target, or by name when inverted. Room for as many as there
 * are caches and aliases. Returns how many.
 */
unsigned int info_aliases(const struct snapshot *s, const struct info_options *options,
			  struct info_alias *aliases);

/* How many of those does one cache have? All of them count, also where only one name is left. */
unsigned int info_count_aliases(const struct snapshot *s, const struct snapshot_cache *c,
				const struct info_options *options);

/*
 * Says on stderr if the pattern leaves no row. true: it does so. For info_change.c, and for
 * cmd_info.c where there is nothing to be shown.
 */
bool info_warn_unmatched(const struct info *info, const struct info_subject *subject);

/* ---- on stdout ---- */

/* The table, or that of -D. */
void info_print_list(const struct info_row *rows, unsigned int count,
		     const struct info_options *options);
/* "target <- name name"; inverted: a line for each name. */
void info_print_aliases(const struct info_alias *aliases, unsigned int count,
			const struct info_options *options);
/* The keys of the JSON and what they mean. */
void info_print_fields(void);

/* info_activity.c: -D, and the block at the end of a report of one cache (-r) */
void info_print_activity(const struct info_row *rows, unsigned int count);
/* Says what the rows' numbers of allocations and frees, shown or sorted by, leave out. */
void info_warn_activity(const struct info_subject *subject);
/* The block at the end of a report: event counters. */
void info_print_performance(const struct snapshot_cache *c);

/* info_totals.c */
void info_print_totals(const struct info_subject *subject, const struct info_options *options);
/* The limit of the process, if it has one, and what of that is held. */
void info_print_limit(const struct info_subject *subject, const struct info_options *options);
/* The subject's rows are others afterwards. */
void info_print_xtotals(struct info_subject *subject, const struct info_options *options);

/* info_numa.c: what each node has of all caches together; nothing with one node */
void info_print_machine_nodes(const struct snapshot *s);
/* a line of the table of -n; first: with its heading */
void info_print_numa(const struct snapshot *s, const struct info_row *row, bool first);
/* The same as lines of a report. */
void info_print_nodes(const struct snapshot *s, const struct info_row *row);

/* info_report.c: EXIT_OK or EXIT_FAILED after a message */
int info_print_report(struct info_subject *subject, const struct info_row *row);
void info_print_ops(const struct info_subject *subject, const struct info_row *row);
int info_print_tracking(struct info_subject *subject, const struct info_row *row);

/* info_change.c: -v, -s, -d of all rows. EXIT_OK or EXIT_FAILED after a message */
int info_change(const struct info *info, struct info_subject *subject);

/* info_address.c: EXIT_OK or EXIT_FAILED after a message */
int info_print_address(struct info_subject *subject, uint64_t address);

/* info_allocinfo.c: EXIT_OK or EXIT_FAILED after a message */
int info_print_allocinfo(const struct info *info, struct info_subject *subject);

/*
 * info_memory.c: after a snapshot, for subject->resident. EXIT_OK, also where it is not known; or
 * EXIT_FAILED after a message.
 */
int info_take_memory(struct info_subject *subject);
/* Of that cache; NULL: not known, or no cache. */
const struct memory_cache *info_memory_of(const struct info_subject *subject,
					  const struct snapshot_cache *c);
/*
 * Resident bytes of all of uslab, and of its own data, page by page as --memory has them. Where the
 * system does not tell, what slabs, whole pages, dirty free pages and own data add up to.
 */
uint64_t info_resident(const struct info_subject *subject);
uint64_t info_metadata(const struct info_subject *subject);
/* EXIT_OK, or EXIT_FAILED after a message */
int info_print_memory(const struct info_subject *subject, const struct info_options *options);
/* A block of the report of one cache; nothing where it is not known. */
void info_print_cache_memory(const struct info_subject *subject, const struct snapshot_cache *c);

/* info_groups.c: likewise; as metrics, of all that have some */
int info_print_groups(const struct info *info, struct info_subject *subject);
void info_print_group_metrics(const struct info_subject *subjects, unsigned int count,
			      bool prometheus);

/* info_json.c: 0, or -ENOMEM and nothing was printed. time: of the snapshots; NULL: left out */
int info_print_json(FILE *out, const struct info_subject *subjects, unsigned int count,
		    const char *time);

/* info_metrics.c: as Prometheus text, or OpenMetrics. EXIT_OK or EXIT_FAILED after a message */
int info_print_metrics(const struct info *info, const struct info_subject *subjects,
		       unsigned int count);

struct info_family {
	const char *name; /* of the samples: that of a counter ends with _total */
	const char *kind; /* gauge or counter */
	const char *unit;
	const char *help;
	bool prometheus;
	bool begun; /* there was a sample */
};

/* The next sample, up to the labels of its process, core or tree; other labels and } follow. */
void info_begin_sample(struct info_family *family, const struct info_subject *subject);
/* key="text" */
void info_print_label(const char *key, const char *text);

/* Names of code addresses of a process or core; NULL: out of memory. Made when first asked for. */
struct resolve *info_resolve(struct info_subject *subject);

#endif /* TOOLS_INFO_H */
