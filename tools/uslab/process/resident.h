/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/resident.h - the resident memory of a process or core by kind, for whatever shows
 * it
 *
 * A core has what of its memory is in the file, which the kernel writes without pages that were
 * never touched. Trees have nothing of the kind.
 */
#ifndef TOOLS_RESIDENT_H
#define TOOLS_RESIDENT_H

#include "inspect/memory.h"
#include "process/source.h"

struct resident {
	struct memory memory;
	bool core;	   /* not what is resident, but what is in the file */
	uint64_t process;  /* resident bytes of the whole process; 0: not known */
	uint64_t kernel;   /* those of the arena as the kernel counts, of a process */
	bool in_program;   /* linked into the program, whose file has the library's code and data */
	bool zeros_differ; /* pages of zeros are told from others (see pagemap.c) */
};

/*
 * After a snapshot of the source, s. 0, or -errno: resident_text() has words for it. The snapshot
 * may count more inconsistencies afterwards.
 */
int resident_take(struct resident *r, const struct source *source, struct snapshot *s);

/*
 * Bytes of the arena that came (positive) or went between the kernel's count and ours; 0 for a
 * core.
 */
int64_t resident_moved(const struct resident *r);

/* Why it could not be taken. */
const char *resident_text(int error);

#endif /* TOOLS_RESIDENT_H */
