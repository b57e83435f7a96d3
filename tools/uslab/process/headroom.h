/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/headroom.h - how much memory a process may still have, as far as its cgroups, the
 * machine and its own limit tell
 */
#ifndef TOOLS_HEADROOM_H
#define TOOLS_HEADROOM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "inspect/snapshot.h"

/* What leaves the least, and so what happens to who wants more. */
enum headroom_whose {
	HEADROOM_UNKNOWN, /* nothing tells */
	HEADROOM_CGROUP,  /* memory.max, or version 1's limit_in_bytes: it may be killed */
	HEADROOM_HIGH,	  /* memory.high: it may stand still */
	HEADROOM_MACHINE, /* MemAvailable: it or another process may be killed */
	HEADROOM_LIBRARY, /* the limit of uslab: its allocations may fail */
	HEADROOM_ARENA,	  /* what the arena can grow to, by RLIMIT_AS say: likewise */
	HEADROOM_DATA,	  /* RLIMIT_DATA: likewise */
};

#define HEADROOM_NAME 256 /* bytes; a longer path is cut */

struct headroom {
	enum headroom_whose whose;
	uint64_t left;	/* bytes; UINT64_MAX: not known */
	uint64_t limit; /* of which; 0 with HEADROOM_MACHINE */
	char cgroup[HEADROOM_NAME];
};

/* The least of all. */
void headroom_find(struct headroom *headroom, pid_t pid, const struct snapshot *s);

/* Where that is read; tests have a folder of their own. */
struct headroom_files {
	const char *process; /* as /proc/PID: cgroup, limits, status, and root */
	const char *mounts;  /* as /proc/self/mountinfo */
	const char *machine; /* as /proc/meminfo */
	bool made_up;	     /* folders of cgroups need not be the kernel's */
};

/* The same of cgroups and the machine. */
void headroom_read(struct headroom *headroom, const struct headroom_files *files);

/* "its memory limit (cgroup /x, 512.0 MiB) leaves 80.0 MiB", and what may come of it. */
#define HEADROOM_TEXT (HEADROOM_NAME + 128)
void headroom_text(char text[HEADROOM_TEXT], const struct headroom *headroom);
const char *headroom_risk(const struct headroom *headroom);

#endif /* TOOLS_HEADROOM_H */
