/* SPDX-License-Identifier: MIT */
/*
 * inspect/allocinfo.h - allocation profiling (cache/profile/sites.h), from outside
 *
 * Data:       none of its own; reads the process of a snapshot that was opened, through its buffer.
 * Invariants: at most SITES_MAX sites are read, of USLAB_MAX_CPUS CPUs; texts are bounded, and
 *             printable ASCII.
 * Locks:      none; counters change while they are read.
 * Flow:       called by tools; reads through s->reader.
 */
#ifndef INSPECT_ALLOCINFO_H
#define INSPECT_ALLOCINFO_H

#include "cache/profile/sites.h"
#include "inspect/snapshot.h"

struct allocinfo_site {
	uint64_t bytes; /* in use */
	uint64_t calls; /* whose memory is in use */
	uint32_t line;
	char file[SITE_FILE_MAX + 1];
	char function[SITE_FUNCTION_MAX + 1];
	char module[SITE_MODULE_MAX + 1]; /* "": the program */
};

struct allocinfo {
	bool known; /* it was on at some time: the rest is not 0 */
	bool on;
	uint32_t sites;
	uint64_t lost;	/* allocations that should have been counted */
	uint64_t since; /* os_clock_ms() of the process, when it was switched on last */
};

/* Reads what is said of all. false: nothing was read. */
bool allocinfo_read(struct snapshot *s, struct allocinfo *info);

/*
 * Calls visit for each site, in the order of their numbers; not for those of modules that are gone,
 * unless something of theirs is in use. Returns how many, or -errno of the reader.
 */
long allocinfo_visit(struct snapshot *s,
		     void (*visit)(const struct allocinfo_site *site, void *arg), void *arg);

#endif /* INSPECT_ALLOCINFO_H */
