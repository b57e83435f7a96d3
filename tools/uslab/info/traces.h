/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/traces.h - alloc_traces and free_traces of a cache (spec 6.4), as text
 *
 * One entry for each distinct caller, stack and waste of the live objects that are tracked,
 * with the commonest first.
 */
#ifndef TOOLS_TRACES_H
#define TOOLS_TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "inspect/tracks.h"
#include "symbols/resolve.h"

struct traces_options {
	enum track_item item; /* TRACK_ALLOC, or TRACK_FREE: the users before */
	/* bytes: entries that would go beyond are left out; 0: all of them */
	unsigned int max_size;
	bool calls; /* as alloc_calls of old kernels: no waste, no stacks, by address */
};

/*
 * Writes the text for cache index `cache` of a snapshot whose process can still be read: "No
 * data\n" if nothing is tracked. 0, -ENOMEM or what the reader says; then nothing was written.
 */
int traces_text(FILE *out, struct snapshot *s, unsigned int cache, struct resolve *resolve,
		const struct traces_options *options);

/* "0-3,7": what is set of bits 0 to nr - 1; 64 bits to a word. */
void traces_list(char *buf, size_t size, const uint64_t *bits, unsigned int nr);

#endif /* TOOLS_TRACES_H */
