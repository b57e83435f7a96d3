/* SPDX-License-Identifier: MIT */
/*
 * inspect/text.h - the table of caches as text (spec 8.3)
 *
 * Data:       none; lines are made in buffers of the caller.
 * Invariants: no allocation; a line always ends with newline and NUL, or is cut where buf ends.
 * Locks:      none.
 * Flow:       called by tools; columns are those of fields.def.
 */
#ifndef INSPECT_TEXT_H
#define INSPECT_TEXT_H

#include "inspect/snapshot.h"

#define TEXT_LINE_MAX 256 /* bytes that suffice for every line */

struct text_options {
	bool loss;  /* the column Loss instead of Space */
	bool bytes; /* sizes in bytes, not scaled */
};

/* Each returns the length of the line, its newline included. */
size_t text_header(char *buf, size_t size, const struct text_options *options);
/* name: the name to print; chosen among id and aliases as slabinfo does. */
size_t text_line(char *buf, size_t size, const char *name, const struct snapshot_cache *c,
		 const struct text_options *options);

/* The debug flags of the column Flg. */
size_t text_debug_flags(char *buf, size_t size, const struct snapshot_cache *c);

/* Bytes of its slabs that hold no live object. */
unsigned long text_loss(const struct snapshot_cache *c);

/* 1687552 -> "1.6M": decimal units, one digit, cut off; up to 1000 as it is. */
size_t text_scale(char *buf, size_t size, unsigned long value);

/* part * 100 / whole, cut off; 100 of nothing. */
unsigned long text_percent(unsigned long part, unsigned long whole);

#endif /* INSPECT_TEXT_H */
