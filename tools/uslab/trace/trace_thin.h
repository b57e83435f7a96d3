/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_thin.h - a trace with a part of its objects, over all of its time
 */
#ifndef TOOLS_TRACE_THIN_H
#define TOOLS_TRACE_THIN_H

#include "trace/trace_ops.h"

/*
 * Keeps about one of stride objects, from its allocation to its free, and forgets the others; the
 * first one always stays. Counts of allocations, frees, live and peak become those of what is left.
 * 0 or -ENOMEM (nothing changed).
 */
int trace_thin(struct trace_ops *t, unsigned int stride);

/*
 * Which of so many parts of a trace its object of that number, counted from 0, belongs to: as if by
 * chance, and the same in every run. Object 0 is in part 0.
 */
unsigned int trace_part(uint64_t number, unsigned int parts);

#endif /* TOOLS_TRACE_THIN_H */
