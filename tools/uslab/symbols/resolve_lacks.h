/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_lacks.h - why code has no names: noted while they are looked up, said once
 */
#ifndef TOOLS_RESOLVE_LACKS_H
#define TOOLS_RESOLVE_LACKS_H

#include <limits.h>
#include <stdbool.h>

/* All zero: nothing. */
struct resolve_lacks {
	char closed[PATH_MAX]; /* a file that there is and that may not be opened; "": none */
	char lost[PATH_MAX];   /* a library of a core that cannot be read; "": none */
	const char *why_lost;  /* the rest of the sentence */
	bool lost_in_root;     /* it was looked for where the user said */
	bool descriptors;      /* there were too few */
	bool headers;	       /* of a core: it has the first page of no file */
};

/* What opening a file gave: -errno. What means nothing here is ignored, also descriptors. */
void resolve_lacks_note(struct resolve_lacks *lacks, int error, const char *file);

/* A library of a core: why is constant, and the rest of a sentence. */
void resolve_lacks_note_lost(struct resolve_lacks *lacks, const char *file, const char *why,
			     bool in_root);

/* On stderr, each only once. */
void resolve_lacks_say(const struct resolve_lacks *lacks, const char *command);

#endif /* TOOLS_RESOLVE_LACKS_H */
