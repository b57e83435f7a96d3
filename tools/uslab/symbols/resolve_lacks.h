/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_lacks.h - why code has no names: noted while they are looked up, said once
 */
#ifndef TOOLS_RESOLVE_LACKS_H
#define TOOLS_RESOLVE_LACKS_H

#include <limits.h>
#include <stdbool.h>

/* A file of a core that cannot be read. */
struct resolve_lost {
	char file[PATH_MAX]; /* "": none */
	const char *why;     /* the rest of the sentence */
	bool in_root;	     /* it was looked for where the user said */
};

/* All zero: nothing. */
struct resolve_lacks {
	struct resolve_lost program, library;
	char closed[PATH_MAX]; /* a file that there is and that may not be opened; "": none */
	bool descriptors;      /* there were too few */
	bool headers;	       /* of a core: it has the first page of no file */
};

/* What opening a file gave: -errno. What means nothing here is ignored, also descriptors. */
void resolve_lacks_note(struct resolve_lacks *lacks, int error, const char *file);

/* Of several the first one counts. why is constant. */
void resolve_lacks_note_lost(struct resolve_lost *lost, const char *file, const char *why,
			     bool in_root);

/* On stderr, each only once. */
void resolve_lacks_say(const struct resolve_lacks *lacks, const char *command);

#endif /* TOOLS_RESOLVE_LACKS_H */
