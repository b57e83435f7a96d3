/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/memory_text.h - resident memory by kind, as lines; its sums, for whatever prints them
 */
#ifndef TOOLS_MEMORY_TEXT_H
#define TOOLS_MEMORY_TEXT_H

#include <stdio.h>

#include "process/resident.h"

struct memory_text_options {
	bool bytes; /* else KiB */
	bool empty; /* kinds of which there is nothing, too */
};

/* All about the process: kinds, sums, what is to be known of them. */
void memory_text(FILE *out, const struct resident *r, const struct memory_text_options *options);

/* Sums and what belongs to no kind. */
enum memory_sum {
	MEMORY_SUM_ARENA,
	MEMORY_SUM_MOVED,
	MEMORY_SUM_USLAB,
	MEMORY_SUM_REST,
	MEMORY_SUM_PROCESS,
	MEMORY_SUM_HUGE,
	MEMORY_SUM_SWAPPED,
	MEMORY_SUM_ESTIMATED,
	NR_MEMORY_SUMS
};

const char *memory_sum_key(enum memory_sum sum);
const char *memory_sum_help(enum memory_sum sum);
/* Bytes; only MEMORY_SUM_MOVED and MEMORY_SUM_REST may be below 0. */
int64_t memory_sum(const struct resident *r, enum memory_sum sum);
/* Bytes of the kinds that are the allocator's own data: no objects, no free pages, no code. */
uint64_t memory_own_data(const struct resident *r);

#endif /* TOOLS_MEMORY_TEXT_H */
