/* SPDX-License-Identifier: MIT */
/*
 * uslab/info.h - the parts of `uslab info`: options, rows, ways to print
 *
 * A snapshot has caches; what is listed are rows: caches that passed the filters, under the name
 * that the slabinfo rules give them (spec 8.2), in the order asked for.
 */
#ifndef TOOLS_INFO_H
#define TOOLS_INFO_H

#include <regex.h>
#include <stdbool.h>

#include "report/snapshot.h"
#include "target.h"

enum info_order {
	INFO_BY_NAME,
	INFO_BY_SIZE,
	INFO_BY_ACTIVITY,
	INFO_BY_LOSS,
	INFO_BY_PARTIAL,
};

struct info_options {
	const regex_t *pattern; /* NULL: all */
	unsigned long lines;	/* at most so many rows */
	enum info_order order;
	bool inverted;
	bool bytes;
	bool loss_column;
	bool first_alias;
	bool only_empty;
	bool with_empty;
	bool unreclaimable;
	bool single_refs; /* of the alias listing */
};

struct info_row {
	const struct snapshot_cache *cache;
	const char *name;
};

struct info_alias {
	const char *name;
	const char *target;
};

/* Name number i of a cache, 0 <= i <= nr_aliases: the first creator's, then the others, oldest first. */
const char *info_name(const struct snapshot *s, const struct snapshot_cache *c, unsigned int i);

/* Fills rows (room for SNAPSHOT_MAX_CACHES), sorted; returns how many. */
unsigned int info_rows(const struct snapshot *s, const struct info_options *options,
		       struct info_row *rows);

/*
 * Names that stand for an id, sorted by target, or by name when inverted. Room for as many as there
 * are caches and aliases. Returns how many.
 */
unsigned int info_aliases(const struct snapshot *s, const struct info_options *options,
			  struct info_alias *aliases);

/* Prints on stdout. */
void info_print_table(const struct info_row *rows, unsigned int count,
		      const struct info_options *options);
void info_print_aliases(const struct info_alias *aliases, unsigned int count, bool inverted);
/* 0, or -ENOMEM and nothing was printed. */
int info_print_json(const struct target *t, const struct target_root *root,
		    const struct snapshot *s, const struct info_row *rows, unsigned int count);
/* The keys of the JSON and what they mean. */
void info_print_fields(void);

#endif /* TOOLS_INFO_H */
