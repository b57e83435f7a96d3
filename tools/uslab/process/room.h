/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/room.h - how much memory a process may still have, as far as its cgroups, the
 * machine and its own limit tell
 */
#ifndef TOOLS_ROOM_H
#define TOOLS_ROOM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "inspect/snapshot.h"

/* What leaves the least, and so what happens to who wants more. */
enum room_whose {
	ROOM_UNKNOWN, /* nothing tells */
	ROOM_CGROUP,  /* memory.max, or version 1's limit_in_bytes: it may be killed */
	ROOM_HIGH,    /* memory.high: it may stand still */
	ROOM_MACHINE, /* MemAvailable: it or another process may be killed */
	ROOM_LIBRARY, /* the limit of uslab: its allocations may fail */
	ROOM_ARENA,   /* what the arena can grow to, by RLIMIT_AS say: likewise */
	ROOM_DATA,    /* RLIMIT_DATA: likewise */
};

#define ROOM_NAME 256 /* bytes; a longer path is cut */

struct room {
	enum room_whose whose;
	uint64_t left;	/* bytes; UINT64_MAX: not known */
	uint64_t limit; /* of which; 0 with ROOM_MACHINE */
	char cgroup[ROOM_NAME];
};

/* The least of all. */
void room_find(struct room *room, pid_t pid, const struct snapshot *s);

/* Where that is read; tests have a folder of their own. */
struct room_files {
	const char *process; /* as /proc/PID: cgroup, limits, status, and root */
	const char *mounts;  /* as /proc/self/mountinfo */
	const char *machine; /* as /proc/meminfo */
	bool made_up;	     /* folders of cgroups need not be the kernel's */
};

/* The same of cgroups and the machine. */
void room_read(struct room *room, const struct room_files *files);

/* "its memory limit (cgroup /x, 512.0 MiB) leaves 80.0 MiB", and what may come of it. */
#define ROOM_TEXT (ROOM_NAME + 128)
void room_text(char text[ROOM_TEXT], const struct room *room);
const char *room_risk(const struct room *room);

#endif /* TOOLS_ROOM_H */
